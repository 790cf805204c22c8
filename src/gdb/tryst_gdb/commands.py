# SPDX-License-Identifier: MIT
"""The commands `tryst waiters EXPRESSION` and `tryst stacks [LOOP]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gdb

from tryst_gdb import coroutines, waits
from tryst_gdb.coroutines import Coroutine, Unreadable
from tryst_gdb.waits import Exchanger, Loop, Trouble, Waiter

MOST_FRAMES = 100


class Program:
    """What can be found from the variables of all threads and coroutines."""

    def __init__(self) -> None:
        self.exchangers: dict[int, Exchanger] = {}
        self.loops: dict[int, Loop] = {}
        self.scopes: dict[int, str] = {}
        self.roots: dict[Coroutine, None] = {}
        self.operations: dict[int, gdb.Value] = {}
        self.running: dict[int, int] = {}  # the thread that runs a coroutine now
        self._seen: set[Coroutine] = set()
        self._visit_threads()
        self._follow()

    def _visit_threads(self) -> None:
        if gdb.selected_thread() is None:
            raise Trouble("there is no program: start one, attach to one, or open a core dump")
        with coroutines.same_selection():
            for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
                thread.switch()
                for value, name in variables_of_thread():
                    if name in ("frame_ptr", "__coro_frame"):
                        self._visit_running(value, thread.num)
                    self._visit(value, name)
                self._visit_thread_state()

    def _visit_running(self, value: gdb.Value, thread: int) -> None:
        try:
            is_pointer = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
            self.running[int(value if is_pointer else value.address)] = thread
        except (*Unreadable, TypeError):
            pass  # optimised out

    def _visit_thread_state(self) -> None:
        try:
            state = gdb.parse_and_eval(
                "'tryst::detail::per_thread<tryst::detail::thread_state>()::instance'"
            )
            self.add_loop(waits.executor_at(int(state["executor"].address)))
        except (*Unreadable, Trouble):
            pass  # the thread has none, or the compiler has not described it

    def _visit(self, value: gdb.Value, name: str) -> None:
        try:
            if refers_to_std(value.type):
                return
            value = waits.unwrapped(value)
            type_ = waits.type_name(value.type)
            if type_.startswith("tryst::detail::") and "loop" not in type_:
                if type_.startswith("tryst::detail::operation<"):
                    self.operations[int(value.address)] = value
                return
            loop = waits.loop_of(value)
            if loop is not None:
                known = self.loops.setdefault(loop.address, loop)
                known.mail = loop.mail
                known.variable = known.variable or ("" if name == "this" else name)
                return
            if type_ == "tryst::task_scope":
                self.scopes.setdefault(int(value.address), name)
                return
            for found in self._exchangers(value, name, 2):
                known_one = self.exchangers.setdefault(found.protocol, found)
                if not known_one.address:
                    self.exchangers[found.protocol] = found
        except (*Unreadable, Trouble, RuntimeError, ValueError):
            pass  # optimised out, or not constructed yet

    def _exchangers(self, value: gdb.Value, name: str, depth: int) -> Iterator[Exchanger]:
        found = waits.protocol_of(value)
        if found is not None:
            found.variable = name
            # A variable that is not constructed yet contains anything.
            if len(coroutines.read(found.protocol, found.type.sizeof)) == found.type.sizeof:
                yield found
            return
        type_ = waits.plain(value.type)
        if depth == 0 or type_.code != gdb.TYPE_CODE_STRUCT or waits.type_name(type_).startswith("std::"):
            return
        for each in type_.fields():
            if each.name and hasattr(each, "bitpos"):
                inner = name if each.is_base_class else f"{name}.{each.name}"
                try:
                    yield from self._exchangers(waits.unwrapped(value.cast(type_)[each]), inner, depth - 1)
                except (*Unreadable, Trouble, TypeError):
                    pass

    def add_loop(self, executor: waits.Executor | None) -> None:
        """Adds the loop that an executor is, if it is one."""
        if executor is None or executor.vtable == 0:
            return
        if "serial_executor_base" in coroutines.symbol(executor.vtable) and waits.is_queue(
            executor.context
        ):
            self.loops.setdefault(executor.context, Loop(executor.context, executor.kind))

    def _follow(self) -> None:
        """Looks at everything that can be reached from the loops and the exchangers."""
        before = -1
        while before != len(self._seen) + len(self.loops) + len(self.exchangers):
            before = len(self._seen) + len(self.loops) + len(self.exchangers)
            for loop in list(self.loops.values()):
                for task in attempt(lambda: waits.tasks_of(loop)[0], []):
                    self.roots.setdefault(task)
                    self._visit_coroutine(task)
            for scope in self.scopes:
                for task in attempt(lambda: waits.scope_tasks(scope), []):
                    self.roots.setdefault(task)
                    self._visit_coroutine(task)
            for each in list(self.exchangers.values()):
                for place in attempt(lambda: waits.offers_of(each).offers, []):
                    self._visit_waiter(place.address)

    def _visit_waiter(self, address: int) -> None:
        try:
            waiter = waits.waiter_at(address)
            self.add_loop(waiter.executor)
            of = waiter.coroutine()
            if of is not None:
                root = ancestors(of)[-1]
                self.roots.setdefault(root)
                self._visit_coroutine(root)
        except (*Unreadable, Trouble):
            pass

    def _visit_coroutine(self, of: Coroutine) -> None:
        if of in self._seen:
            return
        self._seen.add(of)
        self.add_loop(attempt(lambda: waits.executor_of(of), None))
        for name, type_, address in of.variables():
            self._visit(waits.at(address, type_) if not is_reference(type_)
                        else waits.at(coroutines.word_or_zero(address),
                                      type_.strip_typedefs().target()), name)  # fmt: skip
        for child in attempt(lambda: waits.wait_of(of).children, []):
            self._visit_coroutine(child)

    def exchanger_of(self, waiter: Waiter, of: Coroutine | None) -> Exchanger | None:
        """Where a waiter waits."""
        for name_and_type in of.layout() if of is not None else []:
            begin = of.address + name_and_type.bitpos // 8 if of is not None else 0
            if begin <= waiter.address < begin + name_and_type.type.sizeof:
                try:
                    for found in waits.exchangers_in(waits.at(begin, name_and_type.type)):
                        if self._holds(found, waiter):
                            return self.exchangers.get(found.protocol, found)
                except (*Unreadable, Trouble):
                    pass
        for known in self.exchangers.values():
            if self._holds(known, waiter):
                return known
        for address in range(waiter.address, waiter.address + waits.MOST_ITEM_BYTES, 8):
            word = coroutines.word_or_zero(address)
            if word in self.exchangers:
                return self.exchangers[word]
        return None

    def _holds(self, each: Exchanger, waiter: Waiter) -> bool:
        places = attempt(lambda: waits.offers_of(each).offers, [])
        return any(place.address == waiter.address for place in places)


def is_reference(type_: gdb.Type) -> bool:
    return type_.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


def refers_to_std(type_: gdb.Type) -> bool:
    """Whether it is a pointer to a class of the standard library, such as a thread's state."""
    type_ = type_.strip_typedefs()
    while type_.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        type_ = type_.target().strip_typedefs()
    name = waits.type_name(type_)
    return name.startswith("std::") and "_ptr<" not in name


def attempt(read: Callable, otherwise):  # type: ignore[no-untyped-def]
    """What `read` returns, or `otherwise` if memory or symbols are missing."""
    try:
        return read()
    except (*Unreadable, Trouble, KeyError):
        return otherwise


def variables_of_thread() -> Iterator[tuple[gdb.Value, str]]:
    """The parameters and variables of all functions of the selected thread."""
    frame: gdb.Frame | None = gdb.newest_frame()
    for _ in range(MOST_FRAMES):
        if frame is None:
            return
        try:
            block = frame.block()
        except RuntimeError:
            block = None  # no debug information
        in_lambda = is_in_lambda(block)
        while block is not None and not block.is_global and not block.is_static:
            for each in block:
                # In a lambda, what g++ calls `this` is the lambda.
                if in_lambda and each.name == "this":
                    continue
                if each.is_argument or each.is_variable:
                    try:
                        yield frame.read_var(each, block), each.name
                    except (*Unreadable, ValueError):
                        pass
            # Around a lambda is the function that made it, which has another frame.
            block = None if block.function is not None else block.superblock
        try:
            frame = frame.older()
        except gdb.error:
            return


def is_in_lambda(block: gdb.Block | None) -> bool:
    """Whether a block is in a lambda."""
    while block is not None and not block.is_global and not block.is_static:
        if any(each.name == "__closure" for each in block):
            return True
        block = None if block.function is not None else block.superblock
    return False


def ancestors(of: Coroutine) -> list[Coroutine]:
    """A coroutine and those that wait for it, innermost first."""
    chain = [of]
    while len(chain) < MOST_FRAMES:
        parent = attempt(lambda: waits.parent_of(chain[-1]), None)
        if parent is None or parent in chain:
            break
        chain.append(parent)
    return chain


# ---- tryst waiters.


def party(waiter: Waiter, program: Program) -> list[str]:
    """Who waits, and how: one line, and others about it."""
    of = waiter.coroutine()
    kind = waiter.executor.kind if waiter.executor.vtable else ""
    details = [each for each in (waits.limits(waiter),) if each]
    selection = waiter.kind == "selecting"
    if of is not None:
        line = f"coroutine {of.where()}"
        on = f"on {waiter.executor}" if kind else "without executor"
        details.insert(0, on)
    elif kind == "a thread":
        thread = waits.thread_of(waiter)
        line = "thread " + ("(unknown)" if thread is None else f"{thread.num} (LWP {thread.ptid[1]})")
        operation = program.operations.get(waiter.address)
        limits = "" if operation is None else waits.type_name(operation.type)
        if "limits<true" in limits:
            deadline = waits.deadline_behind(waiter.address, operation.type.sizeof)
            details = [waits.describe_deadline(deadline)]
        else:
            details = ["no stop, no deadline"] if "limits<false, void>" in limits else []
    elif kind == "a fiber":
        line = f"fiber, wait strategy {waiter.executor.context:#x}"
    else:
        line = f"{kind or 'operation'} {waiter.executor.context:#x}".strip()
    lines = [", ".join([line, *details])]
    if selection:
        lines += other_cases(waiter, program)
    elif of is not None:
        for outer in ancestors(of)[1:]:
            if not outer.is_internal:
                lines.append(f"awaited by {outer.where()}")
    return lines


def other_cases(waiter: Waiter, program: Program) -> list[str]:
    """The other exchangers in which the selection of a waiter waits."""
    lines = []
    for each in program.exchangers.values():
        for place in attempt(lambda: waits.offers_of(each).offers, []):
            if place.address == waiter.address:
                continue
            other = attempt(lambda: waits.waiter_at(place.address), None)
            if other is not None and other.kind == "selecting" and other.owner == waiter.owner:
                side = f"{place.side} " if place.side else ""
                lines.append(f"a case of a selection; another case: {side}in {each}")
    return lines or ["a case of a selection"]


def show_waiters(expression: str) -> None:
    """Prints who waits in the exchangers that an expression names."""
    value = gdb.parse_and_eval(expression)
    found = waits.exchangers_in(value)
    program = Program()
    for each in found:
        known = program.exchangers.get(each.protocol)
        if known is not None and known.address and not each.address:
            each = known
        contents = waits.offers_of(each)
        count = len(contents.offers)
        state = "closed, " if contents.closed else ""
        noun = "no waiters" if count == 0 else f"{count} waiter{'s' if count != 1 else ''}"
        each.variable = ""
        print(f"{each}: {state}{noun}")
        for number, place in enumerate(contents.offers):
            side = f"{place.side}, " if place.side else ""
            where = "" if place.where == "wait list" else f" [{place.where}]"
            try:
                waiter = waits.waiter_at(place.address)
                first, *more = party(waiter, program)
                print(f"  {number}  {side}{first}{where}")
                for line in more:
                    print(f"       {line}")
            except gdb.MemoryError:
                print(f"  {number}  {side}no waiter is readable at {place.address:#x}")


# ---- tryst stacks.


def describe_wait(of: Coroutine, program: Program) -> str:
    """What the innermost coroutine of a stack waits for."""
    if of.address in program.running:
        return f"running in thread {program.running[of.address]}"
    wait = waits.wait_of(of)
    if not wait.waiters:
        return wait.text
    parts = []
    for waiter in wait.waiters:
        where = program.exchanger_of(waiter, of)
        side = ""
        if where is not None:
            for place in attempt(lambda: waits.offers_of(where).offers, []):
                if place.address == waiter.address and place.side:
                    side = f"{place.side} "
        parts.append(f"{side}in {where or 'an exchanger that was not found'}")
    limits = waits.limits(wait.waiters[0])
    text = "waiting " + " or ".join(parts)
    return f"{text}, {limits}" if limits else text


def leaves(of: Coroutine, chain: list[Coroutine]) -> Iterator[list[Coroutine]]:
    """The stacks of a coroutine: one for each that it waits for, innermost first."""
    chain = [of, *chain]
    children = attempt(lambda: waits.wait_of(of).children, [])
    if not children or len(chain) > MOST_FRAMES:
        yield chain
    for child in children:
        if child not in chain:
            yield from leaves(child, chain)


LIBRARY = {
    "join_tasks": "tryst::when_all()",
    "run_any": "tryst::when_any()",
    "fulfil": "tryst::spawn_future()",
}


def library_name(of: Coroutine) -> str:
    """How the user calls one of the library's own coroutines, or "" to leave it out."""
    for part, name in LIBRARY.items():
        if of.full_name.startswith(f"tryst::detail::{part}"):
            return name
    return "tryst::when_all()" if of.full_name.startswith("tryst::when_all") else ""


def print_stack(chain: list[Coroutine], end: str, program: Program) -> None:
    """Prints one stack, like `bt`."""
    number = 0
    # The innermost coroutine is printed even if it is one of the library's.
    waiting: str | None = describe_wait(chain[0], program)
    for of in chain:
        hidden = of.is_internal or of.full_name.startswith("tryst::")
        text = library_name(of) if hidden else of.where()
        if of.address in program.running and not hidden:
            text = of.name
        if text == "":
            if waiting is None or any(not each.is_internal for each in chain):
                continue
            text = of.where()
        suffix = f", {waiting}" if waiting is not None else ""
        print(f"  #{number}  {text}{suffix}")
        waiting = None
        number += 1
    print(f"  #{number}  {end}")


def end_of(root: Coroutine) -> str:
    """What started the outermost coroutine of a stack."""
    executor = attempt(lambda: waits.executor_of(root), None)
    where = f"on {executor}" if executor is not None else "without executor"
    if root.full_name.startswith("tryst::detail::scope_child"):
        return f"spawned in a task_scope {where}"
    if root.full_name.startswith("tryst::detail::serial_queue"):
        return f"spawned {where}"
    return f"started {where}"


def show_stacks(expression: str) -> None:
    """Prints the stacks of the tasks of one loop, or of all."""
    only = None
    if expression:
        value = waits.unwrapped(gdb.parse_and_eval(expression))
        only = waits.loop_of(value)
        for each in waits.nested(value, 3):  # a task_executor refers to its loop
            if only is None:
                only = attempt(lambda: waits.loop_of(waits.unwrapped(each)), None)
        if only is None:
            raise Trouble(f"{value.type} is not a loop, such as tryst::run_loop")
    waits.required_type("tryst::detail::waiter")
    program = Program()
    if only is not None:
        program.loops.setdefault(only.address, only)
    printed = set()
    for loop in sorted(program.loops.values(), key=lambda each: each.address):
        if only is not None and loop.address != only.address:
            continue
        tasks, ready = attempt(lambda: waits.tasks_of(loop), ([], 0))
        scoped = [each for each in program.roots if each not in tasks and runs_on(each, loop)]
        count = len(tasks) + len(scoped)
        noun = f"{count} task{'s' if count != 1 else ''}"
        pending = f", {ready} ready to run" if ready else ""
        print(f"{loop}: {noun}{pending}")
        for task in tasks + scoped:
            printed.add(task)
            for chain in leaves(task, []):
                print_stack(chain, end_of(task), program)
    if only is not None:
        return
    others = [each for each in program.roots if each not in printed]
    if others:
        print("other coroutines:")
    for task in others:
        for chain in leaves(task, []):
            print_stack(chain, end_of(task), program)
    if not program.loops and not others:
        print("no loop and no waiting coroutine was found; name a loop: tryst stacks LOOP")


def runs_on(of: Coroutine, loop: Loop) -> bool:
    executor = attempt(lambda: waits.executor_of(of), None)
    return executor is not None and executor.context == loop.address


# ---- The commands.


class Tryst(gdb.Command):
    """Show who waits for whom in a program that uses tryst."""

    def __init__(self) -> None:
        super().__init__("tryst", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Reporting(gdb.Command):
    """A command whose mistakes are one line."""

    def run(self, show: Callable[[str], None], argument: str) -> None:
        coroutines.forget()
        # Not those of the selected frame, which may be one of the C library.
        settings = {"language": "c++", "disassembly-flavor": "att"}
        before = {}
        try:
            for name, wanted in settings.items():
                try:
                    before[name] = gdb.parameter(name)
                    gdb.execute(f"set {name} {wanted}", to_string=True)
                except (RuntimeError, gdb.error):
                    before.pop(name, None)  # this machine has no such setting
            show(argument.strip())
        except (Trouble, RuntimeError, ValueError, KeyError, TypeError, gdb.MemoryError) as error:
            raise gdb.GdbError(f"tryst: {error}") from None
        finally:
            for name, value in before.items():
                gdb.execute(f"set {name} {value}", to_string=True)


class Waiters(Reporting):
    """Show who waits in an exchanger or a channel: tryst waiters EXPRESSION

The expression is an exchanger or a channel, or a reference or pointer to one, or an operation or a
selection. One line for each waiter: its side, who it is, where a coroutine is suspended, and what
can end its wait."""

    def __init__(self) -> None:
        super().__init__("tryst waiters", gdb.COMMAND_STACK, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        if not argument.strip():
            raise gdb.GdbError("tryst: tryst waiters needs an exchanger: tryst waiters EXPRESSION")
        self.run(show_waiters, argument)


class Stacks(Reporting):
    """Show the stacks of suspended coroutines: tryst stacks [LOOP]

Each stack begins with the innermost coroutine, and what it waits for. Without an argument, shows
all loops that the variables of the threads lead to."""

    def __init__(self) -> None:
        super().__init__("tryst stacks", gdb.COMMAND_STACK, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        self.run(show_stacks, argument)


def register() -> None:
    """Adds the commands to gdb."""
    Tryst()
    Waiters()
    Stacks()

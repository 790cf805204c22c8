# SPDX-License-Identifier: MIT
"""The commands `tryst waiters EXPRESSION` and `tryst stacks [LOOP]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gdb

from . import frames, waits
from .coroutines import Coroutine
from .exchangers import contents_of, exchangers_in, waiters_in
from .executors import Executor, Loop, loop_of
from .program import MOST_FRAMES, Program, ancestors
from .values import Unreadable, at, attempt, known_settings, nested, number, required_type, type_name, type_or_none, unwrapped
from .waiters import Waiter, alike, deadline_behind, describe_deadline, limits_of, thread_of, waiter_at


# ---- tryst waiters.


def party(waiter: Waiter, program: Program) -> list[str]:
    """Who waits, and how: one line, and others about it."""
    if waiter.kind == "standing":
        return [case_of_set(waiter)]
    of = waiter.coroutine()
    kind = waiter.executor.kind if waiter.executor.vtable else ""
    details = [each for each in (limits_of(waiter),) if each]
    selection = waiter.kind == "selecting"
    if of is not None:
        line = f"coroutine {library_name(of) or of.name + at_line(waiter)}"
        on = f"on {waiter.executor}" if kind else "without executor"
        details.insert(0, on)
    elif kind == "a thread":
        thread = thread_of(waiter)
        line = "thread " + ("(unknown)" if thread is None else f"{thread.num} (LWP {thread.ptid[1]})")
        operation = program.operations.get(waiter.address)
        limits = "" if operation is None else type_name(operation.type)
        if "limits<true" in limits:
            deadline = deadline_behind(waiter.address, operation.type.sizeof)
            details = [describe_deadline(deadline)]
        else:
            details = ["no stop, no deadline"] if "limits<false, void>" in limits else []
    elif kind == "a fiber":
        line = f"fiber, wait strategy {waiter.executor.context:#x}"
    else:
        line = f"{kind or 'operation'} {waiter.executor.context:#x}".strip()
    if of is None and waiter.location is not None:
        line += f" in {waiter.location.full}"
    lines = [", ".join([line, *details])]
    if selection:
        lines += other_cases(waiter, program)
    elif of is not None:
        for outer in ancestors(of)[1:]:
            if not outer.is_internal:
                lines.append(f"awaited by {waits.where(outer)}")
    return lines


def at_line(waiter: Waiter) -> str:
    return f" at {waiter.location}" if waiter.location is not None else ""


def case_of_set(waiter: Waiter) -> str:
    """Whether the owner of a standing case waits for it."""
    node = at(waiter.owner, required_type("tryst::detail::case_node"))
    word = node["set"].dereference()
    state = number(word["word_"]) & 7
    if state < 2:
        return "a case of a set whose owner is away"
    return f"a case of a set, on {Executor.of(word['node']['executor'])}"


def other_cases(waiter: Waiter, program: Program) -> list[str]:
    """The other exchangers in which the selection of a waiter waits."""
    lines = []
    for each in program.exchangers.values():
        for place in waiters_in(each):
            if place.address == waiter.address:
                continue
            other = attempt(lambda: waiter_at(place.address), None)
            if other is not None and other.kind == "selecting" and other.owner == waiter.owner:
                side = f"{place.colour} " if place.colour else ""
                lines.append(f"a case of a selection; another case: {side}in {each}")
    return lines or ["a case of a selection"]


def show_waiters(expression: str) -> None:
    """Prints who waits in the exchangers that an expression names."""
    required_type("tryst::detail::waiter")
    found = exchangers_in(gdb.parse_and_eval(expression))
    program = Program(most_alike=20)
    for each in found:
        known = program.exchangers.get(each.protocol)
        if known is not None and known.address and not each.address:
            each = known
        contents = contents_of(each)
        count = len(contents.waiters)
        state = ("closed, " if contents.closed else "") + (f"{contents.buffer}, " if contents.buffer else "")
        noun = "no waiters" if count == 0 and not contents.rest else f"{count} waiter{'s' if count != 1 else ''}"
        rest = f", then {contents.rest}" if contents.rest else ""
        each.variable = ""
        print(f"{each}: {state}{noun}{rest}")
        for number, place, size in alike(contents.waiters):
            side = f"{place.colour}, " if place.colour else ""
            where = f" [arena, slot {place.slot}]" if place.slot else ""
            try:
                waiter = waiter_at(place.address)
                first, *more = party(waiter, program)
                others = f"; {size - 1} more like this" if size > 1 else ""
                print(f"  {number}  {side}{first}{where}{others}")
                for line in more:
                    print(f"       {line}")
            except gdb.MemoryError:
                print(f"  {number}  {side}no waiter is readable at {place.address:#x}")


# ---- tryst stacks.


def describe_wait(of: Coroutine, program: Program) -> str:
    """What the innermost coroutine of a stack waits for."""
    if of.address in program.running:
        return f"running in thread {program.running[of.address]}"
    if not of.is_started:
        return "not started"
    wait = waits.wait_of(of)
    if not wait.waiters:
        thread = program.running_functions.get(of.resume)
        return wait.text if thread is None or wait.text != "suspended" else f"running in thread {thread}"
    parts = []
    for waiter in wait.waiters:
        where = program.exchanger_with(waiter, of)
        side = ""
        if where is not None:
            for place in waiters_in(where):
                if place.address == waiter.address and place.colour:
                    side = f"{place.colour} "
        parts.append(f"{side}in {where or 'an exchanger that was not found'}")
    limits = limits_of(wait.waiters[0])
    text = "waiting " + " or ".join(parts)
    return f"{text}, {limits}" if limits else text


def leaves(of: Coroutine, chain: list[Coroutine]) -> Iterator[list[Coroutine]]:
    """The stacks of a coroutine: one for each that it waits for, innermost first."""
    chain = [of, *chain]
    wait = attempt(lambda: waits.wait_of(of), waits.Wait())
    if wait.waiters or not wait.children or len(chain) > MOST_FRAMES:
        yield chain
    for child in wait.children:
        if child not in chain:
            yield from leaves(child, chain)


LIBRARY = {
    "join_tasks": "tryst::when_all()",
    "any_factory::run_any": "tryst::when_any()",
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
        text = library_name(of) if hidden else waits.where(of)
        if waiting is not None and waiting.startswith(("running", "not started")) and not hidden:
            text = of.name
        if text == "":
            if waiting is None or any(not each.is_internal for each in chain):
                continue
            text = waits.where(of)
        suffix = f", {waiting}" if waiting is not None else ""
        print(f"  #{number}  {text}{suffix}")
        waiting = None
        number += 1
    print(f"  #{number}  {end}")


def end_of(root: Coroutine) -> str:
    """What started the outermost coroutine of a stack."""
    executor = attempt(lambda: waits.executor_of(root), None)
    where = f"on {executor}" if executor is not None else "without executor"
    place = waits.spawned_at(root)
    where += f" at {place}" if place is not None else ""
    if root.full_name.startswith("tryst::detail::root<tryst::task_scope"):
        return f"spawned in a task_scope {where}"
    if root.full_name.startswith("tryst::detail::root<tryst::detail::serial_queue"):
        return f"spawned {where}"
    return f"started {where}"


def show_stacks(expression: str) -> None:
    """Prints the stacks of the tasks of one loop, or of all."""
    only = None
    if expression:
        value = unwrapped(gdb.parse_and_eval(expression))
        only = loop_of(value)
        for each in nested(value, 3):  # a task_executor refers to its loop
            if only is None:
                only = attempt(lambda: loop_of(unwrapped(each)), None)
        if only is None:
            raise gdb.error(f"{value.type} is not a loop, such as tryst::run_loop")
    if type_or_none("tryst::detail::waiter") is None:
        frames.show_stacks()
        return
    program = Program()
    if only is not None:
        program.loops.setdefault(only.address, only)
    printed = set()
    leaves_printed = set()
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
                leaves_printed.add(chain[0])
                print_stack(chain, end_of(task), program)
    if only is not None:
        return
    others = [each for each in program.roots if each not in printed]
    unstarted = [each for each in program.unstarted if each not in leaves_printed]
    if others or unstarted:
        print("other coroutines:")
    for task in others:
        for chain in leaves(task, []):
            print_stack(chain, end_of(task), program)
    for task in unstarted:
        print_stack([task], f"stored in {program.unstarted[task]}", program)
    if not program.loops and not others and not unstarted:
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
        waits.forget()
        try:
            with known_settings():
                show(argument.strip())
        except Unreadable as error:
            raise gdb.GdbError(f"tryst: {error}") from None


class Waiters(Reporting):
    """Show who waits in an exchanger, a channel or a future: tryst waiters EXPRESSION

The expression is one of these, or a reference or pointer to one, or an operation or a selection.
One line for each waiter: its side, who it is, where a coroutine is suspended, and what
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

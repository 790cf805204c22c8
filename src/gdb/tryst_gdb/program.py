# SPDX-License-Identifier: MIT
"""Finds the loops, exchangers and coroutines of a program."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress

import gdb

from . import waits
from .coroutines import Coroutine, frame_of, function_block, is_coroutine_name
from .exchangers import Exchanger, exchanger_of, exchangers_in, waiters_in
from .executors import Executor, Loop, is_queue, loop_of
from .values import Unreadable, at, attempt, is_reference, plain, read, same_selection, symbol, symbol_around, type_name, \
    type_or_none, unwrapped, word_or_zero
from .wait_lists import Found
from .waiters import Waiter, alike, waiter_at

FRAME_NAMES = ("frame_ptr", "__coro_frame")  # of g++ and clang


class Program:
    """What can be found from the variables of all threads and coroutines."""

    def __init__(self, most_alike: int | None = None) -> None:
        """@param most_alike  of so many coroutines of each function, looks at the variables; None: of all."""
        self._most_alike = most_alike
        self._alike: dict[int, int] = {}
        self.exchangers: dict[int, Exchanger] = {}
        self.loops: dict[int, Loop] = {}
        self.scopes: set[int] = set()
        self.roots: dict[Coroutine, None] = {}
        self.operations: dict[int, gdb.Value] = {}
        self.unstarted: dict[Coroutine, str] = {}  # tasks that a variable holds
        self.running: dict[int, int] = {}  # the thread that runs a coroutine now
        self.running_functions: dict[int, int] = {}  # the same by function, if the frame is unknown
        self._places: dict[int, dict[int, Found]] = {}
        self._files: set[str] = set()
        self._seen: set[Coroutine] = set()
        if gdb.selected_thread() is None:
            raise gdb.error("there is no program: start one, attach to one, or open a core dump")
        with same_selection():
            for thread in sorted(gdb.selected_inferior().threads(), key=lambda each: each.num):
                thread.switch()
                self._visit_thread(thread.num)
        self._follow()

    def _visit_thread(self, thread: int) -> None:
        """Looks at the parameters and variables of all functions of the selected thread."""
        frame: gdb.Frame | None = gdb.newest_frame()
        is_outside = False  # of a coroutine, in what g++ takes for its callers, into which it is inlined
        for _ in range(waits.MOST_FRAMES):
            if frame is None:
                break
            self._visit_static(frame.find_sal().symtab)
            function, at_byte = symbol_around(frame.pc())
            is_coroutine = not is_outside and is_coroutine_name(function)
            if is_coroutine:
                self.running_functions.setdefault(frame.pc() - at_byte, thread)
            for value, name in variables_of(frame) if not is_outside else ():
                if name in FRAME_NAMES:
                    is_outside = is_outside or is_coroutine
                    with suppress(*Unreadable):  # optimised out
                        is_pointer = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
                        self.running[int(value if is_pointer else value.address)] = thread
                self._visit(value, name)
            is_outside = is_outside and frame.type() == gdb.INLINE_FRAME
            frame = attempt(frame.older, None)
        with suppress(*Unreadable):  # the thread has no state, or the compiler has not described it
            state = gdb.parse_and_eval("'tryst::detail::per_thread<tryst::detail::thread_state>()::instance'")
            self.add_loop(Executor.of(state["executor"]))

    def _visit_static(self, symtab: gdb.Symtab | None) -> None:
        """Looks at the variables with static storage of a source file."""
        if symtab is None or not symtab.is_valid():
            return
        for block in (symtab.static_block(), symtab.global_block()):
            key = f"{block.is_global} {block.start} {block.end}"
            for each in block if key not in self._files else ():
                if each.is_variable and each.addr_class == gdb.SYMBOL_LOC_STATIC:
                    with suppress(*Unreadable):
                        self._visit(each.value(), each.name)
            self._files.add(key)

    def _visit(self, value: gdb.Value, name: str) -> None:
        with suppress(*Unreadable):  # optimised out, or not constructed yet
            if not refers_to_std(value.type):
                self._visit_object(unwrapped(value), name)

    def _visit_object(self, value: gdb.Value, name: str) -> None:
        type_ = type_name(value.type)
        if type_.startswith("tryst::detail::operation<"):
            self.operations[int(value.address)] = value
        elif type_.startswith("tryst::detail::") and "loop" not in type_:
            return
        elif (loop := loop_of(value)) is not None:
            known = self.loops.setdefault(loop.address, loop)
            known.inbox = loop.inbox
            known.variable = known.variable or ("" if name == "this" else name)
        elif type_.startswith("tryst::task<"):
            task = waits.unstarted_task(frame_of(value["coroutine_"]))
            if task is not None:
                self.unstarted.setdefault(task, name)
        elif type_ == "tryst::task_scope":
            self.scopes.add(int(value.address))
        else:
            for found in self._exchangers(value, name, 2):
                if not self.exchangers.setdefault(found.protocol, found).address:
                    self.exchangers[found.protocol] = found

    def _exchangers(self, value: gdb.Value, name: str, depth: int) -> Iterator[Exchanger]:
        found, type_ = exchanger_of(value), plain(value.type)
        if found is not None:
            found.variable = name
            if len(read(found.protocol, found.type.sizeof)) == found.type.sizeof:  # it is constructed
                yield found
        elif depth != 0 and type_.code == gdb.TYPE_CODE_STRUCT and not type_name(type_).startswith("std::"):
            for each in type_.fields():
                if each.name and hasattr(each, "bitpos"):
                    inner = name if each.is_base_class else f"{name}.{each.name}"
                    with suppress(*Unreadable):
                        yield from self._exchangers(unwrapped(value.cast(type_)[each]), inner, depth - 1)

    def add_loop(self, executor: Executor | None) -> None:
        """Adds the loop that an executor is, if it is one."""
        if executor and "serial_executor_base" in symbol(executor.vtable) and is_queue(executor.context):
            self.loops.setdefault(executor.context, Loop(executor.context, executor.kind))

    def _follow(self) -> None:
        """Looks at everything that can be reached from the loops and the exchangers."""
        before = -1
        while before != len(self._seen) + len(self.loops) + len(self.exchangers):
            before = len(self._seen) + len(self.loops) + len(self.exchangers)
            for loop in list(self.loops.values()):
                self._visit_roots(attempt(lambda: waits.tasks_of(loop)[0], []))
            for scope in self.scopes:
                self._visit_roots(attempt(lambda: waits.scope_tasks(scope), []))
            for each in list(self.exchangers.values()):
                found = waiters_in(each)
                for place in found if self._most_alike is None else (first for _, first, _ in alike(found)):
                    with suppress(*Unreadable):
                        waiter = waiter_at(place.address)
                        self.add_loop(waiter.executor)
                        of = waiter.coroutine()
                        self._visit_roots(waits.ancestors(of)[-1:] if of is not None else [])

    def _visit_roots(self, roots: list[Coroutine]) -> None:
        for root in roots:
            self.roots.setdefault(root)
            self._visit_coroutine(root)

    def _visit_coroutine(self, of: Coroutine) -> None:
        if of in self._seen:
            return
        self._seen.add(of)
        self._alike[of.resume] = self._alike.get(of.resume, 0) + 1
        if self._most_alike is not None and self._alike[of.resume] > self._most_alike:
            return
        self._visit_static(gdb.find_pc_line(of.resume).symtab)
        self.add_loop(attempt(lambda: waits.executor_of(of), None))
        for name, type_, address in of.variables():
            if is_reference(type_):
                type_, address = type_.strip_typedefs().target(), word_or_zero(address)
            self._visit(at(address, type_), name)
        for child in attempt(lambda: waits.wait_of(of).children, []):
            self._visit_coroutine(child)

    def place_of(self, waiter: Waiter, of: Coroutine) -> str:
        """Where a waiter waits: `red in exchanger 0x...`."""
        for each in itertools.chain(self.exchangers.values(), exchangers_near(waiter, of)):
            if (place := self._place_in(each, waiter)) is not None:
                return f"{place.side}in {each}"
        return "in an exchanger that was not found"

    def _place_in(self, each: Exchanger, waiter: Waiter) -> Found | None:
        if each.protocol not in self._places:
            self._places[each.protocol] = {found.address: found for found in waiters_in(each)}
        return self._places[each.protocol].get(waiter.address)


def exchangers_near(waiter: Waiter, of: Coroutine) -> Iterator[Exchanger]:
    """The exchangers to which the object that contains a waiter refers: in the frame, or a child of when_any."""
    objects = [(of.address + field.bitpos // 8, field.type) for field in of.layout()]
    block = function_block(waiter.run)
    child = None if block is None else type_or_none(block.function.name.partition("::ended(")[0])
    for begin, type_ in objects if child is None else [*objects, (waiter.owner, child)]:
        if begin <= waiter.address < begin + type_.sizeof:
            yield from attempt(lambda: exchangers_in(at(begin, type_)), [])


def refers_to_std(type_: gdb.Type) -> bool:
    """Whether it is a pointer to a class of the standard library, such as a thread's state."""
    type_ = type_.strip_typedefs()
    while type_.code == gdb.TYPE_CODE_PTR or is_reference(type_):
        type_ = type_.target().strip_typedefs()
    name = type_name(type_)
    return name.startswith("std::") and "_ptr<" not in name


def variables_of(frame: gdb.Frame) -> Iterator[tuple[gdb.Value, str]]:
    """The parameters and variables of the function of a frame."""
    block, blocks = attempt(frame.block, None), []  # None: no debug information
    while block is not None and not block.is_global and not block.is_static:
        blocks.append(block)
        # Around a lambda is the function that made it, which has another frame.
        block = None if block.function is not None else block.superblock
    in_lambda = any(each.name == "__closure" for block in blocks for each in block)
    for block in blocks:
        for each in block:
            # In a lambda, what g++ calls `this` is the lambda.
            if (each.is_argument or each.is_variable) and not (in_lambda and each.name == "this"):
                with suppress(*Unreadable):
                    yield frame.read_var(each, block), each.name

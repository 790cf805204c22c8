# SPDX-License-Identifier: MIT
"""Finds the loops, exchangers and coroutines of a program."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

import gdb

from . import waits
from .coroutines import FRAME_NAMES, Coroutine, function_block, is_coroutine_name
from .exchangers import Exchanger, exchanger_of, exchangers_in, nested
from .executors import Executor, Loop, is_queue, loop_of
from .values import (Unreadable, address, at, attempt, is_reference, offset, plain, read_word, required_type,
                     same_selection, symbol, symbol_around, type_name, unwrapped, word_or_zero)
from .waits import Waiter


class Program:
    """What can be found from the variables of all threads and coroutines."""

    def __init__(self, is_brief: bool = False) -> None:
        """@param is_brief  looks at few coroutines of each function, and at one of the waiters that are alike."""
        self._is_brief = is_brief
        self._most_alike = 20 if is_brief else waits.MOST_TASKS  # of whose variables and children it looks at
        self._most_tasks = 1000 if is_brief else None
        self._alike: Counter[int] = Counter()
        self.exchangers: dict[int, Exchanger] = {}
        self.loops: dict[int, Loop] = {}
        self.roots: dict[Coroutine, None] = {}
        self.operations: dict[int, gdb.Value] = {}
        self.unstarted: dict[Coroutine, str] = {}  # tasks that a variable holds
        self.running: dict[int, int] = {}  # the thread that runs a coroutine now
        self.running_functions: dict[int, int] = {}  # the same by function, if the frame is unknown
        self._files: set[str] = set()
        self._seen: set[Coroutine] = set()
        self._ahead: dict[int, Callable[[], list[Coroutine | None]]] = {}  # by address: finds more roots
        self._behind: set[int] = set()
        if gdb.selected_thread() is None:
            raise gdb.error("there is no program: start one, attach to one, or open a core dump")
        with same_selection():
            for thread in sorted(gdb.selected_inferior().threads(), key=lambda each: each.num):
                thread.switch()
                self._visit_thread(thread.num)
        while self._ahead:
            where, find = next(iter(self._ahead.items()))
            del self._ahead[where]
            if where not in self._behind:
                self._behind.add(where)
                for root in filter(None, attempt(find, [])):
                    self.roots.setdefault(root)
                    self._visit_coroutine(root)

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
                        is_pointer = plain(value.type).code == gdb.TYPE_CODE_PTR
                        self.running[int(value if is_pointer else value.address)] = thread
                self._visit(value, name)
            is_outside = is_outside and frame.type() == gdb.INLINE_FRAME
            frame = attempt(frame.older, None)
        with suppress(*Unreadable):  # the thread has no state, or the compiler has not described it
            state = gdb.parse_and_eval("'tryst::detail::per_thread<tryst::detail::thread_state>()::instance'")
            self._add_executor(Executor.of(state["executor"]))

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
            loop.variable = "" if name == "this" else name
            self._add_loop(loop)
        elif type_.startswith("tryst::task<"):
            task = waits.unstarted_task(read_word(address(value["coroutine_"])))
            if task is not None:
                self.unstarted.setdefault(task, name)
        elif type_ == "tryst::task_scope":
            tasks = address(value) + offset(required_type(type_), "tasks_")
            self._ahead[tasks] = lambda: waits.owned_tasks(tasks, self._most_tasks)
        else:
            for each, inner in nested(value, name, 2, follow=True):
                found = exchanger_of(each, inner)
                if found is not None and found.is_readable:  # it is constructed
                    self.exchangers.setdefault(found.protocol, found)
                    self._ahead[found.protocol] = lambda of=found: self._waiting_roots(of)

    def _waiting_roots(self, of: Exchanger) -> Iterator[Coroutine]:
        """The roots of those that wait in an exchanger."""
        waiting = list(of.places.values())
        for place in (first for _, first, _ in waits.alike(waiting)) if self._is_brief else waiting:
            waiter = attempt(lambda: waits.waiter_at(place.address), None)
            if waiter is not None:
                self._add_executor(waiter.executor)
                if (coroutine := waiter.coroutine()) is not None:
                    yield waits.ancestors(coroutine)[-1]

    def _add_executor(self, executor: Executor | None) -> None:
        """Adds the loop that an executor is, if it is one."""
        if executor and "serial_executor_base" in symbol(executor.vtable) and is_queue(executor.context):
            self._add_loop(Loop(executor.context, executor.kind))

    def _add_loop(self, loop: Loop) -> None:
        known = self.loops.setdefault(loop.address, loop)
        known.inbox, known.variable = known.inbox or loop.inbox, known.variable or loop.variable
        self._ahead[loop.address] = lambda: waits.tasks_of(known, self._most_tasks)[0]

    def _visit_coroutine(self, of: Coroutine) -> None:
        if of in self._seen:
            return
        self._seen.add(of)
        self._alike[of.resume] += 1
        if self._alike[of.resume] > self._most_alike:
            return
        self._visit_static(gdb.find_pc_line(of.resume).symtab)
        self._add_executor(attempt(lambda: waits.executor_of(of), None))
        for name, type_, where in of.variables():
            if is_reference(type_):
                type_, where = type_.strip_typedefs().target(), word_or_zero(where)
            self._visit(at(where, type_), name)
        for child in waits.wait_of(of).children:
            self._visit_coroutine(child)

    def place_of(self, waiter: Waiter, of: Coroutine) -> str:
        """Where a waiter waits: `red in exchanger 0x...`."""
        for each in itertools.chain(self.exchangers.values(), exchangers_near(waiter, of)):
            if waiter.address in each.places:
                return f"{each.places[waiter.address].side}in {each}"
        return "in an exchanger that was not found"


def exchangers_near(waiter: Waiter, of: Coroutine) -> Iterator[Exchanger]:
    """The exchangers to which the object that contains a waiter refers: in the frame, or a child of when_any."""
    objects = [(of.address + field.bitpos // 8, field.type) for field in of.layout]
    block = function_block(waiter.run)
    is_child = block is not None and "::ended(" in block.function.name  # any_group.hpp
    child = next((each.type.target() for each in block if each.name == "self"), None) if is_child else None
    for begin, type_ in objects if child is None else [*objects, (waiter.owner, child)]:
        if begin <= waiter.address < begin + type_.sizeof:
            yield from attempt(lambda: exchangers_in(at(begin, type_)), [])


def refers_to_std(type_: gdb.Type) -> bool:
    """Whether it is a pointer to a class of the standard library, such as a thread's state."""
    type_ = plain(type_)
    while type_.code == gdb.TYPE_CODE_PTR or is_reference(type_):
        type_ = plain(type_.target())
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

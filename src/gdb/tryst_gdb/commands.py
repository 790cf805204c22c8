# SPDX-License-Identifier: MIT
"""The commands `tryst waiters EXPRESSION` and `tryst stacks [LOOP]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gdb

from . import frames, waits
from .coroutines import Coroutine
from .exchangers import exchangers_in, nested
from .executors import Executor, loop_of
from .program import Program
from .values import (Unreadable, at, attempt, count, forget, known_settings, number, required_type, type_name,
                     type_or_none, unwrapped)
from .waits import Waiter, alike, limits_of, waiter_at


# ---- tryst waiters.


def party(waiter: Waiter, program: Program) -> list[str]:
    """Who waits, and how: one line, and others about it."""
    if waiter.kind == "standing":
        return [case_of_set(waiter)]
    of = waiter.coroutine()
    kind = waiter.executor.kind if waiter.executor.vtable else ""
    details = [limits_of(waiter)]
    if of is not None:
        location = waiter.location or waits.location_of(of)
        line = f"coroutine {of.name}" + (f" at {location}" if location is not None else "")
        details.insert(0, f"on {waiter.executor}" if kind else "without executor")
    else:
        line = f"{kind or 'operation'} {waiter.executor.context:#x}"
        if kind == "a thread":
            thread = waits.thread_of(waiter)
            line = "thread " + ("(unknown)" if thread is None else f"{thread.num} (LWP {thread.ptid[1]})")
            details = [limits_of_thread(waiter, program)]
        elif kind == "a fiber":
            line = f"fiber, wait strategy {waiter.executor.context:#x}"
        line += f" in {waiter.location.full}" if waiter.location is not None else ""
    lines = [", ".join([line, *filter(None, details)])]
    if waiter.kind == "selecting":
        return lines + other_cases(waiter, program)
    outer = waits.ancestors(of)[1:] if of is not None else []
    return lines + [f"awaited by {waits.where(each)}" for each in outer if not each.is_internal]


def limits_of_thread(waiter: Waiter, program: Program) -> str:
    """A thread has no timer: its operation, a variable, says what can end the wait."""
    operation = program.operations.get(waiter.address)
    limits = "" if operation is None else type_name(operation.type)
    if "limits<true" in limits:
        return waits.describe_deadline(waits.deadline_behind(waiter.address, operation.type.sizeof))
    return "no stop, no deadline" if "limits<false, void>" in limits else ""


def case_of_set(waiter: Waiter) -> str:
    """Whether the owner of a standing case waits for it."""
    word = at(waiter.owner, required_type("tryst::detail::case_node"))["set"].dereference()
    if number(word["word_"]) & 7 < 2:
        return "a case of a set whose owner is away"
    return f"a case of a set, on {Executor.of(word['node']['executor'])}"


def other_cases(waiter: Waiter, program: Program) -> list[str]:
    """The other exchangers in which the selection of a waiter waits."""
    lines = []
    for each in program.exchangers.values():
        for place in each.places.values():
            other = attempt(lambda: waiter_at(place.address), waiter)
            if other.address != waiter.address and other.kind == "selecting" and other.owner == waiter.owner:
                lines.append(f"a case of a selection; another case: {place.side}in {each}")
    return lines or ["a case of a selection"]


def show_waiters(expression: str) -> None:
    """Prints who waits in the exchangers that an expression names."""
    if not expression:
        raise gdb.error("tryst waiters needs an exchanger: tryst waiters EXPRESSION")
    required_type("tryst::detail::waiter")
    found = exchangers_in(gdb.parse_and_eval(expression))
    program = Program(is_brief=True)
    for each in (program.exchangers.get(one.protocol, one) for one in found):
        contents = each.contents
        state = ("closed, " if contents.closed else "") + (f"{contents.buffer}, " if contents.buffer else "")
        noun = count(len(contents.waiters), "waiter") if contents.waiters or contents.rest else "no waiters"
        each.variable = ""
        print(f"{each}: {state}{noun}" + (f", then {contents.rest}" if contents.rest else ""))
        for n, place, others in alike(contents.waiters):
            side = f"{place.colour}, " if place.colour else ""
            try:
                first, *more = party(waiter_at(place.address), program)
            except gdb.MemoryError:
                first, *more = [f"no waiter is readable at {place.address:#x}"]
            slot = f" [arena, slot {place.slot}]" if place.slot else ""
            print("\n       ".join([f"  {n}  {side}{first}{slot}{others}", *more]))


# ---- tryst stacks.


def describe_wait(of: Coroutine, program: Program) -> str:
    """What the innermost coroutine of a stack waits for."""
    wait = waits.wait_of(of)
    thread = program.running.get(of.address)
    if thread is None and of.is_started and wait.text == "suspended" and not wait.waiters:
        thread = program.running_functions.get(of.resume)
    if thread is not None:
        return f"running in thread {thread}"
    if not of.is_started or not wait.waiters:
        return wait.text if of.is_started else "not started"
    places = " or ".join(program.place_of(waiter, of) for waiter in wait.waiters)
    return ", ".join(filter(None, [f"waiting {places}", limits_of(wait.waiters[0])]))


def leaves(of: Coroutine, outer: list[Coroutine]) -> Iterator[list[Coroutine]]:
    """The stacks of a coroutine: one for each that it waits for, innermost first."""
    stack = [of, *outer]
    wait = waits.wait_of(of)
    if wait.waiters or not wait.children or len(stack) > waits.MOST_FRAMES:
        yield stack
    for child in wait.children:
        if child not in stack:
            yield from leaves(child, stack)


def print_stack(stack: list[Coroutine], end: str, program: Program) -> None:
    """Prints one stack, like `bt`."""
    waiting = describe_wait(stack[0], program)
    lines = []
    for of in stack:
        hidden = of.full_name.startswith("tryst::")
        text = of.library_name if hidden else waits.where(of)
        if not lines:
            # The innermost coroutine is printed even if it is one of the library's.
            if of.library_name or all(each.is_internal for each in stack):
                text = waits.where(of)
            elif waiting.startswith(("running", "not started")) and not hidden:
                text = of.name
        if text:
            lines.append(text if lines else f"{text}, {waiting}")
    frames.print_numbered([*lines, end])


def end_of(root: Coroutine) -> str:
    """What started the outermost coroutine of a stack."""
    executor, place = attempt(lambda: waits.executor_of(root), None), waits.spawned_at(root)
    where = (f"on {executor}" if executor is not None else "without executor") + (f" at {place}" if place is not None else "")
    if place is None and not root.full_name.startswith(waits.SPAWNED):
        return f"started {where}"
    return f"spawned in a task_scope {where}" if root.full_name.startswith(waits.SPAWNED[0]) else f"spawned {where}"


def show_stacks(expression: str) -> None:
    """Prints the stacks of the tasks of one loop, or of all."""
    only = None
    if expression:
        value = unwrapped(gdb.parse_and_eval(expression))
        found = (attempt(lambda: loop_of(unwrapped(each)), None) for each, _ in nested(value, "", 3))
        only = next((each for each in found if each is not None), None)  # a task_executor refers to its loop
        if only is None:
            raise gdb.error(f"{value.type} is not a loop, such as tryst::run_loop")
    if type_or_none("tryst::detail::waiter") is None:
        frames.show_stacks()
        return
    program = Program()
    by_loop: dict[int, list[Coroutine]] = {}
    for root in program.roots:
        executor = attempt(lambda: waits.executor_of(root), None)
        by_loop.setdefault(0 if executor is None else executor.context, []).append(root)
    printed: set[Coroutine] = set()

    def print_all(tasks: list[Coroutine]) -> None:
        printed.update(tasks)
        for task in tasks[:waits.MOST_TASKS]:
            for stack in leaves(task, []):
                printed.add(stack[0])
                print_stack(stack, end_of(task), program)
        if len(tasks) > waits.MOST_TASKS:
            print(f"  ... and {len(tasks) - waits.MOST_TASKS} more, which are not shown")

    loops = sorted(program.loops.values(), key=lambda each: each.address)
    for loop in loops if only is None else [program.loops.get(only.address, only)]:
        tasks, ready = attempt(lambda: waits.tasks_of(loop), ([], 0))
        tasks = list(dict.fromkeys([*tasks, *by_loop.get(loop.address, [])]))
        print(f"{loop}: {count(len(tasks), 'task')}" + (f", {ready} ready to run" if ready else ""))
        print_all(tasks)
    if only is not None:
        return
    others = [each for each in program.roots if each not in printed]
    unstarted = [each for each in program.unstarted if each not in printed]
    if others or unstarted:
        print("other coroutines:")
    print_all(others)
    for task in unstarted:
        print_stack([task], f"stored in {program.unstarted[task]}", program)
    parties = other_parties(program)
    if parties:
        print("\n".join(["other parties:", *parties]))
    if not program.loops and not others and not unstarted and not parties:
        print("no loop and no waiting coroutine was found; name a loop: tryst stacks LOOP")


def other_parties(program: Program) -> list[str]:
    """Threads, fibers and Asio handlers that wait."""
    lines = []
    for each in program.exchangers.values():
        for _, place, others in alike(list(each.places.values())):
            waiter = attempt(lambda: waiter_at(place.address), None)
            if waiter is not None and waiter.kind != "standing" and waiter.coroutine() is None:
                lines.append(f"  {party(waiter, program)[0]}, {place.side}in {each}{others}")
    return lines


# ---- The commands.


class Command(gdb.Command):
    """A command whose mistakes are one line."""

    def __init__(self, name: str, show: Callable[[str], None], text: str) -> None:
        self.__doc__, self.show = text, show
        super().__init__(name, gdb.COMMAND_STACK, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        forget()
        try:
            with known_settings():
                self.show(argument.strip())
        except Unreadable as error:
            raise gdb.GdbError(f"tryst: {error}") from None


class Tryst(gdb.Command):
    """Show who waits for whom in a program that uses tryst."""

    def __init__(self) -> None:
        super().__init__("tryst", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


def register() -> None:
    """Adds the commands to gdb."""
    Tryst()
    Command("tryst waiters", show_waiters, """Show who waits in an exchanger, a channel or a future: tryst waiters EXPRESSION

The expression is one of these, or a reference or pointer to one, or an operation or a selection.
One line for each waiter: its side, who it is, where it waits, and what can end its wait.""")
    Command("tryst stacks", show_stacks, """Show the stacks of suspended coroutines: tryst stacks [LOOP]

Each stack begins with the innermost coroutine, and what it waits for. Without an argument, shows
all loops that the variables of the threads lead to, and other parties that wait.""")

# SPDX-License-Identifier: MIT
"""For what a coroutine waits, and which tasks a loop or a scope has."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import gdb

from . import values
from .coroutines import PROMISE_AT, Coroutine, Location, location_at
from .executors import Executor, Loop, nodes_at
from .values import WORD, Unreadable, attempt, offset, read, required_type, symbol, type_or_none, word_or_zero
from .waiters import (TIMED, Waiter, continuation_offset, deadline_behind, describe_deadline, is_continuation,
                      waiter_at)

MOST_TASKS = 10_000
# The coroutines that await a spawned task.
JOIN_CHILD = "tryst::detail::root<tryst::detail::join_counter, tryst::detail::task_promise_tag>"
OWNS_ONE_TASK = re.compile(r"tryst::detail::root<(tryst::task_scope|tryst::detail::serial_queue),.*>::own$")


@dataclass
class Wait:
    """What a suspended coroutine waits for: other coroutines, or something else."""

    text: str = "suspended"
    location: Location | None = None
    children: list[Coroutine] = field(default_factory=list)
    waiters: list[Waiter] = field(default_factory=list)


_waits: dict[tuple[int, int], Wait] = {}


def forget() -> None:
    """Forgets waits, and names. Call before each command."""
    values.forget()
    _waits.clear()


def where(of: Coroutine) -> str:
    """`name() at file:line` of the `co_await` at which it is suspended, or `name()` if nothing has recorded that."""
    location = attempt(lambda: wait_of(of).location, None)
    return f"{of.name} at {location}" if location is not None else of.name


def awaiter_of_task(of: Coroutine) -> int:
    """The continuation of the coroutine that awaits a task, or 0."""
    type_ = required_type("tryst::detail::awaited_work")
    found = word_or_zero(of.address + PROMISE_AT + offset(type_, "awaiter_"))
    return found if is_continuation(found) else 0


def owner_of(of: Coroutine, root: str) -> int:
    """The owner of a coroutine that is a root."""
    type_ = required_type(f"{root}::promise_type")
    return word_or_zero(of.address + PROMISE_AT + offset(type_, "owner"))


def group_of(of: Coroutine) -> int:
    """The join_counter of a child of when_all or when_any, or 0."""
    if not re.search(r"^tryst::detail::join(_first)?(<|$)", of.full_name):
        return 0
    return owner_of(of, JOIN_CHILD)


def parent_of(of: Coroutine) -> Coroutine | None:
    """The coroutine that awaits another."""
    group = group_of(of)
    if group:
        counter = required_type("tryst::detail::join_counter")
        awaiter = group + offset(counter, "awaiter")
    else:
        awaiter = awaiter_of_task(of)
    if awaiter == 0:
        return None
    return Coroutine.at(word_or_zero(awaiter + continuation_offset("coroutine_")))


def executor_of(of: Coroutine) -> Executor | None:
    """The executor that a coroutine's promise names, if it is one of tryst's."""
    for owner in ("tryst::task_scope", "tryst::detail::serial_queue"):
        root = f"tryst::detail::root<{owner}, tryst::detail::spawned_task>"
        if of.full_name.startswith(root):
            return Executor.at(owner_of(of, root) + offset(required_type(owner), "executor_"))
    group = group_of(of)
    if group:
        counter = required_type("tryst::detail::join_counter")
        return Executor.at(group + offset(counter, "awaiter") + continuation_offset("executor_"))
    promise = required_type("tryst::detail::task_promise_base")
    found = Executor.at(of.address + PROMISE_AT + offset(promise, "executor_"))
    return found if found.vtable and found.is_known else None


def wait_of(of: Coroutine) -> Wait:
    """What a coroutine waits for: whatever in its frame refers to the frame."""
    key = (of.address, of.resume)
    if key not in _waits:
        _waits[key] = _find_wait(of)
    return _waits[key]


def _find_wait(of: Coroutine) -> Wait:
    found = Wait()
    owner = offset(required_type("tryst::detail::waiter"), "owner")
    words = list(of.words())
    end = of.address + of.size()
    for at_, word in words:
        if word == of.address:
            location = location_at(at_ + WORD)
            certain = _wait_at(of, at_, words, found)
            if certain or certain is None and found.location is None:
                found.location = location
        elif of.address < word < end and word < at_ and _case_at(at_ - owner, word, found):
            found.location = location_at(at_ + WORD)
    if not found.children and OWNS_ONE_TASK.match(of.full_name):
        tasks = (unstarted_task(word) for _, word in words if word != of.address)
        found.children = [each for each in tasks if each is not None][:1]
    if not found.children and len(found.waiters) > 1:
        found.text = "waiting in select"
    return found


def _case_at(address: int, commitment: int, found: Wait) -> bool:
    try:
        case = waiter_at(address)
    except gdb.MemoryError:
        return False
    is_case = case.kind == "selecting" and case.owner == commitment and case.stage == "offered"
    if not is_case and ("any_child<" not in symbol(case.run) or case.stage in ("created", "finished")):
        return False
    found.waiters.append(case)
    return is_case


def _wait_at(of: Coroutine, at_: int, words: list[tuple[int, int]], found: Wait) -> bool | None:
    """`of` is the word at `at_` of its own frame: adds the wait that this is a part of. @returns whether the coroutine
    waits there, or None if this does not say so."""
    continuation = at_ - continuation_offset("coroutine_")
    if is_continuation(continuation):
        return _continued(of, continuation, words, found)
    try:
        waiter = waiter_at(at_ - offset(required_type("tryst::detail::waiter"), "owner"))
    except gdb.MemoryError:
        return None
    if re.search(r"awaitable_operation<tryst::detail::operation<|::after_turn", symbol(waiter.run)):
        if waiter.stage in ("created", "finished"):
            return False
        found.waiters.append(waiter)
        return True
    for name, text in (
        ("tryst::schedule_operation", "ready to run on {}"),
        ("tryst::task_scope::join_operation", "waiting in task_scope::join"),
    ):
        type_ = type_or_none(name)
        node_at = 0 if type_ is None else at_ - offset(type_, "coroutine_")
        if type_ is not None and name.rsplit("::", 1)[-1] in symbol(word_or_zero(node_at + offset(type_, "run"))):
            if name.endswith("schedule_operation"):
                text = text.format(Executor.at(node_at + offset(type_, "executor_")))
            found.text = text
    return None


def _continued(of: Coroutine, continuation: int, words: list[tuple[int, int]], found: Wait) -> bool:
    before = word_or_zero(continuation - WORD)
    child = Coroutine.at(before)
    if child is not None and awaiter_of_task(child) == continuation:
        found.children.append(child)
        return True
    counter = _offset_or_none("tryst::detail::join_counter", "awaiter")
    group = 0 if counter is None else continuation - counter
    children = group_children(group, words) if group else []
    if children:
        found.children.extend(children)
        found.text = "waiting for all of a group"
        return True
    for back in range(WORD, 17 * WORD, WORD):
        fire = symbol(word_or_zero(continuation - back))
        if "::pass_deadline" in fire and "sleep_awaiter" in fire:
            stage = read(continuation + required_type("tryst::detail::continuation").sizeof, 1)
            if not stage or stage[0] not in _timed_stages():
                return False
            deadline = deadline_behind(continuation - back, WORD)
            found.text = "sleeping, " + describe_deadline(deadline)
            return True
    if word_or_zero(before) == continuation:
        if "waiting" not in found.text:
            found.text = f"waiting for the result of spawn_future {before:#x}"
        return True
    return any(word == continuation and read(at_ + WORD, 1) == b"\1" for at_, word in words)  # of a sender


def _timed_stages() -> set[int]:
    fields = required_type("tryst::detail::stage").fields()
    return {each.enumval for each in fields if each.name.rsplit("::", 1)[-1] in TIMED}


def _offset_or_none(type_name: str, name: str) -> int | None:
    """The position of a field of a class that the program need not use."""
    type_ = type_or_none(type_name)
    return None if type_ is None else offset(type_.strip_typedefs(), name)


def group_children(group: int, words: list[tuple[int, int]]) -> list[Coroutine]:
    """The children of a group: their handles are in the frame, or in a vector there."""
    found: dict[int, Coroutine] = {}

    def add(address: int) -> bool:
        child = Coroutine.at(address)
        if child is None or group_of(child) != group:
            return False
        found.setdefault(address, child)
        return True

    for (_, word), (_, following) in zip(words, words[1:] + [(0, 0)]):
        if not add(word) and word < following <= word + (MOST_TASKS * WORD):
            if word % WORD == 0 and Coroutine.at(word_or_zero(word)) is not None:
                for each in range(word, following, WORD):
                    add(word_or_zero(each))
    return list(found.values())


def tasks_of(of: Loop) -> tuple[list[Coroutine], int]:
    """The tasks of a loop in the order of their start, then those that have not started, and the
    number of nodes that are ready."""
    type_ = required_type("tryst::detail::serial_queue")
    found = _owned_tasks(of.address + offset(type_, "tasks_"))
    ready = _nodes(word_or_zero(of.address + offset(type_, "head_"))) + _nodes(of.inbox)[::-1]
    run = offset(required_type("tryst::executor_node"), "run")
    for node in ready:
        if symbol(word_or_zero(node + run)).startswith("tryst::detail::serial_queue::start"):
            task = Coroutine.at(node - PROMISE_AT)
            if task is not None:
                found.append(task)
    return found, len(ready)


def _nodes(first: int) -> list[int]:
    try:
        return nodes_at(first)[0]
    except Unreadable:
        return []  # the program is in the middle of a step


def scope_tasks(scope: int) -> list[Coroutine]:
    """The tasks of a task_scope."""
    return _owned_tasks(scope + offset(required_type("tryst::task_scope"), "tasks_"))


def _owned_tasks(tasks: int) -> list[Coroutine]:
    """The coroutines of a list of spawned tasks, in the order of their spawning."""
    following = offset(required_type("tryst::detail::spawned_task"), "following")
    promise = word_or_zero(tasks)
    found: list[Coroutine] = []
    while promise and len(found) < MOST_TASKS:
        task = Coroutine.at(promise - PROMISE_AT)
        if task is None:
            break
        found.append(task)
        promise = word_or_zero(promise + following)
    found.reverse()
    return found


def is_started(task: int) -> bool:
    """Whether the coroutine of a tryst::task has been awaited. Other coroutines have other promises."""
    type_ = required_type("tryst::detail::awaited_work")
    return word_or_zero(task + PROMISE_AT + offset(type_, "awaiter_")) != 0


def unstarted_task(frame: int) -> Coroutine | None:
    """The coroutine of a tryst::task, if it has not started."""
    found = Coroutine.at(frame)
    if found is None or is_started(frame):
        return None
    found.is_started = False
    return found

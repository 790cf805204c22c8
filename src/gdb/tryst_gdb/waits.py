# SPDX-License-Identifier: MIT
"""For what a coroutine waits, and which tasks a loop or a scope has.

All of it can be read without debug information, but for the queues of loops and scopes: each constant names the header
with the layout."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import gdb

from . import values
from .coroutines import PROMISE_AT, Coroutine, Location, is_continuation, location_at
from .executors import Executor, Loop, linked, nodes_at
from .values import WORD, at, attempt, offset, read, required_type, symbol, type_name, type_or_none, word_or_zero
from .waiters import (AWAITER_IN_GROUP, COROUTINE, OWNER, TIMED, STAGES, Waiter, deadline_behind, describe_deadline,
                      waiter_at)

MOST_TASKS = 10_000
MOST_FRAMES = 100
AWAITED = b"\1"  # continuation.hpp: handshake::state
EXECUTOR_IN_TASK = PROMISE_AT + 2 * WORD  # task.hpp: task_promise_base; its awaiter is the first word
SPAWNED_AT = PROMISE_AT + 5 * WORD  # root.hpp: spawned_task; the owner is behind it
OWNERS = ("tryst::task_scope", "tryst::detail::serial_queue")
SPAWNED = tuple(f"tryst::detail::root<{owner}" for owner in OWNERS)


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


def wait_of(of: Coroutine) -> Wait:
    """What a coroutine waits for: whatever in its frame refers to the frame."""
    key = (of.address, of.resume)
    if key not in _waits:
        _waits[key] = _find_wait(of)
    return _waits[key]


def location_of(of: Coroutine) -> Location | None:
    """Where a coroutine is suspended, or one of the library's own is awaited, if something has recorded that."""
    user = next((each for each in ancestors(of) if not each.is_internal), None)
    return attempt(lambda: wait_of(user).location, None) if user is not None else None


def where(of: Coroutine) -> str:
    """`name() at file:line`, or `name()`."""
    location = location_of(of)
    return f"{of.name} at {location}" if location is not None else of.name


# ---- The coroutine that awaits another.


def awaiter_of_task(of: Coroutine) -> int:
    """The continuation of the coroutine that awaits a task, or 0."""
    found = word_or_zero(of.address + PROMISE_AT)
    return found if is_continuation(found) else 0


def group_of(of: Coroutine) -> int:
    """The join_counter of a child of when_all or when_any, or 0."""
    is_child = re.search(r"^tryst::detail::join(_first)?(<|$)", of.full_name)
    return word_or_zero(of.address + PROMISE_AT) if is_child else 0


def parent_of(of: Coroutine) -> Coroutine | None:
    """The coroutine that awaits another."""
    group = group_of(of)
    awaiter = group + AWAITER_IN_GROUP if group else awaiter_of_task(of)
    return Coroutine.at(word_or_zero(awaiter + COROUTINE)) if awaiter else None


def ancestors(of: Coroutine) -> list[Coroutine]:
    """A coroutine and those that wait for it, innermost first."""
    chain = [of]
    while len(chain) < MOST_FRAMES:
        parent = attempt(lambda: parent_of(chain[-1]), None)
        if parent is None or parent in chain:
            break
        chain.append(parent)
    return chain


def executor_of(of: Coroutine) -> Executor | None:
    """The executor that a coroutine's promise names, if it is one of tryst's."""
    for owner, root in zip(OWNERS, SPAWNED):
        if of.full_name.startswith(root):
            return Executor.at(word_or_zero(of.address + SPAWNED_AT + WORD) + offset(required_type(owner), "executor_"))
    group = group_of(of)
    if group:
        return Executor.at(group + AWAITER_IN_GROUP + COROUTINE + 2 * WORD)
    found = Executor.at(of.address + EXECUTOR_IN_TASK)
    return found if found.vtable and found.is_known else None


def spawned_at(of: Coroutine) -> Location | None:
    """Where a root was spawned."""
    return location_at(of.address + SPAWNED_AT) if of.full_name.startswith(SPAWNED) else None


# ---- What a coroutine waits for.


def _find_wait(of: Coroutine) -> Wait:
    found = Wait()
    parts = [part for part in of.parts() if part]
    words = [each for part in parts for each in part]
    for part in parts:
        begin = part[0][0]
        for at_, word in part:
            if word == of.address:
                certain = _wait_at(of, at_, words, found)
            else:
                certain = begin <= word < at_ and _case_at(at_ - OWNER, word, found)
            if certain or certain is None and found.location is None:
                found.location = location_at(at_ + WORD)
    if not found.children and of.full_name.startswith(SPAWNED) and of.full_name.endswith("::own"):
        tasks = (unstarted_task(word) for _, word in words if word != of.address)
        found.children = [each for each in tasks if each is not None][:1]
    if not found.children and len(found.waiters) > 1:
        found.text = "waiting in select"
    return found


def _case_at(address: int, owner: int, found: Wait) -> bool:
    """Adds the waiter of a selection or of a when_any. @returns whether the location of the coroutine is there."""
    case = attempt(lambda: waiter_at(address), None)
    if case is None or case.owner != owner:
        return False
    is_case = case.kind == "selecting"
    if case.is_pending and (is_case or "any_child<" in symbol(case.run)):
        found.waiters.append(case)
    return is_case and case.is_pending


def _wait_at(of: Coroutine, at_: int, words: list[tuple[int, int]], found: Wait) -> bool | None:
    """`of` is the word at `at_` of its own frame: adds the wait that this is a part of. @returns whether the coroutine
    waits there, or None if this does not say so."""
    if is_continuation(at_ - COROUTINE):
        return _continued(at_ - COROUTINE, words, found)
    waiter = attempt(lambda: waiter_at(at_ - OWNER), None)
    if waiter and re.search(r"awaitable_operation<tryst::detail::operation<|::after_turn", symbol(waiter.run)):
        if waiter.is_pending:
            found.waiters.append(waiter)
        return waiter.is_pending
    if "schedule_operation" in symbol(word_or_zero(at_ - 4 * WORD)):  # executor.hpp
        is_queued = word_or_zero(at_ - 3 * WORD) != 0
        found.text = f"ready to run on {Executor.at(at_ - 2 * WORD)}" if is_queued else found.text
        return is_queued
    if "join_operation" in symbol(word_or_zero(at_ - 3 * WORD)):  # task_scope.hpp: the scope, whose joiner it may be
        is_joiner = word_or_zero(word_or_zero(at_ - WORD) + 3 * WORD) == at_ - 4 * WORD
        found.text = "waiting in task_scope::join" if is_joiner else found.text
        return is_joiner
    found.text = attempt(lambda: _kernel_text(of, at_), "") or found.text
    return None


def _kernel_text(of: Coroutine, at_: int) -> str:
    """What an operation of io_uring does."""
    type_ = type_or_none("tryst::uring::detail::operation_base")
    for each in of.layout() if type_ is not None else ():
        inside = at_ - of.address - each.bitpos // 8
        if 0 <= inside < each.type.sizeof and "tryst::uring::" in type_name(each.type):
            request = at(at_ - offset(type_, "coroutine_"), type_)["request_"]
            file = int(request["descriptor"])
            name = str(request["code"]).rsplit("::", 1)[-1]
            return f"waiting in the kernel: {name}" + (f" of descriptor {file}" if file >= 0 else "")
    return ""


def _continued(continuation: int, words: list[tuple[int, int]], found: Wait) -> bool:
    before = word_or_zero(continuation - WORD)
    child = Coroutine.at(before)
    if child is not None and awaiter_of_task(child) == continuation:
        found.children.append(child)
        return True
    children = group_children(continuation - AWAITER_IN_GROUP, words)
    if children:
        found.children.extend(children)
        found.text = "waiting for all of a group"
        return True
    for back in range(WORD, 17 * WORD, WORD):
        fire = symbol(word_or_zero(continuation - back))
        if "::pass_deadline" in fire and "sleep_awaiter" in fire:
            stage = read(continuation + COROUTINE + 5 * WORD, 1)  # sleep.hpp: behind the continuation
            if stage and stage[0] < len(STAGES) and STAGES[stage[0]] in TIMED:
                found.text = "sleeping, " + describe_deadline(deadline_behind(continuation - back, WORD))
                return True
            return False
    if word_or_zero(before) == continuation:
        if "waiting" not in found.text:
            found.text = f"waiting for the result of spawn_future {before:#x}"
        return True
    return any(word == continuation and read(at_ + WORD, 1) == AWAITED for at_, word in words)  # as_awaitable.hpp


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


# ---- The tasks of a loop or a scope.


def tasks_of(of: Loop) -> tuple[list[Coroutine], int]:
    """The tasks of a loop in the order of their start, then those that have not started, and the
    number of nodes that are ready."""
    type_ = required_type("tryst::detail::serial_queue")
    found = _owned_tasks(of.address + offset(type_, "tasks_"))
    ready = _nodes(word_or_zero(of.address + offset(type_, "head_"))) + _nodes(of.inbox)[::-1]
    for node in ready:
        if symbol(word_or_zero(node + WORD)).startswith("tryst::detail::serial_queue::start"):
            task = Coroutine.at(node - PROMISE_AT)
            if task is not None:
                found.append(task)
    return found, len(ready)


def _nodes(first: int) -> list[int]:
    return attempt(lambda: nodes_at(first)[0], [])  # the program may be in the middle of a step


def scope_tasks(scope: int) -> list[Coroutine]:
    """The tasks of a task_scope."""
    return _owned_tasks(scope + offset(required_type("tryst::task_scope"), "tasks_"))


def _owned_tasks(tasks: int) -> list[Coroutine]:
    """The coroutines of a list of spawned tasks, in the order of their spawning."""
    promises, _ = attempt(lambda: linked(word_or_zero(tasks), required_type("tryst::detail::spawned_task"), "following",
                                         MOST_TASKS), ([], True))
    found = [Coroutine.at(promise - PROMISE_AT) for promise in reversed(promises)]
    return [each for each in found if each is not None]


def unstarted_task(frame: int) -> Coroutine | None:
    """The coroutine of a tryst::task, if it has not been awaited. Other coroutines have other promises."""
    found = Coroutine.at(frame)
    if found is None or word_or_zero(frame + PROMISE_AT) != 0:
        return None
    found.is_started = False
    return found

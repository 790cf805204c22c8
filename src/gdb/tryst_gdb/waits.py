# SPDX-License-Identifier: MIT
"""Waiters, for what coroutines wait, and which tasks a loop or a scope has.

All of it can be read without debug information, but for the queues of loops and scopes: each constant names the header
with the layout."""

from __future__ import annotations

import re
import struct
import time
from dataclasses import dataclass, field

import gdb

from .coroutines import PROMISE_AT, Coroutine, Location, is_continuation, location_at
from .exchangers import Found
from .executors import Executor, Loop
from .values import (WORD, at, attempt, linked, offset, read, read_word, remembered, required_type, same_selection,
                     symbol, type_name, type_or_none, word_or_zero)

MOST_TASKS = 10_000
MOST_FRAMES = 100
MOST_ITEM_BYTES = 4096
AWAITED = b"\1"  # continuation.hpp: handshake::state
EXECUTOR_IN_TASK = PROMISE_AT + 2 * WORD  # task.hpp: task_promise_base; its awaiter is the first word
SPAWNED_AT = PROMISE_AT + 5 * WORD  # root.hpp: spawned_task; the owner is behind it
OWNERS = ("tryst::task_scope", "tryst::detail::serial_queue")
SPAWNED = tuple(f"tryst::detail::root<{owner}" for owner in OWNERS)
KINDS = ("stoppable", "unstoppable", "selecting", "standing")
STAGES = {  # waiter.hpp: stage, and what it says about an operation
    "created": "not awaited yet",
    "registered": "about to wait",
    "offered": "waiting",
    "offered_cancelled": "waiting, and being cancelled",
    "resuming": "complete, queued to resume",
    "finished": "finished",
    "stoppable": "waiting until a stop",
    "timed_by_executor": "waiting until a deadline",
    "timed_by_thread": "waiting until a deadline",
}
STAGE_NAMES = tuple(STAGES)
# waiter.hpp: its function, its link in a queue, its executor, state, result, kind, stage, owner and location
WAITER = struct.Struct("<8xQQQQBBBB4xQQ")
PENDING = 7  # waiter.hpp: outcome
UNDECIDED = range(8, 13)  # commitment.hpp: its second word, from `parked` to `expired`
OWNER = WAITER.size - 2 * WORD
COROUTINE = 3 * WORD  # continuation.hpp: behind the node; its executor is behind the location
AWAITER_IN_GROUP = WORD  # join.hpp: the continuation of a join_counter


# ---- Waiters.


@dataclass
class Waiter:
    """A waiter: its party, and what can end its wait."""

    address: int
    run: int
    executor: Executor
    parked: bool
    done: bool
    queued: bool
    kind: str
    stage: str
    owner: int
    location: Location | None

    def coroutine(self) -> Coroutine | None:
        """The coroutine that waits."""
        return client_of_selection(self.owner) if self.kind == "selecting" else coroutine_of(self.owner)

    @property
    def is_pending(self) -> bool:
        """Whether its party waits. An optimised program may not store that a wait is over, but partners do."""
        if self.kind == "selecting":
            return self.stage == "offered" and word_or_zero(self.owner + WORD) in UNDECIDED
        return self.stage not in ("created", "finished") and (self.queued or not self.done)


def waiter_at(address: int) -> Waiter:
    """@throws gdb.MemoryError if there is no waiter, because it has gone or memory is corrupt."""
    content = read(address, WAITER.size)
    if not content:
        raise gdb.MemoryError(f"the waiter at {address:#x} is not readable")
    run, link, context, vtable, state, result, kind, stage, owner, _ = WAITER.unpack(content)
    if kind >= len(KINDS) or stage >= len(STAGES):
        raise gdb.MemoryError(f"no waiter is readable at {address:#x}")
    done = bool(state & 4) or result != PENDING
    return Waiter(address, run, Executor(context, vtable), bool(state & 8), done, link != 0, KINDS[kind], STAGE_NAMES[stage],
                  owner, location_at(address + OWNER + WORD))


def alike(found: list[Found]) -> list[tuple[int, Found, str]]:
    """The waiters in groups that look the same: the number of the first one, this one, and what to say about others."""
    groups: dict[object, list[int]] = {}
    for i, each in enumerate(found):
        content = read(each.address, WAITER.size)
        run, _, *fields, owner, location = WAITER.unpack(content) if content else (each.address, 0, 0, 0)
        key = (each.colour, each.slot, each.address - owner, read(owner, WORD), location, run, *fields)
        groups.setdefault(key, []).append(i)
    return [(first, found[first], f"; {len(others)} more like this" if others else "")
            for first, *others in groups.values()]


def coroutine_of(client: int) -> Coroutine | None:
    """The coroutine whose frame is there, or that of the when_any whose child is there."""
    awaiter = word_or_zero(client) + AWAITER_IN_GROUP
    return Coroutine.at(client) or (Coroutine.at(word_or_zero(awaiter + COROUTINE)) if is_continuation(awaiter) else None)


def client_of_selection(commitment: int) -> Coroutine | None:
    """The coroutine that waits for a selection: it is in the coroutine's frame, and refers to it."""
    for where in range(commitment, commitment + 16 * MOST_ITEM_BYTES, WORD):
        content = read(where, WORD)
        frame = int.from_bytes(content, "little")
        if not content:
            return None
        if frame and frame < commitment < frame + 16 * MOST_ITEM_BYTES and (found := coroutine_of(frame)) is not None:
            return found
    return None


def deadline_behind(address: int, size: int) -> int | None:
    """The deadline, in nanoseconds, of the first timer there whose function ends a wait."""
    for where in range(address, address + size, WORD):
        if "::pass_deadline" in symbol(word_or_zero(where)):
            return read_word(where - WORD)  # executor.hpp: timer_node
    return None


def describe_deadline(deadline: int | None) -> str:
    if deadline is None:
        return "with a deadline"
    connection = gdb.selected_inferior().connection
    if connection is None or connection.type != "native":  # a core dump or another machine
        return f"deadline at {deadline / 1e9:.3f} s of the steady clock"
    left = (deadline - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) / 1e9
    return f"deadline in {left:.1f} s" if left >= 0 else f"deadline {-left:.1f} s ago"


def limits_of(of: Waiter) -> str:
    """What can end the wait besides a partner and a close."""
    if of.kind == "unstoppable":
        return "no stop, no deadline"
    if of.stage.startswith("timed"):
        return describe_deadline(deadline_behind(of.address, MOST_ITEM_BYTES))
    if of.kind == "selecting":
        return ""
    return "stoppable" if of.parked or of.stage != "offered" else "no stop, no deadline yet"


def thread_of(of: Waiter) -> gdb.InferiorThread | None:
    """The thread on whose stack a waiter is."""
    tops = []
    with same_selection():
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            top = int(gdb.newest_frame().read_register("sp")) % (1 << 64)
            if top <= of.address < top + (8 << 20):
                tops.append((top, thread))
    return max(tops, key=lambda each: each[0])[1] if tops else None


# ---- The coroutine that awaits another.


def awaiter_of_task(of: Coroutine) -> int:
    """The continuation of the coroutine that awaits a task, or 0."""
    found = word_or_zero(of.address + PROMISE_AT)
    return found if is_continuation(found) else 0


def group_of(of: Coroutine) -> int:
    """The join_counter of a child of when_all or when_any, or 0."""
    is_child = re.search(r"^tryst::detail::join(_first)?(<|$)", of.full_name)
    return word_or_zero(of.address + PROMISE_AT) if is_child else 0


def ancestors(of: Coroutine) -> list[Coroutine]:
    """A coroutine and those that wait for it, innermost first."""
    found = [of]
    while len(found) < MOST_FRAMES:
        group = group_of(found[-1])
        awaiter = group + AWAITER_IN_GROUP if group else awaiter_of_task(found[-1])
        parent = Coroutine.at(word_or_zero(awaiter + COROUTINE)) if awaiter else None
        if parent is None or parent in found:
            break
        found.append(parent)
    return found


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


@dataclass
class Wait:
    """What a suspended coroutine waits for: other coroutines, or something else."""

    text: str = "suspended"
    location: Location | None = None
    children: list[Coroutine] = field(default_factory=list)
    waiters: list[Waiter] = field(default_factory=list)


def location_of(of: Coroutine) -> Location | None:
    """Where a coroutine is suspended, or one of the library's own is awaited, if something has recorded that."""
    user = next((each for each in ancestors(of) if not each.is_internal), None)
    return wait_of(user).location if user is not None else None


def where(of: Coroutine) -> str:
    """`name() at file:line`, or `name()`."""
    location = location_of(of)
    return f"{of.name} at {location}" if location is not None else of.name


@remembered
def wait_of(of: Coroutine) -> Wait:
    """What a coroutine waits for: whatever in its frame refers to the frame."""
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
    for each in of.layout if type_ is not None else ():
        inside = at_ - of.address - each.bitpos // 8
        name = f"{type_name(each.type)} {each.name}"  # clang's names of temporaries: class_tryst__uring__operation_0
        if 0 <= inside < each.type.sizeof and re.search("tryst(::|__)uring(::|__)", name):
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
            if stage and stage[0] < len(STAGES) and STAGE_NAMES[stage[0]].startswith("timed"):
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
    handles: list[int] = []
    for (_, word), (_, following) in zip(words, words[1:] + [(0, 0)]):
        handles.append(word)
        if word < following <= word + MOST_TASKS * WORD and word % WORD == 0 and Coroutine.at(word_or_zero(word)) is not None:
            handles.extend(word_or_zero(each) for each in range(word, following, WORD))
    found = dict.fromkeys(Coroutine.at(each) for each in handles)
    return [each for each in found if each is not None and group_of(each) == group]


# ---- The tasks of a loop or a scope.


def tasks_of(of: Loop, most: int | None = None) -> tuple[list[Coroutine], int]:
    """The tasks of a loop, or the last ones, in the order of their start, then those that have not started, and the
    number of nodes that are ready."""
    type_, node = required_type("tryst::detail::serial_queue"), required_type("tryst::executor_node")
    found = owned_tasks(of.address + offset(type_, "tasks_"), most)
    first = word_or_zero(of.address + offset(type_, "head_"))
    queued, posted = (attempt(lambda: linked(each, node, "next", most)[0], []) for each in (first, of.inbox))
    for each in (ready := queued + posted[::-1]):
        if symbol(word_or_zero(each + WORD)).startswith("tryst::detail::serial_queue::start"):
            found.append(Coroutine.at(each - PROMISE_AT))
    return [each for each in found if each is not None], len(ready)


def owned_tasks(tasks: int, most: int | None) -> list[Coroutine | None]:
    """The coroutines of a list of spawned tasks, or the last ones, in the order of their spawning."""
    type_ = required_type("tryst::detail::spawned_task")
    promises = attempt(lambda: linked(word_or_zero(tasks), type_, "following", most)[0], [])
    return [Coroutine.at(promise - PROMISE_AT) for promise in reversed(promises)]


def unstarted_task(frame: int) -> Coroutine | None:
    """The coroutine of a tryst::task, if it has not been awaited. Other coroutines have other promises."""
    found = Coroutine.at(frame)
    if found is None or word_or_zero(frame + PROMISE_AT) != 0:
        return None
    found.is_started = False
    return found

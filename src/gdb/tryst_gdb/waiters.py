# SPDX-License-Identifier: MIT
"""Waiters: who waits, and what can end the wait."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

import gdb

from .coroutines import Coroutine, Location, is_continuation, location_at
from .executors import Executor
from .values import WORD, read, read_word, same_selection, symbol, word_or_zero
from .wait_lists import Found

MOST_ITEM_BYTES = 4096
KINDS = ("stoppable", "unstoppable", "selecting", "standing")
STAGES = ("created", "registered", "offered", "offered_cancelled", "resuming", "finished", "stoppable", "timed_by_executor",
          "timed_by_thread")
TIMED = ("timed_by_executor", "timed_by_thread")
# waiter.hpp: its function, its link in a queue, its executor, state, result, kind, stage, owner and location
WAITER = struct.Struct("<8xQQQQBBBB4xQQ")
PENDING = 7  # waiter.hpp: outcome
UNDECIDED = range(8, 13)  # commitment.hpp: its second word, from `parked` to `expired`
OWNER = WAITER.size - 2 * WORD
COROUTINE = 3 * WORD  # continuation.hpp: behind the node; its executor is behind the location
AWAITER_IN_GROUP = WORD  # join.hpp: the continuation of a join_counter


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
    return Waiter(address, run, Executor(context, vtable), bool(state & 8), done, link != 0, KINDS[kind], STAGES[stage],
                  owner, location_at(address + OWNER + WORD))


def coroutine_of(client: int) -> Coroutine | None:
    """The coroutine whose frame is there, or that of the when_any whose child is there."""
    awaiter = word_or_zero(client) + AWAITER_IN_GROUP
    return Coroutine.at(client) or (Coroutine.at(word_or_zero(awaiter + COROUTINE)) if is_continuation(awaiter) else None)


def alike(found: list[Found]) -> list[tuple[int, Found, int]]:
    """The waiters in groups that look the same: the number of the first one, this one, and how many there are."""
    groups: dict[object, list[int]] = {}
    for i, each in enumerate(found):
        content = read(each.address, WAITER.size)
        run, _, *fields, owner, location = WAITER.unpack(content) if content else (each.address, 0, 0, 0)
        key = (each.colour, each.slot, each.address - owner, read(owner, WORD), location, run, *fields)
        groups.setdefault(key, []).append(i)
    return [(numbers[0], found[numbers[0]], len(numbers)) for numbers in groups.values()]


def client_of_selection(commitment: int) -> Coroutine | None:
    """The coroutine that waits for a selection: it is in the coroutine's frame, and refers to it."""
    for at in range(commitment, commitment + 16 * MOST_ITEM_BYTES, WORD):
        content = read(at, WORD)
        frame = int.from_bytes(content, "little")
        if not content:
            return None
        if frame and frame < commitment < frame + 16 * MOST_ITEM_BYTES and (found := coroutine_of(frame)) is not None:
            return found
    return None


def deadline_behind(address: int, size: int) -> int | None:
    """The deadline, in nanoseconds, of the first timer there whose function ends a wait."""
    for at in range(address, address + size, WORD):
        if "::pass_deadline" in symbol(word_or_zero(at)):
            return read_word(at - WORD)  # executor.hpp: timer_node
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
    if of.stage in TIMED:
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

# SPDX-License-Identifier: MIT
"""Waiters: who waits, and what can end the wait."""

from __future__ import annotations

import time
from dataclasses import dataclass

import gdb

from .coroutines import Coroutine, Location, location_at
from .executors import Executor
from .wait_lists import Found
from .values import WORD, at, number, offset, read, read_word, required_type, same_selection, symbol, \
    type_or_none, word_or_zero

MOST_ITEM_BYTES = 4096
TIMED = ("timed_by_executor", "timed_by_thread")


@dataclass
class Waiter:
    """A waiter: its party, and what can end its wait."""

    address: int
    kind: str
    stage: str
    run: int
    owner: int
    executor: Executor
    parked: bool
    location: Location | None

    @property
    def is_thread(self) -> bool:
        return self.executor.vtable != 0 and self.executor.kind == "a thread"

    def coroutine(self) -> Coroutine | None:
        """The coroutine that waits."""
        if self.kind == "selecting":
            return client_of_selection(self.owner)
        return coroutine_of(self.owner)


def waiter_at(address: int) -> Waiter:
    """@throws gdb.MemoryError if there is no waiter, because it has gone or memory is corrupt."""
    type_ = required_type("tryst::detail::waiter")
    if len(read(address, type_.sizeof)) != type_.sizeof:
        raise gdb.MemoryError(f"the waiter at {address:#x} is not readable")
    value = at(address, type_)
    state = number(value["state"]["word_"])
    return Waiter(
        address,
        str(value["kind"]).rsplit("::", 1)[-1],
        str(value["at"]).rsplit("::", 1)[-1],
        int(value["run"]),
        int(value["owner"]),
        Executor.of(value["executor"]),
        bool(state & 8),
        location_at(address + offset(type_, "waits_at")),
    )


def continuation_offset(name: str) -> int:
    return offset(required_type("tryst::detail::continuation"), name)


def is_continuation(address: int) -> bool:
    """Whether a continuation that has been set is there."""
    return "continuation::resume_posted" in symbol(word_or_zero(address + continuation_offset("run")))


def coroutine_of(client: int) -> Coroutine | None:
    """The coroutine whose frame is there, or that of the when_any whose child is there."""
    found = Coroutine.at(client)
    counter = type_or_none("tryst::detail::join_counter")
    if found is not None or counter is None:
        return found
    awaiter = word_or_zero(client) + offset(counter.strip_typedefs(), "awaiter")
    return Coroutine.at(word_or_zero(awaiter + continuation_offset("coroutine_"))) if is_continuation(awaiter) else None


def alike(found: list[Found]) -> list[tuple[int, Found, int]]:
    """The waiters in groups that look the same: the number of the first one, this one, and how many there are."""
    type_ = required_type("tryst::detail::waiter")
    size, owner = type_.sizeof, offset(type_, "owner")
    fields = [(offset(type_, name), size) for name, size in (("run", WORD), ("waits_at", WORD), ("executor", 2 * WORD), ("kind", 1), ("at", 1))]
    state = offset(type_, "state")
    groups: dict[object, list[int]] = {}
    for i, each in enumerate(found):
        content = read(each.address, size)
        client = int.from_bytes(content[owner:owner + WORD], "little")
        key = (each.colour, each.slot, each.address - client, read(client, WORD), content[state:state + 1],
               *(content[begin:begin + length] for begin, length in fields)) if content else each.address
        groups.setdefault(key, []).append(i)
    return [(numbers[0], found[numbers[0]], len(numbers)) for numbers in groups.values()]


def client_of_selection(commitment: int) -> Coroutine | None:
    """The coroutine that waits for a selection: it is in the coroutine's frame, and refers to
    it."""
    for at_ in range(commitment, commitment + 16 * MOST_ITEM_BYTES, WORD):
        frame = word_or_zero(at_)
        if frame and frame < commitment < frame + 16 * MOST_ITEM_BYTES:
            found = coroutine_of(frame)
            if found is not None:
                return found
        elif not read(at_, 1):
            return None
    return None


def deadline_behind(address: int, size: int) -> int | None:
    """The deadline, in nanoseconds, of the first timer there whose function ends a wait."""
    type_ = required_type("tryst::timer_node")
    fire, deadline = offset(type_, "fire"), offset(type_, "deadline")
    for at_ in range(address, address + size, WORD):
        word = word_or_zero(at_)
        if word and "::pass_deadline" in symbol(word):
            return read_word(at_ - fire + deadline)
    return None


def now() -> int | None:
    """The time of the program's steady clock, or None for a core dump or another machine."""
    connection = gdb.selected_inferior().connection
    if connection is None or connection.type != "native":
        return None
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def describe_deadline(deadline: int | None) -> str:
    if deadline is None:
        return "with a deadline"
    present = now()
    if present is None:
        return f"deadline at {deadline / 1e9:.3f} s of the steady clock"
    left = (deadline - present) / 1e9
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
    best: tuple[int, gdb.InferiorThread] | None = None
    with same_selection():
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            top = int(gdb.newest_frame().read_register("sp")) % (1 << 64)
            if top <= of.address < top + (8 << 20) and (best is None or top > best[0]):
                best = (top, thread)
    return None if best is None else best[1]

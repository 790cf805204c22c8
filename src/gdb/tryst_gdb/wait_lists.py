# SPDX-License-Identifier: MIT
"""Finds the waiters of an exchanger: those in its wait list and the offers in its arena.

The numbers are those of the headers in include/tryst/detail/meet that each function names. The program may be
stopped in the middle of any step, and its memory may be corrupt. So each walk ends where it has been before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import gdb

from .values import WORD, address, at, member, number, offset, owned, plain, read_word, text_at

MOST_WAITERS = 1000  # in a printer
MOST_GROUPS = 255
ARENA_AT = 24  # in waiter::place, the number of the slot (arena.hpp)


class Cycle(Exception):
    """A list leads back to one of its nodes."""


def chain(first: int, following: Callable[[int], int]) -> Iterator[int]:
    """The nodes from `first` until 0. @throws Cycle."""
    seen: set[int] = set()
    while first != 0:
        if first in seen:
            raise Cycle
        seen.add(first)
        yield first
        first = following(first)


@dataclass
class Found:
    """A waiter in a slot or list."""

    address: int
    colour: str  # "red", "blue" or ""
    slot: int = 0  # in the arena, from 1; 0 in the wait list

    @property
    def side(self) -> str:
        return f"{self.colour} " if self.colour else ""


@dataclass
class Exchange:
    """What an exchanger's protocol looks like. `rest` says what follows these waiters, if something does."""

    name: str
    closed: bool
    bound: int
    capacity: int
    waiters: list[Found] = field(default_factory=list)
    rest: str = ""
    buffer: str = ""  # what is in that of a channel


def read(protocol: gdb.Value, most: int | None = MOST_WAITERS) -> Exchange:
    """Reads a `protocol`, and up to `most` of its waiters, or all. @throws gdb.error."""
    arena = protocol["arena_"]
    if member(arena, "waiting_") is not None:
        return _in_future(arena)
    wait_list = arena["list_"]
    capacity = number(arena["capacity_"])
    if capacity > MOST_GROUPS:
        raise gdb.error(f"an arena of {capacity} slots")
    closed, found = _in_list(wait_list)
    result = Exchange(name_of(protocol), closed, number(arena["bound_"]) & 0xFF, capacity)
    if member(wait_list, "senders_") is not None:
        result.buffer = _buffer_text(wait_list)
    try:
        for waiter in itertools.chain(found, _in_arena(arena, capacity)):
            if len(result.waiters) == most:
                result.rest = "more"
                break
            result.waiters.append(waiter)
    except Cycle:
        result.rest = "a cycle: its list is corrupt"
    return result


def _in_future(state: gdb.Value) -> Exchange:
    """future_state.hpp. @throws gdb.error."""
    phase, promise, waiter = int(state["phase_"]), number(state["promise_"]), int(state["waiting_"])
    if phase > 2:
        raise gdb.error(f"its phase is {phase}")
    text = ("an item, " if phase == 1 else "no item, ") + (f"promise at {promise:#x}" if promise else "no promise")
    return Exchange("", phase == 2, 0, 0, [Found(waiter, "")] if waiter else [], buffer=text)


def name_of(protocol: gdb.Value) -> str:
    """The name that the program gave it, or "". @throws gdb.error."""
    name = member(protocol, "name_")
    return "" if name is None else text_at(int(name))[:100]


def _in_list(wait_list: gdb.Value) -> tuple[bool, Iterator[Found]]:
    """Whether it is closed, and its waiters, whose iterator may throw Cycle."""
    if member(wait_list, "senders_") is not None:
        return bool(number(wait_list["closed_"])), _in_buffer(wait_list)
    if member(wait_list, "segments_") is not None:
        return bool(number(wait_list["red_"]["word"]) & 1), _in_queue(wait_list)
    if member(wait_list, "head_") is not None:
        return bool(number(wait_list["head_"]) & 1), _in_stack(wait_list)
    word = number(wait_list["word_"])
    return word == 1, _in_word(word, False)


def _in_word(word: int, coloured: bool, slot: int = 0) -> Iterator[Found]:
    """slot.hpp: 0 is empty, 1 closed, 2 moving; a blue waiter's address is odd."""
    if word > 2:
        colour = ("blue" if word & 1 else "red") if coloured else ""
        yield Found(word & ~1, colour, slot)


def _in_arena(arena: gdb.Value, capacity: int) -> Iterator[Found]:
    if capacity == 0 or number(arena["bound_"]) == 0:
        return  # has never grown
    coloured = member(arena["list_"], "word_") is None
    groups = owned(arena["spread_"])
    size = groups.type.target().sizeof
    first, last = groups.type.target().fields()[0].type.range()
    for i in range(capacity):
        for k in range(last - first + 1):
            yield from _in_word(read_word(int(groups) + i * size + k * WORD), coloured, i + 1)


class Pool:
    """node_pool.hpp: node n is in block i, where i is the position of its highest bit."""

    def __init__(self, pool: gdb.Value) -> None:
        self.node = plain(pool.type).template_argument(0)
        self.size = self.node.sizeof
        self.blocks = address(pool["blocks_"])
        self.count = int(plain(pool.type).template_argument(1))
        self.begins: dict[int, int] = {}

    def where(self, n: int) -> int:
        """@throws gdb.error if there is no such node."""
        block = n.bit_length() - 1
        begin = self.begins.get(block, 0)
        if begin == 0 and 0 <= block < self.count:
            begin = self.begins[block] = read_word(self.blocks + block * WORD)
        if begin == 0:
            raise gdb.error(f"there is no node {n}")
        return begin + (n - (1 << block)) * self.size


def _buffer_text(buffer: gdb.Value) -> str:
    items, weight, limit = int(buffer["items_"]["size_"]), int(buffer["inside_"]), int(buffer["limit_"])
    of_weight = "" if weight == items else f" of weight {weight}"
    highest = (1 << 8 * buffer["limit_"].type.sizeof) - 1
    return f"{items} item{'' if items == 1 else 's'}{of_weight}, " + ("unlimited" if limit == highest else f"limit {limit}")


def _in_buffer(buffer: gdb.Value) -> Iterator[Found]:
    """item_buffer.hpp: a list for each side, of which the senders are red."""
    for name, colour in (("senders_", "red"), ("receivers_", "blue")):
        first = buffer[name]["first_"]
        if int(first) == 0:
            continue  # then clang may not describe the type of a waiter
        following = offset(plain(plain(first.type).target()), "following")
        for waiter in chain(int(first), lambda at_, links=following: read_word(at_ + links)):
            yield Found(waiter, colour)


def _in_stack(stack: gdb.Value) -> Iterator[Found]:
    """dual_stack.hpp: whether it is closed, the colour, the number of the top node."""
    head = number(stack["head_"])
    nodes = Pool(stack["nodes_"])
    content, following = offset(nodes.node, "content"), offset(nodes.node, "next")
    size = number_size(nodes.node, "next")
    colour = "blue" if head & 2 else "red"
    for n in chain(head >> 2 & 0xFFFFFF, lambda n: read_word(nodes.where(n) + following, size)):
        word = read_word(nodes.where(n) + content)
        if word > 3:
            yield Found(word, colour)


def number_size(type_: gdb.Type, name: str) -> int:
    """The size of a member, an atomic number."""
    return next(each.type.sizeof for each in type_.fields() if each.name == name)


def _in_queue(queue: gdb.Value) -> Iterator[Found]:
    """dual_queue.hpp: the colour with the larger cursor waits. segment_list.hpp: the cells."""
    red, blue = (number(queue[name]["word"]) >> 1 for name in ("red_", "blue_"))
    colour = "red" if red > blue else "blue"
    segments = queue["segments_"]
    bits = int(plain(segments.type).template_argument(0))
    pool = Pool(segments["segments_"])
    cells, following = offset(pool.node, "cells"), offset(pool.node, "next")
    size = number_size(pool.node, "next")
    mask = (1 << 18) - 1  # of a link: the number of the segment
    first = number(segments["head_"]) & mask
    pool.where(first)  # throws: there is always a segment
    for n in chain(first, lambda n: read_word(pool.where(n) + following, size) & mask):
        begin = pool.where(n) + cells
        for t in range(1 << bits):
            i = t if bits < 6 else (t & 7) << (bits - 3) | t >> 3
            word = read_word(begin + i * WORD)
            if word > 2:
                yield Found(word, colour)


def protocol_of(exchanger: gdb.Value) -> gdb.Value | None:
    """The protocol of an exchanger or a channel, or None if it is being destroyed. @throws gdb.error."""
    pointer = owned(exchanger["protocol_"])
    return None if int(pointer) == 0 else pointer.dereference()


def counters_of(exchanger: gdb.Value) -> gdb.Value | None:
    """The counters of an exchanger or a channel that counts. @throws gdb.error."""
    protocol = protocol_of(exchanger)
    counters = None if protocol is None else member(protocol["observer_"]["counters_"], "used_")
    return None if counters is None else counters.dereference()

# SPDX-License-Identifier: MIT
"""Exchangers, channels and futures: where they are, and who waits there, in the wait list or the arena.

The numbers are those of the headers in include/tryst/detail/meet that each function names. The program may be
stopped in the middle of any step, and its memory may be corrupt. So each walk ends where it has been before.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import gdb

from .values import (WORD, Cycle, Unreadable, address, at, attempt, chain, count, is_class, member, number, offset,
                     owned, plain, read, read_word, text_at, type_name, unwrapped)

MOST_WAITERS = 1000  # in a printer
MOST_GROUPS = 255
PUBLIC = re.compile(r"^tryst::(exchanger|red_blue_exchanger|synchronous_channel|channel|future)<")
INSIDES = re.compile(r"^tryst::detail::(operation|selection_case)<")  # which refer to an exchanger


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
class Contents:
    """What is in an exchanger. `rest` says what follows these waiters, if something does."""

    closed: bool
    bound: int = 0  # of the arena
    capacity: int = 0
    waiters: list[Found] = field(default_factory=list)
    rest: str = ""
    buffer: str = ""  # what is in that of a channel


@dataclass
class Exchanger:
    """An exchanger, a channel or a future: its protocol, and where the user sees it."""

    protocol: int
    type: gdb.Type  # of the protocol
    kind: str = "exchanger"
    address: int = 0  # of the public object, if it is known
    variable: str = ""

    def __str__(self) -> str:
        where = f"{self.address:#x}" if self.address else f"with the protocol {self.protocol:#x}"
        called = f' "{self.name}"' if self.name else f" ({self.variable})" if self.variable else ""
        return f"{self.kind} {where}{called}"

    @cached_property
    def name(self) -> str:
        """The name that the program gave it, or ""."""
        name = member(at(self.protocol, self.type), "name_")
        return "" if name is None else attempt(lambda: text_at(int(name))[:100], "")

    @cached_property
    def contents(self) -> Contents:
        """@throws gdb.error."""
        if self.protocol == 0:
            raise gdb.error("the exchanger was destroyed, or its constructor has not run")
        try:
            if self.protocol % WORD != 0 or not self.is_readable:
                raise gdb.MemoryError(f"{self.protocol:#x} is not readable")
            return contents_of(at(self.protocol, self.type), most=None)
        except gdb.error as error:
            raise gdb.error(f"the exchanger is destroyed or corrupt: {error}") from None

    @property
    def is_readable(self) -> bool:
        return len(read(self.protocol, self.type.sizeof)) == self.type.sizeof

    @cached_property
    def places(self) -> dict[int, Found]:
        """Its waiters by their addresses; none if its memory is not readable."""
        return {each.address: each for each in attempt(lambda: self.contents.waiters, [])}


# ---- The exchangers that an expression or a variable leads to.


def nested(value: gdb.Value, name: str, depth: int, follow: bool = False) -> Iterator[tuple[gdb.Value, str]]:
    """An object, its base classes and its members, with their names; but not what is in an exchanger.
    @param follow  looks behind pointers, and not into the standard library."""
    yield value, name
    type_ = plain(value.type)
    is_open = is_class(type_) and not PUBLIC.match(type_name(type_)) and not (follow and type_name(type_).startswith("std::"))
    for each in type_.fields() if is_open and depth != 0 else ():
        if hasattr(each, "bitpos") and each.bitsize == 0:
            with suppress(*Unreadable):
                inner = value.cast(type_)[each]
                called = name if each.is_base_class or not each.name else f"{name}.{each.name}"
                yield from nested(unwrapped(inner) if follow else inner, called, depth - 1, follow)


def exchanger_of(value: gdb.Value, name: str = "") -> Exchanger | None:
    """The exchanger, channel or future that an object is."""
    kind = PUBLIC.match(type_name(value.type))
    if kind is None or value.address is None:  # in this order: for an array in registers, gdb would call malloc
        return None
    try:
        held = value["protocol_"]
        protocol = held.address if kind[1] == "future" else owned(held)
        return Exchanger(int(protocol), plain(protocol.type.target()), kind[1], int(value.address), name)
    except gdb.MemoryError:
        raise gdb.error(f"the exchanger is destroyed or corrupt: {int(value.address):#x} is not readable") from None


def exchangers_in(value: gdb.Value) -> list[Exchanger]:
    """The exchangers that an expression names: @throws gdb.error if there is none."""
    value = unwrapped(value)
    found: dict[int, Exchanger] = {}
    for each, _ in nested(value, "", 6):
        inner = exchanger_of(each)
        if inner is None and INSIDES.match(type_name(each.type)) and int(each["protocol_"]) != 0:  # the case takes part
            inner = Exchanger(int(each["protocol_"]), plain(plain(each["protocol_"].type).target()))
        if inner is not None:
            found.setdefault(inner.protocol, inner)
    if not found:
        raise gdb.error(f"{value.type} is neither an exchanger, a channel nor a future, and contains none; "
                        "name one, or an operation or selection")
    return list(found.values())


# ---- Who waits there.


def contents_of(protocol: gdb.Value, most: int | None = MOST_WAITERS) -> Contents:
    """Reads a `protocol`, and up to `most` of its waiters, or all. @throws gdb.error."""
    arena = protocol["arena_"]
    if member(arena, "waiting_") is not None:
        return _in_future(arena)
    capacity = number(arena["capacity_"])
    if capacity > MOST_GROUPS:
        raise gdb.error(f"an arena of {capacity} slots")
    wait_list = arena["list_"]
    buffer = ""
    if member(wait_list, "senders_") is not None:
        closed, found, buffer = bool(number(wait_list["closed_"])), _in_buffer(wait_list), _buffer_text(wait_list)
    elif member(wait_list, "segments_") is not None:
        closed, found = bool(number(wait_list["red_"]["word"]) & 1), _in_queue(wait_list)
    elif member(wait_list, "head_") is not None:
        closed, found = bool(number(wait_list["head_"]) & 1), _in_stack(wait_list)
    else:
        word = number(wait_list["word_"])
        closed, found = word == 1, _in_word(word, False)
    result = Contents(closed, number(arena["bound_"]) & 0xFF, capacity, buffer=buffer)
    try:
        for waiter in itertools.chain(found, _in_arena(arena, capacity)):
            if len(result.waiters) == most:
                result.rest = "more"
                break
            result.waiters.append(waiter)
    except Cycle:
        result.rest = "a cycle: its list is corrupt"
    return result


def _in_future(state: gdb.Value) -> Contents:
    """future_state.hpp. @throws gdb.error."""
    phase, promise, waiter = int(state["phase_"]), number(state["promise_"]), int(state["waiting_"])
    if phase > 2:
        raise gdb.error(f"its phase is {phase}")
    text = ("an item, " if phase == 1 else "no item, ") + (f"promise at {promise:#x}" if promise else "no promise")
    return Contents(phase == 2, waiters=[Found(waiter, "")] if waiter else [], buffer=text)


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
        self.blocks = address(pool["blocks_"])
        self.count = int(plain(pool.type).template_argument(1))
        self.begins: dict[int, int] = {}
        self.link = offset(self.node, "next")
        self.link_size = next(each.type.sizeof for each in self.node.fields() if each.name == "next")
        self.size = self.node.sizeof

    def where(self, n: int) -> int:
        """@throws gdb.error if there is no such node."""
        block = n.bit_length() - 1
        begin = self.begins.get(block, 0)
        if begin == 0 and 0 <= block < self.count:
            begin = self.begins[block] = read_word(self.blocks + block * WORD)
        if begin == 0:
            raise gdb.error(f"there is no node {n}")
        return begin + (n - (1 << block)) * self.size

    def chain(self, first: int, mask: int) -> Iterator[int]:
        """The addresses of the nodes from `first`. @param mask  the number of a node in a link. @throws Cycle."""
        return map(self.where, chain(first, lambda n: read_word(self.where(n) + self.link, self.link_size) & mask))


def _buffer_text(buffer: gdb.Value) -> str:
    items, weight, limit = int(buffer["items_"]["size_"]), int(buffer["inside_"]), int(buffer["limit_"])
    of_weight = "" if weight == items else f" of weight {weight}"
    highest = (1 << 8 * buffer["limit_"].type.sizeof) - 1
    return f"{count(items, 'item')}{of_weight}, " + ("unlimited" if limit == highest else f"limit {limit}")


def _in_buffer(buffer: gdb.Value) -> Iterator[Found]:
    """item_buffer.hpp: a list for each side, of which the senders are red."""
    for name, colour in (("senders_", "red"), ("receivers_", "blue")):
        first = buffer[name]["first_"]
        if int(first) != 0:  # else clang may not describe the type of a waiter
            following = offset(plain(plain(first.type).target()), "following")
            for waiter in chain(int(first), lambda at_, links=following: read_word(at_ + links)):
                yield Found(waiter, colour)


def _in_stack(stack: gdb.Value) -> Iterator[Found]:
    """dual_stack.hpp: whether it is closed, the colour, the number of the top node."""
    head = number(stack["head_"])
    pool = Pool(stack["nodes_"])
    content = offset(pool.node, "content")
    for node in pool.chain(head >> 2 & 0xFFFFFF, ~0):
        word = read_word(node + content)
        if word > 3:
            yield Found(word, "blue" if head & 2 else "red")


def _in_queue(queue: gdb.Value) -> Iterator[Found]:
    """dual_queue.hpp: the colour with the larger cursor waits. segment_list.hpp: the cells."""
    red, blue = (number(queue[name]["word"]) >> 1 for name in ("red_", "blue_"))
    segments = queue["segments_"]
    bits = int(plain(segments.type).template_argument(0))
    pool = Pool(segments["segments_"])
    cells, mask = offset(pool.node, "cells"), (1 << 18) - 1  # of a link: the number of the segment
    first = number(segments["head_"]) & mask
    pool.where(first)  # throws: there is always a segment
    for node in pool.chain(first, mask):
        for t in range(1 << bits):
            i = t if bits < 6 else (t & 7) << (bits - 3) | t >> 3
            word = read_word(node + cells + i * WORD)
            if word > 2:
                yield Found(word, "red" if red > blue else "blue")

# SPDX-License-Identifier: MIT
"""`tryst stacks` for a program without debug information. Its symbols name the functions of coroutines, so their frames
can be found in memory; and each wait has recorded its location.

The positions are those of the headers that each constant names."""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator

import gdb

from .coroutines import PROMISE_AT, Coroutine, Location, is_coroutine_name, location_at
from .executors import Executor
from .values import WORD, attempt, read, symbol, word_or_zero

PIECE = 16 << 20
NODE = 3 * WORD  # executor.hpp: executor_node, whose function is its second word
COROUTINE_IN_CONTINUATION = NODE  # continuation.hpp
OWNER_IN_WAITER, STAGE_IN_WAITER = NODE + 3 * WORD, NODE + 2 * WORD + 3  # waiter.hpp
SPAWNED_AT = PROMISE_AT + NODE + 2 * WORD  # root.hpp: spawned_task
IDLE_STAGES = (0, 4)  # created, finished


def coroutine_functions() -> set[int]:
    """The addresses at which the functions of coroutines begin that resume them."""
    said = gdb.execute(r"info functions \.\(actor\|resume\)", to_string=True)
    found = re.findall(r"^(0x[0-9a-f]+) +(.*)$", said, re.MULTILINE)
    return {int(address, 16) for address, name in found if is_coroutine_name(name)}


def writable_memory() -> Iterator[tuple[int, bytes]]:
    """The memory of the program, or that in its core dump, in pieces: the address and the content."""
    said = "".join(attempt(lambda: gdb.execute(command, to_string=True), "")
                   for command in ("info proc mappings", "info files"))
    for begin, end in re.findall(r"^\s*(0x\w+)(?:\s+(?=0x)| - )(0x\w+) (?:is load|\s*0x\w+\s+0x\w+\s+rw)", said, re.M):
        for where in range(int(begin, 16), int(end, 16), PIECE):
            size = min(PIECE, int(end, 16) - where)
            content = read(where, size)
            if content.count(0) != len(content):  # reserved memory is large
                yield where, content


def all_coroutines() -> list[Coroutine]:
    """All coroutines that are suspended or run."""
    functions = coroutine_functions()
    found = {}
    for begin, content in writable_memory():
        for function in functions.intersection(array("Q", content[:len(content) // WORD * WORD])):
            pattern, at = struct.pack("<Q", function), -1
            while (at := content.find(pattern, at + 1)) >= 0:
                coroutine = Coroutine.at(begin + at)
                if coroutine is not None:
                    found[begin + at] = coroutine
    return list(found.values())


def waits_in(of: Coroutine) -> Iterator[tuple[Location, str, Coroutine | None]]:
    """Where a coroutine waits, for what, and the coroutine for which it waits. More than one if old waits are left."""
    for at, word in of.words():
        location = location_at(at + WORD) if word == of.address else None
        if location is None:
            continue
        run = symbol(word_or_zero(at - OWNER_IN_WAITER + WORD))
        if "continuation::resume_posted" in symbol(word_or_zero(at - COROUTINE_IN_CONTINUATION + WORD)):
            continuation = at - COROUTINE_IN_CONTINUATION
            child = Coroutine.at(word_or_zero(continuation - WORD))
            if child is not None and word_or_zero(child.address + PROMISE_AT) == continuation:
                yield location, "", child
        elif "awaitable_operation<" in run or "::after_turn" in run:
            if read(at - OWNER_IN_WAITER + STAGE_IN_WAITER, 1)[0] not in IDLE_STAGES:
                executor = Executor(word_or_zero(at - 3 * WORD), word_or_zero(at - 2 * WORD))
                yield location, f"waiting for a partner, {executor}", None
        else:
            yield location, "suspended", None


def show_stacks() -> None:
    """Prints the stack of each coroutine that waits for no other."""
    parents: dict[Coroutine, tuple[Coroutine, Location]] = {}
    leaves = {}
    for each in all_coroutines():
        leaves[each] = each.name
        for location, text, child in waits_in(each):
            leaves[each] = f"{each.name} at {location}, {text}"
            if child is not None:
                parents[child] = (each, location)
    print("no debug information: these coroutines are in memory")
    outer = {parent for parent, _ in parents.values()}
    for each in leaves:
        if each in outer:
            continue
        print(f"  #0  {leaves[each]}")
        number = 1
        while each in parents and number < 100:
            each, location = parents[each]
            if not each.is_internal:
                print(f"  #{number}  {each.name} at {location}")
                number += 1
        spawned = location_at(each.address + SPAWNED_AT) if "tryst::detail::root<" in each.full_name else None
        if spawned is not None:
            print(f"  #{number}  spawned at {spawned}")

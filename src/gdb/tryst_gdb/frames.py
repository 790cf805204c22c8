# SPDX-License-Identifier: MIT
"""`tryst stacks` for a program without debug information. Its symbols name the functions of coroutines, so their frames
can be found in memory; and each wait has recorded its location.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator

import gdb

from . import waits
from .coroutines import Coroutine, is_coroutine_name
from .values import WORD, attempt, read

PIECE = 16 << 20


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


def show_stacks() -> None:
    """Prints the stack of each coroutine that waits for no other."""
    found = all_coroutines()
    print("no debug information: " + ("these coroutines are in memory" if found else
                                      "no coroutine was found; the program may be stripped"))
    for each in found:
        wait = waits.wait_of(each)
        if wait.children:
            continue
        waiting = f"waiting for a partner, {wait.waiters[0].executor}" if wait.waiters else wait.text
        outer = waits.ancestors(each)[1:]
        spawned = waits.spawned_at([each, *outer][-1])
        print_numbered([f"{waits.where(each)}, {waiting}", *(waits.where(one) for one in outer if not one.is_internal),
                        *([] if spawned is None else [f"spawned at {spawned}"])])


def print_numbered(lines: list[str]) -> None:
    """Prints the lines of a stack, like `bt`."""
    for number, line in enumerate(lines):
        print(f"  #{number}  {line}")

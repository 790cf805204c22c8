# SPDX-License-Identifier: MIT
"""Coroutine frames: their names, variables and words in memory; and the recorded locations of waits."""

from __future__ import annotations

import itertools
import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import gdb

from .values import (WORD, attempt, function_name, plain, read, remembered, symbol, text_at, without_arguments,
                     word_or_zero)

MOST_FRAME_BYTES = 1 << 16
PROMISE_AT = 2 * WORD  # behind the two functions, in both compilers' frames
FRAME_NAMES = ("frame_ptr", "__coro_frame")  # in the functions that g++ and clang make of a coroutine

# The library's own coroutines that users see, and how they are called.
LIBRARY = {
    "tryst::detail::join_tasks": "tryst::when_all()",
    "tryst::when_all": "tryst::when_all()",
    "tryst::detail::any_factory::run_any": "tryst::when_any()",
    "tryst::detail::any_factory::run_from": "tryst::when_any_from()",
    "tryst::detail::fulfil": "tryst::spawn_future()",
}

_CLONE = re.compile(r"\[clone \.(actor|resume|destroy|cleanup)\]|\.(actor|resume|destroy|cleanup)$")


def is_coroutine_name(name: str) -> bool:
    """Whether a symbol is that of a coroutine's resume or destroy function."""
    return _CLONE.search(name) is not None


def is_continuation(address: int) -> bool:
    """Whether a continuation that has been set is there."""
    return "continuation::resume_posted" in symbol(word_or_zero(address + WORD))


@remembered
def names_of(function: int) -> tuple[str, str, str]:
    """The names of the coroutine of which the resume or destroy function is there, or empty ones."""
    name = symbol(function)
    full_name = without_arguments(name) if is_coroutine_name(name) else ""
    library_name = next((called for start, called in LIBRARY.items() if full_name.startswith(start)), "")
    return full_name, function_name(name) if full_name else "", library_name


class Coroutine:
    """A coroutine frame. There is one object for each, so they can be compared."""

    def __init__(self, address: int, resume: int, destroy: int) -> None:
        self.address, self.resume = address, resume
        self.is_started = True
        # The name of its function with namespaces, that without the arguments of a template, and how the user calls one
        # of the library's own coroutines, or "".
        self.full_name, self.short_name, self.library_name = names_of(resume or destroy)
        self.name = self.library_name or self.short_name + "()"
        self.is_internal = self.full_name.startswith("tryst::detail::")

    @staticmethod
    @remembered
    def at(address: int) -> Coroutine | None:
        """The coroutine whose frame is there, if it is one that has not finished."""
        content = read(address, 2 * WORD) if address % WORD == 0 else b""
        functions = struct.unpack("<QQ", content) if content else (0, 0)
        return Coroutine(address, *functions) if all(names_of(each)[0] for each in functions) else None

    @property
    def layout(self) -> list[gdb.Field]:
        """The fields of the frame, if the compiler has described them."""
        return attempt(lambda: frame_fields(self.resume), [])

    def variables(self) -> Iterator[tuple[str, gdb.Type, int]]:
        """The parameters and variables of the function: name, type and address."""
        for field in self.layout:
            name = re.sub(r"(_\d+)+$", "", field.name or "")
            if name and not re.match(r"_Coro_|__|D\.|Aw\d|Is$|Fs$|(class|struct|PointerType)_", name):
                yield name, field.type, self.address + field.bitpos // 8

    def size(self) -> int:
        """A bound of the size of the frame: exact if the compiler has described it."""
        ends = [f.bitpos // 8 + f.type.sizeof for f in self.layout if hasattr(f, "bitpos")]
        if ends:
            return min(max(ends) + WORD - 1, MOST_FRAME_BYTES) // WORD * WORD
        chunk = word_or_zero(self.address - WORD) & ~7  # glibc: the size of the block
        return min(chunk, MOST_FRAME_BYTES) if 32 <= chunk <= 1 << 20 else 1024

    def parts(self) -> Iterator[list[tuple[int, int]]]:
        """The address and the content of each word: of the frame behind the two functions, and of each block of a
        std::deque in it, in which when_any_from keeps its children."""
        frame = words_in(self.address, read(self.address, self.size()) or read(self.address, 256))[PROMISE_AT // WORD:]
        yield frame
        words = [word for _, word in frame] if self.library_name == "tryst::when_any_from()" else []
        for map_, size, _, begin, end, node, _, _, _, last in zip(*(words[i:] for i in range(10))):
            if map_ <= node <= last < map_ + size * WORD and 0 < end - begin and begin == word_or_zero(node):
                for each in range(node, last + WORD, WORD):
                    yield words_in(word_or_zero(each), read(word_or_zero(each), end - begin))


def words_in(begin: int, content: bytes) -> list[tuple[int, int]]:
    """The address and the value of each word."""
    return list(zip(itertools.count(begin, WORD), array("Q", content[:len(content) // WORD * WORD])))


@remembered
def frame_fields(resume: int) -> list[gdb.Field]:
    """The fields of the frames of a coroutine's function."""
    for each in function_block(resume) or []:
        if each.name in FRAME_NAMES:
            frame = plain(each.type)
            return plain(frame.target() if frame.code == gdb.TYPE_CODE_PTR else frame).fields()
    return []


def function_block(pc: int) -> gdb.Block | None:
    """The outermost block of the function at `pc`, into which others may be inlined."""
    block = gdb.block_for_pc(pc)
    found = None
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            found = block
        block = block.superblock
    return found


@dataclass
class Location:
    """A std::source_location: where a wait or a spawn is (location.hpp)."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def full(self) -> str:
        """With the function, which compilers name in several ways."""
        return f"{self.function}{'' if self.function.endswith('>') else '()'} at {self}"


def location_at(where: int) -> Location | None:
    """The location to whose record the word there points, if it is one."""
    return location_of(word_or_zero(where))


@remembered
def location_of(record: int) -> Location | None:
    """The location whose record is there, if it is one."""
    content = read(record, 2 * WORD + 8)
    file, function, line, column = struct.unpack("<QQII", content) if content else (0, 0, 0, 0)
    path, name = (text_at(file), text_at(function)) if 0 < line < 1 << 24 and column < 1 << 16 else ("", "")
    if not path or not name:
        return None
    return Location(path.rsplit("/", 1)[-1], line, function_name(name.replace("{anonymous}::", "")))

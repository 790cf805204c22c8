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

from .values import WORD, attempt, function_name, member, read, symbol, text_at, without_arguments, word_or_zero

MOST_FRAME_BYTES = 1 << 16
PROMISE_AT = 2 * WORD  # behind the two functions, in both compilers' frames

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


def frame_of(handle: gdb.Value) -> int:
    """The address of a coroutine's frame, from a std::coroutine_handle of either standard library."""
    frame = member(handle, "_M_fr_ptr")
    return int(frame if frame is not None else handle["__handle_"])


class Coroutine:
    """A coroutine frame."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.resume = word_or_zero(address)
        self.destroy = word_or_zero(address + WORD)
        self.is_started = True
        self._layout: list[gdb.Field] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coroutine) and other.address == self.address

    def __hash__(self) -> int:
        return self.address

    @staticmethod
    def at(address: int) -> Coroutine | None:
        """The coroutine whose frame is there, if it is one that has not finished."""
        if address == 0 or address % WORD != 0:
            return None
        made = Coroutine(address)
        is_one = is_coroutine_name(symbol(made.resume)) and is_coroutine_name(symbol(made.destroy))
        return made if is_one else None

    @property
    def full_name(self) -> str:
        """The name of its function, with namespaces."""
        return without_arguments(symbol(self.resume or self.destroy))

    @property
    def name(self) -> str:
        """The name of its function for people."""
        return self.library_name or self.short_name + "()"

    @property
    def library_name(self) -> str:
        """How the user calls one of the library's own coroutines, or ""."""
        return next((name for start, name in LIBRARY.items() if self.full_name.startswith(start)), "")

    @property
    def short_name(self) -> str:
        """The name of its function, without the arguments of a template."""
        return function_name(symbol(self.resume or self.destroy))

    @property
    def is_internal(self) -> bool:
        """Whether it is one of the library's own coroutines."""
        return self.full_name.startswith("tryst::detail::")

    def layout(self) -> list[gdb.Field]:
        """The fields of the frame, if the compiler has described them."""
        if self._layout is None:
            self._layout = attempt(self._described_layout, [])
        return self._layout

    def _described_layout(self) -> list[gdb.Field]:
        for each in function_block(self.resume) or []:
            if each.name in ("frame_ptr", "__coro_frame"):
                frame = each.type.strip_typedefs()
                return list((frame.target().strip_typedefs() if frame.code == gdb.TYPE_CODE_PTR else frame).fields())
        return []

    def variables(self) -> Iterator[tuple[str, gdb.Type, int]]:
        """The parameters and variables of the function: name, type and address."""
        for field in self.layout():
            name = re.sub(r"(_\d+)+$", "", field.name or "")
            if name and not re.match(r"_Coro_|__|D\.|Aw\d|Is$|Fs$|(class|struct|PointerType)_", name):
                yield name, field.type, self.address + field.bitpos // 8

    def size(self) -> int:
        """A bound of the size of the frame: exact if the compiler has described it."""
        ends = [f.bitpos // 8 + f.type.sizeof for f in self.layout() if hasattr(f, "bitpos")]
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
    record = read(word_or_zero(where), 2 * WORD + 8)
    file, function, line, column = struct.unpack("<QQII", record) if record else (0, 0, 0, 0)
    path, name = (text_at(file), text_at(function)) if 0 < line < 1 << 24 and column < 1 << 16 else ("", "")
    if not path or not name:
        return None
    return Location(path.rsplit("/", 1)[-1], line, function_name(name.replace("{anonymous}::", "")))


def function_block(pc: int) -> gdb.Block | None:
    """The outermost block of the function at `pc`, into which others may be inlined."""
    block = gdb.block_for_pc(pc)
    found = None
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            found = block
        block = block.superblock
    return found

# SPDX-License-Identifier: MIT
"""Finds the atomic operations of a file, with their memory orders and the comments on them."""

import os
import re
from pathlib import Path
from typing import NamedTuple

CALL = re.compile(r"(?:\.|->)(load|store|exchange|compare_exchange_(?:weak|strong)|fetch_(?:add|sub|and|or|xor))\(")
ORDER = re.compile(r"\bmemory_order_(\w+)|\bmemory_order::(\w+)")
DEFINITION = re.compile(r"\[([A-Z]\d+)\] ")


class Operation(NamedTuple):
    file: str  # relative to include/tryst
    first: int  # its lines
    last: int
    what: str  # load, store, ...
    orders: tuple[str, ...]  # of a compare-exchange: of success, of failure
    note: str  # the comments that belong to it

    @property
    def label(self) -> str:
        """What its note begins with; empty if that is no label."""
        found = DEFINITION.match(self.note)
        return found[1] if found else ""

    @property
    def where(self) -> str:
        return os.path.normpath(f"include/tryst/{self.file}") + f":{self.first}"


def core_headers(include: Path) -> list[Path]:
    """The headers of the core. Those of the adapters are in folders of their own."""
    return sorted([*include.glob("*.hpp"), *include.glob("detail/**/*.hpp")])


def adapter_sources(top: Path) -> list[Path]:
    """The headers of the adapters, and the compiled part of tryst::uring."""
    folders = [top / "include/tryst" / adapter for adapter in ("asio", "fiber", "uring")] + [top / "src/uring"]
    return sorted(source for folder in folders for source in folder.glob("**/*.[ch]pp"))


def comment_of(line: str) -> str | None:
    """The text of a line that is a comment and nothing else."""
    found = re.fullmatch(r"\s*//(?!/) ?(.*)", line)
    return found[1] if found else None


def without_comment(line: str) -> str:
    return re.sub(r"//.*", "", line)


def note_of(lines: list[str], first: int, last: int) -> str:
    """The comment directly above the operation or above its statement, and those at the ends of its lines."""
    above: list[str] = []
    at = first
    while True:
        block = at
        while block > 0 and comment_of(lines[block - 1]) is not None:
            block -= 1
        above = [comment_of(line) or "" for line in lines[block:at]]
        code = without_comment(lines[at - 1]).rstrip() if at > 0 else ""
        if above or not code or code.endswith((";", "{", "}", ":")) or CALL.search(code):
            break
        at -= 1
    trailing = [found[1] for line in lines[first:last + 1] if (found := re.search(r"\S.*// (.*)", line))]
    return " ".join([*above, *trailing])


def operations(header: Path, include: Path) -> list[Operation]:
    lines = header.read_text().splitlines()
    code = "\n".join(without_comment(line) for line in lines)
    found = []
    for call in CALL.finditer(code):
        depth, end = 1, call.end()
        while depth != 0:
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        arguments = code[call.end():end - 1]
        orders = tuple(a or b for a, b in ORDER.findall(arguments))
        if not orders and call[1] in ("store", "exchange"):
            continue  # not of an atomic: the model's has no default order
        first, last = code.count("\n", 0, call.start()), code.count("\n", 0, end - 1)
        found.append(Operation(Path(os.path.relpath(header, include)).as_posix(), first + 1, last + 1, call[1], orders,
                               note_of(lines, first, last)))
    return found

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the invariants that comments in the library define and cite.

    invariants.py TOP

 1. A definition begins a line of a comment in include/ or src/: `I5. The exchanger outlives ...`. Steps of its
    argument may follow up to the next empty line: `1. A withdrawer ...`.
 2. Each invariant is defined once. Their numbers have no gaps.
 3. A citation names an invariant that is defined, `I5`, or a step of one, `I5.2`. Citations are looked for in
    include/, src/, tests/spin, tests/model and docs.
"""

import re
from pathlib import Path
from typing import Iterator

from script import run

DEFINING = ("include", "src")
CITING = (*DEFINING, "tests/spin", "tests/model", "docs")
DEFINITION = re.compile(r"\s*(?:/?\*|///?) (I\d+)\. ")
STEP = re.compile(r"\s*(?:\*|///?) +(\d+)\. ")
EMPTY = re.compile(r"\s*(?:\*|///?)?\s*")
CITATION = re.compile(r"(?<![\w.\[])I\d+(?:\.\d+)?(?![\w\]])")
TEXT = {"", ".cpp", ".h", ".hpp", ".md", ".pml", ".py", ".txt"}


def lines_of(top: Path, folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each line of the text files: where it is, and its text."""
    for folder in folders:
        for path in sorted((top / folder).rglob("*")):
            if path.is_file() and path.suffix in TEXT:
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    yield f"{path.relative_to(top)}:{number}", line


def complaints(top: Path) -> Iterator[str]:
    defined: dict[str, str] = {}  # where an invariant or a step is defined
    current = ""  # the invariant whose steps may follow
    for where, line in lines_of(top, DEFINING):
        if found := DEFINITION.match(line):
            current = found[1]
            if current in defined:
                yield f"{where}: {current} is defined at {defined[current]}, too"
            defined.setdefault(current, where)
        elif EMPTY.fullmatch(line):
            current = ""
        elif current and (found := STEP.match(line)):
            defined.setdefault(f"{current}.{found[1]}", where)
    numbers = {int(name[1:]) for name in defined if "." not in name}
    for missing in sorted(set(range(1, max(numbers, default=0) + 1)) - numbers):
        yield f"I{missing} is not defined, but a higher number is"
    if not numbers:
        yield f"{top}: no invariant is defined"
    for where, line in lines_of(top, CITING):
        for name in CITATION.findall(line):
            if name not in defined:
                yield f"{where}: {name} is not defined"


if __name__ == "__main__":
    run(complaints)

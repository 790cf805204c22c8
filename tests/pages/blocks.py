#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The C++ blocks of the pages, and the programs that show them to a compiler.

    blocks.py FOLDER   writes the blocks that the programs of tests/pages include, and prints the files that it has read

A program of tests/pages contains a block by `#include "docs/tasks.md/3"`: the third ```cpp block of docs/tasks.md.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((TOP / "tests/pages").glob("*.cpp"))
EXAMPLES = sorted((TOP / "examples").rglob("*.cpp"))


class Block(NamedTuple):
    line: int  # the first
    text: str


def blocks(page: str) -> list[Block]:
    text = re.sub(r"^ +```", "```", (TOP / page).read_text(), flags=re.MULTILINE)
    return [Block(text.count("\n", 0, found.start(1)) + 1, found[1])
            for found in re.finditer(r"^```cpp\n(.*?\n)```", text, re.MULTILINE | re.DOTALL)]


def included(program: Path) -> dict[str, Block]:
    """The blocks that a program includes, by their names: docs/tasks.md/3."""
    found = {}
    for name in re.findall(r'^#include "(docs/.*?)"', program.read_text(), re.MULTILINE):
        page, number = name.rsplit("/", 1)
        known = blocks(page)
        if not number.isdecimal() or not 0 < int(number) <= len(known):
            sys.exit(f'{program.relative_to(TOP)} includes "{name}", but {page} has {len(known)} ```cpp blocks')
        found[name] = known[int(number) - 1]
    return found


def unindented(text: str) -> str:
    return re.sub(r"\n +", "\n", f"\n{text}")


def compiled() -> list[tuple[str, Path]]:
    """What a compiler sees, without indentation: the examples, and the blocks with the programs that include them."""
    return [(unindented(path.read_text()), path) for path in EXAMPLES] + [
        (unindented(block.text), program) for program in PROGRAMS for block in included(program).values()]


def write(folder: Path) -> None:
    """The compiler reports errors in the lines of the page."""
    read = {Path(__file__), *PROGRAMS}
    for program in PROGRAMS:
        for name, block in included(program).items():
            page, file = TOP / Path(name).parent, folder / name
            read.add(page)
            text = f'#line {block.line} "{page}"\n{block.text}'
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_text() != text:  # or the program would be compiled again
                file.write_text(text)
    print(*sorted(map(str, read)), sep=";", end="")


if __name__ == "__main__":
    write(Path(sys.argv[1]))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the layout of the C++ sources, and of the C++ blocks in docs/, beyond what clang-format checks.

    layout.py TOP

 1. No line is longer than 100 columns, comments included.
 2. No `clang-format off`: it hides lines that are too long and code that is aligned by columns.
"""

from pathlib import Path
from typing import Iterator

from script import run

FOLDERS = ("include", "src", "tests", "examples", "bench")
SUFFIXES = {".hpp", ".cpp"}
COLUMNS = 100


def complaints(top: Path) -> Iterator[str]:
    files = sorted(path for folder in FOLDERS for path in (top / folder).rglob("*") if path.suffix in SUFFIXES)
    for path in [*files, *sorted((top / "docs").rglob("*.md"))]:
        is_code = path.suffix in SUFFIXES
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if path.suffix == ".md" and line.lstrip().startswith("```"):
                is_code = line.strip() == "```cpp"
            if not is_code:
                continue
            where = f"{path.relative_to(top)}:{number}"
            if len(line) > COLUMNS:
                yield f"{where}: {len(line)} columns; wrap the line at {COLUMNS}"
            if "clang-format off" in line:
                yield f"{where}: clang-format is switched off; let it format this code"
    if not files:
        yield f"{top}: no C++ sources found"


if __name__ == "__main__":
    run(complaints)

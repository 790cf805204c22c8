#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a line `TRYST_TEST_NAME(name)` for each name of a free function in the headers.

    function_names.py INCLUDE_FOLDER RESULT
"""

import re
import sys
from pathlib import Path

NAME = re.compile(r"(?<![\w:.>~])([a-z]\w*)\(")
NO_NAMES = {"alignas", "alignof", "decltype", "noexcept", "operator", "requires", "sizeof", "static_assert"}


def is_declaration(line: str) -> bool:
    """clang-format indents nothing in a namespace, and breaks no line between a name and its parenthesis."""
    return re.match(r"[a-z[]|\s+friend ", line) is not None


def function_names(text: str) -> set[str]:
    found = set()
    for line in filter(is_declaration, text.splitlines()):
        found.update([name for name in NAME.findall(line) if name not in NO_NAMES][:1])
    return found


def main() -> None:
    include, result = Path(sys.argv[1]), Path(sys.argv[2])
    names = set().union(*(function_names(path.read_text()) for path in include.rglob("*.hpp")))
    result.write_text("".join(f"TRYST_TEST_NAME({name})\n" for name in sorted(names)))


if __name__ == "__main__":
    main()

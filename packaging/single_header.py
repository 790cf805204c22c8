#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the core as a single header, for example for Compiler Explorer. `./dev single-header` runs it.

    single_header.py [FILE]

FILE is build/single/tryst.hpp by default. Each header of the core appears once, where it is first included. Includes of
the standard library that depend on no condition move to the top.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

TOP = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r"#include <([^>]+)>")
DIRECTIVE = re.compile(r"#\s*(if|endif)")
DROPPED = ("#pragma once", "// SPDX-License-Identifier:")


def lines(name: str, seen: dict[str, int], standard: set[str]) -> Iterator[str]:
    """The lines of <name> and of the headers of tryst that it includes, except those in `seen`, which says under how many
    conditions."""
    depth = 0
    for line in (TOP / "include" / name).read_text().splitlines():
        if directive := DIRECTIVE.match(line):
            depth += 1 if directive[1] == "if" else -1
        found = INCLUDE.match(line)
        if found and found[1].startswith("tryst/"):
            if found[1] not in seen:
                seen[found[1]] = depth
                yield from lines(found[1], seen, standard)
            elif seen[found[1]] > depth:
                sys.exit(f"single_header.py: {name} includes <{found[1]}>, which is under a condition above")
        elif found and not depth:
            standard.add(line)
        elif line == "/// @file":
            yield f"// ---- <{name}>"
        elif not line.startswith(DROPPED):
            yield line


def version() -> str:
    number = re.search(r"^ +VERSION (\S+)", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    git = ["git", "-C", TOP, "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(git, capture_output=True, text=True) if (TOP / ".git").exists() else None
    return f"{number}, commit {commit.stdout.strip()}" if commit and commit.returncode == 0 else number


def single_header() -> str:
    standard: set[str] = set()
    body = "\n".join(lines("tryst/tryst.hpp", {"tryst/tryst.hpp": 0}, standard))
    licence = "".join(f"// {line}".rstrip() + "\n" for line in (TOP / "LICENSE").read_text().splitlines())
    text = "\n".join([
        "// SPDX-License-Identifier: MIT",
        f"// tryst {version()}: the core as a single header, made by packaging/single_header.py.",
        f"//\n{licence}#pragma once",
        "",
        *sorted(standard),
        "",
        body,
    ])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


if __name__ == "__main__":
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "build/single/tryst.hpp"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(single_header())

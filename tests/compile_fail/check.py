#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code that the compiler must refuse with a readable message.

    check.py SOURCE FOLDER COMPILER [OPTION...]

A line of SOURCE announces each mistake and how it is refused: `#if MISTAKE == <1, 2, ...> // <regex>`, or `#elif`;
`// clang: <regex>` is for clang. SOURCE must compile with MISTAKE=0: then nothing else is wrong with it. With MISTAKE=1
the first error must be the first of these messages, and so on. A message helps only if it is seen: it must be the first
error, begin in the first lines, and be one of few.

All mistakes are compiled at once, each in a namespace of its own. A mistake whose message is not found in that output is
compiled alone, because the compiler complains once of what two mistakes instantiate; all are, if an error is of no
mistake's lines. FOLDER has what SOURCE begins with,
its comments and includes, as a precompiled header meanwhile.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FIRST_LINES = 16
LINES = 25
# For a deleted conversion, clang quotes the declaration, in the next lines.
ERROR = (r"error: (static assertion failed[^\n]*|ignoring return[^\n]*|use of deleted function[^\n]*|"
         r"conversion function [^\n]* invokes a deleted function.*)")
ANNOUNCEMENT = re.compile(r"#(?:if|elif) MISTAKE == (\d+) +// (clang: )?(.+)")
# Where an error is; g++ says so before it, and clang in part.
PLACE = re.compile(r"In file included from |\s+from \S+:\d+|\S+: (In|At) |\S+: +(recursively )?required |\S+: +\[ skipping")


class Mistake(NamedTuple):
    number: int
    lines: range  # of the source
    message: str
    for_clang: bool


def mistakes_of(text: str) -> list[Mistake]:
    found = []
    lines = text.splitlines()
    for first, line in enumerate(lines, 1):
        if announced := ANNOUNCEMENT.fullmatch(line):
            end = next(i for i, later in enumerate(lines[first:], first + 1) if later.startswith("#e"))
            found.append(Mistake(int(announced[1]), range(first, end), announced[3], bool(announced[2])))
        elif "MISTAKE " in line:
            raise ValueError(f"does not announce a mistake: {line}")
    if [mistake.number for mistake in found] != list(range(1, len(found) + 1)) or not found:
        raise ValueError("has no mistakes 1, 2, ...")
    return found


def errors_in(output: str) -> list[list[str]]:
    """The lines of each error: where it is, and the notes after it."""
    found: list[list[str]] = []
    where: list[str] = []
    for line in output.splitlines():
        if PLACE.match(line):
            where.append(line)
        elif " error: " in line:
            found.append([*where, line])
            where = []
        elif found:
            found[-1] += [*where, line]
            where = []
    return found


def complaint_about(lines: list[str], message: str) -> str:
    """Why the compiler's output does not help; nothing if it does."""
    if not lines:
        return "was accepted"
    if len(lines) > LINES:
        return f"was refused in {len(lines)} lines"
    seen = "\n".join(lines[:FIRST_LINES])
    if re.match(ERROR + message, seen[max(seen.find("error: "), 0):], re.S):
        return ""
    return f'was refused, but not at once with "{message}"'


def main() -> int:
    source, folder, compiler, *options = sys.argv[1:]
    text = Path(source).read_text(encoding="utf-8")
    mistakes = mistakes_of(text)
    head = Path(folder, f"precompiled_{Path(source).stem}.hpp")
    together = head.with_suffix(".cpp")
    head.write_text(re.match(r"((//|#include )[^\n]*\n|\n)+", text)[0], encoding="utf-8")
    together.write_text("".join(
        f'#define MISTAKE {mistake.number}\nnamespace mistake_{mistake.number} {{\n#include "{source}"\n}}\n#undef MISTAKE\n'
        for mistake in mistakes), encoding="utf-8")
    top = Path(__file__).resolve().parents[2]
    command = [compiler, "-std=c++20", "-Werror=unused-result", *options, f"-I{top}/include"]
    environment = {**os.environ, "LC_ALL": "C"}  # the compiler speaks the language of its user

    def output_of(*arguments: str | Path) -> str:
        return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=False).stderr

    def compiled(*arguments: str | Path) -> list[str]:
        """What users see of it: they have no precompiled header."""
        output = output_of("-include", head, "-fsyntax-only", *arguments)
        return [line for line in output.splitlines() if line and f"/{head.stem}." not in line]

    if wrong := output_of("-x", "c++-header", head, "-o", f"{head}.gch") or "\n".join(compiled("-DMISTAKE=0", source)):
        print(f"{source}: does not compile without a mistake:\n{wrong}")
        return 1
    is_clang = "clang" in Path(compiler).resolve().name
    here = re.compile(re.escape(source) + r":(\d+):")
    of_mistake: dict[Mistake, list[str]] = {mistake: [] for mistake in mistakes}
    for error in errors_in("\n".join(compiled(together))) if len(mistakes) > 1 else []:
        lines = {int(at[1]) for line in error if (at := here.match(line))}
        authors = [mistake for mistake in mistakes if lines & set(mistake.lines)]
        for mistake in authors:
            of_mistake[mistake] += error
        if not authors:  # it may belong to any
            of_mistake = {}
            break
    failed = False
    for mistake in mistakes:
        if mistake.for_clang and not is_clang:
            continue
        if complaint_about(of_mistake.get(mistake, []), mistake.message):
            alone = compiled(f"-DMISTAKE={mistake.number}", source)
            if complaint := complaint_about(alone, mistake.message):
                print(f"{source}: mistake {mistake.number} {complaint}:\n" + "\n".join(alone))
                failed = True
    Path(f"{head}.gch").unlink()  # large
    return failed


if __name__ == "__main__":
    sys.exit(main())

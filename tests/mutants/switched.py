# SPDX-License-Identifier: MIT
"""Several mutants of a header in one header, of which the environment chooses one: one build for all of them."""

import bisect
import re
from typing import Iterator, NamedTuple

from mutants import Mutant

# In front of every source. The numbers begin with 1.
CHOICE = """#pragma once
#include <cstdlib>
inline int tryst_mutant() {
    static const int number = std::getenv("TRYST_MUTANT") ? std::atoi(std::getenv("TRYST_MUTANT")) : 0;
    return number;
}
"""


class Header(NamedTuple):
    text: str
    lines: list[tuple[int, int, int]]  # the first and the last line of a mutant, and its number


def without_comments(text: str) -> str:
    """The text with blanks for comments and literals."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', lambda found: " " * len(found[0]), text)


def without_parameters(head: str) -> str:
    """A declaration without the parameters of its templates."""
    while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
        head = shorter
    return head


def bodies(text: str) -> Iterator[tuple[int, int]]:
    """Where the bodies of functions begin and end, without their braces. Inner functions are part of the outer ones."""
    code = without_comments(text)
    depth, inside, begin, start = 0, None, 0, 0
    for at, sign in enumerate(code):
        if sign in ";{}" and inside is None:
            head, begin = code[begin:at], at + 1
            is_scope = re.search(r"\b(namespace|class|struct|union|enum|concept)\b|=\s*$", without_parameters(head))
            if sign == "{" and ")" in head and not is_scope:
                inside, start = depth, at + 1
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if inside is not None and depth == inside:
            yield start, at
            inside, begin = None, at + 1


def changes(mutant: Mutant, text: str) -> list[tuple[int, int, str]]:
    """Where the mutant replaces what by what."""
    if mutant.line:
        start = sum(len(line) for line in text.splitlines(keepends=True)[:mutant.line - 1])
        start = text.index(mutant.before, start)
        return [(start, start + len(mutant.before), mutant.after)]
    pairs = [(mutant.before, mutant.after), *([mutant.also] if mutant.also else [])]
    return [(text.index(before), text.index(before) + len(before), after) for before, after in pairs]


def switched(text: str, mutants: dict[int, Mutant]) -> Header:
    """The header with all those mutants that change nothing but bodies of functions. A body is there once for each."""
    found = list(bodies(text))
    starts = [start for start, _ in found]
    chosen: dict[int, dict[int, list[tuple[int, int, str]]]] = {}
    for number, mutant in mutants.items():
        places = [(bisect.bisect(starts, begin) - 1, (begin, end, after)) for begin, end, after in changes(mutant, text)]
        if all(body >= 0 and end <= found[body][1] for body, (_, end, _) in places):
            for body, change in places:
                chosen.setdefault(body, {}).setdefault(number, []).append(change)
    made, at, lines = "", 0, []
    for body, of_number in sorted(chosen.items()):
        start, end = found[body]
        made += text[at:start]
        for number, its in of_number.items():
            mutated = text[start:end]
            for begin, stop, after in sorted(its, reverse=True):
                mutated = mutated[:begin - start] + after + mutated[stop - start:]
            first = made.count("\n") + 1
            made += f" if (::tryst_mutant() == {number}) {{{mutated}}} else"
            lines.append((first, made.count("\n") + 1, number))
        made += f" {{{text[start:end]}}}"
        at = end
    return Header(made + text[at:], lines)

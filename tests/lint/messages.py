#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that docs/messages.md explains each message of the library, and no other.

    messages.py TOP

A message is a string literal of include/ or src/, joined with those that follow it, that

  - begins with `tryst: `, or with another name in tryst and a colon: an assertion, a static assertion, an exception;
  - is an argument of a function of PREFIXES: an exception or a part of its text;
  - is the text of an `exchange_errc`, or says what to write instead of a deleted conversion.

Bugs of tryst are left out; their texts end with "(a bug in tryst)". The page quotes a message in `code`, at the
beginning of a row of a table, in alphabetical order. There `...` stands for what the program fills in.
"""

import re
from pathlib import Path
from typing import Iterator, NamedTuple

from script import run

PAGE = "docs/messages.md"
FOLDERS = ("include", "src")
# Functions whose argument is a message, and what comes before it when the user sees it.
PREFIXES = {"die": "tryst: ", "in_room": 'tryst: room "...": ', "fail": "", "failure": "", "runtime_error": "", "uring_failure": ""}
LEFT_OUT = {"closed"}  # of a connection that nobody uses any more
GROUPING = {"(", "string"}  # before a parenthesis that belongs to the call around it
SKIPPED = r"(?://[^\n]*|/\*.*?\*/|\s+|\\\n)"
TOKEN = re.compile(rf"""{SKIPPED}*(?:"((?:\\.|[^"\\])*)"|('(?:\\.|[^'\\])+'|\w+(?:'\w+)*|.))""", re.DOTALL)
BEGINNING = re.compile(r"tryst(::\w+)*(<[\w, ]+>)?: [^%]")
QUOTED = re.compile(r"\| `([^`]+)` \|")


class Literal(NamedTuple):
    line: int
    text: str
    call: str  # the function whose argument it is
    before: list[str]  # the tokens before it


def literals(code: str) -> Iterator[Literal]:
    """The string literals, adjacent ones joined."""
    before: list[str] = []
    calls = [""]
    parts: list[re.Match[str]] = []
    for found in TOKEN.finditer(code):
        if found[1] is not None:
            parts.append(found)
            continue
        if parts:
            text = re.sub(r"\\(.)", lambda escape: {"n": "\n"}.get(escape[1], escape[1]), "".join(part[1] for part in parts))
            yield Literal(code.count("\n", 0, parts[0].start(1)) + 1, text.strip(), calls[-1], before[-6:])
            before.append("")
            parts.clear()
        if found[2] == "(":
            calls.append(calls[-1] if before[-1:] and before[-1] in GROUPING else "".join(before[-1:]))
        elif found[2] == ")" and len(calls) > 1:
            calls.pop()
        before.append(found[2])


def message(literal: Literal) -> str | None:
    """What the user sees of it, if it is a message."""
    if literal.text.endswith("(a bug in tryst)") or literal.text in LEFT_OUT:
        return None
    if BEGINNING.match(literal.text) or literal.before[-2:] == ["Instead", "="]:
        return literal.text
    if literal.before[-2:] == [":", "return"] and literal.before[:1] == ["exchange_errc"]:
        return literal.text
    if literal.call in PREFIXES and literal.before[-1] in {"(", ",", "?", ":"} and literal.call + literal.before[-1] != "die,":
        return PREFIXES[literal.call] + literal.text
    return None


def is_quoted(text: str, quoted: str) -> bool:
    return quoted == text or (quoted.startswith(text) and quoted[len(text):].lstrip(": ").startswith("..."))


def complaints(top: Path) -> Iterator[str]:
    rows = [(0, "")]
    for number, line in enumerate((top / PAGE).read_text().splitlines(), 1):
        found = QUOTED.match(line)
        if not found:
            rows.append((number, ""))
            continue
        if found[1].casefold() < rows[-1][1].casefold():
            yield f"{PAGE}:{number}: not in alphabetical order: {found[1]}"
        rows.append((number, found[1]))
    known: set[str] = set()
    messages: dict[str, str] = {}
    for path in sorted(path for folder in FOLDERS for path in (top / folder).rglob("*.[ch]pp")):
        for literal in literals(path.read_text()):
            text = message(literal)
            if text:
                messages.setdefault(text, f"{path.relative_to(top)}:{literal.line}")
            known.add(literal.text)
    quoted = {text for _, text in rows if text}
    for text, where in messages.items():
        if not any(is_quoted(text, each) for each in quoted):
            yield f"{where}: {PAGE} does not explain: {text}"
    known |= messages.keys()
    for number, row in rows:
        if row and not any(is_quoted(text, row) for text in known if text):
            yield f"{PAGE}:{number}: no message of the sources: {row}"
    if not messages:
        yield f"{top}: no messages found"


if __name__ == "__main__":
    run(complaints)

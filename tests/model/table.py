#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts what a run of ./dev model has found into docs/verification.md, between its two marks."""

import re
import sys
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[2]
LOG = TOP / "build/optimised/model.log"
PAGE = TOP / "docs/verification.md"
BEGIN, END = "<!-- tests/model/table.py -->\n", "<!-- end -->\n"

TEST = re.compile(r" +Start +(\d+): (\S+)")
SCENE = re.compile(r"(\d+): (\w+) +(\d+|any) preemptions +(\d+|any) stale reads +(posts order|bare posts) +"
                   r"(\d+) executions \(\d+ cut\) +(\d+) states .* holds")


class Row(NamedTuple):
    preemptions: str
    stale_reads: str
    executions: int
    states: int


def rows(log: str) -> tuple[dict[str, Row], dict[str, Row]]:
    """What each scene has come to, with posts that order and with bare ones; without the litmus tests."""
    tests: dict[str, str] = {}
    found: dict[str, dict[str, Row]] = {"posts order": {}, "bare posts": {}}
    for line in log.splitlines():
        if test := TEST.match(line):
            tests[test[1]] = test[2]
        elif (scene := SCENE.match(line)) and tests[scene[1]] != "model.litmus":
            found[scene[5]][scene[2]] = Row(scene[3], scene[4], int(scene[6]), int(scene[7]))
    return found["posts order"], found["bare posts"]


def table(log: str) -> str:
    ordering, bare = rows(log)

    def bounds(name: str) -> tuple[int, ...]:
        return tuple(0 if bound == "any" else int(bound) for bound in ordering[name][:2])

    lines = ["| scene | preemptions | stale reads | executions | states | bare posts: executions |",
             "| --- | --- | --- | ---: | ---: | ---: |"]
    for name in sorted(ordering, key=lambda name: (bounds(name), name)):
        row = ordering[name]
        posts = f"{bare[name].executions:,}" if name in bare else ""
        lines.append(f"| `{name}` | {row.preemptions} | {row.stale_reads} | {row.executions:,} | "
                     f"{row.states:,} | {posts} |")
    executions = sum(row.executions for row in (*ordering.values(), *bare.values()))
    return "\n".join(lines) + f"\n\n{executions:,} executions in all, and the litmus tests that check the checker.\n"


def main() -> None:
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{PAGE.name} has lost its marks")
    log = Path(sys.argv[1]) if len(sys.argv) > 1 else LOG
    PAGE.write_text(f"{before}{BEGIN}\n{table(log.read_text())}\n{END}{after}")


if __name__ == "__main__":
    main()

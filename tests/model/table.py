#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes build/model-scenes.md, a table of all scenes, from the log of ./dev model."""

import re
import sys
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parents[2]
LOG = TOP / "build/optimised/model.log"
TABLE = TOP / "build/model-scenes.md"

TEST = re.compile(r" +Start +(\d+): (\S+)")
SCENE = re.compile(r"(\d+): (\w+) +(\d+|any) preemptions +(\d+|any) stale reads +(posts order|bare posts) +"
                   r"(\d+) executions \(\d+ cut\) +(\d+) states .* holds")


class Row(NamedTuple):
    preemptions: str
    stale_reads: str
    executions: int
    states: int


def rows(log: str) -> tuple[dict[str, Row], dict[str, Row]]:
    """Returns the row of each scene, with ordering posts and with bare posts, without the litmus tests."""
    tests: dict[str, str] = {}
    found: dict[str, dict[str, Row]] = {"posts order": {}, "bare posts": {}}
    for line in log.splitlines():
        if test := TEST.match(line):
            tests[test[1]] = test[2]
        elif (scene := SCENE.match(line)) and tests[scene[1]] != "model.litmus":
            row = Row(scene[3], scene[4], int(scene[6]), int(scene[7]))
            known = found[scene[5]].get(scene[2])  # with narrower or wider bounds
            if known is None or known.states < row.states:
                found[scene[5]][scene[2]] = row
    return found["posts order"], found["bare posts"]


def table(log: str) -> str:
    ordering, bare = rows(log)
    if not ordering:
        sys.exit("table.py: the log has no scene; run ./dev model without arguments")

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
    states = sum(row.states for row in (*ordering.values(), *bare.values()))
    lines += ["", f"{len(ordering)} scenes, {executions:,} executions, {states:,} states; and the litmus tests that check the checker."]
    return "\n".join(lines) + "\n"


def main() -> None:
    log = Path(sys.argv[1]) if len(sys.argv) > 1 else LOG
    if not log.exists():
        sys.exit(f"table.py: {log} does not exist; run ./dev model first")
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(table(log.read_text()))
    print(TABLE.relative_to(TOP))


if __name__ == "__main__":
    main()

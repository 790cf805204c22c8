#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the medians of the probe as the costs that the simulation uses by default.

build/release/bench/probe/probe --json --distance 35 | bench/scale/record.py

The distance, in ns, is that of two processors of one virtual machine that share a third-level cache.
"""

import json
import pathlib
import sys


def rows(items: list[str]) -> str:
    return ",\n".join(f"  {item}" for item in items)


def main() -> None:
    found = json.load(sys.stdin)
    floor = [f"{json.dumps(key)}: {json.dumps({'median': round(step['median'], 2)})}" for key, step in found["floor"].items()]
    exchanges = [json.dumps({"kind": each["kind"], "design": each["design"], "p": each["p"],
                             "median": round(each["median"], 2)}) for each in found["exchanges"]]
    text = (f'{{\n "meta": {json.dumps(found["meta"])},\n "floor": {{\n{rows(floor)}\n }},\n'
            f' "exchanges": [\n{rows(exchanges)}\n ]\n}}\n')
    pathlib.Path(__file__).with_name("recorded.json").write_text(text)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs exchange_bench and writes its medians to bench/results/micro.json.

micro.py EXCHANGE_BENCH [ARG...]; the ARGs are passed to Google Benchmark.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
sys.path.append(str(TOP / "bench/rivals"))
import machine # noqa: E402
from run import line_hop # noqa: E402

# The fields of Google Benchmark itself; all others are our counters.
ITS_OWN = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
           "threads", "aggregate_name", "aggregate_unit", "iterations", "real_time", "cpu_time", "time_unit"}


def medians(benchmarks: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns by name, without Google Benchmark's suffixes: the time in ns, our counters, and the number of samples."""
    found = {}
    for each in benchmarks:
        if each.get("aggregate_name") == "median" or each.get("repetitions") == 1:
            name = re.sub("/(iterations:1|repeats:1|manual_time)(?=/|$)", "", each["run_name"])
            counters = {key: value for key, value in each.items() if key not in ITS_OWN}
            found[name] = {"ns": float(f"{each['real_time']:.5g}"), **{key: float(f"{n:.5g}") for key, n in counters.items()},
                           "samples": each.get("repetitions", 1)}
    return found


def text(meta: dict[str, Any], found: dict[str, dict[str, float]]) -> str:
    """Returns the JSON, with a line for each benchmark."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(found.items()))
    return f'{{"meta": {json.dumps(meta, indent=1)},\n"medians": {{\n{lines}\n}}}}\n'


def main() -> None:
    hop = line_hop()
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([*sys.argv[1:], f"--benchmark_out={out.name}", "--benchmark_out_format=json"], check=False)
        if done.returncode != 0:
            sys.exit("micro.py: exchange_bench failed; bench/results/micro.json is unchanged")
        written = out.read()
    found = medians(json.loads(written)["benchmarks"]) if written else {}
    if not found:
        sys.exit("micro.py: no benchmark was run; check --benchmark_filter")
    meta = {**machine.describe(), "line_hop": hop, "repetitions": max(each["samples"] for each in found.values())}
    output = machine.RESULTS / "micro.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text(meta, found), encoding="utf-8")


if __name__ == "__main__":
    main()

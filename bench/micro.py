#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs exchange_bench, and keeps the medians: micro.py EXCHANGE_BENCH [ARG...]; ARGs go to Google Benchmark."""

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

# What Google Benchmark says of each, beside our own counters.
ITS_OWN = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
           "threads", "aggregate_name", "aggregate_unit", "iterations", "real_time", "cpu_time", "time_unit", "hop"}


def medians(benchmarks: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By name, without what Google Benchmark adds to it: ns, our counters, and of how many samples."""
    found = {}
    for each in benchmarks:
        if each.get("aggregate_name") == "median" or each.get("repetitions") == 1:
            name = re.sub("/(iterations:1|repeats:1|manual_time)(?=/|$)", "", each["run_name"])
            counters = {key: value for key, value in each.items() if key not in ITS_OWN}
            found[name] = {"ns": float(f"{each['real_time']:.5g}"), **{key: float(f"{n:.5g}") for key, n in counters.items()},
                           "samples": each.get("repetitions", 1)}
    return found


def kept(run: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    failed = [each["name"] for each in run["benchmarks"] if each.get("error_occurred")]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
    hop = run["context"]["line hop between the first two processors"]
    return {"meta": {**meta, "line_hop": [float(hop.split()[0])],
                     "repetitions": max(each.get("repetitions", 1) for each in run["benchmarks"])},
            "medians": medians(run["benchmarks"])}


def main() -> None:
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([*sys.argv[1:], f"--benchmark_out={out.name}", "--benchmark_out_format=json"], check=False)
        if done.returncode != 0:
            sys.exit(done.returncode)
        text = out.read()
    if not text:
        sys.exit("nothing was run")
    run = json.loads(text)
    output = machine.RESULTS / "micro.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(kept(run, machine.describe()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

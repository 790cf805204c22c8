#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tryst and its rivals in turn, and writes their results (see README.md in this folder)."""

import argparse
import json
import os
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grid
import machine
from rival import Failure, NothingDone, Run, execute, runs
from schedule import Progress, in_turn, repetitions

HERE = Path(__file__).resolve().parent
BUILD = machine.TOP / "build"
CPP = BUILD / "release/bench/rivals/cpp/rival"
PROBE = BUILD / "release/bench/probe/probe"
FIRST = 0.05 # seconds of each sample of the first round, which does not count
EXTRAS = ("fairness", "success", "lost", "p50", "p99", "bytes", "count", "seconds")

Json = dict[str, Any]


def summary(run: Run) -> Json:
    """Returns the results of a run that are kept. Samples are in ns, or in bytes for memory."""
    unit = "bytes" if run.workload == "memory-tasks" else "ns"
    samples = [each[unit] for each in run.results]
    extras = {name: statistics.median(each[name] for each in run.results) for name in EXTRAS
              if name != unit and all(name in each for each in run.results)}
    return {"language": run.language, "implementation": run.implementation, "workload": run.workload,
            "parameters": run.parameters, "unit": unit, "median": statistics.median(samples),
            "min": min(samples), "max": max(samples), **extras, "samples": samples}


def one_round(these: list[Run], seconds: float, warmup: float, progress: Progress, *, keep: bool = True,
              rough: bool = False) -> None:
    """@throws Failure"""
    for run in these:
        progress.show(run.name)
        try:
            result = run.sample(seconds, warmup)
        except NothingDone:
            if not rough:
                raise
            result = run.sample(20 * seconds, warmup)
        if keep:
            run.results.append(result)


def measure(these: list[Run], options: argparse.Namespace, hop: Callable[[], list[float]]) -> list[float]:
    """Fills in the results. @returns the line hop of each round. @throws Failure"""
    # The first round does not count. It finds failures early, and estimates the time of the other rounds.
    if options.repetitions > 1:
        one_round(these, FIRST, FIRST, Progress([run.cost for run in these]), keep=False, rough=True)
        for run in these:
            run.cost += grid.longer(run.workload, run.parameters) * (options.seconds + options.warmup - 2 * FIRST)
    costs = [run.cost for run in these]
    times = repetitions(costs, options.repetitions, options.minutes * 60)
    rounds = [[run for run, each in zip(these, times) if turn < each] for turn in range(options.repetitions)]
    progress = Progress([cost for turn in range(options.repetitions) for cost, each in zip(costs, times) if turn < each])
    hops = []
    for turn, each in enumerate(rounds):
        hops += hop()
        # Alternate the direction, so that no run always follows the same other run.
        one_round(each if turn % 2 == 0 else each[::-1], options.seconds, options.warmup, progress,
                  rough=options.repetitions == 1)
    progress.end()
    return hops


def probe(*options: str) -> Json:
    """Returns the costs of the machine's steps. @throws Failure"""
    status, out, err = execute("probe", [str(PROBE), "--json", *options])
    if status != 0:
        raise Failure(f"probe: failed\nexit status {status}\n{err}")
    return json.loads(out)


def line_hop() -> list[float]:
    """Returns the line hop between processors 0 and 1 in ns, which changes over time on a virtual machine."""
    hop = probe("--hop")["floor"].get("line_hop")
    return [hop["median"]] if hop else []


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def languages() -> list[Path]:
    return [build for build in sorted(HERE.glob("*/build")) if os.access(build, os.X_OK)]


def packages() -> list[str]:
    """Returns the Debian packages that the rivals need."""
    names = list(machine.CPP_PACKAGES)
    for build in languages():
        names += execute(str(build), [str(build), "--packages"])[1].split()
    return names


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev bench --rivals", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", help="only runs whose name matches, such as `LANGUAGE: IMPLEMENTATION: WORKLOAD --tasks N`")
    parser.add_argument("--quick", action="store_true", help="take one short sample of each run")
    parser.add_argument("--smoke", action="store_true", help="only check in small runs that the programs work and conserve items")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N", help="samples of each run")
    parser.add_argument("--seconds", type=float, default=0.3, metavar="S", help="duration of a sample")
    parser.add_argument("--warmup", type=float, default=0.1, metavar="S", help="duration of the warm-up before each sample")
    parser.add_argument("--minutes", type=float, default=21, metavar="M", help="repeat less often if it would take longer")
    parser.add_argument("--distance", type=float, metavar="NS", help="as for the probe, which measures the machine's floor")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: bench/results/rivals.json for complete runs, else build/rivals.json")
    parser.add_argument("--program", type=Path, action="append", metavar="FILE", help="run only this program")
    parser.add_argument("--packages", action="store_true", help="only print the Debian packages that the rivals need")
    options = parser.parse_args()
    if min(options.repetitions, options.seconds, options.minutes) <= 0 or options.warmup < 0:
        parser.error("--repetitions, --seconds and --minutes must be positive, and --warmup not negative")
    if options.quick or options.smoke:
        options.repetitions = 1
        options.seconds, options.warmup = (0.02, 0.02) if options.smoke else (0.1, 0.05)
    if options.output is None:
        part = options.quick or options.smoke or options.only or options.program
        options.output = BUILD / "rivals.json" if part else machine.RESULTS / "rivals.json"
    return options


def chosen(options: argparse.Namespace) -> list[Run]:
    """@throws Failure"""
    parameters = grid.SMOKE if options.smoke else grid.FULL
    programs = options.program or [CPP] + [BUILD / "rivals" / each.parent.name / "rival" for each in languages()]
    every = [run for program in programs for run in runs(program, parameters)]
    these = [run for run in every if not options.only or re.search(options.only, run.name)]
    if not these:
        raise Failure(f"--only {options.only}: no run has a matching name")
    return in_turn(these)


def main() -> None:
    options = arguments()
    if options.packages:
        print(*packages())
        return
    kept = options.output.resolve().parent == machine.RESULTS
    try:
        these = chosen(options)
        if kept: # the report compares our figures with the floor
            floor = probe(*([f"--distance={options.distance}"] if options.distance else []))
            floor["meta"] |= machine.describe()
            write(machine.RESULTS / "floor.json", json.dumps(floor, indent=1) + "\n")
        hops = measure(these, options, line_hop if PROBE.exists() and not options.smoke else list)
    except Failure as what:
        sys.exit(f"\n{what}")
    meta = {**machine.describe(), "packages": machine.packages(packages()), "line_hop": hops,
            "seconds": options.seconds, "warmup": options.warmup, "repetitions": options.repetitions,
            "first_round": "discarded" if options.repetitions > 1 else "kept"}
    lines = ",\n".join(json.dumps(summary(run)) for run in these)
    write(options.output, f'{{"meta": {json.dumps(meta, indent=1)},\n"runs": [\n{lines}\n]}}\n')
    print(f"{len(these)} runs, items conserved: {options.output}", file=sys.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times examples/applications/tsp as in the paper's figure 2, for each form of exchange and 1 to 32 threads, in turn."""

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.append(str(TOP / "bench/rivals"))
import machine # noqa: E402

# The paper's parameters, except its 20,000 generations, for which a run with the mutex takes two minutes.
SIDE, POPULATION, BREEDERS, GENERATIONS = 10, 1000, 200, 2000
FORMS, THREADS = ("red-blue", "symmetric", "mutex"), (1, 2, 4, 8, 16, 32)
SAID = re.compile(r"^(\d+) generations in ([\d.]+) s", re.MULTILINE)


def seconds(program: Path, form: str, threads: int, generations: int) -> float:
    """Returns the seconds of one run. The program checks that genes are conserved and that children are permutations."""
    command = [str(program), "-q", "--side", str(SIDE), "--population", str(POPULATION), "--breeders", str(BREEDERS),
               "--generations", str(generations), "--improve", "none", "--exchange", form, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    said = SAID.search(done.stdout)
    if done.returncode != 0 or not said or int(said[1]) != generations:
        sys.exit(f"{' '.join(command)} failed\n{done.stdout}{done.stderr}")
    return float(said[2])


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev bench --salesman", description=__doc__)
    parser.add_argument("program", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--generations", type=int, default=GENERATIONS, metavar="N")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N")
    parser.add_argument("--output", type=Path, default=machine.RESULTS / "salesman.json", metavar="FILE")
    options = parser.parse_args()
    if min(options.generations, options.repetitions) < 1:
        parser.error("--generations and --repetitions must be at least 1")

    # A single thread that blocks has no partner.
    runs = [(form, threads) for threads in THREADS for form in FORMS if (form, threads) != ("mutex", 1)]
    samples: dict[tuple[str, int], list[float]] = {run: [] for run in runs}
    for turn in range(options.repetitions):
        for number, (form, threads) in enumerate(runs):
            print(f"\rround {turn + 1} of {options.repetitions}: {number + 1}/{len(runs)}", end="", file=sys.stderr, flush=True)
            samples[form, threads].append(seconds(options.program, form, threads, options.generations))
    print(file=sys.stderr)

    meta = {**machine.describe(), "cities": SIDE**2, "population": POPULATION, "breeders": BREEDERS,
            "generations": options.generations, "repetitions": options.repetitions}
    medians = {run: statistics.median(each) for run, each in samples.items()}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"meta": meta, "runs": [
        {"exchange": form, "threads": threads, "seconds": medians[form, threads],
         "generations_per_second": options.generations / medians[form, threads], "samples": samples[form, threads]}
        for form, threads in runs]}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

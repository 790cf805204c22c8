#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares pairs through Redis with a hand-written RPUSH and BLPOP, in turn, and writes medians to bench/results/redis.json.

Starts a redis-server of its own, on a Unix socket, which writes nothing to the disk.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "bench/rivals"))
import machine # noqa: E402

# What, its rival, and the number of rooms or of tasks.
CASES = (*(("channel", "lists", rooms) for rooms in (1, 16, 200)),
         *(("channel, one write", "lists, one write", rooms) for rooms in (16, 200)),
         ("channel with pauses", "lists with pauses", 1),
         *(("remote exchanger", "plain exchanger", tasks) for tasks in (2, 16)))

Figures = dict[str, float]


def measure(options: argparse.Namespace) -> dict[tuple[str, int], list[Figures]]:
    """Returns the figures of each round, by program and number."""
    found: dict[tuple[str, int], list[Figures]] = {}
    with tempfile.TemporaryDirectory(prefix="tryst.") as folder:
        socket = Path(folder) / "s"
        with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
                              stdout=subprocess.DEVNULL) as server:
            try:
                while not socket.exists() and server.poll() is None:
                    time.sleep(0.01)
                for repetition in range(options.repetitions):
                    for ours, rival, count in CASES:
                        for what in (ours, rival) if repetition % 2 == 0 else (rival, ours):
                            command = [options.program, what, socket, str(server.pid), str(count), str(options.seconds)]
                            done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
                            found.setdefault((what, count), []).append(json.loads(done.stdout))
            finally:
                server.kill()
    return found


def summary(ours: list[Figures], rival: list[Figures]) -> dict[str, dict[str, float | list[float]]]:
    """Returns the medians of both, and the ratios of the rounds, so that a slow phase of the machine affects both."""
    def rounded(value: float) -> float:
        return float(f"{value:.4g}")

    return {name: {"tryst": rounded(statistics.median(each[name] for each in ours)),
                   "rival": rounded(statistics.median(each[name] for each in rival)),
                   "ratios": sorted(rounded(mine[name] / other[name]) for mine, other in zip(ours, rival))}
            for name in ours[0] if rival[0][name]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev bench --redis", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=9, metavar="N", help="samples of each")
    parser.add_argument("--seconds", type=float, default=1, metavar="S", help="duration of a sample")
    parser.add_argument("--smoke", action="store_true", help="only check in short runs that the programs work and conserve items")
    parser.add_argument("--output", type=Path, default=machine.RESULTS / "redis.json", metavar="FILE")
    parser.add_argument("--program", type=Path, default=TOP / "build/release/bench/redis/redis_bench", metavar="FILE")
    options = parser.parse_args()
    if options.smoke:
        options.repetitions, options.seconds = 1, 0.02
    found = measure(options)
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    meta = {**machine.describe(), "redis": redis.removeprefix("v="), "repetitions": options.repetitions}
    lines = ",\n".join(json.dumps({"what": ours, "count": count, **summary(found[ours, count], found[rival, count])})
                       for ours, rival, count in CASES)
    options.output.write_text(f'{{"meta": {json.dumps(meta, indent=1)},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()

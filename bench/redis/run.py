#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures remote exchanges beside redis-benchmark, in turn, and writes medians to bench/results/redis.json.

Starts a redis-server of its own, on a Unix socket, which writes nothing to the disk.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "bench/rivals"))
import machine # noqa: E402

SCRIPT = TOP / "src/redis/rendezvous.lua"
PROGRAM = TOP / "build/release/bench/redis/redis_bench"
ROOMS = (1, 16, 50, 100)
TASKS = (2, 16)
TIMEOUT = 120
KEYS = ("4", "tryst:x:{rival}", "tryst:x:{rival}:items", "tryst:x:{rival}:1", "tryst:x:{rival}:2")

Json = dict[str, Any]


def execute(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"run.py: {command[0]} failed\n{done.stdout}{done.stderr}")
    return done.stdout


class Redis:
    """A redis-server, and the commands that call the script without tryst."""

    def __init__(self, socket: str) -> None:
        self.socket = socket
        self.sha = self.call("script", "load", SCRIPT.read_text(encoding="utf-8"))

    def call(self, *words: str) -> str:
        return execute("redis-cli", "-s", self.socket, *words).strip()

    def calls_per_second(self, pipelined: int, calls: int) -> float:
        """Calls of `arrive` by redis-benchmark, which wait and match in turn.

        Fewer steps than those of an exchange: there is no subscriber to wake, and no result to delete.
        """
        self.call("evalsha", self.sha, *KEYS, "join", "rival.1", "1", "", "60000", "", "600000", "fresh", "tryst:wake:")
        matched = self.matched()
        out = execute("redis-benchmark", "-s", self.socket, "-c", 2, "-P", pipelined, "-n", calls, "--csv", "evalsha", self.sha, *KEYS,
                      "arrive", "rival.1", "1", self.generation(), "60000", "", "1", "1", "1", "1", "12345678",
                      "tryst:wake:", "4096")
        if not calls // 2 <= self.matched() - matched <= calls // 2 + pipelined:
            sys.exit("run.py: the calls of redis-benchmark did not match in turn")
        return float(out.splitlines()[-1].split('","')[1].strip('"'))

    def generation(self) -> str:
        return self.call("hget", KEYS[1], "generation")

    def matched(self) -> int:
        return int(self.call("hget", KEYS[1], "matched") or 0)


@contextmanager
def redis_server() -> Iterator[Redis]:
    with tempfile.TemporaryDirectory(prefix="tryst.") as folder:
        socket = Path(folder) / "s"
        with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no",
                               "--dir", folder], stdout=subprocess.DEVNULL) as server:
            try:
                while not socket.exists():
                    if server.poll() is not None:
                        sys.exit("run.py: redis-server has ended")
                    time.sleep(0.01)
                yield Redis(str(socket))
            finally:
                server.kill()


class Measured:
    """Samples by name."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self.samples.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        return statistics.median(self.samples[name])

    def ratio(self, ours: str, theirs: str) -> Json:
        """The median of the ratios of the rounds, so that a slow phase of the machine affects both."""
        rounds = [mine / other for mine, other in zip(self.samples[ours], self.samples[theirs])]
        return {"ratio": round(statistics.median(rounds), 3), "ratios": [round(each, 3) for each in rounds]}


def one_round(redis: Redis, options: argparse.Namespace, found: Measured) -> None:
    def measure(*words: object) -> Json:
        return json.loads(execute(options.program, *words))

    for rooms in ROOMS:
        pairs = measure("pairs", redis.socket, rooms, options.seconds)
        found.add(f"pairs {rooms}", pairs["pairs_per_second"])
        # As long as the run before, by its own rate.
        calls = max(1000, int(2 * pairs["pairs_per_second"] * options.seconds))
        found.add(f"calls {rooms}", redis.calls_per_second(rooms, calls) / 2)
    latency = measure("latency", redis.socket, redis.sha, max(20, int(2000 * options.seconds)))
    found.add("pair", latency["pair_us"])
    found.add("raw", latency["raw_us"])
    for tasks in TASKS:
        local = measure("local", redis.socket, tasks, max(1000, int(300_000 * options.seconds)))
        found.add(f"plain {tasks}", local["plain_ns"])
        found.add(f"remote {tasks}", local["remote_ns"])


def summary(found: Measured) -> Json:
    return {
        "throughput": [{"rooms": rooms, "pairs_per_second": round(found.median(f"pairs {rooms}")),
                        "redis_benchmark": round(found.median(f"calls {rooms}")),
                        **found.ratio(f"pairs {rooms}", f"calls {rooms}")} for rooms in ROOMS],
        "latency": {"pair_us": round(found.median("pair"), 1), "raw_us": round(found.median("raw"), 1),
                    **found.ratio("pair", "raw")},
        "local": [{"tasks": tasks, "plain_ns": round(found.median(f"plain {tasks}"), 1),
                   "remote_ns": round(found.median(f"remote {tasks}"), 1),
                   **found.ratio(f"remote {tasks}", f"plain {tasks}")} for tasks in TASKS],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev bench --redis", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="samples of each")
    parser.add_argument("--seconds", type=float, default=1, metavar="S", help="duration of a sample")
    parser.add_argument("--smoke", action="store_true", help="only check in short runs that the programs work and conserve items")
    parser.add_argument("--output", type=Path, default=machine.RESULTS / "redis.json", metavar="FILE")
    parser.add_argument("--program", type=Path, default=PROGRAM, metavar="FILE", help="redis_bench")
    options = parser.parse_args()
    if options.repetitions < 1 or options.seconds <= 0:
        parser.error("--repetitions and --seconds must be positive")
    if options.smoke:
        options.repetitions, options.seconds = 1, 0.02
    found = Measured()
    with redis_server() as redis:
        version = execute("redis-server", "--version").split()[2].removeprefix("v=")
        for _ in range(options.repetitions):
            one_round(redis, options, found)
    meta = {**machine.describe(), "redis": version, "repetitions": options.repetitions, "seconds": options.seconds}
    options.output.write_text(json.dumps({"meta": meta, **summary(found)}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands in turn, A B A B ..., and prints the medians of what each has taken.

usage: measure.py [--rounds N] COMMAND...
"""

import argparse
import os
import shlex
import statistics
import time


def run(words):
    start = time.monotonic()
    process = os.posix_spawnp(words[0], words, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise SystemExit(f"{shlex.join(words)}: failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("commands", nargs="+", metavar="COMMAND", help="quoted, without pipes")
    chosen = parser.parse_args()
    taken = {command: [] for command in chosen.commands}
    for _ in range(chosen.rounds):
        for command, runs in taken.items():
            runs.append(run(shlex.split(command)))
    print("seconds  of them least  processor seconds  peak MB")
    for command, runs in taken.items():
        seconds, processor, peak = (statistics.median(each) for each in zip(*runs))
        print(f"{seconds:7.2f}  {min(runs)[0]:13.2f}  {processor:17.2f}  {peak:7.1f}  {command}")


if __name__ == "__main__":
    main()

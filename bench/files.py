#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times whole commands on one large file and prints tables. Without FILE, it also writes bench/results/files.json.

Compares uring_zstd with zstd at the same level; its --hash with sha256sum; and its --copy with cp, with dd, and with
itself on a single ring with two buffers. The commands take turns. A first round, which does not count, checks all results.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
sys.path += [str(BENCH / "rivals"), str(BENCH / "report")]
import machine # noqa: E402
from whole_commands import comparison # noqa: E402

ROUNDS = 7
LARGE = 1 << 30


def large_file(path):
    """Writes a gigabyte of the files in /usr: programs, libraries, headers, documents."""
    with open(path, "wb") as out:
        for folder, _, names in os.walk("/usr"):
            for name in names:
                source = os.path.join(folder, name)
                if os.path.isfile(source) and not os.path.islink(source):
                    with open(source, "rb") as file:
                        out.write(file.read(LARGE - out.tell()))
                if out.tell() == LARGE:
                    return
    with open(path, "rb+") as out: # /usr is smaller: repeat its files
        while (size := os.fstat(out.fileno()).st_size) < LARGE:
            out.seek(0)
            block = out.read(LARGE - size)
            out.seek(size)
            out.write(block)


def run(command):
    """@returns seconds and processor seconds"""
    actions = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"files.py: `{' '.join(command)}` failed with status {status}")
    return seconds, usage.ru_utime + usage.ru_stime


def check(kind, command, source, output):
    if kind == "hash":
        digests = {subprocess.run(each, capture_output=True, check=True).stdout.split()[0]
                   for each in (command, ["sha256sum", source])}
        right = len(digests) == 1
    elif kind == "compress":
        decoded = subprocess.Popen(["zstd", "-dc", output], stdout=subprocess.PIPE)
        right = subprocess.run(["cmp", "-", source], stdin=decoded.stdout, check=False).returncode == 0
        right = decoded.wait() == 0 and right
    else:
        right = subprocess.run(["cmp", output, source], check=False).returncode == 0
    if not right:
        sys.exit(f"files.py: the result of `{' '.join(command)}` is wrong")


def compare(kind, title, commands, source, output):
    """Compares commands, given by their titles. `IN` and `OUT` stand for the files."""
    runs = {name: [] for name in commands}
    names = list(commands)
    for turn in range(ROUNDS + 1):
        first = turn % len(names) # rotate, because the disk may still be busy with the previous command
        for name in names[first:] + names[:first]:
            words = commands[name]
            command = [word.replace("IN", source).replace("OUT", output) for word in words]
            if os.path.exists(output):
                os.remove(output)
            taken = run(command)
            print(f"\r{title}: round {turn} of {ROUNDS}", end="", file=sys.stderr)
            if turn == 0:
                check(kind, command, source, output)
            else:
                runs[name].append(taken)
    print(file=sys.stderr)
    medians = {name: [statistics.median(column) for column in zip(*each)] for name, each in runs.items()}
    found = {"title": title, "commands": [
        {"command": name, "seconds": seconds, "least": min(runs[name])[0], "processor_seconds": processor,
         "samples": [each for each, _ in runs[name]]} for name, (seconds, processor) in medians.items()]}
    print(comparison(found, os.path.getsize(source)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("uring_zstd", help="the program")
    parser.add_argument("file", nargs="?", help="the input; by default a gigabyte of /usr, whose figures go to bench/results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".", prefix="bench_files.") as folder:
        source = options.file
        if source is None:
            source = os.path.join(folder, "source")
            large_file(source)
        with open(source, "rb") as file: # into the page cache
            while file.read(1 << 24):
                pass
        found = []
        output = os.path.join(folder, "output")
        ours = [options.uring_zstd, "-q"]
        copy = [*ours, "--copy", "IN", "-o", "OUT"]
        for level, workers in (("-1", "1"), ("-3", "0")): # not the default
            found += [compare("compress", f"compressing, level {level[1:]}", {
                f"uring_zstd {level}": [*ours, level, "IN", "-o", "OUT"],
                f"zstd {level} -T1": ["zstd", "-q", level, "-T1", "IN", "-o", "OUT"],
                f"uring_zstd {level} --workers {workers}": [*ours, level, "--workers", workers, "IN", "-o", "OUT"],
                f"zstd {level} --single-thread": ["zstd", "-q", level, "--single-thread", "IN", "-o", "OUT"],
            }, source, output)]
        found += [compare("hash", "hashing", {
            "uring_zstd --hash": [*ours, "--hash", "IN"],
            "openssl dgst -sha256 -r": ["openssl", "dgst", "-sha256", "-r", "IN"],
            "sha256sum": ["sha256sum", "IN"],
        }, source, output)]
        found += [compare("copy", "copying, in the page cache", {
            "uring_zstd --copy": copy,
            "uring_zstd --copy --loops 1 --lanes 2": [*copy, "--loops", "1", "--lanes", "2"],
            "cp --reflink=never": ["cp", "--reflink=never", "IN", "OUT"],
            "dd bs=1M": ["dd", "bs=1M", "status=none", "if=IN", "of=OUT"],
        }, source, output)]
        found += [compare("copy", "copying past the page cache", {
            "uring_zstd --copy --direct": [*copy, "--direct"],
            "uring_zstd --copy --direct --buffer 1M": [*copy, "--direct", "--buffer", "1M"],
            "uring_zstd --copy --direct --buffer 1M --loops 1 --lanes 2": [*copy, "--direct", "--buffer", "1M", "--loops",
                                                                           "1", "--lanes", "2"],
            "dd bs=1M iflag=direct oflag=direct": ["dd", "bs=1M", "status=none", "iflag=direct", "oflag=direct",
                                                   "if=IN", "of=OUT"],
        }, source, output)]
        results = {"meta": machine.describe(), "size": os.path.getsize(source), "rounds": ROUNDS, "comparisons": found}
    if options.file is None:
        (machine.RESULTS / "files.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

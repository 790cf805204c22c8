#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times whole commands on one large file: files.py URING_ZSTD [FILE]

uring_zstd against zstd at the same level, its --copy against cp and dd. The commands take turns, after a round that is
not counted; each result is compared with what it should be. Prints a Markdown table of medians.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 7
LARGE = 1 << 30


def large_file(path):
    """A gigabyte of what lies about on a machine: programs, libraries, headers, documents."""
    with open(path, "wb") as out:
        for folder, _, names in os.walk("/usr"):
            for name in names:
                source = os.path.join(folder, name)
                if os.path.isfile(source) and not os.path.islink(source):
                    with open(source, "rb") as file:
                        out.write(file.read(LARGE - out.tell()))
                if out.tell() == LARGE:
                    return
    with open(path, "rb+") as out: # not that much here: once more what there is
        while (size := os.fstat(out.fileno()).st_size) < LARGE:
            out.seek(0)
            block = out.read(LARGE - size)
            out.seek(size)
            out.write(block)


def run(command):
    """@returns seconds, and the most memory that it had, in MB."""
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return seconds, usage.ru_maxrss / 1024


def check(kind, output, source):
    if kind == "compress":
        decoded = subprocess.Popen(["zstd", "-dc", output], stdout=subprocess.PIPE)
        same = subprocess.run(["cmp", "-", source], stdin=decoded.stdout, check=False).returncode == 0
        same = decoded.wait() == 0 and same
    else:
        same = subprocess.run(["cmp", output, source], check=False).returncode == 0
    if not same:
        sys.exit(f"{output} is not what {source} should have become")


def compare(kind, commands, source, output):
    runs = {name: [] for name in commands}
    for turn in range(ROUNDS + 1):
        for name, command in commands.items():
            if os.path.exists(output):
                os.remove(output)
            taken = run(command)
            print(f"\r{kind}: round {turn} of {ROUNDS}", end="", file=sys.stderr)
            if turn == 0:
                check(kind, output, source)
            else:
                runs[name].append(taken)
    print(file=sys.stderr)
    times = {name: [seconds for seconds, _ in each] for name, each in runs.items()}
    best = min(statistics.median(each) for each in times.values())
    size = os.path.getsize(source)
    print(f"\n| {kind} | median s | min | max | MB/s | to the fastest | memory MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, each in times.items():
        median = statistics.median(each)
        memory = max(peak for _, peak in runs[name])
        print(f"| `{name}` | {median:.2f} | {min(each):.2f} | {max(each):.2f} | "
              f"{size / median / 1e6:,.0f} | {median / best:.2f}x | {memory:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("uring_zstd")
    parser.add_argument("file", nargs="?", help="a gigabyte of /usr by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".", prefix="bench_files.") as folder:
        source = options.file
        if source is None:
            source = os.path.join(folder, "source")
            large_file(source)
        with open(source, "rb") as file: # into the page cache
            while file.read(1 << 24):
                pass
        tool = options.uring_zstd
        output = os.path.join(folder, "output")
        for level in (1, 3):
            compare("compress", {
                f"uring_zstd -{level}": [tool, "-q", f"-{level}", source, "-o", output],
                f"zstd -{level}": ["zstd", "-q", f"-{level}", source, "-o", output],
            }, source, output)
        compare("copy", {
            "uring_zstd --copy": [tool, "-q", "--copy", source, "-o", output],
            "cp": ["cp", "--reflink=never", source, output],
            "dd bs=1M": ["dd", "bs=1M", "status=none", f"if={source}", f"of={output}"],
        }, source, output)
        compare("copy past the page cache", {
            "uring_zstd --copy --direct": [tool, "-q", "--copy", "--direct", source, "-o", output],
            "dd bs=1M iflag=direct oflag=direct": ["dd", "bs=1M", "status=none", "iflag=direct", "oflag=direct",
                                                   f"if={source}", f"of={output}"],
        }, source, output)


if __name__ == "__main__":
    main()

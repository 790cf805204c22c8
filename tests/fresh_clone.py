#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries what README.md shows first, as a user does: `./dev demo` and `./dev example NAME` in a fresh clone.

    fresh_clone.py TOP FOLDER

Clones what is committed in TOP, or copies it if git cannot, to a new folder in FOLDER, whose name has a space. Runs
`./dev demo` there in a terminal of 80 columns, then each example, and prints what they print. Each must end as it
should, no build may print a warning, and no line of the demo may be wider than the terminal. Between the two, builds the
examples that need no adapter, so that all processors compile them: `./dev example NAME` builds one at a time.
"""

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

COLUMNS = 80
LIMIT = 1800  # seconds, for what hangs
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# What runs until it is stopped, or needs arguments. The others run without, and succeed.
RUNS_UNTIL = {"deadlock": "This program hangs", "uring_echo": "listening on"}
ARGUMENTS = {"uring_copy": ["README.md", "build/copy.md"], "copy_a_file": ["README.md", "build/copied.md"]}
USAGE = {"remote_exchange", "remote_cbor", "two_processes"}  # which need a Redis server; tests/examples starts one


def run(command: list[str], folder: Path, until: str | None = None) -> tuple[int, str]:
    """The exit status and output in a terminal; ends the command when it has printed `until`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env={**os.environ, "TERM": "xterm", "QT_QPA_PLATFORM": "offscreen"},
                               start_new_session=True)
    os.close(theirs)
    alarm = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(LIMIT)
    output = b""
    try:
        while data := os.read(ours, 4096):
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
            output += data
            if until and until.encode() in output:
                os.killpg(process.pid, signal.SIGTERM)
                until = None
    except OSError:  # EIO: nobody has the terminal any more
        pass
    status = process.wait()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, alarm)
    os.close(ours)
    return status, output.decode(errors="replace")


def lines(output: str) -> list[str]:
    return re.split(r"[\r\n]+", ESCAPES.sub("", output))


def complaints_about(output: str) -> list[str]:
    return [f"a warning: {line}" for line in lines(output) if "warning:" in line]


def try_demo(clone: Path) -> list[str]:
    start = time.monotonic()
    status, output = run(["./dev", "demo"], clone)
    print(f"fresh_clone: ./dev demo took {time.monotonic() - start:.0f} s", flush=True)
    found = complaints_about(output)
    if status != 0:
        found.append(f"status {status}")
    page = (clone / "build/demo.html").read_text(encoding="utf-8")
    found += [f"demo.html has no {part}" for part in ("<pre>got ", "MB/s", ", the optimum", "<polygon") if part not in page]
    return found + [f"{len(line)} columns: {line}" for line in lines(output) if len(line) > COLUMNS]


def build_together(clone: Path) -> list[str]:
    status, output = run(["cmake", "--build", "build/examples"], clone)
    return complaints_about(output) + ([f"status {status}"] if status != 0 else [])


def try_example(clone: Path, name: str) -> list[str]:
    until = RUNS_UNTIL.get(name)
    status, output = run(["./dev", "example", name, *ARGUMENTS.get(name, [])], clone, until)
    found = complaints_about(output)
    if "io_uring_setup:" in output and "TRYST_NO_SKIP" not in os.environ:
        return found  # the kernel has no io_uring, and the program says so
    if name == "senders" and "TRYST_STDEXEC_DIR" not in os.environ:
        wanted = status == 1 and "needs stdexec" in output
    elif name in USAGE:
        wanted = status == 2 and f"usage: {name}" in output
    elif until:
        wanted = until in output
    else:
        wanted = status == 0
    return found if wanted else [*found, f"status {status}"]


def main() -> None:
    top, folder = map(Path, sys.argv[1:])
    clone = folder / "a clone"
    shutil.rmtree(clone, ignore_errors=True)
    if subprocess.run(["git", "clone", "--quiet", top, clone], check=False).returncode != 0:
        # An unpacked archive, or the clone of another user.
        shutil.copytree(top, clone, symlinks=True, ignore=shutil.ignore_patterns("build", ".git"))
    listed = subprocess.run(["./dev", "example"], cwd=clone, capture_output=True, text=True, check=False)
    names = listed.stderr.partition("the examples are: ")[2].split()
    found = [] if "hello" in names else [f"./dev example: {listed.stderr}"]
    found += [f"./dev demo: {complaint}" for complaint in try_demo(clone)]
    found += [f"the examples: {complaint}" for complaint in build_together(clone)]
    for name in names:
        found += [f"./dev example {name}: {complaint}" for complaint in try_example(clone, name)]
    print("\n".join([*found, f"fresh_clone: the demo and {len(names)} examples, {len(found)} complaints"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

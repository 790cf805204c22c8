#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what has changed, as far as that takes seconds: ./dev quick [REVISION]

What has changed since REVISION: without it, since the last commit, or, if nothing has, in that commit.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path += [str(TOP / "tests/lint"), str(TOP / "tests/mutants")]
from atomics import operations  # noqa: E402
from mutants import concerns  # noqa: E402

DEV, OPTIMISED, INCLUDE = TOP / "build/dev", TOP / "build/optimised", TOP / "include/tryst"
OUT_OF_TIME = 124  # what `timeout` returns
JOBS = 2 * (os.cpu_count() or 1)  # many tests wait more than they compute


def output(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"quick: {' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def changed_since(revision: str | None) -> tuple[str, list[str]]:
    """@returns the revision, and the files that differ from it and still exist."""
    new = output("git", "ls-files", "--others", "--exclude-standard").split()
    base = revision or "HEAD"
    files = output("git", "diff", "--name-only", base).split() + new
    if not files and not revision:
        base = "HEAD~1"
        files = output("git", "diff", "--name-only", base).split()
    return base, [file for file in files if (TOP / file).exists()]


def folder_of_tests(file: str) -> str:
    """Where the tests of a file are; empty if they are not quick."""
    if found := re.match(r"(?:include/tryst|src|tests/adapters)/(\w+)(?:/|\.hpp$)", file):
        adapter = "loops" if found[1] in ("glib", "libevent", "libuv", "qt", "systemd") else found[1]
        if (TOP / "tests/adapters" / adapter).is_dir():
            return f"tests/adapters/{adapter}"
    return "tests/unit" if re.match(r"include/tryst/|tests/(unit|support)/", file) else ""


def steps_changed(base: str, header: str) -> list[str]:
    """The labels of the atomic operations in the lines of a header that have changed."""
    lines: set[int] = set()
    for start, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", output("git", "diff", "-U0", base, "--", header), re.M):
        lines.update(range(int(start), int(start) + int(count or 1)))
    return [op.label or op.where for op in operations(TOP / header, INCLUDE) if lines & set(range(op.first, op.last + 1))]


class Failed(Exception):
    pass


def run(what: str, *commands: list[str | Path], environments: list[dict[str, str]] | None = None,
        may_be_cut_short: bool = False) -> None:
    """Runs the commands at the same time. @throws Failed with the output of those that fail."""
    start = time.monotonic()

    def one(command: list[str | Path], more: dict[str, str]) -> str:
        done = subprocess.run(command, cwd=TOP, env={**os.environ, **more}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0 or (may_be_cut_short and done.returncode == OUT_OF_TIME):
            return ""
        ends = "does not end" if done.returncode == OUT_OF_TIME else f"status {done.returncode}"
        return f"{done.stdout[-6000:]}\n{' '.join(map(str, command))}: {ends}"

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        wrong = [text for text in pool.map(one, commands, environments or [{}] * len(commands)) if text]
    print(f"== quick: {what}: {'failed' if wrong else 'passed'}, {time.monotonic() - start:.0f} s", flush=True)
    if wrong:
        raise Failed("\n".join(wrong))


def suites_since(program: str, passed: float) -> str:
    """A filter for the suites of the program's sources that were compiled since then; "" for all."""
    folder, name = os.path.split(program)
    objects = (DEV / folder / f"CMakeFiles/{name}.dir").rglob("*.cpp.o")
    sources = [TOP / folder / each.name.removesuffix(".o") for each in objects if each.stat().st_mtime > passed]
    suites = {suite for source in sources if source.exists()
              for suite in re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", source.read_text(), re.M)}
    return ":".join(f"{suite}.*:{suite}/*:*/{suite}.*:*/{suite}/*" for suite in sorted(suites))


def run_tests(folders: set[str]) -> None:
    """Builds the test programs of these folders, and runs what was compiled since they passed."""
    listed = output("ninja", "-C", DEV, "-t", "targets", "all")
    programs = [program for program in re.findall(r"^(\S+_tests): CXX_EXECUTABLE_LINKER", listed, re.M)
                if os.path.dirname(program) in folders]
    run(f"build {', '.join(sorted(folders))}", ["cmake", "--build", DEV, f"-j{os.cpu_count()}", "--target", *programs])
    commands, environments, stamps = [], [], []
    for program in programs:
        stamp = DEV / f"{program}.passed"
        passed = stamp.stat().st_mtime if stamp.exists() else 0.0
        if passed > (DEV / program).stat().st_mtime:
            continue
        stamps.append(stamp)
        for i in range(JOBS):
            commands.append(["timeout", "120", DEV / program])
            environments.append({"GTEST_TOTAL_SHARDS": str(JOBS), "GTEST_SHARD_INDEX": str(i), "GTEST_BRIEF": "1",
                                 "GTEST_FILTER": suites_since(program, passed) or "*"})
    run(f"tests of {len(stamps)} programs", *commands, environments=environments)
    for stamp in stamps:
        stamp.touch()


def run_model(base: str, headers: list[str]) -> None:
    """Executions of each scene that concerns the headers, at random; of all scenes, if only scenes have changed."""
    steps = [step for header in headers for step in steps_changed(base, header)]
    run("build the model checker", ["cmake", "--build", OPTIMISED, f"-j{os.cpu_count()}", "--target", "model_check"])
    checker = OPTIMISED / "tests/model/model_check"
    files = [os.path.relpath(header, "include/tryst") for header in headers]
    scenes = [line.split()[0] for line in output(checker, "--list").splitlines()]
    scenes = [scene for scene in scenes if not files or any(concerns(file, scene) for file in files)]
    # They find more mutants than as many seconds of all executions with one preemption.
    looks = [["timeout", "5", checker, "--random", "3000", "--ignore-reach", scene] for scene in scenes]
    run(f"{len(scenes)} scenes" + (f" (steps {' '.join(steps)})" if steps else ""), *looks, may_be_cut_short=True)


def main() -> int:
    base, files = changed_since(sys.argv[1] if len(sys.argv) > 1 else None)
    print(f"== quick: {len(files)} files differ from {base}")
    sources = [file for file in files if re.search(r"\.[ch]pp$", file)]
    headers = [file for file in files if re.match(r"include/tryst/.*\.hpp$", file)]
    core = [header for header in headers if not folder_of_tests(header).startswith("tests/adapters")]
    try:
        if sources:
            run("format", ["clang-format-19", "--dry-run", "--Werror", *sources])
        run("rules", *[[sys.executable, "-B", TOP / f"tests/lint/{check}.py", TOP]
                       for check in ("layout", "memory_orders", "invariants", "messages")])
        if core:
            run("headers alone", *[["g++", "-std=c++20", "-fsyntax-only", "-x", "c++", "-I", "include", header]
                                   for header in core])
        if core or any(file.startswith("tests/model/") for file in files):
            run_model(base, core)
        if folders := {folder for file in files if (folder := folder_of_tests(file))}:
            run_tests(folders)
    except Failed as wrong:
        print(wrong)
        return 1
    if rest := [file for file in files if not folder_of_tests(file)]:
        print(f"== quick: not tested: {' '.join(rest)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

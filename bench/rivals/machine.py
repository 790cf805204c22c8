# SPDX-License-Identifier: MIT
"""Describes the machine, its compilers and the versions of packages for the results."""

import datetime
import os
import platform
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
RESULTS = TOP / "bench/results"
CPP_PACKAGES = ["libasio-dev", "libboost1.81-dev", "libboost-fiber1.81-dev", "libtbb-dev"]
COMPILERS = {"g++": ["g++", "--version"], "javac": ["javac", "-version"]}


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOP)
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else ""


def cpu() -> str:
    with open("/proc/cpuinfo", encoding="ascii") as info:
        return next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown CPU")


def commit() -> str:
    """Returns the commit, with a `+` if sources have uncommitted changes. Results and generated pages do not count."""
    changed = output("git", "status", "--porcelain", "--", ".", ":!bench/results", ":!docs/benchmarks*.md")
    return output("git", "rev-parse", "--short", "HEAD") + ("+" if changed else "")


def compilers() -> dict[str, str]:
    found = {name: output(*command) for name, command in COMPILERS.items() if shutil.which(name)}
    return {name: text.splitlines()[0] for name, text in found.items() if text}


def packages(names: list[str]) -> dict[str, str]:
    """Returns the versions of Debian packages, except of commands that another program precedes in PATH."""
    names = [name for name in names if (shutil.which(name) or "/usr/bin/").startswith("/usr/bin/")]
    found = output("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *names) if names else ""
    if not found: # dpkg-query fails if one package is not installed
        found = "\n".join(output("dpkg-query", "-W", "-f", "${Package} ${Version}", name) for name in names)
    return dict(line.split(" ", 1) for line in found.splitlines() if " " in line)


def describe() -> dict[str, object]:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit(),
        "cpu": cpu(),
        "processors": os.cpu_count(),
        "kernel": f"{platform.system()} {platform.release()}",
        "compilers": compilers(),
    }

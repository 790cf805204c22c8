# SPDX-License-Identifier: MIT
"""A rival's program: its workloads, and one run (see README.md in this folder)."""

import json
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import grid

TIMEOUT = 120


class Failure(Exception):
    """A program failed, or did not meet its specification."""


class NothingDone(Failure):
    """The program did nothing. On a busy machine, a short sample may end before the program is scheduled."""


def execute(name: str, command: list[str]) -> tuple[int, str, str]:
    """@returns exit status, standard output, standard error. @throws Failure  if the program does not end"""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as late:
        said = "".join((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
        raise Failure(f"{name}: not finished after {TIMEOUT} s\n{said}".rstrip()) from late
    except OSError as wrong:
        raise Failure(f"{name}: {wrong}") from wrong
    return done.returncode, done.stdout, done.stderr


def parse(name: str, status: int, out: str, err: str) -> dict[str, float]:
    """@throws Failure  if the run failed, lost items, or did nothing"""
    said = f"exit status {status}\n{out}{err}".rstrip()
    try:
        result = json.loads(out)
        conserved, count = result["conserved"], result["count"]
    except (ValueError, KeyError, TypeError) as wrong:
        raise Failure(f"{name}: no result\n{said}") from wrong
    if conserved is not True:
        raise Failure(f"{name}: items were not conserved\n{said}")
    if status != 0:
        raise Failure(f"{name}: failed\n{said}")
    if not count > 0:
        raise NothingDone(f"{name}: did nothing\n{said}")
    return result


@dataclass
class Run:
    """One implementation at one workload with one set of parameters."""

    program: Path
    implementation: str
    workload: str
    parameters: grid.Parameters
    cost: float = 1 # estimated seconds
    results: list[dict[str, float]] = field(default_factory=list)

    @property
    def language(self) -> str:
        return self.program.parent.name

    @property
    def name(self) -> str:
        return " ".join([f"{self.language}: {self.implementation}:", self.workload, *grid.options(self.parameters)])

    def sample(self, seconds: float, warmup: float) -> dict[str, float]:
        """@throws Failure"""
        longer = grid.longer(self.workload, self.parameters)
        start = time.perf_counter()
        result = parse(self.name, *execute(self.name, [
            str(self.program), self.implementation, self.workload, *grid.options(self.parameters),
            "--seconds", f"{longer * seconds:g}", "--warmup", f"{longer * warmup:g}"]))
        self.cost = time.perf_counter() - start
        return result


def runs(program: Path, parameters: dict[str, list[grid.Parameters]]) -> list[Run]:
    """Returns all runs of a program. @throws Failure"""
    if not program.exists():
        raise Failure(f"{program} does not exist; build it with ./dev bench --rivals")
    status, out, err = execute(f"{program} list", [str(program), "list"])
    if status != 0 or not out:
        raise Failure(f"{program} list: failed\nexit status {status}\n{out}{err}".rstrip())
    found = []
    for line in out.splitlines():
        implementation, _, workload = line.rpartition(" ") # a name may consist of several words
        if not implementation or workload not in parameters:
            raise Failure(f"{program} list: {line!r} is not an implementation and a known workload")
        found += [Run(program, implementation, workload, each) for each in parameters[workload]
                  if grid.measured(implementation, each)]
    return found

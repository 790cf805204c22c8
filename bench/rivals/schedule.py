# SPDX-License-Identifier: MIT
"""The order and the number of repetitions of runs."""

import sys
import time

import grid
from rival import Run

PATIENCE = 0.8 # seconds; longer runs are repeated less often if time is short
FEWEST = 3


def in_turn(runs: list[Run]) -> list[Run]:
    """Sorts runs so that those with the same work and parameters, which are compared, are adjacent."""
    workloads = list(grid.FULL)
    def work(run: Run) -> tuple[int, int]:
        return workloads.index(run.workload), parameters.index(run.parameters)

    parameters: list[grid.Parameters] = []
    for run in runs:
        if run.parameters not in parameters:
            parameters.append(run.parameters)
    return sorted(runs, key=work)


def repetitions(costs: list[float], wanted: int, budget: float) -> list[int]:
    """Returns how often each run is repeated, given the seconds of one run. If all runs exceed the budget, first the
    long runs and then all runs are repeated less often, but not less than FEWEST times."""
    def total() -> float:
        return sum(cost * times for cost, times in zip(costs, chosen))

    fewest = min(FEWEST, wanted)
    chosen = [wanted] * len(costs)
    if total() > budget:
        chosen = [fewest if cost > PATIENCE else wanted for cost in costs]
    for times in range(wanted - 1, fewest - 1, -1):
        if total() > budget:
            chosen = [min(times, each) for each in chosen]
    return chosen


class Progress:
    """A line on standard error: the number of finished runs, and the estimated time that is left."""

    def __init__(self, costs: list[float]):
        self.costs, self.done, self.start = costs, 0, time.monotonic()

    def show(self, name: str) -> None:
        spent, before = time.monotonic() - self.start, sum(self.costs[:self.done])
        left = spent / before * sum(self.costs[self.done:]) if before else sum(self.costs)
        line = f"{self.done}/{len(self.costs)}  {left:.0f} s left  {name}"
        if sys.stderr.isatty():
            print(f"\r\033[K{line:.100}", end="", file=sys.stderr, flush=True)
        elif self.done % 50 == 0:
            print(line, file=sys.stderr, flush=True)
        self.done += 1

    def end(self) -> None:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

# SPDX-License-Identifier: MIT
"""Our figures as multiples of what the machine needs at least, from floor.json: what the probe has measured."""

from typing import NamedTuple

from markdown import figure, ratio, section, table
from results import Json, Results, Work, work


class Bound(NamedTuple):
    title: str
    work: Work
    step: str # the probe's name of what must be done at least
    times: float
    why: str


RESUMED = "one of the two has to wait, and is resumed"
BOTH_LOOPS = "the same, on two processors at once"
CROSSES = "a cache line crosses to the other processor with an answer and the next offer"
AWAY = "a cache line crosses once"
ASLEEP = "the kernel wakes a thread on the other processor"

BOUNDS = [
    Bound("a swap, one loop, 2 tasks", work("swap-tasks", loops=1, tasks=2), "resume", 1, RESUMED),
    Bound("a swap, one loop, 1,000 tasks", work("swap-tasks", loops=1, tasks=1000), "resume", 1, RESUMED),
    Bound("a swap, two loops, 1 task each", work("swap-tasks", loops=2, tasks=1), "line_hop", 1, CROSSES),
    Bound("a swap, two loops, 1,000 tasks each", work("swap-tasks", loops=2, tasks=1000), "resume", 0.5, BOTH_LOOPS),
    Bound("one way, one loop, 2 tasks", work("handoff-tasks", loops=1, tasks=2), "resume", 1, RESUMED),
    Bound("one way, one loop, 1,000 tasks", work("handoff-tasks", loops=1, tasks=1000), "resume", 1, RESUMED),
    Bound("one way, two loops, 1 task each", work("handoff-tasks", loops=2, tasks=1), "line_hop", 1, CROSSES),
    Bound("one way, two loops, 1,000 tasks each", work("handoff-tasks", loops=2, tasks=1000), "resume", 0.5, BOTH_LOOPS),
    Bound("a swap, two threads", work("swap-threads", threads=2), "line_hop", 1, CROSSES),
    Bound("one way, two threads", work("handoff-threads", threads=2), "line_hop", 1, CROSSES),
    Bound("a wait cancelled, of 1,000", work("cancel-tasks", tasks=1000), "resume", 1, "it is resumed"),
    Bound("latency, tasks, awake", work("latency-tasks", pause_us=20), "line_hop", 1, AWAY),
    Bound("latency, tasks, asleep", work("latency-tasks", pause_us=2000), "futex_wake", 1, ASLEEP),
    Bound("latency, threads, awake", work("latency-threads", pause_us=20), "line_hop", 1, AWAY),
    Bound("latency, threads, asleep", work("latency-threads", pause_us=2000), "futex_wake", 1, ASLEEP),
]


class Multiple(NamedTuple):
    bound: Bound
    ns: float
    floor: float

    @property
    def ratio(self) -> float:
        return self.ns / self.floor


def multiples(results: Results, floor: Json) -> list[Multiple]:
    found = []
    for bound in BOUNDS:
        best, step = results.best(bound.work, ours=True), floor["floor"].get(bound.step)
        if best and step:
            found.append(Multiple(bound, best.value, bound.times * step["median"]))
    return found


def sections(results: Results | None, floor: Json) -> list[str]:
    steps = table(["the machine", "ns", "least", "most"], [
        [each["what"], *(figure(each[key]) for key in ("median", "min", "max"))] for each in floor["floor"].values()])
    if not results:
        return [section("The machine's floor", "What this machine's steps cost.", steps)]
    rows = [[each.bound.title, figure(each.ns), figure(each.floor), ratio(each.ratio), each.bound.why]
            for each in multiples(results, floor)]
    return [section("The machine's floor",
                    "What this machine's steps cost; below, the best of our figures as multiples of the step that nobody who "
                    "does this work can do without. No design reaches the floor: items are moved, queues kept, waiters "
                    "counted.", steps, table(["", "ns", "floor", "multiple", "because"], rows))]

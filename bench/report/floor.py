# SPDX-License-Identifier: MIT
"""tryst's figures as multiples of the machine's floor, from floor.json, the results of the probe."""

from typing import NamedTuple

from evidence import marked
from markdown import figure, ratio, section, table
from results import Json, Results, Work, commit, work


class Bound(NamedTuple):
    title: str
    work: Work
    step: str # the probe's name of the unavoidable step
    times: float
    why: str


RESUMED = "one of the two parties waits and must be resumed"
BOTH_LOOPS = "the same, on two processors at once"
CROSSES = "a cache line must reach the other processor, with an answer and the next offer"
AWAY = "a cache line must reach the other processor once"
ASLEEP = "the kernel must wake a thread on the other processor"

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
    Bound("a wait cancelled, of 1,000", work("cancel-tasks", tasks=1000), "resume", 1, "it must be resumed"),
    Bound("latency, tasks, awake", work("latency-tasks", pause_us=20), "line_hop", 1, AWAY),
    Bound("latency, tasks, asleep", work("latency-tasks", pause_us=2000), "futex_wake", 1, ASLEEP),
    Bound("latency, threads, awake", work("latency-threads", pause_us=20), "line_hop", 1, AWAY),
    Bound("latency, threads, asleep", work("latency-threads", pause_us=2000), "futex_wake", 1, ASLEEP),
]


class Multiple(NamedTuple):
    bound: Bound
    ns: float
    floor: float
    mark: str = ""

    @property
    def ratio(self) -> float:
        return self.ns / self.floor


def multiples(results: Results, floor: Json) -> list[Multiple]:
    found = []
    for bound in BOUNDS:
        best, step = results.best(bound.work, ours=True), floor["floor"].get(bound.step)
        if best and step:
            found.append(Multiple(bound, best.value, bound.times * step["median"], best.mark))
    return found


def sections(results: Results | None, floor: Json) -> list[str]:
    steps = table(["step of the machine", "ns, median", "least", "most"], [
        [each["what"], *(figure(each[key]) for key in ("median", "min", "max"))] for each in floor["floor"].values()])
    parts = [marked(floor, results and results.data), f"commit {commit(floor['meta'])}\n", steps]
    if results:
        rows = [[each.bound.title, figure(each.ns) + each.mark, figure(each.floor), ratio(each.ratio), each.bound.why]
                for each in multiples(results, floor)]
        parts.append(table(["tryst's best", "ns", "floor, ns", "ns / floor", "the step"], rows))
    return [section("The machine's floor",
                    "The first table lists the costs of single steps on this machine, the second tryst's best figures as multiples "
                    "of these costs, the floor. No design reaches the floor, because it must also move items, keep queues and "
                    "count waiters.",
                    *parts)]

# SPDX-License-Identifier: MIT
"""The sections about tryst and its rivals."""

from dataclasses import dataclass

from markdown import figure, picture, ratio, section, table
from results import Duel, Results, Work

LOST, CLOSE = "▼", "≈"


@dataclass
class Family:
    """Works that differ in one parameter, which are the columns of one table."""

    title: str
    workload: str
    fixed: dict[str, int]
    column: str
    note: str = ""
    plot: str = ""
    unit: str = "ns"

    def works(self, results: Results) -> list[Work]:
        return sorted(results.select(self.workload, **self.fixed), key=lambda each: each[self.column])

    def heading(self, each: Work) -> str:
        return f"{each[self.column]:,}"


SWAP = "So many tasks on each loop exchange with anybody, for ever. Time of one exchange, two participants served, in ns."
HANDOFF = "Half of the tasks send, the others receive, through one channel. Time of one item handed over, in ns."
LATENCY = ("From the moment when one party comes to the moment when its partner, who has waited, runs on the other "
           "processor: medians, in ns. After 20 us the one who waits may still be awake, after 2 ms it sleeps. Go binds "
           "no goroutine to a processor: there A may run on B's own.")
TIMED = "Swaps that give up after {} us. Time of one exchange, in ns; below, the share of attempts that succeeded."

FAMILIES = [
    Family("Swap, one loop", "swap-tasks", {"loops": 1}, "tasks", SWAP, "swap_one_loop"),
    Family("Swap, two loops", "swap-tasks", {"loops": 2}, "tasks", SWAP, "swap_two_loops"),
    Family("One way, one loop", "handoff-tasks", {"loops": 1}, "tasks", HANDOFF, "handoff_one_loop"),
    Family("One way, two loops", "handoff-tasks", {"loops": 2}, "tasks", HANDOFF, "handoff_two_loops"),
    Family("Swap, threads", "swap-threads", {}, "threads", "Threads that exchange for ever. Time of one exchange, in ns."),
    Family("Swap, threads with a patience of 100 us", "timed-threads", {"patience_us": 100}, "threads", TIMED.format(100),
           "threads"),
    Family("Swap, threads with a patience of 10 us", "timed-threads", {"patience_us": 10}, "threads", TIMED.format(10)),
    Family("Swap, threads with a patience of 1 ms", "timed-threads", {"patience_us": 1000}, "threads", TIMED.format("1,000")),
    Family("One way, threads", "handoff-threads", {}, "threads",
           "Half of the threads send, the others receive. Time of one item handed over, in ns."),
    Family("Cancelled", "cancel-tasks", {}, "tasks",
           "So many tasks wait on one loop, and one request ends them all: the time of one, in ns, until the last has ended."),
    Family("Latency, tasks on two loops", "latency-tasks", {}, "pause_us", LATENCY, "latency"),
    Family("Latency, threads", "latency-threads", {}, "pause_us", LATENCY),
    Family("Memory", "memory-tasks", {}, "tasks",
           "So many tasks wait in one exchanger or channel: growth of resident memory for each, in bytes, frames and stacks "
           "included.", "memory", "bytes"),
]
# An adapter is also set against what its platform itself has for the same coroutines or fibers.
PLATFORMS = {"Asio": ("tryst on Asio", "asio::"), "Boost.Fiber": ("tryst on Boost.Fiber", "boost::fibers::")}
HEADS = {"tasks": "tasks", "threads": "threads", "pause_us": "pause, us"}


def is_close(each: Work, duel: Duel) -> bool:
    """Of latencies only medians are known."""
    return duel.close and not each.workload.startswith("latency")


def duel_row(title: str, works: list[Work], duels: list[Duel | None]) -> list[str]:
    row = []
    for each, duel in zip(works, duels):
        text = ratio(duel.ratio) if duel else ""
        if duel and duel.lost:
            text = f"**{text} {LOST}**"
        row.append(f"{text} {CLOSE}" if duel and is_close(each, duel) else text)
    return [f"**{title}**", *row]


def extra_table(results: Results, family: Family, works: list[Work], key: str) -> str:
    """The same table of another figure; nothing where none is known."""
    rows = []
    for label in results.labels(works):
        found = [results.find(each, label) for each in works]
        values = [entry.run.get(key) if entry else None for entry in found]
        if any(value is not None for value in values):
            shown = figure if key in ("p99",) else lambda value: "" if value is None else f"{value:.3f}"
            rows.append([label, *(shown(value) for value in values)])
    heads = {"fairness": "fairness", "success": "success", "p99": "99th percentile, ns"}
    return table([heads[key], *(family.heading(each) for each in works)], rows) if rows else ""


def family_section(results: Results, family: Family) -> str:
    works = family.works(results)
    if not works:
        return ""
    rows = []
    for label in results.labels(works):
        found = [results.find(each, label) for each in works]
        name = f"**{label}**" if any(entry and entry.ours for entry in found) else label
        rows.append([name, *(figure(entry.value if entry else None) for entry in found)])
    rows.append(duel_row("best rival to best of tryst", works, [results.duel(each) for each in works]))
    for platform, names in PLATFORMS.items():
        duels = [results.duel(each, *names) for each in works]
        if any(duels):
            rows.append(duel_row(f"{platform}'s own to tryst on it", works, duels))
    parts = [table([HEADS[family.column], *(family.heading(each) for each in works)], rows)]
    if family.workload == "timed-threads":
        parts.append(extra_table(results, family, works, "success"))
    if family.workload in ("swap-tasks", "handoff-tasks"):
        parts.append(extra_table(results, family, works, "fairness"))
    if family.workload.startswith("latency"):
        parts.append(extra_table(results, family, works, "p99"))
    if family.plot:
        parts.insert(0, picture(family.plot, f"{family.title}: tryst and its rivals"))
    return section(family.title, family.note, *filter(None, parts))


class Score:
    """Of duels about one kind of work."""

    def __init__(self, family: Family, duels: list[tuple[Work, Duel]]):
        self.family, self.duels = family, duels
        self.lost = [pair for pair in duels if pair[1].lost]

    def row(self) -> list[str]:
        ratios = [duel.ratio for _, duel in self.duels]
        spread = ratio(min(ratios)) + (f" to {ratio(max(ratios))}" if len(ratios) > 1 else "")
        return [self.family.title, spread, f"**{len(self.lost)} of {len(self.duels)}**" if self.lost else "none",
                *("; ".join(sorted({entry.label for entry in side})) for side in zip(*(duel for _, duel in self.duels)))]

    def losses(self) -> list[str]:
        return [f"- {self.family.title}, {HEADS[self.family.column]} {self.family.heading(each)}: {duel.ours.label} "
                f"{figure(duel.ours.value)}, {duel.rival.label} {figure(duel.rival.value)} {self.family.unit}"
                + (" (within the noise)" if is_close(each, duel) else "") for each, duel in self.lost]


def scores(results: Results, ours: str = "", rival: str = "") -> list[Score]:
    found = (Score(family, [(each, duel) for each in family.works(results) if (duel := results.duel(each, ours, rival))])
             for family in FAMILIES)
    return [score for score in found if score.duels]


def verdict(found: list[Score], head: str) -> str:
    text = table([head, "rival by tryst", "lost", "tryst", "rival"], [score.row() for score in found])
    losses = [line for score in found for line in score.losses()]
    count = sum(len(score.duels) for score in found)
    if losses:
        return text + f"\nWhere a rival is better, {len(losses)} of {count}:\n\n" + "\n".join(losses) + "\n"
    return text + f"\nNo rival is better in any of the {count} comparisons.\n"


def summary(results: Results) -> str:
    """Who is fastest where, by the data."""
    parts = [verdict(scores(results), "the best rival against the best of tryst")]
    for platform, names in PLATFORMS.items():
        if found := scores(results, *names):
            parts.append(verdict(found, f"{platform}'s own against tryst on {platform}"))
    return "\n".join(parts)


def sections(results: Results) -> list[str]:
    return [text for family in FAMILIES if (text := family_section(results, family))]

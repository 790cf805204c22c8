# SPDX-License-Identifier: MIT
"""The sections about tryst and its rivals."""

from dataclasses import dataclass

from markdown import figure, picture, ratio, section, table
from results import Results, Work

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
           "processor: medians, in ns. After 20 us the one who waits is still awake, after 2 ms asleep.")
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
HEADS = {"tasks": "tasks", "threads": "threads", "pause_us": "pause, us"}


def duel_row(results: Results, works: list[Work]) -> list[str]:
    row = []
    for each in works:
        duel = results.duel(each)
        text = ratio(duel.ratio) if duel else ""
        if duel and duel.lost:
            text = f"**{text} {LOST}**"
        row.append(f"{text} {CLOSE}" if duel and duel.close and not each.workload.startswith("latency") else text)
    return ["**best rival to best of tryst**", *row]


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
    rows.append(duel_row(results, works))
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


def summary(results: Results) -> str:
    """Who is fastest where, by the data."""
    rows, losses, count = [], [], 0
    for family in FAMILIES:
        duels = [(each, duel) for each in family.works(results) if (duel := results.duel(each))]
        if not duels:
            continue
        count += len(duels)
        ratios = [duel.ratio for _, duel in duels]
        lost = [pair for pair in duels if pair[1].lost]
        ours = sorted({duel.ours.label for _, duel in duels})
        rivals = sorted({duel.rival.label for _, duel in duels})
        spread = ratio(min(ratios)) + (f" to {ratio(max(ratios))}" if len(ratios) > 1 else "")
        rows.append([family.title, spread, f"**{len(lost)} of {len(duels)}**" if lost else "none", "; ".join(ours),
                     "; ".join(rivals)])
        losses += [f"- {family.title}, {HEADS[family.column]} {family.heading(each)}: {duel.ours.label} "
                   f"{figure(duel.ours.value)}, {duel.rival.label} {figure(duel.rival.value)} {family.unit}"
                   + (" (within the noise)" if duel.close and not each.workload.startswith("latency") else "")
                   for each, duel in lost]
    text = table(["work", "the best rival needs", "lost", "best of tryst", "best rivals"], rows)
    if losses:
        text += f"\nWhere a rival is better, {len(losses)} of {count}:\n\n" + "\n".join(losses) + "\n"
    else:
        text += f"\nNo rival is better in any of the {count} comparisons.\n"
    return text


def sections(results: Results) -> list[str]:
    return [text for family in FAMILIES if (text := family_section(results, family))]

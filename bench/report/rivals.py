# SPDX-License-Identifier: MIT
"""The sections about tryst and its rivals."""

from dataclasses import dataclass

from evidence import MARK, marked
from markdown import figure, ratio, section, table
from results import Duel, Entry, Results, Work

LOST = "▼"
MARKS = {"level": " ≈", "unsteady": " ±"} # of verdicts


@dataclass
class Family:
    """Works that differ in one parameter. They share a table, with a column for each."""

    title: str
    workload: str
    fixed: dict[str, int]
    column: str
    note: str = ""
    unit: str = "ns"

    def works(self, results: Results) -> list[Work]:
        return sorted(results.select(self.workload, **self.fixed), key=lambda each: each[self.column])

    def heading(self, each: Work) -> str:
        return f"{each[self.column]:,}"


SWAP = ("Tasks swap in an endless loop, each with any partner. Columns are numbers of tasks on each loop. Time of one swap, "
        "which serves both parties, in ns.")
HANDOFF = ("Half of the tasks send and half receive through one channel. Columns are numbers of tasks on each loop. Time of "
           "one item handed over, in ns.")
LATENCY = ("Median latency in ns. After a pause of 20 us the waiting party may still be awake; after 2,000 us it "
           "sleeps.")
POOL_SWAP = ("Coroutines on one executor, which two threads serve, swap in an endless loop, each with any partner. Columns are "
             "numbers of coroutines. Tasks of tryst are on two executors, half of them on each. Time of one swap, in ns.")
POOL_LATENCY = ("Two threads serve one executor. One party waits there. The other pauses until a timer expires, meets it, and "
                "waits for the timer again. Median latency in ns: until the waiting party runs, on either thread.")
DEADLINES = ("Tasks swap, each time with a deadline of 1 s, which never passes, because a partner comes at once. Columns are "
             "numbers of tasks. Time of one swap, in ns. Asio's channels swap in two hand-offs, of which only the receptions "
             "have a deadline.")
TIMEOUTS = ("Tasks on one loop wait, each in an exchanger or channel of its own, with a patience of 100 us, and no partner "
            "comes. Time of one timeout, in ns.")
SELECT = ("Half of the tasks send through {} in rotation. Each of the others waits for an item from any of these channels. "
          "Columns are numbers of {}. Time of one item received, in ns. With Asio's awaitable operator `||`, items are lost if "
          "several arrive in one wait; the last table gives their share. In a parallel group of Asio, one wait receives all of "
          "them. ")
SELECT_THREADS = ("Half of the threads send through {} channels in rotation. Each of the others waits for an item from any of "
                  "these channels. Columns are numbers of threads. Time of one item received, in ns.")
TIMED = ("Swaps with a patience of {} us. Time of one swap, in ns; the second table gives the share of attempts that "
         "succeeded.")

FAMILIES = [
    Family("Swap, one loop", "swap-tasks", {"loops": 1}, "tasks", SWAP),
    Family("Swap, two loops", "swap-tasks", {"loops": 2}, "tasks", SWAP),
    Family("One way, one loop", "handoff-tasks", {"loops": 1}, "tasks", HANDOFF),
    Family("One way, two loops", "handoff-tasks", {"loops": 2}, "tasks", HANDOFF),
    Family("Swap, threads", "swap-threads", {}, "threads", "Threads swap in an endless loop. Time of one swap, in ns."),
    Family("Swap, threads with a patience of 100 us", "timed-threads", {"patience_us": 100}, "threads", TIMED.format(100)),
    Family("Swap, threads with a patience of 10 us", "timed-threads", {"patience_us": 10}, "threads", TIMED.format(10)),
    Family("Swap, threads with a patience of 1 ms", "timed-threads", {"patience_us": 1000}, "threads", TIMED.format("1,000")),
    Family("One way, threads", "handoff-threads", {}, "threads",
           "Half of the threads send and half receive. Time of one item handed over, in ns."),
    Family("Cancelled", "cancel-tasks", {}, "tasks",
           "Waiting tasks on one loop are cancelled by one request. Time for each task, in ns: from the request to the end of "
           "the last task, divided by the number of tasks."),
    Family("Swap with a deadline, one loop", "timed-tasks", {}, "tasks", DEADLINES),
    Family("Timeouts, one loop", "timeout-tasks", {}, "tasks", TIMEOUTS),
    Family("Swap, a pool of two threads", "swap-pool", {}, "tasks", POOL_SWAP),
    Family("Select from 2 channels, one loop", "select-tasks", {"loops": 1, "channels": 2}, "tasks",
           SELECT.format("2 channels", "tasks")),
    Family("Select from 4 channels, one loop", "select-tasks", {"loops": 1, "channels": 4}, "tasks",
           SELECT.format("4 channels", "tasks")),
    Family("Select, two loops with 16 tasks each", "select-tasks", {"loops": 2, "tasks": 16}, "channels",
           SELECT.format("several channels", "channels")),
    Family("Select from 2 channels, threads", "select-threads", {"channels": 2}, "threads", SELECT_THREADS.format(2)),
    Family("Select from 4 channels, threads", "select-threads", {"channels": 4}, "threads", SELECT_THREADS.format(4)),
    Family("Latency, tasks on two loops", "latency-tasks", {}, "pause_us", LATENCY),
    Family("Latency, threads", "latency-threads", {}, "pause_us", LATENCY),
    Family("Latency, a pool of two threads", "latency-pool", {}, "pause_us", POOL_LATENCY),
    Family("Memory", "memory-tasks", {}, "tasks",
           "Tasks wait in one exchanger or channel. Growth of resident memory for each task, in bytes, coroutine frames and "
           "stacks included.", "bytes"),
]
# An adapter is also compared with the channel of its platform, for the same coroutines or fibers.
PLATFORMS = {"Asio": ("tryst on Asio", "asio::"), "Boost.Fiber": ("tryst on Boost.Fiber", "boost::fibers::")}
# Variants of tryst on Asio, each compared with the same variant of Asio's channel. The names of both end like this.
VARIANTS = ("any_io_executor", "locking context")
HEADS = {"tasks": "tasks", "threads": "threads", "channels": "channels", "pause_us": "pause, us"}


def figures_of(found: list[Entry | None], key: str = "", form=figure) -> list[str]:
    """Returns the cells of one row: values, or another figure of the same runs."""
    values = [None if entry is None else entry.run.get(key) if key else entry.value for entry in found]
    return ["" if value is None else form(value) + entry.mark for value, entry in zip(values, found)]


def duel_row(title: str, duels: list[Duel | None]) -> list[str]:
    row = []
    for duel in duels:
        text = ratio(duel.ratio) if duel else ""
        if duel and duel.lost:
            text = f"**{text} {LOST}**"
        row.append(text + (MARKS.get(duel.verdict, "") if duel else ""))
    return [f"**{title}**", *row]


def extra_table(results: Results, family: Family, works: list[Work], key: str) -> str:
    """Returns the same table for another figure; empty if no run has that figure."""
    form = figure if key == "p99" else "{:.3f}".format
    rows = []
    for label in results.labels(works):
        cells = figures_of([results.find(each, label) for each in works], key, form)
        if any(cells):
            rows.append([label, *cells])
    heads = {"fairness": "fairness", "success": "success", "lost": "lost", "p99": "99th percentile, ns"}
    return table([heads[key], *(family.heading(each) for each in works)], rows) if rows else ""


def family_section(results: Results, family: Family) -> str:
    works = family.works(results)
    if not works:
        return ""
    rows = []
    for label in results.labels(works):
        found = [results.find(each, label) for each in works]
        name = f"**{label}**" if any(entry and entry.ours for entry in found) else label
        rows.append([name, *figures_of(found)])
    rows.append(duel_row("best rival / best of tryst", [results.duel(each) for each in works]))
    for platform, names in PLATFORMS.items():
        duels = [results.duel(each, *names) for each in works]
        if any(duels):
            rows.append(duel_row(f"{platform}'s own / tryst on {platform}", duels))
    for variant in VARIANTS:
        if any(duels := [results.duel(each, variant, variant) for each in works]):
            rows.append(duel_row(f"Asio's own / tryst on Asio, {variant}", duels))
    parts = [table([HEADS[family.column], *(family.heading(each) for each in works)], rows)]
    if family.workload == "timed-threads":
        parts.append(extra_table(results, family, works, "success"))
    if family.workload in ("swap-tasks", "handoff-tasks", "swap-pool", "select-tasks", "select-threads"):
        parts.append(extra_table(results, family, works, "fairness"))
    if family.workload == "select-tasks":
        parts.append(extra_table(results, family, works, "lost"))
    if family.workload.startswith("latency"):
        parts.append(extra_table(results, family, works, "p99"))
    return section(family.title, family.note, marked(results.data), *parts, level=3)


class Score:
    """The duels of one family."""

    def __init__(self, family: Family, duels: list[tuple[Work, Duel]]):
        self.family, self.duels = family, duels
        self.lost = [pair for pair in duels if pair[1].lost]
        self.mark = f" {MARK}" if any(entry.mark for _, duel in duels for entry in duel) else ""

    def row(self) -> list[str]:
        ratios = [duel.ratio for _, duel in self.duels]
        spread = ratio(min(ratios)) + (f" to {ratio(max(ratios))}" if len(ratios) > 1 else "")
        return [self.family.title, spread + self.mark, f"**{len(self.lost)} of {len(self.duels)}**" if self.lost else "none",
                *("; ".join(sorted({entry.label for entry in side})) for side in zip(*(duel for _, duel in self.duels)))]

    def losses(self) -> list[str]:
        return [f"- {self.family.title}, {self.at([(each, duel)])}{'' if duel.verdict == 'loses' else f', {duel.verdict}'}: "
                f"{', '.join(self.side(entry, duel.verdict) for entry in duel)} {self.family.unit}" for each, duel in self.lost]

    @staticmethod
    def side(entry: Entry, verdict: str) -> str:
        """Returns the median of one side, or the range of its samples if that says more."""
        spread = f"{figure(entry.least)} to {figure(entry.most)}" if verdict == "unsteady" else figure(entry.value)
        return f"{entry.label} {spread}{entry.mark}"

    def at(self, duels: list[tuple[Work, Duel]]) -> str:
        """Returns the sizes of works: numbers of tasks or threads, or the length of a pause."""
        sizes = [self.family.heading(each) for each, _ in duels]
        unit = "us of pause" if self.family.column == "pause_us" else self.family.column
        unit = unit.removesuffix("s") if sizes == ["1"] and unit in ("tasks", "threads") else unit
        return f"{' and '.join(filter(None, [', '.join(sizes[:-1]), sizes[-1]]))} {unit}"

    def in_words(self) -> list[str]:
        """Returns the work, the verdict, and the rivals that win, without figures."""
        by = {verdict: [pair for pair in self.duels if pair[1].verdict == verdict]
              for verdict in ("loses", "level", "unsteady", "wins")}
        parts = [verdict if len(found) == len(self.duels) else
                 "otherwise wins" if verdict == "wins" else f"{verdict} at {self.at(found)}"
                 for verdict, found in by.items() if found]
        return [self.family.title, ", ".join(parts), "; ".join(dict.fromkeys(duel.rival.label for _, duel in by["loses"]))]


def scores(results: Results, ours: str = "", rival: str = "") -> list[Score]:
    found = (Score(family, [(each, duel) for each in family.works(results) if (duel := results.duel(each, ours, rival))])
             for family in FAMILIES)
    return [score for score in found if score.duels]


def verdict(found: list[Score], head: str) -> str:
    text = table([head, "rival / tryst", "lost", "tryst", "rival"], [score.row() for score in found])
    losses = [line for score in found for line in score.losses()]
    count = sum(len(score.duels) for score in found)
    if losses:
        return text + f"\nWhere a rival is better, {len(losses)} of {count}:\n\n" + "\n".join(losses) + "\n"
    return text + f"\nNo rival is better in any of the {count} comparisons.\n"


def summary(results: Results) -> str:
    """Returns tables of wins and losses, and a list of all losses."""
    parts = [verdict(scores(results), "best rival against best of tryst")]
    for platform, names in PLATFORMS.items():
        if found := scores(results, *names):
            parts.append(verdict(found, f"{platform}'s own against tryst on {platform}"))
    return "\n".join(parts)


def asios_own_is_better(results: Results) -> bool:
    """Returns whether Asio's channel wins one way on one context, at one size at least, and in memory."""
    found = {score.family.title: score for score in scores(results, *PLATFORMS["Asio"])}
    return all(title in found and found[title].lost for title in ("One way, one loop", "Memory"))


def words(results: Results) -> str:
    """Returns a table of wins and losses without figures for each comparison, for the front page."""
    comparisons: dict[str, tuple[str, ...]] = {"The best of tryst against the best rival": (), **{
        f"tryst on {platform} against {platform}'s own channel": names for platform, names in PLATFORMS.items()}}
    return "\n".join(f"### {head}\n\n" + table(["work", "tryst", "the rival that wins"],
                                               [score.in_words() for score in found], words=True)
                     for head, names in comparisons.items() if (found := scores(results, *names)))


def sections(results: Results) -> list[str]:
    return [text for family in FAMILIES if (text := family_section(results, family))]

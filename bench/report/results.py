# SPDX-License-Identifier: MIT
"""The contents of rivals.json by work: which implementation is best, by how much, and within which noise."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evidence import MARK, ONE_SAMPLE, UNCOMMITTED, Json, samples

FOLDER = Path(__file__).resolve().parents[1] / "results"
LANGUAGES = {"cpp": "", "java": "Java "}
# The medians of level sides differ by at most the first factor, and the samples of each side by at most the second. For half
# of all figures the samples differ by less than the first, for three quarters by less than 1.5.
LEVEL, STEADY = 1.15, 2
FILES = ("rivals.json", "micro.json", "floor.json", "scale.json", "redis.json")


def load() -> dict[str, Json | None]:
    """Returns each file of results by its name; None for a missing file."""
    return {name: json.loads(path.read_text(encoding="utf-8")) if (path := FOLDER / name).exists() else None
            for name in FILES}


@dataclass(frozen=True)
class Work:
    """A workload with all its parameters."""

    workload: str
    parameters: tuple[tuple[str, int], ...]

    def __getitem__(self, name: str) -> int:
        return dict(self.parameters)[name]


def work(workload: str, **parameters: int) -> Work:
    return Work(workload, tuple(sorted(parameters.items())))


@dataclass
class Entry:
    """The figures of one implementation at one work."""

    label: str
    language: str
    ours: bool
    value: float # ns or bytes; lower is better
    least: float
    most: float
    run: Json = field(repr=False, default_factory=dict)
    mark: str = "" # follows a figure from one sample


def entry(data: Json, run: Json) -> Entry:
    """The value is the median of samples; a sample is the median of latencies, or the mean of anything else."""
    mark = f" {MARK}" if samples(data, run) < 2 else ""
    label = LANGUAGES.get(run["language"], run["language"] + " ") + run["implementation"]
    ours = run["language"] == "cpp" and run["implementation"].split()[0] == "tryst"
    if run["workload"].startswith("latency"):
        return Entry(label, run["language"], ours, run["p50"], run["p50"], run["p50"], run, mark)
    return Entry(label, run["language"], ours, run["median"], run["min"], run["max"], run, mark)


class Duel(NamedTuple):
    """The best of tryst against the best rival."""

    ours: Entry
    rival: Entry

    @property
    def ratio(self) -> float:
        """Returns how many times faster, or smaller, tryst is."""
        return self.rival.value / self.ours.value

    @property
    def lost(self) -> bool:
        return self.ratio < 1

    @property
    def verdict(self) -> str:
        """Samples that overlap are level if their medians are near each other and no side's samples are far apart."""
        if self.ours.least > self.rival.most or self.rival.least > self.ours.most:
            return "loses" if self.lost else "wins"
        near = 1 / LEVEL <= self.ratio <= LEVEL
        return "level" if near and all(side.most <= STEADY * side.least for side in self) else "unsteady"


class Results:
    """Every run of rivals.json by its work."""

    def __init__(self, data: Json):
        self.data = data
        self.meta: Json = data["meta"]
        self.works: dict[Work, list[Entry]] = {}
        for run in data["runs"]:
            self.works.setdefault(work(run["workload"], **run["parameters"]), []).append(entry(data, run))

    def select(self, workload: str, **fixed: int) -> list[Work]:
        return [each for each in self.works if each.workload == workload
                and fixed.items() <= dict(each.parameters).items()]

    def entries(self, which: Work) -> list[Entry]:
        return self.works.get(which, [])

    def find(self, which: Work, label: str) -> Entry | None:
        return next((each for each in self.entries(which) if each.label == label), None)

    def best(self, which: Work, ours: bool, named: str = "") -> Entry | None:
        return min((each for each in self.entries(which) if each.ours == ours and named in each.label),
                   key=lambda each: each.value, default=None)

    def duel(self, which: Work, ours_named: str = "", rival_named: str = "") -> Duel | None:
        ours, rival = self.best(which, True, ours_named), self.best(which, False, rival_named)
        return Duel(ours, rival) if ours and rival else None

    def labels(self, works: list[Work]) -> list[str]:
        """Returns all implementations that did one of these works: first tryst's, then rivals, each from fast to slow."""
        ranks: dict[str, list[float]] = {}
        ours: dict[str, bool] = {}
        for each in works:
            best = min(entry.value for entry in self.works[each])
            for entry in self.works[each]:
                ranks.setdefault(entry.label, []).append(entry.value / best)
                ours[entry.label] = entry.ours
        return sorted(ranks, key=lambda label: (not ours[label], sum(ranks[label]) / len(ranks[label])))


def hop(meta: Json) -> str:
    """Returns the line hops of the rounds, if known. They show how near to each other the two processors were."""
    hops = meta.get("line_hop") or []
    if not hops:
        return ""
    least, most = min(hops), max(hops)
    return f"line hop {least:.0f} ns" if most - least < 2 else f"line hop {least:.0f} to {most:.0f} ns"


def commit(meta: Json) -> str:
    name = meta.get("commit")
    return "unknown" if not name else f"{name[:-1]} with {UNCOMMITTED}" if name.endswith("+") else name


def caption(meta: Json) -> str:
    compiler = meta.get("compilers", {}).get("g++", "")
    parts = [f"commit {commit(meta)}", f"{meta['cpu']}, {meta['processors']} processors", compiler or "g++", meta["date"],
             hop(meta), ONE_SAMPLE if meta.get("repetitions") == 1 else ""]
    return " · ".join(filter(None, parts))

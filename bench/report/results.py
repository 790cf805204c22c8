# SPDX-License-Identifier: MIT
"""What rivals.json says, arranged by work, and what follows from it: who is best, by how much, within which noise."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parents[1] / "results"
LANGUAGES = {"cpp": "", "java": "Java ", "go": "Go ", "rust": "Rust "}

Json = dict[str, Any]


def load(name: str) -> Json | None:
    """A file of results, if it has been made."""
    path = FOLDER / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


@dataclass(frozen=True)
class Work:
    """What is done: a workload with all its parameters."""

    workload: str
    parameters: tuple[tuple[str, int], ...]

    def __getitem__(self, name: str) -> int:
        return dict(self.parameters)[name]


def work(workload: str, **parameters: int) -> Work:
    return Work(workload, tuple(sorted(parameters.items())))


@dataclass
class Entry:
    """How one implementation has done one work."""

    label: str
    language: str
    ours: bool
    value: float # ns, or bytes; the less the better
    least: float
    most: float
    run: Json = field(repr=False, default_factory=dict)


def entry(run: Json) -> Entry:
    """Of a latency the median counts, of anything else the mean of a sample; then of the samples the median."""
    label = LANGUAGES.get(run["language"], run["language"] + " ") + run["implementation"]
    ours = run["language"] == "cpp" and run["implementation"].split()[0] == "tryst"
    if run["workload"].startswith("latency"):
        return Entry(label, run["language"], ours, run["p50"], run["p50"], run["p50"], run)
    return Entry(label, run["language"], ours, run["median"], run["min"], run["max"], run)


class Duel(NamedTuple):
    """The best of ours against the best rival."""

    ours: Entry
    rival: Entry

    @property
    def ratio(self) -> float:
        """How many times faster, or smaller, we are."""
        return self.rival.value / self.ours.value

    @property
    def lost(self) -> bool:
        return self.ratio < 1

    @property
    def close(self) -> bool:
        """Within the noise: some samples of the slower are better than some of the faster."""
        return self.ours.least <= self.rival.most and self.rival.least <= self.ours.most


class Results:
    """Every run of rivals.json by its work."""

    def __init__(self, data: Json):
        self.meta: Json = data["meta"]
        self.works: dict[Work, list[Entry]] = {}
        for run in data["runs"]:
            self.works.setdefault(work(run["workload"], **run["parameters"]), []).append(entry(run))

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
        """Of all that did one of these: ours, then rivals, each from fast to slow by their rank."""
        ranks: dict[str, list[float]] = {}
        ours: dict[str, bool] = {}
        for each in works:
            best = min(entry.value for entry in self.works[each])
            for entry in self.works[each]:
                ranks.setdefault(entry.label, []).append(entry.value / best)
                ours[entry.label] = entry.ours
        return sorted(ranks, key=lambda label: (not ours[label], sum(ranks[label]) / len(ranks[label])))


def hop(meta: Json) -> str:
    """The line hops of the rounds, which say how near the processors were."""
    hops = meta.get("line_hop") or []
    if not hops:
        return "line hop unknown"
    least, most = min(hops), max(hops)
    return f"line hop {least:.0f} ns" if most - least < 2 else f"line hop {least:.0f} to {most:.0f} ns"


def caption(meta: Json) -> str:
    compiler = meta.get("compilers", {}).get("g++", "")
    return " · ".join([f"commit {meta['commit']}", f"{meta['cpu']}, {meta['processors']} processors", compiler or "g++",
                       meta["date"], hop(meta)])

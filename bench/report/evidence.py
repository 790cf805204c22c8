# SPDX-License-Identifier: MIT
"""Decides which figures may be on the front page: medians of several samples, measured with committed sources. All others are
only in the appendix, marked with their faults."""

from typing import Any

Json = dict[str, Any]

ONE_SAMPLE, UNCOMMITTED, UNKNOWN = "one sample", "uncommitted changes", "commit unknown"
MARK = "¹" # marks a figure from one sample in the appendix
ONCE = "channel_timeouts" # of micro.json; takes one sample, which older files do not record


def source_faults(data: Json) -> list[str]:
    commit = data["meta"].get("commit")
    return [UNKNOWN] if not commit else [UNCOMMITTED] if commit.endswith("+") else []


def samples(data: Json, run: Json | None = None, name: str = "") -> int:
    """Returns the number of samples of a run, or else of each run by the file's metadata; 1 if neither has it."""
    if run is not None and "samples" in run:
        return run["samples"] if isinstance(run["samples"], int) else len(run["samples"])
    if name.startswith(ONCE):
        return 1
    meta = data["meta"]
    return meta.get("repetitions") or meta.get("samples") or data.get("rounds") or 1


def faults(data: Json, run: Json | None = None, name: str = "") -> list[str]:
    """Returns the reasons why a figure may not be on the front page; empty if it may."""
    return source_faults(data) + ([ONE_SAMPLE] if samples(data, run, name) < 2 else [])


def fewest_samples(data: Json) -> int:
    return min((samples(data, run) for run in data["runs"]), default=1) if "runs" in data else samples(data)


def all_faults(data: Json) -> list[str]:
    """Returns the faults of all figures in a file of results."""
    found = [faults(data, run) for run in data["runs"]] if "runs" in data else [faults(data)]
    return list(dict.fromkeys(fault for each in found for fault in each))


def headline(data: Json | None) -> Json | None:
    """Returns the part of a file of results that the front page may show; None if there is none."""
    if data is None:
        return None
    if "runs" in data:
        runs = [run for run in data["runs"] if not faults(data, run)]
        return {**data, "runs": runs} if runs else None
    if "medians" in data:
        medians = {name: each for name, each in data["medians"].items() if not faults(data, each, name)}
        return {**data, "medians": medians} if medians else None
    return None if faults(data) else data


def marked(*files: Json | None) -> str:
    """Returns the line that marks a section of the appendix; empty if its figures have no fault."""
    found = dict.fromkeys(fault for data in files if data for fault in all_faults(data))
    return f"*Not on the front page: {', '.join(found)}.*\n" if found else ""

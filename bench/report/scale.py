# SPDX-License-Identifier: MIT
"""The section about more processors than there are, from scale.json: a simulation."""

from markdown import figure, picture, section, table
from results import Json

KINDS = {"loops": "{} coroutines on each of as many loops", "threads": "as many threads"}
RIVALS = ("mutex", "ticket")


def curves(data: Json, kind: str) -> list[Json]:
    return [curve for curve in data["curves"] if curve["kind"] == kind]


def title(data: Json, kind: str) -> str:
    return KINDS[kind].format(data["meta"]["coroutines"])


def throughputs(found: list[Json]) -> str:
    places = sorted({point["p"] for curve in found for point in curve["points"]})
    rows = []
    for curve in found:
        by_place = {point["p"]: point["throughput"] for point in curve["points"]}
        rows.append([curve["design"], *(figure(by_place.get(place)) for place in places)])
    return table(["simulated: exchanges per us", *(f"{place:,}" for place in places)], rows)


def sections(data: Json) -> list[str]:
    note = ("**A simulation, not a measurement**: the library's own headers on a simulated machine, in which each atomic "
            "access costs what the probe has measured for a cache line on this one, and a line serves one processor at a "
            "time. `mutex` is an exchanger with a lock, `ticket` a bare fetch-and-add on one word, which no design with one hot "
            f"word can beat. Costs from {data['parameters']['source']}.")
    parts = [picture("scale", "SIMULATION: exchanges per microsecond against processors")]
    for kind in KINDS:
        if found := curves(data, kind):
            parts += [f"Processors with {title(data, kind)}:\n", throughputs(found)]
    if data.get("check"):
        parts += ["Where the machine has as many processors, the simulation beside what was measured:\n",
                  table(["", "processors", "simulated, ns", "measured, ns", "ratio"],
                        [[f"{each['kind']}, {each['design']}", str(each["p"]), figure(each["simulated_ns"]),
                          figure(each["measured_ns"]), f"{each['simulated_ns'] / each['measured_ns']:.2f}x"]
                         for each in data["check"]])]
    return [section("Simulated: more processors", note, *parts)]

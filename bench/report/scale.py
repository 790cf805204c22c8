# SPDX-License-Identifier: MIT
"""The section about more processors than the machine has, from scale.json, the results of a simulation."""

from evidence import marked
from markdown import figure, section, table
from results import Json

KINDS = {"loops": "one loop on each processor, {} coroutines on each loop", "threads": "one thread on each processor"}
RIVALS = ("mutex", "ticket")


def curves(data: Json, kind: str) -> list[Json]:
    return [curve for curve in data["curves"] if curve["kind"] == kind]


def title(data: Json, kind: str) -> str:
    return KINDS[kind].format(data["meta"]["coroutines"])


def throughputs(found: list[Json]) -> str:
    """Returns a table with a row for each curve."""
    places = sorted({point["p"] for curve in found for point in curve["points"]})
    rows = []
    for curve in found:
        by_place = {point["p"]: point["throughput"] for point in curve["points"]}
        rows.append([curve["design"], *(figure(by_place.get(place)) for place in places)])
    return table(["simulated: swaps per us", *(f"{place:,}" for place in places)], rows)


def throughput(data: Json, design: str) -> dict[int, float]:
    """Returns the throughput of coroutines on loops by the number of processors."""
    return {point["p"]: point["throughput"] for curve in curves(data, "loops") if curve["design"] == design
            for point in curve["points"]}


def arena_scales(data: Json) -> bool:
    """Returns whether each doubling of loops makes an exchanger faster."""
    values = [value for _, value in sorted(throughput(data, "arena").items())]
    return len(values) > 1 and all(more > 1.2 * less for less, more in zip(values, values[1:]))


MANY = 8 # loops
NEAR = 1.5 # times as long or as short as measured


def doubtful(data: Json) -> list[str]:
    """Returns the kinds and designs whose simulated times are far from the measured ones."""
    far = [f"{each['kind']}, {each['design']}" for each in data["check"]
           if not 1 / NEAR <= each["simulated_ns"] / each["measured_ns"] <= NEAR]
    return list(dict.fromkeys(far))


def lifo_scales(data: Json) -> bool:
    """Returns whether many loops with two colours serve several times as many parties on a stack as in strict order."""
    fifo, mutex = throughput(data, "fifo"), throughput(data, "mutex")
    found = [value > 4 * fifo[cores] and value > mutex[cores] for cores, value in throughput(data, "lifo").items()
             if cores >= MANY]
    return bool(found) and all(found)


def fifo_stays_level(data: Json) -> bool:
    """Returns whether the throughput of strict order does not fall with more loops, nor below that of a mutex."""
    fifo, mutex = throughput(data, "fifo"), throughput(data, "mutex")
    found = [value > 0.8 * fifo[MANY] and value > mutex[cores] for cores, value in fifo.items() if cores >= MANY]
    return bool(found) and all(found)


def sections(data: Json) -> list[str]:
    note = ("**This is a simulation, not a measurement.** The library's own headers run on a simulated machine. Each atomic "
            "access costs what an access to its cache line costs on the real machine, and a line serves one processor at a "
            "time. The other instructions of an exchange cost what is left of a real exchange on one processor, so the rows of "
            "one processor agree by construction. "
            "`one slot` and `arena` are an `exchanger` with one slot and with an arena; `fifo` and `lifo` are a "
            "`red_blue_exchanger` of each order; `mutex` is an exchanger under a lock; `ticket` is a bare fetch-and-add on "
            "one word, which bounds every design in which all parties update one word. Swaps per microsecond: more is "
            f"better. One run with seed {data['meta']['seed']}. Costs: {data['parameters']['source']}.")
    parts = [marked(data)]
    for kind in KINDS:
        if found := curves(data, kind):
            parts += [f"Simulated, {title(data, kind)}; columns are processors:\n", throughputs(found)]
    if several := data.get("sockets"):
        for kind in KINDS:
            if found := curves(several, kind):
                parts += [f"Simulated, {title(data, kind)}, on {several['count']} sockets of equal size; a line that moves "
                          f"between sockets takes {data['parameters']['far_percent'] / 100:g} times as long:\n",
                          throughputs(found)]
    if data.get("check"):
        parts += ["The simulation compared with measurements, for as many processors as the machine has:\n",
                  table(["", "processors", "simulated, ns", "measured, ns", "ratio"],
                        [[f"{each['kind']}, {each['design']}", str(each["p"]), figure(each["simulated_ns"]),
                          figure(each["measured_ns"]), f"{each['simulated_ns'] / each['measured_ns']:.2f}x"]
                         for each in data["check"]])]
        if names := doubtful(data):
            parts.append(f"Do not trust the simulation of: {'; '.join(names)}. It is off by more than {NEAR}x there, mostly "
                         "because a real processor fetches several lines at once.\n")
    return [section("Simulated: more processors", note, *parts)]

# SPDX-License-Identifier: MIT
"""The figures of docs/remote.md, from redis.json."""

import statistics

from evidence import marked
from markdown import figure, ratio, table, wrapped
from results import Json

BEGIN = "<!-- Made by bench/report from bench/results/redis.json: -->\n"
END = "<!-- Until here. -->\n"
# The aims: at least this throughput, by the number of rooms; and at most this cost, latency, and time within the process.
THROUGHPUT = {1: 0.5, 16: 0.8, 200: 0.8}
REDIS, LATENCY, LOCAL = 2, 1.5, 1.5


def compared(found: Json, aim: float, least: bool = False) -> list[str]:
    """Returns both medians, and the median of the ratios of the rounds."""
    middle = statistics.median(found["ratios"])
    missed = middle < aim if least else middle > aim
    return [figure(found["tryst"]), figure(found["rival"]), f"**{ratio(middle)} ▼**" if missed else ratio(middle)]


def rounds(found: Json) -> str:
    return f"{ratio(min(found['ratios']))} to {ratio(max(found['ratios']))}"


def figures(data: Json) -> str:
    meta = data["meta"]
    throughput, costs, times = [], [], []
    for each in data["cases"]:
        count = str(each["count"])
        if each["what"] == "remote exchanger":
            times.append([f"a pair within the process, {count} tasks, ns", *compared(each["pair_ns"], LOCAL), rounds(each["pair_ns"])])
        elif each["what"].endswith(("channel", "one write")):
            pairs = each["per_second"]
            count += ", one write" if each["what"].endswith("one write") else ""
            throughput.append([count, *compared(pairs, THROUGHPUT[each["count"]], True), rounds(pairs)])
            costs.append([count, *compared(each["redis_us"], REDIS), figure(each["client_us"]["tryst"]), figure(each["client_us"]["rival"])])
        else:
            times.insert(0, ["latency through Redis, us", *compared(each["latency_us"], LATENCY), rounds(each["latency_us"])])
    note = (f"Redis {meta['redis']}, commit {meta['commit']}, {meta['cpu']} with {meta['processors']} processors, medians of "
            f"{meta['repetitions']} rounds. The ratio is the median of the ratios of the rounds; a wide range shows that the machine "
            f"had other work. ▼ marks a missed aim: at least {THROUGHPUT[1]}x the throughput in one room and {THROUGHPUT[16]}x in "
            f"several; at most {REDIS}x the processor time in Redis, {LATENCY}x the latency, and {LOCAL}x the time within the process.")
    parts = [marked(data), table(["rooms", "tryst, pairs/s", "by hand, pairs/s", "ratio", "in single rounds"], throughput),
             "Processor time of a pair, in microseconds:\n",
             table(["rooms", "Redis, tryst", "Redis, by hand", "ratio", "clients, tryst", "clients, by hand"], costs),
             table(["", "tryst", "compared with", "ratio", "in single rounds"], times), wrapped(note)]
    return "\n".join(filter(None, parts))


def page(text: str, data: Json | None) -> str:
    """Returns the page with the present figures."""
    if not data:
        return text
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{figures(data)}\n{END}{after}"

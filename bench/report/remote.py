# SPDX-License-Identifier: MIT
"""The figures of docs/remote.md, from redis.json."""

from evidence import marked
from markdown import figure, ratio, table, wrapped
from results import Json

BEGIN = "<!-- Made by bench/report from bench/results/redis.json: -->\n"
END = "<!-- Until here. -->\n"
# At least, or at most, this ratio is the aim.
THROUGHPUT, LATENCY, LOCAL = 0.7, 1.5, 1.5


def judged(each: Json, missed: bool) -> list[str]:
    """Returns the median ratio, and the range of the rounds."""
    value = ratio(each["ratio"])
    return [f"**{value} ▼**" if missed else value, f"{ratio(min(each['ratios']))} to {ratio(max(each['ratios']))}"]


def figures(data: Json) -> str:
    meta = data["meta"]
    rows = [[str(each["rooms"]), figure(each["pairs_per_second"]), figure(each["redis_benchmark"]),
             *judged(each, each["ratio"] < THROUGHPUT)] for each in data["throughput"]]
    latency = data["latency"]
    times = [["a pair through Redis, us", figure(latency["pair_us"]), figure(latency["raw_us"]),
              *judged(latency, latency["ratio"] > LATENCY)]]
    times += [[f"a pair within the process, {each['tasks']} tasks, ns", figure(each["remote_ns"]), figure(each["plain_ns"]),
               *judged(each, each["ratio"] > LOCAL)] for each in data["local"]]
    note = (f"Redis {meta['redis']}, commit {meta['commit']}, {meta['cpu']} with {meta['processors']} processors, medians of "
            f"{meta['repetitions']} rounds. The ratio is the median of the ratios of the rounds; a wide range shows that the "
            f"machine had other work. ▼ marks a missed aim: at least {THROUGHPUT}x the throughput, at most {LATENCY}x the "
            f"latency, and at most {LOCAL}x the time within the process.")
    head = ["ratio", "in single rounds"]
    parts = [marked(data), table(["rooms in flight", "pairs/s", "redis-benchmark, call pairs/s", *head], rows),
             table(["", "remote", "compared with", *head], times), wrapped(note)]
    return "\n".join(filter(None, parts))


def page(text: str, data: Json | None) -> str:
    """Returns the page with the present figures."""
    if not data:
        return text
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{figures(data)}\n{END}{after}"

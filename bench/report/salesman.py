# SPDX-License-Identifier: MIT
"""The section about the travelling salesman, from salesman.json."""

from evidence import marked
from markdown import figure, picture, ratio, section, table
from results import Json, caption

FORMS = {"red-blue": "red-blue exchanger", "symmetric": "exchanger", "mutex": "mutex and condition variables"}


def by_form(data: Json) -> dict[str, dict[int, Json]]:
    found: dict[str, dict[int, Json]] = {form: {} for form in FORMS}
    for run in data["runs"]:
        found[run["exchange"]][run["threads"]] = run
    return found


def sections(data: Json) -> list[str]:
    forms, meta = by_form(data), data["meta"]
    threads = sorted({run["threads"] for run in data["runs"]})
    rows = [[f"**{FORMS[form]}**" if form != "mutex" else FORMS[form],
             *(figure(runs[n]["generations_per_second"]) if n in runs else "" for n in threads)]
            for form, runs in forms.items()]
    speeds = {n: {form: runs[n]["generations_per_second"] for form, runs in forms.items() if n in runs} for n in threads}
    rows.append(["best of tryst / mutex", *(
        ratio(max(each["red-blue"], each["symmetric"]) / each["mutex"]) if "mutex" in each else "" for each in speeds.values())])
    times = meta["repetitions"]
    note = (f"The second benchmark of the 2005 paper, [tsp](../examples/applications/tsp): a genetic algorithm whose breeders exchange "
            f"genes. It has {meta['cities']} cities, {meta['population']:,} chromosomes and {meta['breeders']} breeders, as in the "
            f"paper, and {meta['generations']:,} generations instead of the paper's 20,000. Generations per second: more is "
            f"better. The rival is the same program with plain threads, a mutex, and a condition variable for each waiting "
            f"thread; it needs at least two threads. " + (f"Medians of {times} runs, which take turns." if times > 1 else "One run each."))
    return [section("The travelling salesman", note, marked(data), caption(meta) + "\n",
                    picture("salesman", "The travelling salesman: time and generations per second against threads"),
                    table(["threads", *map(str, threads)], rows))]

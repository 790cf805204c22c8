# SPDX-License-Identifier: MIT
"""Makes docs/benchmarks.md and its plots of bench/results/*.json, and of nothing else: python3 bench/report"""

import argparse
from pathlib import Path

import floor
import micro
import rivals
import salesman
import scale
import whole_commands
from markdown import picture
from results import Results, caption, load

PAGE = Path(__file__).resolve().parents[2] / "docs/benchmarks.md"

INTRO = """# Benchmarks

This page is made of the results in [bench/results](../bench/results) by `./dev bench --report`; `./dev bench --all` first
takes all of them anew, on a quiet machine. Each sample checks that items were conserved: as many, and the same, came out as
went in. Time is of one completed exchange, two participants served, or of one item handed over.
"""

RIVALS = """## Against rivals

`./dev bench --rivals` makes these: tryst and its [rivals](../bench/rivals), each at its best settings, take turns, {seconds:g} s
after {warmup:g} s to warm up, three times as long with 100,000 tasks that meet, {repetitions} times or, of those that take
long, at least 3, after a round that does not count; a figure is the median. Ratios are the
best rival's figure by the best of tryst's: above 1 tryst is better; {lost} marks what it loses, {close} what is within the noise.
Two-loop and two-thread figures depend on how near the two processors are to each other, which virtual machines change at
will: compare them only with a similar line hop.

{caption}
"""


def packages(meta: dict) -> str:
    compilers = meta.get("compilers", {})
    versions = [*compilers.values(), *(f"{name} {version}" for name, version in meta.get("packages", {}).items()
                                       if name not in compilers)]
    return f"Versions: {', '.join(versions)}; {meta['kernel']}.\n"


def left_out(meta: dict) -> str:
    names = "; ".join(f"`{name}`" for name in meta.get("left_out", []))
    return f"Left out, because a run takes minutes: {names}.\n" if names else ""


def page() -> str:
    parts = [INTRO]
    results = None
    if data := load("rivals.json"):
        results = Results(data)
        parts += [RIVALS.format(**data["meta"], lost=rivals.LOST, close=rivals.CLOSE, caption=caption(data["meta"])),
                  rivals.summary(results), packages(data["meta"]), left_out(data["meta"]), *rivals.sections(results)]
    if data := load("salesman.json"):
        parts += salesman.sections(data)
    if data := load("floor.json"):
        parts += floor.sections(results, data)
        if results:
            parts.append(picture("floor", "Our figures as multiples of the machine's floor"))
    if data := load("scale.json"):
        parts += scale.sections(data)
    if data := load("micro.json"):
        intro = micro.INTRO.format(repetitions=data["meta"]["repetitions"], caption=caption(data["meta"]))
        parts.append("## Forms of tryst\n\n" + intro)
        parts += micro.sections(data)
    if data := load("files.json"):
        parts += whole_commands.sections(data)
    return "\n".join(filter(None, parts))


def draw() -> None:
    import plots # needs matplotlib, which the page does not

    results = Results(data) if (data := load("rivals.json")) else None
    if results:
        plots.of_rivals(results)
    if data := load("salesman.json"):
        plots.salesman(data)
    if results and (data := load("floor.json")):
        plots.floor(floor.multiples(results, data), results.meta)
    if (data := load("scale.json")) and (costs := load("floor.json")):
        plots.simulation(data, costs["meta"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev bench --report", description=__doc__)
    parser.add_argument("--no-plots", action="store_true", help="only the page")
    options = parser.parse_args()
    if not options.no_plots:
        draw()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

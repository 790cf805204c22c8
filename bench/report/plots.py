# SPDX-License-Identifier: MIT
"""Every plot of the pages."""

import math
import textwrap

import figures
import scale
from figures import Line
from markdown import figure as nanoseconds
from results import Entry, Json, Results, Work, caption, work
from rivals import VARIANTS


def lines(results: Results, works: list[Work], x: str, y=lambda entry: entry.value) -> list[Line]:
    found = []
    for label in results.labels(works):
        entries: list[tuple[float, Entry]] = [(each[x], entry) for each in works if (entry := results.find(each, label))]
        points = sorted((place, y(entry)) for place, entry in entries)
        found.append(Line(label, points, entries[0][1].ours, entries[0][1].language))
    return found


def limits(axes, drawn: list[Line], slack: float = 1.3) -> None:
    ys = [y for line in drawn for _, y in line.points]
    axes.set_ylim(min(ys) / slack, max(ys) * slack)


def beside(figure, drawn: list[Line], **margins) -> None:
    """Makes room for the labels of lines on the right."""
    figure.subplots_adjust(left=0.09, right=0.96 - figures.width_of(figure, [line.label for line in drawn], 11.5), **margins)


def tasks(results: Results, name: str, title: str, workload: str, loops: int) -> None:
    """Plots time against the number of tasks, without the variants for one loop, which are only in the tables."""
    works = results.select(workload, loops=loops)
    if not works:
        return
    drawn = [line for line in lines(results, works, "tasks") if not line.label.endswith(VARIANTS)]
    figure, (axes,) = figures.sheet(title, caption(results.meta), height=max(5.2, 1.8 + 0.3 * len(drawn)))
    beside(figure, drawn)
    figures.ticks_at(axes, sorted({each["tasks"] for each in works}))
    limits(axes, drawn)
    figures.log_axis(axes, "y", figures.nanoseconds)
    axes.set_xlabel("tasks" + (" on each loop" if loops == 2 else "") + ", log scale")
    one = "swap" if workload.startswith("swap") else "item handed over"
    axes.set_title(f"time of one {one}, log scale: lower is better", loc="left", fontsize=12, fontweight="normal")
    figures.draw(axes, drawn)
    figures.save(figure, name)


def threads(results: Results) -> None:
    """Plots the paper's figure 1."""
    works = sorted(results.select("timed-threads", patience_us=100), key=lambda each: each["threads"])
    if not works:
        return
    speed = lines(results, works, "threads", lambda entry: 1e9 / entry.value)
    success = lines(results, works, "threads", lambda entry: 100 * entry.run["success"])
    figure, (top, bottom) = figures.sheet("Threads that swap, each with a patience of 100 us", caption(results.meta), rows=2,
                                          height=9.5)
    beside(figure, speed, hspace=0.3)
    for axes in (top, bottom):
        figures.ticks_at(axes, sorted({each["threads"] for each in works}))
        axes.set_xlabel("threads, log scale")
    limits(top, speed)
    figures.log_axis(top, "y", lambda value: figures.plain(value))
    top.set_title("swaps per second, log scale: higher is better", loc="left", fontsize=12, fontweight="normal")
    bottom.set_ylim(min(0, *(y for line in success for _, y in line.points)), 105)
    bottom.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    bottom.set_title("attempts that succeed: higher is better", loc="left", fontsize=12, fontweight="normal")
    figures.draw(top, speed)
    figures.draw(bottom, success)
    figures.save(figure, "threads")


def span(axes, entries: list[Entry], y: int) -> None:
    """Draws a line from the median to the 99th percentile of each entry."""
    for each in entries:
        colour = figures.colour_of(each.label, each.ours, each.language)
        p50, p99 = each.run["p50"], each.run["p99"]
        axes.plot([p50, p99], [y, y], color=colour, linewidth=3 if each.ours else 1.8, alpha=0.5, zorder=3)
        axes.plot(p99, y, "|", color=colour, markersize=13, markeredgewidth=2.5, zorder=4)
        axes.plot(p50, y, "o", color=colour, markersize=11 if each.ours else 8, zorder=5)


def latency(results: Results) -> None:
    """Plots a row for each implementation, in two columns: awake and asleep."""
    pauses = {20: "awake, after 20 us: median (dot), p99", 2000: "asleep, after 2 ms: median (dot), p99"}
    found: dict[tuple[str, str], dict[int, Entry]] = {}
    for kind in ("tasks", "threads"):
        for pause in pauses:
            for each in results.entries(work(f"latency-{kind}", pause_us=pause)):
                found.setdefault((each.label, kind), {})[pause] = each
    if not found:
        return
    order = sorted(found, key=lambda key: -sum(math.log(each.value) for each in found[key].values()) / len(found[key]))
    figure, axes = figures.sheet("Latency: until the waiting party on the other processor runs", caption(results.meta), columns=2,
                                 height=2.1 + 0.34 * len(order))
    names = [textwrap.fill(f"{label}, {kind}", 36) for label, kind in order]
    figure.subplots_adjust(left=0.03 + figures.width_of(figure, names, 10.5), right=0.97, wspace=0.08)
    for place, (pause, title) in zip(axes, pauses.items()):
        here = [found[key][pause] for key in order if pause in found[key]]
        values = [each.run[key] for each in here for key in ("p50", "p99")]
        place.set_xlim(min(values) / 1.5, max(values) * 1.5)
        figures.log_axis(place, "x", figures.nanoseconds)
        for y, key in enumerate(order):
            span(place, [found[key][pause]] if pause in found[key] else [], y)
        place.set_ylim(-0.7, len(order) - 0.3)
        place.set_yticks(range(len(order)), [""] * len(order))
        place.grid(axis="y", linestyle=":")
        place.set_title(title, loc="left", fontsize=12, fontweight="normal")
        place.set_xlabel("log scale", fontsize=11)
    axes[0].set_yticklabels(names, fontsize=10.5)
    for text, key in zip(axes[0].get_yticklabels(), order):
        ours = any(each.ours for each in found[key].values())
        text.set(fontweight="bold" if ours else "normal", color=figures.INK if ours else "#555555")
    figures.save(figure, "latency")


def dots(axes, names: list[str], values: list[float], colours: list[str], texts: list[str]) -> None:
    """Draws one row per name, the first on top, with room for names on the left and texts on the right. Set the scale
    before. These are dots because bars have no meaning on a log scale."""
    figure = axes.figure
    figure.subplots_adjust(left=0.03 + figures.width_of(figure, names, 11.5),
                           right=0.96 - figures.width_of(figure, texts, 11.5))
    axes.hlines(range(len(names)), axes.get_xlim()[0], values, color=colours, linewidth=1.5, alpha=0.5, zorder=2)
    axes.scatter(values, range(len(names)), color=colours, s=110, zorder=3)
    axes.set_yticks(range(len(names)), names, fontsize=11.5)
    axes.set_ylim(len(names) - 0.3, -0.7)
    axes.grid(axis="y", visible=False)
    for y, (value, text) in enumerate(zip(values, texts)):
        axes.annotate(text, (value, y), xytext=(10, 0), textcoords="offset points", va="center", fontsize=11.5)


def memory(results: Results) -> None:
    for each in results.select("memory-tasks"):
        entries = sorted(results.entries(each), key=lambda entry: entry.value)
        figure, (axes,) = figures.sheet(f"Memory for each of {each['tasks']:,} waiting tasks", caption(results.meta),
                                        height=2 + 0.42 * len(entries))
        names = [entry.label for entry in entries]
        axes.set_xlim(min(entry.value for entry in entries) / 3, max(entry.value for entry in entries) * 1.2)
        figures.log_axis(axes, "x")
        dots(axes, names, [entry.value for entry in entries],
             [figures.colour_of(entry.label, entry.ours, entry.language) for entry in entries],
             [f"{entry.value:,.0f}" for entry in entries])
        for label, entry in zip(axes.get_yticklabels(), entries):
            label.set(fontweight="bold" if entry.ours else "normal")
        axes.set_title("bytes of resident memory, log scale: lower is better", loc="left", fontsize=12, fontweight="normal")
        figures.save(figure, "memory")


def floor(multiples, meta: Json) -> None:
    if not multiples:
        return
    figure, (axes,) = figures.sheet("tryst's times as multiples of the machine's floor", caption(meta),
                                    height=1.9 + 0.42 * len(multiples))
    most = max(each.ratio for each in multiples)
    axes.set_xlim(min(1, *(each.ratio for each in multiples)) * 0.9, most * 1.2)
    figures.log_axis(axes, "x", lambda value: f"{value:g}x")
    names = [each.bound.title for each in multiples]
    dots(axes, names, [each.ratio for each in multiples], [figures.OURS["tryst"]] * len(multiples),
         [f"{each.ratio:.1f}x  ({nanoseconds(each.ns)} / {nanoseconds(each.floor)} ns)" for each in multiples])
    axes.axvline(1, color=figures.INK, linewidth=1.5, zorder=4)
    figures.save(figure, "floor")


def simulation(data: Json, meta: Json) -> None:
    figure, axes = figures.sheet("SIMULATION, not measured: swaps against processors",
                                 "simulated; costs: " + caption(meta), columns=2, height=5.6)
    figure.subplots_adjust(left=0.07, right=0.86, wspace=0.5)
    for place, kind in zip(axes, scale.KINDS):
        drawn = [Line(curve["design"], [(point["p"], point["throughput"]) for point in curve["points"]],
                      curve["design"] not in scale.RIVALS) for curve in scale.curves(data, kind)]
        figures.ticks_at(place, sorted({x for line in drawn for x, _ in line.points}))
        limits(place, drawn)
        figures.log_axis(place, "y")
        place.set_xlabel("simulated processors, log scale")
        place.set_title(f"{scale.title(data, kind)}:\nswaps per us, log scale: higher is better", loc="left", fontsize=11,
                        fontweight="normal")
        figures.draw(place, drawn)
    figures.save(figure, "scale")


def of_rivals(results: Results) -> None:
    tasks(results, "swap_one_loop", "Swap, tasks on one loop", "swap-tasks", 1)
    tasks(results, "swap_two_loops", "Swap, tasks on two loops", "swap-tasks", 2)
    tasks(results, "handoff_one_loop", "One way, tasks on one loop", "handoff-tasks", 1)
    tasks(results, "handoff_two_loops", "One way, tasks on two loops", "handoff-tasks", 2)
    threads(results)
    latency(results)
    memory(results)

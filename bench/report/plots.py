# SPDX-License-Identifier: MIT
"""The plot of the pages: figure 1 of the paper."""

import figures
from figures import Line
from results import Entry, Results, Work, caption


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

# SPDX-License-Identifier: MIT
"""The style of all plots: tryst in strong colours, rivals in muted ones, a label at the end of each line."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from places import spread
from results import FOLDER

matplotlib.use("agg") # measures the texts of the SVG files

# Okabe and Ito's colours, which colour-blind readers can tell apart, for tryst; a paler one for each rival language.
OURS = {"tryst": "#0072B2", "tryst fifo": "#0072B2", "tryst lifo": "#D55E00", "tryst tasks on Asio": "#009E73",
        "tryst on Asio": "#CC79A7", "tryst on Asio, async_exchange": "#E69F00", "tryst on Boost.Fiber": "#56B4E9",
        "exchanger": "#D55E00", "red-blue exchanger": "#0072B2", "arena": "#0072B2", "one slot": "#56B4E9", "fifo": "#009E73",
        "lifo": "#D55E00"}
RIVALS = {"cpp": "#8C8C8C", "java": "#C9A66B"}
OTHER = "#8C8C8C"
MARKS = "osD^vPX*<>"
INK, PALE = "#222222", "#DDDDDD"

matplotlib.rcParams.update({
    "svg.hashsalt": "tryst", # makes drawings reproducible
    "svg.fonttype": "none", # keeps text as text: files are smaller and can be searched
    # Room is computed for DejaVu Sans. It is wide, so a fallback rarely needs more room.
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
    "font.size": 13, "axes.titlesize": 16, "axes.titleweight": "bold", "axes.labelsize": 13,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": INK, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "figure.facecolor": "white", "savefig.facecolor": "white",
    "axes.grid": True, "axes.axisbelow": True, "grid.color": PALE, "grid.linewidth": 0.8,
})


@dataclass
class Line:
    label: str
    points: list[tuple[float, float]]
    ours: bool = False
    language: str = "cpp"


def plain(value: float) -> str:
    for size, unit in ((1e6, " M"), (1e3, ",000")):
        if value >= size:
            if unit == ",000":
                return f"{value:,.0f}"
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def sheet(title: str, caption: str, columns: int = 1, rows: int = 1, height: float = 5.2) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(rows, columns, figsize=(11, height), squeeze=False)
    figure.subplots_adjust(top=1 - 0.85 / height, bottom=0.85 / height) # inches
    figure.suptitle(title, x=0.02, y=1 - 0.1 / height, ha="left", va="top", fontsize=17, fontweight="bold")
    figure.text(0.02, 0.08 / height, caption, fontsize=9, color="#666666", ha="left", va="bottom")
    return figure, list(axes.flat)


def log_axis(axes: Axes, name: str, form=plain) -> None:
    """Puts labels at 1, 10, 100, and also at 2 and 5 if the span is small."""
    least, most = getattr(axes, f"get_{name}lim")()
    getattr(axes, f"set_{name}scale")("log")
    axis = getattr(axes, f"{name}axis")
    steps = (1, 2, 5) if most / least < 150 else (1,)
    axis.set_major_locator(FixedLocator([step * 10.0**power for power in range(-3, 10) for step in steps]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))


def ticks_at(axes: Axes, values: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(values)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def colour_of(label: str, ours: bool, language: str = "cpp") -> str:
    return OURS.get(label, "#0072B2") if ours else RIVALS.get(language, OTHER)


def width_of(figure: Figure, labels: Sequence[str], size: float, weight: str = "bold") -> float:
    """Returns the width of the widest label as a share of the figure's."""
    texts = [figure.text(0, 0, label, fontsize=size, fontweight=weight) for label in labels]
    renderer = figure.canvas.get_renderer()
    widest = max(text.get_window_extent(renderer).width for text in texts)
    for text in texts:
        text.remove()
    return widest / figure.bbox.width


def draw(axes: Axes, lines: list[Line], size: float = 11.5) -> None:
    """Draws lines, rivals first, with labels at their right ends. An adapter's line is dashed. Set scales and limits before."""
    for number, line in sorted(enumerate(lines), key=lambda pair: pair[1].ours):
        adapter = line.ours and " on " in line.label
        axes.plot(*zip(*line.points), color=colour_of(line.label, line.ours, line.language), marker=MARKS[number % len(MARKS)],
                  linewidth=2.2 if adapter else 3.4 if line.ours else 1.6, linestyle="--" if adapter else "-",
                  markersize=8 if line.ours else 6, zorder=4 if line.ours else 3, clip_on=False)
    label_ends(axes, lines, size)


def label_ends(axes: Axes, lines: list[Line], size: float) -> None:
    axes.figure.canvas.draw()
    to_pixels = axes.transData.transform
    box = axes.get_window_extent()
    ordered = sorted(lines, key=lambda line: to_pixels(line.points[-1])[1])
    ends = [to_pixels(line.points[-1]) for line in ordered]
    gap = size * 1.28 * axes.figure.dpi / 72
    places = spread([end[1] for end in ends], gap, box.y0 - gap, box.y1 + gap)
    inverse = axes.transAxes.inverted().transform
    for line, end, place in zip(ordered, ends, places):
        colour = colour_of(line.label, line.ours, line.language)
        x, y = inverse((box.x1 + 26, place))
        x0, y0 = inverse((end[0] + 6, end[1]))
        axes.plot([x0, x - 0.008], [y0, y], transform=axes.transAxes, color=colour, linewidth=0.8, clip_on=False, zorder=2,
                  alpha=0.8)
        axes.text(x, y, line.label, transform=axes.transAxes, va="center", ha="left", fontsize=size,
                  color=colour if line.ours else "#555555", fontweight="bold" if line.ours else "normal")


def compact(svg: str) -> str:
    """Returns the drawing with coordinates rounded to tenths, one line for each path, and no groups of one element."""
    def attribute(quoted: re.Match[str]) -> str:
        return re.sub(r"(?<![\w#.])-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"),
                      " ".join(quoted[0].split()))

    svg = re.sub(r"<!DOCTYPE.*?>\n| <metadata>.*?</metadata>\n", "", svg, flags=re.DOTALL)
    svg = re.sub(r'"[^"]*"', attribute, svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", svg)
    svg = re.sub(r"^ +", "", svg, flags=re.MULTILINE)
    for _ in range(2):
        svg = re.sub(r'<g(?: id="[^"]*")?>\n(<(?:use|path|text) [^\n]*>)\n</g>', r"\1", svg)
    return svg.replace("'DejaVu Sans', sans-serif", "'DejaVu Sans', Verdana, sans-serif")


def save(figure: Figure, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    (FOLDER / f"{name}.svg").write_text(compact(drawn.getvalue()), encoding="utf-8")
    plt.close(figure)

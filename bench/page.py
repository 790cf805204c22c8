#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes bench/results.csv of new measurements, and of it the tables of bench/results/README.md, and the list of losses and the
plots of docs/benchmarks.md.

page.py [FILE...]   FILEs are the JSON of exchange_bench, or the table of `simulation --contention`. Each replaces
                    all rows of its kind, so that all figures come from one run
page.py --check     fails if a page differs from the results, or claims what they deny
"""

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
CSV = TOP / "bench/results.csv"
COLUMNS = ("work", "implementation", "size", "median", "least", "most", "fairness", "success", "p99", "cpu", "redis_us", "all_lines", "failed",
           "measured")
UNITS = {"pool": "tasks", "many channels": "channels", "line hop": "processors", "within one process": "tasks", "Redis": "rooms", "latency": "us of pause",
         "threads": "threads", "memory": "tasks, in bytes"}
LEVEL = 1.15  # medians that differ less, of samples that overlap, are level
COMPARED = (("", ""), ("on Asio", "Asio channel"), ("on Boost.Fiber", "Boost.Fiber channel"), ("any_io_executor", "any_io_executor"))
COUNTED = "counted: "
SIZES = (2, 8, 32, 128)  # of the counts in results.csv
Row = dict[str, str]
Rows = dict[tuple[str, str, int], Row]


def key(row: Row) -> tuple[str, str, int]:
    return row["work"], row["implementation"], int(row["size"])


def short(value: float) -> str:
    return f"{value:.4g}" if value < 10000 else f"{value:.0f}"


def is_counted(row: Row) -> bool:
    return row["work"].startswith(COUNTED)


def measured(found: dict) -> list[Row]:
    """Returns the rows of one run of exchange_bench. Refuses uncommitted sources and single samples."""
    context = found["context"]
    if not re.fullmatch("[0-9a-f]{7,}", context.get("commit", "")):
        sys.exit("page.py: measure committed sources: ./dev bench --rivals gives the commit")
    if any(each.get("error_occurred") or each["repetitions"] < 3 for each in found["benchmarks"]):
        sys.exit("page.py: measure at least three samples of each benchmark, without an error")
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    where = (f"commit {context['commit']}, {context['date'][:10]}, {cpu[1] if cpu else 'unknown processor'}, "
             f"{context['num_cpus']} processors, {context['compiler']}, {found['benchmarks'][0]['repetitions']} samples")
    rows: dict[str, Row] = {}
    for each in found["benchmarks"]:
        work, implementation, size = each["run_name"].split("/")[:3]
        row = rows.setdefault(each["run_name"], {"work": work, "implementation": implementation, "size": size, "measured": where})
        column = {"median": "median", "min": "least", "max": "most"}.get(each["aggregate_name"])
        if column:
            row[column] = short(each["real_time"])
        if column == "median":
            row.update({name: short(each[name]) for name in COLUMNS[6:11] if name in each})
    return [dict.fromkeys(COLUMNS, "") | row for row in rows.values()]


def counted(found: str) -> list[Row]:
    """Returns rows of a count, which is the same each time: of cache lines that move, and of compare-exchanges that fail."""
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True, check=True).stdout
    return [dict.fromkeys(COLUMNS, "") | {
             "work": COUNTED + each["kind"], "implementation": each["design"], "size": each["parties"], "median": each["hottest line"],
             "all_lines": each["all lines"], "failed": each["failed"], "measured": f"commit {commit.strip()}"}
            for each in csv.DictReader(found.splitlines()) if int(each["parties"]) in SIZES]


def load() -> Rows:
    with CSV.open(encoding="utf-8", newline="") as file:
        return {key(row): row for row in csv.DictReader(file)}


def save(rows: Rows) -> None:
    with CSV.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[each] for each in sorted(rows))


# ---- Figures, tables and comparisons

def value(rows: Rows, work: str, implementation: str, size: int, column: str = "median") -> float:
    return float(rows[work, implementation, size][column])


def figure(number: float) -> str:
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def ratio(number: float) -> str:
    return f"{number:.2f}x" if number < 2 else f"{number:.1f}x"


def table(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---", *["---:"] * (len(head) - 1)], *lines)) + "\n"


def unit(work: str, size: int) -> str:
    name = next((unit for word, unit in UNITS.items() if word in work), "tasks")
    return f"{size:,} {name.removesuffix('s') if size == 1 else name}"


def best(rows: Rows, work: str, size: int, ours: bool, word: str) -> Row | None:
    found = [row for (of, name, at), row in rows.items()
             if of == work and at == size and name.startswith("tryst") == ours and word in name]
    return min(found, key=lambda row: float(row["median"]), default=None)


def verdict(ours: Row, rival: Row) -> str:
    """Samples that overlap are level if their medians are near each other, and otherwise unsteady."""
    by = float(rival["median"]) / float(ours["median"])
    if all(row["least"] for row in (ours, rival)):
        apart = any(float(a["least"]) > float(b["most"]) for a, b in ((ours, rival), (rival, ours)))
        if not apart:
            return "level" if 1 / LEVEL <= by <= LEVEL else "unsteady"
    return "loses" if by < 1 else "wins"


def duels(rows: Rows, words: tuple[str, str]) -> list[tuple[str, int, Row, Row]]:
    """Returns the best of tryst and the best rival of each work, among the names with these words."""
    works = sorted({(work, size) for work, _, size in rows if not work.startswith(COUNTED)})
    found = [(work, size, best(rows, work, size, True, words[0]), best(rows, work, size, False, words[1])) for work, size in works]
    return [(work, size, ours, rival) for work, size, ours, rival in found if ours and rival]


def losses(rows: Rows) -> str:
    said = ""
    for words in COMPARED:
        found = duels(rows, words)
        lost: dict[str, list[str]] = {}
        for work, size, ours, rival in found:
            how = verdict(ours, rival)
            if how != "wins" and float(rival["median"]) < float(ours["median"]):
                lost.setdefault(f"**{work}** ({ours['implementation']} / {rival['implementation']})", []).append(
                    f"{unit(work, size)} {figure(float(ours['median']))} / {figure(float(rival['median']))}{'' if how == 'loses' else f' ({how})'}")
        title = f"tryst {words[0]} against {words[1]}" if words[0] else "The best of tryst against the best rival"
        cases = sum(map(len, lost.values()))
        said += f"{title.replace('tryst any_io', 'On any_io')}: a rival is better in {cases} of {len(found)} cases.\n\n"
        said += "".join(f"- {of}: {'; '.join(each)}\n" for of, each in lost.items()) + "\n" * bool(lost)
    return said


def comparisons(rows: Rows) -> str:
    by_work: dict[str, list[tuple[int, Row, Row]]] = {}
    for work, size, ours, rival in duels(rows, ("", "")):
        by_work.setdefault(work, []).append((size, ours, rival))
    lines = [[work, "; ".join(f"{unit(work, size)}: {figure(float(ours['median']))} / {figure(float(rival['median']))}"
                              for size, ours, rival in found),
              *("; ".join(sorted({each[side]["implementation"] for each in found})) for side in (1, 2))] for work, found in by_work.items()]
    return table(["work", "tryst / rival, ns", "best of tryst", "best rival"], lines)


def variants(rows: Rows) -> str:
    """Returns a table of the work that no rival does."""
    shared = {work for work, *_ in duels(rows, ("", ""))}
    found: dict[tuple[str, str], list[str]] = {}
    for (work, name, size), row in sorted(rows.items()):
        if work not in shared and not work.startswith(COUNTED):
            found.setdefault((work, name), []).append(f"{unit(work, size)}: {figure(float(row['median']))}")
    return table(["work", "ns"], [[f"{work.removeprefix('variant: ')}, {name}", "; ".join(all)] for (work, name), all in found.items()])


def contention(rows: Rows) -> str:
    lines = []
    for kind in ("loops", "threads"):
        works = COUNTED + kind
        for name in sorted({name for work, name, _ in rows if work == works}):
            lines.append([f"{kind}, {name}", *(f"{rows[works, name, size]['median']} / {rows[works, name, size]['all_lines']}" for size in SIZES)])
    return table(["hottest line / all lines", *map(str, SIZES)], lines)


def sources(rows: Rows) -> str:
    names: dict[str, set[str]] = {}
    for row in rows.values():
        names.setdefault(row["measured"], set()).add(row["work"])
    return "".join(f"- {where}: {len(works)} kinds of work\n" for where, works in sorted(names.items()))


def redis(rows: Rows) -> str:
    """Returns a table of exchanges through Redis: of each size, tryst and all that it is compared with."""
    lines = []
    for work in ("pair through Redis", "latency through Redis", "swap within one process, for Redis"):
        for (_, name, size), row in sorted((key, row) for key, row in rows.items() if key[0] == work and key[1] != "tryst"):
            ours = rows[work, "tryst", size]
            times = [f"{float(each['median']) / 1000:.3g}" for each in (ours, row)]
            lines.append([f"{work}, {unit(work, size)}, {name}", *times, ratio(float(times[0]) / float(times[1])),
                          ours["redis_us"], row["redis_us"]])
    return table(["us, tryst beside:", "tryst", "the other", "ratio", "Redis's processor, tryst", "the other"], lines)


def pool(rows: Rows) -> str:
    """Returns a table of a pool of workers."""
    work, sizes = "one way, a pool of two threads", (2, 200, 20000)
    return table(["tasks", *(f"{size:,}" for size in sizes)],
                 [[text, *(figure(value(rows, work, name, size)) for size in sizes)] for text, name in
                  (("`synchronous_channel<T>`", "tryst on Asio"),
                   ("`asio::experimental::concurrent_channel`, `try_send` and `try_receive` first", "Asio channel, try_ first"))])


# ---- Plots. They are readable without colour, and on a dark page.

def style(page: str, ink: str, soft: str, grid: str, *colours: str) -> str:
    return (f".page {{ fill: {page} }} text {{ fill: {ink} }} .soft {{ fill: {soft} }} .grid {{ stroke: {grid} }} .one {{ stroke: {ink} }}\n" +
            "".join(f".{name} .line, .{name} .mark {{ stroke: {colour} }} .{name} .full {{ fill: {colour} }}\n" for name, colour in zip("abc", colours)))


STYLE = ("<style>\n.line { stroke-width: 2.5 } .mark { stroke-width: 1.8 } .line, .mark { fill: none }\n" +
         style("#fff", "#222", "#555", "#ddd", "#b03a2e", "#0a58a8", "#6b7a1e") + "@media (prefers-color-scheme: dark) {\n" +
         style("#16181d", "#e6e6e6", "#b5b5b5", "#444", "#ff8a7a", "#79b8ff", "#c3d45f") + "}\n</style>")


def svg(width: int, height: int, title: str, parts: list[str]) -> str:
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                      'role="img" font-family="sans-serif" font-size="13">', "<!-- SPDX-License-Identifier: MIT -->",
                      f"<title>{title}</title>", STYLE, f'<rect class="page" width="{width}" height="{height}"/>', *parts, "</svg>", ""])


def text(x: float, y: float, said: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{more}>{said.replace("&", "&amp;")}</text>'


def mark(shape: str, x: float, y: float, colour: str, is_full: bool = True) -> str:
    """A mark whose shape says what its colour says, too."""
    kind = 'class="mark full"' if is_full else 'class="mark"'
    x, y = round(x, 1), round(y, 1)
    if shape == "circle":
        drawn = f'<circle {kind} cx="{x}" cy="{y}" r="4.5"/>'
    else:
        steps = {"square": "m-4.5-4.5h9v9h-9z", "triangle": "m-5 4.5h10l-5-9.5z", "cross": "m-5-5l10 10m0-10l-10 10"}[shape]
        drawn = f'<path {kind} d="M{x} {y}{steps}"/>'
    return f'<g class="{colour}">{drawn}</g>'


def figure_1(rows: Rows) -> str:
    """Draws the paper's figure 1: swaps per second and successes of threads with a patience, on a log scale of threads."""
    work = "swap, threads, patience of 100 us"
    names = sorted({name for of, name, _ in rows if of == work}, key=lambda name: (not name.startswith("tryst"), name))
    sizes = sorted({size for of, _, size in rows if of == work})
    speeds = {name: [1e9 / value(rows, work, name, size) for size in sizes] for name in names}
    low, high = (round(math.log10(edge(each for all in speeds.values() for each in all)) + way)
                 for edge, way in ((min, -0.5), (max, 0.5)))
    looks = list(zip(names, "abc", ("circle", "square", "triangle"), ("", ' stroke-dasharray="9 4"', ' stroke-dasharray="2 4"')))
    parts = []
    for left, title, low_y, high_y, marks in (
            (70, "swaps per second", low, high, [(power, f"10^{power}") for power in range(low, high + 1)]),
            (430, "attempts that succeed", 0, 1, [(0, "0 %"), (0.5, "50 %"), (1, "100 %")])):
        def y(at: float, low_y: float = low_y, high_y: float = high_y) -> float:
            return 300 - 240 * (at - low_y) / (high_y - low_y)
        parts.append(text(left, 40, title, more=' font-weight="bold"'))
        for at, said in marks:
            parts += [f'<path class="grid" d="M{left} {y(at):.0f}h240"/>', text(left - 8, y(at) + 4, said, "end")]
        parts += [text(left + 60 * i, 322, str(size), "middle") for i, size in enumerate(sizes)]
        parts.append(text(left + 120, 342, "threads", "middle", ' class="soft"'))
        for name, colour, shape, dashes in looks:
            values = [math.log10(speed) for speed in speeds[name]] if left < 400 else [
                value(rows, work, name, size, "success") for size in sizes]
            points = [(left + 60 * i, y(at)) for i, at in enumerate(values)]
            parts += [f'<g class="{colour}"><polyline class="line"{dashes} points="{" ".join(f"{x},{at:.1f}" for x, at in points)}"/></g>',
                      *(mark(shape, *point, colour) for point in points)]
    for i, (name, colour, shape, dashes) in enumerate(looks):
        x = 70 + 210 * i
        parts += [f'<g class="{colour}"><path class="line"{dashes} d="M{x} 374h40"/></g>', mark(shape, x + 20, 374, colour), text(x + 50, 378, name)]
    return svg(720, 400, "Swaps per second and the share of attempts that succeed, with 2 to 32 threads", parts)


SHAPES = {"wins": ("circle", "b", True), "level": ("circle", "b", False), "unsteady": ("circle", "b", False), "loses": ("cross", "a", False)}


def ratios(rows: Rows) -> str:
    """Draws for each work how many times as long the best rival takes as the best of tryst, at each size; the worst first."""
    by_work: dict[str, list[tuple[float, int, str]]] = {}
    rivals: dict[str, set[str]] = {}
    for work, size, ours, rival in duels(rows, ("", "")):
        by_work.setdefault(work, []).append((float(rival["median"]) / float(ours["median"]), size, verdict(ours, rival)))
        rivals.setdefault(work, set()).add(re.sub(r"(,| of \d| \().*", "", rival["implementation"]))
    order = sorted(by_work, key=lambda work: min(by_work[work]))
    all = [each for found in by_work.values() for each, _, _ in found]
    low, high = math.floor(2 * math.log10(min(all))) / 2, math.ceil(2 * math.log10(max(all))) / 2
    left, width, top, step = 330, 510, 92, 30
    bottom = top + step * len(order)

    def x(at: float) -> float:
        return left + width * (math.log10(at) - low) / (high - low)

    parts = [text(16, 28, "The best of tryst beside the best rival", more=' font-weight="bold" font-size="15"')]
    for at, how, said in ((22, "wins", "tryst is better"), (172, "level", "level or unsteady"), (334, "loses", "the rival is better")):
        shape, *look = SHAPES[how]
        parts += [mark(shape, at, 50, *look), text(at + 12, 54, said)]
    for half in range(round(2 * low), round(2 * high) + 1):
        at = (1, 3)[half % 2] * 10.0 ** (half // 2)
        parts += [f'<path class="{"grid" if half else "one"}" d="M{x(at):.0f} {top - 8}V{bottom}"/>', text(x(at), top - 14, f"{at:g}x", "middle")]
    parts += [text(x(1) + 12, bottom + 20, "tryst needs less \N{RIGHTWARDS ARROW}", more=' class="soft"'),
              text(x(1) - 12, bottom + 20, "\N{LEFTWARDS ARROW} the rival needs less", "end", ' class="soft"')]
    for i, work in enumerate(order):
        y = top + step * i + 8
        parts += [f'<path class="grid" d="M16 {y + 16}H{left + width}" stroke-width=".5"/>', text(16, y + 1, work),
                  text(16, y + 12, "against " + ", ".join(sorted(rivals[work])), more=' class="soft" font-size="10"')]
        for at, _, how in by_work[work]:
            shape, *look = SHAPES[how]
            parts.append(mark(shape, x(at), y, *look))
    return svg(left + width + 20, bottom + 36, "How many times as long as the best of tryst the best rival takes, for each kind of work", parts)


PLOTS = {"docs/figure_1.svg": figure_1, "docs/ratios.svg": ratios}
BLOCKS = {"docs/benchmarks.md": (losses,), "bench/results/README.md": (comparisons, pool, redis, variants, contention, sources)}


def pages(rows: Rows) -> dict[Path, str]:
    """Returns each page and plot with the figures of the results."""
    made = {TOP / name: plot(rows) for name, plot in PLOTS.items()}
    for name, blocks in BLOCKS.items():
        page = (TOP / name).read_text(encoding="utf-8")
        for block in blocks:
            begin, end = f"<!-- {block.__name__}: made by bench/page.py -->\n", f"<!-- end of {block.__name__} -->\n"
            before, rest = page.split(begin)
            page = f"{before}{begin}\n{block(rows).rstrip()}\n\n{end}{rest.split(end)[1]}"
        made[TOP / name] = page
    return made


# ---- Claims of README.md and of pages in docs/ without figures. If a result differs, change the pages.

def claims(rows: Rows) -> dict[str, bool]:
    def hottest(kind: str, design: str) -> list[float]:
        return [value(rows, COUNTED + kind, design, size) for size in SIZES]

    def cooler(design: str, kinds: tuple[str, ...] = ("loops", "threads")) -> bool:
        return all(a < b for kind in kinds for a, b in zip(hottest(kind, design)[1:], hottest(kind, "a mutex")[1:]))

    def at(work: str, name: str) -> list[float]:
        return [value(rows, work, name, size) for size in (16, 1000, 100000)]
    one, two = at("swap, one loop", "tryst"), at("swap, two loops", "tryst")
    slot = at("variant: one slot, two loops", "tryst")
    orders = at("one way, one loop", "tryst fifo"), at("one way, two loops", "tryst fifo"), at("one way, two loops", "tryst lifo")
    asio = duels(rows, COMPARED[1])

    def on_asio(work: str) -> list[str]:
        return [verdict(ours, rival) for of, size, ours, rival in asio if of == work and size <= 1000]

    return {
        "exchanger and lifo scale with the number of loops": all(a < 0.2 for design in ("arena", "lifo") for a in hottest("loops", design)),
        "from eight processors on, each line of fifo, lifo and exchanger moves less often than a mutex": all(map(cooler, ("fifo", "lifo", "arena"))),
        "fifo moves its cursors hardly more often than a bare counter": all(
            a < 1.2 * b for a, b in zip(hottest("loops", "fifo"), hottest("loops", "a fetch-and-add"))),
        "on two loops, an arena is faster than one loop, and than one slot": all(b < a and 3 * b < c for a, b, c in zip(one, two, slot)),
        "fifo is slower on two loops than on one, and than lifo there": all(a < b and c < b for a, b, c in zip(*orders)),
        "on one context, tryst's channels on Asio are faster one way than Asio's": all(
            set(on_asio(work)) == {"wins"} for work in ("one way, one loop", "buffered, one loop")),
        "on one context, a choice of two or four channels of one thread is not slower than of Asio's": all(
            "loses" not in on_asio(f"select from {n} channels, one loop") for n in (2, 4)),
        "a wait of an awaitable takes more memory than on Asio's channel, and one of a task less": all(
            a < b < c for a, b, c in [[value(rows, "memory", name, 100000) for name in (
                "tryst tasks on Asio", "Asio channel, try_ first", "tryst on Asio")]]),
    }


def replaced(rows: Rows, found: list[Row]) -> Rows:
    """Returns the rows with all of that kind replaced."""
    return {each: row for each, row in rows.items() if is_counted(row) != is_counted(found[0])} | {key(row): row for row in found}


def made_of(rows: Rows) -> tuple[list[str], dict[Path, str]]:
    """Returns what is wrong with the results, and the pages. Refuses results of a part of the work."""
    try:
        return [f"the results deny: {claim}" for claim, holds in claims(rows).items() if not holds], pages(rows)
    except KeyError as missing:
        sys.exit(f"page.py: measure everything in one run; this one lacks {missing}")


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    rows = load()
    for name in () if check else sys.argv[1:]:
        found = Path(name).read_text(encoding="utf-8")
        rows = replaced(rows, measured(json.loads(found)) if name.endswith(".json") else counted(found))
    wrong, made = made_of(rows)
    if not check:
        save(rows)
    for path, text in made.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(f"{path.name} differs from the results: run bench/page.py")
    if wrong:
        sys.exit("\n".join(f"page.py: {each}" for each in wrong))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes bench/results.csv of new measurements, and the blocks of figures in docs/ and docs/figure_1.svg of it.

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
    text = ""
    for words in COMPARED:
        found = duels(rows, words)
        lost = [(work, size, ours, rival, said) for work, size, ours, rival in found
                if (said := verdict(ours, rival)) != "wins" and float(rival["median"]) < float(ours["median"])]
        title = f"tryst {words[0]} against {words[1]}" if words[0] else "The best of tryst against the best rival"
        text += f"{title.replace('tryst any_io', 'On any_io')}: a rival is better in {len(lost)} of {len(found)} cases.\n\n"
        text += "".join(f"- {work}, {unit(work, size)}: {ours['implementation']} {figure(float(ours['median']))}, "
                        f"{rival['implementation']} {figure(float(rival['median']))}{'' if said == 'loses' else ', ' + said}\n"
                        for work, size, ours, rival, said in lost) + "\n" * bool(lost)
    return text


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
    """Returns the table of docs/remote.md: of each size, tryst and all that it is compared with."""
    lines = []
    for work in ("pair through Redis", "latency through Redis", "swap within one process, for Redis"):
        for (_, name, size), row in sorted((key, row) for key, row in rows.items() if key[0] == work and key[1] != "tryst"):
            ours = rows[work, "tryst", size]
            times = [f"{float(each['median']) / 1000:.3g}" for each in (ours, row)]
            lines.append([f"{work}, {unit(work, size)}, {name}", *times, ratio(float(times[0]) / float(times[1])),
                          ours["redis_us"], row["redis_us"]])
    return table(["us, tryst beside:", "tryst", "the other", "ratio", "Redis's processor, tryst", "the other"], lines)


def pool(rows: Rows) -> str:
    """Returns the table of docs/choosing.md."""
    work, sizes = "one way, a pool of two threads", (2, 200, 20000)
    return table(["tasks", *(f"{size:,}" for size in sizes)],
                 [[text, *(figure(value(rows, work, name, size)) for size in sizes)] for text, name in
                  (("`synchronous_channel<T>`", "tryst on Asio"),
                   ("`asio::experimental::concurrent_channel`, `try_send` and `try_receive` first", "Asio channel, try_ first"))])


def figure_1(rows: Rows) -> str:
    """Draws the paper's figure 1: swaps per second and successes of threads with a patience, on a log scale of threads."""
    work = "swap, threads, patience of 100 us"
    names = sorted({name for of, name, _ in rows if of == work}, key=lambda name: (not name.startswith("tryst"), name))
    sizes = sorted({size for of, _, size in rows if of == work})
    speeds = {name: [1e9 / value(rows, work, name, size) for size in sizes] for name in names}
    low, high = (round(math.log10(edge(each for all in speeds.values() for each in all)) + way)
                 for edge, way in ((min, -0.5), (max, 0.5)))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" font-family="sans-serif" font-size="13">',
             '<rect width="720" height="400" fill="white"/>']
    for left, title, low_y, high_y, marks in (
            (70, "swaps per second", low, high, [(power, f"10^{power}") for power in range(low, high + 1)]),
            (430, "attempts that succeed", 0, 1, [(0, "0 %"), (0.5, "50 %"), (1, "100 %")])):
        def y(at: float, low_y: float = low_y, high_y: float = high_y) -> float:
            return 300 - 240 * (at - low_y) / (high_y - low_y)
        parts.append(f'<text x="{left}" y="40" font-weight="bold">{title}</text>')
        for at, text in marks:
            parts.append(f'<path d="M{left} {y(at):.0f}h240" stroke="#ddd"/><text x="{left - 6}" y="{y(at) + 4:.0f}" '
                         f'text-anchor="end">{text}</text>')
        for i, size in enumerate(sizes):
            parts.append(f'<text x="{left + 60 * i}" y="322" text-anchor="middle">{size}</text>')
        for name, colour in zip(names, ("#c0392b", "#2471a3", "#7d8a2e")):
            values = [math.log10(speed) for speed in speeds[name]] if left < 400 else [
                value(rows, work, name, size, "success") for size in sizes]
            parts.append(f'<polyline points="{" ".join(f"{left + 60 * i},{y(at):.1f}" for i, at in enumerate(values))}" '
                         f'fill="none" stroke="{colour}" stroke-width="2.5"/>')
    parts += [f'<text x="{70 + 220 * i}" y="370" fill="{colour}">{name}</text>'
              for i, (name, colour) in enumerate(zip(names, ("#c0392b", "#2471a3", "#7d8a2e")))]
    return "\n".join([*parts, "</svg>", ""])


BLOCKS = {"benchmarks.md": (losses, comparisons, variants, contention, sources), "remote.md": (redis,), "choosing.md": (pool,)}


def pages(rows: Rows) -> dict[Path, str]:
    """Returns each page with the figures of the results."""
    made = {TOP / "docs/figure_1.svg": figure_1(rows)}
    for name, blocks in BLOCKS.items():
        text = (TOP / "docs" / name).read_text(encoding="utf-8")
        for block in blocks:
            begin, end = f"<!-- {block.__name__}: made by bench/page.py -->\n", f"<!-- end of {block.__name__} -->\n"
            before, rest = text.split(begin)
            text = f"{before}{begin}\n{block(rows).rstrip()}\n\n{end}{rest.split(end)[1]}"
        made[TOP / "docs" / name] = text
    return made


# ---- Claims of README.md, docs/choosing.md and docs/asio.md without figures. If a result differs, change the pages.

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

# SPDX-License-Identifier: MIT
"""The front page, docs/benchmarks.md: what to use, what is won and lost, and figures that evidence.py admits."""

import evidence
import micro
import rivals
import scale
from evidence import Json
from markdown import GENERATED, picture, table, wrapped
from results import LEVEL, Results, caption, commit

INTRO = """How fast is tryst, and when should you use something else? This page compares tryst with the channels of other
libraries. There are two kinds of work. In a *swap*, two parties meet and each leaves with the other's item.
*One way* means that a sender hands its item to a receiver."""

MACHINE = """A *task* is a coroutine or a fiber. A *loop* is a thread that runs tasks on a processor of its own. All
measurements come from one machine with {processors} processors. *Simulated* figures were not measured: there the library's
headers run on a simulated machine with more processors."""

EXCHANGER = ("**Swaps, with any number of loops: `exchanger`.** Each loop pairs its own tasks. The throughput of two loops is "
             "higher than that of one loop ([by how much](choosing.md#how-many-cores)), and several times that of two loops that "
             "share one slot. With more loops it grows further (simulated).")
CHANNEL = ("**One way, or two colours, on one or two loops: `synchronous_channel`, `red_blue_exchanger`.** Take "
           "`order::lifo` unless order matters: on two loops it is faster than `order::fifo` "
           "([the difference](choosing.md#two-colours)).")
COLOURS = ("**One way, or two colours, on more loops: `order::lifo`.** Each loop then pairs its own tasks, "
           "and throughput grows with the number of loops (simulated). It grows only if each loop has parties of both colours.")
FIFO = ("**In order of arrival on more loops: `order::fifo`, the default.** Strict order needs a counter that all loops share. "
        "So throughput does not grow with the number of loops; it does not fall either, and is higher than that of a mutex "
        "(simulated).")
ASIO = ("**One way on one `io_context`: Asio's own channel.** There it is somewhat faster than tryst's channel on Asio, "
        "and needs less memory ([more](asio.md#when-asios-own-channel-is-better)).")
NEAR = "**Two tasks that only meet each other: run both on one loop.** Across processors a swap takes several times as long."
WON = """The tables below compare the best figure of tryst with the best figure of its rivals, for each case in [all
figures](benchmarks-all.md#tryst-and-its-rivals). *Patience* is how long an attempt waits before it gives up. *Latency* is the
time from the arrival of one party until its partner, which waits on the other processor, runs. A *pause* is how long that
partner has waited by then. *Level* means that some sample of the slower side is better than some sample of the faster side, and
that their medians differ by {near}% at most. *Unsteady* means that samples overlap like this, but the medians, or the samples of
one side, are further apart: another run may have another winner."""
WAKE_UPS = """**Latency and wake-ups.** A party that sleeps on another processor must be woken by the kernel. A bare futex or
eventfd takes as long ([figures](slow.md#wake-ups))."""
OTHERS = """**Go and Rust** were measured once, at commit 37abdae, and beat tryst in these works. Latency across processors: Go's
channel took 6.3 us awake (tryst 14.3) and 3.5 us asleep (28), and 2.1 us on a pool of two threads (7.0), because Go usually runs
the receiver on the sender's thread; with goroutines locked to threads it was like the others. One task on each of two loops:
tokio took 76 ns for a swap (281), and flume 68 ns one way (186). 100,000 tasks on two loops, one way: tokio 52 ns (93). One way
among 16 threads: crossbeam 175 ns (1,066). Memory of a waiting task: flume 321 bytes (414)."""
WORDS_ONLY = "The results come from {faults}, so their figures are not repeated here."

TERMS = [
    ["figure", "The median of several samples, unless marked otherwise."],
    ["ns, us, ms; KiB", "10⁻⁹, 10⁻⁶ and 10⁻³ seconds; 1,024 bytes"],
    ["ratio, such as 1.5x", "The rival's figure divided by tryst's: above 1, tryst is better. ▼ marks a loss of tryst."],
    ["fairness", "The number of operations of the least served task, divided by that of the most served task (one way: among "
                 "receivers). 1 is equal; 0.000 means that some task was hardly served."],
    ["cancelled", "Ended by a request, such as a stop token's, before a partner came."],
    ["slot, arena", "Where parties of an `exchanger` meet: one word in memory, or several "
                    "([concepts](concepts.md#many-parties))."],
    ["line hop, or hop", "The time that a cache line takes from one processor to the other: half a round trip. It shows how "
                         "close the processors are. On a virtual machine this may change at any time, so compare figures of two "
                         "loops or two threads only at similar hops."],
    ["floor", "The cost of a step that no implementation can avoid on this machine, such as resuming a coroutine."],
]
RULE = """A figure is on this page only if it is the median of several samples and was measured with committed sources. The
program that makes this page enforces that. [All figures](benchmarks-all.md) also has the others, and marks them."""
SOURCES = {evidence.UNCOMMITTED: "sources with uncommitted changes", evidence.UNKNOWN: "an unknown commit",
           evidence.ONE_SAMPLE: "single samples"}
SHOWN = {"rivals.json": "tryst and its rivals", "micro.json": "variants of tryst",
         "floor.json": "the machine's floor", "scale.json": "the simulation",
         "redis.json": "[exchanges through Redis](remote.md#figures)"}

Files = dict[str, Json | None]


def advice(files: Files) -> list[str]:
    """Returns the advice that the results support."""
    simulated, forms, others = (files.get(name) for name in ("scale.json", "micro.json", "rivals.json"))
    items = {EXCHANGER: simulated and forms and scale.arena_scales(simulated) and micro.arena_is_faster(forms),
             CHANNEL: forms and micro.fifo_pays_on_two_loops(forms),
             COLOURS: simulated and scale.lifo_scales(simulated),
             FIFO: simulated and scale.fifo_stays_level(simulated),
             ASIO: others and rivals.asios_own_is_better(Results(others)),
             NEAR: forms and micro.same_loop_is_faster(forms)}
    return [item for item, holds in items.items() if holds]


def bullets(items: list[str]) -> str:
    return "".join(wrapped("- " + item, "  ") for item in items)


def sources(files: Files, shown: Files) -> str:
    rows = [[f"[{name}](../bench/results/{name}), {SHOWN[name]}", commit(data["meta"]), str(evidence.fewest_samples(data)),
             "no" if not shown[name] or name not in ("rivals.json", "micro.json") else "yes"]
            for name, data in files.items() if data]
    return table(["results", "commit", "samples of each figure", "figures on this page"], rows, words=True)


def page(files: Files) -> str:
    shown = {name: evidence.headline(data) for name, data in files.items()}
    meta = next((data["meta"] for data in files.values() if data), {})
    parts = ["# Benchmarks\n", GENERATED, wrapped(INTRO), wrapped(MACHINE.format(processors=meta.get("processors", "few"))),
             "## What to use\n", bullets(advice(files))]
    if data := files.get("rivals.json"):
        faults = evidence.all_faults(data)
        words_only = WORDS_ONLY.format(faults=" and ".join(SOURCES[fault] for fault in faults)) if faults else ""
        won = WON.format(near=round(100 * LEVEL - 100))
        parts += ["## Won and lost\n", wrapped(f"{won} {words_only}"), rivals.words(Results(data)), wrapped(WAKE_UPS), wrapped(OTHERS)]
    parts += ["## Terms and units\n", table(["term", "meaning"], TERMS, words=True),
              "## Where the figures come from\n", wrapped(RULE), sources(files, shown)]
    if data := shown.get("rivals.json"):
        parts += ["## Tryst and its rivals\n", caption(data["meta"]) + "\n", rivals.summary(Results(data))]
        if not evidence.all_faults(files["rivals.json"]):
            parts.append(picture("threads", "Figure 1 of the paper: threads that swap, with a patience of 100 us"))
    if data := shown.get("micro.json"):
        parts += ["## Variants of tryst\n", micro.intro(data), *micro.in_short(data)]
    return "\n".join(parts)

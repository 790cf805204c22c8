#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/benchmarks.md from the JSON of a run, and what bench-files has printed, if it has:

table.py RESULTS.json [FILES.md] > docs/benchmarks.md
"""

import json
import subprocess
import sys

INTRO = """# Benchmarks

Made by `./dev bench`, which runs `bench/` in the release preset (g++ -O3), and `bench/table.py`. Each figure is the
time of one completed exchange, two participants served, in nanoseconds: the median of {repetitions} samples of 0.2 s,
taken in random order with the other benchmarks of the run, so that lines of one table compare. Every sample checks
that the items were conserved. Two-loop figures depend on how near the two processors are to each other, which virtual
machines change at will: compare them only with a similar line hop.

{date} · commit {commit} · {cpu}, {processors} processors · {kernel} · {compiler} · line hop {hop}
"""


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def cpu_name():
    with open("/proc/cpuinfo", encoding="ascii") as info:
        return next((l.split(":")[1].strip() for l in info if l.startswith("model name")), "unknown CPU")


class Results:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.run = json.load(file)
        def name(b):
            for part in ("/iterations:1", "/repeats:1", "/manual_time"):
                b = b.replace(part, "")
            return b

        self.medians = {name(b["run_name"]): b for b in self.run["benchmarks"]
                        if b.get("aggregate_name") == "median" or b.get("repetitions") == 1}

    def time(self, name):
        if name not in self.medians:
            return ""
        value = self.medians[name]["real_time"]
        return f"{value:.1f}" if value < 100 else f"{value:,.0f}"

    def counter(self, name, key):
        return f"{self.medians[name][key]:.3f}" if name in self.medians else ""

    def ratio(self, name, to):
        if name not in self.medians:
            return ""
        return f"{self.medians[name]['real_time'] / self.medians[to]['real_time']:.1f}x"


def table(title, note, head, rows):
    print(f"\n## {title}\n\n{note}\n")
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " ---: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main():
    r = Results(sys.argv[1])
    context = r.run["context"]
    print(INTRO.format(
        repetitions=max(b["repetitions"] for b in r.medians.values()), date=context["date"][:10],
        commit=output("git", "rev-parse", "--short", "HEAD"), cpu=cpu_name(),
        processors=context["num_cpus"], kernel=output("uname", "-sr"),
        compiler=output("g++", "--version").splitlines()[0],
        hop=context["line hop between the first two processors"]), end="")

    two = [n for n in r.medians if n.startswith("two_loops/")]
    capacity = max(int(n.rsplit(":", 1)[1]) for n in two)
    def row(n):
        one, arena, slot = (f"one_loop/coroutines:{n}", f"two_loops/coroutines:{n}/capacity:{capacity}",
                            f"two_loops/coroutines:{n}/capacity:0")
        return [f"{n:,}", r.time(one), r.counter(one, "fairness"), r.time(arena),
                r.counter(arena, "fairness"), r.time(slot), r.ratio(slot, arena)]

    table("Coroutines",
          "Each coroutine exchanges for ever. Fairness is the service of the least served coroutine as a share of the "
          "most served. Two loops run on a thread and a processor each.",
          ["coroutines on each loop", "one loop", "fairness", "two loops", "fairness",
           "two loops, one slot", "arena against one slot"],
          [row(n) for n in (1, 2, 16, 1000, 100000)])
    table("Stops and deadlines", "One loop, 16 coroutines. Below, many parked coroutines, each in an exchanger of its own, "
          "ended by one stop request: the time of one of them, from the request to the end of its frame.", ["", "ns"],
          [["an exchange", r.time("one_loop/coroutines:16")],
           ["an exchange with a deadline", r.time("one_loop_with_deadline/coroutines:16")],
           ["an exchange with a stop token", r.time("one_loop_with_stop_token/coroutines:16")],
           ["a stop of 1,000 parked", r.time("cancel_storm/parked:1000")],
           ["a stop of 100,000 parked", r.time("cancel_storm/parked:100000")]])
    table("Asleep", "Two loops of one coroutine that sleep as soon as they are idle, and two threads that wake each other "
          "through eventfds.", ["", "ns"],
          [["an exchange between sleeping loops", r.time("two_sleeping_loops")],
           ["an eventfd wake-up", r.time("eventfd_wake")]])

    many = (2, 16, 1000, 100000)
    channels = [["`synchronous_channel`, fifo", "fifo"], ["`synchronous_channel`, lifo", "lifo"],
                ["a mutex and two lists", "locked"]]
    contexts = {"one": "one_context<channel_one_way<direct>>", "two": "two_contexts<concurrent_channel_one_way<direct>>"}
    for loops in ("one", "two"):
        table(f"One way, {loops} loop{'s' if loops == 'two' else ''}",
              f"Half of the coroutines{' of each loop' if loops == 'two' else ''} send for ever, the others receive: the "
              "time of one item handed over. The first rival is a channel of a mutex and intrusive lists for the same "
              "coroutines; the second one of Asio's, between awaitables on " +
              ("one `io_context`." if loops == "one" else "two, which is the concurrent one."),
              ["coroutines" + (" on each" if loops == "two" else "")] + [f"{n:,}" for n in many],
              [[label] + [r.time(f"channel_on_{loops}_loop{'s' if loops == 'two' else ''}<{way}>/coroutines:{n}")
                          for n in many] for label, way in channels] +
              [["Asio"] + [r.time(f"{contexts[loops]}/coroutines:{n}") for n in many]])
    table("One way, threads", "Half of the threads send, the others receive; not pinned. The rival is a mutex and three condition "
          "variables.", ["threads", "2", "10", "32"],
          [[label] + [r.time(f"channel_of_threads<{way}>/threads:{n}") for n in (2, 10, 32)]
           for label, way in (("fifo", "fifo"), ("lifo", "lifo"), ("mutex", "conditions"))])
    growth = [r.medians[f"channel_timeouts<{way}>/timeouts:10000000"]["KiB"] for way in ("fifo", "lifo")]
    table("Giving up", "Receivers in one channel. The stop is one request for all of them: the time of one, from the request "
          "to the end of its frame. Of the timeouts 1,000 are under way at a time, behind one that waits for ever; from "
          f"the millionth to the ten millionth, resident memory grew by {growth[0]:.0f} KiB (fifo) and {growth[1]:.0f} "
          "KiB (lifo).", ["", "fifo", "lifo"],
          [["a stop of 1,000"] + [r.time(f"channel_cancel_storm<{way}>/parked:1000") for way in ("fifo", "lifo")],
           ["a stop of 100,000"] + [r.time(f"channel_cancel_storm<{way}>/parked:100000") for way in ("fifo", "lifo")],
           ["a timeout, of ten million"] + [r.time(f"channel_timeouts<{way}>/timeouts:10000000")
                                            for way in ("fifo", "lifo")]])

    def adapter(title, note, unit, ways, one, other, counts):
        """One line for each way: on one thread, then on two."""
        head = ([f"{n:,} {unit}" for n in counts[0]] + [f"two threads, {n:,} each" for n in counts[1]])
        table(title, note, [""] + head,
              [[label] + [r.time(f"{one}<{way}>/{unit}:{n}") for n in counts[0]] +
               [r.time(f"{other}<{there}>/{unit}:{n}") for n in counts[1]] for label, way, there in ways])

    one_thread, two_threads = (2, 16, 1000), (1, 16, 1000)
    adapter("Asio", "Coroutines on one `io_context`, or on two with a thread and a processor each, that exchange for ever; "
            "each context knows that it has one thread. The rivals are Asio's own channels, one for each direction; on two "
            "threads, its concurrent ones. `any_io_executor` is what awaitables have by default.",
            "coroutines",
            [["`tryst::task` on a `task_executor`", "tasks", "tasks"],
             ["`wait` in an awaitable", "waiting<direct>", "waiting<direct>"],
             ["`async_exchange` with `use_awaitable`", "initiating<direct>", "initiating<direct>"],
             ["two Asio channels", "channels<direct>", "concurrent_channels<direct>"],
             ["`wait`, `any_io_executor`", "waiting<erased>", ""],
             ["`async_exchange`, `any_io_executor`", "initiating<erased>", ""],
             ["two Asio channels, `any_io_executor`", "channels<erased>", ""]],
            "one_context", "two_contexts", (one_thread, two_threads))
    adapter("Fibers", "Fibers of Boost.Fiber on one thread, or on two with a processor each. The rival is two of its "
            "unbuffered channels.",
            "fibers",
            [["`fiber::wait`", "one_exchanger", "one_exchanger"],
             ["two unbuffered channels", "two_channels", "two_channels"]],
            "one_thread", "two_threads", (one_thread, two_threads))
    table("io_uring, awake and asleep",
          "Two contexts with a thread and a processor each. A hop is a coroutine that goes from one to the other; "
          "sleeping contexts do so as soon as they are idle. The bare rings are set up alike and call each other by one "
          "system call. Below, the same between loops that do not have a ring.",
          ["", "awake", "asleep"],
          [["an exchange, one coroutine on each context", r.time("two_contexts/coroutines:1"),
            r.time("two_sleeping_contexts/coroutines:1")],
           ["16 coroutines on each", r.time("two_contexts/coroutines:16"), ""],
           ["1,000 coroutines on each", r.time("two_contexts/coroutines:1000"), ""],
           ["a hop", r.time("hop_awake"), r.time("hop_asleep")],
           ["bare rings, a message (MSG_RING)", "", r.time("bare_msg_ring")],
           ["bare rings, an eventfd", "", r.time("bare_eventfd")],
           ["an exchange between two `run_loop`s", r.time(f"two_loops/coroutines:1/capacity:{capacity}"),
            r.time("two_sleeping_loops")]])

    def copies(direct):
        sizes = (4 << 10, 64 << 10, 256 << 10, 1 << 20)
        def cell(way, size):
            key = f"copy<{way}>/buffer:{size}/direct:{direct}"
            return f"{r.medians[key]['GB/s']:.2f}" if key in r.medians else ""
        return [[label] + [cell(way, size) for size in sizes]
                for label, way in (("an exchanger", "by_exchange"), ("two SPSC queues", "by_spsc_queues"),
                                   ("two channels with a mutex", "by_mutex_channels"),
                                   ("no second stage: one ring, two lanes", "one_ring"))]

    for direct, where in ((0, "in the page cache"), (1, "past the page cache (O_DIRECT)")):
        table(f"io_uring, a file copied in two stages, {where}",
              "A context reads and another writes, each with a thread and a processor; they pass two buffers to and fro, "
              "full for empty. In GB/s: more is better. 64 MB, or 2,048 buffers if that is less; every copy is compared "
              "with what was read.", ["", "4 KB", "64 KB", "256 KB", "1 MB"], copies(direct))

    counts = (2, 4, 8, 10, 16, 32)
    for limit, patience in ((0, "unlimited patience"), (100, "a patience of 100 us"), (1000, "a patience of 1 ms")):
        name = "threads<{}>/threads:{}/patience_us:{}"
        table(f"Threads, {patience}",
              "As in figure 1 of the paper; not pinned. The rival is a mutex with a condition variable for each waiter.",
              ["threads"] + [str(n) for n in counts],
              [["tryst"] + [r.time(name.format("lock_free", n, limit)) for n in counts],
               ["mutex"] + [r.time(name.format("locked", n, limit)) for n in counts],
               ["success, tryst"] + [r.counter(name.format("lock_free", n, limit), "success") for n in counts],
               ["success, mutex"] + [r.counter(name.format("locked", n, limit), "success") for n in counts]])

    if len(sys.argv) > 2:
        print("\n## io_uring, whole commands\n\nMade by `./dev bench-files`: one file of a gigabyte, of the machine's own programs, "
              "libraries and documents, which is in the page cache. The commands take turns; each result is compared with "
              "what it should be.")
        with open(sys.argv[2], encoding="utf-8") as file:
            print(file.read(), end="")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: MIT
"""The sections about variants of tryst, from micro.json, the results of `./dev bench --micro`."""

from functools import partial

import markdown
from evidence import MARK, marked, samples
from markdown import figure, ratio, table, wrapped
from results import Json, caption

section = partial(markdown.section, level=3) # parts of "Variants of tryst"

INTRO = ("`./dev bench --micro` compares variants of tryst with each other. "
         "Figures are medians of {repetitions} samples of 0.2 s, taken in random order. Compare figures of two loops only "
         "within one run.")


class Micro:
    def __init__(self, data: Json):
        self.data = data
        self.medians: Json = data["medians"]

    def value(self, name: str, key: str = "ns") -> float | None:
        return self.medians.get(name, {}).get(key)

    def mark(self, name: str) -> str:
        return f" {MARK}" if name in self.medians and samples(self.data, self.medians[name], name) < 2 else ""

    def time(self, name: str) -> str:
        return figure(self.value(name)) + self.mark(name)

    def counter(self, name: str, key: str, digits: int = 3) -> str:
        value = self.value(name, key)
        return "" if value is None else f"{value:.{digits}f}" + self.mark(name)

    def ratio(self, name: str, to: str) -> str:
        value, base = self.value(name), self.value(to)
        return ratio(value / base) if value and base else ""


def arena(m: Micro) -> str:
    def row(n: int) -> list[str]:
        many, slot = f"two_loops/coroutines:{n}", f"two_loops_one_slot/coroutines:{n}"
        return [f"{n:,}", m.time(f"one_loop/coroutines:{n}"), m.time(many), m.counter(many, "fairness"), m.time(slot),
                m.ratio(slot, many)]

    return section("The arena against one slot",
                   "Tasks swap in an endless loop, on one loop or on two. With an arena each loop finds a slot of its own; with "
                   "one slot the loops share it. Time of one swap, in ns.",
                   table(["tasks on each loop", "one loop", "two loops, arena", "fairness", "two loops, one slot",
                          "one slot / arena"], [row(n) for n in (1, 2, 16, 1000, 100000)]))


def one_way(m: Micro) -> str:
    ways = {"fifo": "fifo", "lifo": "lifo", "locked": "lists under a mutex"}

    def row(loops: str, n: int) -> list[str]:
        return [f"{loops}, {n:,} tasks" + (" on each" if loops == "two loops" else ""),
                *(m.time(f"channel_on_{loops.replace(' ', '_')}<{way}>/coroutines:{n}") for way in ways)]

    return section("One way: two orders and a mutex",
                   "Half of the tasks send and half receive, through a `synchronous_channel` of either order or through two lists "
                   "of waiting tasks under a mutex. Time of one item handed over, in ns.",
                   table(["ns", *ways.values()], [row(loops, n) for loops in ("one loop", "two loops")
                                                  for n in (2, 16, 1000, 100000)]))


def stops(m: Micro) -> str:
    return section("Stop tokens and deadlines",
                   "One swap among 16 tasks on one loop. No stop is requested and no deadline passes; "
                   "[Cancelled](benchmarks-all.md#cancelled) has the cost of a stop.",
                   table(["", "ns"], [
                       ["a swap", m.time("one_loop/coroutines:16")],
                       ["a swap with a deadline", m.time("one_loop_with_deadline/coroutines:16")],
                       ["a swap with a stop token", m.time("one_loop_with_stop_token/coroutines:16")]]))


def timeouts(m: Micro) -> str:
    ways = [f"channel_timeouts<{way}>/timeouts:10000000" for way in ("fifo", "lifo")]
    growth = [m.counter(way, "KiB", 0) for way in ways]
    return section("Timeouts",
                   "Ten million receives from one channel time out. 1,000 of them are pending at a time, behind one receiver that "
                   "waits without a limit. From the millionth to the ten millionth, resident memory grew by "
                   f"{growth[0]} KiB (fifo) and {growth[1]} KiB (lifo).",
                   table(["ns", "fifo", "lifo"], [["one timeout", *map(m.time, ways)]]))


def uring(m: Micro) -> list[str]:
    hops = section("io_uring, awake and asleep",
                   "Each of two contexts has a thread and a processor of its own. In a change of context, a coroutine moves from "
                   "one context to the other. A sleeping context blocks in the kernel as soon as it is idle. The bare rings are "
                   "set up in the same way and wake each other by one system call. The last row is for comparison, without a "
                   "ring; [the machine's floor](benchmarks-all.md#the-machines-floor) has the cost of a bare wake-up.",
                   table(["ns", "awake", "asleep"], [
                       ["a swap, one coroutine on each context", m.time("two_contexts/coroutines:1"),
                        m.time("two_sleeping_contexts/coroutines:1")],
                       ["a swap, 16 coroutines on each", m.time("two_contexts/coroutines:16"), ""],
                       ["a swap, 1,000 coroutines on each", m.time("two_contexts/coroutines:1000"), ""],
                       ["a change of context", m.time("hop_awake"), m.time("hop_asleep")],
                       ["bare rings, a message (MSG_RING)", "", m.time("bare_msg_ring")],
                       ["bare rings, an eventfd", "", m.time("bare_eventfd")],
                       ["a swap between two `run_loop`s", m.time("two_loops/coroutines:1"),
                        m.time("two_sleeping_loops/coroutines:1")]]))
    sizes = (4 << 10, 64 << 10, 256 << 10, 1 << 20)
    ways = (("an exchanger", "by_exchange"), ("two SPSC queues", "by_spsc_queues"),
            ("an exchanger under a mutex", "by_mutex"), ("no second stage: one ring, two lanes", "one_ring"))
    measured = [way for way in ways if m.value(f"copy<{way[1]}>/buffer:{sizes[0]}/direct:0")]

    def speed(way: str, size: int, direct: int) -> float:
        return m.value(f"copy<{way}>/buffer:{size}/direct:{direct}", "GB/s") or 0

    def single_ring(direct: int) -> str:
        """Names the buffer sizes at which the single ring is the fastest."""
        sizes_won = [f"{size >> 10} KiB" for size in sizes
                     if speed("one_ring", size, direct) > max(speed(way, size, direct) for _, way in ways[:-1])]
        return f"The single ring is the fastest with buffers of {', '.join(sizes_won) or 'no size'}.\n"

    copies = [section(f"io_uring, a file copied in two stages, {where}",
                      "One context reads and another writes, each with a thread and a processor of its own. They swap a full "
                      "buffer for an empty one. A copy is 64 MiB, or 2,048 buffers if that is less, and is compared with its "
                      "source. GB/s, by size of buffer: more is better.",
                      table(["GB/s", "4 KiB", "64 KiB", "256 KiB", "1 MiB"], [
                          [label, *(m.counter(f"copy<{way}>/buffer:{size}/direct:{direct}", "GB/s", 2) for size in sizes)]
                          for label, way in measured]),
                      single_ring(direct))
              for direct, where in ((0, "in the page cache"), (1, "without the page cache (O_DIRECT)"))]
    return [hops, *copies]


def fifo_pays_on_two_loops(data: Json) -> bool:
    """Returns whether fifo takes longer on two loops than on one, and at least twice as long as lifo there."""
    m = Micro(data)
    times = [[m.value(f"channel_on_{where}/coroutines:{n}") for where in ("one_loop<fifo>", "two_loops<fifo>", "two_loops<lifo>")]
             for n in (2, 16, 1000, 100000)]
    return all(one and two and lifo and one < two and 2 * lifo < two for one, two, lifo in times)


def arena_is_faster(data: Json) -> bool:
    """Returns whether two loops with an arena swap more than one loop, and several times as much as with one slot."""
    m = Micro(data)
    times = [[m.value(f"{name}/coroutines:{n}") for name in ("two_loops", "one_loop", "two_loops_one_slot")]
             for n in (16, 1000, 100000)]
    return all(two and one and slot and two < one and 3 * two < slot for two, one, slot in times)


def same_loop_is_faster(data: Json) -> bool:
    """Returns whether two tasks swap at least three times as fast on one loop as on two."""
    m = Micro(data)
    same, apart = m.value("one_loop/coroutines:2"), m.value("two_loops_one_slot/coroutines:1")
    return bool(same and apart and 3 * same < apart)


def intro(data: Json) -> str:
    return "\n".join(filter(None, [wrapped(INTRO.format(repetitions=data["meta"]["repetitions"])), marked(data),
                                   caption(data["meta"]) + "\n"]))


def in_short(data: Json) -> list[str]:
    """Returns the sections that are also on the front page."""
    m = Micro(data)
    return [arena(m), one_way(m), stops(m)]


LOOPS = {"libuv": "uv_async_send", "GLib": "an idle source", "Qt": "a queued connection", "libevent": "event_active",
         "sd-event": "an eventfd"}


def event_loops(m: Micro) -> str:
    def row(library: str, own: str) -> list[str]:
        found = [f"{library}, `{own}`" if "_" in own else f"{library}, {own}"]
        for where in ("between_threads", "on_one_thread"):
            its, ours = f"hop_{where}/{library}, {own}", f"hop_{where}/{library}, a task"
            found += [m.time(its), m.time(ours), m.ratio(ours, its)]
        return found

    if m.value("hop_on_one_thread/libuv, a task") is None:
        return ""
    return section("Event loops of other libraries",
                   "The time of a hop, in ns. A task goes to a loop by `co_await executor.schedule()`; beside it, the library's own "
                   "way to have a loop call a function. Two loops in threads of their own, in turn, or one loop that hops to itself, "
                   "where 64 hops of tasks share one turn of the loop.",
                   table(["library and its own way", "two threads: library", "task", "task / library", "one thread: library",
                          "task", "task / library"], [row(*each) for each in LOOPS.items()]))


SENDERS = {"coroutines_in_a_loop": "two coroutines in a loop", "new_coroutines": "two new coroutines for each swap",
           "senders": "two senders, connected and started", "senders_with_stop_token": "the same with a stop token",
           "stdexec_when_all": "two senders in `when_all` and `sync_wait` of stdexec",
           "stdexec_when_all_of_values": "the same without an exchange",
           "tasks_when_all": "two exchanges in `when_all`, on a `run_loop`",
           "select_of_two": "`select` of two exchangers, as a sender in `sync_wait`",
           "stdexec_when_any": "`when_any` of two senders, in `sync_wait` of stdexec",
           "tasks_when_any": "`when_any` of two exchanges, on a `run_loop`"}


def senders(m: Micro) -> str:
    if m.value("senders") is None:
        return ""
    return section("Senders",
                   "One swap on one thread; with `select` and `when_any`, a partner waits in the second of two exchangers. stdexec "
                   "has no channel to compare with. Time in ns.",
                   table(["", "ns", "to the first"], [[what, m.time(name), m.ratio(name, "coroutines_in_a_loop")]
                                                      for name, what in SENDERS.items()]))


def sections(data: Json) -> list[str]:
    m = Micro(data)
    return [*in_short(data), timeouts(m), *filter(None, [event_loops(m), senders(m)]), *uring(m)]

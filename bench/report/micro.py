# SPDX-License-Identifier: MIT
"""The sections about variants of tryst, from micro.json: what `./dev bench --micro` has measured."""

from markdown import figure, ratio, section, table
from results import Json

INTRO = """What follows compares forms of tryst with each other, and its adapters with what their libraries have, by Google
Benchmark: medians of {repetitions} samples of 0.2 s, taken in random order. Two-loop figures compare only within this run.

{caption}
"""


class Micro:
    def __init__(self, data: Json):
        self.meta: Json = data["meta"]
        self.medians: Json = data["medians"]

    def value(self, name: str, key: str = "ns") -> float | None:
        return self.medians.get(name, {}).get(key)

    def time(self, name: str) -> str:
        return figure(self.value(name))

    def counter(self, name: str, key: str, digits: int = 3) -> str:
        value = self.value(name, key)
        return "" if value is None else f"{value:.{digits}f}"

    def ratio(self, name: str, to: str) -> str:
        value, base = self.value(name), self.value(to)
        return ratio(value / base) if value and base else ""


def arena(m: Micro) -> str:
    two = [name for name in m.medians if name.startswith("two_loops/")]
    capacity = max((int(name.rsplit(":", 1)[1]) for name in two), default=0)

    def row(n: int) -> list[str]:
        many, slot = f"two_loops/coroutines:{n}/capacity:{capacity}", f"two_loops/coroutines:{n}/capacity:0"
        return [f"{n:,}", m.time(f"one_loop/coroutines:{n}"), m.time(many), m.counter(many, "fairness"), m.time(slot),
                m.ratio(slot, many)]

    return section("The arena against one slot",
                   "Coroutines that exchange for ever on one loop, and on two with a thread and a processor each.",
                   table(["coroutines on each loop", "one loop", "two loops, arena", "fairness", "two loops, one slot",
                          "one slot to arena"], [row(n) for n in (1, 2, 16, 1000, 100000)]))


def stops(m: Micro) -> str:
    return section("Stops and deadlines",
                   "One loop, 16 coroutines. Below, many parked coroutines, each in an exchanger of its own, ended by one "
                   "stop request: the time of one of them, from the request to the end of its frame.",
                   table(["", "ns"], [
                       ["an exchange", m.time("one_loop/coroutines:16")],
                       ["an exchange with a deadline", m.time("one_loop_with_deadline/coroutines:16")],
                       ["an exchange with a stop token", m.time("one_loop_with_stop_token/coroutines:16")],
                       ["a stop of 1,000 parked", m.time("cancel_storm/parked:1000")],
                       ["a stop of 100,000 parked", m.time("cancel_storm/parked:100000")]]))


def giving_up(m: Micro) -> str:
    ways = ("fifo", "lifo")
    growth = [m.counter(f"channel_timeouts<{way}>/timeouts:10000000", "KiB", 0) for way in ways]
    return section("Giving up",
                   "Receivers in one channel. The stop is one request for all of them: the time of one, from the request to "
                   "the end of its frame. Of the timeouts 1,000 are under way at a time, behind one that waits for ever; "
                   f"from the millionth to the ten millionth, resident memory grew by {growth[0]} KiB (fifo) and "
                   f"{growth[1]} KiB (lifo).",
                   table(["ns", *ways], [
                       [label, *(m.time(name.format(way)) for way in ways)] for label, name in (
                           ("a stop of 1,000", "channel_cancel_storm<{}>/parked:1000"),
                           ("a stop of 100,000", "channel_cancel_storm<{}>/parked:100000"),
                           ("a timeout, of ten million", "channel_timeouts<{}>/timeouts:10000000"))]))


def adapter(m: Micro, title: str, note: str, unit: str, ways: list[tuple[str, str, str]], one: str, two: str) -> str:
    """One line for each way: on one thread, then on two."""
    counts = ((2, 16, 1000), (1, 16, 1000))
    head = [f"{n:,} {unit}" for n in counts[0]] + [f"two threads, {n:,} each" for n in counts[1]]
    rows = [[label] + [m.time(f"{one}<{way}>/{unit}:{n}") for n in counts[0]] +
            [m.time(f"{two}<{there}>/{unit}:{n}") for n in counts[1]] for label, way, there in ways]
    return section(title, note, table(["ns", *head], rows))


def adapters(m: Micro) -> list[str]:
    return [
        adapter(m, "Asio, all forms",
                "Coroutines on one `io_context`, or on two with a thread and a processor each, that exchange for ever; each "
                "context knows that it has one thread. The rivals are Asio's own channels, one for each direction; on two "
                "threads, its concurrent ones. `any_io_executor` is what awaitables have by default.", "coroutines",
                [("`tryst::task` on a `task_executor`", "tasks", "tasks"),
                 ("`wait` in an awaitable", "waiting<direct>", "waiting<direct>"),
                 ("`async_exchange` with `use_awaitable`", "initiating<direct>", "initiating<direct>"),
                 ("two Asio channels", "channels<direct>", "concurrent_channels<direct>"),
                 ("`wait`, `any_io_executor`", "waiting<erased>", ""),
                 ("`async_exchange`, `any_io_executor`", "initiating<erased>", ""),
                 ("two Asio channels, `any_io_executor`", "channels<erased>", "")], "one_context", "two_contexts"),
        adapter(m, "Fibers", "Fibers of Boost.Fiber on one thread, or on two with a processor each. The rival is two of its "
                "unbuffered channels.", "fibers",
                [("`fiber::wait`", "one_exchanger", "one_exchanger"),
                 ("two unbuffered channels", "two_channels", "two_channels")], "one_thread", "two_threads"),
    ]


def uring(m: Micro) -> list[str]:
    two = [name for name in m.medians if name.startswith("two_loops/coroutines:1/")]
    hops = section("io_uring, awake and asleep",
                   "Two contexts with a thread and a processor each. A hop is a coroutine that goes from one to the other; "
                   "sleeping contexts do so as soon as they are idle. The bare rings are set up alike and call each other by "
                   "one system call. Below, the same between loops without a ring, and a bare wake-up.",
                   table(["ns", "awake", "asleep"], [
                       ["an exchange, one coroutine on each context", m.time("two_contexts/coroutines:1"),
                        m.time("two_sleeping_contexts/coroutines:1")],
                       ["16 coroutines on each", m.time("two_contexts/coroutines:16"), ""],
                       ["1,000 coroutines on each", m.time("two_contexts/coroutines:1000"), ""],
                       ["a hop", m.time("hop_awake"), m.time("hop_asleep")],
                       ["bare rings, a message (MSG_RING)", "", m.time("bare_msg_ring")],
                       ["bare rings, an eventfd", "", m.time("bare_eventfd")],
                       ["an exchange between two `run_loop`s", m.time(max(two, default="")), m.time("two_sleeping_loops")],
                       ["two threads that wake each other through eventfds", "", m.time("eventfd_wake")]]))
    sizes = (4 << 10, 64 << 10, 256 << 10, 1 << 20)
    ways = (("an exchanger", "by_exchange"), ("two SPSC queues", "by_spsc_queues"),
            ("two channels with a mutex", "by_mutex_channels"), ("no second stage: one ring, two lanes", "one_ring"))

    def speed(way: str, size: int, direct: int) -> float:
        return m.value(f"copy<{way}>/buffer:{size}/direct:{direct}", "GB/s") or 0

    def single_ring(direct: int) -> str:
        """Where it wins."""
        sizes_won = [f"{size >> 10} KB" for size in sizes
                     if speed("one_ring", size, direct) > max(speed(way, size, direct) for _, way in ways[:-1])]
        return f"The single ring is the fastest of all with buffers of {', '.join(sizes_won) or 'no size'}.\n"

    copies = [section(f"io_uring, a file copied in two stages, {where}",
                      "A context reads and another writes, each with a thread and a processor; they pass two buffers to and "
                      "fro, full for empty. In GB/s: more is better. 64 MB, or 2,048 buffers if that is less; every copy is "
                      "compared with what was read.",
                      table(["GB/s", "4 KB", "64 KB", "256 KB", "1 MB"], [
                          [label, *(m.counter(f"copy<{way}>/buffer:{size}/direct:{direct}", "GB/s", 2) for size in sizes)]
                          for label, way in ways]),
                      single_ring(direct))
              for direct, where in ((0, "in the page cache"), (1, "past the page cache (O_DIRECT)"))]
    return [hops, *copies]


def sections(data: Json) -> list[str]:
    m = Micro(data)
    return [arena(m), stops(m), giving_up(m), *adapters(m), *uring(m)]

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What gdb's printers and commands for tryst show of programs, while they run and in core dumps of them.

    gdb_test.py FOLDER SUITE...   FOLDER contains the programs; its name says how they are compiled
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from gdb import SCRIPT, TOP, Gdb

FOLDER = Path(sys.argv[1])
HERE = Path(__file__).resolve().parent

LOOP = "tryst::run_loop at ADDRESS"


def waiters(place: str, coroutine: str, n: int, where: str = LOOP) -> str:
    each = f"{place} = waiter at ADDRESS: unstoppable, {coroutine}, {where}"
    return " = {" + ", ".join([each] * n) + "}"


COUNTS = "tryst::counters: arrivals 4, exchanges 1, no_partner 1, waiting 1"
UNREADABLE = "<unreadable: Cannot access memory at address ADDRESS>"

# What `print` says about expressions, with ADDRESS for each address.
PRINTED = {
    "with_arena": "tryst::exchanger<int>: open, 1 waiting, arena 0 of 2 slots" + waiters("waiter in list", "swap", 1),
    "busy": 'tryst::exchanger<int>: "lobby", open, 1 waiting' + waiters("waiter in list", "swap", 1),
    "lone": "tryst::exchanger<int>: open, 1 waiting" + waiters("waiter in list", "swap_inline", 1, "no executor"),
    "closed": "tryst::exchanger<int>: closed, 0 waiting",
    "counted": "tryst::exchanger<int, tryst::counted>: open, 1 waiting"
               + waiters("waiter in list", "swap", 1).removesuffix("}") + f", counters = {COUNTS}}}",
    "counts": COUNTS,
    "no_counts": "tryst::counters: all zero",
    "nothing_happened": "tryst::statistics: all zero",
    "happened": "tryst::statistics: arrivals 5, exchanges 2, waiting 1, longest_wait 1.5 ms",
    "queue": "tryst::red_blue_exchanger<int, char, tryst::order::fifo>: open, 2 red waiting"
             + waiters("red in list", "arrive_red", 2),
    "stack": "tryst::red_blue_exchanger<int, char, tryst::order::lifo>: open, 2 blue waiting, arena 0 of 3 slots"
             + waiters("blue in list", "arrive_blue", 2),
    "channel": "tryst::synchronous_channel<int, tryst::order::fifo>: open, 3 senders waiting"
               + waiters("sender in list", "send", 3),
    "buffered": "tryst::channel<int>: \"queue\", open, 2 items, limit 2, 1 sender waiting" + waiters("sender in list", "send", 1),
    "heavy": "tryst::channel<int, tryst::weighted<tenfold> >: closed, 1 item of weight 70, unlimited, 0 waiting",
    "drained": "tryst::channel<int>: open, 0 items, limit 0, 2 receivers waiting" + waiters("receiver in list", "take", 2),
    "no_reply": "tryst::future<int>: open, no item, no promise, 0 waiting",
    "open_reply": "tryst::future<int>: open, no item, promise at ADDRESS, 0 waiting",
    "awaited_reply": "tryst::future<int>: open, no item, promise at ADDRESS, 1 waiting" + waiters("waiter", "get", 1),
    "full_reply": "tryst::future<int>: open, an item, no promise, 0 waiting = {item = 7}",
    "taken_reply": "tryst::future<int>: closed, no item, no promise, 0 waiting",
    "open_promise": "tryst::promise<int>: future at ADDRESS",
    "set_promise": "tryst::promise<int>: no future",
    "exchanged": "exchanged = {item = 7}",
    "failed": 'timed_out = {item = "mine"}',
    "sent": "exchanged",
    "errc": "no_partner (the operation would have to wait)",
    "no_error": "success",
    "unknown_error": "<unreadable: 77 is no tryst::exchange_errc>",
    "order": "tryst::order::lifo",
    "no_task": "tryst::task<int>: empty",
    "new_task": "tryst::task<int>: seven, not started",
    "done_task": "tryst::task<int>: seven, done = {item = 7}",
    "failed_task": "tryst::task<int>: fail, done = {exception = {_M_exception_object = ADDRESS}}",
    "no_handle": "tryst::join_handle<void>: empty",
    "handle": "tryst::join_handle<void>: running",
    "no_executor": "no executor",
    "on_loop": LOOP,
    "on_pool": "own_pool at ADDRESS",
    "idle": "tryst::run_loop: not running, 0 queued, 1 in its inbox",
    "user_loop": "tryst::loop_executor<idle_wake>: not running, 0 queued",
    "source": "tryst::inplace_stop_source: no stop requested, 1 callback",
    "requested": "tryst::inplace_stop_source: stop requested",
    "no_token": "tryst::inplace_stop_token: no stop possible",
    "token": "tryst::inplace_stop_token: no stop requested, 1 callback",
    "callback": "tryst::inplace_stop_callback: registered = {function = {<No data fields>}}",
    "scope": "tryst::task_scope: open, 1 task, " + LOOP,
    "operation": "tryst::exchange_operation: not awaited yet = {item = 5}",
    "sleeping": "tryst::sleep_for: 1.5 s",
    "selection": "tryst::select_operation: not awaited yet",
    "selected": "case 1 took place = {results = std::tuple containing = {[1] = not_selected = {item = 1}, "
                "[2] = exchanged = {item = 1}}}",
    "from": "case 0 took place",
    "any_of": "awaitable 0 ended first = {results = std::tuple containing = {"
              "[1] = tryst::task<int>: tryst::detail::await_made, done = {item = 1}, "
              "[2] = tryst::task<char>: tryst::detail::await_made, done = {item = 99 'c'}, "
              "[3] = cancelled = {item = 5}}}",
    # Corrupt objects.
    "*bad_exchanger.as": UNREADABLE,
    "*bad_channel.as": "tryst::synchronous_channel<int, tryst::order::fifo>: destroyed",
    "*bad_future.as": "<unreadable: its phase is 238>",
    "*bad_task.as": UNREADABLE,
    "*bad_loop.as": "<unreadable: a flag is 238>",
    "*bad_scope.as": UNREADABLE,
    "*bad_executor.as": UNREADABLE,
    "*bad_result.as": "<unreadable: 238 is no tryst::exchange_errc>",
    "*bad_handle.as": UNREADABLE,
    "*bad_source.as": "<unreadable: its state is 238>",
    "*bad_counters.as": "<unreadable: the number of its cells is 4008636142>",
    "*lost_counters.as": UNREADABLE,
    "*endless_scope.as": "tryst::task_scope: open, 1 task or more, " + LOOP,
    # A reference, and a pointer to an alias.
    "(tryst::executor_ref&)no_executor": "no executor",
    "*(tryst::run_loop*)&idle": "tryst::run_loop: not running, 0 queued, 1 in its inbox",
}
ADAPTERS_PRINTED = {
    "on_asio": "Asio executor at ADDRESS",
    "on_libuv": "tryst::libuv::executor at ADDRESS",
    "uv_executor": "tryst::libuv::executor: not running, 0 queued, 1 in its inbox",
    "buffer": "tryst::uring::buffer: 4096 bytes at ADDRESS",
    "no_buffer": "tryst::uring::buffer: none",
    "file": "tryst::uring::descriptor: 1",
    "no_file": "tryst::uring::descriptor: none",
    "opened": "open: done = {value = std::optional<int> = {[contained value] = 5}}",
    "not_opened": "open: Permission denied (error 13)",
    "ended": "close: done",
    "no_limits": "tryst::uring::limits: no deadline",
    "some_limits": "tryst::uring::limits: until 1.5 s on the steady clock",
    "begun": "tryst::redis::connection: not connected",
    "unreachable": 'tryst::redis::connection: not connected, "/nowhere: cannot connect: No such file or directory"',
    "closed_connection": "tryst::redis::connection: closed",
}


def without_addresses(text: str) -> str:
    return re.sub(r"\b0x[0-9a-f]+\b", "ADDRESS", text)


def line_of(source: Path, marker: str) -> str:
    """A pattern for `file:line` of the line that ends with a marker."""
    for number, text in enumerate(source.read_text().splitlines(), 1):
        if text.endswith(f"// {marker}"):
            return re.escape(f"{source.name}:{number}")
    raise AssertionError(f"{source} has no line with {marker}")


class Case(unittest.TestCase):
    """Looks at a program in `stop_here`, and at its core dump."""

    maxDiff = None
    program = "objects"
    stop: tuple[str, ...] = ("break stop_here", "run")
    live: Gdb
    dead: Gdb

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.live = Gdb(cls, "-x", SCRIPT, FOLDER / cls.program)
        for command in cls.stop:
            cls.live(command)
        cls.dead = cls.core_of(cls.live, cls.program, folder.name)

    @classmethod
    def core_of(cls, live: Gdb, program: str, folder: str) -> Gdb:
        """A gdb with a core dump of a program that is in another."""
        said = live(f"generate-core-file {folder}/core")
        assert Path(folder, "core").exists(), said
        return Gdb(cls, "-x", SCRIPT, FOLDER / program, f"{folder}/core")

    def at(self, marker: str) -> str:
        return line_of(HERE / f"{self.program}.cpp", marker)

    def deadlocked(self, waiting: str) -> tuple[Gdb, str]:
        """A gdb that is attached to the example when it hangs, and a folder for its core dump."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = subprocess.Popen([FOLDER / "deadlock"], stdout=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        attached = Gdb(self, "-x", SCRIPT, FOLDER / "deadlock")
        shown = ""
        while shown.count(waiting) != 2:  # until it hangs
            attached("detach")
            attached(f"attach {program.pid}")
            shown = attached("tryst stacks")
        return attached, folder.name

    def assert_on_the_page(self, real: str, least: int, plain: bool = False) -> None:
        """What the pages show of programs with or without debug information is what gdb says."""
        pages = "".join((TOP / "docs" / name).read_text(encoding="utf-8") for name in ("hangs.md", "gdb.md"))
        sections = re.split(r"^##? ", pages, flags=re.MULTILINE)
        page = "".join(each for each in sections if (
            each.startswith("Without debug information") if plain
            else not each.startswith(("Without", "Printing", "Loading"))))
        outputs = "".join(text for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S) if not language)
        self.assertGreater(outputs.count("\n"), least)
        lines = without_addresses(real).splitlines()
        for line in without_addresses(outputs).splitlines():
            if not line.startswith("(gdb) "):
                self.assertIn(line, lines)

    def assert_in_order(self, output: str, *patterns: str) -> None:
        at = 0
        for pattern in patterns:
            found = re.compile(pattern, re.MULTILINE).search(output, at)
            self.assertIsNotNone(found, f"{pattern!r} is missing in:\n{output}")
            assert found is not None
            at = found.end()

    def assert_shown(self, command: str, *patterns: str) -> None:
        """The program and its core dump show these lines in this order."""
        for gdb in self.live, self.dead:
            with self.subTest(command, core=gdb is self.dead):
                self.assert_in_order(gdb(command), *patterns)

    def assert_printed(self, expected: dict[str, str]) -> None:
        for expression, text in expected.items():
            for gdb in self.live, self.dead:
                with self.subTest(expression, core=gdb is self.dead):
                    self.assertEqual(self.printed(gdb, expression), text)

    def printed(self, gdb: Gdb, expression: str) -> str:
        return re.sub(r"^\$\d+ = (\(.*&\) @ADDRESS: )?", "", without_addresses(gdb(f"print {expression}")).strip())


class Printers(Case):
    def test_each_public_type(self) -> None:
        self.assert_printed(PRINTED)

    def test_where_a_task_is_suspended(self) -> None:
        self.assertRegex(self.live("print started_task"), rf"= tryst::task<int>: answer, started, suspended at {self.at('answer')}$")

    def test_plainly_when_asked_or_disabled(self) -> None:
        self.assertIn("closed_ = false", self.live("print /r scope"))
        self.live("disable pretty-printer global tryst;task_scope")
        self.addCleanup(self.live, "enable pretty-printer global tryst;task_scope")
        self.assertIn("closed_ = false", self.live("print scope"))

    def test_lists_them_once(self) -> None:
        self.live(f"source {SCRIPT}")
        self.assertEqual(re.findall(r"^ +(run_loop|task|exchanger)$", self.live("info pretty-printer global tryst"), re.M),
                         ["exchanger", "run_loop", "task"])

    def test_a_program_that_does_not_run(self) -> None:
        gdb = Gdb(self, "-x", SCRIPT, FOLDER / self.program)
        self.assertIn("= tryst::inplace_stop_source: no stop requested, 0 callbacks\n", gdb("print requested"))
        self.assertIn("Cannot access memory at address 0x10\n", gdb("print *(tryst::exchanger<int>*)16"))
        for command in "tryst stacks", "tryst waiters busy":
            self.assertIn("tryst: there is no program", gdb(command))

    def test_what_the_page_shows(self) -> None:
        page = (TOP / "docs/gdb.md").read_text(encoding="utf-8")
        shown = re.findall(r"^\(gdb\) print (.*)\n\$\d+ = ((?:(?!\(gdb\)|```).*\n)+)", page, re.MULTILINE)
        self.assertGreater(len(shown), 4)
        self.live("set print pretty on")
        self.addCleanup(self.live, "set print pretty off")
        for expression, text in shown:
            with self.subTest(expression):
                self.assertEqual(self.printed(self.live, expression) + "\n", without_addresses(text))


class Waiters(Case):
    def test_of_each_kind(self) -> None:
        loop = r"on run_loop 0x\w+"
        none = "no stop, no deadline$"
        deadline = r"(deadline in 3\d{3}\.\d s|deadline at \d+\.\d{3} s of the steady clock)$"
        for expression, *patterns in (
            ("threads", r"exchanger 0x\w+: 1 waiter$", rf"0  thread \d \(LWP \d+\) in main.* at {self.at('thread')}, " + none),
            ("patient_threads", rf"0  thread \d \(LWP \d+\) in main.* at {self.at('patient-thread')}, " + deadline),
            ("lone", rf"coroutine swap_inline\(\) at {self.at('swap-inline')}, without executor, {none}"),
            ("busy", r'exchanger 0x\w+ "lobby": 1 waiter$', rf"0  coroutine swap\(\) at {self.at('swap')}, {loop}, {none}"),
            ("stoppable", rf"swap_or_stop\(\) at {self.at('swap-or-stop')}, {loop}, stoppable$"),
            ("timed", rf"swap_for_an_hour\(\) at {self.at('swap-for-an-hour')}, {loop}, {deadline}"),
            ("swaps", rf"0  coroutine one_of_two\(\) at {self.at('one-of-two')}, {loop}$",
             r"another case: blue in synchronous_channel 0x\w+ \(numbers\)$"),
            ("numbers", rf"0  blue, coroutine one_of_two\(\) at {self.at('one-of-two')}, {loop}$",
             r"another case: in exchanger 0x\w+ \(swaps\)$"),
            ("watched", r"0  blue, a case of a set whose owner is away$"),
            ("also_watched", rf"0  blue, a case of a set, {loop}$"),
            ("stack", r"red_blue_exchanger 0x\w+: 2 waiters$",
             rf"0  blue, coroutine arrive_blue<?.*\(\) at {self.at('blue')}, {loop}, no stop, no deadline; 1 more like this$"),
            ("buffered", r'channel 0x\w+ "queue": 2 items, limit 2, 1 waiter$', rf"0  red, coroutine send.*, {loop}, {none}"),
            ("awaited_reply", r"future 0x\w+: no item, promise at 0x\w+, 1 waiter$", rf"0  coroutine get.*, {loop}, {none}"),
            ("drained", r"channel 0x\w+: 0 items, limit 0, 2 waiters$", rf"0  blue, coroutine take.*, {loop}, .*; 1 more like this$"),
            ("both", r"exchanger 0x\w+: 1 waiter$", rf"swap\(\) at {self.at('swap')}, ",
             rf"awaited by swap_twice\(\) at {self.at('swap-twice')}$"),
            ("*both.second", rf"awaited by swap_twice\(\) at {self.at('swap-twice')}$"),
            ("&asked", rf"answer\(\) at {self.at('answer')}, {loop}, {none}"),
            ("scoped", rf"swap\(\) at {self.at('swap')}, {loop}, {none}"),
            ("empty", r"exchanger 0x\w+: no waiters$"),
            ("closed", r"exchanger 0x\w+: closed, no waiters$"),
        ):
            self.assert_shown(f"tryst waiters {expression}", *patterns)

    def test_counts_all_and_prints_one_of_those_alike(self) -> None:
        gdb = Gdb(self, "-x", SCRIPT, FOLDER / self.program)
        for command in *self.stop, "continue":
            gdb(command)
        shown = gdb("tryst waiters crowd")
        self.assert_in_order(shown, r"red_blue_exchanger 0x\w+: 70 waiters$",
                             r"^  0  red, coroutine arrive_red.*; 69 more like this$")
        self.assertNotIn("  1  ", shown)

    def test_of_a_list_that_is_a_cycle(self) -> None:
        gdb = Gdb(self, "-x", SCRIPT, FOLDER / self.program)
        for command in *self.stop, "continue":
            gdb(command)
        gdb("python\nimport gdb\nfrom tryst_gdb import exchangers, values\n"
            "of = values.owned(gdb.parse_and_eval('stack')['protocol_'])['arena_']['list_']\n"
            "nodes = exchangers.Pool(of['nodes_'])\nn = values.number(of['head_']) >> 2 & 0xFFFFFF\n"
            "gdb.selected_inferior().write_memory(nodes.where(n) + nodes.link, n.to_bytes(nodes.link_size, 'little'))\nend")
        self.assertRegex(gdb("tryst waiters stack"), r"^red_blue_exchanger 0x\w+: 1 waiter, then a cycle: its list is corrupt\n")
        self.assertIn("1 blue or more waiting", gdb("print stack"))


class Stacks(Case):
    def test_of_all_loops(self) -> None:
        swap = self.at("swap")
        self.assert_shown(
            "tryst stacks",
            r"^run_loop 0x\w+ \(loop\): 24 tasks$",
            r"#0  get\(\) at .*, waiting in future 0x\w+ \(awaited_reply\), no stop, no deadline\n",
            rf"#0  swap\(\) at {swap}, waiting in exchanger 0x\w+ \"lobby\", no stop, no deadline\n"
            r"  #1  spawned on run_loop 0x",
            rf"#0  one_of_two\(\) at {self.at('one-of-two')}, waiting .*\(numbers\)",
            rf"#0  rest\(\) at {self.at('rest')}, sleeping, deadline ",
            rf"#0  swap\(\) at {swap}, waiting in .*\(both.first\), .*\n"
            rf"  #1  tryst::when_all\(\)\n  #2  swap_twice\(\) at {self.at('swap-twice')}\n",
            rf"#0  ask\(\) at {self.at('ask')}, "
            r"waiting for the result of spawn_future 0x\w+\n",
            rf"#0  answer\(\) at {self.at('answer')}, waiting in .*\(asked\), .*\n  #1  tryst::spawn_future\(\)\n",
            r"waiting in exchanger 0x\w+ \(scoped\), .*\n  #1  spawned in a task_scope on run_loop",
            "^other coroutines:$",
            rf"#0  swap_inline\(\) at {self.at('swap-inline')}, waiting in .*\(lone\)",
            r"^  #0  seven\(\), not started\n  #1  stored in new_task$",
        )
        self.assert_shown("tryst stacks", r"^run_loop 0x\w+ \(idle\): 1 task, 1 ready to run\n"
                                          r"  #0  swap\(\), not started\n  #1  spawned on run_loop 0x")
        # A live program is at rest: nothing was found that is no loop.
        self.assertEqual(len(re.findall("^run_loop", self.live("tryst stacks"), re.MULTILINE)), 2)

    def test_of_more_tasks_than_it_prints(self) -> None:
        for gdb in self.live, self.dead:
            gdb("python from tryst_gdb import waits; most, waits.MOST_TASKS = waits.MOST_TASKS, 10")
            said = gdb("tryst stacks loop")
            gdb("python waits.MOST_TASKS = most")
            self.assert_in_order(said, r"^run_loop 0x\w+ \(loop\): 24 tasks$", r"^  \.\.\. and 14 more, which are not shown$")
            self.assertEqual(said.count("  #0  "), 10)

    def test_of_one_loop(self) -> None:
        for gdb in self.live, self.dead:
            said = gdb("tryst stacks idle")
            self.assertIn("1 task, 1 ready to run", said)
            self.assertNotIn("(loop)", said)
            self.assertNotIn("other coroutines", said)


class Mistakes(Case):
    """Each is one line that says what is wrong."""

    def test_expressions(self) -> None:
        for command, message in (
            ("tryst waiters", "tryst: tryst waiters needs an exchanger: tryst waiters EXPRESSION"),
            ("tryst waiters no_such_name", 'tryst: No symbol "no_such_name" in current context.'),
            ("tryst waiters 1 + 1", "tryst: int is neither an exchanger, a channel nor a future"),
            ("tryst waiters loop", "tryst: tryst::run_loop is neither an exchanger, a channel nor a future"),
            ("tryst waiters none", "tryst: the pointer is null"),
            ("tryst waiters *(tryst::exchanger<int>*)16", "tryst: the exchanger is destroyed or corrupt"),
            ("tryst waiters busy +", "tryst: A syntax error in expression"),
            ("tryst stacks busy", r"tryst: .* is not a loop, such as tryst::run_loop"),
        ):
            with self.subTest(command):
                self.assertRegex(self.live(command), rf"^{re.escape(message) if '.*' not in message else message}.*\n$")

    def test_a_value_that_is_not_in_memory(self) -> None:
        self.assertIn("the value is not in memory: it is optimised out, or in a register",
                      self.live("python\nfrom tryst_gdb import values\ntry: values.address(gdb.Value(1))\n"
                                "except gdb.error as error: print(error)\nend"))

    def test_an_exchanger_that_is_corrupt(self) -> None:
        for word, value in ("*(long*)&busy", 0), ("*(long*)&busy", 16), ("*(long*)*(long*)&busy", 1048576):
            with self.subTest(f"{word} = {value}"):
                self.live(f"set $before = {word}")
                self.live(f"set var {word} = {value}")
                said = self.live("tryst waiters busy") + self.live("tryst stacks")
                self.live(f"set var {word} = $before")
                self.assertRegex(said, "destroyed|not readable|no waiter is readable")

    def test_a_program_without_debug_information(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["strip", "-g", "-o", f"{folder}/stripped", FOLDER / self.program], check=True)
            gdb = Gdb(self, "-x", SCRIPT, f"{folder}/stripped")
            gdb("break main")
            gdb("run")
        self.assertIn("tryst: there is no debug information about tryst::", gdb("tryst waiters 1"))


class Adapters(Case):
    program = "adapters"

    def setUp(self) -> None:
        for gdb in self.live, self.dead:
            gdb("frame function main")

    def test_printers(self) -> None:
        self.assert_printed(ADAPTERS_PRINTED)
        self.assert_shown("print pool", r"tryst::uring::buffer_pool: 4 buffers of 4096 bytes = {free = std::vector of length 3, ")
        for name, kind in ("stream", "accept_stream"), ("packets", "recv_stream"):
            self.assert_shown(f"print {name}", rf"tryst::uring::{kind}: room for \d+, no task waits$")
        self.assert_shown("print asio_executor", "tryst::asio::task_executor<asio::.*>: 0 queued, 1 in its inbox")

    def test_tasks_of_when_any_on_an_io_uring_loop(self) -> None:
        guest, host, porter = self.at("guest"), self.at("host"), self.at("porter")
        spawned = r"spawned on uring::context 0x\w+ at adapters.cpp:\d+$"
        self.assert_shown("tryst stacks ring", r"^uring::context 0x\w+ \(ring\): 2 tasks$",
                          rf"#0  guest\(\) at {guest}, waiting in exchanger 0x\w+ \(front\), stoppable$",
                          r"#1  tryst::when_any\(\)$", rf"#2  host\(\) at {host}$", rf"#3  {spawned}")
        self.assert_shown("tryst stacks ring",
                          rf"#0  tryst::when_any\(\) at {host}, waiting in exchanger 0x\w+ \(back\), stoppable$",
                          rf"#1  host\(\) at {host}$", rf"#2  {spawned}")
        self.assert_shown("tryst stacks ring", rf"#0  tryst::when_any_from\(\) at {porter}, waiting in exchanger with the "
                          r"protocol 0x\w+ or in exchanger with the protocol 0x\w+, stoppable$",
                          rf"#1  porter\(\) at {porter}$", rf"#2  {spawned}")
        self.assert_shown("tryst waiters back", rf"  0  coroutine tryst::when_any\(\) at {host}, ", rf"awaited by host\(\) at {host}")
        self.assert_shown("tryst waiters front", rf"  0  coroutine guest\(\) at {guest}, on uring::context",
                          rf"awaited by host\(\) at {host}")
        self.assert_shown("tryst waiters doors._M_elems[0]", rf"  0  coroutine tryst::when_any_from\(\) at {porter}, ")

    def test_a_handler_a_task_and_a_fiber(self) -> None:
        task = rf"task\(\) at {self.at('task')}, "
        self.assert_shown("tryst waiters handlers", rf"  0  Asio handler 0x\w+ in handler\(\) at {self.at('handler')}, no stop, no deadline$")
        self.assert_shown("tryst waiters tasks", rf"  0  coroutine {task}on Asio executor 0x\w+, no stop")
        self.assert_shown("tryst waiters fibers", rf"  0  fiber, wait strategy 0x\w+ in main.* at {self.at('fiber')}, ")
        for command in "tryst stacks", "tryst stacks loop":
            self.assert_shown(command, r"^Asio executor 0x\w+.*: 1 task$", rf"#0  {task}waiting in exchanger 0x\w+ \(tasks\)",
                              "#1  spawned on Asio executor")
            if command == "tryst stacks":
                self.assert_shown(command, "^other parties:$",
                                  rf"^  Asio handler 0x\w+ in handler\(\) at {self.at('handler')}, .*, in exchanger 0x\w+ \(handlers\)$")
                self.assert_shown(command, rf"^  fiber, .* at {self.at('fiber')}, .*, in exchanger 0x\w+ \(fibers\)$")
            self.assertNotIn("warning: RTTI", self.live(command))


    def test_an_operation_in_the_kernel(self) -> None:
        self.assert_shown("tryst stacks kernel",
                          rf"#0  read_byte\(\) at {self.at('read')}, waiting in the kernel: read of descriptor \d+$")


class ManyToMany(Case):
    program = "many_to_many"
    source = TOP / "examples/many_to_many.cpp"
    lines = source.read_text().splitlines()
    stop = (f"break many_to_many.cpp:{1 + next(n for n, text in enumerate(lines) if 'std::iota(' in text)}", "ignore 1 50", "run")

    def test_stacks_in_the_middle(self) -> None:
        awaits = {number for number, text in enumerate(self.lines, 1) if "co_await" in text}
        self.assert_shown("tryst stacks", r"^run_loop 0x\w+ \(loop\): [1-3] tasks?", r"^  #0  (produce|consume)\(\)",
                          "^  #1  spawned on run_loop 0x")
        self.assert_shown("tryst stacks", r"#0  produce\(\), running in thread \d")
        waiting = re.findall(r"#0  \w+\(\) at many_to_many.cpp:(\d+), waiting", self.live("tryst stacks"))
        self.assertLessEqual(set(map(int, waiting)), awaits)


class Lines(Case):
    """Each coroutine waits at the line that its own name ends."""

    program = "lines"
    lines = {text.rpartition("// ")[2]: number for number, text in enumerate((HERE / "lines.cpp").read_text().splitlines(), 1)
             if re.search(r"co_await .*// \S+$", text)}

    def test_in_each_shape(self) -> None:
        self.assertEqual(len(self.lines), 20)
        for gdb in self.live, self.dead:
            shown = re.findall(r"^  #\d  (?!spawned)(?:.*::)?(\S+?)(?:\(\))? at lines\.cpp:(\d+)", gdb("tryst stacks"), re.MULTILINE)
            self.assertEqual({(name, int(line)) for name, line in shown}, {*self.lines.items()})

    def test_in_one_exchanger(self) -> None:
        self.assert_shown("up", "main")
        self.assert_shown("tryst waiters at", ": 18 waiters$", rf"coroutine plain\(\) at lines.cpp:{self.lines['plain']}, on run_loop",
                          rf"awaited by in_an_expression\(\) at lines.cpp:{self.lines['in_an_expression']}$")


class Resumed(Case):
    program = "resumed"

    def test_no_line_of_an_earlier_wait(self) -> None:
        for gdb in self.live, self.dead:
            shown = re.findall(r"^  #0  after_(\w+)\(\)(.*)$", gdb("tryst stacks"), re.MULTILINE)
            names = ("exchange", "exchange", "join", "schedule", "sleep", "task")
            self.assertEqual(sorted(shown), [(name, ", suspended") for name in names])


class Plain(Lines):
    """Without debug information."""

    def test_in_one_exchanger(self) -> None:
        self.assertIn("tryst: there is no debug information about tryst::", self.live("tryst waiters *(long*)$sp"))

    def test_the_deadlocked_pair(self) -> None:
        source = TOP / "examples/deadlock.cpp"
        waits, asks, spawned = line_of(source, "waits-here"), line_of(source, "asks-here"), r"deadlock\.cpp:\d+"
        attached, folder = self.deadlocked("waiting for a partner")
        for gdb in attached, self.core_of(attached, "deadlock", folder):
            self.assert_on_the_page(gdb("tryst stacks"), 6, plain=True)
            self.assertEqual(len(re.findall(rf"^  #0  request\(\) at {waits}, waiting for a partner, run_loop 0x\w+\n"
                                            rf"  #1  serve\(\) at {asks}\n  #2  spawned at {spawned}\n",
                                            gdb("tryst stacks"), re.MULTILINE)), 2)


    def test_a_stripped_program(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        stripped = Path(folder.name, "deadlock")
        subprocess.run(["strip", "-o", stripped, FOLDER / "deadlock"], check=True)
        program = subprocess.Popen([stripped], stdout=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        attached = Gdb(self, "-x", SCRIPT, stripped)
        attached(f"attach {program.pid}")
        self.assertIn("no coroutine was found; the program may be stripped\n", attached("tryst stacks"))


class Hangs(Case):
    """In a task that runs, and in the deadlocked example; compared with docs/hangs.md and docs/gdb.md."""

    program = "hangs"
    stop = ("break compute", "run")

    def test_finds_the_loop_of_a_running_task(self) -> None:
        self.assert_shown("tryst stacks", r"^run_loop 0x\w+ \(loop\): 5 tasks$", r"\(lobby\)", r"\(buffers\)",
                          r"^  #0  calculate\(\), running in thread 1\n  #1  spawned on run_loop 0x",
                          r"^other coroutines:\n  #0  lose\(\) at .*\(forgotten\)")
        self.assert_shown("tryst stacks", r"^run_loop 0x\w+ \(idle\): 1 task, 1 ready to run$")

    def test_keeps_the_settings_of_the_user(self) -> None:
        self.live("tryst stacks")
        self.assertRegex(self.live("show language"), r'currently c\+\+|"auto; currently')
        self.assertIn('past "main" is off', self.live("show backtrace past-main"))

    def test_the_deadlocked_pair_and_the_page(self) -> None:
        source = TOP / "examples/deadlock.cpp"
        waits, asks = line_of(source, "waits-here"), line_of(source, "asks-here")
        attached, folder = self.deadlocked("waiting in exchanger")
        real = ""
        for gdb in attached, self.core_of(attached, "deadlock", folder):
            stacks = gdb("tryst stacks")
            for name in "orders", "stock":
                self.assert_in_order(stacks, rf"^  #0  request\(\) at {waits}, waiting in exchanger 0x\w+ \({name}\), "
                                             rf"no stop, no deadline\n  #1  serve\(\) at {asks}\n  #2  spawned on run_loop 0x")
            self.assertEqual(stacks.count(": 1 task\n"), 2)
            real += stacks + gdb("frame function main") + gdb("tryst waiters orders")
        if not FOLDER.name.endswith("O0"):
            return  # the page shows programs that are not optimised
        for command in "tryst stacks", "frame function main", *(f"tryst waiters {each}" for each in ("buffers", "lobby", "patient")):
            real += self.live(command)
        self.assert_on_the_page(real, 20)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

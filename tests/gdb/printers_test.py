#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what gdb prints for the objects of printed.cpp.

    printers_test.py TOP FOLDER COMPILER OPTION...   compiles the program in FOLDER, and runs it in gdb
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

TOP, FOLDER, COMPILER = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
OPTIONS = sys.argv[4:]
SKIPPED = 77
STOP = "stop_here"

LOOP = "tryst::run_loop at ADDRESS"


def waiters(place: str, coroutine: str, n: int, where: str = LOOP) -> str:
    each = f"{place} = waiter at ADDRESS: unstoppable, {coroutine}, {where}"
    return " = {" + ", ".join([each] * n) + "}"


COUNTS = "tryst::counters: arrivals 4, exchanges 1, no_partner 1, waiting 1"

# What `print objects->NAME` says, with ADDRESS for each address.
OBJECTS = {
    "empty": "tryst::exchanger<int>: open, 1 waiting, arena 0 of 2 slots" + waiters("waiter in list", "swap", 1),
    "busy": 'tryst::exchanger<int>: "lobby", open, 1 waiting' + waiters("waiter in list", "swap", 1),
    "inline_busy": "tryst::exchanger<int>: open, 1 waiting"
                   + waiters("waiter in list", "swap_inline", 1, "no executor"),
    "closed": "tryst::exchanger<int>: closed, 0 waiting",
    "counted": "tryst::exchanger<int, tryst::counted>: open, 1 waiting"
               + waiters("waiter in list", "swap", 1).removesuffix("}") + f", counters = {COUNTS}}}",
    "counts": COUNTS,
    "no_counts": "tryst::counters: all zero",
    "nothing_happened": "tryst::statistics: all zero",
    "happened": "tryst::statistics: arrivals 5, exchanges 2, waiting 1, longest_wait 1.5 ms",
    "queue": "tryst::red_blue_exchanger<int, char, tryst::order::fifo>: open, 2 red waiting"
             + waiters("red in list", "arrive_red", 2),
    "stack": "tryst::red_blue_exchanger<int, char, tryst::order::lifo>: open, 3 blue waiting, arena 0 of 3 slots"
             + waiters("blue in list", "arrive_blue", 3),
    "channel": "tryst::synchronous_channel<int, tryst::order::fifo>: open, 3 senders waiting"
               + waiters("sender in list", "send", 3),
    "exchanged": "exchanged = {item = 7}",
    "failed": 'timed_out = {item = "mine"}',
    "sent": "exchanged",
    "errc": "no_partner (no partner is waiting)",
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
    "loop": "tryst::run_loop: not running, 0 queued, 2 in its inbox",
    "idle_loop": "tryst::run_loop: not running, 0 queued, 1 in its inbox",
    "user_loop": "tryst::loop_executor<idle_wake>: not running, 0 queued",
    "source": "tryst::inplace_stop_source: no stop requested, 1 callback",
    "requested": "tryst::inplace_stop_source: stop requested",
    "no_token": "tryst::inplace_stop_token: no stop possible",
    "token": "tryst::inplace_stop_token: no stop requested, 1 callback",
    "scope": "tryst::task_scope: open, 1 task, " + LOOP,
}
# The same for pointers in main().
LOCAL = {
    "of_operation": "tryst::exchange_operation: not awaited yet = {item = 5}",
    "of_sleep": "tryst::sleep_for: 1.5 s",
    "of_selection": "tryst::select_operation: not awaited yet",
    "of_selected": "case 1 took place = {results = std::tuple containing = {[1] = not_selected = {item = 1}, "
                   "[2] = exchanged = {item = 1}}}",
    "of_from": "case 0 took place",
    "of_any": "awaitable 0 ended first = {results = std::tuple containing = {"
              "[1] = tryst::task<int>: tryst::detail::await_made, done = {item = 1}, "
              "[2] = tryst::task<char>: tryst::detail::await_made, done = {item = 99 'c'}}}",
    "of_callback": "tryst::inplace_stop_callback: registered = {function = {<No data fields>}}",
}
UNREADABLE = "<unreadable: Cannot access memory at address ADDRESS>"
CORRUPT = {
    "bad_exchanger": UNREADABLE,
    "bad_channel": "tryst::synchronous_channel<int, tryst::order::fifo>: destroyed",
    "bad_task": UNREADABLE,
    "bad_loop": "<unreadable: a flag is 238>",
    "bad_scope": UNREADABLE,
    "bad_executor": UNREADABLE,
    "bad_result": "<unreadable: 238 is no tryst::exchange_errc>",
    "bad_handle": UNREADABLE,
    "bad_source": "<unreadable: its state is 238>",
    "bad_counters": "<unreadable: the number of its cells is 4008636142>",
    "lost_counters": UNREADABLE,
    "endless_scope": "tryst::task_scope: open, 1000 tasks or more, " + LOOP,
}


def without_addresses(text: str) -> str:
    return re.sub(r"\b0x[0-9a-f]+\b", "ADDRESS", text)


# What adapters.cpp defines for an option.
ADAPTERS = {
    "-DTRYST_PRINT_ASIO": {"on_asio": "Asio executor at ADDRESS"},
    "-DTRYST_PRINT_LIBUV": {"on_libuv": "tryst::libuv::executor at ADDRESS",
                            "uv_executor": "tryst::libuv::executor: not running, 0 queued, 1 in its inbox"},
    "-DTRYST_PRINT_URING": {"buffer": "tryst::uring::buffer: 4096 bytes at ADDRESS",
                            "no_buffer": "tryst::uring::buffer: none",
                            "file": "tryst::uring::descriptor: 1",
                            "no_file": "tryst::uring::descriptor: none",
                            "opened": "open: done = {value = std::optional<int> = {[contained value] = 5}}",
                            "not_opened": "open: Permission denied (error 13)",
                            "closed": "close: done"},
}


class Gdb:
    """A program in gdb, with the printers of the source tree, stopped in `stop_here`."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def start(self, *arguments: str) -> str:
        done = subprocess.run(
            ["gdb", "-nx", "--batch", "-iex", "set width 0", "-ex", f"source {TOP}/src/gdb/tryst.py", *arguments,
             str(self.program)],
            text=True, timeout=120, env=os.environ | {"LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout

    def run(self, *commands: str) -> str:
        arguments = []
        for command in (f"break {STOP}", "run", "up", *commands):
            arguments += ["-ex", command]
        return self.start(*arguments)

    def printed(self, expressions: dict[str, str]) -> dict[str, str]:
        """Prints each expression. @returns what gdb says, by name."""
        commands = []
        for name, expression in expressions.items():
            commands += [f"echo \\n@{name}\\ ", f"print {expression}"]
        output = self.run(*commands)
        found = dict(re.findall(r"^@(\w+) *(?:\$\d+ = )?(.*)$", output, re.MULTILINE))
        if set(found) != set(expressions):
            raise AssertionError(output)
        return {name: without_addresses(text) for name, text in found.items()}


SOURCES = {"printed": ["tests/gdb/printed.cpp"],
           "adapters": ["tests/gdb/adapters.cpp", "src/uring/buffer_pool.cpp"]}


def compiled(name: str) -> Path:
    """Compiles a program of this folder. @returns its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    libraries = [option for option in OPTIONS if option.startswith("-l")]
    subprocess.run([COMPILER, "-std=c++20", "-g", "-pthread", *OPTIONS, f"-I{TOP}/include",
                    *SOURCES[name], "-o", str(FOLDER / name), *libraries], check=True, cwd=TOP)
    return FOLDER / name


class Adapters(unittest.TestCase):
    def test_prints_their_executors(self) -> None:
        expected = {name: text for option, texts in ADAPTERS.items() if option in OPTIONS
                    for name, text in texts.items()}
        gdb = Gdb(compiled("adapters"))
        self.assertEqual(gdb.printed({name: name for name in expected}), expected)
        if "-DTRYST_PRINT_URING" in OPTIONS:
            self.assertRegex(gdb.run("print pool"), r"tryst::uring::buffer_pool: 4 buffers of 4096 bytes = {free = "
                                                    r"std::vector of length 3, ")
        if "-DTRYST_PRINT_ASIO" in OPTIONS:  # gdb may print a warning about Asio's types in the same line
            self.assertRegex(gdb.run("print asio_executor"),
                             r"tryst::asio::task_executor<asio::.*>: 0 queued, 1 in its inbox")



class Printers(unittest.TestCase):
    gdb: Gdb
    maxDiff = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.gdb = Gdb(compiled("printed"))

    def test_prints_each_public_type(self) -> None:
        self.assertEqual(self.gdb.printed({name: f"objects->{name}" for name in OBJECTS}), OBJECTS)

    def test_prints_what_an_expression_returns(self) -> None:
        self.assertEqual(self.gdb.printed({name: f"*{name}" for name in LOCAL}), LOCAL)

    def test_says_why_corrupt_memory_is_unreadable(self) -> None:
        self.assertEqual(self.gdb.printed({name: f"*{name}.as" for name in CORRUPT}), CORRUPT)

    def test_prints_references_and_pointers_to_an_alias(self) -> None:
        found = self.gdb.printed({"reference": "(tryst::executor_ref&)objects->no_executor",
                                  "pointer": "*(tryst::run_loop*)&objects->idle_loop"})
        self.assertEqual(found["reference"].removeprefix("(tryst::executor_ref &) @ADDRESS: "), "no executor")
        self.assertEqual(found["pointer"], OBJECTS["idle_loop"])

    def test_says_where_a_task_is_suspended(self) -> None:
        lines = (TOP / "tests/gdb/printed.cpp").read_text(encoding="utf-8").splitlines()
        line = next(n for n, text in enumerate(lines, 1) if text.endswith("// waits-here"))
        found = self.gdb.printed({"task": "objects->started_task"})["task"]
        started = "tryst::task<int>: wait_for_partner, started"
        suspended = f"{started}, last suspended at printed.cpp:{line}"
        # The line needs x86-64. An optimising clang leaves too little information.
        if platform.machine() == "x86_64" and not ("clang" in COMPILER and "-O2" in OPTIONS):
            self.assertEqual(found, suspended)
        else:
            self.assertIn(found, (started, suspended))

    def test_prints_a_program_that_does_not_run(self) -> None:
        output = self.gdb.start("-ex", "print *(tryst::inplace_stop_source*)bad_source.bytes",
                                "-ex", "print *(tryst::exchanger<int>*)16")
        self.assertIn("= tryst::inplace_stop_source: no stop requested, 0 callbacks\n", output)
        self.assertIn("Cannot access memory at address 0x10\n", output)
        self.assertNotIn("Traceback", output)

    def test_prints_what_the_page_shows(self) -> None:
        page = (TOP / "docs/debugger.md").read_text(encoding="utf-8")
        shown = re.findall(r"^\(gdb\) (print .*)\n((?:(?!\(gdb\)|```).*\n)+)", page, re.MULTILINE)
        self.assertGreater(len(shown), 4)
        output = self.gdb.run("set print pretty on", *(command for command, _ in shown))
        for command, text in shown:
            with self.subTest(command):
                self.assertIn(without_addresses(text), without_addresses(output))

    def test_prints_plainly_when_asked(self) -> None:
        self.assertIn("closed_ = false", self.gdb.run("print /r objects->scope"))

    def test_prints_plainly_when_disabled(self) -> None:
        output = self.gdb.run("disable pretty-printer global tryst;task_scope", "print objects->scope")
        self.assertIn("closed_ = false", output)

    def test_lists_its_printers_once(self) -> None:
        output = self.gdb.run(f"source {TOP}/src/gdb/tryst.py", "info pretty-printer global tryst")
        self.assertEqual(re.findall(r"^ +(run_loop|task|exchanger)$", output, re.MULTILINE),
                         ["exchanger", "run_loop", "task"])


if __name__ == "__main__":
    if shutil.which("gdb") is None:
        print("printers_test.py: gdb is not installed", file=sys.stderr)
        sys.exit(1 if os.environ.get("TRYST_NO_SKIP") else SKIPPED)
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests gdb's commands for tryst with real programs, live and on core dumps of them."""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

options: argparse.Namespace


def gdb(program: pathlib.Path, *commands: str, core: pathlib.Path | None = None) -> str:
    """The output of gdb for these commands. They load the commands for tryst first."""
    argv = [options.gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    argv += ["-iex", "set style enabled off", "-x", str(options.source / "src/gdb/tryst.py")]
    for command in ("set pagination off", "set width 0", "set confirm off", *commands):
        argv += ["-ex", command]
    argv += [str(program)] + ([str(core)] if core else [])
    # The program's own output would be mixed with gdb's.
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False)
    return done.stdout + done.stderr


def line_of(source: pathlib.Path, marker: str) -> str:
    """`file:line` of the line that ends with a marker."""
    for number, text in enumerate(source.read_text().splitlines(), 1):
        if text.endswith(f"// {marker}"):
            return f"{source.name}:{number}"
    raise AssertionError(f"{source} has no line with {marker}")


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_in_order(self, output: str, *patterns: str) -> None:
        at = 0
        for pattern in patterns:
            found = re.compile(pattern, re.MULTILINE).search(output, at)
            self.assertIsNotNone(found, f"{pattern!r} is missing in:\n{output}")
            assert found is not None
            at = found.end()
        self.assertNotIn("Traceback", output)
        self.assertNotIn("Python Exception", output)

    def live_and_core(self, program: pathlib.Path, stop: list[str], *commands: str) -> list[str]:
        """What the commands print for a program stopped by `stop`, and then for its core dump."""
        core = self.folder / "core"
        mark = "echo --- commands ---\\n"
        show = [each for command in commands for each in (f"echo ## {command}\\n", command)]
        live = gdb(program, *stop, mark, *show, f"generate-core-file {core}", "kill")
        self.assertTrue(core.exists(), live)
        up = [each for each in stop if each.startswith(("up", "thread", "frame"))]
        dead = gdb(program, *up, mark, *show, core=core)
        return [output.partition("--- commands ---\n")[2] for output in (live, dead)]


class EveryKindOfWaiter(Case):
    """The program in waiting.cpp."""

    source = pathlib.Path(__file__).with_name("waiting.cpp")

    def at(self, marker: str) -> str:
        return re.escape(line_of(self.source, marker))

    def show(self, *commands: str) -> list[str]:
        return self.live_and_core(options.waiting, ["break look", "run", "up"], *commands)

    def test_waiters_of_one_party(self) -> None:
        loop = r"on run_loop 0x\w+"
        none = "no stop, no deadline$"
        deadline = r"(deadline in 3\d{3}\.\d s|deadline at \d+\.\d{3} s of the steady clock)$"
        expected = {
            "threads": [r"exchanger 0x\w+: 1 waiter$", r"0  thread \d \(LWP \d+\)"],
            "patient_threads": [r"0  thread \d \(LWP \d+\)"],
            "lone": [rf"coroutine without_executor\(\) at {self.at('without-executor')}, "
                     rf"without executor, {none}"],
            "plain": [r'exchanger 0x\w+ "lobby": 1 waiter$',
                      rf"0  coroutine exchange\(\) at {self.at('exchange')}, {loop}, {none}"],
            "stoppable": [rf"exchange_or_stop\(\) at {self.at('exchange-or-stop')}, {loop}, "
                          "stoppable$"],
            "timed": [rf"exchange_an_hour\(\) at {self.at('exchange-for-an-hour')}, {loop}, "
                      + deadline],
            "swaps": [rf"0  coroutine one_of_two\(\) at {self.at('one-of-two')}, {loop}$",
                      r"another case: blue in synchronous_channel 0x\w+ \(numbers\)$"],
            "numbers": [rf"0  blue, coroutine one_of_two\(\) at {self.at('one-of-two')}, {loop}$",
                        r"another case: in exchanger 0x\w+ \(swaps\)$"],
            "lifo": [r"red_blue_exchanger 0x\w+: 2 waiters$",
                     rf"0  blue, coroutine blue<?.*\(\) at {self.at('blue')}, {loop}, {none}",
                     r"1  blue, coroutine blue"],
            "both": [r"exchanger 0x\w+: 1 waiter$", rf"exchange\(\) at {self.at('exchange')}, ",
                     rf"awaited by several\(\) at {self.at('several')}$"],
            "*both.second": [rf"awaited by several\(\) at {self.at('several')}$"],
            "&asked": [rf"answer\(\) at {self.at('answer')}, {loop}, {none}"],
            "scoped": [rf"exchange\(\) at {self.at('exchange')}, {loop}, {none}"],
            "empty": [r"exchanger 0x\w+: no waiters$"],
            "closed": [r"exchanger 0x\w+: closed, no waiters$"],
        }  # fmt: skip
        for output in self.show(*(f"tryst waiters {each}" for each in expected)):
            parts = re.split(r"^## tryst waiters ", output, flags=re.MULTILINE)[1:]
            shown = dict(each.split("\n", 1) for each in parts)
            for name, patterns in expected.items():
                with self.subTest(name):
                    self.assert_in_order(shown[name], *patterns)

    def test_waiters_of_several_segments_in_order(self) -> None:
        for output in self.show("tryst waiters fifo"):
            self.assert_in_order(output, r"red_blue_exchanger 0x\w+: 70 waiters$",
                                 r"^  0  red, coroutine red", r"^  69  red, coroutine red")  # fmt: skip
            self.assertNotIn("  70  ", output)

    def test_lists_that_are_cut_say_so(self) -> None:
        def cut(name: str, what: str, most: int) -> list[str]:
            return [f"python import tryst_gdb.exchangers as of, tryst_gdb.wait_lists; {what} = {most}",
                    f"tryst waiters {name}"]  # fmt: skip

        for what, name, most, expected in (
            ("of.MOST_WAITERS", "lifo", 1, "1 waiter or more"),
            ("of.MOST_WAITERS", "lifo", 2, "2 waiters"),
            ("of.MOST_WAITERS", "fifo", 69, "69 waiters or more"),
            ("of.wait_lists.MOST_STEPS", "lifo", 1, "1 waiter or more"),
            ("of.wait_lists.MOST_STEPS", "lifo", 2, "2 waiters"),
            ("of.wait_lists.MOST_STEPS", "fifo", 1, "64 waiters or more"),
        ):
            with self.subTest(f"{what} = {most}, {name}"):
                output = gdb(options.waiting, "break look", "run", "up", *cut(name, what, most), "kill")
                self.assert_in_order(output, rf"^red_blue_exchanger 0x\w+: {expected}$")

    def test_stacks(self) -> None:
        for output in self.show("tryst stacks"):
            self.assert_in_order(
                output,
                r"^run_loop 0x\w+ \(loop\): 81 tasks$",
                rf"#0  exchange\(\) at {self.at('exchange')}, waiting in exchanger 0x\w+ \"lobby\", "
                "no stop, no deadline\n  #1  spawned on run_loop 0x",
                rf"#0  one_of_two\(\) at {self.at('one-of-two')}, waiting .*\(numbers\)",
                rf"#0  rest\(\) at {self.at('rest')}, sleeping, deadline ",
                rf"#0  exchange\(\) at {self.at('exchange')}, waiting in .*\(both.first\), .*\n"
                rf"  #1  tryst::when_all\(\)\n  #2  several\(\) at {self.at('several')}\n",
                rf"#0  ask\(\) at {self.at('ask')}, waiting for the result of spawn_future 0x\w+\n",
                rf"#0  answer\(\) at {self.at('answer')}, waiting in .*\(asked\), .*\n"
                r"  #1  tryst::spawn_future\(\)\n",
                r"waiting in exchanger 0x\w+ \(scoped\), .*\n  #1  spawned in a task_scope on run_loop",
                "^other coroutines:$",
                rf"#0  without_executor\(\) at {self.at('without-executor')}, waiting in .*\(lone\)",
            )
            self.assertRegex(output, r"(?m)^run_loop 0x\w+ \(idle\): 1 task, 1 ready to run\n"
                             r"  #0  exchange\(\), not started\n  #1  spawned on run_loop 0x")
            # A live program is at rest: nothing was found that is no loop.
            self.assertEqual(len(re.findall(r"^run_loop", output, re.MULTILINE)), 3, output)

    def test_stacks_of_static_variables(self) -> None:
        for output in self.show("tryst stacks"):
            self.assertRegex(
                output,
                r"(?m)^run_loop 0x\w+ \(.*background\): 1 task\n"
                rf"  #0  exchange\(\) at {self.at('exchange')}, waiting in exchanger 0x\w+ \(.*shared\)",
            )

    def test_a_task_in_a_variable_that_nothing_has_started(self) -> None:
        for output in self.show("tryst stacks"):
            self.assert_in_order(output, "^other coroutines:$",
                                 r"^  #0  rest\(\), not started\n  #1  stored in kept$")  # fmt: skip

    def test_stacks_of_one_loop(self) -> None:
        for output in self.show("tryst stacks idle"):
            self.assertIn("1 task, 1 ready to run", output)
            self.assertNotIn("(loop)", output)
            self.assertNotIn("other coroutines", output)


class Mistakes(Case):
    """Each is one line that says what is wrong."""

    def shown(self, program: pathlib.Path, *commands: str) -> str:
        output = gdb(program, *commands)
        self.assertNotIn("Traceback", output)
        self.assertNotIn("Python Exception", output)
        return output

    def test_an_expression_that_is_no_exchanger(self) -> None:
        for expression, message in (
            ("", "tryst: tryst waiters needs an exchanger: tryst waiters EXPRESSION"),
            ("no_such_name", 'tryst: No symbol "no_such_name" in current context.'),
            ("1 + 1", "tryst: int is neither an exchanger nor a channel"),
            ("loop", "tryst: tryst::run_loop is neither an exchanger nor a channel"),
            ("none", "tryst: the pointer is null"),
            ("*(meeting*)16", "tryst: the exchanger is destroyed or corrupt"),
            ("plain +", "tryst: A syntax error in expression"),
        ):
            with self.subTest(expression):
                output = self.shown(
                    options.waiting, "break look", "run", "up", f"tryst waiters {expression}", "kill"
                )
                self.assertIn(message, output)

    def test_a_value_that_is_not_in_memory(self) -> None:
        output = gdb(options.waiting, "python from tryst_gdb import values; values.address(gdb.Value(1))")
        self.assertIn("the value is not in memory: it is optimised out, or in a register", output)

    def test_a_loop_that_is_none(self) -> None:
        output = self.shown(
            options.waiting, "break look", "run", "up", "tryst stacks plain", "kill"
        )
        self.assertRegex(output, "tryst: .* is not a loop, such as tryst::run_loop")

    def test_an_exchanger_that_is_corrupt(self) -> None:
        for change in ("set var *(long*)&plain = 0", "set var *(long*)&plain = 16",
                       "set var *(long*)*(long*)&plain = 1048576"):  # fmt: skip
            with self.subTest(change):
                output = self.shown(options.waiting, "break look", "run", "up",
                                    change, "tryst waiters plain", "tryst stacks", "kill")  # fmt: skip
                self.assertRegex(output, "destroyed|not readable|no waiter is readable")

    def test_a_program_that_does_not_run(self) -> None:
        output = self.shown(options.waiting, "tryst stacks", "tryst waiters plain")
        self.assertIn("tryst: there is no program", output)

    def test_a_program_without_debug_information(self) -> None:
        stripped = self.folder / "stripped"
        subprocess.run(["strip", "-g", "-o", stripped, options.waiting], check=True)
        output = self.shown(stripped, "break main", "run", "tryst stacks", "kill")
        self.assertIn("tryst: there is no debug information about tryst::", output)


class Examples(Case):
    def test_the_deadlocked_pair(self) -> None:
        source = options.source / "examples/deadlock.cpp"
        waits = re.escape(line_of(source, "waits-here"))
        asks = re.escape(line_of(source, "asks-here"))
        stack = (
            rf"^  #0  request\(\) at {waits}, waiting in exchanger 0x\w+ \(%s\), no stop, no deadline\n"
            rf"  #1  serve\(\) at {asks}\n"
            r"  #2  spawned on run_loop 0x"
        )
        for output in self.deadlocked("tryst stacks"):
            for each in ("orders", "stock"):
                self.assert_in_order(output, stack % each)
            self.assertEqual(output.count(": 1 task\n"), 2, output)

    def deadlocked(self, command: str) -> list[str]:
        """What a command prints for the example when it hangs, and for its core dump."""
        core = self.folder / "core"
        with subprocess.Popen([options.deadlock], stdout=subprocess.DEVNULL) as program:
            try:
                for _ in range(600):
                    live = gdb(options.deadlock, f"attach {program.pid}", command,
                               f"generate-core-file {core}", "detach")  # fmt: skip
                    if live.count("waiting in exchanger") == 2 or "1 waiter\n" in live:
                        break
            finally:
                program.kill()
        return [live, gdb(options.deadlock, command, core=core)]

    def test_many_to_many_in_the_middle(self) -> None:
        source = options.source / "examples/many_to_many.cpp"
        lines = source.read_text().splitlines()
        numbers = {text.strip(): number for number, text in enumerate(lines, 1)}
        stop = next(number for text, number in numbers.items() if text.startswith("std::iota("))
        awaits = [number for text, number in numbers.items() if "co_await" in text]
        core = self.folder / "core"
        live = gdb(options.many_to_many, f"break {source.name}:{stop}", "ignore 1 50", "run",
                   "tryst stacks", f"generate-core-file {core}", "kill")  # fmt: skip
        for output in (live, gdb(options.many_to_many, "tryst stacks", core=core)):
            self.assert_in_order(output, r"^run_loop 0x\w+ \(loop\): [1-3] tasks?",
                                 r"^  #0  (produce|consume)\(\)", r"^  #1  spawned on run_loop 0x")  # fmt: skip
            self.assertRegex(output, r"#0  produce\(\), running in thread \d")
            waiting = re.findall(r"#0  \w+\(\) at many_to_many.cpp:(\d+), waiting", output)
            self.assertLessEqual(set(map(int, waiting)), set(awaits), output)


class Adapters(Case):
    """The program in waiting_in_adapters.cpp."""

    def test_tasks_of_when_any_on_an_io_uring_loop(self) -> None:
        source = pathlib.Path(__file__).with_name("waiting_in_adapters.cpp")
        guest, host = (re.escape(line_of(source, name)) for name in ("guest", "host"))
        stack = [rf"#0  guest\(\) at {guest}, waiting in exchanger 0x\w+ \({{}}\), stoppable$", r"#1  tryst::when_any\(\)$",
                 rf"#2  host\(\) at {host}$", r"#3  spawned on uring::context 0x\w+$"]  # fmt: skip
        for output in self.live_and_core(options.adapters, ["break look", "run", "up"], "tryst stacks ring",
                                         "tryst waiters front"):  # fmt: skip
            for name in ("front", "back"):
                self.assert_in_order(output, r"^uring::context 0x\w+ \(ring\): 1 task$",
                                     *(line.format(name) for line in stack))  # fmt: skip
            self.assert_in_order(output, "## tryst waiters front", rf"  0  coroutine guest\(\) at {guest}, on uring::context",
                                 rf"awaited by host\(\) at {host}")  # fmt: skip

    def test_a_handler_a_task_and_a_fiber(self) -> None:
        line = re.escape(line_of(pathlib.Path(__file__).with_name("waiting_in_adapters.cpp"), "task"))
        task = rf"task\(\) at {line}, "
        for output in self.live_and_core(
            options.adapters, ["break look", "run", "up"], "tryst waiters handlers",
            "tryst waiters tasks", "tryst waiters fibers", "tryst stacks", "tryst stacks loop",
        ):  # fmt: skip
            self.assert_in_order(
                output,
                "## tryst waiters handlers", r"  0  Asio handler 0x\w+, no stop, no deadline$",
                "## tryst waiters tasks", rf"  0  coroutine {task}on Asio executor 0x\w+, no stop",
                "## tryst waiters fibers", r"  0  fiber, ",
                "## tryst stacks$", r"^Asio executor 0x\w+.*: 1 task$",
                rf"#0  {task}waiting in exchanger 0x\w+ \(tasks\)", "#1  spawned on Asio executor",
                "## tryst stacks loop", r"^Asio executor 0x\w+.*: 1 task$", rf"#0  {task}waiting",
            )  # fmt: skip
            self.assertNotIn("warning: RTTI", output)


class Hangs(Case):
    """The program in hangs.cpp, in a task that runs."""

    source = pathlib.Path(__file__).with_name("hangs.cpp")

    def test_finds_the_loop_of_a_running_task(self) -> None:
        for output in self.live_and_core(options.hangs, ["break compute", "run"], "tryst stacks"):
            self.assert_in_order(output, r"^run_loop 0x\w+ \(loop\): 5 tasks$", r"\(lobby\)", r"\(buffers\)",
                                 r"^  #0  calculate\(\), running in thread 1\n  #1  spawned on run_loop 0x",
                                 r"^other coroutines:\n  #0  lose\(\) at .*\(forgotten\)")  # fmt: skip
            self.assertRegex(output, r"(?m)^run_loop 0x\w+ \(idle\): 1 task, 1 ready to run$")

    def test_keeps_the_settings_of_the_user(self) -> None:
        shown = ("show language", "show disassembly-flavor", "show backtrace past-main")
        output = gdb(options.hangs, "set disassembly-flavor intel", "break compute", "run", "tryst stacks",
                     *shown, "kill")  # fmt: skip
        self.assert_in_order(output, r'currently c\+\+|"auto; currently', r'flavor is "intel"',
                             "past \"main\" is off")  # fmt: skip


class Page(Case):
    """docs/hangs.md."""

    def normalised(self, output: str) -> set[str]:
        """The lines, without addresses."""
        return {re.sub(r"0x[0-9a-f]+", "0x", line) for line in output.splitlines()}

    def test_every_output_on_it_is_real(self) -> None:
        real: set[str] = set()
        shown = ("tryst stacks", "frame function main", *(f"tryst waiters {each}" for each in (
            "buffers", "lobby", "patient")))  # fmt: skip
        real |= self.normalised(gdb(options.hangs, "break compute", "run", *shown, "kill"))
        example = Examples("deadlocked")
        example.folder = self.folder
        for command in ("tryst stacks", "python gdb.execute('frame function main'); "
                        "gdb.execute('tryst waiters orders')"):  # fmt: skip
            for output in example.deadlocked(command):
                real |= self.normalised(output)
        page = (options.source / "docs/hangs.md").read_text()
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        outputs = "".join(text for language, text in blocks if language == "")
        self.assertGreater(outputs.count("\n"), 20)
        for line in outputs.splitlines():
            if not line.startswith("(gdb) "):
                self.assertIn(re.sub(r"0x[0-9a-f]+", "0x", line), real)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gdb", default="gdb")
    parser.add_argument("--source", type=pathlib.Path, required=True)
    for name in ("adapters", "waiting", "hangs", "deadlock", "many-to-many"):
        parser.add_argument(f"--{name}", type=lambda path: pathlib.Path(path).resolve())
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])

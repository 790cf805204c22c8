#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gdb and the scripts of bpftrace show what a running program does.

    tracers_test.py PROGRAM Gdb|Bpftrace

bpftrace needs root and a kernel with uprobes. Where it has not, the scripts do not run: sources_test.py checks their
steps and arguments everywhere.
"""

import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import steps

sys.path.insert(0, str(steps.TOP / "tests/gdb"))
import gdb  # noqa: E402

PROGRAM = Path(sys.argv[1]).resolve()
# What gdb prints at each probe, and how it reads the arguments.
SESSION = "".join(f"break -probe-stap tryst:{step}\ncommands\nsilent\nprintf {text}\ncontinue\nend\n" for step, text in (
    ("wait_start", r'"start <%s> %#lx %#lx\n", (char *)$_probe_arg0, $_probe_arg1, $_probe_arg2'),
    ("wait_end", r'"end %#lx %d\n", $_probe_arg0, $_probe_arg1'),
    ("claim_in_wait_list", r'"claim %#lx %#lx\n", $_probe_arg0, $_probe_arg1'))) + "run once\n"


class Gdb(unittest.TestCase):
    def test_lists_the_probes(self) -> None:
        listed = re.findall(r"^stap +(\w+) +(\w+) ", gdb.Gdb(self, PROGRAM)("info probes stap tryst"), re.MULTILINE)
        self.assertEqual(set(listed), {("tryst", step) for step in steps.declared(steps.CORE)})

    def test_reads_what_the_program_does(self) -> None:
        with tempfile.NamedTemporaryFile("w") as session:
            session.write(SESSION)
            session.flush()
            said = gdb.Gdb(self, PROGRAM)(f"source {session.name}")
        self.assertIn("exited normally", said)
        waiting: dict[str, str] = {}
        rooms: dict[str, set[str]] = {}  # the exchangers by name
        claims = 0
        ends: list[tuple[str, str]] = []
        for start, waiter, exchanger, end, outcome, claimed_in, claimed in re.findall(
                r"^(?:start <(.*)> (0x\w+) (0x\w+)|end (0x\w+) (\d)|claim (0x\w+) (0x\w+))$", said, re.MULTILINE):
            if waiter:
                self.assertNotIn(waiter, waiting, "it waits already")
                waiting[waiter] = start
                rooms.setdefault(start, set()).add(exchanger)
            elif end:
                ends.append((waiting.pop(end), steps.outcomes()[int(outcome)]))
            else:
                self.assertIn(claimed_in, rooms[waiting[claimed]])
                claims += 1
        self.assertEqual((claims, waiting), (3, {}), said)
        self.assertEqual([len(each) for each in rooms.values()], [1, 1, 1], said)
        self.assertEqual(len(set.union(*rooms.values())), 3, said)
        self.assertEqual(sorted(ends), [
            ("", "exchanged"), ("lobby", "closed"), ("lobby", "exchanged"), ("lobby", "not_selected"),
            ("office", "cancelled"), ("office", "exchanged"), ("office", "timed_out")], said)


class Bpftrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        try:
            command = ["bpftrace", "-c", f"{PROGRAM} once", "-e", f"usdt:{PROGRAM}:tryst:wait_start {{ @ = count(); }}"]
            said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=60).stdout
        except subprocess.TimeoutExpired:
            said = "it does not end"
        if "@: 7\n" not in said:
            raise unittest.SkipTest(f"bpftrace cannot probe programs here: {said}")

    def shown(self, script: str, wanted: str, *arguments: str, what: str = "long", keys: int = 4096) -> str:
        """What a script prints about the program until it contains `wanted`, and when it is interrupted then."""
        text = (steps.TOP / "src/bpftrace" / script).read_text()
        if script == "wait_latency.bt":  # prints only at its end
            text += 'usdt::tryst:wait_end { printf("a wait\\n"); }\n'
        with subprocess.Popen([PROGRAM, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout and program.stdin
            self.assertEqual(program.stdout.readline(), f"{what}\n")
            command = ["bpftrace", "-B", "line", "-p", str(program.pid), "-e", text, *arguments]
            said = ""
            while not re.search(wanted, said):  # on a busy machine, bpftrace may miss a probe when it attaches: again
                said = self.traced(command, wanted, keys)
            program.stdin.close()
            self.assertEqual(program.wait(), 0)
        return said

    def traced(self, command: list[str], wanted: str, keys: int) -> str:
        limited = {**os.environ, "BPFTRACE_MAP_KEYS_MAX": str(keys)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=limited) as tracer:
            assert tracer.stdout
            said = b""
            while not re.search(wanted, said.decode()) and select.select([tracer.stdout], [], [], 20)[0]:
                data = os.read(tracer.stdout.fileno(), 4096)
                self.assertNotEqual(data, b"", said)
                said += data
            tracer.send_signal(signal.SIGINT)
            return (said + tracer.communicate()[0]).decode()

    def test_latencies_of_all_exchangers(self) -> None:
        said = self.shown("wait_latency.bt", "(a wait\n){6}")
        self.assertRegex(said, r"@wait_us\[lobby\]: *\n\[(16|32|64|128|256|512)K, ")  # 20 ms or more
        self.assertIn("@wait_us[office]:", said)
        self.assertNotIn("@wait[", said)
        self.assertIn("@left_out: 0\n", said)

    def test_latencies_of_one_exchanger(self) -> None:
        said = self.shown("wait_latency.bt", "(a wait\n){6}", "office")
        self.assertIn("@wait_us[office]: ", said)
        self.assertNotIn("lobby", said)

    def test_latencies_of_waits_only(self) -> None:
        said = self.shown("wait_latency.bt", "(a wait\n){200}", what="crowd")
        histogram = said.rpartition("@wait_us[lobby]:")[2]
        short = re.findall(r"^\[(\d+)(?:, \d+\))?\]? +(\d+) \|", histogram, re.MULTILINE)  # less than 1 ms
        self.assertEqual([number for _, number in short if number != "0"], [], said)  # senders find their partners

    def test_say_what_they_leave_out(self) -> None:
        for script, ends, *argument in ("wait_latency.bt", "a wait"), ("long_waits.bt", "exchanged", "1"):
            with self.subTest(script):
                said = self.shown(script, rf"Too many waits at once[^@]*\n[^@]*{ends}", *argument, what="crowd", keys=30)
                self.assertEqual(said.count("Too many waits at once"), 1, said)
                self.assertRegex(said, r"@left_out: [1-9]\d*\n")

    def test_long_waits_with_their_stacks(self) -> None:
        said = self.shown("long_waits.bt", r"\d\d ms in \"lobby\", thread \d+: timed_out\n +\S+.*\+\d+\n", "10")
        # The office's waits of 1 ms are among them only where a busy machine made them longer.
        for milliseconds in re.findall(r"(\d+) ms in", said):
            self.assertGreater(int(milliseconds), 10)
        self.assertRegex(said, r"@long_waits: \d+\n")
        self.assertGreaterEqual(int(re.search(r"@long_waits: (\d+)\n", said)[1]), said.count("thread "))

    def test_steps_in_each_second(self) -> None:
        said = self.shown("steps.bt", r"\d\d:\d\d:\d\d\n(@.*\n)*@\[usdt:.*:tryst:wait_end\]: \d+\n")
        self.assertIn(":tryst:wait_start]: ", said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])

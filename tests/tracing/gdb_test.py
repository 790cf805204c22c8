#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gdb reads the arguments of the probes in a running program.

    gdb_test.py GDB PROGRAM
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import steps

SESSION = r"""
set pagination off
set confirm off
set disable-randomization off
break -probe-stap tryst:wait_start
commands
silent
printf "start <%s> %#lx %#lx\n", (char *)$_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap tryst:wait_end
commands
silent
printf "end %#lx %d\n", $_probe_arg0, $_probe_arg1
continue
end
break -probe-stap tryst:claim_in_wait_list
commands
silent
printf "claim %#lx %#lx\n", $_probe_arg0, $_probe_arg1
continue
end
run once
"""


class Gdb(unittest.TestCase):
    gdb = program = ""
    said = ""

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            session = Path(folder) / "session"
            session.write_text(SESSION)
            done = subprocess.run([cls.gdb, "-nx", "-batch", "-x", session, cls.program], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=200)
            cls.said = done.stdout + done.stderr

    def test_lists_the_probes(self) -> None:
        command = [self.gdb, "-nx", "-batch", "-ex", "info probes stap tryst", self.program]
        listed = {line.split()[1] + ":" + line.split()[2] for line in
                  subprocess.check_output(command, text=True).splitlines() if line.startswith("stap")}
        self.assertEqual(listed, {f"tryst:{step}" for step in steps.declared(steps.CORE)})

    def test_the_program_ends(self) -> None:
        self.assertIn("exited normally", self.said)

    def test_names_and_outcomes_are_what_the_program_does(self) -> None:
        names: dict[str, str] = {}
        ends: list[tuple[str, str]] = []
        for what, name, start, end, outcome in re.findall(
                r"^(start) <(.*)> (0x\w+) 0x\w+$|^end (0x\w+) (\d)$", self.said, re.MULTILINE):
            if what:
                self.assertNotIn(start, names, "it waits already")
                names[start] = name
            else:
                ends.append((names.pop(end), steps.outcomes()[int(outcome)]))
        self.assertEqual(names, {}, "waits without an end")
        self.assertEqual(sorted(ends), sorted([
            ("lobby", "exchanged"), ("office", "timed_out"), ("office", "cancelled"), ("", "exchanged"),
            ("lobby", "not_selected"), ("office", "exchanged"), ("lobby", "closed")]), self.said)

    def test_each_name_belongs_to_one_exchanger(self) -> None:
        pairs = set(re.findall(r"^start <(.*)> 0x\w+ (0x\w+)$", self.said, re.MULTILINE))
        self.assertEqual(sorted(name for name, _ in pairs), ["", "lobby", "office"], self.said)

    def test_a_claim_names_a_waiter_and_its_exchanger(self) -> None:
        waiters = {(exchanger, waiter) for waiter, exchanger in
                   re.findall(r"^start <.*> (0x\w+) (0x\w+)$", self.said, re.MULTILINE)}
        claims = re.findall(r"^claim (0x\w+) (0x\w+)$", self.said, re.MULTILINE)
        self.assertEqual(len(claims), 3, self.said)
        self.assertEqual(set(claims) - waiters, set())


if __name__ == "__main__":
    Gdb.gdb, Gdb.program = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])

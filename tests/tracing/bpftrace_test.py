#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scripts of bpftrace show what a running program does.

    bpftrace_test.py BPFTRACE PROGRAM

bpftrace needs root and a kernel with uprobes. Where it has not, this test says so, and checks only that the scripts
name no probes but those of the program; sources_test.py checks their arguments everywhere.
"""

import fnmatch
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import steps

FOLDER = steps.TOP / "src/bpftrace"


class Bpftrace(unittest.TestCase):
    bpftrace = program = ""
    why_not = ""

    @classmethod
    def setUpClass(cls) -> None:
        probe = f"usdt:{cls.program}:tryst:wait_start {{ @ = count(); }}"
        command = [cls.bpftrace, "-c", f"{cls.program} once", "-e", probe]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              start_new_session=True) as tried:  # fmt: skip
            try:
                said = tried.communicate(timeout=60)[0]
                if "@: 7" not in said:
                    cls.why_not = said.strip() or f"status {tried.returncode}"
            except subprocess.TimeoutExpired:
                os.killpg(tried.pid, signal.SIGKILL)  # the program, too: it may wait for bpftrace
                cls.why_not = "it does not end"
        if cls.why_not:
            print(f"bpftrace cannot probe programs here, so the scripts do not run: {cls.why_not}")
        else:
            print("bpftrace can probe programs here, so the scripts run")

    def output_of(self, script: str, *arguments: str, wanted: str) -> str:
        """What a script prints about the program. Runs for longer and longer, until this contains `wanted`."""
        with subprocess.Popen([self.program, "long"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout and program.stdin
            self.assertEqual(program.stdout.readline(), "long\n")
            said = ""
            for seconds in 2, 4, 8, 16, 32:
                command = [self.bpftrace, "-p", str(program.pid), str(FOLDER / script), *arguments]
                with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tracer:
                    time.sleep(seconds)  # orders nothing: a longer one follows if it was too short
                    said = self.interrupted(tracer)
                if re.search(wanted, said):
                    break
            program.stdin.close()
            self.assertEqual(program.wait(), 0)
        self.assertRegex(said, wanted)
        return said

    def interrupted(self, tracer: subprocess.Popen[str]) -> str:
        """What a tracer has printed when it ends. It may miss an interrupt that comes while it starts."""
        while True:
            tracer.send_signal(signal.SIGINT)
            try:
                return tracer.communicate(timeout=10)[0]
            except subprocess.TimeoutExpired:
                pass

    def run_or_compare(self, script: str, *arguments: str, wanted: str) -> str:
        if not self.why_not:
            return self.output_of(script, *arguments, wanted=wanted)
        notes = subprocess.check_output(["readelf", "--notes", self.program], text=True)
        present = re.findall(r"Provider: tryst\n +Name: (\w+)", notes)
        for pattern in steps.used_by(FOLDER / script):
            self.assertNotEqual(fnmatch.filter(present, pattern), [], pattern)
        return ""

    def test_latencies_of_all_exchangers(self) -> None:
        said = self.run_or_compare("wait_latency.bt", wanted=r"@wait_us\[lobby\]: \n(.*\n)*\[16K, 32K\)")
        if said:
            self.assertIn("@wait_us[office]:", said)
            self.assertNotIn("@start", said)

    def test_latencies_of_one_exchanger(self) -> None:
        said = self.run_or_compare("wait_latency.bt", "office", wanted=r"@wait_us\[office\]: ")
        self.assertNotIn("lobby", said)

    def test_long_waits_with_their_stacks(self) -> None:
        said = self.run_or_compare("long_waits.bt", "10", wanted=r"\d\d ms in \"lobby\", thread \d+: timed_out\n +\S+.*\+\d+\n")
        # The office's waits of 1 ms are among them only where a busy machine made them longer.
        for milliseconds in re.findall(r"(\d+) ms in", said):
            self.assertGreater(int(milliseconds), 10)

    def test_steps_in_each_second(self) -> None:
        said = self.run_or_compare("steps.bt", wanted=r"\d\d:\d\d:\d\d\n(@\[.*\n)*@\[usdt:.*:tryst:wait_end\]: \d+\n")
        if said:
            self.assertIn(":tryst:wait_start]: ", said)


if __name__ == "__main__":
    Bpftrace.bpftrace, Bpftrace.program = sys.argv[1], str(Path(sys.argv[2]).resolve())
    unittest.main(argv=sys.argv[:1])

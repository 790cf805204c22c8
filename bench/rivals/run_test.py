#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of run.py: python3 bench/rivals/run_test.py"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import grid
from rival import Failure, Run, parse
from run import summary
from schedule import in_turn, repetitions

GOOD = '{"count": 10, "seconds": 0.1, "ns": 7, "conserved": true}'
RIVAL = """#!/bin/sh
if [ "$1" = list ]; then echo "fake one swap-threads"; echo "other swap-threads"; exit; fi
%s
"""


class Results(unittest.TestCase):
    def test_a_failed_run_is_reported(self):
        self.assertEqual(parse("a", 0, GOOD, "")["ns"], 7)
        for status, out, said in [(1, GOOD.replace("true", "false"), "not conserved"), (3, GOOD, "exit status 3"),
                                  (0, GOOD.replace("10", "0"), "did nothing"), (0, "", "no result"),
                                  (0, GOOD.replace("true", "1"), "not conserved"), (0, GOOD + GOOD, "no result")]:
            with self.assertRaisesRegex(Failure, said):
                parse("a", status, out, "")

    def test_keeps_medians_of_figures_that_every_sample_has(self):
        run = Run(Path(), "a", "timed-threads", {"threads": 2})
        run.results = [{"ns": ns, "success": ns / 10, **extra} for ns, extra in [(9, {"p50": 1}), (1, {}), (2, {"p50": 1})]]
        found = summary(run)
        self.assertEqual([found[key] for key in ("unit", "median", "min", "max", "success")], ["ns", 2, 1, 9, 0.2])
        self.assertNotIn("p50", found)

    def test_keeps_the_share_of_lost_items(self):
        lossy = Run(Path(), "a", "select-tasks", {"tasks": 2}, results=[{"ns": 1, "lost": share} for share in (0.5, 0.25, 0)])
        self.assertEqual(summary(lossy)["lost"], 0.25)

    def test_memory_is_in_bytes(self):
        run = Run(Path(), "a", "memory-tasks", {"tasks": 2}, results=[{"ns": 0, "bytes": 64}])
        self.assertEqual([summary(run)[key] for key in ("unit", "median")], ["bytes", 64])


class Schedule(unittest.TestCase):
    def test_slow_runs_are_repeated_less_often_when_time_is_short(self):
        self.assertEqual(repetitions([1, 10], 5, 55), [5, 5])
        self.assertEqual(repetitions([0.5, 10], 5, 40), [5, 3])
        self.assertEqual(repetitions([0.5, 10], 5, 31.6), [3, 3])
        self.assertEqual(repetitions([0.5, 10], 5, 1), [3, 3])

    def test_runs_of_the_same_work_are_adjacent(self):
        every = [Run(Path("go/rival"), name, workload, {"threads": count}) for name in "ab"
                 for workload in ("handoff-threads", "swap-threads") for count in (2, 4)]
        names = [run.name for run in in_turn(every)]
        self.assertEqual(names[:4], [f"go: {name}: swap-threads --threads {count}" for count in (2, 4) for name in "ab"])

    def test_smoke_covers_all_workloads(self):
        self.assertEqual(grid.SMOKE.keys(), grid.FULL.keys())

    def test_variants_for_one_loop_are_not_run_on_two(self):
        loops = lambda name: {each["loops"] for each in grid.FULL["swap-tasks"] if grid.measured(name, each)}
        self.assertEqual(loops("tryst on Asio"), {1, 2})
        self.assertEqual(loops("tryst on Asio, any_io_executor"), {1})
        self.assertTrue(grid.measured("tryst on Asio, any_io_executor", {"tasks": 2}))


class Driver(unittest.TestCase):
    def run_with(self, body):
        with tempfile.TemporaryDirectory() as folder:
            program, output = Path(folder, "rival"), Path(folder, "out.json")
            program.write_text(RIVAL % body)
            program.chmod(0o755)
            done = subprocess.run([sys.executable, Path(__file__).with_name("run.py"), "--program", program, "--output", output,
                                   "--seconds", "0.01", "--repetitions", "2", "--only", "fake"],
                                  capture_output=True, text=True, check=False)
            return done, json.loads(output.read_text()) if output.exists() else None

    def test_writes_the_results(self):
        done, found = self.run_with(f"echo '{GOOD}'")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([run["parameters"]["threads"] for run in found["runs"]], [2, 4, 8, 16, 32])
        self.assertEqual(found["runs"][0]["samples"], [7, 7])

    def test_one_lying_program_fails_all(self):
        liar = f"""if [ "$4" = 16 ]; then echo '{GOOD.replace("true", "false")}'; exit 1; fi; echo '{GOOD}'"""
        done, found = self.run_with(liar)
        self.assertEqual(done.returncode, 1)
        self.assertIn("fake one: swap-threads --threads 16: items were not conserved", done.stderr)
        self.assertIsNone(found)


if __name__ == "__main__":
    unittest.main()

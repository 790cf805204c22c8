#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that designs scale on simulated processors, whose figures do not depend on the machine.

scale_test.py SCALE_MODEL
"""

import json
import subprocess
import sys
import unittest

MODEL = sys.argv.pop()


class Scale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The program itself checks that items are conserved, and that a seed gives the same run again.
        ran = subprocess.run([MODEL, "--json", "--loads"], capture_output=True, text=True, check=True)
        result = json.loads(ran.stdout)
        cls.throughput = {(curve["kind"], curve["design"], point["p"]): point["throughput"]
                          for curve in result["curves"] + result["contexts"] for point in curve["points"]}
        cls.loads = {(curve["load"], curve["design"], point["p"]): point["throughput"]
                     for curve in result["loads"] if curve["kind"] == "loops" for point in curve["points"]}

    def test_loops_scale_to_64_processors(self):
        for processors in (2, 4, 8, 16, 32):
            self.assertGreater(self.throughput["loops", "arena", 2 * processors],
                               1.7 * self.throughput["loops", "arena", processors], processors)

    def test_threads_leave_one_slot_behind(self):
        self.assertGreater(self.throughput["threads", "arena", 64], 5 * self.throughput["threads", "one slot", 64])
        self.assertGreater(self.throughput["threads", "arena", 128], 500)

    def test_two_colours_eliminate_as_the_exchanger_does(self):
        for processors in (4, 8, 16, 32, 64, 128):
            lifo = self.throughput["loops", "lifo", processors]
            self.assertGreater(lifo, self.throughput["loops", "mutex", processors], processors)
            self.assertGreater(lifo, self.throughput["loops", "arena", processors] / 2, processors)

    def test_threads_of_two_colours_leave_a_mutex_behind(self):
        for processors in (8, 16, 32, 64, 128):
            self.assertGreater(self.throughput["threads", "lifo", processors],
                               self.throughput["threads", "mutex", processors], processors)

    def test_loops_with_one_coroutine_are_no_slower_in_an_arena(self):
        for load in ("one coroutine on each", "one coroutine on each, 0.5 us of work"):
            for processors in (2, 4, 8, 16, 32, 64, 128):
                self.assertGreater(self.loads[load, "arena", processors],
                                   0.98 * self.loads[load, "one slot", processors], (load, processors))

    def test_the_lists_of_a_context_are_no_slower_than_a_mutex(self):
        for kind in ("loops", "threads"):
            for processors in (1, 2, 4, 8, 16, 32, 64, 128):
                self.assertGreater(self.throughput[kind, "lists", processors],
                                   0.98 * self.throughput[kind, "one list", processors], (kind, processors))


if __name__ == "__main__":
    unittest.main()

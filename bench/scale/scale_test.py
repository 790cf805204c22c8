#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the arena scales on simulated processors, whose figures do not depend on the machine.

scale_test.py SCALE_MODEL
"""

import json
import subprocess
import sys
import unittest

MODEL = sys.argv.pop()


class Arena(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The program itself checks that items are conserved, and that a seed gives the same run again.
        ran = subprocess.run([MODEL, "--json", "--max-cores", "64"], capture_output=True, text=True, check=True)
        cls.throughput = {(curve["kind"], curve["design"], point["p"]): point["throughput"]
                          for curve in json.loads(ran.stdout)["curves"] for point in curve["points"]}

    def test_loops_scale_to_64_processors(self):
        for processors in (2, 4, 8, 16, 32):
            self.assertGreater(self.throughput["loops", "arena", 2 * processors],
                               1.7 * self.throughput["loops", "arena", processors], processors)

    def test_threads_leave_one_slot_behind(self):
        self.assertGreater(self.throughput["threads", "arena", 64], 5 * self.throughput["threads", "one slot", 64])


if __name__ == "__main__":
    unittest.main()

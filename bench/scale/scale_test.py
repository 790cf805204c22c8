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


def simulate(*options):
    # The program itself checks that items are conserved, and that a seed gives the same run again.
    return json.loads(subprocess.run([MODEL, "--json", *options], capture_output=True, text=True, check=True).stdout)


def throughputs(curves):
    return {(curve["kind"], curve["design"], point["p"]): point["throughput"] for curve in curves for point in curve["points"]}


class Scale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        result = simulate("--loads", "--time", "150")
        cls.throughput = throughputs(result["curves"] + result["contexts"])
        cls.loads = {(curve["load"], curve["design"], point["p"]): point["throughput"]
                     for curve in result["loads"] if curve["kind"] == "loops" for point in curve["points"]}

    def test_loops_scale_to_64_processors(self):
        for processors in (2, 4, 8, 16, 32):
            self.assertGreater(self.throughput["loops", "arena", 2 * processors],
                               1.7 * self.throughput["loops", "arena", processors], processors)

    def test_threads_leave_one_slot_behind(self):
        for processors in (64, 128):
            self.assertGreater(self.throughput["threads", "arena", processors],
                               5 * self.throughput["threads", "one slot", processors], processors)

    def test_two_colours_eliminate_as_the_exchanger_does(self):
        for processors in (4, 8, 16, 32, 64, 128):
            lifo = self.throughput["loops", "lifo", processors]
            self.assertGreater(lifo, self.throughput["loops", "mutex", processors], processors)
            self.assertGreater(lifo, self.throughput["loops", "arena", processors] / 2, processors)

    def test_no_order_is_slower_than_a_mutex(self):
        for order in ("fifo", "lifo"):
            for kind, few in (("loops", 4), ("threads", 16)):
                for processors in (4, 8, 16, 32, 64, 128):
                    if processors >= few:
                        self.assertGreater(self.throughput[kind, order, processors],
                                           self.throughput[kind, "mutex", processors], (kind, order, processors))

    def test_tickets_reach_half_of_a_bare_counter(self):
        for processors in (8, 16, 32, 64, 128):
            self.assertGreater(self.throughput["loops", "fifo", processors],
                               self.throughput["loops", "ticket", processors] / 2, processors)

    def test_selections_do_not_collapse(self):
        for kind in ("loops", "threads"):
            for processors in (16, 32, 64, 128):
                self.assertGreater(self.throughput[kind, "select", processors],
                                   0.6 * self.throughput[kind, "select", 8], (kind, processors))

    def test_counting_the_waiting_is_no_slower_than_a_mutex(self):
        for processors in (16, 32, 64, 128):
            self.assertGreater(self.throughput["loops", "remote", processors],
                               self.throughput["loops", "mutex", processors], processors)
            self.assertGreater(self.throughput["threads", "remote", processors],
                               0.95 * self.throughput["threads", "mutex", processors], processors)

    def test_counters_scale_as_the_exchanger_does(self):
        for kind, share in (("loops", 0.7), ("threads", 0.5)): # the thread of a waiter and its partner share its line
            for processors in (2, 4, 8, 16, 32, 64, 128):
                self.assertGreater(self.throughput[kind, "counted", processors],
                                   share * self.throughput[kind, "arena", processors], (kind, processors))
        for processors in (8, 16, 32, 64, 128):
            self.assertGreater(self.throughput["threads", "counted", processors],
                               self.throughput["threads", "mutex", processors], processors)

    def test_loops_with_one_coroutine_are_no_slower_in_an_arena(self):
        for load in ("one coroutine on each", "one coroutine on each, 0.5 us of work"):
            for processors in (2, 4, 8, 16, 32, 64, 128):
                self.assertGreater(self.loads[load, "arena", processors],
                                   0.85 * self.loads[load, "one slot", processors], (load, processors))

    def test_the_lists_of_a_context_are_no_slower_than_a_mutex(self):
        for kind in ("loops", "threads"):
            for processors in (1, 2, 4, 8, 16, 32, 64, 128):
                self.assertGreater(self.throughput[kind, "lists", processors],
                                   0.98 * self.throughput[kind, "one list", processors], (kind, processors))

    def test_two_sockets_slow_down_what_crosses_them(self):
        result = simulate("--time", "100", "--max-cores", "8", "--sockets", "2", "--loads")
        one, two = throughputs(result["curves"]), throughputs(result["sockets"]["curves"])
        for kind in ("loops", "threads"):
            self.assertLess(two[kind, "one slot", 2], 0.6 * one[kind, "one slot", 2], kind)
        self.assertGreater(two["loops", "arena", 8], 0.9 * one["loops", "arena", 8]) # each loop has a slot of its own
        surplus = [curve["design"] for curve in result["loads"] if curve["load"] == "two reds for each blue"]
        self.assertEqual(surplus, ["fifo", "lifo"] * 2)


if __name__ == "__main__":
    unittest.main()

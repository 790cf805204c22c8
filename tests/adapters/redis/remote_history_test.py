#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the checker of histories finds each kind of violation, and accepts what is right."""

import sys
import unittest

sys.dont_write_bytecode = True # keeps the source tree clean

from remote_history import History


def logs(*texts):
    """Parses logs, each a text of lines without time, separated by commas."""
    return [[f"{time} {line.strip()}\n" for time, line in enumerate(text.split(","))] for text in texts]


class HistoryChecker(unittest.TestCase):
    def problems(self, *texts, killed=(), **limits):
        history = History()
        for index, lines in enumerate(logs(*texts)):
            history.read(lines, index in killed)
        return history.check(**limits)

    def accepts(self, *texts, **more):
        self.assertEqual(self.problems(*texts, **more), [])

    def refuses(self, words, *texts, **more):
        found = self.problems(*texts, **more)
        self.assertTrue(any(words in each for each in found), found)

    MET = ("offer a exchange r 9, got a b exchange r, end", "offer b exchange r 9, got b a exchange r, end")

    def test_accepts_an_exchange(self):
        self.accepts(*self.MET)
        history = History()
        for lines in logs(*self.MET):
            history.read(lines)
        self.assertEqual((history.exchanges(), history.count("got")), (1, 2))

    def test_accepts_colours_and_channels(self):
        self.accepts("offer a red r 9, got a b blue r, end", "offer b blue r 9, got b a red r, end")
        self.accepts("offer a send r 9, got a, end", "offer b receive r 9, got b a send r, end")

    def test_accepts_all_ways_to_fail(self):
        for why in ("timed_out", "cancelled", "closed", "no_partner", "unavailable"):
            self.accepts(f"offer a exchange r 9, returned a {why}, end")
        self.accepts("offer a exchange r 9, in_doubt a who knows, end")

    def test_accepts_a_partner_in_doubt(self):
        self.accepts(self.MET[0], "offer b exchange r 9, in_doubt b why, end")
        self.accepts("offer a send r 9, got a, end", "offer b receive r 9, in_doubt b why, end")
        self.accepts("offer a send r 9, in_doubt a why, end", "offer b receive r 9, got b a send r, end")

    def test_accepts_a_killed_partner(self):
        self.accepts(self.MET[0], "offer b exchange r 9", killed=(1,))
        self.accepts("offer a send r 9, got a, end", "offer b receive r 9", killed=(1,))
        self.accepts("offer a send r 9", "offer b receive r 9, got b a send r, end", killed=(0,))

    def test_accepts_a_torn_last_line_of_a_killed_process(self):
        history = History()
        history.read(["0 offer a exchange r 9\n", "1 got a"], killed=True)
        self.assertEqual(history.check(), [])

    def test_refuses_an_item_received_twice(self):
        self.refuses("was received by", *self.MET,
                     "offer c exchange r 9, got c a exchange r, end")
        self.refuses("was received by", "offer a send r 9, in_doubt a why, end",
                     "offer b receive r 9, got b a send r, end", "offer c receive r 9, got c a send r, end")

    def test_refuses_an_item_received_and_returned(self):
        self.refuses("returned to its owner: timed_out", self.MET[0],
                     "offer b exchange r 9, returned b timed_out, end")
        self.refuses("returned to its owner: closed", "offer a send r 9, returned a closed, end",
                     "offer b receive r 9, got b a send r, end")

    def test_refuses_a_one_sided_exchange(self):
        found = self.problems("offer a exchange r 9, got a b exchange r, end",
                              "offer b exchange r 9, got b c exchange r, end",
                              "offer c exchange r 9, in_doubt c why, end")
        self.assertTrue(any("got the item of c" in each for each in found), found)
        self.assertTrue(any("got nothing of it" in each for each in found), found)

    def test_refuses_an_item_sent_to_nobody(self):
        self.refuses("not received", "offer a send r 9, got a, end",
                     "offer b receive r 9, returned b timed_out, end")
        self.refuses("not received", "offer a send r 9, got a, end",
                     "offer b receive s 9, in_doubt b why, end")
        self.refuses("not received", "offer a send r 9, got a, offer c send r 9, got c, end",
                     "offer b receive r 9, in_doubt b why, end")

    def test_refuses_an_item_of_another_room_or_kind(self):
        self.refuses("in exchange r got", "offer a exchange r 9, got a b exchange s, end",
                     "offer b exchange s 9, in_doubt b why, end")
        self.refuses("in red r got", "offer a red r 9, got a b red r, end",
                     "offer b red r 9, in_doubt b why, end")

    def test_refuses_a_broken_item(self):
        self.refuses("broken item", "offer a exchange r 9, got a b exchange r incomplete, end")
        self.refuses("broken item", "offer a exchange r 9, got a, end")
        self.refuses("another_item", "offer a exchange r 9, returned a another_item, end")

    def test_refuses_an_item_that_nobody_offered(self):
        self.refuses("nobody offered", "offer a exchange r 9, got a b exchange r, end")

    def test_refuses_an_operation_without_end(self):
        self.refuses("has not ended", "offer a exchange r 9, end")
        self.refuses("too early", "offer a exchange r 9, returned a timed_out")

    def test_refuses_two_ends(self):
        self.refuses("ended twice", "offer a exchange r 9, returned a timed_out, in_doubt a why, end")
        self.refuses("did not begin", "returned a timed_out, end")
        self.refuses("offered twice", "offer a exchange r 9, returned a closed, "
                     "offer a exchange r 9, returned a closed, end")

    def test_refuses_a_late_end(self):
        self.refuses("with a patience", "offer a exchange r 0, in_doubt a why, end", longest=0)
        self.accepts("offer a exchange r -1, in_doubt a why, end", longest=0)


if __name__ == "__main__":
    unittest.main()

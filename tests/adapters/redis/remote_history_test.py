#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the checker of histories finds each kind of violation, and accepts what is right."""

import sys
import unittest

sys.dont_write_bytecode = True # keeps the source tree clean

from remote_history import History

# The logs of processes: lines without time, separated by commas. "killed" ends that of a process that was.
A_MET = "offer a exchange r 9, got a b exchange r, end"
MET = (A_MET, "offer b exchange r 9, got b a exchange r, end")
SENT = "offer a send r 9, got a, end"
RECEIVED = "offer b receive r 9, got b a send r, end"

RIGHT = (
    MET,
    ("offer a red r 9, got a b blue r, end", "offer b blue r 9, got b a red r, end"),
    (SENT, RECEIVED),
    *((f"offer a exchange r 9, returned a {why}, end",)
      for why in ("timed_out", "cancelled", "closed", "no_partner", "unavailable")),
    ("offer a exchange r 9, in_doubt a who knows, end",),
    ("offer a exchange r -1, in_doubt a why, end",),
    # The partner is in doubt.
    (A_MET, "offer b exchange r 9, in_doubt b why, end"),
    (SENT, "offer b receive r 9, in_doubt b why, end"),
    ("offer a send r 9, in_doubt a why, end", RECEIVED),
    # The partner was killed.
    (A_MET, "offer b exchange r 9, killed"),
    (SENT, "offer b receive r 9, killed"),
    ("offer a send r 9, killed", RECEIVED),
)

# What the checker says, and the logs.
WRONG = (
    # An item is received twice.
    ("was received by", *MET, "offer c exchange r 9, got c a exchange r, end"),
    ("was received by", "offer a send r 9, in_doubt a why, end", RECEIVED, "offer c receive r 9, got c a send r, end"),
    # It is received and returned.
    ("returned to its owner: timed_out", A_MET, "offer b exchange r 9, returned b timed_out, end"),
    ("returned to its owner: closed", "offer a send r 9, returned a closed, end", RECEIVED),
    # An exchange is not mutual.
    ("got the item of c", A_MET, "offer b exchange r 9, got b c exchange r, end",
     "offer c exchange r 9, in_doubt c why, end"),
    ("got nothing of it", A_MET, "offer b exchange r 9, got b c exchange r, end",
     "offer c exchange r 9, in_doubt c why, end"),
    # Something was sent to nobody.
    ("not received", SENT, "offer b receive r 9, returned b timed_out, end"),
    ("not received", SENT, "offer b receive s 9, in_doubt b why, end"),
    ("not received", "offer a send r 9, got a, offer c send r 9, got c, end", "offer b receive r 9, in_doubt b why, end"),
    # The item is of another room or kind, or broken, or nobody's.
    ("in exchange r got", "offer a exchange r 9, got a b exchange s, end", "offer b exchange s 9, in_doubt b why, end"),
    ("in red r got", "offer a red r 9, got a b red r, end", "offer b red r 9, in_doubt b why, end"),
    ("broken item", "offer a exchange r 9, got a b exchange r incomplete, end"),
    ("broken item", "offer a exchange r 9, got a, end"),
    ("another_item", "offer a exchange r 9, returned a another_item, end"),
    ("nobody offered", A_MET),
    # An operation has not one beginning and one end, in time.
    ("has not ended", "offer a exchange r 9, end"),
    ("too early", "offer a exchange r 9, returned a timed_out"),
    ("ended twice", "offer a exchange r 9, returned a timed_out, in_doubt a why, end"),
    ("did not begin", "returned a timed_out, end"),
    ("offered twice", "offer a exchange r 9, returned a closed, offer a exchange r 9, returned a closed, end"),
    ("with a patience", "offer a exchange r 0, in_doubt a why, end"),
)


def history_of(logs):
    history = History()
    for log in logs:
        killed = log.endswith(", killed")
        lines = log.removesuffix(", killed").split(", ")
        history.read([f"{time} {line}\n" for time, line in enumerate(lines)], killed)
    return history


class HistoryChecker(unittest.TestCase):
    def test_accepts_what_is_right(self):
        for logs in RIGHT:
            self.assertEqual(history_of(logs).check(longest=0), [], logs)

    def test_finds_what_is_wrong(self):
        for words, *logs in WRONG:
            found = history_of(logs).check(longest=0)
            self.assertTrue(any(words in each for each in found), f"{logs}: no {words!r} in {found}")

    def test_accepts_a_torn_last_line_of_a_killed_process(self):
        history = History()
        history.read(["0 offer a exchange r 9\n", "1 got a"], killed=True)
        self.assertEqual(history.check(), [])

    def test_counts(self):
        history = history_of(MET)
        self.assertEqual((history.exchanges(), history.count("got")), (1, 2))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""invariants.py accepts a library that keeps its rules, and names the rule that a changed copy breaks."""

import tempfile
import unittest
from pathlib import Path

from invariants import complaints

GOOD = """
/* The slot
 * I1. Only the winner touches the waiter.
 *
 * I2. The exchanger outlives every withdrawal.
 *     1. A withdrawer announces itself.
 *     2. A completer pins the exchanger.
 *
 * Not handled:
 *     3. fairness */
void claim(); // nothing is dereferenced (I1); the exchanger is alive (I2.2)
"""


class Invariants(unittest.TestCase):
    def complaints_about(self, header: str, other: str = "", folder: str = "docs") -> list[str]:
        with tempfile.TemporaryDirectory() as name:
            top = Path(name)
            for part in ("include/tryst", "src/uring", "tests/spin", "tests/model", "docs/adr"):
                (top / part).mkdir(parents=True)
            (top / "include/tryst/slot.hpp").write_text(header)
            (top / folder / "other.md").write_text(other)
            return list(complaints(top))

    def test_accepts_definitions_and_citations(self) -> None:
        self.assertEqual(self.complaints_about(GOOD, "A waiter is used after its end (I1), I2.1 to I2.2"), [])

    def test_wants_one_definition(self) -> None:
        found = self.complaints_about(GOOD, "// I1. Again.", "src/uring")
        self.assertEqual(found, ["src/uring/other.md:1: I1 is defined at include/tryst/slot.hpp:3, too"])

    def test_wants_numbers_without_gaps(self) -> None:
        found = self.complaints_about(GOOD.replace("I1. Only", "I3. Only"))
        self.assertIn("I1 is not defined, but a higher number is", found)

    def test_wants_what_is_cited(self) -> None:
        for folder in ("include/tryst", "src/uring", "tests/spin", "tests/model", "docs/adr"):
            with self.subTest(folder):
                self.assertEqual(self.complaints_about(GOOD, "see I3", folder), [f"{folder}/other.md:1: I3 is not defined"])

    def test_wants_the_step_that_is_cited(self) -> None:
        self.assertEqual(self.complaints_about(GOOD, "see I1.1"), ["docs/other.md:1: I1.1 is not defined"])
        self.assertEqual(self.complaints_about(GOOD, "see I2.3"), ["docs/other.md:1: I2.3 is not defined"])

    def test_takes_no_other_word_for_a_citation(self) -> None:
        self.assertEqual(self.complaints_about(GOOD, "SI9, I9x, [I9] and 1.I9"), [])

    def test_wants_definitions(self) -> None:
        self.assertIn("no invariant is defined", self.complaints_about("")[0])


if __name__ == "__main__":
    unittest.main()

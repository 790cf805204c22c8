#!/usr/bin/env python3
"""That every mutant still changes the headers that it is about."""

import unittest
from pathlib import Path

from adapters import adapters
from mutants import UNREACHED, all_mutants, weakenings

INCLUDE = Path(__file__).resolve().parents[2] / "include/tryst"


class Mutants(unittest.TestCase):
    def test_change_their_headers(self) -> None:
        mutants = [*all_mutants(INCLUDE), *adapters()]
        self.assertEqual(len(mutants), len({mutant.name for mutant in mutants}))
        self.assertGreater(len(mutants), 100)
        for mutant in mutants:
            with self.subTest(mutant.name):
                file = INCLUDE / mutant.file
                self.assertTrue(file.exists(), file)
                text = file.read_text()
                self.assertNotEqual(mutant.applied(text), text)

    def test_are_counted_on_their_page(self) -> None:
        count, known = len(weakenings(INCLUDE)), len(UNREACHED)
        page = " ".join((INCLUDE.parents[1] / "tests/README.md").read_text().split())
        self.assertIn(f"There are {count} weakenings.", page)
        self.assertIn(f"lists {known} of them, each with the reason why nothing can find it; "
                      f"each of the other {count - known} must be found", page)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""That every mutant still changes the headers that it is about."""

import unittest
from pathlib import Path

from adapters import adapters
from mutants import UNREACHED, Mutant, all_mutants, weakenings
from switched import bodies, switched

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

    def test_are_compiled_together(self) -> None:
        text = "struct s {\n    int f() { return g(1); }\n    int g(int i) { return i; } // {\n    int a = 0;\n};\n"
        self.assertEqual([text[begin:end] for begin, end in bodies(text)], [" return g(1); ", " return i; "])
        mutants = {1: Mutant("f", "s.hpp", "g(1)", "g(2)"), 2: Mutant("a", "s.hpp", "a = 0", "a = 1"),
                   3: Mutant("f and g", "s.hpp", "g(1)", "g(3)", also=("return i", "return 0"))}
        header = switched(text, mutants)
        self.assertEqual(header.lines, [(2, 2, 1), (2, 2, 3), (3, 3, 3)])
        self.assertIn("f() { if (::tryst_mutant() == 1) { return g(2); } else if (::tryst_mutant() == 3) { return g(3); } "
                      "else { return g(1); }}\n", header.text)
        self.assertIn("g(int i) { if (::tryst_mutant() == 3) { return 0; } else { return i; }} // {\n", header.text)

    def test_are_counted_on_their_page(self) -> None:
        count, known = len(weakenings(INCLUDE)), len(UNREACHED)
        page = " ".join((INCLUDE.parents[1] / "tests/README.md").read_text().split())
        self.assertIn(f"There are {count} weakenings.", page)
        self.assertIn(f"lists {known} of them, each with the reason why nothing can find it; "
                      f"each of the other {count - known} must be found", page)


if __name__ == "__main__":
    unittest.main()

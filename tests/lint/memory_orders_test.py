#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""memory_orders.py accepts a file that keeps its rules, and names the rule that a changed copy breaks."""

import tempfile
import unittest
from pathlib import Path

from memory_orders import complaints

GOOD = """
struct word {
    void set() {
        // [A1] release, pairs with [A2]: what came before.
        word_.store(1, std::memory_order_release);
    }
    bool get() const {
        // [A2] acquire, pairs with [A1].
        return word_.load(std::memory_order_acquire) == 1;
    }
    bool take(int seen) {
        seen = 1;
        // Relaxed: only a count. Failure relaxed: retried.
        return word_.compare_exchange_strong(
            seen, 0, std::memory_order_relaxed, std::memory_order_relaxed);
    }
    int count() { return count_.fetch_add(1, std::memory_order_relaxed); } // Relaxed: only a count.
};
"""


class MemoryOrders(unittest.TestCase):
    def complaints_about(self, text: str, model: str = "",
                         file: str = "include/tryst/detail/meet/word.hpp") -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            for part in (Path(file).parent, "tests/spin", "docs"):
                (top / part).mkdir(parents=True)
            (top / file).write_text(text)
            (top / "tests/spin/word.pml").write_text(model)
            return list(complaints(top))

    def assert_complaint(self, expected: str, before: str, after: str) -> None:
        self.assertIn(before, GOOD)
        found = self.complaints_about(GOOD.replace(before, after))
        self.assertTrue(any(expected in each for each in found), found)

    def test_accepts_labels_and_reasons(self) -> None:
        self.assertEqual(self.complaints_about(GOOD, "/* [A1] */"), [])

    def test_wants_a_label(self) -> None:
        self.assert_complaint("no label", "// [A2] acquire, pairs with [A1].", "// Acquire.")

    def test_wants_a_label_of_its_own(self) -> None:
        self.assert_complaint("is the label of", "// [A2] acquire, pairs with [A1]", "// [A1] acquire, pairs with itself")

    def test_wants_the_order_that_the_code_has(self) -> None:
        self.assert_complaint("does not say why acquire", "// [A2] acquire,", "// [A2] release,")

    def test_wants_a_partner(self) -> None:
        self.assert_complaint("names no partner", ", pairs with [A1].", ".")

    def test_wants_partners_that_name_each_other(self) -> None:
        self.assert_complaint("does not name [A2]", "pairs with [A2]", "pairs with itself")

    def test_wants_one_to_release_what_the_other_acquires(self) -> None:
        self.assert_complaint("neither acquires", "memory_order_acquire) == 1", "memory_order_release) == 1")

    def test_wants_a_reason_for_relaxed(self) -> None:
        self.assert_complaint("no reason for the relaxed order", "); } // Relaxed: only a count.", "); }")

    def test_wants_a_reason_for_the_order_on_failure(self) -> None:
        self.assert_complaint("relaxed order on failure", " Failure relaxed: retried.", "")
        self.assert_complaint("Failure acquire", "memory_order_relaxed);\n    }", "memory_order_acquire);\n    }")

    def test_wants_every_order(self) -> None:
        self.assert_complaint("not every memory order", "std::memory_order_relaxed, std::memory_order_relaxed",
                              "std::memory_order_relaxed")
        self.assert_complaint("not every memory order", "load(std::memory_order_acquire)", "load()")

    def test_looks_into_the_core_and_the_adapters(self) -> None:
        unlabelled = GOOD.replace("// [A2] acquire, pairs with [A1].", "// Acquire.")
        for file in ("include/tryst/word.hpp", "include/tryst/detail/run/word.hpp", "include/tryst/asio/detail/word.hpp",
                     "include/tryst/fiber/word.hpp", "include/tryst/uring/word.hpp",
                     "include/tryst/uring/detail/word.hpp", "src/uring/word.hpp", "src/uring/word.cpp"):
            with self.subTest(file):
                self.assertEqual(self.complaints_about(GOOD, file=file), [])
                self.assertIn(f"{file}:9: load: no label", "\n".join(self.complaints_about(unlabelled, file=file)))

    def test_wants_labels_that_exist(self) -> None:
        self.assertIn("no operation has the label [B1]", self.complaints_about(GOOD, "/* [B1] */")[0])


if __name__ == "__main__":
    unittest.main()

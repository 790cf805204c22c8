#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py refuses what is not fit for a page, and finds pages that differ from the results, and claims that these deny."""

import sys
import unittest

sys.dont_write_bytecode = True
import page # noqa: E402


def found(commit: str = "abcdef1", repetitions: int = 3, **more: object) -> dict:
    each = {"run_name": "swap, one loop/tryst/2/iterations:1/manual_time", "repetitions": repetitions, "fairness": 0.5, **more}
    return {"context": {"commit": commit, "date": "2026-11-26T20:00:00", "num_cpus": 2, "compiler": "GNU 12"},
            "benchmarks": [{**each, "aggregate_name": name, "real_time": time}
                           for name, time in (("median", 20.0), ("min", 19.0), ("max", 25.0), ("stddev", 3.0))]}


class Page(unittest.TestCase):
    ROWS = page.load()

    def test_takes_the_median_and_the_range(self) -> None:
        row, = page.measured(found())
        self.assertEqual([row[name] for name in page.COLUMNS[:7]], ["swap, one loop", "tryst", "2", "20", "19", "25", "0.5"])

    def test_refuses_uncommitted_sources_single_samples_and_errors(self) -> None:
        for wrong in (found("abcdef1+"), found(""), found(repetitions=1), found(error_occurred=True)):
            self.assertRaises(SystemExit, page.measured, wrong)

    def test_finds_each_claim_that_results_deny(self) -> None:
        self.assertEqual([claim for claim, holds in page.claims(self.ROWS).items() if not holds], [])
        def is_quick(work: str, by: str) -> bool:
            return by.startswith("a ") or "Asio channel" in by and work.endswith(("way, one loop", "buffered, one loop", "channels, one loop"))
        slow = {key: {**row, "median": "1" if is_quick(*key[:2]) else "1e9"} for key, row in self.ROWS.items()}
        self.assertEqual([claim for claim, holds in page.claims(slow).items() if holds], [])

    def test_replaces_all_rows_of_a_kind_and_refuses_a_part(self) -> None:
        counts = [row for row in self.ROWS.values() if page.is_counted(row)]
        again = [row | {"measured": "again"} for row in self.ROWS.values() if not page.is_counted(row)]
        self.assertEqual({row["measured"] for row in page.replaced(self.ROWS, again).values()},
                         {"again"} | {row["measured"] for row in counts})
        for part in (counts[1:2], [row for row in again if row["work"] != "swap, two loops"]):
            self.assertRaises(SystemExit, page.made_of, page.replaced(self.ROWS, part))

    def test_lists_each_loss(self) -> None:
        rows = {key: {**row, "median": "1" if key[1].startswith("tryst") else "2"} for key, row in self.ROWS.items()}
        self.assertNotIn("\n- ", page.losses(rows))
        rows["swap, one loop", "mutex and one waiter", 2] |= {"median": "0.5", "least": "0.5", "most": "0.6"}
        rows["swap, one loop", "tryst", 2] |= {"least": "1", "most": "1"}
        self.assertEqual(page.losses(rows).count("- **swap, one loop** (tryst / mutex and one waiter): 2 tasks 1.0 / 0.5\n"), 1)

    def test_plots_say_it_without_colour(self) -> None:
        lost = sum(page.verdict(ours, rival) == "loses" for *_, ours, rival in page.duels(self.ROWS, ("", "")))
        self.assertEqual(page.ratios(self.ROWS).count("m-5-5l10 10"), lost + 1)  # crosses, and one in the legend
        for plot in page.PLOTS.values():
            self.assertIn("prefers-color-scheme: dark", plot(self.ROWS))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what the page computes: python3 bench/report/report_test.py"""

import re
import unittest
from pathlib import Path
from xml.etree import ElementTree

import floor
import rivals
from places import spread
from results import FOLDER, Results, caption, hop, work

META = {"commit": "abc", "cpu": "one", "processors": 2, "date": "2026-01-01", "compilers": {"g++": "g++ 12"}}


def run(implementation, median, least=None, most=None, workload="swap-tasks", language="cpp", loops=1, tasks=2, **more):
    return {"implementation": implementation, "language": language, "workload": workload, "unit": "ns", "median": median,
            "min": median if least is None else least, "max": median if most is None else most,
            "parameters": {"loops": loops, "tasks": tasks}, **more}


def results(*runs):
    return Results({"meta": META, "runs": list(runs)})


class Duels(unittest.TestCase):
    def test_the_best_of_ours_meets_the_best_rival(self):
        found = results(run("tryst fifo", 30), run("tryst", 20), run("tryst", 10, language="go"), run("asio", 50))
        duel = found.duel(work("swap-tasks", loops=1, tasks=2))
        self.assertEqual((duel.ours.label, duel.rival.label, duel.ratio, duel.lost), ("tryst", "Go tryst", 0.5, True))

    def test_there_is_none_without_a_rival(self):
        self.assertIsNone(results(run("tryst", 1)).duel(work("swap-tasks", loops=1, tasks=2)))
        self.assertIsNone(results(run("trystan", 1)).duel(work("swap-tasks", loops=1, tasks=2)))

    def test_an_adapter_meets_what_its_platform_has(self):
        found = results(run("tryst", 20), run("tryst on Asio", 200), run("asio::channel", 100), run("mutex", 30))
        score, = rivals.scores(found, *rivals.PLATFORMS["Asio"])
        self.assertEqual(score.row(), ["Swap, one loop", "0.50x", "**1 of 1**", "tryst on Asio", "asio::channel"])
        self.assertEqual(rivals.scores(found, *rivals.PLATFORMS["Boost.Fiber"]), [])

    def test_samples_that_overlap_are_noise(self):
        key = work("swap-tasks", loops=1, tasks=2)
        self.assertTrue(results(run("tryst", 20, 10, 31), run("asio", 40, 30, 50)).duel(key).close)
        self.assertFalse(results(run("tryst", 20, 10, 29), run("asio", 40, 30, 50)).duel(key).close)
        self.assertTrue(results(run("tryst", 40, 30, 50), run("asio", 20, 10, 31)).duel(key).close)

    def test_of_latencies_the_median_counts(self):
        found = results(run("tryst", 90, workload="latency-tasks", p50=10, p99=100))
        self.assertEqual(found.entries(work("latency-tasks", loops=1, tasks=2))[0].value, 10)


class Page(unittest.TestCase):
    FOUND = results(run("tryst", 20), run("asio", 30), run("select", 40, language="go"),
                    run("tryst", 25, tasks=16), run("asio", 20, tasks=16))

    def test_losses_are_marked_and_listed(self):
        text = rivals.summary(self.FOUND)
        self.assertIn("| Swap, one loop | 0.80x to 1.50x | **1 of 2** | tryst | asio |", text)
        self.assertIn("Where a rival is better, 1 of 2:\n\n- Swap, one loop, tasks 16: tryst 25.0, asio 20.0 ns\n", text)
        table = rivals.family_section(self.FOUND, rivals.FAMILIES[0])
        self.assertIn("| **best rival to best of tryst** | 1.50x | **0.80x ▼** |", table)

    def test_without_losses_it_says_so(self):
        self.assertIn("No rival is better in any of the 1 comparisons.", rivals.summary(results(run("tryst", 20), run("asio", 30))))

    def test_ours_come_first_and_gaps_stay_empty(self):
        table = rivals.family_section(self.FOUND, rivals.FAMILIES[0])
        self.assertLess(table.index("| **tryst** | 20.0 | 25.0 |"), table.index("| asio | 30.0 | 20.0 |"))
        self.assertIn("| Go select | 40.0 |  |", table)

    def test_every_workload_has_a_section(self):
        names = {family.workload for family in rivals.FAMILIES}
        self.assertEqual(len(names), 9)

    def test_multiples_of_the_floor(self):
        steps = {"floor": {"resume": {"median": 2.0, "min": 1, "max": 3, "what": "resumed"}}}
        found = floor.multiples(self.FOUND, steps)
        self.assertEqual([(each.ns, each.floor, each.ratio) for each in found], [(20, 2, 10)])

    def test_a_caption_says_where_hops_wander(self):
        self.assertEqual(caption(META), "commit abc · one, 2 processors · g++ 12 · 2026-01-01 · line hop unknown")
        self.assertEqual(hop({"line_hop": [36.2, 36.9]}), "line hop 36 ns")
        self.assertEqual(hop({"line_hop": [36, 180]}), "line hop 36 to 180 ns")


class Pictures(unittest.TestCase):
    """The drawings in bench/results."""

    @staticmethod
    def width_of(text: str, size: float, bold: bool) -> float:
        """At least that in DejaVu Sans, or in Verdana, which is as wide."""
        widths = (0.98 if each in "mwMW" else 0.42 if each in "ijlftr.,:;'|() " else 0.64 for each in text)
        return size * sum(width + 0.08 * bold for width in widths)

    def texts(self, path: Path):
        """@returns the width of the picture; of each text its content, its left and its right end."""
        root = ElementTree.parse(path).getroot()
        texts = []
        for each in root.iter("{http://www.w3.org/2000/svg}text"):
            text, style = "".join(each.itertext()), each.get("style", "")
            size = float(re.search(r"([\d.]+)px", style)[1])
            place = float(each.get("x") or re.search(r"translate\(([\d.-]+)", each.get("transform"))[1])
            wide = self.width_of(text, size, bool(re.search("700|bold", style)))
            left = place - wide * ("middle" in style) / 2 - wide * ("anchor: end" in style)
            texts.append((text, left, left + wide))
        return float(root.get("viewBox").split()[2]), texts

    def test_text_is_text_and_none_is_clipped(self):
        for path in sorted(FOLDER.glob("*.svg")):
            width, texts = self.texts(path)
            self.assertGreater(len(texts), 10, path.name)
            for text, left, right in texts:
                self.assertTrue(0 <= left and right <= width, f"{path.name}: {text}: {left:.0f} to {right:.0f} of {width:.0f}")


class Places(unittest.TestCase):
    def test_labels_keep_their_distance_near_where_they_belong(self):
        self.assertEqual(spread([0, 10, 20], 5, -9, 99), [0, 10, 20])
        self.assertEqual(spread([10, 10], 4, 0, 99), [8, 12])
        self.assertEqual(spread([10, 10, 13, 50], 5, 0, 99), [6, 11, 16, 50])
        self.assertEqual(spread([0, 0], 4, 0, 99), [0, 4])
        self.assertEqual(spread([9, 9], 4, 0, 10), [6, 10])


if __name__ == "__main__":
    unittest.main()

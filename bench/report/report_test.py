#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the pages: python3 bench/report/report_test.py"""

import re
import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.append(str(Path(__file__).resolve().parents[1] / "rivals"))
import appendix
import evidence
import floor
import front
import grid
import micro
import rivals
import scale
from pages import pages
from places import spread
from results import FOLDER, Results, caption, hop, load, work

META = {"commit": "abc", "cpu": "one", "processors": 2, "kernel": "Linux", "date": "2026-01-01",
        "compilers": {"g++": "g++ 12"}, "seconds": 1, "warmup": 1, "repetitions": 3}


def run(implementation, median, least=None, most=None, workload="swap-tasks", language="cpp", loops=1, tasks=2, channels=None,
        **more):
    return {"implementation": implementation, "language": language, "workload": workload, "unit": "ns", "median": median,
            "min": median if least is None else least, "max": median if most is None else most,
            "parameters": {"loops": loops, "tasks": tasks, **({"channels": channels} if channels else {})}, **more}


def results(*runs):
    return Results({"meta": META, "runs": list(runs)})


class Duels(unittest.TestCase):
    def test_the_best_of_ours_meets_the_best_rival(self):
        found = results(run("tryst fifo", 30), run("tryst", 20), run("tryst", 10, language="java"), run("asio", 50))
        duel = found.duel(work("swap-tasks", loops=1, tasks=2))
        self.assertEqual((duel.ours.label, duel.rival.label, duel.ratio, duel.lost), ("tryst", "Java tryst", 0.5, True))

    def test_there_is_no_duel_without_a_rival(self):
        self.assertIsNone(results(run("tryst", 1)).duel(work("swap-tasks", loops=1, tasks=2)))
        self.assertIsNone(results(run("trystan", 1)).duel(work("swap-tasks", loops=1, tasks=2)))

    def test_an_adapter_meets_the_channel_of_its_platform(self):
        found = results(run("tryst", 20), run("tryst on Asio", 200), run("asio::channel", 100), run("mutex", 30))
        score, = rivals.scores(found, *rivals.PLATFORMS["Asio"])
        self.assertEqual(score.row(), ["Swap, one loop", "0.50x", "**1 of 1**", "tryst on Asio", "asio::channel"])
        self.assertEqual(rivals.scores(found, *rivals.PLATFORMS["Boost.Fiber"]), [])

    def test_a_variant_of_an_adapter_meets_the_same_variant(self):
        found = results(run("tryst on Asio", 10), run("asio::channel", 20), run("tryst on Asio, try_ first, any_io_executor", 200),
                        run("asio::channel, any_io_executor", 100))
        table = rivals.family_section(found, rivals.FAMILIES[0])
        self.assertIn("| **Asio's own / tryst on Asio** | 2.0x |\n| **Asio's own / tryst on Asio, any_io_executor** | **0.50x ▼** |\n", table)
        self.assertNotIn("locking context", table)
        self.assertEqual(rivals.VARIANTS, grid.ONE_LOOP)

    @staticmethod
    def verdict(ours, rival):
        """Returns the verdict on two sides, each a median, the least and the most of its samples."""
        return results(run("tryst", *ours), run("asio", *rival)).duel(work("swap-tasks", loops=1, tasks=2)).verdict

    def test_near_medians_of_samples_that_overlap_are_level(self):
        self.assertEqual(self.verdict((100, 90, 110), (110, 105, 120)), "level")
        self.assertEqual(self.verdict((110, 105, 120), (100, 90, 110)), "level")
        self.assertEqual(self.verdict((100, 90, 104), (110, 105, 120)), "wins")
        self.assertEqual(self.verdict((110, 105, 120), (100, 90, 104)), "loses")

    def test_medians_that_are_far_apart_are_never_level(self):
        self.assertEqual(self.verdict((825, 142, 977), (145, 132, 155)), "unsteady")
        self.assertEqual(self.verdict((145, 132, 155), (825, 142, 977)), "unsteady")
        self.assertEqual(self.verdict((100, 90, 130), (120, 110, 125)), "unsteady")
        self.assertEqual(self.verdict((825, 156, 977), (145, 132, 155)), "loses")

    def test_samples_that_are_far_apart_are_never_level(self):
        self.assertEqual(self.verdict((100, 90, 190), (105, 100, 110)), "unsteady")
        self.assertEqual(self.verdict((105, 100, 110), (100, 90, 190)), "unsteady")
        self.assertEqual(self.verdict((100, 90, 170), (105, 100, 110)), "level")

    def test_the_value_of_latencies_is_their_median(self):
        found = results(run("tryst", 90, workload="latency-tasks", p50=10, p99=100))
        self.assertEqual(found.entries(work("latency-tasks", loops=1, tasks=2))[0].value, 10)


class Page(unittest.TestCase):
    FOUND = results(run("tryst", 20), run("asio", 30), run("select", 40, language="java"),
                    run("tryst", 25, tasks=16), run("asio", 20, tasks=16))

    def test_losses_are_marked_and_listed(self):
        text = rivals.summary(self.FOUND)
        self.assertIn("| Swap, one loop | 0.80x to 1.50x | **1 of 2** | tryst | asio |", text)
        self.assertIn("Where a rival is better, 1 of 2:\n\n- Swap, one loop, 16 tasks: tryst 25.0, asio 20.0 ns\n", text)
        table = rivals.family_section(self.FOUND, rivals.FAMILIES[0])
        self.assertIn("| **best rival / best of tryst** | 1.50x | **0.80x ▼** |", table)

    def test_an_unsteady_work_shows_its_samples(self):
        found = results(run("tryst", 825, 142, 977), run("Exchanger", 145, 132, 155, language="java"),
                        run("tryst", 100, 90, 110, tasks=16), run("asio", 98, 95, 105, tasks=16))
        text = rivals.summary(found)
        self.assertIn("- Swap, one loop, 2 tasks, unsteady: tryst 142 to 977, Java Exchanger 132 to 155 ns\n", text)
        self.assertIn("- Swap, one loop, 16 tasks, level: tryst 100, asio 98.0 ns\n", text)
        self.assertIn("| Swap, one loop | level at 16 tasks, unsteady at 2 tasks |  |", rivals.words(found))
        self.assertIn("| **0.18x ▼** ± | **0.98x ▼** ≈ |", rivals.family_section(found, rivals.FAMILIES[0]))

    def test_without_losses_it_says_so(self):
        self.assertIn("No rival is better in any of the 1 comparisons.", rivals.summary(results(run("tryst", 20), run("asio", 30))))

    def test_ours_come_first_and_gaps_stay_empty(self):
        table = rivals.family_section(self.FOUND, rivals.FAMILIES[0])
        self.assertLess(table.index("| **tryst** | 20.0 | 25.0 |"), table.index("| asio | 30.0 | 20.0 |"))
        self.assertIn("| Java select | 40.0 |  |", table)

    def test_lost_items_have_a_table(self):
        lossy = run("asio, loses items", 30, workload="select-tasks", channels=2, lost=0.25)
        found = results(lossy, run("tryst", 20, workload="select-tasks", channels=2))
        family, = (each for each in rivals.FAMILIES if each.works(found) and each.column == "tasks")
        self.assertIn("| lost | 2 |\n| --- | ---: |\n| asio, loses items | 0.250 |\n", rivals.family_section(found, family))
        self.assertNotIn("lost", rivals.family_section(self.FOUND, rivals.FAMILIES[0]))

    def test_every_work_is_in_one_section(self):
        for workload, each in ((workload, each) for workload, grids in grid.FULL.items() for each in grids):
            which = [family for family in rivals.FAMILIES if family.workload == workload
                     and family.fixed.items() <= each.items() and family.column in each]
            self.assertEqual(len(which), 1, f"{workload} {each}")

    def test_every_workload_has_a_section(self):
        names = {family.workload for family in rivals.FAMILIES}
        self.assertEqual(names, set(grid.FULL))

    def test_multiples_of_the_floor(self):
        steps = {"floor": {"resume": {"median": 2.0, "min": 1, "max": 3, "what": "resumed"}}}
        found = floor.multiples(self.FOUND, steps)
        self.assertEqual([(each.ns, each.floor, each.ratio) for each in found], [(20, 2, 10)])

    def test_a_caption_says_where_hops_wander(self):
        self.assertEqual(caption(META), "commit abc · one, 2 processors · g++ 12 · 2026-01-01")
        self.assertIn("commit abc with uncommitted changes · ", caption({**META, "commit": "abc+"}))
        self.assertTrue(caption({**META, "repetitions": 1}).endswith(" · one sample"))
        self.assertEqual(hop({"line_hop": [36.2, 36.9]}), "line hop 36 ns")
        self.assertEqual(hop({"line_hop": [36, 180]}), "line hop 36 to 180 ns")


def committed(files):
    """Returns the results as if all were measured several times, with committed sources."""
    def better(data):
        data = {**data, "meta": {**data["meta"], "commit": "abc", "repetitions": 3}}
        return {**data, "runs": [{**each, "samples": [1, 2, 3]} for each in data["runs"]]} if "runs" in data else data
    return {name: better(data) for name, data in files.items()}


class FrontPage(unittest.TestCase):
    """The front page has no figure of one sample, and none from sources with uncommitted changes."""

    FILES = load()
    SLOT = "two_loops/coroutines:16"

    @staticmethod
    def files(commit="abc", samples=3):
        """Returns results with figures that occur nowhere else: 4321 and 6543, 1.51x, 8765."""
        both = [run("tryst", 4321, samples=[4321] * samples), run("asio", 6543, samples=[6543] * samples)]
        meta = {**META, "commit": commit, "repetitions": samples}
        return {"rivals.json": {"meta": meta, "runs": both},
                "micro.json": {"meta": meta, "medians": {FrontPage.SLOT: {"ns": 8765}}}}

    def assert_shown(self, files, shown):
        page, rest = front.page(files), appendix.page(files)
        for figure in ("4,321", "6,543", "1.51x", "8,765"):
            self.assertEqual(figure in page, shown and figure not in ("4,321", "6,543"), figure) # won: only the ratio
            self.assertIn(figure, rest)

    def test_shows_several_samples_of_committed_sources(self):
        self.assert_shown(self.files(), True)
        self.assertNotIn("Not on the front page", appendix.page(self.files()))

    def test_leaves_uncommitted_changes_to_the_appendix(self):
        self.assert_shown(self.files("abc+"), False)
        self.assertEqual(appendix.page(self.files("abc+")).count("*Not on the front page: uncommitted changes.*"), 3)
        self.assertIn("| Swap, one loop | wins |  |", front.page(self.files("abc+")))

    def test_leaves_an_unknown_commit_to_the_appendix(self):
        self.assert_shown(self.files(None), False)
        self.assertIn("*Not on the front page: commit unknown.*", appendix.page(self.files(None)))

    def test_leaves_one_sample_to_the_appendix(self):
        self.assert_shown(self.files(samples=1), False)
        self.assertIn("*Not on the front page: one sample.*", appendix.page(self.files(samples=1)))
        self.assertIn("| **tryst** | 4,321 ¹ |", appendix.page(self.files(samples=1)))

    def test_one_run_of_one_sample_is_left_out_alone(self):
        files = self.files()
        files["rivals.json"]["runs"] += [run("tryst", 20, tasks=16, samples=[20]), run("asio", 90, tasks=16, samples=[90])]
        self.assert_shown(files, True)
        self.assertNotIn("4.5x", front.page(files))
        self.assertIn("| **tryst** | 4,321 | 20.0 ¹ |", appendix.page(files))

    def test_a_single_sample_is_marked_among_medians(self):
        name = "channel_timeouts<fifo>/timeouts:10000000"
        for each in ({"ns": 9876}, {"ns": 9876, "samples": 1}):
            data = {"meta": META, "medians": {name: each, self.SLOT: {"ns": 1}}}
            self.assertEqual(list(evidence.headline(data)["medians"]), [self.SLOT])
            self.assertIn("9,876 ¹", micro.timeouts(micro.Micro(data)))

    def test_missing_metadata_counts_as_one_sample(self):
        self.assertEqual(evidence.faults({"meta": {}}), [evidence.UNKNOWN, evidence.ONE_SAMPLE])
        self.assertEqual(evidence.faults({"meta": {"commit": "abc"}, "rounds": 7}), [])

    def test_is_short_now_and_with_all_figures(self):
        for files in (self.FILES, committed(self.FILES)):
            self.assertLessEqual(front.page(files).count("\n"), 250)
        self.assertIn("best rival against best of tryst", front.page(committed(self.FILES)))

    def test_shows_figure_1_if_its_figures_may_be_shown(self):
        self.assertIn("threads.svg", front.page(committed(self.FILES)))
        for worse in (self.files("abc+"), self.files(samples=1), {}):
            self.assertNotIn("threads.svg", front.page(worse))

    def test_the_pages_are_made_of_the_results(self):
        for path, text in pages(self.FILES).items():
            self.assertEqual(path.read_text(encoding="utf-8"), text, f"{path.name}: run ./dev bench --report")


class Words(unittest.TestCase):
    """Claims of README.md, docs/choosing.md and docs/asio.md without figures. If a result differs, change the pages."""

    FILES = load()

    def test_two_colours_scale_with_cores_without_strict_order(self):
        self.assertTrue(scale.lifo_scales(self.FILES["scale.json"]))
        self.assertTrue(scale.fifo_stays_level(self.FILES["scale.json"]))
        self.assertTrue(scale.arena_scales(self.FILES["scale.json"]))
        self.assertTrue(micro.arena_is_faster(self.FILES["micro.json"]))
        self.assertTrue(micro.fifo_pays_on_two_loops(self.FILES["micro.json"]))

    def test_asios_channel_is_better_one_way_on_one_context(self):
        self.assertTrue(rivals.asios_own_is_better(Results(self.FILES["rivals.json"])))

    def test_advice_that_results_do_not_support_is_left_out(self):
        self.assertEqual(len(front.advice(self.FILES)), 6)
        worse = {"kind": "loops", "points": [{"p": p, "throughput": 10 / p} for p in (1, 8, 16)]}
        files = {"scale.json": {"meta": {}, "curves": [{**worse, "design": each} for each in ("fifo", "lifo", "mutex")]}}
        self.assertEqual(front.advice(files), [])


class Simulation(unittest.TestCase):
    CURVES = [{"kind": "loops", "design": "arena", "points": [{"p": 2, "throughput": 7.25}, {"p": 4, "throughput": 14.5}]}]
    DATA = {"meta": {"seed": 1, "coroutines": 16}, "parameters": {"source": "a file", "far_percent": 275}, "curves": CURVES}

    def section(self, **more):
        return scale.sections({**self.DATA, **more})[0]

    def test_several_sockets_have_a_table_of_their_own(self):
        self.assertNotIn("sockets", self.section())
        text = self.section(sockets={"count": 2, "curves": self.CURVES})
        self.assertIn("on 2 sockets of equal size; a line that moves between sockets takes 2.75 times as long", text)
        self.assertEqual(text.count("| arena | 7.2 | 14.5 |"), 2)

    def test_designs_far_from_their_measurements_are_named(self):
        def check(*times):
            return [{"kind": "threads", "design": "mutex", "p": 2, "simulated_ns": ns, "measured_ns": 100} for ns in times]
        self.assertNotIn("Do not trust", self.section(check=check(70, 149)))
        for ns in (60, 160):
            self.assertIn("Do not trust the simulation of: threads, mutex. ", self.section(check=check(100, ns, ns)))


class Pictures(unittest.TestCase):
    """The drawings in bench/results."""

    @staticmethod
    def width_of(text: str, size: float, bold: bool) -> float:
        """Returns a lower bound of the width in DejaVu Sans, or in Verdana, which is as wide."""
        widths = (0.98 if each in "mwMW" else 0.42 if each in "ijlftr.,:;'|() " else 0.64 for each in text)
        return size * sum(width + 0.08 * bold for width in widths)

    def texts(self, path: Path):
        """@returns the width of the picture, and the content, left end and right end of each text"""
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
    def test_labels_do_not_overlap(self):
        self.assertEqual(spread([0, 10, 20], 5, -9, 99), [0, 10, 20])
        self.assertEqual(spread([10, 10], 4, 0, 99), [8, 12])
        self.assertEqual(spread([10, 10, 13, 50], 5, 0, 99), [6, 11, 16, 50])
        self.assertEqual(spread([0, 0], 4, 0, 99), [0, 4])
        self.assertEqual(spread([9, 9], 4, 0, 10), [6, 10])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests tsp. usage: tsp_test.py PROGRAM FOLDER_OF_PROBLEMS"""

import math
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import programs

PROGRAM, PROBLEMS = sys.argv[1], Path(sys.argv[2])


def run(*arguments):
    return programs.run(PROGRAM, *arguments, text=True, timeout=200)


def length(tour, problem):
    """The length as TSPLIB defines it, from the file."""
    lines = problem.read_text().split("NODE_COORD_SECTION\n")[1].split("EOF")[0].splitlines()
    at = {int(number): (float(x), float(y)) for number, x, y in map(str.split, lines)}
    assert sorted(tour) == sorted(at), "not each city once"
    return sum(int(math.dist(at[a], at[b]) + 0.5) for a, b in zip(tour, tour[1:] + tour[:1]))


class Tsp(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def solve(self, problem, *arguments):
        done = run(problem, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = int(re.search(r"length (\d+)", done.stdout)[1])
        tour = [int(city) for city in done.stdout.split("tour:")[1].split()]
        self.assertEqual(length(tour, problem), said)
        return said, done

    def test_finds_the_optimum(self):
        for name, optimum in (("berlin52", 7542), ("kroA100", 21282)):
            for seed in (1, 2, 3):
                found, done = self.solve(PROBLEMS / f"{name}.tsp", "--optimum", optimum, "--seconds", 100, "--seed", seed)
                self.assertEqual(found, optimum)
                self.assertIn("the optimum", done.stdout)
                self.assertRegex(done.stderr, r"generation 1, .* length \d+\n")

    def test_small_problems(self):
        for points in ([(0, 0), (3, 0), (3, 4)], [(1, 1)] * 5, [(-1e8, 2.5), (1e8, 0), (0, 1e-3), (7, 7)]):
            problem = self.folder / "small.tsp"
            lines = "".join(f"{i} {x} {y}\n" for i, (x, y) in enumerate(points, 1))
            problem.write_text(f"DIMENSION : {len(points)}\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n{lines}EOF\n")
            self.solve(problem, "--seconds", 0.1, "--svg", self.folder / "small.svg")

    def test_draws(self):
        drawing = self.folder / "drawing.svg"
        _, done = self.solve(PROBLEMS / "berlin52.tsp", "--optimum", 7542, "--svg", drawing)
        polygon = xml.etree.ElementTree.parse(drawing).find(".//{*}polygon")
        self.assertEqual(len(polygon.get("points").split()), 52)
        done = run(PROBLEMS / "berlin52.tsp", "--figure2", drawing)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 15), done.stderr)
        self.assertEqual(len(xml.etree.ElementTree.parse(drawing).findall(".//{*}polyline")), 6)

    def test_refuses_bad_input(self):
        good = (PROBLEMS / "berlin52.tsp").read_text()
        bad = self.folder / "bad.tsp"
        for text, why in ((good.replace("EUC_2D", "GEO"), "EDGE_WEIGHT_TYPE is GEO"), ("", "EDGE_WEIGHT_TYPE is missing"),
                          (good.replace("52 1740", "51 1740"), "bad line"), (good.replace("565.0", "nan", 1), "bad line"),
                          (good.replace("565.0", "1e300", 1), "bad line"), ("\n".join(good.splitlines()[:20]), "14 of 52 cities"),
                          (good.replace("DIMENSION: 52", "DIMENSION: 2"), "52 of 2 cities")):
            bad.write_text(text)
            done = run(bad)
            self.assertEqual((done.returncode, done.stdout), (1, ""), why)
            self.assertRegex(done.stderr, f"^tsp: {re.escape(str(bad))}: .*{why}.*; a TSPLIB file of type EUC_2D .*\n$")
        self.assertIn("cannot be opened", run(self.folder / "none").stderr)
        done = run(PROBLEMS / "berlin52.tsp", "--seconds", 0.1, "--svg", self.folder / "none" / "x")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

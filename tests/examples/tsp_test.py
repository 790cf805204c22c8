#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the program tsp. The checks of its output share no code with it.

usage: tsp_test.py --program BINARY [--folder FOLDER] [TEST...]

No test depends on the speed of the machine: tests of the result run until the optimum is found.
"""

import argparse
import contextlib
import math
import os
import pty
import random
import re
import resource
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree as xml

TIMEOUT = 200
FORMS = ("red-blue", "symmetric", "mutex")
SVG = "{http://www.w3.org/2000/svg}"

chosen = argparse.Namespace()


def distance(a, b):
    return int(math.hypot(a[0] - b[0], a[1] - b[1]) + 0.5)


def ceil_2d(a, b):
    return math.ceil(math.hypot(a[0] - b[0], a[1] - b[1]))


def att(a, b):
    exact = math.sqrt(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 10)
    nearest = int(exact + 0.5)
    return nearest + 1 if nearest < exact else nearest


def geo(a, b):
    def radians(x):
        degrees = int(x)
        return 3.141592 * (degrees + 5 * (x - degrees) / 3) / 180

    q1 = math.cos(radians(a[1]) - radians(b[1]))
    q2 = math.cos(radians(a[0]) - radians(b[0]))
    q3 = math.cos(radians(a[0]) + radians(b[0]))
    return int(6378.388 * math.acos(0.5 * ((1 + q1) * q2 - (1 - q1) * q3)) + 1)


def length_of(points, tour, metric=distance):
    return sum(metric(points[a], points[b]) for a, b in zip(tour, tour[1:] + tour[:1]))


# For each EDGE_WEIGHT_FORMAT of TSPLIB 95: the pairs of cities whose distances are listed.
FORMATS = {
    "FULL_MATRIX": lambda n: [(i, j) for i in range(n) for j in range(n)],
    "UPPER_ROW": lambda n: [(i, j) for i in range(n) for j in range(n) if i < j],
    "LOWER_ROW": lambda n: [(i, j) for i in range(n) for j in range(n) if i > j],
    "UPPER_DIAG_ROW": lambda n: [(i, j) for i in range(n) for j in range(n) if i <= j],
    "LOWER_DIAG_ROW": lambda n: [(i, j) for i in range(n) for j in range(n) if i >= j],
    "UPPER_COL": lambda n: [(i, j) for j in range(n) for i in range(n) if i < j],
    "LOWER_COL": lambda n: [(i, j) for j in range(n) for i in range(n) if i > j],
    "UPPER_DIAG_COL": lambda n: [(i, j) for j in range(n) for i in range(n) if i <= j],
    "LOWER_DIAG_COL": lambda n: [(i, j) for j in range(n) for i in range(n) if i >= j],
}


def shortest(cities, distance_of):
    """Returns the length of the shortest tour, by dynamic programming (Held and Karp, 1962)."""
    last = cities - 1
    best = {(1 << c, c): distance_of(last, c) for c in range(last)}
    for _ in range(last - 1):
        longer = {}
        for (seen, at), length in best.items():
            for c in range(last):
                if not seen >> c & 1:
                    key = (seen | 1 << c, c)
                    longer[key] = min(longer.get(key, math.inf), length + distance_of(at, c))
        best = longer
    return min(length + distance_of(at, last) for (_, at), length in best.items())


class Tsp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tsp.", dir=chosen.folder)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        source = random.Random(1)
        self.points = [(source.randrange(1000), source.randrange(1000)) for _ in range(60)]
        self.file("some.tsp", "NAME: a<b>&\"c\"\nTYPE: TSP\nDIMENSION: 60\n"
                  "EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n" + "".join(
                      f"{i + 1} {x} {y}\n" for i, (x, y) in enumerate(self.points)) + "EOF\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def explicit(self, cities, form, weights):
        self.file("some", f"DIMENSION: {cities}\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
                  f"EDGE_WEIGHT_FORMAT: {form}\nDISPLAY_DATA_TYPE: TWOD_DISPLAY\n"
                  f"EDGE_WEIGHT_SECTION\n{weights}")

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "cwd": self.folder, **options}
        process = subprocess.Popen([chosen.program, *map(str, arguments)], **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()

    def run_it(self, *arguments, status=0):
        """Returns the program's standard output and standard error."""
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, status, errors.decode())
        return out.decode(), errors.decode()

    def generations_and_matings(self, out):
        found = re.search(r"^(\d+) generations in .*; (\d+) matings", out, re.MULTILINE)
        return tuple(map(int, found.groups()))

    def content(self, name):
        with open(self.path(name), encoding="ascii") as file:
            return file.read()

    def check_tour(self, name, length, points, metric=distance):
        """Checks that the file is a TSPLIB tour through all cities, of that length."""
        self.check_tour_text(self.content(name), length, points, metric)

    def check_tour_text(self, text, length, points, metric=distance):
        lines = text.splitlines()
        header = dict(re.split(r" *: *", each, maxsplit=1) for each in lines[:4])
        self.assertEqual(header["TYPE"], "TOUR")
        self.assertEqual(header["DIMENSION"], str(len(points)))
        self.assertEqual(lines[4], "TOUR_SECTION")
        self.assertEqual(lines[-2:], ["-1", "EOF"])
        tour = [int(each) - 1 for each in lines[5:-2]]
        self.assertEqual(sorted(tour), list(range(len(points))))
        self.assertEqual(length_of(points, tour, metric), length)

    def check_svg(self, name, points, says):
        root = xml.parse(self.path(name)).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual(len(root.findall(f".//{SVG}circle")), len(points))
        line = root.find(f".//{SVG}polygon").get("points").split()
        self.assertEqual(len(line), len(points))
        _, _, width, height = map(float, root.get("viewBox").split())
        for each in line:
            x, y = map(float, each.split(","))
            self.assertTrue(0 < x < width and 0 < y < height, each)
        text = " ".join(root.itertext())
        for each in says:
            self.assertIn(each, text)

    def circles(self, name):
        """Returns the x and the y coordinates of the cities in the drawing."""
        found = xml.parse(self.path(name)).getroot().findall(f".//{SVG}circle")
        return [float(each.get("cx")) for each in found], [float(each.get("cy")) for each in found]

    def length_in(self, out):
        return int(re.search(r"length (\d+)", out).group(1))

    # ---- Results

    def test_finds_the_optimum_of_the_grid(self):
        points = [(100 * (i % 10), 100 * (i // 10)) for i in range(100)]
        for form in FORMS:
            out, _ = self.run_it("--side", 10, "--exchange", form, "--target", 0, "--tour", "out")
            self.assertIn("grid10x10: 100 cities, length 10000, 0.00% above 10000", out)
            self.check_tour("out", 10000, points)

    def test_writes_the_best_tour_and_its_drawing(self):
        out, _ = self.run_it("some.tsp", "--generations", 3, "--svg", "out.svg",
                             "--tour", "out.tour", "--optimum", 1000)
        length = self.length_in(out)
        self.check_tour("out.tour", length, self.points)
        self.check_svg("out.svg", self.points,
                       ('a<b>&"c"', f"length {length}", f"{length / 10 - 100:.2f}% above"))

    def test_draws_cities_in_a_line_or_a_point(self):
        for name, line in (("row", "{0} {0} 7"), ("column", "{0} 7 {0}"), ("point", "{0} 7 7")):
            self.file(name, "DIMENSION: 9\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n" +
                      "".join(line.format(i) + "\n" for i in range(1, 10)))
            out, _ = self.run_it(name, "--generations", 2, "--svg", "out.svg")
            self.assertEqual(self.length_in(out), 0 if name == "point" else 16)
            self.check_svg("out.svg", range(9), (name,))

    def test_solves_the_smallest_problems(self):
        for cities in (3, 4, 5, 6, 7):
            self.file("few", f"DIMENSION: {cities}\nEDGE_WEIGHT_TYPE: EUC_2D\n"
                      "NODE_COORD_SECTION\n" +
                      "".join(f"{i} {i * i} {i % 2}\n" for i in range(1, cities + 1)))
            for form in FORMS:
                for improve in ("none", "2-opt", "or-opt"):
                    self.run_it("few", "--generations", 5, "--exchange", form, "--improve", improve,
                                "--population", 20, "--breeders", 10)

    def test_one_thread_and_one_seed_reproduce_the_tour(self):
        for form in FORMS:
            for _ in range(2):
                self.run_it("some.tsp", "--generations", 5, "--threads", 1, "--improve", "none",
                            "--seed", 7, "--exchange", form, "--tour", "first")
                os.rename(self.path("first"), self.path("second"))
                self.run_it("some.tsp", "--generations", 5, "--threads", 1, "--improve", "none",
                            "--seed", 7, "--exchange", form, "--tour", "first")
                with open(self.path("first"), encoding="ascii") as first, \
                        open(self.path("second"), encoding="ascii") as second:
                    self.assertEqual(first.read(), second.read())

    # ---- Distances

    def test_computes_distances_from_coordinates(self):
        source = random.Random(2)
        earth = [(f"{source.randrange(-89, 90)}.{source.randrange(60):02}",
                  f"{source.randrange(-179, 180)}.{source.randrange(60):02}") for _ in range(11)]
        plane = [(str(source.randrange(1000)), f"{source.randrange(1000)}.5") for _ in range(11)]
        for kind, metric, written in (("EUC_2D", distance, plane), ("CEIL_2D", ceil_2d, plane),
                                      ("ATT", att, plane), ("GEO", geo, earth)):
            points = [tuple(map(float, each)) for each in written]
            self.file("some", f"DIMENSION: 11\nEDGE_WEIGHT_TYPE: {kind}\nNODE_COORD_SECTION\n" +
                      "".join(f"{i + 1} {x} {y}\n" for i, (x, y) in enumerate(written)))
            with self.subTest(kind):
                optimum = shortest(11, lambda a, b: metric(points[a], points[b]))
                self.run_it("some", "--optimum", optimum, "--svg", "out.svg", "--tour", "out")
                self.check_tour("out", optimum, points, metric)
                self.check_svg("out.svg", points, ("11 cities", "optimal"))

    def test_draws_north_at_the_top_and_east_on_the_right(self):
        cities = ((50, 0), (0, 10), (0, -20)) # latitudes and longitudes
        self.file("some", "DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n" + "".join(
            f"{i + 1} {latitude} {longitude}\n" for i, (latitude, longitude) in enumerate(cities)))
        self.run_it("some", "--generations", 1, "--svg", "out.svg")
        x, y = self.circles("out.svg")
        self.assertLess(y[0], y[1])
        self.assertLess(x[2], x[0])
        self.assertLess(x[0], x[1])

    def test_reads_explicit_distances_in_every_format(self):
        source = random.Random(3)
        matrix = [[0] * 11 for _ in range(11)]
        for i, j in FORMATS["UPPER_ROW"](11):
            matrix[i][j] = matrix[j][i] = source.randrange(1000)
        optimum = shortest(11, lambda a, b: matrix[a][b])
        for name, listed in FORMATS.items():
            for separator in ("\n", " "):
                self.explicit(11, name, separator.join(str(matrix[i][j]) for i, j in listed(11)) +
                              "\nEOF\n")
                with self.subTest(name):
                    self.run_it("some", "--optimum", optimum, "--tour", "out")
                    self.check_tour("out", optimum, range(11), lambda a, b: matrix[a][b])

    def test_rows_of_distances_may_exceed_the_line_limit(self):
        self.explicit(500, "FULL_MATRIX", "".join(
            " ".join(str(abs(i - j)) for j in range(500)) + "\n" for i in range(500)))
        self.run_it("some", "--generations", 1, "--tour", "out")

    def test_draws_explicit_distances_at_the_display_data(self):
        self.explicit(3, "UPPER_ROW",
                      "7 8\n9\nDISPLAY_DATA_SECTION\n1 0 0\n3 100 0\n2 100 50\nEOF\n")
        out, _ = self.run_it("some", "--generations", 1, "--svg", "out.svg")
        self.assertEqual(self.length_in(out), 24)
        self.check_svg("out.svg", range(3), ("3 cities, length 24",))
        x, y = self.circles("out.svg")
        self.assertEqual(x[1], x[2])
        self.assertLess(x[0], x[1])
        self.assertEqual(y[0], y[2])
        self.assertLess(y[1], y[0])

    def test_refuses_a_drawing_without_coordinates(self):
        self.explicit(3, "UPPER_ROW", "7 8\n9\n")
        self.refuses("some", "--svg", "out.svg",
                     says="some: cannot draw: the problem has no coordinates")
        self.run_it("some", "--generations", 1)

    # ---- Pairing of breeders

    def test_every_breeder_gets_its_partners_with_any_number_of_threads(self):
        for form in FORMS:
            for threads in (1, 2, 3, 4, 7):
                with self.subTest(form=form, threads=threads):
                    out, _ = self.run_it("some.tsp", "--exchange", form, "--threads", threads,
                                         "--generations", 40, "--population", 50, "--breeders", 14,
                                         "--improve", "none")
                    self.assertEqual(self.generations_and_matings(out),
                                     (40, 14 * 10 * (4 + 3 + 2 + 1)))

    def test_symmetric_and_mutex_accept_an_odd_number_of_breeders(self):
        for form in ("symmetric", "mutex"):
            for threads in (1, 2, 4):
                out, _ = self.run_it("some.tsp", "--exchange", form, "--threads", threads,
                                     "--generations", 20, "--population", 50, "--breeders", 7,
                                     "--partners", 3, "--last-partners", 3, "--improve", "none")
                self.assertEqual(self.generations_and_matings(out), (20, 20 * 7 * 3))

    def test_no_breeder_is_stranded_in_the_schedule_of_the_paper(self):
        # In a schedule described in the paper, one of the four breeders is left without a
        # partner. Red-blue excludes it, so all genes are exchanged; the other forms detect
        # it.
        for form in FORMS:
            for threads in (1, 2, 3, 4):
                with self.subTest(form=form, threads=threads):
                    out, _ = self.run_it("some.tsp", "--exchange", form, "--threads", threads,
                                         "--generations", 300, "--population", 10, "--breeders", 4,
                                         "--partners", 3, "--last-partners", 3, "--improve", "none")
                    self.assertEqual(self.generations_and_matings(out), (300, 300 * 4 * 3))
                    if form == "red-blue":
                        self.assertIn(" 0 taken without a partner", out)

    def test_accepts_more_threads_than_breeders(self):
        for form in FORMS:
            self.run_it("some.tsp", "--exchange", form, "--threads", 9, "--generations", 20,
                        "--population", 5, "--breeders", 2)

    # ---- The end of a run

    def test_ends_after_the_given_generations(self):
        for form in FORMS:
            for count in (0, 1, 17):
                out, _ = self.run_it("some.tsp", "--generations", count, "--population", 100,
                                     "--breeders", 20, "--exchange", form)
                self.assertEqual(self.generations_and_matings(out)[0], count)

    def test_ends_after_the_given_time(self):
        out, _ = self.run_it("some.tsp", "--seconds", 0.3, "--tour", "out")
        self.check_tour("out", self.length_in(out), self.points)

    def test_ends_at_the_target(self):
        out, _ = self.run_it("--side", 10, "--target", 20, "--threads", 1)
        self.assertLessEqual(self.length_in(out), 12000)

    def test_writes_the_best_tour_after_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for form in FORMS:
                process = self.start("some.tsp", "--seconds", 1000, "--exchange", form, "--svg",
                                     "out.svg", "--tour", "out.tour")
                process.stderr.readline() # a generation has passed
                process.send_signal(number)
                out, errors = process.communicate(timeout=TIMEOUT)
                self.assertEqual(process.returncode, 130, errors)
                length = self.length_in(out.decode())
                self.check_tour("out.tour", length, self.points)
                self.check_svg("out.svg", self.points, (f"length {length}",))
                os.unlink(self.path("out.tour"))

    def test_ignored_signals_stay_ignored(self):
        process = self.start("some.tsp", "--seconds", 1,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.stderr.readline()
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)

    # ---- Invalid input

    def refuses(self, *arguments, says):
        out, errors = self.run_it(*arguments, status=1)
        self.assertEqual(out, "")
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertTrue(errors.startswith("tsp: "), errors)
        self.assertIn(says, errors)

    def test_refuses_invalid_problems(self):
        self.refuses("missing", says="missing: cannot open: No such file")
        self.refuses(".", says=".: cannot read the file")
        self.refuses("/dev/zero", says="/dev/zero:1: the line is longer than")
        self.file("bad", "TYPE: TSP\nDIMENSION: 99999999999\n")
        self.refuses("bad", says="bad:2: DIMENSION 99999999999 is not in the range 3 to 5000")
        self.file("bad", "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
                  "1 0 0\n2 nan 1\n")
        self.refuses("bad", says="bad:5: the coordinate nan is not within")

    def test_opens_the_problem_only_once(self):
        os.mkfifo(self.path("fifo"))
        process = self.start("fifo", "--generations", 1, "--tour", "out")
        with open(self.path("fifo"), "w", encoding="ascii") as fifo:
            fifo.write(self.content("some.tsp"))
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, errors)
        self.check_tour("out", self.length_in(out.decode()), self.points)

    # ---- Outputs

    def fails(self, *arguments, says, **options):
        """Checks that a run ends with the errors `says`, but prints its summary. Returns the length
        of the best tour."""
        process = self.start("some.tsp", "--generations", 1, "-q", *arguments, **options)
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(errors.decode(), "".join(f"tsp: {each}\n" for each in says))
        self.assertEqual(self.generations_and_matings(out.decode())[0], 1)
        return self.length_in(out.decode())

    def test_refuses_outputs_that_cannot_be_opened(self):
        self.file("file", "precious")
        os.symlink("loop", self.path("loop"))
        for option in ("--svg", "--tour"):
            self.refuses("some.tsp", option, "nowhere/out",
                         says="nowhere/out: cannot create a file in its folder: No such file")
            self.refuses("some.tsp", option, ".", says=".: cannot open: Is a directory")
            self.refuses("some.tsp", option, "file/out",
                         says="file/out: cannot open: Not a directory")
            self.refuses("some.tsp", option, "loop",
                         says="loop: cannot open: Too many levels of symbolic links")
            self.refuses("some.tsp", option, "/proc/version", says="/proc/version: cannot")
        self.assertEqual(self.content("file"), "precious")

    def test_a_failed_output_does_not_affect_the_other(self):
        says = "/dev/full: cannot write: No space left on device"
        length = self.fails("--svg", "/dev/full", "--tour", "out", says=[says])
        self.check_tour("out", length, self.points)
        length = self.fails("--tour", "/dev/full", "--svg", "out.svg", says=[says])
        self.check_svg("out.svg", self.points, (f"length {length}",))
        self.fails("--svg", "/dev/full", "--tour", "/dev/full", says=[says, says])

    def test_a_failed_summary_does_not_affect_the_outputs(self):
        with open("/dev/full", "wb") as full:
            process = self.start("some.tsp", "--generations", 1, "-q", "--tour", "out", stdout=full)
            _, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(errors, b"tsp: standard output: cannot write: No space left on device\n")
        self.assertTrue(self.content("out").endswith("-1\nEOF\n"))

    def test_an_output_above_the_size_limit_keeps_its_old_content(self):
        limit = 2000
        self.file("out.svg", "precious")
        length = self.fails(
            "--svg", "out.svg", "--tour", "out.tour",
            says=["out.svg: cannot write: File too large"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(self.content("out.svg"), "precious")
        self.check_tour("out.tour", length, self.points)
        self.assertEqual(sorted(os.listdir(self.folder)), ["out.svg", "out.tour", "some.tsp"])

    def test_an_output_that_cannot_be_renamed_keeps_its_temporary_name(self):
        process = self.start("some.tsp", "--seconds", 1000, "--tour", "out")
        process.stderr.readline() # a generation has passed
        os.mkdir(self.path("out"))
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        found = re.search(r"^tsp: out: cannot replace: Is a directory; the new content is in "
                          r"\./(.*)$", errors.decode(), re.MULTILINE)
        self.check_tour(found.group(1), self.length_in(out.decode()), self.points)

    def test_a_broken_pipe_does_not_affect_the_other_output(self):
        ours, its = os.pipe()
        os.close(ours)
        length = self.fails("--svg", f"/dev/fd/{its}", "--tour", "out", pass_fds=(its,),
                            says=[f"/dev/fd/{its}: cannot write: Broken pipe"])
        os.close(its)
        self.check_tour("out", length, self.points)

    def test_an_output_keeps_its_content_if_the_problem_is_refused(self):
        self.file("out", "precious")
        self.refuses("missing", "--tour", "out", says="missing")
        self.assertEqual(self.content("out"), "precious")

    def test_replaces_an_output_atomically(self):
        self.file("out", "old")
        os.chmod(self.path("out"), 0o640)
        with open(self.path("out"), encoding="ascii") as old:
            out, _ = self.run_it("some.tsp", "--generations", 1, "--tour", "out")
            self.assertEqual(old.read(), "old")
        self.check_tour("out", self.length_in(out), self.points)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o640)
        self.assertEqual(sorted(os.listdir(self.folder)), ["out", "some.tsp"])

    def test_a_new_output_has_the_default_mode(self):
        self.start("some.tsp", "--generations", 1, "--tour", "out",
                   preexec_fn=lambda: os.umask(0o027)).communicate(timeout=TIMEOUT)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o640)

    def test_follows_symbolic_links_and_keeps_them(self):
        os.mkdir(self.path("folder"))
        self.file("folder/old", "old")
        os.symlink("folder/to_old", self.path("first"))
        os.symlink("old", self.path("folder/to_old"))
        os.symlink(self.path("folder/new"), self.path("second"))
        out, _ = self.run_it("some.tsp", "--generations", 1, "--tour", "first", "--svg", "second")
        self.assertEqual(os.readlink(self.path("first")), "folder/to_old")
        self.assertEqual(os.readlink(self.path("folder/to_old")), "old")
        self.assertEqual(os.readlink(self.path("second")), self.path("folder/new"))
        self.check_tour("folder/old", self.length_in(out), self.points)
        self.check_svg("folder/new", self.points, (out.split()[4],))
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["new", "old", "to_old"])

    def test_writes_the_whole_output_to_a_fifo(self):
        os.mkfifo(self.path("fifo"))
        got = []
        reader = threading.Thread(target=lambda: got.append(self.content("fifo")), daemon=True)
        reader.start()
        out, _ = self.run_it("some.tsp", "--generations", 1, "--tour", "fifo")
        reader.join(TIMEOUT)
        self.check_tour_text(got[0], self.length_in(out), self.points)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))

    def test_writes_the_tour_before_the_summary_to_standard_output(self):
        out, _ = self.run_it("some.tsp", "--generations", 1, "--tour", "/dev/stdout")
        with open(self.path("both"), "w", encoding="ascii") as both:
            both.write("before\n")
            both.flush()
            self.start("some.tsp", "--generations", 1, "--tour", "/dev/stdout",
                       stdout=both).communicate(timeout=TIMEOUT)
        for text in (out, self.content("both").removeprefix("before\n")):
            tour, summary = text.split("EOF\n")
            self.check_tour_text(tour + "EOF\n", self.length_in(summary), self.points)
            self.assertEqual(self.generations_and_matings(summary)[0], 1)

    def test_refuses_to_overwrite_the_problem_or_another_output(self):
        precious = self.content("some.tsp")
        os.symlink("some.tsp", self.path("link"))
        os.link(self.path("some.tsp"), self.path("twin"))
        os.symlink("new", self.path("to_new"))
        folder = os.path.basename(self.folder)
        for option in ("--svg", "--tour"):
            for name in ("some.tsp", "link", "twin", f"../{folder}/some.tsp"):
                self.refuses("some.tsp", "--generations", 1, option, name,
                             says=f"{name}: cannot write {option}: the same file as the problem")
        self.refuses("link", "--generations", 1, "--tour", "twin",
                     says="the same file as the problem")
        self.file("old", "old")
        for svg, tour in (("old", "./old"), ("new", f"../{folder}/new"), ("new", "to_new"),
                          ("to_new", "new")):
            self.refuses("some.tsp", "--generations", 1, "--svg", svg, "--tour", tour,
                         says=f"{tour}: cannot write --tour: the same file as --svg")
        self.assertEqual(self.content("some.tsp"), precious)
        self.assertEqual(self.content("old"), "old")
        self.run_it("some.tsp", "--generations", 1, "--svg", "/dev/null", "--tour", "/dev/null")

    # ---- The command line

    def test_prints_its_version(self):
        out, _ = self.run_it("--version")
        self.assertRegex(out, r"^tsp \(tryst \d+\.\d+\.\d+\)\n$")
        with open("/dev/full", "wb") as full:
            process = self.start("--version", stdout=full)
            process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 1)

    def test_refuses_invalid_options(self):
        for options in (("--nonsense",), ("a", "b"), ("--exchange", "x"), ("--improve", "x"),
                        ("--exchange", "7"), ("--improve", "7"),
                        ("--exchange", "1"), ("--improve", "1"),
                        ("--threads", "0"), ("--threads", "x"), ("--breeders", "1000"),
                        ("--breeders", "7"), ("--breeders", "0"), ("--population", "1"),
                        ("--partners", "0"), ("--partners", "2", "--last-partners", "3"),
                        ("",), ("--svg", ""), ("--tour", ""), ("--side", "5"),
                        ("--side", "72"), ("--side", "0"), ("--side", "4", "some.tsp"),
                        ("--generations", "-1"), ("--seconds", "0"), ("--seconds", "nan"),
                        ("--target", "-1"), ("--target", "nan"),
                        ("some.tsp", "--target", "1"), ("--optimum", "0")):
            with self.subTest(options=options):
                _, errors = self.run_it(*options, status=2)
                self.assertNotEqual(errors, "")
        out, _ = self.run_it("--help")
        self.assertIn("for comparison only", " ".join(out.split()))
        self.assertIn("red-blue|symmetric|mutex", out)
        self.assertTrue(out.replace("\n", "").isprintable(), out)

    # ---- Progress

    def test_prints_progress_in_lines(self):
        _, errors = self.run_it("--side", 4, "--generations", 200)
        self.assertRegex(
            errors, r"^(generation \d+  length \d+  gap \d+\.\d\d%  \d+ generations/s\n)+$")
        _, errors = self.run_it("--side", 4, "--generations", 200, "-q")
        self.assertEqual(errors, "")

    def test_redraws_one_line_of_progress_on_a_terminal(self):
        ours, its = pty.openpty()
        process = self.start("some.tsp", "--seconds", 1000, stderr=its)
        os.close(its)
        said = b""
        while said.count(b"generations/s") < 2:
            self.assertTrue(select.select([ours], [], [], TIMEOUT)[0])
            said += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
        with contextlib.suppress(OSError): # raised at the end of the output
            while more := os.read(ours, 1000):
                said += more
        os.close(ours)
        self.assertNotIn(b"\n", said)
        self.assertTrue(said.endswith(b"\r\x1b[K"), said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the binary of tsp")
    parser.add_argument("--folder", help="the folder for files (default: that of the system)")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_args(namespace=chosen)
    if chosen.list:
        print(*(name.removeprefix("test_")
                for name in unittest.defaultTestLoader.getTestCaseNames(Tsp)), sep="\n")
        return
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL) # a shell or nohup may have set them to be ignored
    names = [f"Tsp.test_{name}" for name in chosen.tests] or None
    unittest.main(argv=sys.argv[:1] + (["-v"] if not names else []), defaultTest=names)


if __name__ == "__main__":
    main()

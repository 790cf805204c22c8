#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that gdb loads the scripts with a program that uses tryst::gdb.

    auto_load_test.py PROGRAM SCRIPTS   the folder that contains tryst.py
"""

import re
import sys
import unittest
from pathlib import Path

PROGRAM, SCRIPTS = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from gdb import Gdb  # noqa: E402

PRINTERS = "info pretty-printer global tryst"
ONE = re.compile(r"^ +red_blue_exchanger$", re.MULTILINE)


class AutoLoad(unittest.TestCase):
    def test_loads_the_scripts_of_a_safe_path_once_for_a_program_and_its_library(self) -> None:
        gdb = Gdb(self, "-iex", f"add-auto-load-safe-path {SCRIPTS}", PROGRAM)
        self.assertRegex(gdb("info auto-load python-scripts"), rf"Yes +{re.escape(str(SCRIPTS))}/tryst\.py *\n")
        self.assertRegex(gdb(PRINTERS), ONE)
        gdb("break main")
        gdb("run")
        self.assertEqual(len(ONE.findall(gdb(PRINTERS))), 1)

    def test_names_the_script_that_it_declines(self) -> None:
        gdb = Gdb(self, "-iex", "set auto-load safe-path /nowhere", PROGRAM)
        self.assertIn(f'"{SCRIPTS}/tryst.py" auto-loading has been declined', gdb.said_first)
        self.assertNotRegex(gdb(PRINTERS), ONE)

    def test_loads_them_by_hand(self) -> None:
        self.assertRegex(Gdb(self, "-x", SCRIPTS / "tryst.py", PROGRAM)(PRINTERS), ONE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that gdb loads the scripts with a program that uses tryst::gdb.

    auto_load_test.py PROGRAM SCRIPTS   the folder that contains tryst.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM, SCRIPTS = Path(sys.argv[1]), Path(sys.argv[2])
SKIPPED = 77


def gdb(*arguments: str) -> str:
    return subprocess.run(["gdb", "-nx", "--batch", *arguments, str(PROGRAM)], text=True, timeout=120,
                          env=os.environ | {"LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False).stdout


class AutoLoad(unittest.TestCase):
    def test_loads_the_scripts_of_a_safe_path(self) -> None:
        output = gdb("-iex", f"add-auto-load-safe-path {SCRIPTS}", "-ex", "info auto-load python-scripts",
                     "-ex", "info pretty-printer global tryst")
        self.assertRegex(output, rf"Yes +{re.escape(str(SCRIPTS))}/tryst\.py *\n")
        self.assertRegex(output, r"(?m)^ +red_blue_exchanger$")

    def test_names_the_script_that_it_declines(self) -> None:
        output = gdb("-iex", "set auto-load safe-path /nowhere", "-ex", "info pretty-printer global tryst")
        self.assertIn(f'"{SCRIPTS}/tryst.py" auto-loading has been declined', output)
        self.assertNotIn("red_blue_exchanger", output)

    def test_loads_them_by_hand(self) -> None:
        output = gdb("-x", f"{SCRIPTS}/tryst.py", "-ex", "info pretty-printer global tryst")
        self.assertRegex(output, r"(?m)^ +red_blue_exchanger$")

    def test_loads_them_once_for_a_program_and_its_library(self) -> None:
        output = gdb("-iex", f"add-auto-load-safe-path {SCRIPTS}", "-ex", "break main", "-ex", "run",
                     "-ex", "info pretty-printer global tryst")
        self.assertEqual(len(re.findall(r"(?m)^ +red_blue_exchanger$", output)), 1, output)


if __name__ == "__main__":
    if shutil.which("gdb") is None:
        print("auto_load_test.py: gdb is not installed", file=sys.stderr)
        sys.exit(1 if os.environ.get("TRYST_NO_SKIP") else SKIPPED)
    unittest.main(argv=sys.argv[:1])

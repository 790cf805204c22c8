#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Binaries contain the probes that they should, with the right numbers of arguments.

    notes_test.py CORE [URING]

CORE is a program, and URING an object of the library tryst::uring, both compiled with TRYST_USDT.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

import steps


def probes(binary: str) -> dict[tuple[str, str], set[int]]:
    """The probes in a binary, and their numbers of arguments."""
    notes = subprocess.check_output(["readelf", "--notes", binary], text=True)
    found: dict[tuple[str, str], set[int]] = {}
    for provider, name, arguments in re.findall(
            r"Provider: (\S+)\n +Name: (\S+)\n +Location: .*\n +Arguments:(.*)", notes):
        operands = re.findall(r"8@(?:\[.*?\]|\S+)", arguments)
        assert " ".join(operands) == arguments.strip(), arguments
        found.setdefault((provider, name), set()).add(len(operands))
    return found


class Notes(unittest.TestCase):
    core = ""
    uring: list[str] = []

    def compare(self, binary: str, header: Path, folder: Path) -> None:
        found = {name: counts for (provider, name), counts in probes(binary).items() if provider == "tryst"}
        traced = steps.traced(folder)
        own = steps.declared(header)
        self.assertEqual(sorted(set(own) - set(found)), [])
        self.assertEqual({step: found[step] for step in own}, {step: traced[step] for step in own})

    def test_a_program_has_all_probes_of_the_core(self) -> None:
        self.compare(self.core, steps.CORE, steps.TOP / "include")

    def test_a_program_keeps_its_own_probes(self) -> None:
        if Path("/usr/include/sys/sdt.h").exists() or list(Path("/usr/include").glob("*/sys/sdt.h")):
            self.assertIn(("app", "begin"), probes(self.core))

    def test_the_loop_has_all_its_probes(self) -> None:
        for binary in self.uring:
            self.compare(binary, steps.URING, steps.TOP / "src/uring")


if __name__ == "__main__":
    Notes.core, *Notes.uring = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])

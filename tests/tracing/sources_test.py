#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sources, docs/probes.md, the scripts of bpftrace and binaries agree on the steps and on their arguments.

    sources_test.py CORE [URING]

CORE is a program, and URING an object of the library tryst::uring, both compiled with TRYST_USDT.
"""

import fnmatch
import re
import subprocess
import sys
import unittest
from pathlib import Path

import steps

CORE, *URING = sys.argv[1:]


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


class Steps(unittest.TestCase):
    def test_all_are_traced_each_with_the_same_number_of_arguments(self) -> None:
        for header, folder in (steps.CORE, steps.TOP / "include"), (steps.URING, steps.TOP / "src/uring"):
            found = steps.traced(folder)
            self.assertGreater(len(found), 10)
            self.assertEqual(sorted(found), sorted(steps.declared(header)))
            self.assertEqual({step: counts for step, counts in found.items() if len(counts) != 1}, {})

    def test_an_adapter_has_numbers_and_names_of_its_own(self) -> None:
        core, uring = steps.declared(steps.CORE), steps.declared(steps.URING)
        self.assertEqual(set(core) & set(uring), set())
        self.assertIn(f"step_count = static_cast<std::uint8_t>(step::{core[-1]}) + 1;", steps.CORE.read_text())
        self.assertIn(f" {uring[0]} = tryst::detail::step_count,", steps.URING.read_text())

    def test_the_page_lists_them_with_their_arguments(self) -> None:
        core, uring = steps.tables()
        for table, header, folder in (core, steps.CORE, "include"), (uring, steps.URING, "src/uring"):
            self.assertEqual(sorted(table), sorted(steps.declared(header)))
            counts = {step: next(iter(count)) for step, count in steps.traced(steps.TOP / folder).items()}
            self.assertEqual({step: len(arguments) for step, arguments in table.items()}, counts)

    def test_the_page_lists_the_outcomes(self) -> None:
        text = steps.PAGE.read_text()
        paragraph = re.search(r"^Outcomes: .*?\n\n", text, re.MULTILINE | re.DOTALL)[0]
        listed = {int(number): name for number, name in re.findall(r"(\d)\s`(\w+)`", paragraph)}
        self.assertEqual(listed, {number: name for number, name in steps.outcomes().items() if number in listed})
        self.assertEqual(max(listed), 6)  # the others are of remote exchangers

    def test_the_scripts_use_steps_and_arguments_that_exist(self) -> None:
        counts = steps.traced(steps.TOP / "include")
        self.assertEqual([script.name for script in steps.SCRIPTS], ["long_waits.bt", "steps.bt", "wait_latency.bt"])
        for script in steps.SCRIPTS:
            for pattern, used in steps.used_by(script).items():
                matching = fnmatch.filter(counts, pattern)
                self.assertNotEqual(matching, [], f"{script.name}: {pattern}")
                self.assertLessEqual(used, min(min(counts[step]) for step in matching), f"{script.name}: {pattern}")

    def test_the_scripts_know_the_outcomes(self) -> None:
        text = (steps.TOP / "src/bpftrace/long_waits.bt").read_text()
        known = {int(number): name for number, name in re.findall(r'@outcome\[(\d)\] = "(\w+)"', text)}
        self.assertEqual(known, {number: name for number, name in steps.outcomes().items() if number <= 6})

    def test_binaries_contain_the_probes(self) -> None:
        for binary, header, folder in (CORE, steps.CORE, "include"), *((each, steps.URING, "src/uring") for each in URING):
            found = {name: counts for (provider, name), counts in probes(binary).items() if provider == "tryst"}
            traced = steps.traced(steps.TOP / folder)
            self.assertEqual({step: found.get(step) for step in steps.declared(header)}, traced)

    def test_a_program_keeps_its_own_probes(self) -> None:
        if Path("/usr/include/sys/sdt.h").exists() or list(Path("/usr/include").glob("*/sys/sdt.h")):
            self.assertIn(("app", "begin"), probes(CORE))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

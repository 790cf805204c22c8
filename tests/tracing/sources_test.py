#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sources, docs/tracing.md and the scripts of bpftrace agree on the steps and on their arguments."""

import fnmatch
import re
import unittest

import steps


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
        listed = {int(number): name for number, name in re.findall(r"^\| (\d) \| `(\w+)` \|", text, re.MULTILINE)}
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


if __name__ == "__main__":
    unittest.main()

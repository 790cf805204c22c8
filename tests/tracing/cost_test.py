#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A probe costs one nop, and no other instruction if its arguments are in registers.

    cost_test.py CXX INCLUDE
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

STEPS = """#include <tryst/detail/platform/trace.hpp>
extern long shared;
void none() { ++shared; TRYST_TRACE(growth); }
void two(const char* name, const void* waiter) { ++shared; TRYST_TRACE(growth, name, waiter); }
void three(const char* name, int* waiter) { *waiter = 1; TRYST_TRACE(growth, name, waiter, 7); }
"""
EXCHANGES = """#include <tryst/tryst.hpp>
template class tryst::exchanger<int>;
auto exchange(tryst::exchanger<int>& ex, int item) { return tryst::sync_wait(ex.exchange(item)); }
auto try_exchange(tryst::exchanger<int>& ex, int item) { return ex.try_exchange(item); }
"""
PADDING = re.compile(r"nop.+|data16|cs nop|xchg +%ax,%ax|int3")


class Cost(unittest.TestCase):
    cxx = include = ""

    def instructions(self, source: str, *options: str) -> dict[str, list[str]]:
        """The instructions of each function, without operands and without the compiler's padding."""
        with tempfile.TemporaryDirectory() as name:
            file, binary = Path(name) / "source.cpp", Path(name) / "source.o"
            file.write_text(source)
            subprocess.run([self.cxx, "-std=c++20", "-O2", "-pthread", f"-I{self.include}", *options, "-c", file, "-o", binary],
                           check=True)
            text = subprocess.check_output(["objdump", "-d", "--no-show-raw-insn", binary], text=True)
            self.notes = subprocess.check_output(["readelf", "--notes", binary], text=True).count("Provider: tryst")
        found: dict[str, list[str]] = {}
        for function, body in re.findall(r"^[0-9a-f]+ <(\S+)>:\n((?: .*\n)+)", text, re.MULTILINE):
            lines = [line.split(":", 1)[1].strip() for line in body.splitlines()]
            names = [line.split()[0] for line in lines if not PADDING.match(line)]
            while names[-1] == "nop":  # before the next function
                names.pop()
            found[function] = names
        return found

    def test_a_probe_is_one_nop(self) -> None:
        without, with_probes = self.instructions(STEPS), self.instructions(STEPS, "-DTRYST_USDT")
        self.assertEqual(self.notes, 3)
        self.assertEqual(len(without), 3)
        for function, before in without.items():
            at = len(before) - 1
            self.assertEqual(before[at], "ret")
            self.assertEqual(with_probes[function], [*before[:at], "nop", "ret"])

    def test_an_exchange_hardly_grows(self) -> None:
        without = self.instructions(EXCHANGES)
        self.assertEqual(self.notes, 0)
        with_probes = self.instructions(EXCHANGES, "-DTRYST_USDT")
        self.assertGreater(self.notes, 20)
        before, after = (sum(i != "nop" for body in all.values() for i in body) for all in (without, with_probes))
        print(f"{before} instructions without probes, {after} and {self.notes} nops with them")
        self.assertLess(after, 1.05 * before)


if __name__ == "__main__":
    Cost.cxx, Cost.include = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])

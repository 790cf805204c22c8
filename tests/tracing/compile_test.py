#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the compiler makes of a probe: one nop, and no other instruction if its arguments are in registers.

    compile_test.py CXX INCLUDE
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CXX, INCLUDE = sys.argv[1:]
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
TWO_SOURCES = """#include <tryst/tryst.hpp>
int without(tryst::exchanger<int>& ex);
#ifdef TRYST_USDT
int main() { tryst::exchanger<int> ex; return without(ex) + (ex.try_exchange(1) ? 1 : 0); }
#else
int without(tryst::exchanger<int>& ex) { return ex.try_exchange(1) ? 1 : 0; }
#endif
"""
PADDING = re.compile(r"nop.+|data16|cs nop|xchg +%ax,%ax|int3")


class Compiler(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compiled(self, source: str, *options: str) -> str:
        """Compiles a source file to an object file. @returns its path."""
        binary = f"{self.folder}/{len(list(Path(self.folder).iterdir()))}.o"
        subprocess.run([CXX, "-std=c++20", "-O2", "-pthread", f"-I{INCLUDE}", *options, "-c", "-x", "c++", "-", "-o", binary],
                       input=source, text=True, check=True)
        return binary

    def instructions(self, source: str, *options: str) -> dict[str, list[str]]:
        """The instructions of each function, without operands and without the compiler's padding."""
        binary = self.compiled(source, *options)
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

    def test_a_program_links_in_which_one_source_has_no_probes(self) -> None:
        # Which probes it has is then unspecified.
        objects = [self.compiled(TWO_SOURCES, "-O0", *options) for options in ([], ["-DTRYST_USDT"])]
        subprocess.run([CXX, "-pthread", *objects, "-o", f"{self.folder}/program"], check=True)
        subprocess.run([f"{self.folder}/program"], check=True)

    def test_another_platform_is_refused_with_a_reason(self) -> None:
        command = [CXX, "-std=c++20", f"-I{INCLUDE}", "-DTRYST_USDT", "-U__ELF__", "-fsyntax-only", "-x", "c++", "-"]
        refused = subprocess.run(command, input=STEPS, capture_output=True, text=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("tryst: TRYST_USDT needs ELF on x86-64 or AArch64; compile without it", refused.stderr)
        self.assertEqual(refused.stderr.count("error:"), 1, refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

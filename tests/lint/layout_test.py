#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layout.py accepts lines of 100 columns, and names a longer line and a `clang-format off`."""

import tempfile
import unittest
from pathlib import Path

from layout import complaints


class Layout(unittest.TestCase):
    def complaints_about(self, text: str, name: str = "include/tryst/word.hpp") -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return list(complaints(Path(folder)))

    def test_accepts_a_hundred_columns(self) -> None:
        self.assertEqual(self.complaints_about("// " + 97 * "é" + "\n"), [])

    def test_names_a_longer_line(self) -> None:
        self.assertEqual(self.complaints_about("\n// " + 98 * "x" + "\n"),
                         ["include/tryst/word.hpp:2: 101 columns; wrap the line at 100"])

    def test_names_a_line_in_every_folder(self) -> None:
        for name in ("src/uring/a.cpp", "tests/unit/a.cpp", "examples/a.cpp", "bench/a/b.hpp"):
            self.assertEqual(len(self.complaints_about("//" + 99 * "x", name)), 1, name)

    def test_names_a_line_in_a_block_of_a_page(self) -> None:
        long = "//" + 99 * "x" + "\n"
        page = f"{long}```text\n{long}```\n{long}```cpp\n{long}```\n{long}"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src").mkdir()
            (Path(folder) / "src/a.cpp").touch()
            (Path(folder) / "docs").mkdir()
            (Path(folder) / "docs/page.md").write_text(page)
            self.assertEqual(list(complaints(Path(folder))), ["docs/page.md:7: 101 columns; wrap the line at 100"])

    def test_names_code_that_is_not_formatted(self) -> None:
        found = self.complaints_about("    // clang-format off\nint  a;\n    // clang-format on\n")
        self.assertEqual(found, ["include/tryst/word.hpp:1: clang-format is switched off; let it format this code"])

    def test_wants_sources(self) -> None:
        self.assertEqual(len(self.complaints_about("x", "docs/page.md")), 1)


if __name__ == "__main__":
    unittest.main()

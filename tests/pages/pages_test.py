#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages show what is compiled and run."""

import re
import unittest

from blocks import TOP, blocks, compiled, unindented


class Pages(unittest.TestCase):
    def test_a_compiler_sees_each_block(self) -> None:
        """A program of tests/pages includes it, or its lines are a part of a program in examples/ or of an included block,
        however far they are indented."""
        count, texts = 0, [text for text, _ in compiled()]
        for page in ["README.md", *(str(path.relative_to(TOP)) for path in sorted((TOP / "docs").rglob("*.md")))]:
            for number, block in enumerate(blocks(page), 1):
                count += 1
                if not any(unindented(block.text) in text for text in texts):
                    self.fail(f"{page}:{block.line}: no program contains this block. Include it in a program of tests/pages "
                              f'(#include "{page}/{number}"), or copy it from examples/:\n{block.text}')
        self.assertGreaterEqual(count, 30)

    def shown(self, page: str, least: int) -> list[int]:
        """docs/<page>.md shows each program of examples/<page>, of which there are at least so many: the whole file below its
        licence, a line that compiles and runs it, and its output, which examples/CMakeLists.txt compares. `./dev example` builds
        a program with a compiled adapter. @returns where the page shows them."""
        text = (TOP / f"docs/{page}.md").read_text()
        places = []
        for file in sorted((TOP / "examples" / page).glob("*.cpp")):
            program = file.read_text().replace("// SPDX-License-Identifier: MIT\n", "")
            options = " -DASIO_STANDALONE" if "<asio.hpp>" in program else ""
            libraries = ""
            if "<QtWidgets/" in program:
                options, libraries = " -fPIC", " $(pkg-config --cflags --libs Qt6Widgets)"
            command = f"g++ -std=c++20 -pthread -I include{options} examples/{page}/{file.name}{libraries} && ./a.out\n"
            shown = [f"\n```cpp\n{program}```\n\n```sh\n{each}" for each in (f"{command}```\n\n```text\n", f"./dev example {file.stem} ")]
            places.append(max(map(text.find, shown)))
            if places[-1] < 0:
                self.fail(f"docs/{page}.md does not show this of {file.name}, or not in this form:{shown[0]}...")
        self.assertGreaterEqual(len(places), least)
        return places

    def test_the_cookbook_shows_each_program(self) -> None:
        self.shown("cookbook", 20)

    def test_the_tutorial_shows_its_steps_in_order(self) -> None:
        places = self.shown("tutorial", 6)
        self.assertEqual(places, sorted(places))

    def test_the_readme_begins_with_the_first_example(self) -> None:
        readme = re.search(r"^```cpp\n(.*?)```", (TOP / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(readme, (TOP / "examples/hello.cpp").read_text())


if __name__ == "__main__":
    unittest.main()

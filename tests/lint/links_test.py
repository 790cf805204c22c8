#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""links.py accepts links that work, and names files and anchors that do not exist."""

import tempfile
import unittest
from pathlib import Path

from links import complaints

GOOD = """<html><img src="search/a%20picture.svg"/>
<a href="other.html#end">x</a><a href="#here">x</a><h1 id="here">x</h1><a href="https://example.org/#x">x</a>
"""


class Links(unittest.TestCase):
    def complaints_about(self, page: str) -> list[str]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            (folder / "search").mkdir()
            (folder / "search/a picture.svg").write_text("<svg/>")
            (folder / "other.html").write_text('<a name="end"></a>')
            (folder / "page.html").write_text(page)
            return list(complaints(folder))

    def assert_complaint(self, expected: str, before: str, after: str) -> None:
        self.assertIn(before, GOOD)
        self.assertEqual(self.complaints_about(GOOD.replace(before, after)), [expected])

    def test_accepts_links_that_work(self) -> None:
        self.assertEqual(self.complaints_about(GOOD), [])

    def test_names_a_picture_that_does_not_exist(self) -> None:
        self.assert_complaint("page.html:1: b.svg: there is no such file", "search/a%20picture.svg", "b.svg")

    def test_names_a_page_that_does_not_exist(self) -> None:
        self.assert_complaint("page.html:2: none.html#end: there is no such file", "other.html", "none.html")

    def test_names_a_file_outside_the_folder(self) -> None:
        self.assert_complaint("page.html:2: /etc/passwd: there is no such file", "other.html#end", "/etc/passwd")

    def test_names_an_anchor_that_another_page_lacks(self) -> None:
        self.assert_complaint("page.html:2: other.html#start: the page has no such anchor", "#end", "#start")

    def test_names_an_anchor_that_the_page_itself_lacks(self) -> None:
        self.assert_complaint("page.html:2: #here: the page has no such anchor", 'id="here"', 'id="there"')

    def test_wants_pages(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(len(list(complaints(Path(name)))), 1)


if __name__ == "__main__":
    unittest.main()

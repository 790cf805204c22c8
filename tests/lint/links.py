#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the links of a folder of HTML pages, as they would work on a static web server.

    links.py FOLDER

 1. The file that a relative href or src names exists in FOLDER.
 2. The anchor that such a link names is an id or name in that page.

Links to other hosts are not followed.
"""

from html.parser import HTMLParser
from pathlib import Path
from typing import Iterator
from urllib.parse import unquote, urlsplit

from script import run


class Page(HTMLParser):
    """The anchors of a page, and the lines and targets of its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[int, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            if name in ("href", "src") or (name == "data" and tag == "object"):
                self.links.append((self.getpos()[0], value))


def complaints(folder: Path) -> Iterator[str]:
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for line, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            where = f"{path.relative_to(folder)}:{line}: {link}"
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(folder) or not target.is_file():
                yield f"{where}: there is no such file"
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    yield f"{where}: the page has no such anchor"
    if not pages:
        yield f"{folder}: no HTML pages found"


if __name__ == "__main__":
    run(lambda folder: sorted(set(complaints(folder.resolve()))))

# SPDX-License-Identifier: MIT
"""Figures and tables in Markdown."""

import re
import textwrap

GENERATED = "<!-- Made by bench/report from bench/results: change those instead. -->\n"


def figure(value: float | None) -> str:
    """Formats a figure with about three digits, and groups large numbers."""
    if value is None:
        return ""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def ratio(value: float) -> str:
    return f"{value:.2f}x" if value < 2 else f"{value:.1f}x" if value < 100 else f"{value:,.0f}x"


def wrapped(text: str, indent: str = "") -> str:
    """Returns a wrapped paragraph, or with an indent the item of a list. The text of a link stays on one line."""
    joined = re.sub(r"\[[^]]+\]\(", lambda link: re.sub(r"\s", "\0", link[0]), text)
    filled = textwrap.fill(joined, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\0", " ") + "\n"


def table(head: list[str], rows: list[list[str]], words: bool = False) -> str:
    """Returns a table with columns of right-aligned figures, or of words."""
    rule = " --- |" if words else " ---: |"
    lines = ["| " + " | ".join(head) + " |", "| --- |" + rule * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def section(title: str, note: str, *parts: str, level: int = 2) -> str:
    return "\n".join([f"{'#' * level} {title}\n", *([wrapped(note)] if note else []), *filter(None, parts)])


def picture(name: str, says: str) -> str:
    return f"![{says}](../bench/results/{name}.svg)\n"

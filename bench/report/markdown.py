# SPDX-License-Identifier: MIT
"""Figures and tables in Markdown."""


def figure(value: float | None) -> str:
    """Three digits are enough, and what is large is grouped."""
    if value is None:
        return ""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def ratio(value: float) -> str:
    return f"{value:.2f}x" if value < 2 else f"{value:.1f}x" if value < 100 else f"{value:,.0f}x"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def section(title: str, note: str, *parts: str) -> str:
    return "\n".join([f"## {title}\n", *([note + "\n"] if note else []), *parts])


def picture(name: str, says: str) -> str:
    return f"![{says}](../bench/results/{name}.svg)\n"

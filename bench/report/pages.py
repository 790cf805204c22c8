# SPDX-License-Identifier: MIT
"""The two pages, by their files."""

from pathlib import Path

import appendix
import front
from evidence import Json

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages(files: dict[str, Json | None]) -> dict[Path, str]:
    return {DOCS / "benchmarks.md": front.page(files), DOCS / "benchmarks-all.md": appendix.page(files)}

# SPDX-License-Identifier: MIT
"""The pages, by their files."""

from pathlib import Path

import appendix
import front
import remote
from evidence import Json

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages(files: dict[str, Json | None]) -> dict[Path, str]:
    through_redis = DOCS / "remote.md"
    return {DOCS / "benchmarks.md": front.page(files), DOCS / "benchmarks-all.md": appendix.page(files),
            through_redis: remote.page(through_redis.read_text(encoding="utf-8"), files.get("redis.json"))}

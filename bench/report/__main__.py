# SPDX-License-Identifier: MIT
"""Makes docs/benchmarks.md, docs/benchmarks-all.md and the plot from bench/results/*.json: python3 bench/report"""

import argparse

from evidence import Json
from pages import pages
from results import Results, load


def draw(files: dict[str, Json | None]) -> None:
    import plots # needs matplotlib, which the pages do not

    if data := files["rivals.json"]:
        plots.threads(Results(data))


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev bench --report", description=__doc__)
    parser.add_argument("--no-plots", action="store_true", help="make only the pages")
    options = parser.parse_args()
    files = load()
    if not options.no_plots:
        draw(files)
    for path, text in pages(files).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

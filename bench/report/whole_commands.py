# SPDX-License-Identifier: MIT
"""The section about whole commands, from files.json, the results of `./dev bench-files`."""

from evidence import marked
from markdown import section, table
from results import Json, commit

HEAD = ["seconds, median", "seconds, least", "median / fastest", "processor seconds", "MB/s"]


def rows(commands: list[Json], size: int) -> list[list[str]]:
    best = min(each["seconds"] for each in commands)
    return [[f"`{each['command']}`", f"{each['seconds']:.2f}", f"{each['least']:.2f}", f"{each['seconds'] / best:.2f}x",
             f"{each['processor_seconds']:.2f}", f"{size / each['seconds'] / 1e6:,.0f}"] for each in commands]


def comparison(each: Json, size: int) -> str:
    return table([each["title"], *HEAD], rows(each["commands"], size))


def sections(data: Json) -> list[str]:
    note = (f"The commands process one file of {data['size'] / 1e6:,.0f} MB (1,000,000 bytes each) in the page cache. They take "
            f"turns, and their output is checked. Medians of {data['rounds']} rounds. MB/s: more is better.")
    return [section("io_uring, whole commands", note, marked(data), f"commit {commit(data['meta'])}\n",
                    *(comparison(each, data["size"]) for each in data["comparisons"]))]

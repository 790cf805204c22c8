# SPDX-License-Identifier: MIT
"""The section about whole commands, from files.json: what `./dev bench-files` has measured."""

from markdown import section, table
from results import Json

HEAD = ["seconds", "of them least", "to the fastest", "processor seconds", "MB/s"]


def rows(commands: list[Json], size: int) -> list[list[str]]:
    best = min(each["seconds"] for each in commands)
    return [[f"`{each['command']}`", f"{each['seconds']:.2f}", f"{each['least']:.2f}", f"{each['seconds'] / best:.2f}x",
             f"{each['processor_seconds']:.2f}", f"{size / each['seconds'] / 1e6:,.0f}"] for each in commands]


def comparison(each: Json, size: int) -> str:
    return table([each["title"], *HEAD], rows(each["commands"], size))


def sections(data: Json) -> list[str]:
    note = (f"One file of {data['size'] / 1e6:,.0f} MB, which is in the page cache. The commands take turns; each result is "
            f"compared with what it should be. Medians of {data['rounds']} rounds.")
    return [section("io_uring, whole commands", note, *(comparison(each, data["size"]) for each in data["comparisons"]))]

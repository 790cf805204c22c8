# SPDX-License-Identifier: MIT
"""The steps of the protocol, as the sources declare and trace them, and as docs/probes.md lists them."""

import re
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
CORE = TOP / "include/tryst/detail/platform/trace.hpp"
URING = TOP / "src/uring/trace.hpp"
PAGE = TOP / "docs/probes.md"
SCRIPTS = sorted((TOP / "src/bpftrace").glob("*.bt"))


def declared(header: Path) -> list[str]:
    """The enumerators of `step`, in their order."""
    body = re.search(r"enum class step\b[^{]*\{(.*?)\n\};", header.read_text(), re.DOTALL)[1]
    return re.findall(r"^ +(\w+)(?: = [^,]*)?,", re.sub(r"///.*", "", body), re.MULTILINE)


def outcomes() -> dict[int, str]:
    """The names of the values of `outcome`."""
    text = (TOP / "include/tryst/result.hpp").read_text()
    body = re.search(r"enum class exchange_errc\b[^{]*\{(.*?)\n\};", text, re.DOTALL)[1]
    names = re.findall(r"^ +(\w+)(?: = 1)?,", body, re.MULTILINE)
    assert re.search(r"exchanged = 0,", (TOP / "include/tryst/detail/meet/waiter.hpp").read_text())
    return dict(enumerate(["exchanged", *names]))


def split(arguments: str) -> list[str]:
    """Splits the arguments of a macro at its own commas."""
    parts, depth = [""], 0
    for char in arguments:
        depth += (char in "(<[{") - (char in ")>]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def traced(folder: Path) -> dict[str, set[int]]:
    """The numbers of arguments with which each step is traced in a folder."""
    found: dict[str, set[int]] = defaultdict(set)
    for path in sorted(folder.rglob("*.[ch]pp")):
        if path not in (CORE, URING):
            for use in re.findall(r"\bTRYST_TRACE\((.*?)\);", path.read_text(), re.DOTALL):
                step, *arguments = split(use)
                found[step].add(len(arguments))
    return dict(found)


def tables() -> list[dict[str, list[str]]]:
    """The tables of steps of docs/probes.md: the arguments of each step."""
    found: list[dict[str, list[str]]] = []
    for table in re.findall(r"^\| step \|.*\n\|[ |-]+\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE):
        rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
        found.append({step.strip("` "): [name.strip() for name in row[1].split(",") if name.strip()]
                      for row in rows for step in row[0].split(",")})
    return found


def used_by(script: Path) -> dict[str, int]:
    """The steps, or patterns of them, that a script of bpftrace probes, and how many arguments of each it uses."""
    text = re.sub(r"^//.*", "", script.read_text(), flags=re.MULTILINE)
    blocks = re.findall(r"^((?:usdt::tryst:[\w*]+,?\n)+)(/.*?/\n)?(\{.*?^\})", text, re.MULTILINE | re.DOTALL)
    found = {step: max([int(n) + 1 for n in re.findall(r"\barg(\d)", condition + body)], default=0)
             for probes, condition, body in blocks for step in re.findall(r"tryst:([\w*]+)", probes)}
    assert len(found) == text.count("usdt:"), f"{script}: a probe of another form"
    return found

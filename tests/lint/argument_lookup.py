#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds calls in a header of the library that could call a function of the user instead.

    argument_lookup.py TOP CLANG_QUERY HEADER OPTION...

Where an unqualified call has an argument whose type depends on a template's parameters, the compiler also looks in the
namespaces of the user's types. Qualify the name of the function: `detail::post(w)`. Operators cannot be qualified.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

from script import run

QUERY = 'set output dump\nmatch unresolvedLookupExpr(isExpansionInFileMatching("include/tryst/"))\n'
MATCHES = re.compile(r"^\d+ match(es)?\.$", re.MULTILINE)
CALL = re.compile(r"^UnresolvedLookupExpr \S+ <\S*?(include/tryst/[^:>]+):(\d+):\d+.*\(ADL\) = '([a-z]\w*)'", re.MULTILINE)


def complaints(top: Path, clang_query: str, header: str, options: list[str]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        source, query = Path(folder) / "source.cpp", Path(folder) / "query"
        source.write_text(f"#include <{header}>\n")
        query.write_text(QUERY)
        command = [clang_query, "-f", query, source, "--", "-std=c++20", f"-I{top}/include", *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0 or "error:" in done.stderr or not MATCHES.search(done.stdout):
        yield f"{header}: {clang_query} does not parse it:\n{done.stderr}"
    for file, line, name in sorted(set(CALL.findall(done.stdout)), key=lambda found: (found[0], int(found[1]))):
        yield f"{file}:{line}: qualify {name}: this call may find a function of the user's"


if __name__ == "__main__":
    run(lambda top: complaints(top, sys.argv[2], sys.argv[3], sys.argv[4:]))

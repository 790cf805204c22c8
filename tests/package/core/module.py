#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the module tryst and a program that imports it, and runs the program. `./dev module` runs this.

    module.py CLANG FOLDER

The module must export each public name of the core: each that <tryst/tryst.hpp> declares in namespace tryst itself.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
MODULE = TOP / "src/tryst.cppm"
CLANG, FOLDER = sys.argv[1], Path(sys.argv[2])
OPTIONS = ["-std=c++20", "-pthread", "-Wall", "-Wextra", "-Werror", f"-I{TOP}/include"]


def clang(*arguments: object) -> None:
    subprocess.run([CLANG, *OPTIONS, *map(str, arguments)], check=True)


def public_names() -> set[str]:
    """The names that clang finds in namespace tryst."""
    umbrella = FOLDER / "umbrella.cpp"
    umbrella.write_text("#include <tryst/tryst.hpp>\n")
    listed = subprocess.run([CLANG, *OPTIONS, "-fsyntax-only", "-Xclang", "-ast-list", "-Xclang", "-ast-dump-filter",
                             "-Xclang", "tryst::", umbrella], check=True, capture_output=True, text=True).stdout
    names = set(re.findall(r"^tryst::([^:\n]+)$", listed, re.MULTILINE))
    # The list also contains namespaces, and the parameters of concepts. No using-declaration can name these.
    probe = FOLDER / "probe.cpp"
    probe.write_text("#include <tryst/tryst.hpp>\n" + "".join(f"using tryst::{name};\n" for name in sorted(names)))
    refused = subprocess.run([CLANG, *OPTIONS, "-fsyntax-only", "-ferror-limit=0", probe],
                             capture_output=True, text=True).stderr
    lines = probe.read_text().splitlines()
    for number in re.findall(r"^[^\n]*probe\.cpp:(\d+):\d+: error:", refused, re.MULTILINE):
        names.discard(lines[int(number) - 1].removeprefix("using tryst::").removesuffix(";"))
    return names


def complaints(public: set[str], module: str) -> list[str]:
    exported = set(re.findall(r"^using tryst::(.+);$", module, re.MULTILINE))
    return [f"{MODULE.relative_to(TOP)}: export tryst::{name}" for name in sorted(public - exported)]


def check_exports() -> None:
    public, module = public_names(), MODULE.read_text()
    if not {"exchanger", "select_npos", "stoppable_token", "sync_wait", "operator=="} <= public:
        sys.exit(f"module.py: clang no longer lists the public names; it lists {sorted(public)}")
    # First, proof that the check can fail.
    if len(complaints(public, module.replace("using tryst::task;\n", ""))) != len(complaints(public, module)) + 1:
        sys.exit("module.py: the check is blind: it did not miss tryst::task")
    if wrong := complaints(public, module):
        sys.exit("\n".join(wrong))


FOLDER.mkdir(parents=True, exist_ok=True)
check_exports()
clang("--precompile", MODULE, "-o", FOLDER / "tryst.pcm")
clang(f"-fmodule-file=tryst={FOLDER}/tryst.pcm", "-DTRYST_TEST_IMPORT", HERE / "program.cpp", HERE / "other.cpp",
      FOLDER / "tryst.pcm", "-o", FOLDER / "program")
subprocess.run([FOLDER / "program"], check=True, timeout=60)

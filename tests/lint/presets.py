#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that warnings are errors for developers only: a user's compiler may warn where ours does not.

    presets.py TOP

 1. The presets of commands that users run, and of what users install, leave TRYST_WARNINGS_AS_ERRORS off. Every other
    preset sets it.
 2. The option is off by default, and nothing else passes -Werror: not CMakeLists.txt, cmake/, src/, examples/, bench/
    or packaging/.
"""

import json
import re
from pathlib import Path
from typing import Iterator

from script import run

USERS = {"examples", "release", "package"}
OPTION = "TRYST_WARNINGS_AS_ERRORS"
DEFINED = "cmake/executable.cmake"


def errors_of(presets: dict[str, dict], name: str) -> bool | None:
    """What a preset sets the option to; None if neither it nor what it inherits does."""
    preset = presets[name]
    if OPTION in preset.get("cacheVariables", {}):
        value = preset["cacheVariables"][OPTION]
        return value in (True, "ON", "TRUE", "1")
    parents = preset.get("inherits", [])
    for parent in [parents] if isinstance(parents, str) else parents:
        inherited = errors_of(presets, parent)
        if inherited is not None:
            return inherited
    return None


def complaints(top: Path) -> Iterator[str]:
    listed = json.loads((top / "CMakePresets.json").read_text())["configurePresets"]
    presets = {preset["name"]: preset for preset in listed}
    for name in sorted(USERS - presets.keys()):
        yield f"CMakePresets.json: there is no preset {name}; correct the list of users' presets"
    for name in sorted(name for name, preset in presets.items() if not preset.get("hidden")):
        errors = errors_of(presets, name) or False
        if errors and name in USERS:
            yield f"CMakePresets.json: {name} is for users, and must not set {OPTION}"
        if not errors and name not in USERS:
            yield f"CMakePresets.json: {name} is for developers, and must set {OPTION}"

    if not re.search(rf'^option\({OPTION} ".*" OFF\)$', (top / DEFINED).read_text(), re.MULTILINE):
        yield f"{DEFINED}: {OPTION} must be off by default"
    files = [top / "CMakeLists.txt", *(top / "cmake").rglob("*.cmake"), *(top / "cmake").rglob("*.in")]
    files += [file for folder in ("src", "examples", "bench") for file in (top / folder).rglob("CMakeLists.txt")]
    files += [file for file in (top / "packaging").rglob("*") if file.is_file()]
    for file in sorted(files):
        name = str(file.relative_to(top))
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if re.search(rf"-Werror|{OPTION}", line) and not (name == DEFINED and OPTION in line):
                yield f"{name}:{number}: a warning would be an error for users, too"


if __name__ == "__main__":
    run(complaints)

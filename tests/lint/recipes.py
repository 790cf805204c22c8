#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the recipes in packaging/ agree with CMakeLists.txt and ./dev.

    recipes.py TOP

 1. Each option of CMake that provides an adapter is a feature of the vcpkg port and an option of the Conan recipe,
    unless its library is in no registry ("which you provide"). Nothing else is.
 2. The Debian package is built with the packages that ./dev installs for the adapters.
 3. All of them have the version of the project.
 4. The fields of vcpkg.json are those of its schema.
"""

import ast
import json
import re
from pathlib import Path
from typing import Iterator

from script import run

VCPKG = "packaging/vcpkg/tryst/vcpkg.json"
CONAN = "packaging/conan/conanfile.py"
CONTROL = "packaging/debian/control"
CHANGELOG = "packaging/debian/changelog"
# https://learn.microsoft.com/vcpkg/reference/vcpkg-json
FIELDS = {
    "port": {"name", "version", "port-version", "description", "homepage", "documentation", "license", "supports",
             "dependencies", "default-features", "features", "maintainers"},
    "feature": {"description", "dependencies", "supports", "license"},
    "dependency": {"name", "default-features", "features", "host", "platform", "version>="},
}


def differences(where: str, found: set[str], wanted: set[str], kind: str) -> Iterator[str]:
    for name in sorted(wanted - found):
        yield f"{where}: add {kind} {name}"
    for name in sorted(found - wanted):
        yield f"{where}: remove {kind} {name}"


def unknown_fields(value: dict, kind: str) -> Iterator[str]:
    for field in sorted(set(value) - FIELDS[kind]):
        yield f"{VCPKG}: a {kind} has no field {field}"
    for dependency in value.get("dependencies", []):
        if isinstance(dependency, dict):
            yield from unknown_fields(dependency, "dependency")
    for feature in value.get("features", {}).values() if kind == "port" else ():
        yield from unknown_fields(feature, "feature")


def complaints(top: Path) -> Iterator[str]:
    cmake = (top / "CMakeLists.txt").read_text()
    adapters = {name.lower() for name, about in
                re.findall(r'^option\(TRYST_(\w+) ".*[Pp]rovide tryst::(.*)"', cmake, re.MULTILINE)
                if "which you provide" not in about}
    version = re.search(r"^ +VERSION (\S+)", cmake, re.MULTILINE)[1]
    if not adapters:
        yield "CMakeLists.txt: no option provides an adapter"

    port = json.loads((top / VCPKG).read_text())
    yield from differences(VCPKG, {name.replace("-", "_") for name in port["features"]}, adapters, "feature")
    yield from unknown_fields(port, "port")

    conan = (top / CONAN).read_text()
    options = next(node.value for node in ast.parse(conan).body
                   if isinstance(node, ast.Assign) and node.targets[0].id == "ADAPTERS")
    yield from differences(CONAN, set(ast.literal_eval(options)), adapters, "option")

    control = (top / CONTROL).read_text().split("\n\n")[0]
    built_with = set(re.findall(r"^ +(\S+-dev),$", control, re.MULTILINE))
    installed = re.search(r"^adapters=\((.*?)\)", (top / "dev").read_text(), re.MULTILINE | re.DOTALL)[1]
    yield from differences(CONTROL, built_with, set(installed.split()), "build dependency")

    versions = {
        VCPKG: port["version"],
        CONAN: re.search(r'^    version = "(.*)"$', conan, re.MULTILINE)[1],
        CHANGELOG: re.match(r"tryst \((.*?)\)", (top / CHANGELOG).read_text())[1],
    }
    for where, found in versions.items():
        if found != version:
            yield f"{where}: version {found} instead of {version}"


if __name__ == "__main__":
    run(complaints)

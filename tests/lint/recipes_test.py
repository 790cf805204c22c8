#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recipes.py accepts the recipes of this repository, and names each difference that an edit makes."""

import shutil
import tempfile
import unittest
from pathlib import Path

from recipes import CHANGELOG, CONAN, CONTROL, VCPKG, complaints

TOP = Path(__file__).resolve().parents[2]
OPTION = 'option(TRYST_URING "'


class Recipes(unittest.TestCase):
    def complaints_after(self, name: str, old: str, new: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            for file in ("CMakeLists.txt", "dev", VCPKG, CONAN, CONTROL, CHANGELOG):
                copy = Path(folder) / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(TOP / file, copy)
            text = (Path(folder) / name).read_text()
            self.assertIn(old, text)
            (Path(folder) / name).write_text(text.replace(old, new))
            return list(complaints(Path(folder)))

    def test_accepts_the_recipes(self) -> None:
        self.assertEqual(self.complaints_after("dev", "", ""), [])

    def test_wants_a_new_adapter_in_each_recipe(self) -> None:
        self.assertEqual(
            self.complaints_after("CMakeLists.txt", OPTION, f'option(TRYST_NEW "Provide tryst::new (New)" OFF)\n{OPTION}'),
            [f"{VCPKG}: add feature new", f"{CONAN}: add option new"])

    def test_names_an_adapter_that_is_gone(self) -> None:
        self.assertEqual(self.complaints_after("CMakeLists.txt", OPTION, "# "),
                         [f"{VCPKG}: remove feature uring", f"{CONAN}: remove option uring"])

    def test_wants_what_dev_installs_among_the_build_dependencies(self) -> None:
        self.assertEqual(self.complaints_after("dev", "adapters=(", "adapters=(libnew-dev "),
                         [f"{CONTROL}: add build dependency libnew-dev"])

    def test_names_another_version(self) -> None:
        self.assertEqual(len(self.complaints_after("CMakeLists.txt", "VERSION 0.", "VERSION 7.")), 3)

    def test_names_an_unknown_field(self) -> None:
        for kind, old, new in (("port", '"license": "MIT"', "licence"), ("feature", '"description": "tryst::u', "summary"),
                               ("dependency", '"host": true', "hosted")):
            field = old.split(":")[0]
            self.assertIn(f"{VCPKG}: a {kind} has no field {new}",
                          self.complaints_after(VCPKG, old, old.replace(field, f'"{new}"')))


if __name__ == "__main__":
    unittest.main()

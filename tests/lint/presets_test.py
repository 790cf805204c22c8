#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""presets.py accepts the presets of this repository, and names each that an edit makes fail users' builds."""

import shutil
import tempfile
import unittest
from pathlib import Path

from presets import DEFINED, complaints

TOP = Path(__file__).resolve().parents[2]
ON, OFF = '"TRYST_WARNINGS_AS_ERRORS": true', '"TRYST_WARNINGS_AS_ERRORS": false'


class Presets(unittest.TestCase):
    def complaints_after(self, name: str, old: str, new: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            for copied in ("CMakePresets.json", "CMakeLists.txt", "bench/CMakeLists.txt"):
                (top / copied).parent.mkdir(exist_ok=True)
                shutil.copyfile(TOP / copied, top / copied)
            for copied in ("cmake", "packaging"):
                shutil.copytree(TOP / copied, top / copied)
            text = (top / name).read_text()
            self.assertIn(old, text)
            (top / name).write_text(text.replace(old, new, 1))
            return list(complaints(top))

    def test_accepts_the_presets(self) -> None:
        self.assertEqual(self.complaints_after("CMakePresets.json", "", ""), [])

    def test_names_each_preset_that_inherits_errors(self) -> None:
        self.assertEqual(
            self.complaints_after("CMakePresets.json", '"CMAKE_CXX_COMPILER": "g++",', f'"CMAKE_CXX_COMPILER": "g++", {ON},'),
            [f"CMakePresets.json: {name} is for users, and must not set TRYST_WARNINGS_AS_ERRORS"
             for name in ("examples", "release")])

    def test_names_a_preset_that_inherits_them_from_a_developers_one(self) -> None:
        self.assertEqual(self.complaints_after("CMakePresets.json", f"{OFF},", ""),
                         ["CMakePresets.json: package is for users, and must not set TRYST_WARNINGS_AS_ERRORS"])

    def test_names_a_developers_preset_without_errors(self) -> None:
        found = self.complaints_after("CMakePresets.json", ON, OFF)
        self.assertIn("CMakePresets.json: dev is for developers, and must set TRYST_WARNINGS_AS_ERRORS", found)
        self.assertIn("CMakePresets.json: tsan is for developers, and must set TRYST_WARNINGS_AS_ERRORS", found)

    def test_names_a_user_preset_that_is_gone(self) -> None:
        found = self.complaints_after("CMakePresets.json", '"name": "examples"', '"name": "show"')
        self.assertIn("CMakePresets.json: there is no preset examples; correct the list of users' presets", found)

    def test_wants_the_option_off_by_default(self) -> None:
        self.assertEqual(self.complaints_after(DEFINED, 'as errors" OFF)', 'as errors" ON)'),
                         [f"{DEFINED}: TRYST_WARNINGS_AS_ERRORS must be off by default"])

    def test_names_another_place_that_makes_errors(self) -> None:
        for name, old, new in (("cmake/redis.cmake", "if(", "add_compile_options(-Werror)\nif("),
                               ("packaging/debian/rules", "#!", "#! -DTRYST_WARNINGS_AS_ERRORS=ON"),
                               ("bench/CMakeLists.txt", "find_package", "set(TRYST_WARNINGS_AS_ERRORS ON)\nfind_package")):
            found = self.complaints_after(name, old, new)
            self.assertEqual(len(found), 1, found)
            self.assertRegex(found[0], f"^{name}:[0-9]+: a warning would be an error for users, too$")


if __name__ == "__main__":
    unittest.main()

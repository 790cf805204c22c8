#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the Conan recipe with all its options, and its test package, without Conan. `./dev recipes` runs this.

    conan_recipe.py FOLDER

The modules of Conan that the recipes import are substitutes, which do what Conan documents for them. CMake configures,
builds and installs for real, with the system's libraries.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

TOP = Path(__file__).resolve().parents[3]
RECIPE = TOP / "packaging/conan"
FOLDER = Path(sys.argv[1]).resolve()


class Options(dict):
    get_safe = dict.get


class ConanFile:
    settings, options, default_options = (), {}, {}

    def __init__(self, folder: Path) -> None:
        self.recipe_folder = str(folder)
        unknown = set(self.default_options) ^ set(self.options)
        assert not unknown, f"options without a default, or without values: {unknown}"
        self.options = Options({name: "True" for name in self.options})
        self.required: dict[str, dict] = {}
        self.properties: dict[str, str] = {}
        self.variables: dict[str, object] = {}
        self.cpp_info = SimpleNamespace(set_property=self.properties.__setitem__, builddirs=[])

    def requires(self, reference: str, **traits: bool) -> None:
        assert reference not in self.required, f"{reference} is required twice"
        self.required[reference] = traits

    def run(self, command: str, env: str = "") -> None:
        subprocess.run([command], check=True, timeout=60)


class CMakeToolchain:
    def __init__(self, recipe: ConanFile) -> None:
        self.cache_variables, self.recipe = {}, recipe

    def generate(self) -> None:
        self.recipe.variables = self.cache_variables


class CMakeDeps:
    def __init__(self, recipe: ConanFile) -> None:
        pass

    def generate(self) -> None:
        pass


class CMake:
    def __init__(self, recipe: ConanFile) -> None:
        self.recipe = recipe

    def cmake(self, *arguments: str) -> None:
        subprocess.run(["cmake", *arguments], check=True, stdout=subprocess.DEVNULL)

    def configure(self, variables: dict[str, object] | None = None) -> None:
        defined = {**self.recipe.variables, **(variables or {}), "CMAKE_BUILD_TYPE": "Release"}
        self.cmake("-S", self.recipe.source_folder, "-B", self.recipe.build_folder, "-G", "Ninja",
                   *(f"-D{name}={'ON' if value is True else 'OFF' if value is False else value}"
                     for name, value in defined.items()))

    def build(self) -> None:
        self.cmake("--build", self.recipe.build_folder)

    def install(self) -> None:
        self.cmake("--install", self.recipe.build_folder, "--prefix", self.recipe.package_folder)


def copy(recipe: ConanFile, pattern: str, source: str, destination: str) -> None:
    """The pattern matches whole paths below the source, as in Conan."""
    head = pattern.removesuffix("/*")
    found = Path(source, head)
    assert found.exists(), f"{pattern} matches nothing in {source}"
    if found.is_dir():
        shutil.copytree(found, Path(destination, head))
    else:
        Path(destination).mkdir(parents=True, exist_ok=True)
        shutil.copy(found, destination)


def check_min_cppstd(recipe: ConanFile, standard: int) -> None:
    assert standard == 20


def module(name: str, **members: object) -> None:
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__dict__.update(members)


def load(folder: Path, name: str) -> ConanFile:
    spec = importlib.util.spec_from_file_location(name, folder / "conanfile.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return next(kind for kind in vars(loaded).values()
                if isinstance(kind, type) and kind.__bases__ == (ConanFile,))(folder)


module("conan", ConanFile=ConanFile)
module("conan.tools")
module("conan.tools.build", check_min_cppstd=check_min_cppstd, can_run=lambda recipe: True)
module("conan.tools.cmake", CMake=CMake, CMakeDeps=CMakeDeps, CMakeToolchain=CMakeToolchain,
       cmake_layout=lambda recipe: None)
module("conan.tools.files", copy=copy)
module("conan.tools.gnu", PkgConfigDeps=CMakeDeps)

shutil.rmtree(FOLDER, ignore_errors=True)
recipe = load(RECIPE, "recipe")
recipe.export_sources_folder = recipe.source_folder = str(FOLDER / "source")
recipe.build_folder, recipe.package_folder = str(FOLDER / "build"), str(FOLDER / "package")
for step in ("export_sources", "requirements", "validate", "layout", "generate", "build", "package", "package_info"):
    getattr(recipe, step)()
assert recipe.properties == {"cmake_find_mode": "none"}
assert (FOLDER / "package/licenses/LICENSE").exists()

test = load(RECIPE / "test_package", "test")
test.source_folder, test.build_folder = test.recipe_folder, str(FOLDER / "test")
test.tested_reference_str = f"{recipe.name}/{recipe.version}"
test.dependencies = {"tryst": recipe}
test.cpp = SimpleNamespace(build=SimpleNamespace(bindir=test.build_folder))
# What CMakeToolchain does with builddirs.
test.variables["CMAKE_PREFIX_PATH"] = ";".join(os.path.join(recipe.package_folder, path)
                                               for path in recipe.cpp_info.builddirs)
for step in ("requirements", "layout", "build", "test"):
    getattr(test, step)()
assert list(test.required) == ["tryst/" + recipe.version]

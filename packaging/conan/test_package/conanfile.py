# SPDX-License-Identifier: MIT
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TrystTestConan(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        # The adapters that the tested package was built with.
        components = [name for name, value in self.dependencies["tryst"].options.items() if value == "True"]
        cmake = CMake(self)
        cmake.configure(variables={"COMPONENTS": ";".join(components)})
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "exchange"), env="conanrun")

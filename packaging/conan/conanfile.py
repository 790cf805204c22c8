# SPDX-License-Identifier: MIT
import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.gnu import PkgConfigDeps

# Each is an option of tryst's build: asio_spawn is TRYST_ASIO_SPAWN.
ADAPTERS = {
    "asio": ["asio/[>=1.22 <2]"],
    "asio_spawn": ["boost/[>=1.81 <2]"],
    "boost_asio": ["boost/[>=1.81 <2]"],
    "fiber": ["boost/[>=1.81 <2]"],
    "glib": ["glib/[>=2.74 <3]"],
    "libevent": ["libevent/[>=2.1 <3]"],
    "libuv": ["libuv/[>=1.44 <2]"],
    "qt": ["qt/[>=6.4 <7]"],
    "redis": ["openssl/[>=3 <4]"],
    "systemd": ["libsystemd/[>=252]"],
    "uring": ["liburing/[>=2.3 <3]"],
}


class TrystConan(ConanFile):
    name = "tryst"
    version = "0.1.0"
    description = "An exchange channel for C++20 coroutines: waiting blocks no thread"
    license = "MIT"
    topics = ("coroutines", "concurrency", "channel", "exchanger")
    settings = "os", "compiler", "build_type", "arch"
    package_type = "static-library"
    options = {adapter: [True, False] for adapter in ADAPTERS}
    default_options = {adapter: False for adapter in ADAPTERS}

    def chosen(self):
        return [adapter for adapter in ADAPTERS if self.options.get_safe(adapter)]

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, top, self.export_sources_folder)

    def requirements(self):
        for package in sorted({package for adapter in self.chosen() for package in ADAPTERS[adapter]}):
            self.requires(package, transitive_headers=True, transitive_libs=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"TRYST_BUILD_{part}"] = False
        for adapter in self.chosen():
            toolchain.cache_variables[f"TRYST_{adapter.upper()}"] = True
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate() # some adapters find their library by pkg-config

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # tryst's own CMake package: its components are the adapters, and it knows what each compiler needs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "tryst")]

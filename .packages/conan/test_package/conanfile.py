# SPDX-License-Identifier: Apache-2.0
"""The consumer of the tests, with the package and nlohmann_json of conan."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class FloptallyTest(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["WITH_READER"] = bool(self.dependencies["floptally"].options.reader)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for program in sorted(os.listdir(self.cpp.build.bindir)):
                if program.startswith("consumer"):
                    self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")

# SPDX-License-Identifier: Apache-2.0
"""floptally for conan 2: `conan create .packages/conan --build=missing`, from a clone."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

ROOT = os.path.join("..", "..")


class Floptally(ConanFile):
    name = "floptally"
    description = "Exact FLOPs of model training, and MFU"
    license = "Apache-2.0"
    author = "The floptally authors"
    topics = ("flops", "mfu", "training", "transformer", "header-only")
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"reader": [True, False]}
    default_options = {"reader": True}
    options_description = {"reader": "nlohmann_json for floptally::reader, which reads configs"}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, ROOT, "include", "floptally", "text", "version.hpp"))
        self.version = ".".join(re.findall(r"^#define FLOPTALLY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, ROOT)
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.reader:
            self.requires("nlohmann_json/[>=3.11 <4]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES"):
            toolchain.cache_variables[f"FLOPTALLY_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package of CMake that was installed, in place of one that conan writes: it has floptally::reader.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "floptally")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <floptally/waterfall/trace.hpp>

/// @file
/// The program `floptally` in the extension. Its unit includes no header of pybind11: it is the largest one, and the
/// compiler's memory is for the program alone.

namespace floptally::python {

/// Runs the program. Returns its exit status. The first word is the program's name.
[[nodiscard]] int run_program(std::vector<std::string> words);

/// A trace from a file, plain or gzip. May be called without the GIL.
[[nodiscard]] trace load_trace(const std::filesystem::path& path);

}  // namespace floptally::python

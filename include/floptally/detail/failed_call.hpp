// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <floptally/error.hpp>

namespace floptally::detail {

/// Throws what a library says of a call of its own that failed, and where: "MPI_Allreduce: TEXT (FILE:LINE)".
[[noreturn]] inline void throw_failed_call(std::string_view call, std::string_view text, const char* file, int line) {
    throw error(call, std::string(text).append(" (").append(file).append(":").append(std::to_string(line)).append(")"));
}

}  // namespace floptally::detail

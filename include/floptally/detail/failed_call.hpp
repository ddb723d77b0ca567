// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <floptally/error.hpp>

namespace floptally::detail {

/// What a library says of a call of its own that failed, and where: "TEXT (FILE:LINE)".
[[nodiscard]] inline std::string called_at(std::string_view text, const char* file, int line) {
    return std::string(text).append(" (").append(file).append(":").append(std::to_string(line)).append(")");
}

/// Throws it, as an error of the call.
[[noreturn]] inline void throw_failed_call(std::string_view call, std::string_view text, const char* file, int line) {
    throw error(call, called_at(text, file, line));
}

}  // namespace floptally::detail

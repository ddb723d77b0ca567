// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The error of a failed call of another library, with its place in the source.

namespace floptally::detail {

/// The text of a failed call in the words of its library, with its place: "TEXT (FILE:LINE)".
[[nodiscard]] inline std::string called_at(std::string_view text, const char* file, int line) {
    return text_of({text, " (", file, ":", line, ")"});
}

/// Throws the error of a failed call, whose field is the call.
[[noreturn]] inline void throw_failed_call(std::string_view call, std::string_view text, const char* file, int line) {
    throw error(call, called_at(text, file, line));
}

}  // namespace floptally::detail

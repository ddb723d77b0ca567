// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/page_language/nearest.hpp>

/// @file
/// The hint of an error that names the known word nearest to an unknown one.

namespace floptally::detail {

/// "; did you mean 'lengths'?" where one of the words is near, else nothing.
[[nodiscard]] inline std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    pages::vector<std::string_view> words;
    for (const std::string_view one : known) {
        words.push_back(one);
    }
    const std::string_view near = pages::nearest(word, words);
    return near.empty() || near == word ? std::string() : std::string("; did you mean '").append(near).append("'?");
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/text/edit_distance.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Finds the known name that is nearest to an unknown name, for hints in errors.

namespace floptally::inline v0_3::detail::specs {

/// Returns the known name with the smallest edit distance to `word`. The edit distance may be at most a third of the
/// letters of `word`, or 1 for short words. Returns an empty text if no name is so near.
[[nodiscard]] inline std::string_view nearest(std::string_view word, const vector<std::string_view>& known) {
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view name : known) {
        if (const std::size_t away = edit_distance(word, name, best - 1); away < best) {
            best = away;
            found = name;
        }
    }
    return found;
}

/// Returns "; nearest: NAME" for the end of an error, or an empty text if no known name is similar.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string nearest_hint(std::string_view word,
                                                                        const vector<std::string_view>& known) {
    const std::string_view near = nearest(word, known);
    return near.empty() ? std::string() : text_of({"; nearest: ", near});
}
/// Returns "; nearest: NAME" for the end of an error about a misspelt word, or an empty text if no name is similar. The
/// known names are the members `name` of `rows`.
template <class Row, std::size_t N>
[[nodiscard]] std::string nearest_hint(std::string_view word, const Row (&rows)[N]) {
    vector<std::string_view> known;
    for (const Row& row : rows) {
        known.push_back(row.name);
    }
    return nearest_hint(word, known);
}

}  // namespace floptally::detail::specs

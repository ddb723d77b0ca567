// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/text/text.hpp>
#include <floptally/text/word_distance.hpp>

/// @file
/// The known word that is nearest to an unknown one, for the hint of an error.

namespace floptally::detail::pages {

/// The word of a list that is nearest, if any is near: a third of its letters at most.
[[nodiscard]] inline std::string_view nearest(std::string_view word, const vector<std::string_view>& known) {
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view name : known) {
        if (const std::size_t away = word_distance(word, name, best - 1); away < best) {
            best = away;
            found = name;
        }
    }
    return found;
}

/// "; nearest: WORD" at the end of an error; nothing where none is near.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string nearest_hint(std::string_view word,
                                                                        const vector<std::string_view>& known) {
    const std::string_view near = nearest(word, known);
    return near.empty() ? std::string() : text_of({"; nearest: ", near});
}
/// The hint among rows that have a `name`.
template <class Row, std::size_t N>
[[nodiscard]] std::string nearest_hint(std::string_view word, const Row (&rows)[N]) {
    vector<std::string_view> known;
    for (const Row& row : rows) {
        known.push_back(row.name);
    }
    return nearest_hint(word, known);
}

}  // namespace floptally::detail::pages

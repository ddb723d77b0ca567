// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The known word that is nearest to an unknown one, for the hint of an error.

namespace floptally::detail::pages {

/// How many letters one must change, leave out, add or swap with the next to make one word of the other; `most` + 1
/// stands for more than `most`.
[[nodiscard]] inline std::size_t distance(std::string_view a, std::string_view b, std::size_t most) {
    if (a.size() > b.size() + most || b.size() > a.size() + most || a.size() > 200) {
        return most + 1;
    }
    vector<std::size_t> before(b.size() + 1, 0);
    vector<std::size_t> last(b.size() + 1, 0);
    vector<std::size_t> now(b.size() + 1, 0);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = std::min(now[j], before[j - 2] + 1);
            }
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return std::min(last[b.size()], most + 1);
}

/// The word of a list that is nearest, if any is near: a third of its letters at most.
[[nodiscard]] inline std::string_view nearest(std::string_view word, const vector<std::string_view>& known) {
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view name : known) {
        if (const std::size_t away = distance(word, name, best - 1); away < best) {
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

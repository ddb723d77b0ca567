// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// @file
/// The edit distance of two names, for the "nearest" hints of errors.

namespace floptally::inline v0_3::detail {

[[nodiscard]] constexpr std::size_t lesser(std::size_t a, std::size_t b) { return a < b ? a : b; }

/// Returns how many letters to change, remove, add or swap with the next one, to turn `a` into `b`. Returns `most` + 1
/// if the number exceeds `most`, or if a name has more than 200 letters.
[[nodiscard]] constexpr std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
    constexpr std::size_t longest = 200;
    if (a.size() > b.size() + most || b.size() > a.size() + most || a.size() > longest || b.size() > longest) {
        return most + 1;
    }
    std::size_t rows[3][longest + 1] = {};
    std::size_t* before = rows[0];
    std::size_t* last = rows[1];
    std::size_t* now = rows[2];
    for (std::size_t j = 0; j <= b.size(); ++j) {
        last[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = lesser(lesser(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = lesser(now[j], before[j - 2] + 1);
            }
        }
        std::size_t* const next = before;
        before = last;
        last = now;
        now = next;
    }
    return lesser(last[b.size()], most + 1);
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

/// @file
/// The distance of two words: letters that differ, are missing or changed places.

namespace floptally::detail {

/// How many letters one must change, leave out, add or swap with the next to make one word of the other; `most` + 1
/// stands for more than `most`, and for words of more than 200 letters.
[[nodiscard]] constexpr std::size_t word_distance(std::string_view a, std::string_view b, std::size_t most) {
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
            now[j] = std::min(std::min(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = std::min(now[j], before[j - 2] + 1);
            }
        }
        std::swap(before, last);
        std::swap(last, now);
    }
    return std::min(last[b.size()], most + 1);
}

}  // namespace floptally::detail

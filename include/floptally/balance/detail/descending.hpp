// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace floptally::detail {

/// Sorts words by their bits from `first` on: a stable radix sort by bytes. It is faster than comparisons of many
/// words, which a processor cannot predict.
inline void sort_by_bytes(std::vector<std::uint64_t>& words, int first, int bits) {
    std::vector<std::uint64_t> sorted(words.size());
    for (int shift = first; shift < bits; shift += 8) {
        std::array<std::uint32_t, 256> place{};
        for (const std::uint64_t word : words) {
            ++place[word >> shift & 255];
        }
        std::uint32_t before = 0;
        for (std::uint32_t& own : place) {
            before += std::exchange(own, before);
        }
        for (const std::uint64_t word : words) {
            sorted[place[word >> shift & 255]++] = word;
        }
        words.swap(sorted);
    }
}

/// Indices of keys, the largest key first; of equal keys the lowest index first.
template <class Key>
[[nodiscard]] std::vector<std::uint32_t> descending(const std::vector<Key>& keys) {
    std::vector<std::uint32_t> order(keys.size());
    if constexpr (std::is_same_v<Key, std::uint64_t>) {
        const std::uint64_t largest = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
        const auto index_bits = static_cast<int>(std::bit_width(keys.size()));
        const int bits = index_bits + static_cast<int>(std::bit_width(largest));
        if (bits <= 64) {  // a key and its index are one word
            std::vector<std::uint64_t> words(keys.size());
            for (std::size_t i = 0; i < keys.size(); ++i) {
                words[i] = (largest - keys[i]) << index_bits | i;
            }
            constexpr std::size_t many = 256;
            if (words.size() < many) {
                std::sort(words.begin(), words.end());
            } else {
                sort_by_bytes(words, index_bits, bits);
            }
            for (std::size_t i = 0; i < order.size(); ++i) {
                order[i] = static_cast<std::uint32_t>(words[i] & ((std::uint64_t{1} << index_bits) - 1));
            }
            return order;
        }
    }
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
    return order;
}

}  // namespace floptally::detail

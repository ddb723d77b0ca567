// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>

/// @file
/// The batches that kernels are given, on fibers of the host and on a GPU.

inline const floptally::mask_set every_text_mask = [] {
    using floptally::mask;
    return floptally::mask_set{mask::sliding_window(5),
                               mask::sliding_window(400),
                               mask::window(64, 3),
                               mask::window(-1, 5),
                               mask::chunked(7),
                               mask::top_k(11),
                               mask::compressed_keys(4),
                               mask::box(400),
                               floptally::maxtext::chunk_squares{7},
                               mask::prefix_lm(9),
                               mask::hstu(),
                               mask::hstu({.is_causal = false, .contextual = false}),
                               floptally::recsys_examples::history_squares{0},
                               floptally::recsys_examples::other_pairs{0},
                               floptally::unit::hstu_part(floptally::hstu_rows::targets, 2),
                               floptally::make_statistic<floptally::megatron_bridge::within_window>(400)};
}();

/// Lengths of all sizes, with zeros, and one in sixteen below `rare_limit`.
inline std::vector<std::uint32_t> random_lengths(std::mt19937_64& random, std::size_t count,
                                                 std::uint32_t rare_limit = 9000) {
    std::vector<std::uint32_t> lengths(count);
    for (std::uint32_t& length : lengths) {
        const std::uint64_t kind = random() % 16;
        length = kind == 0 ? 0U
                           : static_cast<std::uint32_t>(random() % (kind == 1  ? rare_limit
                                                                    : kind < 8 ? 500U
                                                                               : 9000U));
    }
    return lengths;
}

template <class T>
std::vector<T> boundaries_of(const std::vector<std::uint32_t>& lengths) {
    std::vector<T> boundaries{0};
    for (const std::uint32_t length : lengths) {
        boundaries.push_back(static_cast<T>(boundaries.back() + static_cast<T>(length)));
    }
    return boundaries;
}

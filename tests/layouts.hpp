// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/parallel/parallel_layout.hpp>

/// Every dp, cp, tp, pp whose product is at most `most`.
inline std::vector<floptally::parallel_sizes> layouts_up_to(std::uint64_t most) {
    std::vector<floptally::parallel_sizes> all;
    for (std::uint64_t dp = 1; dp <= most; ++dp) {
        for (std::uint64_t cp = 1; dp * cp <= most; ++cp) {
            for (std::uint64_t tp = 1; dp * cp * tp <= most; ++tp) {
                for (std::uint64_t pp = 1; dp * cp * tp * pp <= most; ++pp) {
                    all.push_back({.dp = dp, .cp = cp, .tp = tp, .pp = pp});
                }
            }
        }
    }
    return all;
}

inline std::uint64_t world_of(const floptally::parallel_sizes& s) { return s.dp * s.cp * s.tp * s.pp; }

inline std::vector<floptally::axis_set> all_groups() {
    std::vector<floptally::axis_set> all;
    for (unsigned bits = 0; bits < 16; ++bits) {
        floptally::axis_set axes;
        for (unsigned i = 0; i < 4; ++i) {
            axes = (bits >> i & 1U) != 0 ? axes | floptally::dense_axes[i] : axes;
        }
        all.push_back(axes);
    }
    return all;
}

/// The result of an all-reduce, without ranks: the words of every member, added up.
inline std::vector<std::uint64_t> added_up(const std::vector<std::vector<std::uint64_t>>& messages,
                                           const std::vector<std::uint64_t>& ranks) {
    std::vector<std::uint64_t> sums(messages.at(0).size(), 0);
    for (const std::uint64_t rank : ranks) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] += messages.at(rank).at(i);
        }
    }
    return sums;
}

inline std::vector<std::uint64_t> members(const floptally::rank_group& group) {
    std::vector<std::uint64_t> ranks;
    for (const std::uint64_t rank : group) {
        ranks.push_back(rank);
    }
    return ranks;
}

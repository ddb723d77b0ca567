// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <floptally/parallel/verified_sum.hpp>

/// The message of a rank that has an error of its own.
[[nodiscard]] inline std::vector<std::uint64_t> refusal_of(const floptally::verified_sum& sum) {
    struct {
        std::vector<std::uint64_t> sent;
        void sum(std::span<std::uint64_t> words) { sent.assign(words.begin(), words.end()); }
    } reducer;
    sum.refuse(reducer);
    return reducer.sent;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// HSTU's masks by the words of their definition, key by key, with none of the library's arithmetic: as the reference
/// implementations build them from positions in which the whole context has one place.

#include <cstdint>
#include <string>
#include <vector>

#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/sequence.hpp>

namespace hstu_definition {

/// The three parts of a sequence, of which the first `past` rows are cached.
struct parts {
    std::int64_t context = 0;
    std::int64_t history = 0;
    std::int64_t targets = 0;
    std::int64_t group = 1;
    std::int64_t past = 0;

    [[nodiscard]] constexpr std::int64_t length() const { return context + history + targets; }

    [[nodiscard]] constexpr floptally::sequence record() const {
        return {.length = static_cast<std::uint32_t>(length() - past),
                .past = static_cast<std::uint32_t>(past),
                .context = static_cast<std::uint32_t>(context),
                .targets = static_cast<std::uint32_t>(targets),
                .target_group = static_cast<std::uint32_t>(group)};
    }

    [[nodiscard]] std::string text() const {
        return "c " + std::to_string(context) + ", h " + std::to_string(history) + ", t " + std::to_string(targets) +
               ", g " + std::to_string(group) + ", past " + std::to_string(past);
    }
};

/// True where row i sees key j.
[[nodiscard]] constexpr bool attends(const floptally::hstu_mask& statistic, const parts& s, std::int64_t i,
                                     std::int64_t j) {
    const std::int64_t context = statistic.contextual ? s.context : 0;
    const std::int64_t targets_from = s.context + s.history;
    const bool row_is_target = i >= targets_from;
    if (i == j) {
        return true;
    }
    if (j >= targets_from && (!row_is_target || (i - targets_from) / s.group != (j - targets_from) / s.group)) {
        return false;
    }
    if (i < context) {
        return true;
    }
    const bool one_place = statistic.targets_share_place;
    if (one_place && row_is_target && j >= targets_from) {
        return j < i;  // of its group: no nearer and no farther than itself
    }
    const auto place = [context, one_place, targets_from](std::int64_t position) {
        position = one_place && position > targets_from ? targets_from : position;
        const std::int64_t shifted = context == 0 ? position : position - context + 1;
        return shifted < 0 ? 0 : shifted;
    };
    const std::int64_t distance = place(i) - place(j);
    if (!statistic.is_causal && j < targets_from) {
        return true;
    }
    if (distance <= 0) {
        return false;
    }
    const bool unlimited =
        row_is_target ? !statistic.windowed_targets : i >= targets_from - statistic.min_full_attn_seq_len;
    return statistic.max_attn_len == 0 || unlimited || distance <= statistic.max_attn_len;
}

[[nodiscard]] constexpr std::uint64_t pairs(const floptally::hstu_mask& statistic, const parts& s) {
    std::uint64_t sum = 0;
    for (std::int64_t i = s.past; i < s.length(); ++i) {
        for (std::int64_t j = 0; j < s.length(); ++j) {
            sum += attends(statistic, s, i, j) ? 1U : 0U;
        }
    }
    return sum;
}

/// Every statistic that differs on sequences of fewer than `end` rows.
[[nodiscard]] inline std::vector<floptally::hstu_mask> statistics(const std::vector<std::int64_t>& reaches,
                                                                  const std::vector<std::int64_t>& full_rows) {
    std::vector<floptally::hstu_mask> all;
    for (const bool contextual : {true, false}) {
        all.push_back({.contextual = contextual});
        all.push_back({.is_causal = false, .contextual = contextual});
        for (const std::int64_t reach : reaches) {
            for (const std::int64_t full : full_rows) {
                for (const bool windowed : {true, false}) {
                    all.push_back({.contextual = contextual,
                                   .max_attn_len = reach,
                                   .min_full_attn_seq_len = full,
                                   .windowed_targets = windowed});
                }
                all.push_back({.contextual = contextual,
                               .max_attn_len = reach,
                               .min_full_attn_seq_len = full,
                               .targets_share_place = true});
            }
        }
    }
    return all;
}

}  // namespace hstu_definition

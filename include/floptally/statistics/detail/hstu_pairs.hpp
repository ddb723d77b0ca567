// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The arithmetic of HSTU's masks. Each function sums over the first n rows (queries) of a sequence. Callers subtract
/// the sum over the cached rows. Callers pass only valid arguments. Results are exact up to `max_sequence_length`
/// tokens.

namespace floptally::inline v0_3::detail {

/// The numbers of contextual tokens, history tokens and targets in an HSTU sequence, or in its first rows.
struct hstu_layout {
    std::uint64_t context = 0;
    std::uint64_t history = 0;
    std::uint64_t targets = 0;
    std::uint64_t group = 1;

    constexpr hstu_layout() = default;

    /// Makes the layout of a sequence. Without `contextual`, contextual tokens count as history. Targets and contextual
    /// tokens that do not fit into the sequence are dropped. A tally has already thrown an error for such a sequence.
    FLOPTALLY_HOST_DEVICE constexpr hstu_layout(const sequence& s, bool contextual) {
        const std::uint64_t end = std::uint64_t{s.past} + s.length;
        targets = smaller(s.targets, end);
        context = contextual ? smaller(s.context, end - targets) : 0;
        history = end - targets - context;
        group = s.target_group == 0 ? 1 : s.target_group;
    }

    /// Returns how many of the first n rows are context, history and targets.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr hstu_layout first(std::uint64_t n) const {
        hstu_layout rows = *this;
        rows.context = smaller(n, context);
        rows.history = smaller(n - rows.context, history);
        rows.targets = n - rows.context - rows.history;
        return rows;
    }

    /// Returns the number of keys that are not targets.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t seen() const { return context + history; }
};

/// The value of `reach` (how many earlier keys a row may attend to) of a mask without a limit.
inline constexpr std::int64_t unlimited_reach = -1;

/// The options of an `hstu_mask` as bits.
inline constexpr std::uint8_t hstu_bidirectional = 1;
inline constexpr std::uint8_t hstu_without_context = 2;
inline constexpr std::uint8_t hstu_windowed_targets = 4;
// All targets share one position; set only together with hstu_windowed_targets.
inline constexpr std::uint8_t hstu_shared_place = 8;

/// Returns the options of an HSTU mask as bits. An option that has no effect gets the bit 0.
[[nodiscard]] constexpr std::uint8_t hstu_flags(const hstu_mask& m) {
    const bool windowed = m.max_attn_len > 0 && m.windowed_targets;
    return static_cast<std::uint8_t>(
        (m.is_causal ? 0 : hstu_bidirectional) | (m.contextual ? 0 : hstu_without_context) |
        (windowed ? hstu_windowed_targets : 0) | (windowed && m.targets_share_place ? hstu_shared_place : 0));
}

/// Returns the option bits of an HSTU mask without the bits of `max_attn_len`.
[[nodiscard]] constexpr std::uint8_t unlimited_flags(std::uint8_t flags) {
    return static_cast<std::uint8_t>(flags & (hstu_bidirectional | hstu_without_context));
}

/// Throws `error` if options contradict each other.
constexpr void check_hstu(const hstu_mask& m) {
    if (m.max_attn_len == 0 && m.min_full_attn_seq_len != 0) {
        throw error("min_full_attn_seq_len",
                    "needs a max_attn_len above 0: set max_attn_len, or set min_full_attn_seq_len to 0");
    }
    if (m.max_attn_len != 0 && !m.is_causal) {
        throw error("max_attn_len", "needs a causal mask: set is_causal to true, or max_attn_len to 0");
    }
}

/// Returns the number of causal pairs of the first `rows` rows of the history. Row i attends to the context and to the
/// first i + 1 rows of the history. If the mask has a reach of w rows, row i attends to itself and to min(i, w) earlier
/// rows. With such a reach, row i attends to the context only if i < w. The last `full` rows have no such limit.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_history_pairs(const hstu_layout& whole,
                                                                               std::uint64_t rows, std::int64_t reach,
                                                                               std::int64_t full) {
    std::uint64_t limited = 0;
    std::uint64_t pairs = 0;
    if (reach != unlimited_reach) {
        const std::uint64_t last = smaller(whole.history, static_cast<std::uint64_t>(full));
        limited = smaller(rows, whole.history - last);
        pairs =
            limited + capped_ramp(limited, reach) + whole.context * smaller(limited, static_cast<std::uint64_t>(reach));
    }
    return pairs + whole.context * (rows - limited) + triangle(rows) - triangle(limited);
}

/// Returns the number of pairs of the first `rows` targets. Target j attends to itself, to min(j mod g, reach) earlier
/// targets of its group of g, and to every key that is not a target. If the mask has a reach of w rows, target j
/// attends only to w − j rows of the history (at least 0, at most all). If w − j is above the number of rows of the
/// history, target j also attends to the context.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_target_pairs(const hstu_layout& whole,
                                                                              std::uint64_t rows, std::int64_t reach) {
    const std::uint64_t own =
        rows + rows / whole.group * capped_ramp(whole.group, reach) + capped_ramp(rows % whole.group, reach);
    if (reach == unlimited_reach) {
        return own + rows * whole.seen();
    }
    const auto w = static_cast<std::uint64_t>(reach);
    const std::uint64_t near = smaller(rows, w - smaller(w, whole.history));
    const std::uint64_t far = smaller(rows, w);
    return own + near * whole.seen() + triangle(w - near) - triangle(w - far);
}

/// Returns the number of pairs of the first `rows` targets if all targets share one position. For a history of h rows
/// and a reach of w rows, each target sees min(w, h) rows of the history, itself and the earlier targets of its group.
/// Each target also sees the context if w is above h.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_shared_target_pairs(const hstu_layout& whole,
                                                                                     std::uint64_t rows,
                                                                                     std::int64_t reach) {
    const auto w = static_cast<std::uint64_t>(reach);
    const std::uint64_t own = rows + rows / whole.group * capped_ramp(whole.group, unlimited_reach) +
                              capped_ramp(rows % whole.group, unlimited_reach);
    return own + rows * (w > whole.history ? whole.seen() : w);
}

/// Returns the number of pairs of the first n rows of the whole sequence.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_pairs_before(const hstu_layout& whole, std::uint64_t n,
                                                                              std::int64_t reach, std::int64_t full,
                                                                              std::uint8_t flags) {
    const hstu_layout rows = whole.first(n);
    const std::uint64_t history = (flags & hstu_bidirectional) != 0
                                      ? rows.history * whole.seen()
                                      : hstu_history_pairs(whole, rows.history, reach, full);
    const bool limited = (flags & hstu_windowed_targets) != 0;
    const std::uint64_t targets = (flags & hstu_shared_place) != 0
                                      ? hstu_shared_target_pairs(whole, rows.targets, reach)
                                      : hstu_target_pairs(whole, rows.targets, limited ? reach : unlimited_reach);
    return rows.context * whole.seen() + history + targets;
}

/// Returns the number of pairs of the new tokens of a sequence.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t pairs_of_hstu(const sequence& s, std::int64_t reach,
                                                                          std::int64_t full, std::uint8_t flags) {
    const hstu_layout whole(s, (flags & hstu_without_context) == 0);
    return hstu_pairs_before(whole, std::uint64_t{s.past} + s.length, reach, full, flags) -
           hstu_pairs_before(whole, s.past, reach, full, flags);
}

/// Returns h² for a history of h tokens. The square of the cached history is subtracted if the sequence has a past.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_history_squares(const sequence& s,
                                                                                 std::uint8_t flags) {
    const hstu_layout whole(s, (flags & hstu_without_context) == 0);
    const std::uint64_t rows = whole.first(std::uint64_t{s.past} + s.length).history;
    const std::uint64_t before = whole.first(s.past).history;
    return rows * rows - before * before;
}

/// Returns the number of pairs of an HSTU mask without limits, except those of history queries with history keys.
/// Within its group, each target attends only to itself. If the mask is not causal, the pairs of history with history
/// count too.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_other_pairs(const sequence& s, std::uint8_t flags) {
    const hstu_layout whole(s, (flags & hstu_without_context) == 0);
    const hstu_layout end = whole.first(std::uint64_t{s.past} + s.length);
    const hstu_layout before = whole.first(s.past);
    const std::uint64_t keys = (flags & hstu_bidirectional) != 0 ? whole.seen() : whole.context;
    return (end.context - before.context) * whole.seen() + (end.history - before.history) * keys +
           (end.targets - before.targets) * (whole.seen() + 1);
}

/// Returns the number of computed rows of one part of an HSTU sequence. Of every `stride` rows only the first is
/// computed.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t hstu_part_rows(const sequence& s, hstu_rows part,
                                                                           std::uint64_t stride) {
    const hstu_layout whole(s, true);
    const auto rows_before = [&](std::uint64_t n) {
        const hstu_layout rows = whole.first(n);
        const std::uint64_t part_rows = part == hstu_rows::context   ? rows.context
                                        : part == hstu_rows::items   ? rows.history + rows.targets
                                        : part == hstu_rows::history ? rows.history
                                        : part == hstu_rows::targets ? rows.targets
                                                                     : n;
        return part_rows / stride + (part_rows % stride != 0 ? 1U : 0U);
    };
    return rows_before(std::uint64_t{s.past} + s.length) - rows_before(s.past);
}

/// Returns the name that configs use for a part of an HSTU sequence: "context", ….
[[nodiscard]] constexpr const char* name_of(hstu_rows part) {
    return part == hstu_rows::context   ? "context"
           : part == hstu_rows::items   ? "items"
           : part == hstu_rows::history ? "history"
           : part == hstu_rows::targets ? "targets"
                                        : "all";
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/hstu_pairs.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Statistics over the contextual rows, history and targets of HSTU sequences. Each statistic is checked by enumeration
/// in tests/statistics/hstu_mask.test.cpp and proven in tests/proofs.

namespace floptally::inline v0_3::mask_statistics {

/// The pairs of the mask that `hstu_mask` describes. A sequence of L tokens has h contextual and history tokens and t
/// targets. Without limits and contextual tokens there are L² − tL − h(h − 1)/2 + T_g pairs. T_g is the number of pairs
/// of targets within their groups.
struct hstu {
    std::int32_t reach = -1;  ///< largest number of earlier keys of a row (`hstu_mask::max_attn_len`); −1: no limit
    std::int32_t full = 0;    ///< number of rows at the end of the history without a limit
                              ///< (`hstu_mask::min_full_attn_seq_len`)
    std::int32_t flags = 0;   ///< the options of the mask as bits (`detail::hstu_flags`)

    static constexpr std::string_view name = "hstu"sv;
    static constexpr statistic_parameter parameters[] = {{"is_causal", 0, 1, 1},
                                                         {"contextual", 0, 1, 1},
                                                         {.name = "max_attn_len", .least = 0, .fallback = 0},
                                                         {.name = "min_full_attn_seq_len", .least = 0, .fallback = 0},
                                                         {"windowed_targets", 0, 1, 1},
                                                         {"targets_share_place", 0, 1, 0}};
    static constexpr bool frames_are_sequences = false;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has(std::int32_t flag) const { return (flags & flag) != 0; }

    /// Returns the statistic of an HSTU mask. Throws `error` if its options contradict each other.
    [[nodiscard]] static constexpr hstu from_mask(const hstu_mask& m) {
        detail::check_hstu(m);
        return {m.max_attn_len == 0 ? -1 : static_cast<std::int32_t>(m.max_attn_len),
                static_cast<std::int32_t>(m.min_full_attn_seq_len), detail::hstu_flags(m)};
    }
    [[nodiscard]] static constexpr hstu from(const std::int64_t* values) {
        return from_mask({values[0] != 0, values[1] != 0, values[2], values[3], values[4] != 0, values[5] != 0});
    }
    constexpr void values(std::int64_t* to) const {
        to[0] = has(detail::hstu_bidirectional) ? 0 : 1;
        to[1] = has(detail::hstu_without_context) ? 0 : 1;
        to[2] = reach == detail::unlimited_reach ? 0 : reach;
        to[3] = full;
        to[4] = reach == detail::unlimited_reach || has(detail::hstu_windowed_targets) ? 1 : 0;
        to[5] = has(detail::hstu_shared_place) ? 1 : 0;
    }

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::pairs_of_hstu(s, reach, full, static_cast<std::uint8_t>(flags));
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::mixed; }

    /// Adds the keys to which the rows first … end − 1 of a sequence attend.
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, seen_keys& keys) const {
        using detail::back;
        using detail::smaller;
        const detail::hstu_layout whole(s, !has(detail::hstu_without_context));
        const detail::hstu_layout from = whole.first(first);
        const detail::hstu_layout to = whole.first(end);
        const std::uint64_t seen = whole.seen();
        const bool causal = !has(detail::hstu_bidirectional);
        const bool limited = reach != detail::unlimited_reach;
        const auto w = static_cast<std::uint64_t>(reach);  // `w` is used only if `limited` is true
        if (from.context < to.context || (!causal && from.history < to.history)) {
            keys.add(0, seen);
        }
        if (from.history < to.history && causal) {
            const std::uint64_t free = limited ? back(whole.history, static_cast<std::uint64_t>(full)) : 0;
            if (to.history > free) {
                keys.add(0, whole.context + to.history);
            }
            if (from.history < free) {
                keys.add(whole.context + back(from.history, w), whole.context + smaller(to.history, free));
                keys.add(0, from.history < w ? whole.context : 0);
            }
        }
        if (from.targets < to.targets) {
            const bool near = has(detail::hstu_windowed_targets);
            const std::uint64_t group = from.targets - from.targets % whole.group;
            // Targets that share a position have the same distance to every key as the first target.
            const bool shared = has(detail::hstu_shared_place);
            const std::uint64_t place = shared ? 0 : from.targets;
            const std::uint64_t own = near && !shared ? back(from.targets, w) : 0;
            keys.add(seen + detail::larger(own, group), seen + to.targets);
            if (near) {
                keys.add(seen - smaller(back(w, place), whole.history), seen);
                keys.add(0, back(w, whole.history) > place ? whole.context : 0);
            } else {
                keys.add(0, seen);
            }
        }
    }
};

}  // namespace floptally::mask_statistics

namespace floptally::inline v0_3::unit_statistics {

/// The rows of one part (context, history, …) of an HSTU sequence. Of every `stride` rows only the first counts.
struct hstu_part {
    std::int32_t part;  ///< a value of `hstu_rows` as an integer
    std::int32_t stride;

    static constexpr std::string_view name = "hstu_part"sv;
    static constexpr statistic_parameter parameters[] = {{"part", 0, 4}, {"stride", 1}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_part_rows(s, static_cast<hstu_rows>(part), static_cast<std::uint64_t>(stride));
    }
    /// The words with which texts of this statistic begin: one for each value of `hstu_rows`, in the same order.
    static constexpr const char* text_names[] = {"hstu_all", "hstu_context", "hstu_items", "hstu_history",
                                                 "hstu_targets"};
    /// Appends the text of the statistic, such as "hstu_targets(2)". `read` reads this text.
    void write(std::string& to) const { detail::append(to, {text_names[part], "(", stride, ")"}); }
    [[nodiscard]] static bool read(std::string_view text, hstu_part& result) {
        std::int32_t row_part = 0;
        for (const char* part_name : text_names) {
            std::int64_t values[1]{};
            if (detail::read_call(text, part_name, parameters + 1, 1, values)) {
                result = {row_part, detail::in_range(parameters[1], values[0])};
                return true;
            }
            ++row_part;
        }
        return false;
    }
};

}  // namespace floptally::unit_statistics

namespace floptally::inline v0_3::unit {

/// Returns the statistic that counts the rows of one part of an HSTU sequence. Of every `stride` rows only the first
/// counts.
template <whole_number Stride = int>
[[nodiscard]] constexpr unit_statistics::hstu_part hstu_part(hstu_rows part, Stride stride = 1) {
    return detail::from_numbers<unit_statistics::hstu_part>(static_cast<int>(part), stride);
}

}  // namespace floptally::unit

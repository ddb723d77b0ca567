// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/hstu_pairs.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// Statistics that only one published FLOP counter uses. Each is in the namespace of its counter. The counter's
/// convention is in `conventions/`.

namespace floptally::inline v0_3 {

/// The statistics that Megatron-Bridge counts instead of a mask's pairs.
namespace megatron_bridge {

/// n² for a sequence of n tokens that is at most as long as the sliding window; 0 for a longer one.
struct within_window : mask_statistics::of_window<within_window> {
    static constexpr std::string_view name = "within_window"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t end = mask_statistics::end_of(s);
        return end <= static_cast<std::uint64_t>(window()) ? end * end - std::uint64_t{s.past} * s.past : 0;
    }
};

/// The pairs of a sliding window in a sequence that is longer than the window; 0 for a shorter one.
struct limited_by_window : mask_statistics::of_window<limited_by_window> {
    static constexpr std::string_view name = "limited_by_window"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return mask_statistics::end_of(s) <= static_cast<std::uint64_t>(window()) ? 0
                                                                                  : mask_statistics::band{left, 0}(s);
    }
};

}  // namespace megatron_bridge

/// The statistics that MaxText counts instead of a mask's pairs.
namespace maxtext {

/// L² − (L − W)² for a sequence of L tokens and a window of W tokens, or L² if L ≤ W. This is twice the number of pairs
/// of a sliding window, if the triangle at its start counts as half a square.
struct window_squares : mask_statistics::of_window<window_squares> {
    static constexpr std::string_view name = "window_squares"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto limit = static_cast<std::uint64_t>(window());
        return detail::window_square_rows(mask_statistics::end_of(s), limit) -
               detail::window_square_rows(s.past, limit);
    }
};

/// qC² + r² for a sequence of q whole chunks of C tokens and a rest of r tokens. This is twice the number of pairs of
/// chunked attention, if each causal triangle counts as half a square.
struct chunk_squares {
    std::int32_t tokens;

    static constexpr std::string_view name = "chunk_squares"sv;
    static constexpr statistic_parameter parameters[] = {{"attention_chunk_size", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto chunk = static_cast<std::uint64_t>(tokens);
        return detail::chunk_square_rows(mask_statistics::end_of(s), chunk) - detail::chunk_square_rows(s.past, chunk);
    }
};

/// The number 2nk − k²R for a sequence of n tokens, with k = min(K, ⌊n/R⌋). K = `keys` is the largest number of keys of
/// a query, and R = `ratio` is the number of tokens for each compressed key. This is twice the number of pairs of
/// `mask_statistics::best_compressed_keys`, if the triangle of these pairs counts as half a square.
struct best_compressed_squares {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::string_view name = "best_compressed_squares"sv;
    static constexpr statistic_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(mask_statistics::end_of(s)) - rows(s.past);
    }
    /// Returns twice the number of pairs of the first n queries, if the triangle of these pairs counts as half a
    /// square: 2nk − k²R, R = `ratio`, k = min(`keys`, ⌊n/R⌋).
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(ratio);
        const auto most = static_cast<std::uint64_t>(keys);
        const std::uint64_t best = detail::smaller(n / size, most);
        return best * (2 * n - best * size);
    }
};

}  // namespace maxtext

/// The statistics that recsys-examples counts instead of a mask's pairs.
namespace recsys_examples {

/// h² for a history of h tokens. The history has h(h + 1)/2 causal pairs, so h² is h less than twice their number.
struct history_squares {
    std::int32_t flags;  ///< option bits of the HSTU mask (`detail::hstu_flags`), without the bits of max_attn_len

    static constexpr std::string_view name = "hstu_history_squares"sv;
    static constexpr statistic_parameter parameters[] = {{"flags", 0, 3, 0}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_history_squares(s, static_cast<std::uint8_t>(flags));
    }
};

/// All pairs of an HSTU mask except those of history queries with history keys. Within its group, a target attends only
/// to itself.
struct other_pairs {
    std::int32_t flags;  ///< option bits of the HSTU mask (`detail::hstu_flags`), without the bits of max_attn_len

    static constexpr std::string_view name = "hstu_other_pairs"sv;
    static constexpr statistic_parameter parameters[] = {{"flags", 0, 3, 0}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_other_pairs(s, static_cast<std::uint8_t>(flags));
    }
};

}  // namespace recsys_examples

}  // namespace floptally

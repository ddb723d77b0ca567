// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/hstu_pairs.hpp>
#include <floptally/rules/detail/pair_rows.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/length_block.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Rules that only one published counter uses, in its namespace; `conventions/` has its convention.

namespace floptally {

namespace megatron_bridge {

/// The square n² of a sequence that is not longer than a sliding window; 0 for a longer one.
struct within_window : mask_rules::of_window<within_window> {
    static constexpr std::string_view name = "within_window"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t end = mask_rules::end_of(s);
        return end <= static_cast<std::uint64_t>(window()) ? end * end - std::uint64_t{s.past} * s.past : 0;
    }
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        return sum(block, true);
    }
    /// The sum over the lengths that are not above the window, of L² where `squared` and of L where not.
    template <class N>
    [[nodiscard]] std::uint64_t sum(const detail::length_block<N>& block, bool squared) const {
        if (detail::is_beyond<N>(window())) {
            return squared ? block.squares : block.tokens;
        }
        const auto limit = static_cast<N>(window());
        return block.sum_products([limit, squared](N length, detail::product_sum<N>& products) {
            const auto kept = static_cast<N>(length > limit ? 0 : length);
            products.add(kept, squared ? kept : N{1});
        });
    }
};

/// The pairs of a sliding window in a sequence that is longer than it; 0 for one that is not.
struct limited_by_window : mask_rules::of_window<limited_by_window> {
    static constexpr std::string_view name = "limited_by_window"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return mask_rules::end_of(s) <= static_cast<std::uint64_t>(window()) ? 0 : mask_rules::band{left, 0}(s);
    }
    /// The pairs of all lengths, less the triangles of those that the window does not limit.
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        const within_window inside{{left}};
        return mask_rules::band{left, 0}.over(block) - (inside.sum(block, true) + inside.sum(block, false)) / 2;
    }
};

}  // namespace megatron_bridge

namespace maxtext {

/// The square n² less the square of the tokens beyond the window: twice the pairs of a sliding window where its
/// triangle is taken for half of a square, c² + 2W(L − c) with c = min(L, W).
struct window_squares : mask_rules::of_window<window_squares> {
    static constexpr std::string_view name = "window_squares"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto limit = static_cast<std::uint64_t>(window());
        return detail::window_square_rows(mask_rules::end_of(s), limit) - detail::window_square_rows(s.past, limit);
    }
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (detail::is_beyond<N>(window())) {
            return block.squares;
        }
        const auto limit = static_cast<N>(window());
        const std::uint64_t beyond = block.sum_products([limit](N length, detail::product_sum<N>& sum) {
            const auto excess = static_cast<N>(detail::larger(length, limit) - limit);
            sum.add(excess, excess);
        });
        return block.squares - beyond;
    }
};

/// The squares qC² + r² of q chunks of C tokens and a rest of r: twice the pairs of chunks where their triangle is
/// taken for half of a square.
struct chunk_squares {
    std::int32_t tokens;

    static constexpr std::string_view name = "chunk_squares"sv;
    static constexpr rule_parameter parameters[] = {{"attention_chunk_size", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto chunk = static_cast<std::uint64_t>(tokens);
        return detail::chunk_square_rows(mask_rules::end_of(s), chunk) - detail::chunk_square_rows(s.past, chunk);
    }
    /// With r = L mod c, (L − r)c + r² = Lc − r(c − r).
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        return detail::is_beyond<N>(tokens)
                   ? block.squares
                   : block.tokens * static_cast<std::uint64_t>(tokens) - block.unfilled_chunks(static_cast<N>(tokens));
    }
};

/// The count 2nk − k²R with k = min(K, ⌊n/R⌋): twice the pairs of the best compressed keys where their triangle is
/// taken for half of a square.
struct best_compressed_squares {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::string_view name = "best_compressed_squares"sv;
    static constexpr rule_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(mask_rules::end_of(s)) - rows(s.past);
    }
    /// The count over the first n rows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(ratio);
        const auto most = static_cast<std::uint64_t>(keys);
        const std::uint64_t best = detail::smaller(n / size, most);
        return best * (2 * n - best * size);
    }
};

}  // namespace maxtext

namespace recsys_examples {

/// The squares of the history: twice the pairs of its triangle, without half of the diagonal.
struct history_squares {
    std::int32_t flags;  ///< `detail::hstu_flags` of an unlimited mask

    static constexpr std::string_view name = "hstu_history_squares"sv;
    static constexpr rule_parameter parameters[] = {{"flags", 0, 3, 0}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_history_squares(s, static_cast<std::uint8_t>(flags));
    }
};

/// The pairs without a triangle: all but those of history with history, where a target sees only itself of its group.
struct other_pairs {
    std::int32_t flags;  ///< `detail::hstu_flags` of an unlimited mask

    static constexpr std::string_view name = "hstu_other_pairs"sv;
    static constexpr rule_parameter parameters[] = {{"flags", 0, 3, 0}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_other_pairs(s, static_cast<std::uint8_t>(flags));
    }
};

}  // namespace recsys_examples

}  // namespace floptally

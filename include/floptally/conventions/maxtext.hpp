// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/convention.hpp>
#include <floptally/detail/length_block.hpp>
#include <floptally/detail/pair_rows.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/term.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// MaxText.

namespace floptally {

namespace maxtext {

/// n², less the square of what is beyond the window: twice the pairs of a sliding window where its triangle is taken
/// for half of a square, c² + 2W(L − c) with c = min(L, W).
struct window_squares : mask_rules::of_window<window_squares> {
    static constexpr std::string_view name = "window_squares"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto limit = static_cast<std::uint64_t>(window());
        return detail::window_square_rows(mask_rules::end_of(s), limit) - detail::window_square_rows(s.past, limit);
    }
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (window() > detail::longest<N>) {
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

/// The same for chunks: qC² + r² for q chunks and a rest of r.
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
        return tokens > detail::longest<N>
                   ? block.squares
                   : block.tokens * static_cast<std::uint64_t>(tokens) - block.unfilled_chunks(static_cast<N>(tokens));
    }
};

/// 2nk − k²R with k = min(K, ⌊n/R⌋): twice the pairs of the best compressed keys where their triangle is taken for half
/// of a square.
struct best_compressed_squares {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::string_view name = "best_compressed_squares"sv;
    static constexpr rule_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(mask_rules::end_of(s)) - rows(s.past);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(ratio);
        const auto most = static_cast<std::uint64_t>(keys);
        const std::uint64_t best = n / size < most ? n / size : most;
        return best * (2 * n - best * size);
    }
};

/// Half of the squares of a causal window, of chunks and of top-k; what is not causal as attended.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (is_sliding_window(attends)) {
        return {window_squares{{attends.as<mask_rules::band>().left}}, 2};
    }
    if (attends.is<mask_rules::top_k>()) {
        return {window_squares{{attends.as<mask_rules::top_k>().keys - 1}}, 2};
    }
    if (attends.is<mask_rules::chunked>()) {
        return {chunk_squares{attends.as<mask_rules::chunked>().tokens}, 2};
    }
    return floptally::count_pairs(attends, how, model);
}

/// The same, and for DeepSeek-V4 half of the box of compressed keys.
[[nodiscard]] constexpr counted_statistics count_compressed_pairs(const rule& attends, const convention& how,
                                                                  const attention_context& model) {
    if (attends.is<mask_rules::compressed_keys>()) {
        const std::int32_t ratio = attends.as<mask_rules::compressed_keys>().ratio;
        return {mask_rules::compressed_box{ratio, mask_rules::compressed_box::every}, 2};
    }
    if (attends.is<mask_rules::best_compressed_keys>()) {
        const auto best = attends.as<mask_rules::best_compressed_keys>();
        return {best_compressed_squares{best.ratio, best.keys}, 2};
    }
    return maxtext::count_pairs(attends, how, model);
}

}  // namespace maxtext

namespace conventions {

/// MaxText `calculate_tflops_training_per_device`.
inline constexpr convention maxtext{
    .name = "maxtext"sv,
    .summary = "every matmul; causal attention as L²/2, a window as LW − W²/2, a chunk as C²/2"sv,
    .causal = causal_pairs::half_square,
    .delta_rule_flops = 8,
    .pairs = floptally::maxtext::count_pairs};

/// The same since its change 4410 (July 2026), which has DeepSeek-V4, and indexers as any part of a layer.
inline constexpr convention maxtext_2026{
    .name = "maxtext_2026"sv,
    .summary =
        "as maxtext; compressed keys as L²/2R, the best K of them as LK − K²R/2, indexers as any part of a layer"sv,
    .causal = maxtext.causal,
    .counted = maxtext.counted.without(term::teacher_scores),
    .delta_rule_flops = maxtext.delta_rule_flops,
    .indexer = indexer_backward::as_layers,
    .pairs = floptally::maxtext::count_compressed_pairs};

}  // namespace conventions

}  // namespace floptally

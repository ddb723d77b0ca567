// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/counter_rules.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>

/// @file
/// MaxText's conventions, before and since its change of July 2026.

namespace floptally {

namespace maxtext {

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

/// Pairs as `count_pairs` has them, and for DeepSeek-V4 half of the box of compressed keys.
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

/// MaxText since its change 4410 (July 2026), which has DeepSeek-V4, and indexers as any part of a layer.
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

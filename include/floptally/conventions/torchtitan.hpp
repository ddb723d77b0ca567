// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>

/// @file
/// The convention of torchtitan since its change 4300 (August 2026); before, it was `conventions::torchtitan`.

namespace floptally {

namespace torchtitan {

/// Squares, n·min(n, W) of a sliding window, and compressed keys by the box.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (is_sliding_window(attends)) {
        return rule(mask_rules::box{{attends.as<mask_rules::band>().left}});
    }
    if (attends.is<mask_rules::best_compressed_keys>()) {
        const auto best = attends.as<mask_rules::best_compressed_keys>();
        return rule(mask_rules::compressed_box{best.ratio, best.keys});
    }
    if (attends.is<mask_rules::compressed_keys>()) {
        return rule(mask_rules::compressed_box{attends.as<mask_rules::compressed_keys>().ratio,
                                               mask_rules::compressed_box::every});
    }
    return floptally::count_pairs(attends, how, model);
}

}  // namespace torchtitan

namespace conventions {

/// torchtitan's `get_nparams_and_flops` of each model since August 2026: 6 x active parameters, the attention of each
/// layer by its own window, an indexer as any other part; streams of hyper-connections are mixed for nothing.
inline constexpr convention torchtitan_2026{
    .name = "torchtitan_2026"sv,
    .summary = "6 x active parameters without embeddings, norms too; attention as L², a window as L x min(L, W)"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::norm)
                   .with(term::latent_norm)
                   .with(term::bias)
                   .without(term::state)
                   .without(term::teacher_scores),
    .indexer = indexer_backward::as_layers,
    .pairs = floptally::torchtitan::count_pairs};

}  // namespace conventions

}  // namespace floptally

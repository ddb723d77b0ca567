// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>

/// @file
/// The conventions of verl, to June 2026 and since.

namespace floptally {

namespace verl {

/// Half of n·min(n, W) of a sliding window where layers with and without one alternate; else windows are ignored.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (model.has_layer_without_window && is_sliding_window(attends)) {
        return {mask_rules::box{{attends.as<mask_rules::band>().left}}, 2};
    }
    return floptally::count_pairs(attends, how, model);
}

}  // namespace verl

namespace conventions {

/// verl `FlopsCounter`, to June 2026.
inline constexpr convention verl{
    .name = "verl"sv,
    .summary =
        "causal attention as L²/2, embedding look-up as a GEMM; a window as L x min(L, W)/2 where layers alternate"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::embedding).with(term::tied_embedding),
    .pairs = floptally::verl::count_pairs};

/// verl `FlopsCounter` since its change 6389 (July 2026), which has Qwen3.5: 15 FLOPs of training, five forward, an
/// element of a gated delta net's state.
inline constexpr convention verl_2026{.name = "verl_2026"sv,
                                      .summary = "as verl; 5 FLOPs forward an element of a delta rule's state"sv,
                                      .causal = verl.causal,
                                      .windows = verl.windows,
                                      .counted = verl.counted,
                                      .delta_rule_flops = 5,
                                      .pairs = verl.pairs};

}  // namespace conventions

}  // namespace floptally

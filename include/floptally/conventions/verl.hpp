// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/convention.hpp>
#include <floptally/model/term.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/sequence_masks.hpp>

/// @file
/// verl.

namespace floptally {

namespace verl {

/// Half of n·min(n, W) of a sliding window where layers with and without one alternate; else windows are ignored.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (model.has_layer_without_window && attends.is<mask_rules::band>() &&
        attends.as<mask_rules::band>().is_sliding_window()) {
        return {mask_rules::box{{attends.as<mask_rules::band>().left}}, 2};
    }
    return floptally::count_pairs(attends, how, model);
}

}  // namespace verl

namespace conventions {

/// verl `FlopsCounter`.
inline constexpr convention verl{
    .name = "verl",
    .summary =
        "causal attention as L²/2, embedding look-up as a GEMM; a window as L x min(L, W)/2 where layers alternate",
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::embedding).with(term::tied_embedding),
    .pairs = floptally::verl::count_pairs};

}  // namespace conventions

}  // namespace floptally

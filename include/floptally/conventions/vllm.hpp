// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>

/// @file
/// The convention of vLLM.

namespace floptally {

namespace vllm {

/// n·min(n, W) of a sliding window; other windows are ignored.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (is_sliding_window(attends)) {
        return rule(mask_rules::box{{attends.as<mask_rules::band>().left}});
    }
    return floptally::count_pairs(attends, how, model);
}

}  // namespace vllm

namespace conventions {

/// vLLM's `ModelMetrics`, to be counted with `counted_passes::forward`.
inline constexpr convention vllm_prefill{
    .name = "vllm_prefill"sv,
    .summary = "new tokens x context, or x min(context, W); lm_head of one token a request; no router"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.without(term::router),
    .head = head_rows::one_per_sequence,
    .pairs = floptally::vllm::count_pairs};

}  // namespace conventions

}  // namespace floptally

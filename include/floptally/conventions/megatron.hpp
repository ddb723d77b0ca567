// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/counter_rules.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>

/// @file
/// The conventions of Megatron-LM and of what follows it: Megatron-Bridge, NeMo Automodel.

namespace floptally {

namespace megatron_bridge {

/// A sliding window as attended where it is shorter than the sequence, else n²/2; other masks as attended, and so what
/// an indexer scores.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (model.of_indexer) {
        return floptally::count_pairs(attends, conventions::exact, model);
    }
    if (is_sliding_window(attends)) {
        const std::int32_t left = attends.as<mask_rules::band>().left;
        return counted_statistics(within_window{{left}}, 2).also(limited_by_window{{left}});
    }
    return floptally::count_pairs(attends, how, model);
}

}  // namespace megatron_bridge

namespace conventions {

/// Megatron-LM `num_floating_point_operations` (training.py). It has no formula of sparse attention: no indexer counts.
inline constexpr convention megatron{
    .name = "megatron"sv,
    .summary = "6 x matmul weights x tokens + causal attention as L²/2; no router, windows ignored"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .counted = products.without(term::router)
                   .without(term::scan_convolution)
                   .with(term::latent_norm)
                   .without(term::index_linear)
                   .without(term::index_scores)
                   .without(term::teacher_scores),
    .delta_rule_flops = 8,
    .scan_flops = 7};

/// Megatron-Bridge: Megatron-LM's, with windows, and with an indexer as the plan trains it: projections forward and dW,
/// scores over all keys, their gradients and the teacher's QKᵀ over the keys of the loss.
inline constexpr convention megatron_bridge{
    .name = "megatron_bridge"sv,
    .summary = "as megatron; a window that is shorter than the sequence as attended"sv,
    .causal = megatron.causal,
    .counted = megatron.counted.with(term::index_linear).with(term::index_scores).with(term::teacher_scores),
    .delta_rule_flops = megatron.delta_rule_flops,
    .scan_flops = megatron.scan_flops,
    .pairs = floptally::megatron_bridge::count_pairs};

/// NeMo Automodel's formulas of each model.
inline constexpr convention nemo_automodel{
    .name = "nemo_automodel"sv,
    .summary = "as megatron, without the norms inside latent attention"sv,
    .causal = megatron.causal,
    .windows = megatron.windows,
    .counted = megatron.counted.without(term::latent_norm).with(term::index_linear).with(term::index_scores),
    .delta_rule_flops = megatron.delta_rule_flops,
    .scan_flops = megatron.scan_flops,
    .indexer = indexer_backward::as_layers};

/// NeMo Automodel's formula of hybrids (Nemotron-H), the one that counts routers.
inline constexpr convention nemo_automodel_hybrid{.name = "nemo_automodel_hybrid"sv,
                                                  .summary = "as nemo_automodel, with routers"sv,
                                                  .causal = nemo_automodel.causal,
                                                  .windows = nemo_automodel.windows,
                                                  .counted = nemo_automodel.counted.with(term::router),
                                                  .delta_rule_flops = nemo_automodel.delta_rule_flops,
                                                  .scan_flops = nemo_automodel.scan_flops,
                                                  .indexer = nemo_automodel.indexer};

}  // namespace conventions

}  // namespace floptally

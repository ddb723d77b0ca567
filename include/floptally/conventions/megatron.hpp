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
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// Megatron-LM and what follows it.

namespace floptally {

namespace megatron_bridge {

/// n² of a sequence that is not longer than a sliding window; nothing of a longer one.
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
    /// Σ of L·(L or 1) over the lengths that are not above the window.
    template <class N>
    [[nodiscard]] std::uint64_t sum(const detail::length_block<N>& block, bool squared) const {
        if (window() > detail::longest<N>) {
            return squared ? block.squares : block.tokens;
        }
        const auto limit = static_cast<N>(window());
        return block.sum_products([limit, squared](N length, detail::product_sum<N>& products) {
            const auto kept = static_cast<N>(length > limit ? 0 : length);
            products.add(kept, squared ? kept : N{1});
        });
    }
};

/// The pairs of a sliding window in a sequence that is longer; nothing of one that is not.
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

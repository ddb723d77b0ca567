// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/checked.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistic.hpp>
#include <floptally/training_plan.hpp>

/// @file
/// What a convention and a plan make of one row of a cost; `folded_cost` adds the rows up.

namespace floptally::detail {

/// How often a product runs in each phase, its forward being one.
struct passes {
    std::uint8_t forward = 0;
    std::uint8_t backward_data = 0;
    std::uint8_t backward_weights = 0;
    std::uint8_t fused_backward = 0;
    std::uint8_t recomputed_forward = 0;

    [[nodiscard]] friend constexpr bool operator==(const passes&, const passes&) = default;
};

/// `named`: the plan names the component of the row among those that are computed again.
[[nodiscard]] constexpr passes passes_of(term kind, const convention& how, const training_plan& plan, bool named) {
    const bool core = kind == term::scores || kind == term::values || kind == term::softmax;
    const bool activations_only = core || kind == term::state || kind == term::delta_rule || kind == term::scan;
    const bool counted_as_flash = kind == term::scores && how.backward == attention_backward::flash;
    passes run;
    run.forward = plan.counted == phases::backward ? 0 : 1;
    if (plan.counted == phases::forward) {
        return run;
    }
    const bool in_layer = kind != term::lm_head && kind != term::detached_head && kind != term::embedding &&
                          kind != term::tied_embedding && kind != term::position_embedding;
    const bool by_plan = plan.recomputed == recompute::full        ? in_layer
                         : plan.recomputed == recompute::attention ? core
                                                                   : false;
    run.recomputed_forward = named || by_plan ? 1 : 0;
    const bool forward_only = kind == term::detached || kind == term::detached_head;
    if (forward_only && how.parameters == counted_weights::visited) {
        return run;
    }
    run.backward_data = static_cast<std::uint8_t>((activations_only ? 2 : 1) + (counted_as_flash ? 1 : 0));
    run.backward_weights = activations_only ? 0 : 1;
    run.fused_backward = kind == term::scores && plan.flash_attention && !counted_as_flash ? 1 : 0;
    return run;
}

/// Parameters of a row that no other row stores: an lm_head that is the embedding's table has none.
[[nodiscard]] constexpr std::uint64_t untied_parameters(const cost& model, const cost_row& row) {
    const bool is_head = row.kind == term::lm_head || row.kind == term::detached_head;
    for (const cost_row& table : model.rows()) {
        const std::uint64_t size = table.useful / 2;
        if (is_head && table.kind == term::tied_embedding && row.parameters >= size) {
            return row.parameters - size;
        }
    }
    return row.parameters;
}

/// The row as the convention counts it: other FLOPs a unit, or units of another statistic.
[[nodiscard]] constexpr cost_row counted_row(const cost& model, cost_row row, const convention& how) {
    if (how.parameters == counted_weights::stored) {
        row.what = statistic::tokens;
        row.useful = row.padded = checked_multiply(2, untied_parameters(model, row), "cost");
        return row;
    }
    const auto scale = [&row](std::uint64_t counted, std::uint64_t exact) {
        row.useful = checked_multiply(row.useful, counted, "cost") / exact;
        row.padded = checked_multiply(row.padded, counted, "cost") / exact;
    };
    if (row.kind == term::delta_rule) {
        scale(how.delta_rule_flops, conventions::exact.delta_rule_flops);
    } else if (row.kind == term::scan) {
        scale(how.scan_flops, conventions::exact.scan_flops);
    } else if (row.kind == term::lm_head && row.what == statistic::tokens && how.head == head_rows::one_per_sequence) {
        row.what = statistic::count;
    }
    return row;
}

/// A causal band with a limit: what Hugging Face calls sliding attention.
[[nodiscard]] constexpr bool is_sliding_window(const mask& m) {
    return m.kind() == mask_kind::band && m.first() >= 0 && m.second() == 0;
}

[[nodiscard]] constexpr bool has_layer_without_window(const cost& model) {
    for (const mask& m : model.masks()) {
        if (m.kind() != mask_kind::cross_attention && m.kind() != mask_kind::encoder && !is_sliding_window(m)) {
            return true;
        }
    }
    return false;
}

}  // namespace floptally::detail

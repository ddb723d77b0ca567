// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>

/// @file
/// Counts the lm_head only for the tokens whose logits are computed. `training_plan::logits` says which tokens these
/// are.

namespace floptally::inline v0_3 {

/// Name of the accumulator for the number of tokens that get logits. Add to it with `tally::add_measured`.
inline constexpr std::string_view logits_accumulator = "logits"sv;

/// Returns true if the entry computes logits for each text token. Returns false for a classifier of whole sequences.
[[nodiscard]] constexpr bool is_head_of_tokens(const cost_entry& entry) {
    return entry.kind == term::lm_head && entry.what == accumulator::tokens && entry.in == modality::text;
}

/// Returns the cost with the lm_head counted only for the tokens that `tokens` selects. Other entries do not change.
[[nodiscard]] constexpr cost with_logits(const cost& model, logit_tokens tokens) {
    if (tokens == logit_tokens::all) {
        return model;
    }
    cost result;
    for (cost_entry entry : model.entries()) {
        statistic counted = has_statistic(entry.what) ? model.masks()[entry.mask] : statistic{};
        if (is_head_of_tokens(entry)) {
            entry.what = tokens == logit_tokens::last ? accumulator::count : accumulator::pairs;
            counted = measured(logits_accumulator);
        }
        result.add_entry(model.components()[entry.component], model.weight_name(entry), entry, counted);
    }
    for (const statistic& mask : model.masks()) {
        result.keep(mask);
    }
    return result;
}

/// Returns the model parts with the lm_head counted only for the tokens that `tokens` selects.
[[nodiscard]] constexpr listed_parts with_logits(const array_view<model_part>& parts, logit_tokens tokens) {
    listed_parts result(parts);
    for (model_part& part : result) {
        if (tokens != logit_tokens::all) {
            part.cost = with_logits(part.cost, tokens);
        }
    }
    return result;
}

}  // namespace floptally

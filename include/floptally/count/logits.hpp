// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/batch/tally.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// The head over the tokens whose logits are computed (`training_plan::logits`): rows of a cost over another statistic.

namespace floptally {

/// The word of the tokens whose logits are computed, where they are measured (`tally::add_measured`).
inline constexpr std::string_view logits_word = "logits"sv;

/// True for a row that computes logits of each token.
[[nodiscard]] constexpr bool is_head_of_tokens(const cost_row& row) {
    return row.kind == term::lm_head && row.what == statistic::tokens && row.in == modality::text;
}

/// A model whose head computes the logits of these tokens; every other row is as it was.
[[nodiscard]] constexpr cost with_logits(const cost& model, logit_tokens of) {
    if (of == logit_tokens::all) {
        return model;
    }
    cost moved;
    for (cost_row row : model.rows()) {
        rule counted = has_rule(row.what) ? model.masks()[row.mask] : rule{};
        if (is_head_of_tokens(row)) {
            row.what = of == logit_tokens::last ? statistic::count : statistic::pairs;
            counted = measured(logits_word);
        }
        moved.add_row(model.components()[row.component], model.weight_name(row), row, counted);
    }
    for (const rule& kept : model.masks()) {
        moved.keep(kept);
    }
    return moved;
}

/// Likewise the parts of a model.
[[nodiscard]] constexpr listed_parts with_logits(const detail::array_view<model_part>& parts, logit_tokens of) {
    listed_parts moved(parts);
    for (model_part& part : moved) {
        if (of != logit_tokens::all) {
            part.cost = with_logits(part.cost, of);
        }
    }
    return moved;
}

/// The number of tokens of a batch whose logits are computed: `logits_shape::tokens`, where `seen` is padded.
[[nodiscard]] constexpr std::uint64_t logits_in(const tally& batch, logit_tokens of, view seen = view::padded) {
    switch (of) {
        case logit_tokens::last:
            return batch.get(seen, statistic::count);
        case logit_tokens::measured:
            return batch.pairs(seen, measured(logits_word));
        default:
            return batch.get(seen, statistic::tokens);
    }
}

}  // namespace floptally

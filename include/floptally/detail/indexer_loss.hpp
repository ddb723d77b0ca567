// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cost.hpp>
#include <floptally/detail/array_view.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/term.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/training_plan.hpp>

/// @file
/// The loss of an indexer's own (`training_plan::indexer`), over which pairs it is, and which attention teaches it.
/// Where only chosen keys are attended, the mask says all of that: which scores were looked at for the choice, and what
/// attention over all keys would be.

namespace floptally::detail {

struct key_choice {
    bool exists = false;
    rule scored{};    ///< the indexer's scores of what was chosen: of keys, or of pools of them
    rule all_keys{};  ///< attention that nothing was chosen for
    component_name indexer{};
};

/// The choice behind the pairs of an attention; none where the mask does not depend on data.
[[nodiscard]] constexpr key_choice choice_behind(const rule& attends) {
    if (attends.is<mask_rules::top_k>() || attends.is<mask_rules::best_blocks>()) {
        return {.exists = true, .scored = attends, .all_keys = mask::causal()};
    }
    if (attends.is<mask_rules::best_compressed_keys>()) {
        return {.exists = true,
                .scored = attends,
                .all_keys = mask::compressed_keys(attends.as<mask_rules::best_compressed_keys>().ratio)};
    }
    if (attends.is<mask_rules::best_pools>()) {
        const auto best = attends.as<mask_rules::best_pools>();
        return {
            .exists = true, .scored = mask::best_compressed_keys(best.pool, best.pools), .all_keys = mask::causal()};
    }
    return {};
}

[[nodiscard]] constexpr bool has_kind(array_view<model_part> parts, term kind) {
    for (const model_part& part : parts) {
        for (const cost_row& row : part.cost.rows()) {
            if (row.kind == kind) {
                return true;
            }
        }
    }
    return false;
}

/// Throws where a plan trains indexers and the model has none.
constexpr void require_indexer(array_view<model_part> parts, const training_plan& plan) {
    if (plan.indexer != indexer_training::frozen && !has_kind(parts, term::index_scores)) {
        throw error("plan.indexer", "no part of the model is an indexer whose loss is its own");
    }
}

/// What the indexer of a layer chooses for its attention, where indexers train and the layer has one: a layer that
/// takes another's choice has no loss.
[[nodiscard]] constexpr key_choice choice_in(array_view<model_part> layer, const training_plan& plan) {
    if (plan.indexer == indexer_training::frozen || !has_kind(layer, term::index_scores)) {
        return {};
    }
    key_choice found;
    component_name indexer;
    for (const model_part& part : layer) {
        for (const cost_row& row : part.cost.rows()) {
            const key_choice one = row.kind == term::scores ? choice_behind(part.cost.masks()[row.mask]) : key_choice{};
            if (one.exists && found.exists && !(one.scored == found.scored)) {
                throw error("plan.indexer",
                            "attention by several choices of keys beside indexers: a cost alone does not know its "
                            "layers, fold the parts of the model");
            }
            found = one.exists ? one : found;
            if (row.kind == term::index_scores) {
                indexer = part.cost.components()[row.component];
            }
        }
    }
    found.indexer = indexer;
    if (!found.exists) {
        throw error("plan.indexer", "the layer of an indexer has no attention over chosen keys");
    }
    return found;
}

/// The rule of a row: while indexers warm up, attention is over all keys.
[[nodiscard]] constexpr rule attended_pairs(const cost& model, const cost_row& row, const training_plan& plan) {
    if (!has_rule(row.what)) {
        return {};
    }
    const rule written = model.masks()[row.mask];
    const bool dense = plan.indexer == indexer_training::warm_up && row.what == statistic::pairs;
    const key_choice choice = dense ? choice_behind(written) : key_choice{};
    return choice.exists ? choice.all_keys : written;
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The own loss of an indexer (`training_plan::indexer`): its pairs, and the attention that teaches it. Where only
/// chosen keys are attended, the mask says both: which scores were looked at for the choice, and which pairs attention
/// over all keys would have.

namespace floptally::detail {

/// The choice of keys that an indexer makes for an attention.
struct key_choice {
    bool exists = false;
    rule scored{};    ///< the indexer's scores of what was chosen: of keys, or of pools of them
    rule all_keys{};  ///< the pairs of that attention without a choice
    component_name indexer{};
};

/// The choice from which an attention has its pairs; none where the mask does not depend on data.
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

/// True where the parts have a row of this kind.
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

/// The choice that the indexer of a layer makes for its attention, where indexers train; none where the layer has no
/// indexer of its own: a layer that takes another's choice has no loss.
[[nodiscard]] constexpr key_choice choice_in(array_view<model_part> layer, const training_plan& plan) {
    if (plan.indexer == indexer_training::frozen || !has_kind(layer, term::index_scores)) {
        return {};
    }
    key_choice found;
    component_name indexer;
    for (const model_part& part : layer) {
        for (const cost_row& row : part.cost.rows()) {
            const key_choice choice =
                row.kind == term::scores ? choice_behind(part.cost.masks()[row.mask]) : key_choice{};
            if (choice.exists && found.exists && !(choice.scored == found.scored)) {
                throw error("plan.indexer",
                            "attention by several choices of keys beside indexers: a cost alone does not know its "
                            "layers, give flop_counter the model, or its parts");
            }
            found = choice.exists ? choice : found;
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

/// The rule of a row under a plan: while indexers warm up, attention is over all keys.
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

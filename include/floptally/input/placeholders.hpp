// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The tokens of a text that are placeholders of images and sound.

namespace floptally {

/// The number of tokens in the texts of a batch that are placeholders of its images and sound; 0 for a model without
/// text.
[[nodiscard]] inline std::uint64_t placeholder_tokens(const model_config& model, const tally& batch) {
    checked sum(0, "placeholders");
    if (!model.cost.masks().has(modality::text)) {
        return sum;
    }
    for (const tower_input& tower : model.towers) {
        const std::uint64_t frames = batch.get(view::useful, statistic::count, tower.in);
        sum += checked(tower.per_frame, "placeholders") * frames;
        const std::uint64_t tokens = batch.get(view::useful, statistic::tokens, tower.in);
        sum += checked(tower.per_token, "placeholders") * tokens;
        if (tower.per_unit != 0 && !tower.are_keys) {
            const std::uint64_t units = batch.pairs(view::useful, tower.units);
            sum += checked(tower.per_unit, "placeholders") * units;
        }
    }
    return sum;
}

/// Throws where the sequences of a batch have fewer tokens than its images and sound have placeholders.
inline void require_placeholders(const model_config& model, const tally& batch) {
    const std::uint64_t placeholders = placeholder_tokens(model, batch);
    const std::uint64_t tokens = batch.get(view::useful, statistic::tokens);
    if (tokens < placeholders) {
        detail::refuse("lengths", {"must count the placeholders of images and sound too, which are ", placeholders,
                                   " tokens; got ", tokens});
    }
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include <floptally/batch/add_input.hpp>
#include <floptally/batch/model_input.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/model_config.hpp>
#include <floptally/tally.hpp>

namespace floptally {

/// What the padded view of `batch`, which `input` was added to, is spent on. None where nothing is padded, and where
/// what was counted before is: which of its sequences were real is no longer known. A padded batch is counted once
/// more.
[[nodiscard]] inline std::optional<padding_flops> padding_of(const model_input& input, const model_config& model,
                                                             const flop_counter& as, const tally& batch,
                                                             const input_spelling& words = plain_spelling) {
    if (!is_padded(batch)) {
        if (as.total(batch) == as.total(batch, view::padded)) {
            return {};
        }
        return padding_of(as, {batch, tally{batch.masks()}});  // a padded vocabulary
    }
    const auto is_more = [](const model_input::measured_word& word) { return word.useful != word.padded; };
    if (std::any_of(input.tallies.begin(), input.tallies.end(), is_padded) ||
        std::any_of(input.measured.begin(), input.measured.end(), is_more)) {
        return {};
    }
    split_tally split{batch.masks()};
    add_input(input, model, split, words);
    return padding_of(as, split);
}

}  // namespace floptally

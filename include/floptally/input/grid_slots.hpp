// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The grids of a batch as a user names it, each with its text and in the slot that it is padded to.

namespace floptally::detail {

/// Throws where a list is neither one for all grids nor one for each.
inline void require_one_for_each(std::size_t given, std::size_t grids, std::string_view name,
                                 const input_spelling& words) {
    if (given != 1 && given != grids) {
        refuse(words.field(name),
               {"must be one, or one for each ", words.option("grid_thw"), " (", grids, "), got ", given});
    }
}

/// Sets the texts of one side of the grids: one for each, or one for all.
inline void set_texts(std::vector<slotted<grid>>& all, const integer_view& texts, std::string_view name,
                      grid slotted<grid>::*side, const input_spelling& words) {
    texts.visit([&](const auto& lengths) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t at = lengths.size() == 1 ? 0 : i;
            if (std::cmp_less(lengths[at], 0) || std::cmp_greater(lengths[at], max_sequence_length)) {
                refuse(indexed(words.field(name), at), {"must be from 0 to 4294967295, got ", lengths[at]});
            }
            (all[i].*side).keys = static_cast<std::uint32_t>(lengths[at]);
        }
    });
}

/// The grids of a batch, each with the tokens of its text where the model attends one, in the slots that they are
/// padded to.
[[nodiscard]] inline std::vector<slotted<grid>> grids_of(const model_input& batch, const model_config& model,
                                                         const input_spelling& words) {
    const std::size_t count = batch.grids.size();
    const std::vector<grid>& slots = batch.grids_padded;
    if (!slots.empty()) {
        require_one_for_each(slots.size(), count, "grid_thw_padded", words);
    }
    std::vector<slotted<grid>> all;
    for (std::size_t i = 0; i < count; ++i) {
        const grid& real = batch.grids[i];
        all.push_back({real, slots.empty() ? real : slots[slots.size() == 1 ? 0 : i]});
    }
    const auto& texts = batch.encoder_lengths;
    if (!texts || !has_texts_of_grids(model.cost)) {
        return all;
    }
    if (texts->size() != count) {
        refuse(words.field("encoder_lengths"),
               {"must be one for each ", words.option("grid_thw"), " (", count, "), got ", texts->size()});
    }
    set_texts(all, *texts, "encoder_lengths", &slotted<grid>::real, words);
    const auto& padded = batch.encoder_lengths_padded;
    if (padded) {
        require_one_for_each(padded->size(), count, "encoder_lengths_padded", words);
    }
    set_texts(all, padded.value_or(*texts), padded ? "encoder_lengths_padded" : "encoder_lengths", &slotted<grid>::slot,
              words);
    return all;
}

}  // namespace floptally::detail

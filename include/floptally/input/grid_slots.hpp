// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The grids of a batch as a user names it, each with its text and in the slot that it is padded to.

namespace floptally {

/// The grid that a model's autoencoder and packing make of a picture or clip: `pixels` has its frames, height and width
/// in pixels.
[[nodiscard]] inline grid cells_of(const grid& pixels, const model_config& model, std::string_view field = "pixels",
                                   std::string_view instead = "grid_thw") {
    const auto known = std::find_if(model.towers.begin(), model.towers.end(),
                                    [](const tower_input& tower) { return tower.pixels != 0; });
    if (known == model.towers.end()) {
        detail::refuse(field, {"the cells that ", model.model_type, " makes of them are not known; use ", instead});
    }
    if (pixels.h % known->pixels != 0 || pixels.w % known->pixels != 0 || pixels.h == 0 || pixels.w == 0) {
        detail::refuse(field, {"height and width must be multiples of ", known->pixels, " for ", model.model_type,
                               ", got ", pixels.h, " x ", pixels.w});
    }
    if (pixels.t == 0 || (pixels.t - 1) % known->pixel_frames != 0) {
        detail::refuse(field, {"frames must be one more than a multiple of ", known->pixel_frames, " for ",
                               model.model_type, ", got ", pixels.t});
    }
    return {(pixels.t - 1) / known->pixel_frames + 1, pixels.h / known->pixels, pixels.w / known->pixels};
}

}  // namespace floptally

namespace floptally::detail {

/// A count as errors write it: "one", or its digits.
[[nodiscard]] inline std::string counted(std::size_t each) { return each == 1 ? "one" : std::to_string(each); }

/// Throws where a list is neither for all grids alike nor for every one; a grid has `each` numbers.
inline void require_one_for_each(std::size_t given, std::size_t grids, std::string_view name,
                                 const input_spelling& words, std::size_t each = 1) {
    if (given != each && given != each * grids) {
        refuse(words.field(name), {"must be ", counted(each), ", or ", counted(each), " for each ",
                                   words.option("grid_thw"), " (", grids, "), got ", given});
    }
}

/// Sets the texts of one side of the grids: every grid has `each`, which are listed grid by grid, or once for all.
inline void set_texts(std::vector<slotted<grid>>& all, const integer_view& texts, std::string_view name,
                      grid slotted<grid>::*side, const input_spelling& words, std::size_t each) {
    constexpr std::uint32_t grid::*streams[] = {&grid::keys, &grid::second, &grid::third, &grid::fourth};
    texts.visit([&](const auto& lengths) {
        for (std::size_t i = 0; i < each * all.size(); ++i) {
            const std::size_t at = lengths.size() == each ? i % each : i;
            if (std::cmp_less(lengths[at], 0) || std::cmp_greater(lengths[at], max_sequence_length)) {
                refuse(indexed(words.field(name), at), {"must be from 0 to 4294967295, got ", lengths[at]});
            }
            all[i / each].*side.*streams[i % each] = static_cast<std::uint32_t>(lengths[at]);
        }
    });
}

/// Gives each grid the cells of the grids that it is made from.
inline void set_conditions(std::vector<slotted<grid>>& all, const model_input& batch, const model_config& model,
                           const input_spelling& words) {
    const std::size_t given = batch.condition_grids.size();
    if (given == 0) {
        return;
    }
    const std::string field = words.field("condition_grid_thw");
    if (!takes_conditions(model.cost)) {
        refuse(field, {model.model_type, " takes no grids beside the one that it makes"});
    }
    if (all.empty() || given % all.size() != 0) {
        refuse(field, {"must be as many for each ", words.option("grid_thw"), " (", all.size(), "), got ", given});
    }
    const std::size_t each = given / all.size();
    for (std::size_t i = 0; i < given; ++i) {
        const grid& one = batch.condition_grids[i];
        const uint128 cells = uint128{one.t} * one.frame_patches() + all[i / each].real.condition;
        if (cells > max_sequence_length) {
            refuse(field, {"must have at most ", max_sequence_length, " cells for a grid"});
        }
        all[i / each].real.condition = static_cast<std::uint32_t>(cells);
        all[i / each].slot.condition = all[i / each].real.condition;
    }
}

/// The grids of a batch, each with the tokens of its text where the model attends one, in the slots that they are
/// padded to.
[[nodiscard]] inline std::vector<slotted<grid>> grids_of(const model_input& batch, const model_config& model,
                                                         const input_spelling& words) {
    std::vector<grid> grids = batch.grids;
    const integer_view* const texts = texts_of(batch, model);
    const std::size_t each = texts == nullptr ? 0 : texts_of_grids(model.cost);
    if (each != 0 && batch.images != 0) {
        if (batch.images > texts->size()) {
            refuse(words.field("images"), {"must be at most the ", texts->size(), " texts, got ", batch.images});
        }
        grids.insert(grids.end(), batch.images, fixed_image(model, words));
    }
    for (const grid& pixels : batch.pixels) {
        grids.push_back(cells_of(pixels, model, words.field("pixels"), words.option("grid_thw")));
    }
    const std::size_t count = grids.size();
    const std::vector<grid>& slots = batch.grids_padded;
    if (!slots.empty()) {
        require_one_for_each(slots.size(), count, "grid_thw_padded", words);
    }
    std::vector<slotted<grid>> all;
    for (std::size_t i = 0; i < count; ++i) {
        const grid& real = grids[i];
        all.push_back({real, slots.empty() ? real : slots[slots.size() == 1 ? 0 : i]});
    }
    set_conditions(all, batch, model, words);
    if (each == 0) {
        return all;
    }
    if (texts->size() != each * count) {
        refuse(
            batch.encoder_lengths ? words.field("encoder_lengths") : batch.lengths.front().field,
            {"must be ", counted(each), " for each ", words.option("grid_thw"), " (", count, "), got ", texts->size()});
    }
    set_texts(all, *texts, "encoder_lengths", &slotted<grid>::real, words, each);
    std::optional<integer_view> padded = batch.encoder_lengths_padded;
    std::vector<std::uint64_t> row;
    if (!padded && !batch.encoder_lengths && batch.lengths.front().row_length) {
        row.push_back(*batch.lengths.front().row_length);
        padded = row;
    }
    if (padded) {
        require_one_for_each(padded->size(), count, "encoder_lengths_padded", words, each);
    }
    set_texts(all, padded.value_or(*texts), padded ? "encoder_lengths_padded" : "encoder_lengths", &slotted<grid>::slot,
              words, each);
    return all;
}

}  // namespace floptally::detail

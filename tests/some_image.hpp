// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// An image that a model takes: its sides divide by every merge size of the zoo; of a model with a table of its patches
/// it has as many as that says, and of one whose patches have several frames, or whose convolutions see far, enough of
/// these; a text that it is attended with has 7 tokens.
template <class Masks>
[[nodiscard]] floptally::grid some_image(const Masks& masks, std::uint32_t frames = 1) {
    floptally::grid image{frames, 24, 24};
    for (const floptally::statistic& units : masks) {
        if (units.problem_of(image) == floptally::grid_problem::leaves_nothing) {
            floptally::grid longer = image;
            longer.t *= 2;
            if (units.problem_of(longer) == floptally::grid_problem::leaves_nothing) {
                image.h = image.w = 144;
            } else {
                image = longer;
            }
        }
        image.keys = units.reads_other_side() ? 7 : image.keys;
        if (units.is<floptally::unit_statistics::listed_units>()) {
            image.h = 1;
            image.w = static_cast<std::uint32_t>(units.as<floptally::unit_statistics::listed_units>().patches);
        }
    }
    return image;
}

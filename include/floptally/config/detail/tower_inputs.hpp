// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The input of a tower: images or sound, and the placeholder tokens in the text.

namespace floptally::inline v0_3::detail::specs {

/// Returns the modality of a tower's input: vision, unless the tower's spec says audio.
[[nodiscard]] inline modality stands_in(scope& in) {
    return in.has("stands") && in.named("stands").text == "audio" ? modality::audio : modality::vision;
}

/// Returns `number`. Throws if it is below `least` or above `most`. `name` is the name that the spec defines for this
/// number.
[[nodiscard]] inline std::uint32_t number_within(scope& in, std::string_view name, std::uint64_t number,
                                                 std::uint64_t least, std::uint32_t most) {
    if (number < least || number > most) {
        const scope::found_definition found = in.find_definition(name);
        spec_error(found.where->name, found.entry->line,
                   {"\"", name, "\" must be from ", least, " to ", most, ", got ", number});
    }
    return static_cast<std::uint32_t>(number);
}

/// Returns the number of patches along one side of an image. `name` is the name that the spec defines for this number.
/// Throws if the number is 0.
[[nodiscard]] inline std::uint32_t grid_side(scope& in, std::string_view name) {
    const std::uint64_t size = in.number_or(name, 1);
    if (size == 0) {
        refuse(in.config().field("image_size"),
               {"must be at least patch_size, so that an image has a patch", in.got("image_size")});
    }
    return number_within(in, name, size, 1, 0x7FFF'FFFF);
}

/// The largest height or width in pixels, and the most frames, that one patch may cover.
inline constexpr std::uint32_t most_pixels = 0xFFFF;

/// Returns a list with the input of a tower. The list is empty if the spec sets `input` to no.
[[nodiscard]] inline std::vector<tower_input> inputs_of(scope& in) {
    if (in.has("input") && !in.on("input")) {
        return {};
    }
    tower_input input{.in = stands_in(in)};
    if (in.has("rows")) {
        input.image =
            grid{grid_side(in, "frames"), grid_side(in, "rows"), grid_side(in, in.has("columns") ? "columns" : "rows")};
    }
    if (in.has("clip")) {
        input.clip = audio_clip{grid_side(in, "clip")};
    }
    for (const char* const name : {"units", "tokens_for"}) {
        if (in.has(name)) {
            input.units = in.mask_named(name);
            input.per_unit = 1;
        }
    }
    input.pixels = number_within(in, "pixels", in.number_or("pixels", 0), 0, most_pixels);
    input.pixel_frames = number_within(in, "pixel_frames", in.number_or("pixel_frames", 1), 1, most_pixels);
    input.per_unit = in.number_or("per_unit", input.per_unit);
    input.per_frame = in.number_or("per_frame", 0);
    input.per_token = in.number_or("per_token", 0);
    return {input};
}

}  // namespace floptally::detail::specs

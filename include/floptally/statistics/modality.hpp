// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/text/text.hpp>

/// @file
/// `modality`: the type of a sample in a batch (text, vision or audio).

namespace floptally::inline v0_3 {

/// The type of a sample. A tally has separate sums for each modality. A model without vision and audio towers has only
/// text.
enum class modality : std::uint8_t {
    text,    ///< samples are `sequence`s of the language model, or of a model without towers
    vision,  ///< samples are `grid`s (images, video clips) of a vision tower
    audio    ///< samples are `audio_clip`s of an audio tower
};

/// The number of modalities.
inline constexpr std::size_t modality_count = 3;
/// Names of the values of `modality`, in their order.
inline constexpr const char* modality_names[modality_count] = {"text", "vision", "audio"};

/// Returns "text", "vision" or "audio".
[[nodiscard]] constexpr const char* name_of(modality which) { return modality_names[static_cast<std::size_t>(which)]; }

/// Returns a statistic's name with its modality: "tokens" for text, "vision.tokens" for vision.
[[nodiscard]] inline std::string qualified(modality stream, std::string_view name) {
    const bool is_text = stream == modality::text;
    return detail::text_of({is_text ? "" : name_of(stream), is_text ? "" : ".", name});
}

}  // namespace floptally

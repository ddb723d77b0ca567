// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/text/text.hpp>

/// @file
/// `modality`: a batch's streams of samples: text, vision and audio.

namespace floptally::inline v0_3 {

/// A stream of samples, which a tally sums separately. A model without vision or audio towers has one stream; each
/// tower adds one.
enum class modality : std::uint8_t {
    text,    ///< stream of `sequence`s: the language model, or a model without towers
    vision,  ///< stream of `grid`s (images, video clips): a vision tower
    audio    ///< stream of `audio_clip`s: an audio tower
};

/// The number of modalities and their names.
inline constexpr std::size_t modality_count = 3;
inline constexpr const char* modality_names[modality_count] = {"text", "vision", "audio"};

/// Returns "text", "vision" or "audio".
[[nodiscard]] constexpr const char* name_of(modality which) { return modality_names[static_cast<std::size_t>(which)]; }

/// Returns a statistic's name with its modality: "tokens" for text, "vision.tokens" for vision.
[[nodiscard]] inline std::string qualified(modality stream, std::string_view name) {
    const bool is_text = stream == modality::text;
    return detail::text_of({is_text ? "" : name_of(stream), is_text ? "" : ".", name});
}

}  // namespace floptally

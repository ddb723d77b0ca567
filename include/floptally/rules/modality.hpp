// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/text/text.hpp>

/// @file
/// `modality`: the streams of a batch, which are text, vision and audio.

namespace floptally {

/// A stream of samples with statistics of its own. A model without towers has one stream; each tower has its own.
enum class modality : std::uint8_t {
    text,    ///< stream of `sequence`s: the language model, or a model that has nothing else
    vision,  ///< stream of `grid`s
    audio    ///< stream of `audio_clip`s
};

/// The number of modalities, and their names.
inline constexpr std::size_t modality_count = 3;
inline constexpr const char* modality_names[modality_count] = {"text", "vision", "audio"};

/// The name of a modality: "text", "vision", "audio".
[[nodiscard]] constexpr const char* name_of(modality which) { return modality_names[static_cast<std::size_t>(which)]; }

/// The name of a statistic with its modality: "tokens" for text, "vision.tokens" for a tower.
[[nodiscard]] inline std::string qualified(modality in, std::string_view name) {
    const bool is_text = in == modality::text;
    return detail::text_of({is_text ? "" : name_of(in), is_text ? "" : ".", name});
}

}  // namespace floptally

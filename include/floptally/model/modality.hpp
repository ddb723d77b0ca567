// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/text.hpp>

namespace floptally {

/// The streams of statistics that a batch has. A model without towers has one; each tower has its own.
enum class modality : std::uint8_t {
    text,    ///< what `sequence`s are added to: the language model, or a model that has nothing else
    vision,  ///< what `grid`s are added to
    audio    ///< what `audio_clip`s are added to
};

inline constexpr std::size_t modality_count = 3;
inline constexpr const char* modality_names[modality_count] = {"text", "vision", "audio"};

/// "text", "vision", "audio".
[[nodiscard]] constexpr const char* name_of(modality which) { return modality_names[static_cast<std::size_t>(which)]; }

/// "tokens" of the text, "vision.tokens" of a tower.
[[nodiscard]] inline std::string qualified(modality in, std::string_view name) {
    const bool is_text = in == modality::text;
    return detail::text_of({is_text ? "" : name_of(in), is_text ? "" : ".", name});
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace floptally {

/// The streams of statistics that a batch has. A model without towers has one; each tower has its own.
enum class tower : std::uint8_t {
    text,    ///< what `sequence`s are added to: the language model, or a model that has nothing else
    vision,  ///< what `grid`s are added to
    audio    ///< what `audio_clip`s are added to
};

inline constexpr std::size_t tower_count = 3;
inline constexpr const char* tower_names[tower_count] = {"text", "vision", "audio"};

/// "text", "vision", "audio".
[[nodiscard]] constexpr const char* name_of(tower which) { return tower_names[static_cast<std::size_t>(which)]; }

/// "tokens" of the text, "vision.tokens" of a tower.
[[nodiscard]] inline std::string qualified(tower in, std::string_view name) {
    std::string text(in == tower::text ? "" : name_of(in));
    return text.append(in == tower::text ? "" : ".").append(name);
}

}  // namespace floptally

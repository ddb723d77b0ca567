// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/detail/hstu_pairs.hpp>
#include <floptally/detail/mask_kind.hpp>
#include <floptally/error.hpp>

namespace floptally::detail {

/// "hstu", "hstu_without_context", "hstu_full_targets(64,8)".
[[nodiscard]] inline std::string hstu_name(std::int64_t reach, std::int64_t full, std::uint8_t flags) {
    std::string name = "hstu";
    name.append((flags & hstu_bidirectional) != 0 ? "_bidirectional" : "");
    name.append((flags & hstu_without_context) != 0 ? "_without_context" : "");
    if (reach >= 0) {
        name.append((flags & hstu_windowed_targets) != 0 ? "(" : "_full_targets(");
        name.append(std::to_string(reach)).append(",").append(std::to_string(full)).append(")");
    }
    return name;
}

/// A parameter of a mask, or an error that names it.
[[nodiscard]] constexpr std::int32_t mask_parameter(const char* field, std::int64_t value, std::int64_t least,
                                                    std::int64_t most) {
    if (value < least || value > most) {
        throw error(field, "must be from " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
                               std::to_string(value));
    }
    return static_cast<std::int32_t>(value);
}

/// One of those that are small.
[[nodiscard]] constexpr std::uint16_t short_mask_parameter(const char* field, std::int64_t value) {
    return static_cast<std::uint16_t>(mask_parameter(field, value, 0, 0xFFFF));
}

/// "strided_frames(1,2)", "strided_squares(1,8,100,104)": what is 0 at the end is left out.
[[nodiscard]] inline std::string frames_name(const char* kind, std::int64_t field, std::int64_t stride,
                                             std::int64_t chunk, std::int64_t window) {
    std::string name = kind;
    name.append("(").append(std::to_string(field)).append(",").append(std::to_string(stride));
    if (chunk != 0 || window != 0) {
        name.append(",").append(std::to_string(chunk));
    }
    if (window != 0) {
        name.append(",").append(std::to_string(window));
    }
    return name.append(")");
}

/// "causal", "sliding_window(4096)", "window(64,64)", …: a mask by its kind and its parameters.
[[nodiscard]] inline std::string mask_name(mask_kind kind, std::int64_t first, std::int64_t second,
                                           std::uint8_t flags = 0, std::int64_t chunk = 0, std::int64_t window = 0) {
    const auto of = [](const char* name, std::int64_t parameter) {
        return std::string(name).append("(").append(std::to_string(parameter)).append(")");
    };
    const auto of_both = [&](const char* name) {
        return std::string(name)
            .append("(")
            .append(std::to_string(first))
            .append(",")
            .append(std::to_string(second).append(")"));
    };
    switch (kind) {
        case mask_kind::band:
            if (second == 0) {
                return first < 0 ? "causal" : of("sliding_window", first + 1);
            }
            return first < 0 && second < 0 ? "bidirectional" : of_both("window");
        case mask_kind::chunked:
            return of("chunked", first);
        case mask_kind::top_k:
            return of("top_k", first);
        case mask_kind::compressed_keys:
            return of("compressed_keys", first);
        case mask_kind::box:
            return of("box", first + 1);
        case mask_kind::window_squares:
            return of("window_squares", first + 1);
        case mask_kind::chunk_squares:
            return of("chunk_squares", first);
        case mask_kind::within_window:
            return of("within_window", first + 1);
        case mask_kind::limited_by_window:
            return of("limited_by_window", first + 1);
        case mask_kind::encoder:
            return "encoder";
        case mask_kind::prefix_lm:
            return of("prefix_lm", first);
        case mask_kind::hstu:
            return hstu_name(first, second, flags);
        case mask_kind::hstu_history_squares:
            return hstu_name(unlimited_reach, 0, flags).append("_history_squares");
        case mask_kind::hstu_others:
            return hstu_name(unlimited_reach, 0, flags).append("_others");
        case mask_kind::hstu_part:
            return of((std::string("hstu_") + name_of(static_cast<hstu_rows>(first))).c_str(), second);
        case mask_kind::grid_windows:
            return second == 0 ? of("windows", first) : of_both("windows");
        case mask_kind::clip_squares:
            return first == 0 ? "clip_squares" : of("clip_squares", first);
        case mask_kind::merged_patches:
            return second == 0 ? of("merged_patches", first) : of_both("merged_patches");
        case mask_kind::pooled_patches:
            return of("pooled_patches", first);
        case mask_kind::clips:
            return "clips";
        case mask_kind::pooled_clips:
            return of("pooled_clips", first);
        case mask_kind::later_image_tokens:
            return second < 0 ? of("later_image_tokens", first) : of_both("later_image_tokens");
        case mask_kind::strided_frames:
            return frames_name("strided_frames", first, second, chunk, window);
        case mask_kind::strided_squares:
            return frames_name("strided_squares", first, second, chunk, window);
        case mask_kind::strided_cells:
            return of_both("strided_cells");
        case mask_kind::level_windows:
            return std::string(second % 2 != 0 ? "shifted_" : "")
                .append((second / 2) % 2 != 0 ? "shrinking_" : "")
                .append(std::string("windows(").append(std::to_string(first)))
                .append(",level ")
                .append(std::to_string(second / 4))
                .append(")");
        case mask_kind::kept_patches:
            return of_both("kept_patches");
        case mask_kind::kept_squares:
            return of_both("kept_squares");
        case mask_kind::cross_attention:
            break;
    }
    return "cross_attention";
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/mask_kind.hpp>

namespace floptally::detail {

/// "causal", "sliding_window(4096)", "window(64,64)", …: a mask by its kind and its parameters.
[[nodiscard]] inline std::string mask_name(mask_kind kind, std::int64_t first, std::int64_t second) {
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
        case mask_kind::grid_windows:
            return second == 0 ? of("windows", first) : of_both("windows");
        case mask_kind::clip_squares:
            return first == 0 ? "clip_squares" : of("clip_squares", first);
        case mask_kind::merged_patches:
            return of("merged_patches", first);
        case mask_kind::clips:
            return "clips";
        case mask_kind::pooled_clips:
            return of("pooled_clips", first);
        case mask_kind::later_image_tokens:
            return second < 0 ? of("later_image_tokens", first) : of_both("later_image_tokens");
        case mask_kind::strided_frames:
            return of_both("strided_frames");
        case mask_kind::strided_squares:
            return of_both("strided_squares");
        case mask_kind::cross_attention:
            break;
    }
    return "cross_attention";
}

}  // namespace floptally::detail

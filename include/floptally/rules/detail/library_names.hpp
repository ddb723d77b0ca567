// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace floptally::detail {

/// The names by which texts of the library's rules begin: a user's struct of such a name is refused, since its text
/// would be read as the library's. tests/rules/library_rules.test.cpp compares them with the rules.
inline constexpr std::string_view library_names[] = {"across_frames",
                                                     "best_blocks",
                                                     "best_compressed_keys",
                                                     "best_compressed_squares",
                                                     "best_pools",
                                                     "bidirectional",
                                                     "box",
                                                     "cached",
                                                     "causal",
                                                     "chunk_squares",
                                                     "chunked",
                                                     "clip_squares",
                                                     "clips",
                                                     "compressed_box",
                                                     "compressed_keys",
                                                     "count",
                                                     "cross_attention",
                                                     "crossed",
                                                     "encoder",
                                                     "encoder_window",
                                                     "grid_windows",
                                                     "hstu_history_squares",
                                                     "hstu",
                                                     "hstu_all",
                                                     "hstu_context",
                                                     "hstu_history",
                                                     "hstu_items",
                                                     "hstu_part",
                                                     "hstu_targets",
                                                     "kept_patches",
                                                     "kept_squares",
                                                     "keys",
                                                     "later_image_tokens",
                                                     "level_windows",
                                                     "limited_by_window",
                                                     "listed_pairs",
                                                     "listed_units",
                                                     "measured",
                                                     "merged_pairs",
                                                     "merged_patches",
                                                     "merged_squares",
                                                     "hstu_other_pairs",
                                                     "pooled_clips",
                                                     "pooled_patches",
                                                     "prefix_lm",
                                                     "reduced_pairs",
                                                     "sliding_window",
                                                     "squares",
                                                     "strided_band",
                                                     "strided_cells",
                                                     "strided_frames",
                                                     "strided_squares",
                                                     "tokens",
                                                     "top_k",
                                                     "window",
                                                     "window_lines",
                                                     "window_squares",
                                                     "within_window"};

/// True for the name of a rule of the library.
[[nodiscard]] constexpr bool is_library_name(std::string_view text) {
    for (const std::string_view name : library_names) {
        if (name == text) {
            return true;
        }
    }
    return false;
}

}  // namespace floptally::detail

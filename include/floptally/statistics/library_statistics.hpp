// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <floptally/statistics/clip_statistics.hpp>
#include <floptally/statistics/counter_statistics.hpp>
#include <floptally/statistics/grid_masks.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/statistics/moments.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sequence_units.hpp>
#include <floptally/statistics/sparse_masks.hpp>

/// @file
/// `library_statistics`: the list of all statistics of the library. It is used to read a statistic from text, and to
/// compile CUDA kernels.

namespace floptally::inline v0_3 {

/// A list of the structs of statistics, for reading texts and for compiling kernels. The template is not constrained by
/// `statistic_type`, to save compile time, because `table_of` checks each struct anyway.
template <class... Statistics>
struct statistic_list {
    /// This list of statistics with further statistics at its end, such as a user's own.
    template <class... More>
    using with = statistic_list<Statistics..., More...>;
};

/// The library's attention masks over sequences, grids or clips.
using library_masks =
    statistic_list<mask_statistics::band, mask_statistics::chunked, mask_statistics::top_k,
                   mask_statistics::compressed_keys, mask_statistics::cross_attention, mask_statistics::encoder,
                   mask_statistics::encoder_window, mask_statistics::prefix_lm, mask_statistics::best_compressed_keys,
                   mask_statistics::best_blocks, mask_statistics::best_pools, mask_statistics::box,
                   mask_statistics::compressed_box, mask_statistics::hstu, mask_statistics::grid_windows,
                   mask_statistics::clip_squares, mask_statistics::level_windows, mask_statistics::reduced_pairs,
                   mask_statistics::across_frames, mask_statistics::window_lines, mask_statistics::later_image_tokens,
                   mask_statistics::listed_pairs, mask_statistics::strided_squares, mask_statistics::strided_band,
                   mask_statistics::latent_pairs, mask_statistics::joint_pairs, mask_statistics::level_pairs,
                   mask_statistics::block_causal>;

/// All statistics of the library: masks, units, moments, and the statistics of published FLOP counters. Such a closed
/// list is needed only to read statistics from text, and for CUDA kernels. A user's struct must not have a name from
/// this list.
using library_statistics =
    library_masks::with<unit_statistics::hstu_part, unit_statistics::merged_patches, unit_statistics::pooled_patches,
                        unit_statistics::clips, unit_statistics::pooled_clips, unit_statistics::merged_pairs,
                        unit_statistics::merged_squares, unit_statistics::strided_cells, unit_statistics::kept_patches,
                        unit_statistics::kept_squares, unit_statistics::strided_frames, unit_statistics::listed_units,
                        unit_statistics::latent_tokens, unit_statistics::joint_tokens, unit_statistics::level_cells,
                        unit_statistics::measured, moment_statistics::count, moment_statistics::tokens,
                        moment_statistics::squares, moment_statistics::cached, moment_statistics::keys,
                        moment_statistics::crossed, megatron_bridge::within_window, megatron_bridge::limited_by_window,
                        maxtext::window_squares, maxtext::chunk_squares, maxtext::best_compressed_squares,
                        recsys_examples::history_squares, recsys_examples::other_pairs, unit_statistics::stream_powers,
                        unit_statistics::whole_blocks>;

namespace detail {

/// Returns true if the text of a statistic may begin with `name`: it is the `name` of the statistic's struct, or one of
/// its `text_names`.
template <class Statistic>
[[nodiscard]] constexpr bool begins_text(std::string_view name) {
    if constexpr (requires { Statistic::text_names; }) {
        for (const char* text_name : Statistic::text_names) {
            if (name == text_name) {
                return true;
            }
        }
    }
    return name == Statistic::name;
}
/// Returns true if the text of any statistic in the list may begin with `name`.
template <class... Statistics>
[[nodiscard]] constexpr bool is_name_in(statistic_list<Statistics...> /*list*/, std::string_view name) {
    return (begins_text<Statistics>(name) || ...);
}

}  // namespace detail

}  // namespace floptally

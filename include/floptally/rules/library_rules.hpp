// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/rules/clip_rules.hpp>
#include <floptally/rules/counter_rules.hpp>
#include <floptally/rules/grid_rules.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/listed_rules.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/moments.hpp>
#include <floptally/rules/other_side_masks.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// `library_rules`: all rules of the library in a list, for texts and kernels.

namespace floptally {

/// A list of rules by their structs, for reading texts and for compiling kernels.
template <statistic_rule... Rules>
struct rule_list {
    /// The list with further rules after it, such as a user's own.
    template <statistic_rule... More>
    using with = rule_list<Rules..., More...>;
};

/// All rules that come with the library. Only texts and kernels read it: they need a closed list.
using library_rules = rule_list<
    mask_rules::band, mask_rules::chunked, mask_rules::top_k, mask_rules::compressed_keys, mask_rules::cross_attention,
    mask_rules::encoder, mask_rules::encoder_window, mask_rules::prefix_lm, mask_rules::best_compressed_keys,
    mask_rules::best_blocks, mask_rules::best_pools, mask_rules::box, mask_rules::hstu, mask_rules::grid_windows,
    mask_rules::clip_squares, mask_rules::level_windows, mask_rules::reduced_pairs, mask_rules::across_frames,
    mask_rules::window_lines, mask_rules::later_image_tokens, mask_rules::strided_squares, mask_rules::strided_band,
    unit_rules::hstu_part, unit_rules::merged_patches, unit_rules::pooled_patches, unit_rules::clips,
    unit_rules::pooled_clips, unit_rules::merged_pairs, unit_rules::merged_squares, unit_rules::strided_cells,
    unit_rules::kept_patches, unit_rules::kept_squares, unit_rules::strided_frames, unit_rules::measured,
    moment_rules::count, moment_rules::tokens, moment_rules::squares, moment_rules::cached, moment_rules::keys,
    moment_rules::crossed, megatron_bridge::within_window, megatron_bridge::limited_by_window, maxtext::window_squares,
    maxtext::chunk_squares, recsys_examples::history_squares, recsys_examples::other_pairs, mask_rules::compressed_box,
    maxtext::best_compressed_squares, unit_rules::listed_units, mask_rules::listed_pairs>;

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <floptally/rules/clip_rules.hpp>
#include <floptally/rules/counter_rules.hpp>
#include <floptally/rules/grid_masks.hpp>
#include <floptally/rules/grid_units.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/moments.hpp>
#include <floptally/rules/other_side_masks.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>

/// @file
/// `library_rules`: all rules of the library in a list, for texts and kernels.

namespace floptally {

/// A list of rules by their structs, for reading texts and for compiling kernels.
// Not constrained: every unit that includes `rule` names the library's list, and their tables are checked anyway.
template <class... Rules>
struct rule_list {
    /// The list with further rules after it, such as a user's own.
    template <class... More>
    using with = rule_list<Rules..., More...>;
};

/// The masks of attention that come with the library, over sequences, grids or clips.
using library_masks =
    rule_list<mask_rules::band, mask_rules::chunked, mask_rules::top_k, mask_rules::compressed_keys,
              mask_rules::cross_attention, mask_rules::encoder, mask_rules::encoder_window, mask_rules::prefix_lm,
              mask_rules::best_compressed_keys, mask_rules::best_blocks, mask_rules::best_pools, mask_rules::box,
              mask_rules::compressed_box, mask_rules::hstu, mask_rules::grid_windows, mask_rules::clip_squares,
              mask_rules::level_windows, mask_rules::reduced_pairs, mask_rules::across_frames, mask_rules::window_lines,
              mask_rules::later_image_tokens, mask_rules::listed_pairs, mask_rules::strided_squares,
              mask_rules::strided_band, mask_rules::latent_pairs, mask_rules::joint_pairs, mask_rules::level_pairs>;

/// All rules that come with the library: its masks, units, moments and those of published counters. Only texts and
/// kernels need a closed list, and the names that a user's struct must not have are deduced from it.
using library_rules = library_masks::with<
    unit_rules::hstu_part, unit_rules::merged_patches, unit_rules::pooled_patches, unit_rules::clips,
    unit_rules::pooled_clips, unit_rules::merged_pairs, unit_rules::merged_squares, unit_rules::strided_cells,
    unit_rules::kept_patches, unit_rules::kept_squares, unit_rules::strided_frames, unit_rules::listed_units,
    unit_rules::latent_tokens, unit_rules::joint_tokens, unit_rules::level_cells, unit_rules::measured,
    moment_rules::count, moment_rules::tokens, moment_rules::squares, moment_rules::cached, moment_rules::keys,
    moment_rules::crossed, megatron_bridge::within_window, megatron_bridge::limited_by_window, maxtext::window_squares,
    maxtext::chunk_squares, maxtext::best_compressed_squares, recsys_examples::history_squares,
    recsys_examples::other_pairs, unit_rules::stream_powers>;

namespace detail {

/// True where the text of a rule of this struct may begin with that name: its own, or one of its `text_names`.
template <class Rule>
[[nodiscard]] constexpr bool begins_text(std::string_view name) {
    if constexpr (requires { Rule::text_names; }) {
        for (const char* own : Rule::text_names) {
            if (name == own) {
                return true;
            }
        }
    }
    return name == Rule::name;
}
/// True where the text of a rule of the list may begin with that name.
template <class... Rules>
[[nodiscard]] constexpr bool is_name_in(rule_list<Rules...> /*list*/, std::string_view name) {
    return (begins_text<Rules>(name) || ...);
}

}  // namespace detail

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/conventions/maxtext.hpp>
#include <floptally/conventions/megatron.hpp>
#include <floptally/conventions/recsys_examples.hpp>
#include <floptally/statistics/clip_rules.hpp>
#include <floptally/statistics/grid_rules.hpp>
#include <floptally/statistics/hstu_rules.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/moments.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

/// Rules by their structs: what a text is read by, and what a kernel is compiled for.
template <statistic_rule... Rules>
struct rule_list {
    /// With more of one's own.
    template <statistic_rule... More>
    using with = rule_list<Rules..., More...>;
};

/// All rules that come with the library. Only what needs a closed list reads it: a text, and kernels.
using library_rules =
    rule_list<masks::band, masks::chunked, masks::top_k, masks::compressed_keys, masks::cross_attention, masks::encoder,
              masks::prefix_lm, masks::box, masks::hstu, masks::grid_windows, masks::clip_squares, masks::level_windows,
              masks::later_image_tokens, masks::strided_squares, units::hstu_part, units::merged_patches,
              units::pooled_patches, units::clips, units::pooled_clips, units::strided_cells, units::kept_patches,
              units::kept_squares, units::strided_frames, units::measured, moments::count, moments::tokens,
              moments::squares, moments::cached, moments::keys, moments::crossed, megatron_bridge::within_window,
              megatron_bridge::limited_by_window, maxtext::window_squares, maxtext::chunk_squares,
              recsys_examples::history_squares, recsys_examples::other_pairs>;

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace floptally {

/// What a `mask` is. First those of a sequence, then those of a grid and of a clip of sound.
enum class mask_kind : std::uint8_t {
    band,
    chunked,
    top_k,
    compressed_keys,
    cross_attention,
    box,
    window_squares,
    chunk_squares,
    within_window,
    limited_by_window,
    encoder,
    prefix_lm,
    hstu,
    hstu_history_squares,
    hstu_others,
    hstu_part,
    grid_windows,
    clip_squares,
    merged_patches,
    pooled_patches,
    clips,
    pooled_clips,
    later_image_tokens,
    strided_frames,
    strided_squares,
    strided_cells,
    level_windows,
    kept_patches,
    kept_squares
};

}  // namespace floptally

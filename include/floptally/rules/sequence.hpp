// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/host_device.hpp>

/// @file
/// The samples that rules count: a sequence, a grid of patches, a clip of sound.

namespace floptally {

/// The longest sequence in tokens, cached prefix included: with it L² and q·k fit 64 bits.
inline constexpr std::uint64_t max_sequence_length = 0xFFFF'FFFFU;

/// One sequence as a kernel sees it, in tokens.
struct sequence {
    std::uint32_t length = 0;  ///< new tokens: the queries
    std::uint32_t past = 0;    ///< tokens before them whose keys and values are cached
    std::uint32_t keys = 0;    ///< tokens on the other side of cross attention (an encoder's)
    /// Parts of past + length, for HSTU: contextual tokens, which come first, and targets, which come last, in groups
    /// of `target_group` (at least 1 where there are targets). The rest is history.
    std::uint32_t context = 0;
    std::uint32_t targets = 0;
    std::uint32_t target_group = 0;

    [[nodiscard]] friend constexpr bool operator==(const sequence&, const sequence&) = default;
};

/// One image (t = 1) or clip of video, in patches before merging: Qwen-VL's `grid_thw`.
///
/// Attention runs within a frame unless a mask says otherwise: a grid is t sequences of h·w patches and never one of
/// t·h·w.
struct grid {
    std::uint32_t t = 1;
    std::uint32_t h = 0;
    std::uint32_t w = 0;
    std::uint32_t keys = 0;    ///< tokens of the text that it is made of, or that it is attended with (diffusion)
    std::uint32_t second = 0;  ///< tokens of a second text of another length, of a third, of a fourth
    std::uint32_t third = 0;
    std::uint32_t fourth = 0;
    std::uint32_t condition = 0;  ///< cells of the grids that it is made from: pictures to edit, frames to go on from

    /// The patches of one frame, h·w.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t frame_patches() const { return std::uint64_t{h} * w; }

    [[nodiscard]] friend constexpr bool operator==(const grid&, const grid&) = default;
};

/// One clip of sound, in the frames (of a spectrogram, or samples of a waveform) that enter an audio tower.
struct audio_clip {
    std::uint32_t frames = 0;

    [[nodiscard]] friend constexpr bool operator==(const audio_clip&, const audio_clip&) = default;
};

}  // namespace floptally

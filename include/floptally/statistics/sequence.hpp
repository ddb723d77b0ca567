// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/integer/host_device.hpp>

/// @file
/// The samples that statistics count: a sequence, a grid of patches, an audio clip. `length_block` has many sequences
/// at once.

namespace floptally::inline v0_3 {

/// The longest sequence in tokens, including its cached prefix. Up to this length, the product of two lengths fits 64
/// bits.
inline constexpr std::uint64_t max_sequence_length = 0xFFFF'FFFFU;

/// One sequence as an attention kernel processes it. All members are numbers of tokens.
struct sequence {
    std::uint32_t length = 0;  ///< new tokens: the queries
    std::uint32_t past = 0;    ///< earlier tokens, whose keys and values are cached
    std::uint32_t keys = 0;    ///< tokens of the encoder's side, for cross attention; 0: no encoder
    /// For HSTU models: the numbers of contextual tokens and of targets among the past + length tokens. Contextual
    /// tokens come first. Targets come last, in groups of `target_group` (at least 1 if there are targets). The tokens
    /// between are the history.
    std::uint32_t context = 0;
    std::uint32_t targets = 0;
    std::uint32_t target_group = 0;

    [[nodiscard]] friend constexpr bool operator==(const sequence&, const sequence&) = default;
};

/// A block of lengths of sequences without cached tokens or encoder tokens, with sums over the block. A tally adds long
/// lists of lengths in such blocks.
struct length_block {
    static constexpr std::size_t most = 512;             ///< largest number of lengths in a block
    static constexpr std::uint32_t longest = 0x3F'FFFF;  ///< largest length in a block, below 2^22 tokens

    std::uint32_t lengths[most];  ///< the lengths; only the first `size` elements are set
    std::size_t size;
    std::uint64_t count;    ///< number of lengths above 0
    std::uint64_t tokens;   ///< sum of the lengths, below 2^31
    std::uint64_t squares;  ///< sum of the squares of the lengths, below 2^53
};

/// One image (t = 1) or video clip, in patches, before the model merges neighbouring ones: Qwen-VL's `grid_thw`.
///
/// Attention runs within a frame unless a mask says otherwise. So a grid counts like t sequences of h·w patches, and
/// not like one sequence of t·h·w patches.
struct grid {
    std::uint32_t t = 1;
    std::uint32_t h = 0;
    std::uint32_t w = 0;
    std::uint32_t keys = 0;    ///< tokens of the sample's text (diffusion models); 0: no text
    std::uint32_t second = 0;  ///< tokens of a second text, if it has another length; `third` and `fourth` are tokens
                               ///< of further texts
    std::uint32_t third = 0;
    std::uint32_t fourth = 0;
    std::uint32_t condition = 0;  ///< number of cells of further grids that are input only, such as pictures to edit or
                                  ///< frames to continue

    /// Returns the number of patches in one frame, h·w.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t frame_patches() const { return std::uint64_t{h} * w; }

    [[nodiscard]] friend constexpr bool operator==(const grid&, const grid&) = default;
};

/// One audio clip, in the frames of a spectrogram (or samples of a waveform) that enter an audio tower.
struct audio_clip {
    std::uint32_t frames = 0;

    [[nodiscard]] friend constexpr bool operator==(const audio_clip&, const audio_clip&) = default;
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// The arithmetic of masks: sums over rows (queries) of a sequence, windows of a grid, frames of a clip. Each function
/// is total, and exact while a sequence is not longer than `max_sequence_length`.

namespace floptally::detail {

/// The triangle n(n + 1)/2; in 64 bits n must be below 2^32, since the product must fit.
template <class Count = std::uint64_t>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Count triangle(std::type_identity_t<Count> n) {
    return n * (n + 1) / 2;
}

/// The sum Σ min(i, cap) over 0 ≤ i < rows: the keys that rows of a band see on one side. A cap below 0 is none.
template <class Count = std::uint64_t>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Count capped_ramp(std::type_identity_t<Count> rows, std::int64_t cap) {
    if (rows == 0) {
        return 0;
    }
    const Count last = rows - 1;
    const bool reached = cap >= 0 && last > static_cast<std::uint64_t>(cap);
    return triangle<Count>(last) - (reached ? triangle<Count>(last - static_cast<std::uint64_t>(cap)) : 0);
}

/// The pairs of the first `rows` rows of causal chunks: whole chunks, then a shorter one.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunked_rows(std::uint64_t rows, std::uint64_t chunk) {
    return rows / chunk * triangle(chunk) + triangle(rows % chunk);
}

/// The square of the rows less the square of those beyond the window.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_square_rows(std::uint64_t rows,
                                                                               std::uint64_t window) {
    const std::uint64_t beyond = rows - smaller(rows, window);
    return rows * rows - beyond * beyond;
}

/// The sum of the squares of whole chunks and of a shorter one.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunk_square_rows(std::uint64_t rows, std::uint64_t chunk) {
    const std::uint64_t rest = rows % chunk;
    return (rows - rest) * chunk + rest * rest;
}

/// The sum Σ ⌊i / ratio⌋ over 1 ≤ i ≤ rows.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t compressed_rows(std::uint64_t rows, std::uint64_t ratio) {
    const std::uint64_t blocks = rows / ratio;
    return blocks == 0 ? 0 : ratio * triangle(blocks - 1) + blocks * (rows % ratio + 1);
}

/// The pairs of the rows past … end − 1 with keys of a prefix after themselves: row i sees the keys i + 1 … prefix − 1.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_keys(std::uint64_t past, std::uint64_t end,
                                                                       std::uint64_t prefix) {
    const std::uint64_t seen = smaller(end, prefix);
    const std::uint64_t rows = seen - smaller(seen, past);
    return rows * (rows - 1) / 2;  // of no rows 0, though rows − 1 wraps
}

/// The sum of the squares of the pieces that windows cut an axis into: `shift` cells first, whole windows, the rest.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_pieces(std::uint64_t cells, std::uint64_t window,
                                                                          std::uint64_t shift) {
    const std::uint64_t first = smaller(cells, shift);
    return first * first + chunk_square_rows(cells - first, window);
}

/// Pairs of one frame whose patches attend within their window: pieces of rows times pieces of columns.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t windowed_frame(const grid& g, std::uint64_t window,
                                                                           std::uint64_t shift) {
    return window_pieces(g.h, window, shift) * window_pieces(g.w, window, shift);
}

/// The pairs of n tokens that see each other, besides those of a causal window (−1: of a causal mask).
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_within(std::uint64_t n, std::int64_t window) {
    return n * n - n - capped_ramp(n, window - 1);
}

/// The cells that a convolution leaves of an axis: ⌊(cells − field)/stride⌋ + 1, and 0 where it does not fit. `field`
/// is its kernel less the padding on both sides. Consecutive convolutions are one, whose stride is their product.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t strided(std::uint64_t cells, std::int64_t field,
                                                                    std::int64_t stride) {
    const std::int64_t beyond = static_cast<std::int64_t>(cells) - field;
    return cells == 0 || beyond < 0 ? 0 : static_cast<std::uint64_t>(beyond) / static_cast<std::uint64_t>(stride) + 1;
}

/// Pairs of one frame within windows of the cells that `level` halvings leave: `mask_rules::level_windows`.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t level_frame(const grid& g, std::uint64_t window,
                                                                        std::int32_t level, bool shifted,
                                                                        bool shrinking) {
    const std::int64_t stride = std::int64_t{1} << level;
    const std::uint64_t height = strided(g.h, 1, stride);
    const std::uint64_t width = strided(g.w, 1, stride);
    const std::uint64_t shorter = smaller(height, width);
    const bool shrinks = shrinking && shorter <= window;
    if (shorter == 0) {
        return 0;
    }
    const std::uint64_t side = shrinks ? shorter : window;
    const std::uint64_t shift = shrinks || !shifted ? 0 : window / 2;
    return window_pieces(height, side, shift) * window_pieces(width, side, shift);
}

/// The patches of one frame that remain where `millionths` parts per million of them are left out, and `prefix` class
/// tokens; 0 for a frame without patches.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t kept_frame(const grid& g, std::uint64_t millionths,
                                                                       std::uint64_t prefix) {
    if (g.frame_patches() == 0) {
        return 0;
    }
    const double share = 1.0 - static_cast<double>(millionths) / 1e6;
    return static_cast<std::uint64_t>(static_cast<double>(g.frame_patches()) * share) + prefix;
}

/// The cells that a convolution leaves of chunks of `chunk` cells, each by itself; with chunk 0 of all cells together.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t strided_chunks(std::uint64_t cells, std::int64_t field,
                                                                           std::int64_t stride, std::uint64_t chunk) {
    return chunk == 0 ? strided(cells, field, stride)
                      : cells / chunk * strided(chunk, field, stride) + strided(cells % chunk, field, stride);
}

}  // namespace floptally::detail

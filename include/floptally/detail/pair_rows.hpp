// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

/// @file
/// The arithmetic of masks: sums over the rows (queries) of one sequence, over windows of a grid, over frames of a
/// clip. Total; exact while a sequence is not longer than `max_sequence_length`.

namespace floptally::detail {

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t triangle(std::uint64_t n) {
    return n * (n + 1) / 2;  // n < 2^32, so that the product fits
}

/// Σ of min(i, cap) over 0 ≤ i < rows: the keys that rows of a band see on one side. A cap below 0 is none.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t capped_ramp(std::uint64_t rows, std::int64_t cap) {
    if (rows == 0) {
        return 0;
    }
    const std::uint64_t last = rows - 1;
    const bool reached = cap >= 0 && last > static_cast<std::uint64_t>(cap);
    return triangle(last) - (reached ? triangle(last - static_cast<std::uint64_t>(cap)) : 0);
}

/// Pairs of the first `rows` rows: whole chunks, then a shorter one.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunked_rows(std::uint64_t rows, std::uint64_t chunk) {
    return rows / chunk * triangle(chunk) + triangle(rows % chunk);
}

/// rows², less the square of what is beyond the window.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_square_rows(std::uint64_t rows,
                                                                               std::uint64_t window) {
    const std::uint64_t beyond = rows < window ? 0 : rows - window;
    return rows * rows - beyond * beyond;
}

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunk_square_rows(std::uint64_t rows, std::uint64_t chunk) {
    const std::uint64_t rest = rows % chunk;
    return (rows - rest) * chunk + rest * rest;
}

/// Σ of ⌊i / ratio⌋ over 1 ≤ i ≤ rows.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t compressed_rows(std::uint64_t rows, std::uint64_t ratio) {
    const std::uint64_t blocks = rows / ratio;
    return blocks == 0 ? 0 : ratio * triangle(blocks - 1) + blocks * (rows % ratio + 1);
}

/// What the rows past … end − 1 see of a prefix after themselves: row i the keys i + 1 … prefix − 1.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_keys(std::uint64_t past, std::uint64_t end,
                                                                       std::uint64_t prefix) {
    const std::uint64_t seen = end < prefix ? end : prefix;
    return seen > past ? triangle(seen - past - 1) : 0;
}

/// Σ of the squares of the pieces that windows cut an axis into: `shift` cells first, whole windows, the rest.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_pieces(std::uint64_t cells, std::uint64_t window,
                                                                          std::uint64_t shift) {
    const std::uint64_t first = cells < shift ? cells : shift;
    return first * first + chunk_square_rows(cells - first, window);
}

/// Pairs of one frame whose patches attend within their window: pieces of rows times pieces of columns.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t windowed_frame(const grid& g, std::uint64_t window,
                                                                           std::uint64_t shift) {
    return window_pieces(g.h, window, shift) * window_pieces(g.w, window, shift);
}

/// Of n tokens that see each other: the pairs besides those of a causal window (−1: of a causal mask).
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_within(std::uint64_t n, std::int64_t window) {
    return n * n - n - capped_ramp(n, window < 0 ? -1 : window - 1);
}

/// What a convolution of this stride leaves of an axis: ⌊(cells − field)/stride⌋ + 1, and 0 where it does not fit.
/// `field` is its kernel less the padding on both sides. Convolutions one after the other are one such, whose stride is
/// their product.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t strided(std::uint64_t cells, std::int64_t field,
                                                                    std::int64_t stride) {
    const std::int64_t beyond = static_cast<std::int64_t>(cells) - field;
    return cells == 0 || beyond < 0 ? 0 : static_cast<std::uint64_t>(beyond / stride + 1);
}

/// Pairs of one frame within windows of the cells that `level` halvings leave: `mask_rules::level_windows`.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t level_frame(const grid& g, std::uint64_t window,
                                                                        std::int32_t level, bool shifted,
                                                                        bool shrinking) {
    const std::int64_t stride = std::int64_t{1} << level;
    const std::uint64_t height = strided(g.h, 1, stride);
    const std::uint64_t width = strided(g.w, 1, stride);
    const std::uint64_t shorter = height < width ? height : width;
    const bool shrinks = shrinking && shorter <= window;
    if (shorter == 0) {
        return 0;
    }
    const std::uint64_t side = shrinks ? shorter : window;
    const std::uint64_t shift = shrinks || !shifted ? 0 : window / 2;
    return window_pieces(height, side, shift) * window_pieces(width, side, shift);
}

/// Patches of one frame that a mask of so many millionths leaves, and class tokens; 0 of no frame.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t kept_frame(const grid& g, std::uint64_t millionths,
                                                                       std::uint64_t prefix) {
    if (g.frame_patches() == 0) {
        return 0;
    }
    const double share = 1.0 - static_cast<double>(millionths) / 1e6;
    return static_cast<std::uint64_t>(static_cast<double>(g.frame_patches()) * share) + prefix;
}

/// The same of chunks of so many cells, each by itself; 0: of all as one.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t strided_chunks(std::uint64_t cells, std::int64_t field,
                                                                           std::int64_t stride, std::uint64_t chunk) {
    return chunk == 0 ? strided(cells, field, stride)
                      : cells / chunk * strided(chunk, field, stride) + strided(cells % chunk, field, stride);
}

}  // namespace floptally::detail

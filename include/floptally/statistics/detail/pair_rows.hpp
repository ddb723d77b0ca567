// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// The arithmetic of masks: sums over the rows (queries) of a sequence, the windows of a grid, the frames of a clip.
/// Callers pass only valid arguments. Results are exact up to `max_sequence_length` tokens.

namespace floptally::inline v0_3::detail {

/// Returns the triangular number n(n + 1)/2. In 64 bits n must be below 2^32, so that the product fits.
template <class Count = std::uint64_t>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Count triangle(std::type_identity_t<Count> n) {
    return n * (n + 1) / 2;
}

/// Returns the number of pairs of the first `rows` queries with earlier keys, at most `cap` keys for each query. This
/// is Σ min(i, cap) over 0 ≤ i < rows. A negative cap means no limit.
template <class Count = std::uint64_t>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr Count capped_ramp(std::type_identity_t<Count> rows, std::int64_t cap) {
    if (rows == 0) {
        return 0;
    }
    const Count last = rows - 1;
    const bool reached = cap >= 0 && last > static_cast<std::uint64_t>(cap);
    return triangle<Count>(last) - (reached ? triangle<Count>(last - static_cast<std::uint64_t>(cap)) : 0);
}

/// Returns the number of pairs of the first `rows` queries if attention is causal within chunks of `chunk` tokens.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunked_rows(std::uint64_t rows, std::uint64_t chunk) {
    return rows / chunk * triangle(chunk) + triangle(rows % chunk);
}

/// Returns twice the number of pairs of a sliding window, if the triangle at its start counts as half a square. For n
/// queries and a window of W tokens that is n² − (n − W)², or n² if n ≤ W.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_square_rows(std::uint64_t rows,
                                                                               std::uint64_t window) {
    const std::uint64_t beyond = rows - smaller(rows, window);
    return rows * rows - beyond * beyond;
}

/// Cuts `rows` tokens into chunks of `chunk` tokens. Returns the sum of the squares of their lengths; the last chunk
/// may be shorter.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunk_square_rows(std::uint64_t rows, std::uint64_t chunk) {
    const std::uint64_t rest = rows % chunk;
    return (rows - rest) * chunk + rest * rest;
}

/// Returns the number of causal pairs of the first `rows` queries if each complete block of `ratio` tokens is one key:
/// Σ ⌊i / ratio⌋ over 1 ≤ i ≤ rows.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t compressed_rows(std::uint64_t rows, std::uint64_t ratio) {
    const std::uint64_t blocks = rows / ratio;
    return blocks == 0 ? 0 : ratio * triangle(blocks - 1) + blocks * (rows % ratio + 1);
}

/// Returns the number of pairs of the rows `past` to `end` − 1 with later keys of a prefix. Row i sees the keys above i
/// and below `prefix`.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_keys(std::uint64_t past, std::uint64_t end,
                                                                       std::uint64_t prefix) {
    const std::uint64_t seen = smaller(end, prefix);
    const std::uint64_t rows = seen - smaller(seen, past);
    return rows * (rows - 1) / 2;  // for 0 rows, rows − 1 wraps around, but the product is 0
}

/// Cuts an axis into windows and returns the sum of the squares of the pieces' lengths. The first piece has `shift`
/// cells, whole windows follow, then the rest.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_pieces(std::uint64_t cells, std::uint64_t window,
                                                                          std::uint64_t shift) {
    const std::uint64_t first = smaller(cells, shift);
    return first * first + chunk_square_rows(cells - first, window);
}

/// Returns the number of pairs of one frame in which each patch attends to the patches of its window.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t windowed_frame(const grid& g, std::uint64_t window,
                                                                           std::uint64_t shift) {
    return window_pieces(g.h, window, shift) * window_pieces(g.w, window, shift);
}

/// Returns how many of the n² pairs of n tokens are outside a causal window of `window` tokens (−1: a causal mask).
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_within(std::uint64_t n, std::int64_t window) {
    return n * n - n - capped_ramp(n, window - 1);
}

/// Returns the number of output cells of a convolution over an axis: ⌊(cells − field)/stride⌋ + 1, or 0 if the kernel
/// does not fit. `field` is the kernel size minus the padding on both sides. Several consecutive convolutions give the
/// same number as one with the product of their strides.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t strided(std::uint64_t cells, std::int64_t field,
                                                                    std::int64_t stride) {
    const std::int64_t beyond = static_cast<std::int64_t>(cells) - field;
    return cells == 0 || beyond < 0 ? 0 : static_cast<std::uint64_t>(beyond) / static_cast<std::uint64_t>(stride) + 1;
}

/// Returns the number of pairs of one frame in windows of cells, after height and width were halved `level` times
/// (`mask_statistics::level_windows`).
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

/// Returns the number of patches of one frame that remain after a fraction of `millionths` ÷ 10⁶ is left out, plus
/// `prefix` class tokens. A frame without patches gives 0.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t kept_frame(const grid& g, std::uint64_t millionths,
                                                                       std::uint64_t prefix) {
    if (g.frame_patches() == 0) {
        return 0;
    }
    const double fraction = 1.0 - static_cast<double>(millionths) / 1e6;
    return static_cast<std::uint64_t>(static_cast<double>(g.frame_patches()) * fraction) + prefix;
}

/// Returns the number of output cells of a convolution over each chunk of `chunk` cells by itself. With `chunk` 0 the
/// convolution runs over all cells together.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t strided_chunks(std::uint64_t cells, std::int64_t field,
                                                                           std::int64_t stride, std::uint64_t chunk) {
    return chunk == 0 ? strided(cells, field, stride)
                      : cells / chunk * strided(chunk, field, stride) + strided(cells % chunk, field, stride);
}

}  // namespace floptally::detail

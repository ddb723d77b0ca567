// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>

namespace floptally::inline v0_3 {

/// The number of cells along an axis after convolutions and upsamplers: up·(⌊(cells − field)/stride⌋ + 1) + add, but
/// not below 0. For a causal convolution over time use {.field = 1, .stride = s}, which gives ⌊(frames − 1)/s⌋ + 1.
struct resampling {
    std::int64_t field = 1;
    std::int64_t stride = 1;
    std::int64_t up = 1;
    std::int64_t add = 0;
};

/// The cells to which a cell attends. `sample`: all cells of the sample. `frame`: the cells of its frame. `place`: the
/// cells at its position in all frames. `past`: the cells of its frame and of all earlier frames. `before`: the cells
/// at its position in its frame and in all earlier frames.
enum class level_reach : std::uint8_t { sample, frame, place, past, before };

namespace detail {

/// The parameters of the statistics of resampled cells, packed into four integers. The `field` of height and width
/// comes first, because error texts show the first parameter.
struct resampled_cells {
    std::int32_t field;
    std::int32_t factors;   ///< parameters of height and width in one integer: stride + 2^16·up
    std::int32_t summands;  ///< low half: `add` of height and width; high half: `add` of time; each at least −2^15
    std::int32_t
        time;  ///< parameters of the time axis in one integer: (field + 2^11) + 2^12·stride + 2^20·up + 2^28·reach

    [[nodiscard]] static FLOPTALLY_HOST_DEVICE constexpr std::int64_t low_half(std::int32_t number) {
        return static_cast<std::int16_t>(static_cast<std::uint32_t>(number) & 0xFFFFU);
    }
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE constexpr std::int64_t high_half(std::int32_t number) {
        return static_cast<std::int16_t>(static_cast<std::uint32_t>(number) >> 16);
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t of_time(unsigned first, std::uint32_t most) const {
        return static_cast<std::uint32_t>(time) >> first & most;
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr resampling space() const {
        return {field, low_half(factors), high_half(factors), low_half(summands)};
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr resampling frames() const {
        return {of_time(0, 0xFFF) - 0x800, of_time(12, 0xFF), of_time(20, 0xFF), high_half(summands)};
    }

    /// Returns the number of cells of one axis after resampling, below 2^48.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr std::uint64_t of_axis(std::uint64_t cells,
                                                                               const resampling& axis) {
        const auto left = static_cast<std::int64_t>(strided(cells, axis.field, axis.stride));
        const std::int64_t cells_after = left == 0 ? 0 : axis.up * left + axis.add;
        return static_cast<std::uint64_t>(larger(cells_after, std::int64_t{0}));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 of_frame(const grid& g) const {
        return uint128{of_axis(g.h, space())} * of_axis(g.w, space());
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frames(const grid& g) const {
        return of_axis(g.t, frames());
    }
    /// Returns the number of cells of a grid after resampling. The number is below 2^32 if `problem_of` finds no
    /// problem.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t cells(const grid& g) const {
        return of_frames(g) * static_cast<std::uint64_t>(of_frame(g));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr grid_problem problem_of(const grid& g) const {
        const bool is_left = strided(g.h, space().field, space().stride) != 0 &&
                             strided(g.w, space().field, space().stride) != 0 &&
                             strided(g.t, frames().field, frames().stride) != 0;
        if (g.t * g.frame_patches() != 0 && !is_left) {
            return grid_problem::leaves_nothing;
        }
        const bool is_large =
            of_frame(g) > max_sequence_length || of_frames(g) > max_sequence_length || cells(g) > max_sequence_length;
        return is_large ? grid_problem::too_large : grid_problem::none;
    }
    constexpr void check() const {
        if (low_half(factors) < 1 || high_half(factors) < 1 || of_time(12, 0xFF) == 0 || of_time(20, 0xFF) == 0) {
            refuse("stride", {"stride, up, t_stride and t_up must be at least 1, got ", low_half(factors), ", ",
                              high_half(factors), ", ", of_time(12, 0xFF), " and ", of_time(20, 0xFF)});
        }
    }

    /// Writes the numbers in a statistic's text to `to`: first those of height and width (field, stride, up, add), then
    /// those of time.
    constexpr void common_values(std::int64_t* to) const {
        for (const resampling& axis : {space(), frames()}) {
            *to++ = axis.field;
            *to++ = axis.stride;
            *to++ = axis.up;
            *to++ = axis.add;
        }
    }
    /// Makes the parameters from the numbers that `common_values` wrote.
    [[nodiscard]] static constexpr resampled_cells from_values(const std::int64_t* numbers, std::int64_t reach) {
        const auto halves = [](std::int64_t low, std::int64_t high) {
            return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xFFFFU) |
                                             static_cast<std::uint32_t>(high) << 16);
        };
        return {
            static_cast<std::int32_t>(numbers[0]), halves(numbers[1], numbers[2]), halves(numbers[3], numbers[7]),
            static_cast<std::int32_t>(numbers[4] + 0x800 + (numbers[5] << 12) + (numbers[6] << 20) + (reach << 28))};
    }
};

}  // namespace detail

}  // namespace floptally

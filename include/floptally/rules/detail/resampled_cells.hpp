// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/pair_rows.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

namespace floptally {

/// The cells of an axis after convolutions and samplers: up·(⌊(cells − field)/stride⌋ + 1) + add, and never below 0. A
/// causal stride of time is {.field = 1, .stride = s}: ⌊(frames − 1)/s⌋ + 1.
struct resampling {
    std::int64_t field = 1;
    std::int64_t stride = 1;
    std::int64_t up = 1;
    std::int64_t add = 0;
};

/// The cells that see each other: all of a sample, those of a frame, those at one place of all frames, those of a frame
/// and of all before it, or those at one place of a frame and of all before it.
enum class level_reach : std::uint8_t { sample, frame, place, past, before };

namespace detail {

/// The numbers of the rules below, in four integers. The first is the field of height and width, which errors show.
struct resampled_cells {
    std::int32_t field;
    std::int32_t factors;  ///< stride, and 2^16 times up
    std::int32_t added;    ///< to height and width, and 2^16 times that to time; from −2^15
    std::int32_t time;     ///< field + 2^11; 2^12 times the stride; 2^20 times up; 2^28 times the reach

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
        return {field, low_half(factors), high_half(factors), low_half(added)};
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr resampling frames() const {
        return {of_time(0, 0xFFF) - 0x800, of_time(12, 0xFF), of_time(20, 0xFF), high_half(added)};
    }

    /// The cells of one axis, below 2^48.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr std::uint64_t of_axis(std::uint64_t cells,
                                                                               const resampling& by) {
        const auto left = static_cast<std::int64_t>(strided(cells, by.field, by.stride));
        const std::int64_t made = left == 0 ? 0 : by.up * left + by.add;
        return static_cast<std::uint64_t>(larger(made, std::int64_t{0}));
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 of_frame(const grid& g) const {
        return uint128{of_axis(g.h, space())} * of_axis(g.w, space());
    }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_frames(const grid& g) const {
        return of_axis(g.t, frames());
    }
    /// Cells of a grid; below 2^32 where it has no problem.
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
            refuse("stride", {"and up must be at least 1, got ", low_half(factors), " and ", high_half(factors),
                              "; of time ", of_time(12, 0xFF), " and ", of_time(20, 0xFF)});
        }
    }

    /// The numbers of the text form, and back: field, stride, up and add of height and width, then of time.
    constexpr void common_values(std::int64_t* to) const {
        for (const resampling& by : {space(), frames()}) {
            *to++ = by.field;
            *to++ = by.stride;
            *to++ = by.up;
            *to++ = by.add;
        }
    }
    [[nodiscard]] static constexpr resampled_cells of(const std::int64_t* numbers, std::int64_t reach) {
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/cuda/block.hpp>
#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

/// @file
/// Sequences with parts, grids, clips of sound and rows of an attention mask in device memory. A list of them has
/// - `unit`: what they are, `numbers_per_unit` of the list, and `threads_per_unit`: how many threads read one together;
/// - `size()`;
/// - `take(block, i, real, slot, call, into)`: whether number i can be read, and what it is; else it is refused.

namespace floptally::detail {

/// A number of a list, or false and a refusal.
template <integer T, class Ref>
[[nodiscard]] FLOPTALLY_HOST_DEVICE bool take_number(T value, input_field field, const refusal_place& place,
                                                     const Ref& into, std::uint32_t& to) {
    if (!is_length(value)) {
        refuse(into.refusals(), place, refusal::length(value, field));
        return false;
    }
    to = static_cast<std::uint32_t>(value);
    return true;
}

/// Samples of HSTU. A list that is null is all zeros.
template <integer T>
struct hstu_samples {
    using unit = sequence;
    static constexpr std::uint32_t threads_per_unit = 1;
    static constexpr std::size_t numbers_per_unit = 1;

    const T* lengths;
    const T* contextual;
    const T* targets;
    std::size_t count;
    std::uint32_t target_group;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    template <class Block, class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(const Block& /*block*/, std::size_t i, sequence& real, sequence& slot,
                                                  std::uint32_t call, const Ref& into) const {
        const refusal_place place{call, i};
        real.target_group = target_group;
        const bool read =
            take_number(lengths[i], input_field::lengths, place, into, real.length) &&
            (contextual == nullptr || take_number(contextual[i], input_field::contextual, place, into, real.context)) &&
            (targets == nullptr || take_number(targets[i], input_field::targets, place, into, real.targets));
        slot = real;
        return read;
    }
};

/// Images and clips as `grid_thw` has them.
template <integer T>
struct listed_grids {
    using unit = grid;
    static constexpr std::uint32_t threads_per_unit = 1;
    static constexpr std::size_t numbers_per_unit = 3;

    const T* thw;
    std::size_t count;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    template <class Block, class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(const Block& /*block*/, std::size_t i, grid& real, grid& slot,
                                                  std::uint32_t call, const Ref& into) const {
        const T* const own = thw + numbers_per_unit * i;
        const bool read = take_number(own[0], input_field::grid_thw, {call, numbers_per_unit * i}, into, real.t) &&
                          take_number(own[1], input_field::grid_thw, {call, numbers_per_unit * i + 1}, into, real.h) &&
                          take_number(own[2], input_field::grid_thw, {call, numbers_per_unit * i + 2}, into, real.w);
        slot = real;
        return read;
    }
};

/// Clips of sound by their frames.
template <integer T>
struct listed_clips {
    using unit = audio_clip;
    static constexpr std::uint32_t threads_per_unit = 1;
    static constexpr std::size_t numbers_per_unit = 1;

    const T* frames;
    std::size_t count;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    template <class Block, class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(const Block& /*block*/, std::size_t i, audio_clip& real,
                                                  audio_clip& slot, std::uint32_t call, const Ref& into) const {
        const bool read = take_number(frames[i], input_field::audio_frames, {call, i}, into, real.frames);
        slot = real;
        return read;
    }
};

/// Rows of an attention mask, each read by one warp.
template <std::integral T>
struct attention_rows {
    using unit = sequence;
    static constexpr std::uint32_t threads_per_unit = warp_size;
    static constexpr std::size_t numbers_per_unit = 1;

    const T* flags;
    std::size_t rows;
    std::size_t columns;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return rows; }
    template <class Block, class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(const Block& block, std::size_t i, sequence& real, sequence& slot,
                                                  std::uint32_t call, const Ref& into) const {
        const T* const row = flags + i * columns;
        const std::uint32_t lane = block.thread() % warp_size;
        std::uint64_t ones = 0;
        std::uint64_t faults = 0;  // starts of a run of ones, and as many as it takes where a flag is neither 0 nor 1
        for (std::size_t at = lane; at < columns; at += warp_size) {
            const bool one = row[at] == T{1};
            ones += one ? 1U : 0U;
            faults += one && (at == 0 || row[at - 1] != T{1}) ? 1U : 0U;
            faults += one || row[at] == T{0} ? 0U : 2U;
        }
        for (std::uint32_t delta = warp_size / 2; delta > 0; delta /= 2) {
            ones += block.shuffle_down(ones, delta);
            faults += block.shuffle_down(faults, delta);
        }
        if (lane != 0) {
            return false;  // the first lane has it all
        }
        if (faults > 1) {
            const std::size_t at = first_fault(row);
            refuse(into.refusals(), {call, i * columns + at},
                   {refused::flag, static_cast<std::uint64_t>(static_cast<std::int64_t>(row[at])), columns});
            return false;
        }
        real.length = static_cast<std::uint32_t>(ones);
        slot.length = static_cast<std::uint32_t>(columns);
        return true;
    }

  private:
    /// The first flag of a row that is neither 0 nor 1, or is 1 after the ones have ended.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t first_fault(const T* row) const {
        bool seen = false;
        for (std::size_t at = 0; at < columns; ++at) {
            const bool one = row[at] == T{1};
            if ((!one && row[at] != T{0}) || (one && seen && row[at - 1] != T{1})) {
                return at;
            }
            seen = seen || one;
        }
        return columns - 1;
    }
};

}  // namespace floptally::detail

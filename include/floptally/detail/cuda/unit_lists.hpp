// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

/// @file
/// Sequences with parts, grids and clips of sound in device memory, each of which fills its slot. A list of them has
/// - `unit`: what they are, `numbers_per_unit` of the list;
/// - `size()`;
/// - `take(i, to, call, into)`: whether number i can be read, and what it is; else it is refused.

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
    static constexpr std::size_t numbers_per_unit = 1;

    const T* lengths;
    const T* contextual;
    const T* targets;
    std::size_t count;
    std::uint32_t target_group;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    template <class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::size_t i, sequence& real, std::uint32_t call,
                                                  const Ref& into) const {
        const refusal_place place{call, i};
        real.target_group = target_group;
        return take_number(lengths[i], input_field::lengths, place, into, real.length) &&
               (contextual == nullptr ||
                take_number(contextual[i], input_field::contextual, place, into, real.context)) &&
               (targets == nullptr || take_number(targets[i], input_field::targets, place, into, real.targets));
    }
};

/// Images and clips as `grid_thw` has them.
template <integer T>
struct listed_grids {
    using unit = grid;
    static constexpr std::size_t numbers_per_unit = 3;

    const T* thw;
    std::size_t count;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    template <class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::size_t i, grid& real, std::uint32_t call,
                                                  const Ref& into) const {
        const T* const own = thw + numbers_per_unit * i;
        return take_number(own[0], input_field::grid_thw, {call, numbers_per_unit * i}, into, real.t) &&
               take_number(own[1], input_field::grid_thw, {call, numbers_per_unit * i + 1}, into, real.h) &&
               take_number(own[2], input_field::grid_thw, {call, numbers_per_unit * i + 2}, into, real.w);
    }
};

/// Clips of sound by their frames.
template <integer T>
struct listed_clips {
    using unit = audio_clip;
    static constexpr std::size_t numbers_per_unit = 1;

    const T* frames;
    std::size_t count;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    template <class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::size_t i, audio_clip& real, std::uint32_t call,
                                                  const Ref& into) const {
        return take_number(frames[i], input_field::audio_frames, {call, i}, into, real.frames);
    }
};

}  // namespace floptally::detail

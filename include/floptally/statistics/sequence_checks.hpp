// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Checks whether a tally or a statistic can count a sample, and builds the error texts. CUDA kernels use the checks,
/// too.

namespace floptally::inline v0_3::detail {

/// Returns true if a frame has more patches than `max_sequence_length`.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_too_large_a_frame(const grid& g) {
    return g.frame_patches() > max_sequence_length;
}
/// Returns a grid as errors show it: "2 x 10 x 12 patches".
[[nodiscard]] inline std::string text_of_grid(const grid& g) {
    return text_of({g.t, " x ", g.h, " x ", g.w, " patches"});
}

/// Returns the error's text for a frame that is too large. The error's field is "grid".
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_large_frame(const grid& g) {
    return text_of({text_of_grid(g), ": a frame must have at most ", max_sequence_length, " patches; split the image"});
}

/// Returns the error's text for a grid that a statistic with these parameters cannot count.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_problem(const grid& g, grid_problem problem,
                                                                           const parameter_values& parameters) {
    const std::int32_t side = parameters.values[0];
    const std::int32_t other = parameters.values[2];
    switch (problem) {
        case grid_problem::does_not_divide:
            return text_of({text_of_grid(g), " do not divide by the spatial_merge_size ", side,
                            ": resize the image to a multiple"});
        case grid_problem::leaves_nothing:
            return text_of({text_of_grid(g), " are too few for convolutions over ", side, " x ", side,
                            ": resize the image or leave it out"});
        case grid_problem::not_listed:
            return text_of({text_of_grid(g), ": a frame must have ", side, side == other ? "" : " or ",
                            side == other ? "" : std::to_string(other), " patches; resize the image"});
        case grid_problem::condition_leaves_rest:
            return text_of({"its condition of ", g.condition, " cells must fill whole patches of ", side, " x ", side,
                            ": pad it"});
        default:
            return text_of({text_of_grid(g), ": a clip must have at most ", max_sequence_length, " patches; split it"});
    }
}

}  // namespace floptally::detail

namespace floptally::inline v0_3::detail {

/// Returns the number of cached and new tokens of a sequence: past + length.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t end_of(const sequence& s) {
    return std::uint64_t{s.past} + s.length;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_too_long(const sequence& s) {
    return end_of(s) > max_sequence_length;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_parts_beyond_its_end(const sequence& s) {
    return std::uint64_t{s.context} + s.targets > end_of(s);
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool lacks_a_target_group(const sequence& s) {
    return s.targets != 0 && s.target_group == 0;
}
/// Returns true if a tally accepts the sequence.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_valid(const sequence& s) {
    return !is_too_long(s) && !has_parts_beyond_its_end(s) && !lacks_a_target_group(s);
}

/// Returns the error's text for a sequence that is too long. The error's field is "past".
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_long_sequence(const sequence& s) {
    return text_of({"past + length must be at most ", max_sequence_length, ", got ", s.past, " + ", s.length});
}

/// Throws `error` if a sequence is too long, if its contextual tokens and targets exceed its tokens, or if its targets
/// have no group size.
constexpr void check_sequence(const sequence& s) {
    const std::uint64_t end = end_of(s);
    if (is_too_long(s)) {
        throw error("past", text_of_long_sequence(s));
    }
    if (has_parts_beyond_its_end(s)) {
        refuse("targets",
               {"context + targets must be at most past + length (", end, "), got ", s.context, " + ", s.targets});
    }
    if (lacks_a_target_group(s)) {
        throw error("target_group", "must be at least 1 if there are targets, got 0");
    }
}

/// If a slot has fewer tokens than the real sequence in it, throws an `error` that names `field`.
constexpr void require_room(const char* field, std::uint64_t real, std::uint64_t slot) {
    if (slot < real) {
        refuse(field, {"a slot of ", slot, " has no room for ", real, ": enlarge the slot"});
    }
}

/// Returns the number of tokens of a valid sequence that are neither context nor targets.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t history_of(const sequence& s) {
    return end_of(s) - s.context - s.targets;
}
/// Returns true if the targets of a real sequence and of its slot are in groups of different sizes.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_other_groups(const sequence& real, const sequence& slot) {
    return real.targets != 0 && real.target_group != slot.target_group;
}

/// Returns true if no number of tokens (new, cached, encoder, contextual, history, target) is larger in the real
/// sequence than in its slot. Both sequences must be valid.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_room(const sequence& real, const sequence& slot) {
    return slot.length >= real.length && slot.past >= real.past && slot.keys >= real.keys &&
           slot.context >= real.context && slot.targets >= real.targets && history_of(slot) >= history_of(real) &&
           !has_other_groups(real, slot);
}

/// Throws `error` for the first number of tokens (new, cached, …) that is larger in the real sequence than in its slot.
constexpr void require_room(const sequence& real, const sequence& slot) {
    require_room("length", real.length, slot.length);
    require_room("past", real.past, slot.past);
    require_room("keys", real.keys, slot.keys);
    require_room("context", real.context, slot.context);
    require_room("targets", real.targets, slot.targets);
    require_room("history", history_of(real), history_of(slot));
    if (has_other_groups(real, slot)) {
        refuse("target_group", {"a slot with groups of ", slot.target_group, " cannot hold a sequence with groups of ",
                                real.target_group, ": pass the same group size for both"});
    }
}

}  // namespace floptally::detail

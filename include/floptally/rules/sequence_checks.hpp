// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/rule_words.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Checks of samples that no tally takes or no rule counts: conditions, for a device too, and errors.

namespace floptally::detail {

/// True where a frame has more patches than `max_sequence_length`.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_too_large_a_frame(const grid& g) {
    return g.frame_patches() > max_sequence_length;
}
/// A grid as errors show it: "2 x 10 x 12 patches".
[[nodiscard]] inline std::string shown(const grid& g) { return text_of({g.t, " x ", g.h, " x ", g.w, " patches"}); }

/// The text of the error for a frame that is too large, whose field is "grid".
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_large_frame(const grid& g) {
    return text_of({shown(g), ": a frame is above ", max_sequence_length});
}

/// The text of the error where a rule of these parameters cannot count a grid.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_problem(const grid& g, grid_problem problem,
                                                                           const rule_parameters& parameters) {
    const std::int32_t side = parameters.of[0];
    const std::int32_t other = parameters.of[2];
    switch (problem) {
        case grid_problem::does_not_divide:
            return text_of({shown(g), " do not divide by the spatial_merge_size ", side});
        case grid_problem::leaves_nothing:
            return text_of({shown(g), " are too few for convolutions over ", side, " x ", side, " of them"});
        case grid_problem::not_listed:
            return text_of({shown(g), ": a frame must have ", side, side == other ? "" : " or ",
                            side == other ? "" : std::to_string(other)});
        case grid_problem::condition_leaves_rest:
            return text_of(
                {"its condition of ", g.condition, " cells leaves a rest of patches of ", side, " x ", side});
        default:
            return text_of({shown(g), ": a clip is above ", max_sequence_length});
    }
}

}  // namespace floptally::detail

namespace floptally::detail {

/// The past and new tokens of a sequence.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t end_of(const sequence& s) {
    return std::uint64_t{s.past} + s.length;
}
/// True where past + length is above `max_sequence_length`.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_too_long(const sequence& s) {
    return end_of(s) > max_sequence_length;
}
/// True where context + targets are above past + length.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_parts_beyond_its_end(const sequence& s) {
    return std::uint64_t{s.context} + s.targets > end_of(s);
}
/// True where a sequence has targets but no size of their groups.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool lacks_a_target_group(const sequence& s) {
    return s.targets != 0 && s.target_group == 0;
}
/// True where a tally takes the sequence.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_valid(const sequence& s) {
    return !is_too_long(s) && !has_parts_beyond_its_end(s) && !lacks_a_target_group(s);
}

/// The text of the error for a sequence that is too long, whose field is "past".
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of_long_sequence(const sequence& s) {
    return text_of({"past + length must be at most ", max_sequence_length, ", got ", s.past, " + ", s.length});
}

/// Throws `error` where a sequence is too long or its parts do not fit it.
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
        throw error("target_group", "must be at least 1 where there are targets, got 0");
    }
}

/// Throws `error` at `field` where a slot is smaller than the real part.
constexpr void require_room(const char* field, std::uint64_t real, std::uint64_t slot) {
    if (slot < real) {
        refuse(field, {"a slot of ", slot, " has no room for ", real});
    }
}

/// The tokens of a valid sequence that are neither context nor targets.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t history_of(const sequence& s) {
    return end_of(s) - s.context - s.targets;
}
/// True where a real sequence has targets in groups of another size than its slot.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_other_groups(const sequence& real, const sequence& slot) {
    return real.targets != 0 && real.target_group != slot.target_group;
}

/// True where a real sequence fits its slot, part by part; both are valid.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_room(const sequence& real, const sequence& slot) {
    return slot.length >= real.length && slot.past >= real.past && slot.keys >= real.keys &&
           slot.context >= real.context && slot.targets >= real.targets && history_of(slot) >= history_of(real) &&
           !has_other_groups(real, slot);
}

/// Throws `error` with the first part of a real sequence that does not fit its slot.
constexpr void require_room(const sequence& real, const sequence& slot) {
    require_room("length", real.length, slot.length);
    require_room("past", real.past, slot.past);
    require_room("keys", real.keys, slot.keys);
    require_room("context", real.context, slot.context);
    require_room("targets", real.targets, slot.targets);
    require_room("history", history_of(real), history_of(slot));
    if (has_other_groups(real, slot)) {
        refuse("target_group",
               {"a slot of groups of ", slot.target_group, " does not fit groups of ", real.target_group});
    }
}

}  // namespace floptally::detail

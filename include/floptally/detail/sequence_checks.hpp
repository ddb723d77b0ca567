// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/message.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

/// @file
/// What a tally refuses of a sequence: as conditions, which a device can ask too, and as errors.

namespace floptally::detail {

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
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_valid(const sequence& s) {
    return !is_too_long(s) && !has_parts_beyond_its_end(s) && !lacks_a_target_group(s);
}

/// Throws where the parts of a sequence do not fit it, or it is too long.
constexpr void check_sequence(const sequence& s) {
    const std::uint64_t end = end_of(s);
    if (is_too_long(s)) {
        refuse("past", {"past + length must be at most ", max_sequence_length, ", got ", s.past, " + ", s.length});
    }
    if (has_parts_beyond_its_end(s)) {
        refuse("targets",
               {"context + targets must be at most past + length (", end, "), got ", s.context, " + ", s.targets});
    }
    if (lacks_a_target_group(s)) {
        throw error("target_group", "must be at least 1 where there are targets, got 0");
    }
}

constexpr void require_room(const char* field, std::uint64_t real, std::uint64_t slot) {
    if (slot < real) {
        refuse(field, {"a slot of ", slot, " has no room for ", real});
    }
}

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t history_of(const sequence& s) {
    return end_of(s) - s.context - s.targets;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_other_groups(const sequence& real, const sequence& slot) {
    return real.targets != 0 && real.target_group != slot.target_group;
}

/// Whether a real sequence fits its slot, part by part; both are valid.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_room(const sequence& real, const sequence& slot) {
    return slot.length >= real.length && slot.past >= real.past && slot.keys >= real.keys &&
           slot.context >= real.context && slot.targets >= real.targets && history_of(slot) >= history_of(real) &&
           !has_other_groups(real, slot);
}

/// Throws where it does not.
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

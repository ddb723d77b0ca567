// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/error.hpp>
#include <floptally/sequence.hpp>

namespace floptally::detail {

/// Throws where the parts of a sequence do not fit it, or it is too long.
constexpr void check_sequence(const sequence& s) {
    const std::uint64_t end = std::uint64_t{s.past} + s.length;
    if (end > max_sequence_length) {
        throw error("past", "past + length must be at most " + std::to_string(max_sequence_length) + ", got " +
                                std::to_string(s.past) + " + " + std::to_string(s.length));
    }
    if (std::uint64_t{s.context} + s.targets > end) {
        throw error("targets", "context + targets must be at most past + length (" + std::to_string(end) + "), got " +
                                   std::to_string(s.context) + " + " + std::to_string(s.targets));
    }
    if (s.targets != 0 && s.target_group == 0) {
        throw error("target_group", "must be at least 1 where there are targets, got 0");
    }
}

constexpr void require_room(const char* field, std::uint64_t real, std::uint64_t slot) {
    if (slot < real) {
        throw error(field, "a slot of " + std::to_string(slot) + " has no room for " + std::to_string(real));
    }
}

/// Throws where a real sequence does not fit its slot, part by part.
constexpr void require_room(const sequence& real, const sequence& slot) {
    const auto history = [](const sequence& s) { return std::uint64_t{s.past} + s.length - s.context - s.targets; };
    require_room("length", real.length, slot.length);
    require_room("past", real.past, slot.past);
    require_room("keys", real.keys, slot.keys);
    require_room("context", real.context, slot.context);
    require_room("targets", real.targets, slot.targets);
    require_room("history", history(real), history(slot));
    if (real.targets != 0 && real.target_group != slot.target_group) {
        throw error("target_group", "a slot of groups of " + std::to_string(slot.target_group) +
                                        " does not fit groups of " + std::to_string(real.target_group));
    }
}

}  // namespace floptally::detail

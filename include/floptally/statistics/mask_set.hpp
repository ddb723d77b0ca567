// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/lists/list.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `mask_set`: the statistics and the modalities with which a tally is built.

namespace floptally::inline v0_3 {

/// The different masks and other statistics of a model, in the order of their first use, and the model's modalities. A
/// tally has the accumulators for these statistics and modalities. If no modality was added, the set has only text.
class mask_set : public list<statistic> {
  public:
    using list::list;

    /// Returns a set without masks and with every modality.
    [[nodiscard]] static constexpr mask_set of_towers() {
        mask_set all;
        all.towers_ = every_tower;
        return all;
    }
    /// Returns a set without masks and with the modalities of another set.
    [[nodiscard]] static constexpr mask_set of_towers(const mask_set& other) {
        mask_set same;
        same.towers_ = other.towers_;
        return same;
    }

    /// Returns the index of a statistic. Adds the statistic and its modality if they are new. If two structs have the
    /// same name, throws an `error` that names `field`.
    constexpr std::size_t find_or_add(const statistic& value, const char* field) {
        const std::size_t index = find(value);
        if (index == size()) {
            for (const statistic& known : *this) {
                known.require_own_name(value, field);
            }
            push_back(value, field);
        }
        include(value.in());
        return index;
    }
    /// Adds a modality to the set.
    constexpr void include(modality which) { towers_ = static_cast<std::uint8_t>(towers_ | bit(which)); }

    /// True if the model has sequences of this modality.
    [[nodiscard]] constexpr bool has(modality which) const { return (towers() & bit(which)) != 0; }
    /// If the set lacks a modality, throws an `error` that names `field`. Otherwise samples of that modality would be
    /// lost.
    constexpr void require(modality which, const char* field) const {
        if (!has(which)) {
            detail::refuse(field, {"this model has no ", name_of(which), which == modality::text ? "" : " tower",
                                   ": build the tally with the masks() of a model that has it"});
        }
    }
    /// Returns true if there is a modality in addition to text.
    [[nodiscard]] constexpr bool has_towers() const { return towers_ > bit(modality::text); }

    /// Returns the modality whose samples count as the model's tokens and sequences: text if the set has it, else
    /// vision, else audio.
    [[nodiscard]] constexpr modality main_modality() const {
        return has(modality::text) ? modality::text : has(modality::vision) ? modality::vision : modality::audio;
    }

    [[nodiscard]] friend constexpr bool operator==(const mask_set& a, const mask_set& b) {
        return a.towers() == b.towers() && static_cast<const list&>(a) == b;
    }

  private:
    static constexpr std::uint8_t every_tower = (1U << modality_count) - 1;
    [[nodiscard]] static constexpr std::uint8_t bit(modality which) {
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(which));
    }
    [[nodiscard]] constexpr std::uint8_t towers() const { return towers_ == 0 ? bit(modality::text) : towers_; }

    std::uint8_t towers_ = 0;
};

}  // namespace floptally

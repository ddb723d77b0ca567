// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/lists/list.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>

/// @file
/// `mask_set`: the rules and modalities that a tally is built with.

namespace floptally {

/// The different masks of a model, in the order of their first use, and its modalities: a tally is built with them. A
/// set that names no modality has text alone.
class mask_set : public detail::list<rule> {
  public:
    using list::list;

    /// A set of no mask and every modality.
    [[nodiscard]] static constexpr mask_set of_towers() {
        mask_set all;
        all.towers_ = every_tower;
        return all;
    }
    /// A set of no mask and the modalities of another set.
    [[nodiscard]] static constexpr mask_set of_towers(const mask_set& other) {
        mask_set same;
        same.towers_ = other.towers_;
        return same;
    }

    /// The index of a rule, which is added where it is new, and its modality with it. Two structs of one name are
    /// `error` at `field`.
    constexpr std::size_t find_or_add(const rule& value, const char* field) {
        const std::size_t index = find(value);
        if (index == size()) {
            for (const rule& known : *this) {
                known.require_own_name(value, field);
            }
            push_back(value, field);
        }
        include(value.in());
        return index;
    }
    /// Adds a modality.
    constexpr void include(modality which) { towers_ = static_cast<std::uint8_t>(towers_ | bit(which)); }

    /// True where the set has that modality.
    [[nodiscard]] constexpr bool has(modality which) const { return (towers() & bit(which)) != 0; }
    /// True where there is a modality besides text.
    [[nodiscard]] constexpr bool has_towers() const { return towers_ > bit(modality::text); }

    /// The modality whose tokens and sequences are those of the model: text where it has one, else vision, else audio.
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

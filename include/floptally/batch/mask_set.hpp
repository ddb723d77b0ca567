// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/detail/list.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistics/rule.hpp>

namespace floptally {

/// Different masks, in the order in which a model first uses them, and the towers that it has: what a tally is built
/// with. Without a word about towers there is a text and nothing else.
class mask_set : public detail::list<rule> {
  public:
    using list::list;

    /// No mask, and every tower.
    [[nodiscard]] static constexpr mask_set of_towers() {
        mask_set all;
        all.towers_ = every_tower;
        return all;
    }
    /// No mask, and the towers of another.
    [[nodiscard]] static constexpr mask_set of_towers(const mask_set& other) {
        mask_set same;
        same.towers_ = other.towers_;
        return same;
    }

    constexpr std::size_t find_or_add(const rule& value, const char* field) {
        const std::size_t index = list::find_or_add(value, field);
        include(value.in());
        return index;
    }
    constexpr void include(modality which) { towers_ = static_cast<std::uint8_t>(towers_ | bit(which)); }

    [[nodiscard]] constexpr bool has(modality which) const { return (towers() & bit(which)) != 0; }
    /// Whether there is more than a text.
    [[nodiscard]] constexpr bool has_towers() const { return towers_ > bit(modality::text); }

    /// The one whose tokens and sequences are those of the model: its text, where it has one.
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

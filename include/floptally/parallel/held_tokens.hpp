// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/detail/rank_gather.hpp>
#include <floptally/detail/witnessed_sum.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>

namespace floptally {

/// What a rank holds of a batch, as a number: a hash of the tokens themselves, in their order.
///
/// Equal counts say nothing of whether two ranks hold the same tokens or equal parts of them; the tokens do. Give it
/// the token ids that this rank runs, without padding, or anything else that tells tokens apart (the numbers of samples
/// and rows).
class held_tokens {
  public:
    constexpr held_tokens() = default;
    template <std::integral Int>
    constexpr explicit held_tokens(std::span<const Int> ids) {
        add(ids);
    }

    template <std::integral Int>
    constexpr void add(std::span<const Int> ids) {
        for (const Int id : ids) {
            hash_ = detail::mixed(hash_ ^ static_cast<std::uint64_t>(id));
        }
        count_ += ids.size();
    }

    [[nodiscard]] constexpr std::uint64_t hash() const { return hash_; }
    [[nodiscard]] constexpr std::uint64_t count() const { return count_; }

  private:
    std::uint64_t hash_ = 0;
    std::uint64_t count_ = 0;
};

namespace detail {

/// The axes along which two ranks stand at different places.
[[nodiscard]] inline axis_set axes_between(const parallel_layout& a, const parallel_layout& b) {
    axis_set axes;
    for (const parallel_axis axis : dense_axes) {
        axes = a.coordinate(axis) != b.coordinate(axis) ? axes | axis : axes;
    }
    return axes;
}

}  // namespace detail

/// Throws where ranks that a scope says to hold the same tokens hold different ones, or where those that it says to
/// hold parts of their own hold the same: each would be a silent factor in every sum. All ranks of the layout call it
/// together, once before the first step; one SUM of 4 words a rank, and the same error on every rank.
///
/// Ranks without a token, and those that hold nothing under the scope (`first`, `last`), are not compared.
template <class Reducer>
void require_held(const statistic_scope& scope, const held_tokens& mine, const parallel_layout& layout, Reducer& over) {
    detail::rank_gather all(layout, every_axis);
    all.collect(2, over, [&] { return std::vector<std::uint64_t>{mine.hash(), mine.count()}; });
    using words = std::pair<std::uint64_t, std::uint64_t>;
    std::map<std::vector<std::uint64_t>, std::size_t> first_of_part;  // by its coordinates on axes of parts
    std::map<words, std::size_t> part_of_tokens;
    const auto held = [&](std::size_t slot) { return words{all.of(slot)[0], all.of(slot)[1]}; };
    const auto two = [&](std::size_t a, std::size_t b) {
        return "ranks " + std::to_string(all.ranks()[a]) + " and " + std::to_string(all.ranks()[b]) +
               ", which differ in " +
               detail::axes_between(layout.at(all.ranks()[a]), layout.at(all.ranks()[b])).name() + ", ";
    };
    for (std::size_t slot = 0; slot < all.ranks().size(); ++slot) {
        const parallel_layout here = layout.at(all.ranks()[slot]);
        if (held(slot).second == 0 || !scope.holds(here)) {
            continue;
        }
        std::vector<std::uint64_t> part;
        for (const parallel_axis axis : dense_axes) {
            part.push_back(scope.along(axis) == share::sharded ? here.coordinate(axis) : 0);
        }
        const auto [same, is_first] = first_of_part.try_emplace(part, slot);
        if (!is_first) {
            if (held(slot) != held(same->second)) {
                throw error("tokens", two(same->second, slot) +
                                          "are declared to hold the same and hold different ones: each has a part, "
                                          "which a scope calls sharded");
            }
            continue;
        }
        const auto [other, is_new] = part_of_tokens.try_emplace(held(slot), slot);
        if (!is_new) {
            throw error("tokens", two(other->second, slot) +
                                      "are declared to hold parts of their own and hold the same, which a scope calls "
                                      "replicated");
        }
    }
    if (part_of_tokens.empty()) {
        throw error("tokens", "no rank told any, so that nothing was compared");
    }
}

}  // namespace floptally

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

#include <floptally/parallel/detail/rank_gather.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A hash of the tokens that a rank holds, and the check that ranks hold what their scopes say.

namespace floptally {

/// A hash of the tokens that a rank holds of a batch, in their order.
///
/// Equal counts do not tell whether two ranks hold the same tokens or equal parts of them; the tokens do. Give it the
/// token ids that this rank runs, without padding, or anything else that tells tokens apart (the numbers of samples and
/// rows).
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

/// The axes along which two ranks have different coordinates.
[[nodiscard]] inline axis_set axes_between(const parallel_layout& a, const parallel_layout& b) {
    axis_set axes;
    for (const parallel_axis axis : dense_axes) {
        axes = a.coordinate(axis) != b.coordinate(axis) ? axes | axis : axes;
    }
    return axes;
}

}  // namespace detail

/// Throws where ranks that a scope calls replicated hold different tokens, or where ranks that it calls sharded hold
/// the same tokens: each would be a silent factor in every sum. All ranks of the layout call it together, once before
/// the first step; one SUM of 4 words a rank, and the same error on every rank.
///
/// Ranks without a token, and those that hold nothing under the scope (`first`, `last`), are not compared.
template <class Reducer>
void require_held(const statistic_scope& scope, const held_tokens& mine, const parallel_layout& layout, Reducer& over) {
    detail::rank_gather all(layout, every_axis);
    all.collect(2, over, [&] { return std::vector<std::uint64_t>{mine.hash(), mine.count()}; });
    using words = std::pair<std::uint64_t, std::uint64_t>;
    std::map<std::vector<std::uint64_t>, std::size_t> first_of_part;  // by coordinates on sharded axes
    std::map<words, std::size_t> part_of_tokens;
    const auto held = [&](std::size_t slot) { return words{all.words_of(slot)[0], all.words_of(slot)[1]}; };
    const auto pair_of = [&](std::size_t a, std::size_t b) {
        const std::uint64_t first = all.ranks()[a];
        const std::uint64_t second = all.ranks()[b];
        return detail::text_of({"ranks ", first, " and ", second, ", which differ in ",
                                detail::axes_between(layout.at(first), layout.at(second)).name(), ", "});
    };
    for (std::size_t slot = 0; slot < all.ranks().size(); ++slot) {
        const parallel_layout here = layout.at(all.ranks()[slot]);
        if (held(slot).second == 0 || !scope.holds(here)) {
            continue;
        }
        std::vector<std::uint64_t> part;
        for (const parallel_axis axis : dense_axes) {
            if (scope.along(axis) == share::sharded) {
                part.push_back(here.coordinate(axis));
            }
        }
        const auto [same, is_first] = first_of_part.try_emplace(part, slot);
        if (!is_first) {
            if (held(slot) != held(same->second)) {
                detail::refuse("tokens", {pair_of(same->second, slot),
                                          "are declared to hold the same and hold different ones: each has a part, "
                                          "which a scope calls sharded"});
            }
            continue;
        }
        const auto [other, is_new] = part_of_tokens.try_emplace(held(slot), slot);
        if (!is_new) {
            detail::refuse("tokens", {pair_of(other->second, slot),
                                      "are declared to hold parts of their own and hold the same, which a scope calls "
                                      "replicated"});
        }
    }
    if (part_of_tokens.empty()) {
        throw error("tokens", "no rank told any, so that nothing was compared");
    }
}

}  // namespace floptally

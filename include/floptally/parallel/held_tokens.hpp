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
#include <floptally/parallel/verified_sum.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A hash of the tokens that a rank has, and a check of the scopes: replicas must have the same tokens, shards
/// different ones.

namespace floptally::inline v0_3 {

/// A hash of the tokens of a batch that a rank holds, in their order.
///
/// Two ranks with equally many tokens may have the same tokens or different ones. The hash shows which. Add the token
/// ids that this rank runs, without padding, or anything else that identifies tokens (the numbers of samples and rows).
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

/// Returns the axes along which two ranks have different coordinates.
[[nodiscard]] inline axis_set axes_between(const parallel_layout& a, const parallel_layout& b) {
    axis_set axes;
    for (const parallel_axis axis : dense_axes) {
        axes = a.coordinate(axis) != b.coordinate(axis) ? axes | axis : axes;
    }
    return axes;
}

}  // namespace detail

/// Throws if ranks that a scope declares replicated have different tokens, or if ranks that it declares sharded have
/// the same tokens. With such a wrong scope every sum would be wrong by a factor. All ranks of the layout call this
/// function together, once before the first step. The check takes one all-reduce SUM of 4 integers for each rank. Every
/// rank throws the same error.
///
/// The check compares only ranks that have tokens. It skips ranks to which the scope gives no value (placement `first`
/// or `last`).
template <class Reducer>
void require_held(const statistic_scope& scope, const held_tokens& mine, const parallel_layout& layout,
                  Reducer& reducer) {
    detail::rank_gather gathered(layout, every_axis);
    gathered.collect(2, reducer, [&] { return std::vector<std::uint64_t>{mine.hash(), mine.count()}; });
    using integers = std::pair<std::uint64_t, std::uint64_t>;
    // The index of the first rank with each combination of coordinates along the sharded axes.
    std::map<std::vector<std::uint64_t>, std::size_t> first_of_part;
    std::map<integers, std::size_t> part_of_tokens;
    const auto held = [&](std::size_t slot) {
        return integers{gathered.integers_of(slot)[0], gathered.integers_of(slot)[1]};
    };
    const auto pair_of = [&](std::size_t a, std::size_t b) {
        const std::uint64_t first = gathered.ranks()[a];
        const std::uint64_t second = gathered.ranks()[b];
        return detail::text_of({"ranks ", first, " and ", second, ", which differ in ",
                                detail::axes_between(layout.at(first), layout.at(second)).name(), ", "});
    };
    for (std::size_t slot = 0; slot < gathered.ranks().size(); ++slot) {
        const parallel_layout rank_layout = layout.at(gathered.ranks()[slot]);
        if (held(slot).second == 0 || !scope.holds(rank_layout)) {
            continue;
        }
        std::vector<std::uint64_t> part;
        for (const parallel_axis axis : dense_axes) {
            if (scope.along(axis) == placement::sharded) {
                part.push_back(rank_layout.coordinate(axis));
            }
        }
        const auto [same, is_first] = first_of_part.try_emplace(part, slot);
        if (!is_first) {
            if (held(slot) != held(same->second)) {
                detail::refuse(
                    "tokens",
                    {pair_of(same->second, slot),
                     "are declared replicated but hold different tokens: declare them sharded if each holds a part"});
            }
            continue;
        }
        const auto [other, is_new] = part_of_tokens.try_emplace(held(slot), slot);
        if (!is_new) {
            detail::refuse("tokens", {pair_of(other->second, slot),
                                      "are declared sharded but hold the same tokens: declare them replicated if they "
                                      "load the same samples"});
        }
    }
    if (part_of_tokens.empty()) {
        throw error(
            "tokens",
            "no rank has token ids, so that nothing was compared: add the token ids of each rank to held_tokens");
    }
}

}  // namespace floptally

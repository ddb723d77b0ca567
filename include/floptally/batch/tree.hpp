// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/detail/length_sums.hpp>
#include <floptally/error.hpp>
#include <floptally/sequence.hpp>
#include <floptally/tally.hpp>

namespace floptally {

namespace detail {

/// Throws for a parent that is no node before its child: one of no node, in a cycle, or behind it.
template <class Parent>
[[noreturn]] inline void refuse_parent(std::span<const Parent> parents, std::size_t node) {
    const std::string field = indexed("parents", node);
    const Parent parent = parents[node];
    if (std::cmp_less(parent, -1) || std::cmp_greater_equal(parent, parents.size())) {
        throw error(field, "must be -1 (a root) or the index of an earlier node, got " + std::to_string(parent));
    }
    Parent above = parent;
    for (std::size_t steps = 0; steps < parents.size(); ++steps) {
        if (std::cmp_equal(above, node)) {
            throw error(field, "is in a cycle: node " + std::to_string(node) + " is its own ancestor by way of " +
                                   std::to_string(parent));
        }
        if (std::cmp_less(above, 0) || std::cmp_greater_equal(above, parents.size())) {
            break;
        }
        above = parents[static_cast<std::size_t>(above)];
    }
    throw error(field, "must stand before its child, node " + std::to_string(node) + ", got " + std::to_string(parent));
}

}  // namespace detail

/// A tree of token runs, shared prefixes stored once: node i holds `lengths[i]` tokens behind those of its ancestors.
/// A parent stands before its children; −1 is a root, and there may be several. In training, the rollouts of a prompt;
/// a chain is one sequence cut into pieces, and counts the same tokens and pairs as the whole.
///
/// Each token sees its ancestors and what its mask shows of its own path: a node is a sequence with
/// `past` = the tokens of all its ancestors, so tokens = Σ n and, causal, pairs = Σ (n·depth + n(n+1)/2).
/// `statistic::count` is the number of nodes, since a node is what is added.
template <detail::integer_range Parents, detail::integer_range Lengths>
requires std::signed_integral<typename decltype(std::span{std::declval<const Parents&>()})::value_type>
inline void add_tree(tally& batch, const Parents& parents, const Lengths& lengths) {
    const std::span<const typename decltype(std::span{parents})::value_type> above{parents};
    const std::span own{lengths};
    require_as_many(own.size(), "lengths", above.size(), "parents");
    const detail::given_lengths<typename decltype(own)::value_type> checked{own.data(), "lengths"};
    std::vector<std::uint64_t> ends(own.size());  // tokens from the root to the end of each node
    tally sum{batch.masks()};
    for (std::size_t node = 0; node < own.size(); ++node) {
        std::uint64_t depth = 0;
        if (std::cmp_greater_equal(above[node], 0) && std::cmp_less(above[node], node)) {
            depth = ends[static_cast<std::size_t>(above[node])];
        } else if (!std::cmp_equal(above[node], -1)) {
            detail::refuse_parent(above, node);
        }
        const std::uint32_t length = checked.checked(node);
        if (depth + length > max_sequence_length) {
            throw error(indexed("lengths", node), "ends a path of " + std::to_string(depth + length) +
                                                      " tokens, above " + std::to_string(max_sequence_length));
        }
        ends[node] = depth + length;
        sum.add(sequence{.length = length, .past = static_cast<std::uint32_t>(depth)});
    }
    batch += sum;
}

}  // namespace floptally

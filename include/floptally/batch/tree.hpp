// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A batch source of token trees with shared prefixes.

namespace floptally::inline v0_3 {

namespace detail {

/// Throws the error for a parent that is not an earlier node: its index is out of range, or it is the node itself or a
/// later one.
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
            throw error(field, "makes a cycle, because node " + std::to_string(node) +
                                   " is its own ancestor through node " + std::to_string(parent) +
                                   ": correct the parents");
        }
        if (std::cmp_less(above, 0) || std::cmp_greater_equal(above, parents.size())) {
            break;
        }
        above = parents[static_cast<std::size_t>(above)];
    }
    throw error(field, "must be smaller than the index of its child, " + std::to_string(node) + ", got " +
                           std::to_string(parent));
}

}  // namespace detail

/// A batch source: a tree of token runs that stores shared prefixes once, such as the rollouts of one prompt. Node i
/// holds `lengths[i]` tokens after those of its ancestors. `parents[i]` is the index of its parent, which must be
/// smaller than i, or −1 for a root. There may be several roots. A chain of nodes counts the same tokens and pairs as
/// one sequence.
///
/// A token attends to the tokens on its path from the root, as the mask allows. A node with n tokens counts as a
/// sequence of n new tokens after `past` cached tokens, the tokens of all its ancestors. Under a causal mask the node
/// has n·past + n(n+1)/2 pairs. `accumulator::count` is the number of nodes. Adding a tree allocates one integer for
/// each node.
template <std::signed_integral P, integer T>
class tree_nodes {
  public:
    using sample = sequence;

    tree_nodes(std::span<const P> parents, std::span<const T> lengths) : parents_(parents), lengths_(lengths) {
        require_as_many(lengths_.size(), "lengths", parents_.size(), "parents");
    }

    template <class Visit>
    void each(Visit visit) const {
        const detail::plain_lengths<T> checked{lengths_.data(), "lengths"};
        std::vector<std::uint64_t> ends(lengths_.size());  // number of tokens from the root to the end of each node
        for (std::size_t node = 0; node < lengths_.size(); ++node) {
            std::uint64_t depth = 0;
            if (std::cmp_greater_equal(parents_[node], 0) && std::cmp_less(parents_[node], node)) {
                depth = ends[static_cast<std::size_t>(parents_[node])];
            } else if (!std::cmp_equal(parents_[node], -1)) {
                detail::refuse_parent(parents_, node);
            }
            const std::uint32_t length = checked.checked(node);
            if (depth + length > max_sequence_length) {
                detail::refuse(indexed("lengths", node), {"the tokens from the root to this node must be at most ",
                                                          max_sequence_length, ", got ", depth + length});
            }
            ends[node] = depth + length;
            const sequence real{.length = length, .past = static_cast<std::uint32_t>(depth)};
            visit(real, real);
        }
    }

  private:
    std::span<const P> parents_;
    std::span<const T> lengths_;
};

template <integer_range Parents, integer_range Lengths>
tree_nodes(const Parents& parents, const Lengths& lengths) -> tree_nodes<element_of<Parents>, element_of<Lengths>>;

/// Adds a tree to a tally, or to another receiver of sequences.
template <class Receiver, integer_range Parents, integer_range Lengths>
requires std::signed_integral<element_of<Parents>>
inline void add_tree(Receiver& batch, const Parents& parents, const Lengths& lengths) {
    batch.add(tree_nodes(parents, lengths));
}

}  // namespace floptally

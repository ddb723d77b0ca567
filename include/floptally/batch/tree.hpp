// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Trees of token runs with shared prefixes, as a source.

namespace floptally {

namespace detail {

/// Throws for a parent that is no node before its child: an index of no node, a node in a cycle, or a later node.
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

/// A source (source.hpp): a tree of token runs, shared prefixes stored once. Node i holds `lengths[i]` tokens after
/// those of its ancestors. A parent stands before its children; −1 is a root, and there may be several. In training it
/// holds the rollouts of a prompt. A chain is one sequence cut into pieces, and counts the same tokens and pairs as the
/// whole.
///
/// Each token sees its ancestors and what its mask shows of its own path: a node is a sequence with
/// `past` = the tokens of all its ancestors, so tokens = Σ n and, causal, pairs = Σ (n·depth + n(n+1)/2).
/// `statistic::count` is the number of nodes, since a node is what is added. Adding it takes a word of memory for each.
template <std::signed_integral P, detail::integer T>
class tree_nodes {
  public:
    using sample = sequence;

    tree_nodes(std::span<const P> parents, std::span<const T> lengths) : parents_(parents), lengths_(lengths) {
        require_as_many(lengths_.size(), "lengths", parents_.size(), "parents");
    }

    template <class Visit>
    void each(Visit visit) const {
        const detail::given_lengths<T> checked{lengths_.data(), "lengths"};
        std::vector<std::uint64_t> ends(lengths_.size());  // tokens from the root to the end of each node
        for (std::size_t node = 0; node < lengths_.size(); ++node) {
            std::uint64_t depth = 0;
            if (std::cmp_greater_equal(parents_[node], 0) && std::cmp_less(parents_[node], node)) {
                depth = ends[static_cast<std::size_t>(parents_[node])];
            } else if (!std::cmp_equal(parents_[node], -1)) {
                detail::refuse_parent(parents_, node);
            }
            const std::uint32_t length = checked.checked(node);
            if (depth + length > max_sequence_length) {
                throw error(indexed("lengths", node), "ends a path of " + std::to_string(depth + length) +
                                                          " tokens, above " + std::to_string(max_sequence_length));
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

template <detail::integer_range Parents, detail::integer_range Lengths>
tree_nodes(const Parents& parents, const Lengths& lengths)
    -> tree_nodes<detail::element_of<Parents>, detail::element_of<Lengths>>;

/// Adds a tree to a tally, or to whatever takes a source of sequences.
template <class Receiver, detail::integer_range Parents, detail::integer_range Lengths>
requires std::signed_integral<detail::element_of<Parents>>
inline void add_tree(Receiver& batch, const Parents& parents, const Lengths& lengths) {
    batch.add(tree_nodes(parents, lengths));
}

}  // namespace floptally

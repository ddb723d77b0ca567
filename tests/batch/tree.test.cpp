// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <floptally/batch/tree.hpp>
#include <floptally/descriptors/attention.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace tree_test {
namespace {

using floptally::accumulator;
using floptally::add_tree;
using floptally::mask;
using floptally::mask_set;
using floptally::tally;
using floptally::view;

struct tree {
    std::vector<int> parents;
    std::vector<std::uint32_t> lengths;
};

/// A token: its node, and its place in it.
struct token {
    std::size_t node;
    std::uint64_t place;
};

std::vector<token> tokens_of(const tree& t) {
    std::vector<token> all;
    for (std::size_t node = 0; node < t.lengths.size(); ++node) {
        for (std::uint64_t place = 0; place < t.lengths[node]; ++place) {
            all.push_back({node, place});
        }
    }
    return all;
}

bool is_ancestor(const tree& t, std::size_t above, std::size_t node) {
    for (int at = t.parents[node]; at >= 0; at = t.parents[static_cast<std::size_t>(at)]) {
        if (static_cast<std::size_t>(at) == above) {
            return true;
        }
    }
    return false;
}

/// The number of tokens before this one on the path from its root, found by looking at all of them.
std::uint64_t position(const tree& t, const token& position_of) {
    std::uint64_t before = 0;
    for (const token& other : tokens_of(t)) {
        before += is_ancestor(t, other.node, position_of.node) ||
                          (other.node == position_of.node && other.place < position_of.place)
                      ? 1U
                      : 0U;
    }
    return before;
}

/// Every (query, key) of the tree: a key is on the query's path, at or before it, and fewer than `window` tokens away.
std::uint64_t enumerated_pairs(const tree& t, std::uint64_t window) {
    std::uint64_t pairs = 0;
    const std::vector<token> all = tokens_of(t);
    for (const token& query : all) {
        for (const token& key : all) {
            const bool on_path =
                is_ancestor(t, key.node, query.node) || (key.node == query.node && key.place <= query.place);
            pairs += on_path && position(t, query) - position(t, key) < window ? 1U : 0U;
        }
    }
    return pairs;
}

}  // namespace

TEST_CASE("tokens and attended pairs of a prefix tree equal an enumeration of queries and keys", "[tree]") {
    std::mt19937 random(20'261'121);
    const auto upto = [&](std::size_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
    mask_set masks;
    masks.push_back(mask::sliding_window(4), "masks");
    for (int round = 0; round < 60; ++round) {
        tree t;
        std::uint64_t tokens = 0;
        for (std::uint32_t node = 0; node <= upto(8); ++node) {
            // Roots in the middle too: a forest.
            t.parents.push_back(static_cast<int>(upto(node)) - 1);
            t.lengths.push_back(upto(6));
            tokens += t.lengths.back();
        }
        tally batch{masks};
        add_tree(batch, t.parents, t.lengths);
        CHECK(batch.get(view::useful, accumulator::tokens) == tokens);
        CHECK(batch.pairs(view::useful, mask::causal()) == enumerated_pairs(t, 1000));
        CHECK(batch.pairs(view::padded, mask::causal()) == enumerated_pairs(t, 1000));
        CHECK(batch.pairs(view::useful, mask::sliding_window(4)) == enumerated_pairs(t, 4));
    }
}

TEST_CASE("a prefix tree without branches counts as one sequence, and rollouts count their shared prompt once",
          "[tree]") {
    tally chain;
    add_tree(chain, std::array{-1, 0, 1}, std::array{5, 0, 7});
    tally whole;
    whole.add({.length = 12});
    CHECK(chain.get(view::useful, accumulator::tokens) == 12);
    CHECK(chain.pairs(view::useful, mask::causal()) == whole.pairs(view::useful, mask::causal()));

    // A prompt of 1000 with four answers of 50: Σ (n·depth + tri(n)).
    tally shared;
    add_tree(shared, std::array<std::int64_t, 5>{-1, 0, 0, 0, 0}, std::array<std::int64_t, 5>{1000, 50, 50, 50, 50});
    CHECK(shared.get(view::useful, accumulator::tokens) == 1200);
    CHECK(shared.pairs(view::useful, mask::causal()) == 500'500 + 4 * (50 * 1000 + 1275));
    CHECK(shared.get(view::useful, accumulator::count) == 5);
    // Four answers of the same lengths, each with a prompt of its own.
    tally apart;
    apart.add_lengths(std::array{1050, 1050, 1050, 1050});
    CHECK(apart.pairs(view::useful, mask::causal()) - shared.pairs(view::useful, mask::causal()) == 3 * 500'500);

    // A tree is added to what is there.
    tally both = whole;
    add_tree(both, std::array{-1, 0, 1}, std::array{5, 0, 7});
    CHECK(both.get(view::useful, accumulator::tokens) == 24);
    CHECK(both.get(view::padded, accumulator::count) == 3);

    tally empty;
    add_tree(empty, std::vector<int>{}, std::vector<int>{});
    CHECK(empty == tally{});
}

TEST_CASE("an invalid prefix tree is reported by index and leaves the tally unchanged", "[tree]") {
    tally batch;
    batch.add({.length = 3});
    const tally before = batch;
    const auto problem = [&](const std::vector<int>& parents, const std::vector<std::int64_t>& lengths) {
        std::string text = error_of([&] { return add_tree(batch, parents, lengths), 0; });
        CHECK(batch == before);
        return text;
    };
    CHECK(problem({-1, 2, 0}, {1, 1, 1}) == "parents[1]: must be smaller than the index of its child, 1, got 2");
    CHECK(problem({-1, 1}, {1, 1}) ==
          "parents[1]: makes a cycle, because node 1 is its own ancestor through node 1: correct the parents");
    CHECK(problem({-1, 3, 1, 2}, {1, 1, 1, 1}) ==
          "parents[1]: makes a cycle, because node 1 is its own ancestor through node 3: correct the parents");
    // Behind node 1 there is a cycle that it is not in.
    CHECK(problem({-1, 2, 3, 2}, {1, 1, 1, 1}) == "parents[1]: must be smaller than the index of its child, 1, got 2");
    CHECK(problem({1, -5}, {1, 1}) == "parents[0]: must be smaller than the index of its child, 0, got 1");
    CHECK(problem({-2}, {1}) == "parents[0]: must be -1 (a root) or the index of an earlier node, got -2");
    CHECK(problem({-1, 2}, {1, 1}) == "parents[1]: must be -1 (a root) or the index of an earlier node, got 2");
    CHECK(problem({-1}, {1, 1}) == "parents: must be as many as lengths (2), got 1");
    CHECK(problem({-1, 0}, {1, -1}) == "lengths[1]: must be at least 0, got -1");
    CHECK(problem({-1, 0, 1}, {4'294'967'000, 295, 1}) ==
          "lengths[2]: the tokens from the root to this node must be at most 4294967295, got 4294967296");
    CHECK(problem({-1, -1}, {4'294'967'295, 4'294'967'295}) ==
          "squares: the sum does not fit 64 bits: count fewer samples");
    CHECK_NOTHROW(add_tree(batch, std::array{-1, 0}, std::array<std::uint32_t, 2>{4'294'967'000, 295}));
}

}  // namespace tree_test

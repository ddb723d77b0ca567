// SPDX-License-Identifier: Apache-2.0
//
// What each counter makes of the pairs of one sequence, by its own words.

#include <cstdint>

#include <floptally/conventions/all.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"

namespace pairs_test {
namespace {

using namespace floptally;

/// Twice the pairs of a sequence: a multiply and an add for each, forward.
std::uint64_t twice_the_pairs(convention how, const mask& attends, const sequence& s, term kind = term::scores) {
    how.counted = term_set{kind};
    const cost model = cost{}.add_pairs("core", kind, 1, attends, {});
    return flop_counter(model, how, {.counted = counted_passes::forward}).total_flops(s).low();
}

}  // namespace

TEST_CASE("MaxText counts half of L^2, or half of queries times compressed keys for compressed attention") {
    const auto twice = [](const mask& attends, std::uint32_t length) {
        return twice_the_pairs(conventions::maxtext_2026, attends, {.length = length});
    };
    CHECK(twice(mask::causal(), 10) == 10 * 10);
    for (const mask& four : {mask::sliding_window(4), mask::top_k(4)}) {
        CHECK(twice(four, 10) == 2 * 10 * 4 - 4 * 4);  // LW − W²/2
        CHECK(twice(four, 3) == 3 * 3);
    }
    CHECK(twice(mask::chunked(4), 10) == 4 * 4 + 4 * 4 + 2 * 2);
    CHECK(twice(mask::compressed_keys(2), 20) == 20 * 20 / 2);                 // L²/2R
    CHECK(twice(mask::best_compressed_keys(2, 3), 20) == 2 * 20 * 3 - 9 * 2);  // LK − K²R/2
    CHECK(twice(mask::best_compressed_keys(2, 3), 4) == 4 * 4 / 2);
    CHECK(twice_the_pairs(conventions::maxtext, mask::compressed_keys(2), {.length = 20}) ==
          2 * (2 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9) + 10));  // as attended: ⌊t/2⌋ of the first t tokens
}

TEST_CASE("torchtitan multiplies the number of tokens by the sequence length or the window") {
    const auto twice = [](const mask& attends, std::uint32_t length) {
        return twice_the_pairs(conventions::torchtitan_2026, attends, {.length = length});
    };
    CHECK(twice(mask::causal(), 10) == 2 * 10 * 10);
    CHECK(twice(mask::sliding_window(4), 10) == 2 * 10 * 4);
    CHECK(twice(mask::sliding_window(4), 3) == 2 * 3 * 3);
    CHECK(twice(mask::compressed_keys(2), 20) == 2 * 20 * 10);
    CHECK(twice(mask::best_compressed_keys(2, 3), 20) == 2 * 20 * 3);
    CHECK(twice(mask::best_compressed_keys(2, 3), 4) == 2 * 4 * 2);
}

TEST_CASE("Megatron-Bridge counts windows and indexer scores exactly") {
    const auto twice = [](const mask& attends, std::uint32_t length, term kind = term::scores) {
        return twice_the_pairs(conventions::megatron_bridge, attends, {.length = length}, kind);
    };
    CHECK(twice(mask::sliding_window(4), 10) == 2 * (1 + 2 + 3 + 7 * 4));
    CHECK(twice(mask::sliding_window(4), 4) == 4 * 4);
    CHECK(twice(mask::causal(), 5) == 5 * 5);
    CHECK(twice(mask::causal(), 5, term::index_scores) == 2 * (1 + 2 + 3 + 4 + 5));
    CHECK(twice_the_pairs(conventions::maxtext, mask::causal(), {.length = 5}, term::index_scores) == 5 * 5);
}

TEST_CASE("scores of an indexer and of attention in one component are counted separately") {
    // Where nothing trains both run alike: a third of the triangle's half square, the other of its pairs.
    const cost both = cost{}
                          .add_pairs("core", term::scores, 1, mask::causal(), {})
                          .add_pairs("core", term::index_scores, 1, mask::causal(), {});
    const flop_counter counter(both, conventions::megatron_bridge,
                               {.counted = counted_passes::forward, .weights = {{"*", weight_state::frozen}}});
    CHECK(counter.total_flops(sequence{.length = 5}) == flops{5 * 5 + 2 * (1 + 2 + 3 + 4 + 5)});
}

TEST_CASE("a convention may count a sum over lengths instead of the pairs of a mask") {
    convention how = conventions::exact;
    const sequence s{.length = 3, .past = 2, .keys = 5};
    how.pairs = [](const statistic&, const convention&, const attention_context&) {
        return counted_statistics(moment_statistics::keys{});
    };
    CHECK(twice_the_pairs(how, mask::causal(), s) == 2 * 5);
    how.pairs = [](const statistic&, const convention&, const attention_context&) {
        return counted_statistics(moment_statistics::crossed{});
    };
    CHECK(twice_the_pairs(how, mask::causal(), s) == 2 * 3 * 5);
    how.pairs = [](const statistic&, const convention&, const attention_context&) {
        return counted_statistics(moment_statistics::cached{}).also(moment_statistics::count{});
    };
    CHECK(twice_the_pairs(how, mask::causal(), s) == 2 * (3 * 2 + 1));
}

TEST_CASE("recsys-examples halves L^2 only for a causal history") {
    // 2 of context and 5 of history, which all 10 rows see but for half of the history's square; 3 targets.
    const sequence s{.length = 10, .context = 2, .targets = 3, .target_group = 2};
    CHECK(twice_the_pairs(conventions::recsys_examples, mask::hstu(), s) == 2 * (10 * 7 + 3) - 5 * 5);
    CHECK(twice_the_pairs(conventions::recsys_examples, mask::hstu({.is_causal = false}), s) == 2 * (10 * 7 + 3));
    CHECK(twice_the_pairs(conventions::recsys_examples, mask::sliding_window(4), {.length = 10}) == 10 * 10);
}

TEST_CASE("a convention that ignores windows counts the full square for an encoder window") {
    const sequence s{.length = 3, .keys = 5};
    CHECK(twice_the_pairs(conventions::exact, mask::encoder_window(1, 1), s) == 2 * (2 + 3 + 3 + 3 + 2));
    CHECK(twice_the_pairs(conventions::megatron, mask::encoder_window(1, 1), s) == 2 * 5 * 5);
    CHECK(twice_the_pairs(conventions::megatron, mask::encoder(), s) == 2 * 5 * 5);
}

}  // namespace pairs_test

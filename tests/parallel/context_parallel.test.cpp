// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/head_split.hpp>
#include <floptally/parallel/imbalance.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"

namespace context_parallel_test {
namespace {

using floptally::accumulator;
using floptally::context_parallel_pack;
using floptally::head_split;
using floptally::imbalance;
using floptally::imbalance_of;
using floptally::index_range;
using floptally::mask;
using floptally::mask_set;
using floptally::pairs_of_queries;
using floptally::placed_sequences;
using floptally::sequence;
using floptally::slotted_sequence;
using floptally::split_tally;
using floptally::tally;
using floptally::token_split;
using floptally::uint128;
using floptally::view;
using u64 = std::uint64_t;

/// A mask, and whether the query at position i of `end` sees key j, in the integers of its definition. Of compressed
/// keys j is a block of three; of top-k the rank of a key among those that may be chosen.
struct definition {
    mask made;
    std::function<bool(u64 i, u64 j)> attends;
};

const std::vector<definition> masks_by_definition{
    {mask::causal(), [](u64 i, u64 j) { return j <= i; }},
    {mask::bidirectional(), [](u64, u64) { return true; }},
    {mask::sliding_window(1), [](u64 i, u64 j) { return j == i; }},
    {mask::sliding_window(4), [](u64 i, u64 j) { return j <= i && i < j + 4; }},
    {mask::window(2, 3), [](u64 i, u64 j) { return i <= j + 2 && j <= i + 3; }},
    {mask::window(-1, 2), [](u64 i, u64 j) { return j <= i + 2; }},
    {mask::window(1, -1), [](u64 i, u64 j) { return i <= j + 1; }},
    {mask::window(0, 0), [](u64 i, u64 j) { return i == j; }},
    {mask::chunked(3), [](u64 i, u64 j) { return j <= i && i / 3 == j / 3; }},
    {mask::top_k(3), [](u64 i, u64 j) { return j <= i && j < 3; }},
    {mask::compressed_keys(3), [](u64 i, u64 j) { return 3 * j + 2 <= i; }},
    {mask::cross_attention(), [](u64, u64) { return true; }},
    {mask::prefix_lm(5), [](u64 i, u64 j) { return j <= i || j < 5; }},
    {mask::encoder(), [](u64, u64) { return true; }},
    {mask::encoder_window(2, 3), [](u64 i, u64 j) { return i <= j + 2 && j <= i + 3; }},
};

mask_set all_masks() {
    mask_set set;
    for (const definition& defined : masks_by_definition) {
        set.find_or_add(defined.made, "masks");
    }
    return set;
}

bool of_other_side(const mask& which) { return which.is_of_other_side(); }

/// Every (query, key) of rows that a token for token `held` says are there.
u64 enumerated_pairs(const definition& which, const sequence& s, const std::function<bool(u64 row)>& held) {
    const bool other_keys = of_other_side(which.made) || which.made == mask::cross_attention();
    const u64 rows = of_other_side(which.made) ? s.keys : s.length;
    const u64 keys = other_keys ? s.keys : u64{s.past} + s.length;
    u64 pairs = 0;
    for (u64 row = 0; row < rows; ++row) {
        for (u64 key = 0; key < keys; ++key) {
            const u64 query = of_other_side(which.made) ? row : s.past + row;
            pairs += held(row) && which.attends(query, key) ? 1U : 0U;
        }
    }
    return pairs;
}

constexpr std::array<view, 2> both_views{view::useful, view::padded};

const sequence& seen_by(const slotted_sequence& placed, view seen) {
    return seen == view::useful ? placed.real : placed.slot;
}

/// Pairs of a rank, for which a token of the row is held where it is in the rank's list.
u64 enumerated_pairs(const definition& which, const placed_sequences& row, const std::vector<u64>& indices, view seen) {
    const bool other_side = of_other_side(which.made);
    u64 pairs = 0;
    u64 start = 0;
    for (const slotted_sequence& placed : row.sequences()) {
        pairs += enumerated_pairs(which, seen_by(placed, seen), [&](u64 place) {
            return std::find(indices.begin(), indices.end(), start + place) != indices.end();
        });
        start += other_side ? placed.slot.keys : placed.slot.length;
    }
    return pairs;
}

std::vector<u64> integers(const tally& t) { return {t.accumulators().begin(), t.accumulators().end()}; }

u64 sum_of(const std::vector<u64>& loads) { return std::accumulate(loads.begin(), loads.end(), u64{0}); }

class random_rows {
  public:
    u64 upto(u64 most) { return engine_() % (most + 1); }
    std::uint32_t tokens(u64 most) { return static_cast<std::uint32_t>(upto(most)); }

    /// Slots in units of `slot_unit` and `key_unit`, some of them empty or mock; a cached prefix here and there.
    placed_sequences row(u64 most_sequences, u64 slot_unit, u64 most_units, u64 key_unit, u64 most_past) {
        placed_sequences result;
        for (u64 n = upto(most_sequences) + 1; n > 0; --n) {
            const auto slot = static_cast<std::uint32_t>(slot_unit * upto(most_units));
            const auto keys = static_cast<std::uint32_t>(key_unit * upto(2));
            const std::uint32_t past = upto(1) == 0 ? 0 : tokens(most_past);
            const bool mock = upto(4) == 0;
            result.add(mock ? sequence{} : sequence{tokens(slot), past, tokens(keys)}, sequence{slot, past, keys});
        }
        return result;
    }

  private:
    std::mt19937_64 engine_{20'261'124};
};

/// The row and its layouts: all that its slots allow.
std::vector<token_split> layouts_of(const placed_sequences& row, u64 cp) {
    return {token_split::zigzag(row.tokens(), cp), token_split::contiguous(row.tokens(), cp),
            token_split::zigzag_of_each(row.boundaries(), cp)};
}

// A constant expression where the sequence is one.
static_assert(floptally::zigzag_ranges(24, 3, 1) == std::array<index_range, 2>{{{4, 8}, {16, 20}}});
static_assert(floptally::contiguous_range(24, 3, 1) == index_range{8, 16});
static_assert(pairs_of_queries(mask::causal(), {.length = 10}, {2, 4}) == 3 + 4);
static_assert(pairs_of_queries(mask::window(1, 1), {.length = 10}, {8, 99}) == 3 + 2);
static_assert(imbalance_of(std::array<u64, 3>{6, 2, 4}) == imbalance{3, 2});
static_assert(head_split(32, 8, 4).key_value_heads(3) == index_range{6, 8});

}  // namespace

TEST_CASE("a zigzag context-parallel rank has a chunk and its mirror chunk, and merging restores the order") {
    for (u64 cp = 1; cp <= 7; ++cp) {
        for (u64 m = 0; m <= 4; ++m) {
            const u64 tokens = 2 * cp * m;
            const token_split split = token_split::zigzag(tokens, cp);
            std::vector<int> holders(tokens);
            for (u64 r = 0; r < cp; ++r) {
                std::vector<u64> expected;
                for (u64 t = 0; t < tokens; ++t) {
                    if ((r * m <= t && t < (r + 1) * m) || (tokens - (r + 1) * m <= t && t < tokens - r * m)) {
                        expected.push_back(t);
                        ++holders[t];
                    }
                }
                CHECK(split.indices(r) == expected);
                CHECK(split.tokens_per_rank() == expected.size());
                CHECK(split.ranges(r).size() == (m == 0 ? 0 : 2));
            }
            CHECK(std::all_of(holders.begin(), holders.end(), [](int n) { return n == 1; }));
        }
    }
    CHECK(error_of([] { return token_split::zigzag(20, 4); }) == "tokens: must be a multiple of 2 x cp = 8, got 20");
}

TEST_CASE("every context-parallel split partitions the sequence, and gathering its shards restores the order",
          "[context_parallel]") {
    random_rows random;
    for (int round = 0; round < 60; ++round) {
        const u64 cp = 1 + random.upto(7);
        const placed_sequences row = random.row(6, 2 * cp, 3, 0, 0);
        for (const token_split& split : layouts_of(row, cp)) {
            REQUIRE(split.tokens() == row.tokens());
            // The part that each rank has of a row in which every token is its own number, sent to one place rank by
            // rank.
            std::vector<u64> gathered;
            for (u64 rank = 0; rank < cp; ++rank) {
                const std::vector<u64> shard = split.indices(rank);
                CHECK(shard.size() == split.tokens_per_rank());
                CHECK(std::is_sorted(shard.begin(), shard.end()));
                gathered.insert(gathered.end(), shard.begin(), shard.end());
            }
            CHECK(split.gathered_order() == gathered);
            std::vector<u64> restored;
            for (const u64 place : split.restoring_order()) {
                restored.push_back(gathered.at(place));
            }
            std::vector<u64> in_order(row.tokens());
            std::iota(in_order.begin(), in_order.end(), u64{0});
            CHECK(restored == in_order);
        }
    }
}

TEST_CASE("each sequence of a pack is split into two chunks per rank in Transformer Engine's THD order",
          "[context_parallel]") {
    // Slots of 8, 0 and 4 on two ranks: chunks of 2 and of 1.
    const std::array<int, 4> cu_seqlens_padded{0, 8, 8, 12};
    const token_split split = token_split::zigzag_of_each(cu_seqlens_padded, 2);
    CHECK(split.indices(0) == std::vector<u64>{0, 1, 6, 7, 8, 11});
    CHECK(split.indices(1) == std::vector<u64>{2, 3, 4, 5, 9, 10});
    CHECK(split.restoring_order() == std::vector<u64>{0, 1, 6, 7, 8, 9, 2, 3, 4, 10, 11, 5});
    // The whole pack as one: chunks of 3, the first of which ends inside a sequence.
    const token_split whole = token_split::zigzag(12, 2);
    CHECK(whole.indices(0) == std::vector<u64>{0, 1, 2, 9, 10, 11});
    CHECK(whole.ranges(1) == std::vector<index_range>{{3, 6}, {6, 9}});
    CHECK(token_split::contiguous(12, 2).ranges(1) == std::vector<index_range>{{6, 12}});

    // For one sequence both are the same.
    for (u64 rank = 0; rank < 3; ++rank) {
        CHECK(token_split::zigzag_of_each(std::array<u64, 2>{0, 24}, 3).ranges(rank) ==
              token_split::zigzag(24, 3).ranges(rank));
    }
    // A rank may have nothing.
    CHECK(token_split::zigzag_of_each(std::array{0}, 3).indices(2).empty());
    CHECK(token_split::contiguous(0, 3).ranges(1).empty());
}

namespace {

/// The example of context parallelism in docs/parallel.md, line for line: the test below compares the two.
double snippet_of_the_page(const std::vector<int>& cu_seqlens, u64 tp, u64 cp, u64 cp_rank,
                           const floptally::flop_counter& model, std::vector<u64>& tokens, tally& shard) {
    // clang-format off
    floptally::placed_sequences row;
    row.add_cu_seqlens(cu_seqlens, floptally::aligned_cu_seqlens(cu_seqlens, floptally::cp_alignment(tp, cp)));
    const floptally::context_parallel_pack ranks(row, floptally::token_split::zigzag_of_each(row.boundaries(), cp));

    tokens = ranks.split().indices(cp_rank);              // its tokens of the row, for index_select
    shard = ranks.tally_of(cp_rank, model.masks()).total();  // its shard of the statistics: the SUM over ranks is the row's
    return floptally::imbalance_of(ranks.pairs(floptally::mask::causal(), floptally::view::padded)).ratio();
    // clang-format on
}

/// The lines of a text that are not empty, without the blanks before them.
std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) {
        line.erase(0, line.find_first_not_of(' '));
        if (!line.empty()) {
            lines.push_back(line);
        }
    }
    return lines;
}

}  // namespace

TEST_CASE("the context-parallel example of docs/parallel.md runs for every tp and cp", "[context_parallel]") {
    const std::filesystem::path source = FLOPTALLY_SOURCE_DIR;
    const std::string page = read_text(source / "docs/parallel.md");
    const std::vector<std::string> shown = lines_of(fenced_blocks(page, "cpp").at(1));
    const std::vector<std::string> compiled = lines_of(read_text(source / "tests/parallel/context_parallel.test.cpp"));
    REQUIRE_FALSE(shown.empty());
    CHECK(std::search(compiled.begin(), compiled.end(), shown.begin(), shown.end()) != compiled.end());

    const floptally::flop_counter model(floptally::presets::llama_3_8b.cost());
    const std::vector<int> cu_seqlens{0, 5, 12, 13, 40};
    tally unsplit{model.masks()};
    unsplit.add_cu_seqlens(cu_seqlens);
    for (u64 tp = 1; tp <= 7; ++tp) {
        for (u64 cp = 1; cp <= 4; ++cp) {
            INFO("tp " << tp << ", cp " << cp);
            std::vector<u64> all;
            tally sum{model.masks()};
            for (u64 rank = 0; rank < cp; ++rank) {
                std::vector<u64> tokens;
                tally shard;
                CHECK(snippet_of_the_page(cu_seqlens, tp, cp, rank, model, tokens, shard) == 1.0);
                all.insert(all.end(), tokens.begin(), tokens.end());
                sum += shard;
            }
            std::sort(all.begin(), all.end());
            std::vector<u64> row(sum.get(view::padded, accumulator::tokens));
            std::iota(row.begin(), row.end(), u64{0});
            CHECK(all == row);
            CHECK(model.total_flops(sum, view::useful) == model.total_flops(unsplit, view::useful));
        }
    }
    // One rank alone: both halves of an odd number of tokens, and the row as it is.
    CHECK(floptally::zigzag_ranges(7, 1, 0) == std::array<index_range, 2>{{{0, 3}, {3, 7}}});
    CHECK(token_split::zigzag(7, 1).restoring_order() == std::vector<u64>{0, 1, 2, 3, 4, 5, 6});
    CHECK(error_of([] { return token_split::zigzag(7, 2); }) == "tokens: must be a multiple of 2 x cp = 4, got 7");
}

TEST_CASE("sequences are aligned to multiples of 2 tp cp, or of tp without context parallelism", "[context_parallel]") {
    using floptally::aligned_length;
    using floptally::cp_alignment;
    static_assert(cp_alignment(4, 1) == 4);
    static_assert(cp_alignment(1, 1) == 1);
    static_assert(cp_alignment(4, 2) == 16);
    static_assert(cp_alignment(1, 8) == 16);
    static_assert(cp_alignment(3, 2, 16) == 48);
    static_assert(cp_alignment(2, 1, 16) == 16);
    static_assert(cp_alignment(2, 2, 12) == 24);
    static_assert(aligned_length(0, 16) == 0);
    static_assert(aligned_length(16, 16) == 16);
    static_assert(aligned_length(17, 16) == 32);
    for (u64 tp = 1; tp <= 6; ++tp) {
        for (u64 cp = 1; cp <= 6; ++cp) {
            for (u64 extra = 1; extra <= 20; ++extra) {
                u64 least = 1;
                while (least % (cp == 1 ? tp : 2 * tp * cp) != 0 || least % extra != 0) {
                    ++least;
                }
                CHECK(cp_alignment(tp, cp, extra) == least);
            }
        }
    }
    // Slots that are aligned can be split.
    const std::array<int, 5> cu_seqlens{0, 5, 5, 22, 30};
    const std::vector<u64> slots = floptally::aligned_cu_seqlens(cu_seqlens, cp_alignment(1, 4));
    CHECK(slots == std::vector<u64>{0, 8, 8, 32, 40});
    CHECK(token_split::zigzag_of_each(slots, 4).tokens_per_rank() == 10);

    CHECK(error_of([] { return cp_alignment(0, 2); }) == "tp: must be at least 1, got 0");
    CHECK(error_of([] { return cp_alignment(2, 0); }) == "cp: must be at least 1, got 0");
    CHECK(error_of([] { return cp_alignment(2, 2, 0); }) == "extra: must be at least 1, got 0");
    CHECK(error_of([] { return aligned_length(5, 0); }) == "alignment: must be at least 1, got 0");
    CHECK(error_of([] { return cp_alignment(u64{1} << 62, 2); }) ==
          "cp: 9223372036854775808 x 2 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([] { return aligned_length(~u64{0}, 16); }) ==
          "length: 18446744073709551615 + 1 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([] {
              return floptally::aligned_cu_seqlens(std::array{0, 5, 3}, 8);
          }) == "cu_seqlens[2]: must be at least the boundary before it, 5, got 3");
}

TEST_CASE("each zigzag context-parallel rank has exactly 1/cp of the padded causal pairs") {
    for (u64 cp = 1; cp <= 16; ++cp) {
        for (const u64 m : {1U, 2U, 3U, 64U, 1'000'003U}) {
            const u64 tokens = 2 * cp * m;
            placed_sequences row;
            row.add({.length = static_cast<std::uint32_t>(tokens - 1)}, {.length = static_cast<std::uint32_t>(tokens)});
            const context_parallel_pack ranks(row, token_split::zigzag(tokens, cp));
            const u64 triangle = tokens * (tokens + 1) / 2;
            REQUIRE(triangle % cp == 0);
            CHECK(ranks.pairs(mask::causal(), view::padded) == std::vector<u64>(cp, triangle / cp));
            CHECK(imbalance_of(ranks.pairs(mask::causal(), view::padded)) == imbalance{1, 1});
            CHECK(ranks.tokens(view::padded) == std::vector<u64>(cp, 2 * m));
        }
    }
}

TEST_CASE("pairs of a range of queries equal an enumeration under every mask", "[context_parallel]") {
    for (const definition& defined : masks_by_definition) {
        INFO(defined.made.name());
        int wrong = 0;
        for (std::uint32_t length = 0; length <= 8; ++length) {
            for (std::uint32_t past = 0; past <= 4; ++past) {
                for (std::uint32_t keys = 0; keys <= 5; ++keys) {
                    const sequence s{length, past, keys};
                    for (u64 first = 0; first <= 9; ++first) {
                        for (u64 last = first; last <= 9; ++last) {
                            const u64 expected =
                                enumerated_pairs(defined, s, [&](u64 row) { return first <= row && row < last; });
                            wrong += pairs_of_queries(defined.made, s, {first, last}) != expected ? 1 : 0;
                        }
                    }
                }
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("sums of products of sequence lengths add up over context-parallel ranks") {
    random_rows random;
    mask_set products;
    for (const floptally::statistic product :
         {floptally::unit::powers(0, 1), floptally::unit::powers(0, 3), floptally::unit::powers(1, 2),
          floptally::unit::powers(2, 1), floptally::unit::powers(3)}) {
        products.find_or_add(product, "masks");
    }
    u64 texts = 0;
    for (int round = 0; round < 60; ++round) {
        const u64 cp = 1 + random.upto(3);
        const placed_sequences row = random.row(4, 2 * cp, 2, 2 * cp, 4);
        for (const token_split& split : layouts_of(row, cp)) {
            const context_parallel_pack ranks(row, split);
            for (const view seen : both_views) {
                u64 squares = 0;  // of the texts, by the definition
                for (const slotted_sequence& placed : row.sequences()) {
                    squares += u64{seen_by(placed, seen).keys} * seen_by(placed, seen).keys;
                }
                CHECK(sum_of(ranks.pairs(floptally::unit::powers(0, 2), seen)) == squares);
                texts += squares;
            }
            std::vector<u64> sum(tally{products}.accumulators().size());
            for (u64 rank = 0; rank < cp; ++rank) {
                const std::vector<u64> own = integers(ranks.tally_of(rank, products).total());
                std::transform(own.begin(), own.end(), sum.begin(), sum.begin(), std::plus<>());
            }
            CHECK(sum == integers(row.tally_of(products).total()));
        }
    }
    CHECK(texts > 0);
    static_assert(pairs_of_queries(floptally::unit::powers(0, 2), {.length = 5, .keys = 3}, {0, 2}) == 9);
    static_assert(pairs_of_queries(floptally::unit::powers(0, 2), {.length = 5, .keys = 3}, {2, 5}) == 0);
}

TEST_CASE("useful and windowed pairs of context-parallel ranks equal an enumeration in every token split and add up") {
    random_rows random;
    int rows = 0;
    for (int round = 0; round < 30; ++round) {
        const u64 cp = 1 + random.upto(3);
        const placed_sequences row = random.row(3, 2 * cp, 2, 2 * cp, 4);
        const tally whole = row.tally_of(all_masks()).total();
        const token_split keys = token_split::zigzag_of_each(row.key_boundaries(), cp);
        for (const token_split& split : layouts_of(row, cp)) {
            const context_parallel_pack ranks(row, split, keys);
            ++rows;
            for (const view seen : both_views) {
                for (const definition& defined : masks_by_definition) {
                    INFO(defined.made.name() << " cp " << cp << " round " << round);
                    std::vector<u64> expected;
                    for (u64 rank = 0; rank < cp; ++rank) {
                        const token_split& split_of_side = of_other_side(defined.made) ? keys : split;
                        expected.push_back(enumerated_pairs(defined, row, split_of_side.indices(rank), seen));
                    }
                    CHECK(ranks.pairs(defined.made, seen) == expected);
                    CHECK(sum_of(expected) == whole.pairs(seen, defined.made));
                }
                std::vector<u64> tokens(cp);
                for (u64 rank = 0; rank < cp; ++rank) {
                    for (const u64 place : split.indices(rank)) {
                        for (std::size_t i = 0; i < row.sequences().size(); ++i) {
                            const u64 start = row.boundaries()[i];
                            const u64 end = start + seen_by(row.sequences()[i], seen).length;
                            tokens[rank] += start <= place && place < end ? 1U : 0U;
                        }
                    }
                }
                CHECK(ranks.tokens(seen) == tokens);
                CHECK(sum_of(tokens) == whole.get(seen, accumulator::tokens));
            }
        }
    }
    CHECK(rows == 90);
}

TEST_CASE("the ratio of largest to mean causal pairs per rank is as expected for each context-parallel token split",
          "[context_parallel]") {
    placed_sequences row;
    row.add({.length = 64});
    // Rows 0 … 15 see 136 keys, 16 … 31 see 392, then 648 and 904: 904 x 4 / 2080 = 113/65.
    const auto causal = [&](const token_split& split) {
        return context_parallel_pack(row, split).pairs(mask::causal(), view::useful);
    };
    CHECK(causal(token_split::contiguous(64, 4)) == std::vector<u64>{136, 392, 648, 904});
    CHECK(imbalance_of(causal(token_split::contiguous(64, 4))) == imbalance{113, 65});
    CHECK(imbalance_of(causal(token_split::zigzag(64, 4))).ratio() == 1.0);

    // A short document and a long one: as one zigzag the ranks differ, each on its own they do not.
    placed_sequences pack;
    pack.add({.length = 8});
    pack.add({.length = 56});
    const auto packed = [&](const token_split& split) {
        return context_parallel_pack(pack, split).pairs(mask::causal(), view::padded);
    };
    // Chunks of 8: the short one is the first, the rows of the long one see 36, 100, … 420.
    CHECK(packed(token_split::zigzag(64, 4)) == std::vector<u64>{36 + 420, 36 + 356, 100 + 292, 164 + 228});
    CHECK(imbalance_of(packed(token_split::zigzag(64, 4))) == imbalance{19, 17});
    CHECK(imbalance_of(packed(token_split::zigzag_of_each(pack.boundaries(), 4))) == imbalance{});

    // Heads: all pairs on every rank, whatever the documents.
    const u64 all = row.tally_of({}).total().pairs(view::useful, mask::causal());
    const head_split heads(12, 2, 4);
    CHECK(heads.head_pairs(all) == std::vector<u64>(4, 3 * 2080));
    CHECK(sum_of(heads.head_pairs(all)) == 12 * all);
    CHECK(imbalance_of(heads.head_pairs(all)) == imbalance{1, 1});
}

TEST_CASE("the ratio of largest to mean rank load is exact and is 1 if no rank has work", "[context_parallel]") {
    CHECK(imbalance_of(std::vector<u64>{0, 0}) == imbalance{1, 1});
    CHECK(imbalance_of(std::vector<u64>{0, 7}) == imbalance{2, 1});
    CHECK(imbalance_of(std::vector<u64>{1, 2, 3}).ratio() == 1.5);
    const u64 most = ~u64{0};
    CHECK(imbalance_of(std::vector<u64>{most, most - 1}) == imbalance{uint128{most} * 2, uint128{most} * 2 - 1});
    CHECK(error_of([] { return imbalance_of(std::vector<u64>{}); }) ==
          "loads: must have the load of at least one rank, got none");
}

TEST_CASE("tallies of context-parallel shards add up to the tally of the pack for every token split",
          "[context_parallel]") {
    random_rows random;
    // Every kind that needs a integer, those that are no masks too.
    mask_set masks = all_masks();
    mask_set kinds_of_conventions;
    for (const floptally::statistic& counted :
         {mask::box(3), mask(floptally::make_statistic<floptally::maxtext::window_squares>(5)),
          mask(floptally::maxtext::chunk_squares{3}),
          mask(floptally::make_statistic<floptally::megatron_bridge::within_window>(6)),
          mask(floptally::make_statistic<floptally::megatron_bridge::limited_by_window>(6)), mask::encoder()}) {
        kinds_of_conventions.find_or_add(counted, "masks");
    }
    for (int round = 0; round < 60; ++round) {
        const u64 cp = 1 + random.upto(5);
        const placed_sequences row = random.row(8, 2 * cp, 4, 2 * cp, 9);
        for (const mask_set& several_masks : {masks, kinds_of_conventions}) {
            const split_tally whole = row.tally_of(several_masks);
            for (const token_split& split : layouts_of(row, cp)) {
                const context_parallel_pack whole_keys(row, split);
                const context_parallel_pack split_keys(row, split,
                                                       token_split::contiguous(row.key_boundaries().back(), cp));
                for (const context_parallel_pack& ranks : {whole_keys, split_keys}) {
                    for (const floptally::statistic& square_rows : {mask::causal(), mask::bidirectional()}) {
                        split_tally sum{several_masks};
                        for (u64 rank = 0; rank < cp; ++rank) {
                            const split_tally shard = ranks.tally_of(rank, several_masks, square_rows);
                            const tally own = shard.total();
                            sum += shard;
                            for (const view seen : both_views) {
                                CHECK(own.pairs(seen, square_rows) == ranks.pairs(rank, square_rows, seen));
                                for (const floptally::statistic& counted : own.masks()) {
                                    CHECK(own.pairs(seen, counted) == ranks.pairs(rank, counted, seen));
                                }
                            }
                        }
                        CHECK(sum == whole);
                        CHECK(integers(sum.total()) == integers(whole.total()));
                    }
                }
            }
        }
    }
}

TEST_CASE("FLOPs of context-parallel shards add up to those of the pack in every convention and view",
          "[context_parallel]") {
    random_rows random;
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    floptally::cost windowed = model;
    windowed.add("windows", {.num_heads = 8, .qk_head_dim = 64, .v_head_dim = 64}, mask::sliding_window(100));
    windowed.add("chunks", {.num_heads = 8, .qk_head_dim = 64, .v_head_dim = 64}, mask::chunked(64));
    placed_sequences row;
    for (int i = 0; i < 20; ++i) {
        const auto slot = static_cast<std::uint32_t>(16 * random.upto(60));
        row.add({.length = random.tokens(slot)}, {.length = slot});
    }
    for (const floptally::convention* how : floptally::conventions::all) {
        INFO(how->name);
        const floptally::flop_counter folded(windowed, *how);
        const tally whole = row.tally_of(folded.masks()).total();
        for (const token_split& split : layouts_of(row, 8)) {
            const context_parallel_pack ranks(row, split);
            for (const view seen : {view::useful, view::padded, view::executed}) {
                uint128 sum = 0;
                for (u64 rank = 0; rank < ranks.cp(); ++rank) {
                    sum += folded.total_flops(ranks.tally_of(rank, folded.masks()).total(), seen).value();
                }
                CHECK(sum == folded.total_flops(whole, seen).value());
            }
        }
    }
}

TEST_CASE("padding in slots and padding by mock sequences stay separate on every context-parallel rank",
          "[context_parallel]") {
    placed_sequences row;
    // 13 and 30 tokens in slots of 16 and 32, and a mock sequence of 16.
    row.add_cu_seqlens(std::array{0, 13, 43, 43}, std::array{0, 16, 48, 64}, 2);
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    const floptally::flop_counter folded(model);
    const context_parallel_pack each(row, token_split::zigzag_of_each(row.boundaries(), 4));
    std::vector<u64> real;
    std::vector<u64> in_slots;
    std::vector<u64> mock;
    floptally::padding_flops sum;
    for (u64 rank = 0; rank < 4; ++rank) {
        const split_tally shard = each.tally_of(rank, folded.masks());
        real.push_back(shard.real().get(view::useful, accumulator::tokens));
        in_slots.push_back(shard.real().get(view::padded, accumulator::tokens) - real.back());
        mock.push_back(shard.mock().get(view::padded, accumulator::tokens));
        CHECK(shard.mock().get(view::useful, accumulator::tokens) == 0);
        const floptally::padding_flops spent = padding_of(folded, shard);
        CHECK(spent.padded() == folded.total_flops(shard.total(), view::padded));
        sum.useful = sum.useful + spent.useful;
        sum.in_slots = sum.in_slots + spent.in_slots;
        sum.mock = sum.mock + spent.mock;
    }
    // Chunks of 2, 4 and 2. The first rank has the tokens after the 13th and the 30th.
    CHECK(real == std::vector<u64>{2 + 0 + 4 + 2, 2 + 1 + 8, 4 + 8, 4 + 8});
    CHECK(in_slots == std::vector<u64>{2 + 2, 1, 0, 0});
    CHECK(mock == std::vector<u64>{4, 4, 4, 4});
    const floptally::padding_flops whole = padding_of(folded, row.tally_of(folded.masks()));
    CHECK(sum.useful == whole.useful);
    CHECK(sum.in_slots == whole.in_slots);
    CHECK(sum.mock == whole.mock);
    // As one zigzag the tail is on the rank that has the last chunk, and the next.
    const context_parallel_pack pack_wide(row, token_split::zigzag(64, 4));
    std::vector<u64> tail;
    for (u64 rank = 0; rank < 4; ++rank) {
        tail.push_back(pack_wide.tally_of(rank, folded.masks()).mock().get(view::padded, accumulator::tokens));
    }
    CHECK(tail == std::vector<u64>{8, 8, 0, 0});
}

TEST_CASE("a context-parallel sequence is counted by the rank of its first token, and its encoder side is not split",
          "[context_parallel]") {
    placed_sequences row;
    row.add(sequence{.length = 4, .keys = 6});
    row.add(sequence{.length = 0, .keys = 5});
    row.add(sequence{.length = 8, .keys = 7});
    const mask_set masks{mask::encoder()};
    const context_parallel_pack ranks(row, token_split::contiguous(12, 3));
    const auto value_for = [&](u64 rank) { return ranks.tally_of(rank, masks).total(); };
    CHECK(value_for(0).get(view::useful, accumulator::count) == 1);
    CHECK(value_for(1).get(view::useful, accumulator::count) == 1);
    CHECK(value_for(2).get(view::useful, accumulator::count) == 0);
    CHECK(value_for(0).get(view::useful, accumulator::keys) == 6 + 5);
    CHECK(value_for(1).get(view::useful, accumulator::keys) == 7);
    CHECK(value_for(2).get(view::useful, accumulator::keys) == 0);
    CHECK(value_for(0).pairs(view::useful, mask::encoder()) == 36 + 25);
    CHECK(value_for(2).get(view::useful, accumulator::crossed) == 4 * 7);

    const context_parallel_pack split(row, token_split::contiguous(12, 3), token_split::contiguous(18, 3));
    CHECK(split.pairs(mask::encoder(), view::useful) == std::vector<u64>{36, 5 * 5 + 7, 6 * 7});
    CHECK(split.tally_of(1, masks).total().get(view::useful, accumulator::keys) == 6);
}

TEST_CASE("context parallelism splits sequences of the longest length without overflow", "[context_parallel]") {
    const std::uint32_t tokens = 4'294'967'288;  // a multiple of 8 below 2^32
    placed_sequences row;
    row.add({.length = tokens});
    mask_set masks;
    for (const floptally::statistic& counted :
         {mask::sliding_window(2'147'483'647), mask::window(9, 2'000'000'000), mask::prefix_lm(77)}) {
        masks.push_back(counted, "masks");
    }
    const tally whole = row.tally_of(masks).total();
    for (const token_split& split : layouts_of(row, 4)) {
        const context_parallel_pack ranks(row, split);
        tally sum{masks};
        for (u64 rank = 0; rank < 4; ++rank) {
            sum += ranks.tally_of(rank, masks).total();
        }
        CHECK(sum == whole);
        CHECK(sum_of(ranks.pairs(mask::bidirectional(), view::padded)) == u64{tokens} * tokens);
    }

    random_rows random;
    for (int round = 0; round < 20; ++round) {
        const u64 cp = u64{1} << random.upto(6);
        const placed_sequences long_row = random.row(20, 2 * cp, 5000, 0, 100'000);
        const tally expected = long_row.tally_of(masks).total();
        for (const token_split& split : layouts_of(long_row, cp)) {
            const context_parallel_pack ranks(long_row, split);
            tally sum{masks};
            for (u64 rank = 0; rank < cp; ++rank) {
                sum += ranks.tally_of(rank, masks).total();
            }
            CHECK(sum == expected);
        }
    }
}

TEST_CASE("Ulysses context parallelism splits heads evenly and keeps key-value heads with their queries",
          "[context_parallel]") {
    for (u64 kv = 1; kv <= 8; ++kv) {
        for (u64 group = 1; group <= 8; ++group) {
            for (u64 cp = 1; cp <= 16; ++cp) {
                const u64 heads = kv * group;
                if (heads % cp != 0 || (kv % cp != 0 && cp % kv != 0)) {
                    CHECK_THROWS_AS(head_split(heads, kv, cp), floptally::error);
                    continue;
                }
                const head_split split(heads, kv, cp);
                u64 next = 0;
                for (u64 rank = 0; rank < cp; ++rank) {
                    const index_range own = split.heads(rank);
                    CHECK(own.first == next);
                    CHECK(own.size() == heads / cp);
                    next = own.last;
                    for (u64 head = own.first; head < own.last; ++head) {
                        const u64 read = head / group;
                        CHECK(split.key_value_heads(rank).first <= read);
                        CHECK(read < split.key_value_heads(rank).last);
                    }
                    CHECK(split.key_value_heads(rank).size() == std::max<u64>(1, kv / cp));
                }
                CHECK(next == heads);
            }
        }
    }
    CHECK(error_of([] { return head_split(12, 12, 8); }) ==
          "num_attention_heads: must be a multiple of cp = 8, got 12");
    CHECK(error_of([] { return head_split(12, 8, 2); }) ==
          "num_attention_heads: must be a multiple of num_key_value_heads = 8, got 12");
    CHECK(error_of([] { return head_split(24, 6, 4); }) ==
          "num_key_value_heads: must be a multiple of cp = 4, or divide it, got 6");
    CHECK(error_of([] { return head_split(0, 1, 1); }) == "num_attention_heads: must be at least 1, got 0");
    CHECK(error_of([] { return head_split(8, 0, 1); }) == "num_key_value_heads: must be at least 1, got 0");
    CHECK(error_of([] { return head_split(8, 8, 0); }) == "cp: must be from 1 to 4294967295, got 0");
    CHECK(error_of([] { return head_split(8, 8, 2).heads(2); }) == "cp_rank: must be below cp = 2, got 2");
    CHECK(error_of([] { return head_split(8, 8, 2).head_pairs(u64{1} << 62); }) ==
          "pairs: 4611686018427387904 x 4 does not fit 64 bits: use smaller numbers");
}

TEST_CASE("an impossible context-parallel split is an error with field and value", "[context_parallel]") {
    CHECK(error_of([] { return token_split::zigzag(8, 0); }) == "cp: must be from 1 to 4294967295, got 0");
    CHECK(error_of([] { return token_split::contiguous(8, u64{1} << 32); }) ==
          "cp: must be from 1 to 4294967295, got 4294967296");
    CHECK(error_of([] {
              return token_split::zigzag_of_each(std::array{0, 8}, 0);
          }) == "cp: must be from 1 to 4294967295, got 0");
    CHECK(error_of([] { return token_split::contiguous(10, 4); }) == "tokens: must be a multiple of cp = 4, got 10");
    CHECK(error_of([] { return token_split::zigzag(8, 2).indices(2); }) == "cp_rank: must be below cp = 2, got 2");
    CHECK(error_of([] { return floptally::zigzag_ranges(8, 2, 7); }) == "cp_rank: must be below cp = 2, got 7");
    CHECK(error_of([] { return floptally::contiguous_range(8, 2, 2); }) == "cp_rank: must be below cp = 2, got 2");
    CHECK(error_of([] {
              return token_split::zigzag_of_each(std::array{0, 8, 18}, 2);
          }) == "cu_seqlens_padded[2] - cu_seqlens_padded[1]: must be a multiple of 2 x cp = 4, got 10");
    CHECK(error_of([] {
              return token_split::zigzag_of_each(std::array{0, 8, 4}, 2);
          }) == "cu_seqlens_padded[2]: must be at least the boundary before it, 8, got 4");
    CHECK(error_of([] { return token_split::zigzag_of_each(std::vector<int>{}, 2); }) ==
          "cu_seqlens_padded: must have at least one boundary, the 0 at its beginning, got none");

    placed_sequences row;
    row.add({.length = 3, .keys = 2}, {.length = 8, .keys = 2});
    CHECK(error_of([&] { return context_parallel_pack(row, token_split::zigzag(12, 2)); }) ==
          "split: must have the 8 tokens of the pack, got 12");
    CHECK(error_of([&] {
              return context_parallel_pack(row, token_split::zigzag(8, 2), token_split::contiguous(4, 2));
          }) == "other_side: must have the 2 tokens of the pack, got 4");
    CHECK(error_of([&] {
              return context_parallel_pack(row, token_split::zigzag(8, 2), token_split::contiguous(2, 1));
          }) == "other_side: must be split over cp = 2 ranks, as the pack is, got 1");
    const context_parallel_pack ranks(row, token_split::zigzag(8, 2));
    CHECK(error_of([&] { return ranks.tokens(2, view::useful); }) == "cp_rank: must be below cp = 2, got 2");
    CHECK(error_of([&] { return ranks.pairs(3, mask::encoder(), view::useful); }) ==
          "cp_rank: must be below cp = 2, got 3");
    CHECK(error_of([&] { return ranks.tally_of(0, {}, mask::sliding_window(4)); }) ==
          "square_rows: must be causal or bidirectional, got sliding_window(4)");
    CHECK(error_of([] { return split_tally(tally{mask_set{mask::chunked(3)}}, tally{}); }) ==
          "masks: tallies of different masks cannot be added up: build both with the same masks");

    placed_sequences huge;
    huge.add(sequence{.length = 2, .keys = 4'294'967'295});
    huge.add(sequence{.length = 2, .keys = 4'294'967'295});
    const context_parallel_pack one_rank(huge, token_split::zigzag(4, 1));
    const std::string wraps =
        "pairs: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers";
    CHECK(error_of([&] { return one_rank.tally_of(0, mask_set{mask::encoder()}); }) == wraps);
    CHECK(error_of([&] { return one_rank.pairs(0, mask::encoder(), view::useful); }) == wraps);

    // A row that refuses is what it was.
    const auto refused = [&](const std::function<void()>& add) {
        const std::string problem = error_of([&] { return add(), 0; });
        CHECK(row.sequences() == std::vector<slotted_sequence>{{{3, 0, 2}, {8, 0, 2}}});
        CHECK(row.boundaries() == std::vector<u64>{0, 8});
        return problem;
    };
    CHECK(refused([&] { row.add({.length = 9}, {.length = 8}); }) ==
          "length: a slot of 8 has no room for 9: enlarge the slot");
    CHECK(refused([&] {
              row.add_cu_seqlens(std::array{0, 9}, std::array{0, 8});
          }) == "cu_seqlens_padded[1]: leaves a slot of 8 tokens for a sequence of 9: a slot must hold its sequence");
    CHECK(refused([&] {
              row.add_cu_seqlens(std::array{0, 4}, std::array{0, 8}, 2);
          }) == "num_real_seqs: must be at most the 1 sequences of cu_seqlens, got 2");
    CHECK(refused([&] {
              row.add_padded(std::array{4, 9}, 8);
          }) == "lengths[1]: must be at most the row_length, 8, got 9");
}

TEST_CASE("a context-parallel pack accepts lengths, boundaries and padded rows like a tally", "[context_parallel]") {
    const mask_set masks{mask::sliding_window(5)};
    const std::array<int, 4> cu_seqlens{0, 5, 9, 20};
    const std::array<int, 4> slots{0, 8, 16, 32};
    for (const std::size_t real : {std::size_t{0}, std::size_t{2}, std::size_t{3}, floptally::all_sequences}) {
        placed_sequences row;
        row.add_cu_seqlens(cu_seqlens, slots, real);
        split_tally expected{masks};
        expected.add_cu_seqlens(cu_seqlens, slots, real);
        CHECK(row.tally_of(masks) == expected);
        CHECK(row.boundaries() == std::vector<u64>{0, 8, 16, 32});
    }
    placed_sequences plain;
    plain.add_cu_seqlens(cu_seqlens);
    CHECK(plain.boundaries() == std::vector<u64>{0, 5, 9, 20});
    placed_sequences padded;
    padded.add_padded(std::array{3, 0, 8}, 8);
    split_tally expected{masks};
    expected.add_padded(std::array{3, 0, 8}, 8);
    CHECK(padded.tally_of(masks) == expected);
    CHECK(padded.tokens() == 24);
}

TEST_CASE("the ratio of largest to mean rank load is an error exactly if its computation exceeds 128 bits",
          "[context_parallel]") {
    using floptally::uint128;
    constexpr uint128 most = ~uint128{0};
    const uint128 third = most / 3;  // and nothing is left
    CHECK(imbalance_of(third, third + 1, 3) == imbalance{most, third + 1});
    CHECK_THROWS_AS(imbalance_of(third + 1, third + 4, 3), floptally::overflow);
    CHECK(imbalance_of(most, most, 1) == imbalance{1, 1});
}

}  // namespace context_parallel_test

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/mask.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace tally_test {
namespace {

using floptally::accumulator;
using floptally::error;
using floptally::mask;
using floptally::mask_set;
using floptally::overflow;
using floptally::sequence;
using floptally::tally;
using floptally::uint128;
using floptally::view;

constexpr std::uint64_t max64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t max32 = std::numeric_limits<std::uint32_t>::max();

constexpr mask_set set_of(std::initializer_list<mask> masks) {
    mask_set set;
    for (const floptally::statistic& m : masks) {
        set.push_back(m, "masks");
    }
    return set;
}

const mask_set no_masks;

/// One of each kind that needs an accumulator.
const mask_set kept = set_of({mask::sliding_window(5), mask::window(3, 4), mask::chunked(6), mask::top_k(4),
                              mask::compressed_keys(3), mask::box(7), mask::encoder(), mask::prefix_lm(2)});

std::vector<std::uint64_t> accumulators(const tally& t) { return {t.accumulators().begin(), t.accumulators().end()}; }

/// A sequence and its slot.
struct slotted {
    sequence real;
    sequence slot;
};

/// The definition of a tally: a loop over sequences that adds up in 128 bits.
std::vector<std::uint64_t> added_up(const std::vector<slotted>& batch, const mask_set& masks) {
    std::vector<std::uint64_t> all;
    for (const bool padded : {false, true}) {
        std::vector<uint128> sums(tally::fixed_accumulators + masks.size(), 0);
        for (const slotted& one : batch) {
            const sequence& s = padded ? one.slot : one.real;
            const uint128 n = s.length;
            sums[0] += s.length > 0 ? 1U : 0U;
            sums[1] += n;
            sums[2] += s.keys;
            sums[3] += n * n;
            sums[4] += n * s.past;
            sums[5] += n * s.keys;
            for (std::size_t m = 0; m < masks.size(); ++m) {
                sums[tally::fixed_accumulators + m] += masks[m].pairs(s);
            }
        }
        for (const uint128 sum : sums) {
            REQUIRE(sum <= max64);
            all.push_back(static_cast<std::uint64_t>(sum));
        }
    }
    return all;
}

std::vector<slotted> unpadded(const std::vector<sequence>& sequences) {
    std::vector<slotted> batch;
    for (const sequence& s : sequences) {
        batch.push_back({s, s});
    }
    return batch;
}

std::vector<slotted> of_lengths(const std::vector<std::uint32_t>& lengths) {
    std::vector<sequence> sequences;
    for (const std::uint32_t length : lengths) {
        sequences.push_back({length});
    }
    return unpadded(sequences);
}

tally tally_of(const std::vector<slotted>& batch, const mask_set& masks) {
    tally t{masks};
    for (const slotted& one : batch) {
        t.add(one.real, one.slot);
    }
    return t;
}

std::vector<std::uint32_t> boundaries(const std::vector<std::uint32_t>& lengths) {
    std::vector<std::uint32_t> cu_seqlens{0};
    for (const std::uint32_t length : lengths) {
        cu_seqlens.push_back(cu_seqlens.back() + length);
    }
    return cu_seqlens;
}

class random_batches {
  public:
    std::uint32_t upto(std::uint32_t most) { return static_cast<std::uint32_t>(engine_() % (std::uint64_t{most} + 1)); }

    std::vector<std::uint32_t> lengths(std::size_t n, std::uint32_t most) {
        std::vector<std::uint32_t> all(n);
        for (std::uint32_t& length : all) {
            length = upto(7) == 0 ? 0 : upto(most);
        }
        return all;
    }

    std::vector<slotted> batch(std::size_t n) {
        std::vector<slotted> all;
        for (std::size_t i = 0; i < n; ++i) {
            const sequence real = upto(9) == 0 ? sequence{} : sequence{upto(50), upto(30), upto(40)};
            all.push_back({real, {real.length + upto(16), real.past + upto(2), real.keys + upto(3)}});
        }
        return all;
    }

    template <class T>
    void shuffle(std::vector<T>& all) {
        std::shuffle(all.begin(), all.end(), engine_);
    }

  private:
    std::mt19937_64 engine_{8191};
};

/// The error that a change of a tally throws, once the tally is seen to be what it was.
template <class E = error, class F>
std::string refusal(tally& t, F&& change) {
    const tally before = t;
    std::string text = "no error";
    try {
        change(t);
    } catch (const E& e) {
        text = e.what();
    }
    CHECK(accumulators(t) == accumulators(before));
    CHECK(t == before);
    return text;
}

template <class F>
std::string field_of_refusal(tally& t, F&& change) {
    const std::string text = refusal(t, change);
    return text.substr(0, text.find(": "));
}

/// A tally that holds something in every accumulator.
tally something() { return tally_of({{{5, 2, 3}, {8, 2, 4}}, {{9, 0, 1}, {9, 1, 1}}}, kept); }

// ---- tallies are constant expressions ----

constexpr tally of_constants() {
    tally t{set_of({mask::sliding_window(400), mask::causal()})};
    const std::array<int, 3> lengths{100, 500, 600};
    t.add_lengths(lengths);
    const std::int64_t cu_seqlens[] = {0, 200, 500, 1200};
    t.add_cu_seqlens(cu_seqlens);
    t.add_lengths(std::array<int, 2>{100, 100});
    t.add(sequence{3, 4, 5}, sequence{4, 4, 5});
    return t;
}

static_assert(of_constants().get(view::useful, accumulator::count) == 9);
static_assert(of_constants().get(view::useful, accumulator::tokens) == 1200 + 1200 + 200 + 3);
static_assert(of_constants().get(view::padded, accumulator::tokens) == 1200 + 1200 + 200 + 4);
static_assert(of_constants().get(view::useful, accumulator::squares) == 620'000 + 620'000 + 20'000 + 9);
static_assert(of_constants().get(view::useful, accumulator::cached) == 12);
static_assert(of_constants().get(view::padded, accumulator::crossed) == 20);
// 3 tokens after 4 see 5, 6 and 7 keys; two sequences of 100 see 5050 each.
static_assert(of_constants().pairs(view::useful, mask::sliding_window(400)) == 285'450 + 265'450 + 10'100 + 18);
static_assert(of_constants().pairs(view::useful, mask::causal()) == 310'600 + 310'600 + 10'100 + 18);
static_assert(tally::from_accumulators(of_constants().masks(), of_constants().accumulators()) == of_constants());
static_assert(sizeof(tally) <= 72 && std::is_nothrow_move_constructible_v<tally>);

constexpr tally padded_constants() {
    const std::array<std::uint32_t, 4> cu_seqlens{0, 3, 5, 9};
    const std::array<std::uint32_t, 4> slots{0, 4, 8, 16};
    tally t;
    t.add_cu_seqlens(cu_seqlens, slots, 2);
    return t += t;
}

static_assert(padded_constants().get(view::useful, accumulator::squares) == 2 * (9 + 4));
static_assert(padded_constants().get(view::padded, accumulator::squares) == 2 * (16 + 16 + 64));

}  // namespace

// ---- sums ----

TEST_CASE("the sums of a tally equal a plain loop over its sequences") {
    random_batches random;
    CHECK(accumulators(tally{}) == std::vector<std::uint64_t>(14, 0));
    for (int round = 0; round < 200; ++round) {
        const std::vector<slotted> batch = random.batch(random.upto(40));
        REQUIRE(accumulators(tally_of(batch, kept)) == added_up(batch, kept));
        REQUIRE(accumulators(tally_of(batch, no_masks)) == added_up(batch, no_masks));
    }
}

TEST_CASE("a sequence added to a tally without a slot gets a slot of its own length") {
    tally t{kept};
    t.add(sequence{5, 2, 3});
    CHECK(accumulators(t) == added_up({{{5, 2, 3}, {5, 2, 3}}}, kept));
    t.add(sequence{5, 2, 3}, sequence{8, 2, 3});
    t.add(sequence{}, sequence{8});
    CHECK(accumulators(t) == added_up({{{5, 2, 3}, {5, 2, 3}}, {{5, 2, 3}, {8, 2, 3}}, {{}, {8}}}, kept));
    CHECK(t.get(view::useful, accumulator::count) == 2);
    CHECK(t.get(view::padded, accumulator::count) == 3);
}

TEST_CASE("adding lengths or cumulative boundaries to a tally gives the sums of a loop over single sequences") {
    random_batches random;
    // Short inputs, and long ones that are added up in blocks.
    for (int round = 0; round < 200; ++round) {
        const std::uint32_t most = round % 2 == 0 ? 60 : 70'000;
        const std::vector<std::uint32_t> lengths = random.lengths(round % 10 == 0 ? 2000 : random.upto(60), most);
        const std::vector<std::uint64_t> expected = added_up(of_lengths(lengths), kept);
        tally by_lengths{kept};
        by_lengths.add_lengths(lengths);
        REQUIRE(accumulators(by_lengths) == expected);
        tally by_boundaries{kept};
        by_boundaries.add_cu_seqlens(boundaries(lengths));
        REQUIRE(accumulators(by_boundaries) == expected);
        tally one_by_one{kept};
        for (const std::uint32_t length : lengths) {
            one_by_one.add(sequence{length});
        }
        REQUIRE(accumulators(one_by_one) == expected);
    }
}

TEST_CASE("the order of microbatches and how they are split or merged do not change a tally") {
    random_batches random;
    for (int round = 0; round < 50; ++round) {
        std::vector<slotted> batch = random.batch(60);
        const std::vector<std::uint64_t> expected = accumulators(tally_of(batch, kept));
        random.shuffle(batch);
        REQUIRE(accumulators(tally_of(batch, kept)) == expected);

        std::vector<tally> microbatches(1 + random.upto(9), tally{kept});
        for (const slotted& element : batch) {
            microbatches[random.upto(static_cast<std::uint32_t>(microbatches.size() - 1))].add(element.real,
                                                                                               element.slot);
        }
        tally merged{kept};
        for (const tally& microbatch : microbatches) {
            merged += microbatch;
        }
        REQUIRE(accumulators(merged) == expected);

        // In pairs, as a tree of ranks would.
        random.shuffle(microbatches);
        while (microbatches.size() > 1) {
            const tally last = microbatches.back();
            microbatches.pop_back();
            microbatches[random.upto(static_cast<std::uint32_t>(microbatches.size() - 1))] += last;
        }
        REQUIRE(microbatches.front() == merged);

        // Word by accumulator, as an all-reduce would.
        std::vector<std::uint64_t> reduced(merged.accumulators().size(), 0);
        for (const slotted& slotted_sample : batch) {
            const std::vector<std::uint64_t> rank = accumulators(tally_of({slotted_sample}, kept));
            std::transform(rank.begin(), rank.end(), reduced.begin(), reduced.begin(), std::plus<>{});
        }
        REQUIRE(tally::from_accumulators(kept, reduced) == merged);
    }
}

TEST_CASE("adding a tally to itself doubles every sum of the tally") {
    tally t = something();
    std::vector<std::uint64_t> expected = accumulators(t);
    std::transform(expected.begin(), expected.end(), expected.begin(),
                   [](std::uint64_t accumulator) { return 2 * accumulator; });
    t += t;
    CHECK(accumulators(t) == expected);
}

// ---- integers ----

TEMPLATE_TEST_CASE("lengths of every integer type are squared in 64 bits", "", std::int32_t, std::uint32_t,
                   std::int64_t, std::uint64_t) {
    // 46341 is the first whose square passes 2^31, 65536 the first whose square passes 2^32.
    const auto add = [](std::size_t copies, std::uint64_t length) {
        const std::vector<TestType> lengths(copies, static_cast<TestType>(length));
        const std::vector<TestType> cu_seqlens{0, static_cast<TestType>(length)};
        tally by_lengths{kept};
        by_lengths.add_lengths(lengths);
        tally by_boundaries{kept};
        for (std::size_t i = 0; i < copies; ++i) {
            by_boundaries.add_cu_seqlens(cu_seqlens);
        }
        CHECK(by_lengths == by_boundaries);
        return by_lengths;
    };
    for (const std::size_t copies : {1U, 3U, 40U}) {
        const auto n = static_cast<std::uint64_t>(copies);
        CHECK(add(copies, 46341).get(view::useful, accumulator::squares) == n * 2147488281U);
        CHECK(add(copies, 65536).get(view::useful, accumulator::squares) == n * 4294967296U);
        CHECK(add(copies, 65537).pairs(view::padded, mask::bidirectional()) == n * 4295098369U);
        CHECK(add(copies, 131072).pairs(view::padded, mask::causal()) == n * 8590000128U);
        CHECK(add(copies, 131072).get(view::padded, accumulator::tokens) == n * 131072U);
    }
    CHECK(add(1, 2147483647).get(view::useful, accumulator::squares) == 4611686014132420609U);
    CHECK(add(3, 2147483647).get(view::useful, accumulator::squares) == 13835058042397261827U);
    if constexpr (sizeof(TestType) == 8) {
        CHECK(add(1, max32).get(view::useful, accumulator::squares) == 18446744065119617025U);
    }
}

TEST_CASE("the longest accepted sequence length is 2^32 - 1") {
    tally t{kept};
    t.add_lengths(std::vector<std::uint32_t>{max32});
    CHECK(t.get(view::useful, accumulator::squares) == 18446744065119617025U);
    CHECK(t.pairs(view::useful, mask::causal()) == 9223372034707292160U);
    CHECK(t.get(view::useful, accumulator::tokens) == 4294967295U);
}

TEST_CASE("add_lengths accepts every contiguous range of integers") {
    const std::vector<std::int32_t> in_vector{3, 0, 5};
    const std::array<std::uint64_t, 3> in_array{3, 0, 5};
    const std::int64_t in_c_array[] = {3, 0, 5};
    std::uint32_t changeable[] = {3, 0, 5};
    const tally expected = tally_of(of_lengths({3, 0, 5}), kept);
    const auto from = [](const auto& lengths) {
        tally t{kept};
        t.add_lengths(lengths);
        return t;
    };
    CHECK(from(in_vector) == expected);
    CHECK(from(in_array) == expected);
    CHECK(from(in_c_array) == expected);
    CHECK(from(changeable) == expected);
    CHECK(from(std::span{in_vector}) == expected);
    CHECK(from(std::span<std::uint32_t>{changeable}) == expected);
    CHECK(from(std::span<const std::int64_t, 3>{in_c_array}) == expected);
    CHECK(from(std::vector<int>{}) == tally{kept});

    const auto from_boundaries = [](const auto& cu_seqlens) {
        tally t{kept};
        t.add_cu_seqlens(cu_seqlens);
        return t;
    };
    const std::int32_t c_boundaries[] = {0, 3, 3, 8};
    CHECK(from_boundaries(std::vector<std::uint64_t>{0, 3, 3, 8}) == expected);
    CHECK(from_boundaries(std::array<std::int64_t, 4>{0, 3, 3, 8}) == expected);
    CHECK(from_boundaries(c_boundaries) == expected);
    CHECK(from_boundaries(std::span{c_boundaries}) == expected);

    // The two rows of boundaries need not have one type.
    tally mixed{kept};
    mixed.add_cu_seqlens(c_boundaries, std::vector<std::uint64_t>{0, 3, 3, 8});
    CHECK(mixed == expected);
}

// ---- overflow ----

TEST_CASE("an overflow error names the accumulator and leaves the tally unchanged") {
    const std::vector<std::string> names{"count",
                                         "tokens",
                                         "keys",
                                         "squares",
                                         "cached",
                                         "crossed",
                                         "routed",
                                         "sliding_window(5)",
                                         "window(3,4)",
                                         "chunked(6)",
                                         "sliding_window(4)",
                                         "compressed_keys(3)",
                                         "box(7)",
                                         "encoder",
                                         "prefix_lm(2)"};
    tally counted_batch = tally_of({{{3, 2, 4}, {3, 2, 4}}}, kept);
    counted_batch.add_routed({.useful = 5, .padded = 7});
    for (std::size_t accumulator = 0; accumulator < 2 * names.size(); ++accumulator) {
        // One below what overflows is accepted, in every accumulator at once.
        std::vector<std::uint64_t> sums = accumulators(counted_batch);
        std::transform(sums.begin(), sums.end(), sums.begin(), [](std::uint64_t amount) { return max64 - amount; });
        tally brim = tally::from_accumulators(kept, sums);
        brim += counted_batch;
        CHECK(accumulators(brim) == std::vector<std::uint64_t>(2 * names.size(), max64));

        ++sums[accumulator];
        tally full = tally::from_accumulators(kept, sums);
        const std::string expected =
            names[accumulator % names.size()] + ": the sum does not fit 64 bits: count fewer samples";
        INFO(accumulator);
        if (names[accumulator % names.size()] == "routed") {
            CHECK(refusal<overflow>(full, [](tally& t) { t.add_routed({.useful = 5, .padded = 7}); }) == expected);
        } else {
            CHECK(refusal<overflow>(full, [](tally& t) { t.add(sequence{3, 2, 4}); }) == expected);
            CHECK(refusal<overflow>(full, [](tally& t) { t.add(sequence{3, 2, 4}, sequence{3, 2, 4}); }) == expected);
        }
        CHECK(refusal<overflow>(full, [&counted_batch](tally& t) { t += counted_batch; }) == expected);
    }
}

TEST_CASE("a list of lengths or boundaries that overflows a sum adds nothing to the tally") {
    const std::vector<std::string> names{"count",  "tokens",  "keys",   "squares",
                                         "cached", "crossed", "routed", "sliding_window(5)"};
    const mask_set masks = set_of({mask::sliding_window(5)});
    for (const std::size_t accumulator : {0U, 1U, 3U, 7U, 8U, 9U, 11U, 15U}) {
        std::vector<std::uint64_t> sums(16, 5);
        sums[accumulator] = max64;
        tally full = tally::from_accumulators(masks, sums);
        const std::string expected = names[accumulator % 8] + ": the sum does not fit 64 bits: count fewer samples";
        INFO(accumulator);
        for (const std::size_t n : {1U, 2U, 600U}) {
            const std::vector<std::uint32_t> lengths(n, 9);
            CHECK(refusal<overflow>(full, [&](tally& t) { t.add_lengths(lengths); }) == expected);
            CHECK(refusal<overflow>(full, [&](tally& t) { t.add_cu_seqlens(boundaries(lengths)); }) == expected);
            CHECK(refusal<overflow>(
                      full, [&](tally& t) { t.add_cu_seqlens(boundaries(lengths), boundaries(lengths)); }) == expected);
        }
        full.add_lengths(std::vector<int>{0, 0});
        full.add(sequence{});
        CHECK(accumulators(full) == sums);
    }
}

TEST_CASE("two sequences of the longest length overflow the sum of squared lengths") {
    tally t{kept};
    t.add(sequence{max32});
    CHECK(refusal<overflow>(t, [](tally& full) { full.add(sequence{max32}); }) ==
          "squares: the sum does not fit 64 bits: count fewer samples");
    CHECK(refusal<overflow>(t, [](tally& full) { full.add_lengths(std::vector<std::int64_t>{max32}); }) ==
          "squares: the sum does not fit 64 bits: count fewer samples");
    CHECK(refusal<overflow>(t, [](tally& full) { full += full; }) ==
          "squares: the sum does not fit 64 bits: count fewer samples");

    tally none{kept};
    const auto in_one_call = [](std::size_t others) {
        return [others](tally& empty) {
            std::vector<std::int64_t> lengths(others, 1);
            lengths.push_back(max32);
            lengths.push_back(max32);
            empty.add_lengths(lengths);
        };
    };
    CHECK(refusal<overflow>(none, in_one_call(0)).starts_with("squares: "));
    CHECK(refusal<overflow>(none, in_one_call(100)).starts_with("squares: "));
    CHECK(refusal<overflow>(none, in_one_call(1000)).starts_with("squares: "));
    CHECK(refusal<overflow>(none, [](tally& empty) {
              empty.add_cu_seqlens(std::vector<std::int64_t>{0, max32, 2 * std::int64_t{max32}});
          }).starts_with("squares: "));
}

// ---- boundaries ----

TEST_CASE("an invalid boundary is reported by index and leaves the tally unchanged") {
    tally t = something();
    const auto add = [&t](const std::vector<std::int64_t>& cu_seqlens) {
        return field_of_refusal(t, [&](tally& unchanged) { unchanged.add_cu_seqlens(cu_seqlens); });
    };
    CHECK(add({}) == "cu_seqlens");
    CHECK(add({5}) == "cu_seqlens[0]");
    CHECK(add({1, 2}) == "cu_seqlens[0]");
    CHECK(add({-1, 2}) == "cu_seqlens[0]");
    CHECK(add({0, -1}) == "cu_seqlens[1]");
    CHECK(add({0, 5, 4}) == "cu_seqlens[2]");
    CHECK(add({0, 5, 9, 8, 7}) == "cu_seqlens[3]");
    CHECK(add({0, 5, 9, -9, 12}) == "cu_seqlens[3]");
    CHECK(add({0, 4294967296}) == "cu_seqlens[1]");
    CHECK(add({0, 1, 4294967297}) == "cu_seqlens[2]");
    for (const std::size_t bad : {1U, 2U, 50U, 511U, 512U, 513U, 1000U}) {
        std::vector<std::int64_t> many;
        for (std::int64_t i = 0; i <= 1000; ++i) {
            many.push_back(10 * i);
        }
        many[bad] = 10 * static_cast<std::int64_t>(bad) - 11;
        CHECK(add(many) == "cu_seqlens[" + std::to_string(bad) + "]");
    }
    CHECK(field_of_refusal(t, [](tally& unchanged) {
              unchanged.add_cu_seqlens(std::vector<std::uint32_t>{0, 7, 4294967295, 6});
          }) == "cu_seqlens[3]");
    CHECK(field_of_refusal(t, [](tally& unchanged) {
              unchanged.add_cu_seqlens(std::vector<std::int32_t>{0, 7, -2147483647 - 1, 9});
          }) == "cu_seqlens[2]");
    CHECK(refusal(t, [](tally& unchanged) {
              unchanged.add_cu_seqlens(std::vector<int>{0, 100, 50});
          }) == "cu_seqlens[2]: must be at least the boundary before it, 100, got 50");
}

TEST_CASE("boundaries that wrapped around in a 32-bit cumulative sum are an error at the wrapped element") {
    tally t = something();
    // Each difference, taken in 32 bits, looks like a length.
    for (const std::uint32_t length : {4'000'000U, 32'000U}) {
        std::vector<std::uint32_t> wrapped{0};
        while (wrapped.size() < 4'500'000'000U / length) {
            wrapped.push_back(wrapped.back() + length);
        }
        const std::string first = "cu_seqlens[" + std::to_string(4'294'967'296U / length + 1) + "]";
        CHECK(field_of_refusal(t, [&](tally& unchanged) { unchanged.add_cu_seqlens(wrapped); }) == first);
        const std::vector<std::int32_t> negative(wrapped.begin(), wrapped.end());
        const std::string first_negative = "cu_seqlens[" + std::to_string(2'147'483'648U / length + 1) + "]";
        CHECK(field_of_refusal(t, [&](tally& unchanged) { unchanged.add_cu_seqlens(negative); }) == first_negative);
    }
}

TEST_CASE("an invalid length is reported by index and leaves the tally unchanged") {
    tally t = something();
    const auto add = [&t](const std::vector<std::int64_t>& lengths) {
        return field_of_refusal(t, [&](tally& unchanged) { unchanged.add_lengths(lengths); });
    };
    CHECK(add({-1}) == "lengths[0]");
    CHECK(add({3, 4, -1}) == "lengths[2]");
    CHECK(add({3, 4294967296}) == "lengths[1]");
    CHECK(add({3, 4, std::numeric_limits<std::int64_t>::min()}) == "lengths[2]");
    std::vector<std::int64_t> many(1000, 8);
    many[777] = -8;
    CHECK(add(many) == "lengths[777]");
}

TEST_CASE("repeated boundaries are empty sequences and count nothing") {
    tally expected{kept};
    expected.add_cu_seqlens(std::vector<int>{0, 3, 8});
    for (const std::vector<int>& cu_seqlens :
         {std::vector<int>{0, 3, 8, 8}, {0, 3, 8, 8, 8, 8, 8}, {0, 0, 3, 8}, {0, 3, 3, 3, 8}}) {
        tally t{kept};
        t.add_cu_seqlens(cu_seqlens);
        CHECK(t == expected);
        tally twice{kept};
        twice.add_cu_seqlens(cu_seqlens, cu_seqlens);
        CHECK(twice == expected);
    }
    CHECK(expected.get(view::useful, accumulator::count) == 2);

    std::vector<int> padded_to_500{0, 3};
    padded_to_500.resize(500, 8);
    tally t{kept};
    t.add_cu_seqlens(padded_to_500);
    CHECK(t == expected);

    tally nothing{kept};
    nothing.add_cu_seqlens(std::vector<int>{0});
    nothing.add_cu_seqlens(std::vector<int>{0, 0, 0});
    CHECK(nothing == tally{kept});
}

// ---- slots ----

TEST_CASE("the useful view counts real sequences and the padded view counts whole slots") {
    random_batches random;
    for (int round = 0; round < 200; ++round) {
        const std::size_t n = round % 10 == 0 ? 700 : random.upto(40);
        const std::vector<std::uint32_t> lengths = random.lengths(n, 90);
        std::vector<std::uint32_t> slots = lengths;
        for (std::uint32_t& slot : slots) {
            slot += random.upto(20);
        }
        const std::size_t real = round % 3 == 0 ? floptally::all_sequences : random.upto(static_cast<std::uint32_t>(n));
        std::vector<slotted> batch;
        for (std::size_t i = 0; i < n; ++i) {
            batch.push_back({{i < real ? lengths[i] : 0}, {slots[i]}});
        }
        tally t{kept};
        t.add_cu_seqlens(boundaries(lengths), boundaries(slots), real);
        REQUIRE(accumulators(t) == added_up(batch, kept));
    }
}

TEST_CASE("a batch of only mock sequences is all padding") {
    tally t{kept};
    t.add_cu_seqlens(std::vector<int>{0, 4, 8}, std::vector<int>{0, 4, 8}, 0);
    CHECK(t.get(view::useful, accumulator::count) == 0);
    CHECK(t.get(view::useful, accumulator::squares) == 0);
    CHECK(t.pairs(view::useful, mask::box(7)) == 0);
    CHECK(t.get(view::padded, accumulator::count) == 2);
    CHECK(t.get(view::padded, accumulator::squares) == 32);
    CHECK(t.pairs(view::padded, mask::sliding_window(5)) == 20);
    tally none{kept};
    none.add_cu_seqlens(std::vector<int>{0}, std::vector<int>{0}, 0);
    CHECK(none == tally{kept});
}

TEST_CASE("a mock sequence may be longer than its slot") {
    tally t;
    t.add_cu_seqlens(std::vector<int>{0, 4, 14}, std::vector<int>{0, 4, 8}, 1);
    CHECK(t.get(view::useful, accumulator::tokens) == 4);
    CHECK(t.get(view::padded, accumulator::tokens) == 8);
}

TEST_CASE("slot boundaries that do not match the sequences are an error") {
    tally t = something();
    const auto add = [&t](const std::vector<int>& real, const std::vector<int>& slots, std::size_t num_real_seqs) {
        return refusal(t, [&](tally& unchanged) { unchanged.add_cu_seqlens(real, slots, num_real_seqs); });
    };
    constexpr std::size_t all = floptally::all_sequences;
    CHECK(add({0, 4, 9}, {0, 4, 8}, all) ==
          "cu_seqlens_padded[2]: leaves a slot of 4 tokens for a sequence of 5: a slot must hold its sequence");
    CHECK(add({0, 4, 9}, {0, 3, 16}, all) ==
          "cu_seqlens_padded[1]: leaves a slot of 3 tokens for a sequence of 4: a slot must hold its sequence");
    CHECK(add({0, 4, 9}, {0, 8}, all) == "cu_seqlens_padded: must have as many boundaries as cu_seqlens (3), got 2");
    CHECK(add({0, 4}, {0, 8, 16}, 1) == "cu_seqlens_padded: must have as many boundaries as cu_seqlens (2), got 3");
    CHECK(add({0, 4, 9}, {0, 8, 16}, 3) == "num_real_seqs: must be at most the 2 sequences of cu_seqlens, got 3");
    CHECK(add({0}, {0}, 1) == "num_real_seqs: must be at most the 0 sequences of cu_seqlens, got 1");
    CHECK(add({0, 4, 3}, {0, 8, 16}, all).starts_with("cu_seqlens[2]: "));
    CHECK(add({0, 4, 3}, {0, 8, 16}, 1).starts_with("cu_seqlens[2]: "));
    CHECK(add({0, 4, 9}, {0, 8, 7}, all).starts_with("cu_seqlens_padded[2]: "));
    CHECK(add({0, 4, 9}, {0, 8, 7}, 1).starts_with("cu_seqlens_padded[2]: "));
    CHECK(add({0, 4, 9}, {1, 8, 16}, all).starts_with("cu_seqlens_padded[0]: "));
    CHECK(add({}, {0, 8}, all).starts_with("cu_seqlens: "));
    CHECK(add({0, 8}, {}, all).starts_with("cu_seqlens_padded: "));
    CHECK(add({}, {}, 0) != "no error");
}

TEST_CASE("a sequence longer than its slot or than the longest sequence length is an error") {
    tally t = something();
    const auto add = [&t](const sequence& real, const sequence& slot) {
        return refusal(t, [&](tally& unchanged) { unchanged.add(real, slot); });
    };
    CHECK(add({5}, {4}) == "length: a slot of 4 has no room for 5: enlarge the slot");
    CHECK(add({5, 3}, {5, 2}) == "past: a slot of 2 has no room for 3: enlarge the slot");
    CHECK(add({5, 0, 3}, {5, 0, 2}) == "keys: a slot of 2 has no room for 3: enlarge the slot");
    CHECK(add({5}, {}) == "length: a slot of 0 has no room for 5: enlarge the slot");
    CHECK(add({max32, 1}, {max32, 1}) == "past: past + length must be at most 4294967295, got 1 + 4294967295");
    CHECK(add({1, 5}, {1, max32}).starts_with("past: "));
    CHECK(refusal(t, [](tally& unchanged) {
              unchanged.add(sequence{1, max32});
          }) == "past: past + length must be at most 4294967295, got 4294967295 + 1");

    tally longest{kept};
    longest.add(sequence{2147483647, 2147483648, max32});
    CHECK(longest.get(view::useful, accumulator::cached) == 4611686016279904256U);
    CHECK(longest.get(view::useful, accumulator::crossed) == 9223372030412324865U);
    CHECK(longest.pairs(view::useful, mask::bidirectional()) == 9223372030412324865U);
}

// ---- pairs ----

TEST_CASE("lengths of both sides of an encoder-decoder are added together or not at all") {
    tally both{kept};
    both.add_encoder_decoder(std::array{5, 0, 2}, std::vector<std::uint64_t>{9, 3, 4});
    tally one_by_one{kept};
    one_by_one.add({.length = 5, .keys = 9});
    one_by_one.add({.length = 0, .keys = 3});
    one_by_one.add({.length = 2, .keys = 4});
    CHECK(both == one_by_one);
    CHECK(both.get(view::useful, accumulator::crossed) == 5 * 9 + 2 * 4);
    CHECK(both.pairs(view::padded, mask::encoder()) == 9 * 9 + 3 * 3 + 4 * 4);

    const auto refused = [&](const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& encoder) {
        const tally before = both;
        try {
            both.add_encoder_decoder(lengths, encoder);
        } catch (const error& problem) {
            CHECK(both == before);
            return std::string(problem.what());
        }
        return std::string("no error");
    };
    CHECK(refused({5, 6}, {5}) == "encoder_lengths: must be as many as lengths (2), got 1");
    CHECK(refused({5, -6}, {5, 6}) == "lengths[1]: must be at least 0, got -6");
    CHECK(refused({5, 6}, {5, 4294967296}) == "encoder_lengths[1]: must be at most 4294967295, got 4294967296");
}

TEST_CASE("pairs of causal, bidirectional and cross attention are computed from sums of L and L^2") {
    random_batches random;
    for (int round = 0; round < 100; ++round) {
        const std::vector<slotted> batch = random.batch(20);
        const tally t = tally_of(batch, no_masks);
        for (const bool padded : {false, true}) {
            std::uint64_t causal = 0;
            std::uint64_t bidirectional = 0;
            std::uint64_t cross = 0;
            for (const slotted& item : batch) {
                const sequence& s = padded ? item.slot : item.real;
                for (std::uint32_t i = s.past; i < s.past + s.length; ++i) {
                    for (std::uint32_t j = 0; j < s.past + s.length; ++j) {
                        causal += j <= i ? 1U : 0U;
                        ++bidirectional;
                    }
                    for (std::uint32_t j = 0; j < s.keys; ++j) {
                        ++cross;
                    }
                }
            }
            const view seen = padded ? view::padded : view::useful;
            REQUIRE(t.pairs(seen, mask::causal()) == causal);
            REQUIRE(t.pairs(seen, mask::bidirectional()) == bidirectional);
            REQUIRE(t.pairs(seen, mask::window(-1, -1)) == bidirectional);
            REQUIRE(t.pairs(seen, mask::cross_attention()) == cross);
        }
    }
}

TEST_CASE("computing pairs from sums of L and L^2 does not overflow in an intermediate step") {
    // Σn² + Σn passes 64 bits; half of it does not.
    std::vector<std::uint64_t> sums(14, 0);
    sums[1] = sums[3] = max64;
    tally t = tally::from_accumulators(no_masks, sums);
    CHECK(t.pairs(view::useful, mask::causal()) == max64);
    CHECK(t.pairs(view::useful, mask::bidirectional()) == max64);
    sums[4] = 1;
    t = tally::from_accumulators(no_masks, sums);
    CHECK_THROWS_AS(t.pairs(view::useful, mask::causal()), overflow);
    CHECK_THROWS_AS(t.pairs(view::useful, mask::bidirectional()), overflow);
    CHECK(t.pairs(view::padded, mask::bidirectional()) == 0);
}

TEST_CASE("batches with equal counts, sums and squares of lengths can differ in the pairs of a sliding window") {
    const mask_set window = set_of({mask::sliding_window(400)});
    tally a{window};
    a.add_lengths(std::array{100, 500, 600});
    tally b{window};
    b.add_lengths(std::array{200, 300, 700});
    for (const accumulator s : {accumulator::count, accumulator::tokens, accumulator::squares}) {
        CHECK(a.get(view::useful, s) == b.get(view::useful, s));
    }
    CHECK(a.get(view::useful, accumulator::count) == 3);
    CHECK(a.get(view::useful, accumulator::tokens) == 1200);
    CHECK(a.get(view::useful, accumulator::squares) == 620'000);
    CHECK(a.pairs(view::useful, mask::sliding_window(400)) == 285'450);
    CHECK(b.pairs(view::useful, mask::sliding_window(400)) == 265'450);
}

TEST_CASE("asking for the pairs of a mask that the tally does not count is an error that names the mask") {
    const auto refused = [](const tally& t, const mask& m) -> std::string {
        try {
            static_cast<void>(t.pairs(view::useful, m));
            return "no error";
        } catch (const error& e) {
            return e.what();
        }
    };
    const std::string rest = ": build it with the masks() of the cost that is evaluated";
    CHECK(refused(tally{}, mask::sliding_window(4096)) ==
          "masks: this tally keeps no pairs of sliding_window(4096)" + rest);
    CHECK(refused(tally{kept}, mask::sliding_window(6)) ==
          "masks: this tally keeps no pairs of sliding_window(6)" + rest);
    CHECK(refused(tally{kept}, mask::top_k(6)) == "masks: this tally keeps no pairs of top_k(6)" + rest);
    CHECK(refused(tally{kept}, mask::top_k(5)) == "no error");  // the same sum
    CHECK(refused(tally{kept}, mask::sliding_window(5)) == "no error");
    CHECK(refused(tally{}, mask::causal()) == "no error");
}

TEST_CASE("a tally has an accumulator for each distinct mask except masks that are computed from sums of L and L^2") {
    const tally t{set_of({mask::causal(), mask::sliding_window(5), mask::bidirectional(), mask::sliding_window(5),
                          mask::cross_attention(), mask::window(4, 0), mask::top_k(5)})};
    CHECK(t.masks() == set_of({mask::sliding_window(5)}));
    CHECK(t.accumulators().size() == 2 * (7 + 1));
    CHECK(tally{}.accumulators().size() == 2 * 7);
    CHECK(tally{}.masks().empty());
}

TEST_CASE("a tally with 40 masks sums the pairs of each mask separately") {
    mask_set most;
    for (std::int64_t w = 1; w <= 40; ++w) {
        most.push_back(mask::sliding_window(w), "masks");
    }
    const std::vector<slotted> batch{{{20, 3}, {24, 3}}, {{}, {11}}};
    tally t = tally_of(batch, most);
    CHECK(accumulators(t) == added_up(batch, most));
    CHECK(t.pairs(view::useful, most[15]) == most[15].pairs(sequence{20, 3}));
    CHECK(t.pairs(view::padded, most[39]) == most[39].pairs(sequence{24, 3}) + most[39].pairs(sequence{11}));
    CHECK(tally::from_accumulators(most, t.accumulators()) == t);
    t.clear();
    CHECK(t == tally{most});
}

// ---- accumulators and merging ----

TEST_CASE("a tally can be rebuilt from its accumulators, and a list of the wrong size is an error") {
    const tally t = something();
    CHECK(t.accumulators().size() == 2 * (7 + 8));
    CHECK(tally::from_accumulators(kept, t.accumulators()) == t);
    CHECK(tally::from_accumulators(tally{kept}.masks(), accumulators(t)) == t);

    const auto refused = [](const mask_set& masks, std::size_t n) -> std::string {
        try {
            static_cast<void>(tally::from_accumulators(masks, std::vector<std::uint64_t>(n)));
            return "no error";
        } catch (const error& e) {
            return e.what();
        }
    };
    CHECK(refused(kept, 29) == "accumulators: must have 30 integers for these masks, got 29");
    CHECK(refused(kept, 31) == "accumulators: must have 30 integers for these masks, got 31");
    CHECK(refused(kept, 0) == "accumulators: must have 30 integers for these masks, got 0");
    CHECK(refused(no_masks, 30) == "accumulators: must have 14 integers for these masks, got 30");
    CHECK(refused(set_of({mask::causal()}), 14) == "no error");
}

TEST_CASE("a tally lists useful accumulators before padded ones, and sums over lengths before pairs of masks") {
    tally t{set_of({mask::sliding_window(2)})};
    t.add(sequence{3, 1, 5}, sequence{4, 1, 6});
    t.add_routed({.useful = 7, .padded = 11});
    CHECK(accumulators(t) == std::vector<std::uint64_t>{1, 3, 5, 9, 3, 15, 7, 6, 1, 4, 6, 16, 4, 24, 11, 8});
}

TEST_CASE("tallies with different masks compare unequal and cannot be added") {
    tally t = something();
    const std::string text = "masks: tallies of different masks cannot be added up: build both with the same masks";
    CHECK(refusal(t, [](tally& unchanged) { unchanged += tally{}; }) == text);
    CHECK(refusal(t, [](tally& unchanged) { unchanged += tally{set_of({mask::sliding_window(5)})}; }) == text);
    CHECK_FALSE(tally{} == tally{kept});
    CHECK_FALSE(something() == tally{kept});
    CHECK(tally{set_of({mask::causal()})} == tally{});
}

// ---- routed visits ----

TEST_CASE("add_routed changes only the accumulator of expert visits") {
    tally t = something();
    const tally before = t;
    t.add_routed({.useful = 7, .padded = 11});
    t.add_routed({.useful = 1});
    t.add_routed({.useful = 0, .padded = 5});
    CHECK(t.get(view::useful, accumulator::routed) == 8);
    CHECK(t.get(view::padded, accumulator::routed) == 17);
    std::vector<std::uint64_t> expected = accumulators(before);
    expected[static_cast<std::size_t>(accumulator::routed)] = 8;
    expected[expected.size() / 2 + static_cast<std::size_t>(accumulator::routed)] = 17;
    CHECK(accumulators(t) == expected);

    tally sum = t;
    sum += t;
    CHECK(sum.get(view::useful, accumulator::routed) == 16);
    CHECK(sum.get(view::padded, accumulator::routed) == 34);
    CHECK(refusal(t, [](tally& unchanged) { unchanged.add_routed({.useful = 3, .padded = 2}); }) ==
          "routed: padded visits must include the 3 useful visits, got 2");
}

static_assert([] {
    tally t;
    t.add_routed({.useful = 2, .padded = 3});
    return t.get(view::useful, accumulator::routed) == 2 && t.get(view::padded, accumulator::routed) == 3;
}());

TEST_CASE("a padded batch shape counts the same as the rows of the batch added one by one") {
    const floptally::mask_set masks{mask::sliding_window(400), mask::chunked(7)};
    tally shape{masks};
    shape.add_shape({.rows = 3, .columns = 1000});
    tally rows{masks};
    for (int row = 0; row < 3; ++row) {
        rows.add({.length = 1000});
    }
    CHECK(shape == rows);
    CHECK(error_of([&] { shape.add_shape({.rows = 1, .columns = 4294967296}); }) ==
          "row_length: must be at most 4294967295, got 4294967296");
    CHECK(error_of([&] { shape.add_shape({.rows = 2, .columns = 4294967295}); }) ==
          "squares: the sum does not fit 64 bits: count fewer samples");
    CHECK(shape == rows);
}

}  // namespace tally_test

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/mask.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace mask_test {
namespace {

using floptally::make_statistic;
using floptally::mask;
using floptally::pair_shape;
namespace mask_statistics = floptally::mask_statistics;
namespace maxtext = floptally::maxtext;
namespace megatron_bridge = floptally::megatron_bridge;
using floptally::max_sequence_length;
using floptally::sequence;
using floptally::uint128;

constexpr std::int64_t largest_parameter = 2147483647;

enum class statistic {
    causal,
    bidirectional,
    sliding_window,
    window,
    chunked,
    top_k,
    compressed_keys,
    cross_attention,
    box,
    encoder,
    prefix_lm,
    window_squares,
    chunk_squares,
    within_window,
    limited_by_window
};

/// A mask by the words of its definition, with none of the library's arithmetic.
struct definition {
    statistic which;
    std::int64_t a = 0;
    std::int64_t b = 0;

    [[nodiscard]] constexpr mask made() const {
        switch (which) {
            case statistic::causal:
                return mask::causal();
            case statistic::bidirectional:
                return mask::bidirectional();
            case statistic::sliding_window:
                return mask::sliding_window(a);
            case statistic::window:
                return mask::window(a, b);
            case statistic::chunked:
                return mask::chunked(a);
            case statistic::top_k:
                return mask::top_k(a);
            case statistic::compressed_keys:
                return mask::compressed_keys(a);
            case statistic::cross_attention:
                return mask::cross_attention();
            case statistic::box:
                return mask::box(a);
            case statistic::encoder:
                return mask::encoder();
            case statistic::prefix_lm:
                return mask::prefix_lm(a);
            case statistic::window_squares:
                return make_statistic<maxtext::window_squares>(a);
            case statistic::chunk_squares:
                return make_statistic<maxtext::chunk_squares>(a);
            case statistic::within_window:
                return make_statistic<megatron_bridge::within_window>(a);
            case statistic::limited_by_window:
                return make_statistic<megatron_bridge::limited_by_window>(a);
        }
        return {};
    }

    /// True where the query at position i sees key j.
    ///
    /// Which keys top-k takes is the data's choice, how many is not: there j is a key's rank among those that may be
    /// chosen. Of compressed keys, j is the block of tokens j·a … j·a + a − 1. A box has no positions: j is a number.
    [[nodiscard]] constexpr bool attends(std::int64_t i, std::int64_t j) const {
        switch (which) {
            case statistic::causal:
                return j <= i;
            case statistic::bidirectional:
            case statistic::cross_attention:
            case statistic::encoder:
                return true;
            case statistic::sliding_window:
            case statistic::window_squares:
            case statistic::limited_by_window:
                return j <= i && i - j + 1 <= a;
            case statistic::within_window:
                return j <= i;
            case statistic::window:
                return (a == -1 || i - j <= a) && (b == -1 || j - i <= b);
            case statistic::chunked:
            case statistic::chunk_squares:
                return j <= i && j / a == i / a;
            case statistic::top_k:
                return j <= i && j + 1 <= a;
            case statistic::compressed_keys:
                return j * a + a - 1 <= i;
            case statistic::box:
                return j + 1 <= a;
            case statistic::prefix_lm:
                return j <= i || j < a;
        }
        return false;
    }

    /// The weight of a pair in halves, where a convention counts a triangle as half of a square: 2, and 1 on the
    /// diagonal.
    [[nodiscard]] constexpr std::uint64_t weight(std::int64_t i, std::int64_t j, const sequence& s) const {
        const bool within = std::int64_t{s.past} + s.length <= a;
        switch (which) {
            case statistic::window_squares:
                return i == j && i < a ? 1 : 2;
            case statistic::chunk_squares:
                return i == j ? 1 : 2;
            case statistic::within_window:
                return !within ? 0 : i == j ? 1 : 2;
            case statistic::limited_by_window:
                return within ? 0 : 1;
            default:
                return 1;
        }
    }

    [[nodiscard]] constexpr std::int64_t keys(const sequence& s) const {
        const bool other_side = which == statistic::cross_attention || which == statistic::encoder;
        return other_side ? std::int64_t{s.keys} : std::int64_t{s.past} + s.length;
    }

    /// The positions of the queries: of this side, after what is cached; of an encoder's side, all of them.
    [[nodiscard]] constexpr std::int64_t first_query(const sequence& s) const {
        return which == statistic::encoder ? 0 : std::int64_t{s.past};
    }
    [[nodiscard]] constexpr std::int64_t end_of_queries(const sequence& s) const {
        return which == statistic::encoder ? std::int64_t{s.keys} : std::int64_t{s.past} + s.length;
    }

    /// Every pair, one by one.
    [[nodiscard]] constexpr std::uint64_t enumerated(const sequence& s) const {
        std::uint64_t pairs = 0;
        for (std::int64_t i = first_query(s); i < end_of_queries(s); ++i) {
            for (std::int64_t j = 0; j < keys(s); ++j) {
                pairs += attends(i, j) ? weight(i, j, s) : 0U;
            }
        }
        return pairs;
    }

    /// The number of keys that the query at position i sees: the attended ones have no gaps.
    [[nodiscard]] constexpr std::uint64_t row(std::int64_t i, const sequence& s) const {
        std::int64_t first = 0;
        std::int64_t last = keys(s) - 1;
        switch (which) {
            case statistic::causal:
            case statistic::within_window:
                last = i;
                break;
            case statistic::bidirectional:
            case statistic::cross_attention:
            case statistic::encoder:
                break;
            case statistic::prefix_lm:
                last = std::max(i, std::min(last, a - 1));
                break;
            case statistic::sliding_window:
            case statistic::window_squares:
            case statistic::limited_by_window:
                first = std::max(first, i - a + 1);
                last = i;
                break;
            case statistic::window:
                first = a == -1 ? first : std::max(first, i - a);
                last = b == -1 ? last : std::min(last, i + b);
                break;
            case statistic::chunked:
            case statistic::chunk_squares:
                first = i / a * a;
                last = i;
                break;
            case statistic::top_k:
                last = std::min(i, a - 1);
                break;
            case statistic::compressed_keys:
                last = (i + 1) / a - 1;
                break;
            case statistic::box:
                last = std::min(last, a - 1);
                break;
        }
        // Among the keys only the last, the query itself, may weigh less than the first.
        const auto seen = static_cast<std::uint64_t>(last - first + 1);
        return seen == 0 ? 0 : (seen - 1) * weight(i, i - 1, s) + weight(i, last, s);
    }

    [[nodiscard]] uint128 row_by_row(const sequence& s) const {
        uint128 pairs = 0;
        for (std::int64_t i = first_query(s); i < end_of_queries(s); ++i) {
            pairs += row(i, s);
        }
        return pairs;
    }
};

std::string describe(const mask& m, const sequence& s) {
    return m.name() + " of length " + std::to_string(s.length) + ", past " + std::to_string(s.past) + ", keys " +
           std::to_string(s.keys);
}

/// The first difference between pairs() and an enumeration, or none.
class comparison {
  public:
    void check(const mask& m, const sequence& s, uint128 expected) {
        ++compared_;
        const std::uint64_t pairs = m.pairs(s);
        if (uint128{pairs} != expected && first_.empty()) {
            first_ = describe(m, s) + ": " + std::to_string(pairs) + ", not " + floptally::to_string(expected);
        }
    }

    [[nodiscard]] const std::string& first_difference() const { return first_; }
    [[nodiscard]] std::uint64_t compared() const { return compared_; }

  private:
    std::string first_;
    std::uint64_t compared_ = 0;
};

/// Every statistic, with each parameter that changes anything for sequences that end before `end`.
std::vector<definition> every_definition(std::int64_t end) {
    std::vector<definition> all{{statistic::causal},
                                {statistic::bidirectional},
                                {statistic::cross_attention},
                                {statistic::encoder},
                                {statistic::prefix_lm, 0}};
    for (std::int64_t a = 1; a <= end + 1; ++a) {
        for (const statistic which :
             {statistic::sliding_window, statistic::chunked, statistic::top_k, statistic::compressed_keys,
              statistic::box, statistic::prefix_lm, statistic::window_squares, statistic::chunk_squares,
              statistic::within_window, statistic::limited_by_window}) {
            all.push_back({which, a});
        }
    }
    for (std::int64_t left = -1; left <= end; ++left) {
        for (std::int64_t right = -1; right <= end; ++right) {
            all.push_back({statistic::window, left, right});
        }
    }
    return all;
}

class random_definitions {
  public:
    /// A random number from 0 to `most`, of every number of bits equally often.
    std::uint64_t upto(std::uint64_t most) {
        const std::uint64_t below = most >> (engine_() % static_cast<unsigned>(std::bit_width(most | 1U)));
        return engine_() % (below + 1);
    }

    /// A parameter from `least` to `most`.
    std::int64_t parameter(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(upto(static_cast<std::uint64_t>(most - least)));
    }

    definition next(std::int64_t most) {
        const auto which = static_cast<statistic>(engine_() % 15U);
        if (which == statistic::window) {
            return {which, parameter(-1, most), parameter(-1, most)};
        }
        return {which, parameter(1, most)};
    }

  private:
    std::mt19937_64 engine_{20240607};
};

bool is_additive(const definition& d) {
    return d.made().shape() == pair_shape::causal || d.which == statistic::compressed_keys ||
           d.which == statistic::window_squares || d.which == statistic::chunk_squares;
}

template <class F>
std::string refusal(F&& make) {
    try {
        return "accepted as " + make().name();
    } catch (const floptally::error& e) {
        return e.what();
    }
}

// ---- the same enumeration as a constant expression ----

constexpr bool agrees_at_compile_time(const definition& d) {
    for (std::uint32_t length = 0; length <= 7; ++length) {
        for (std::uint32_t past = 0; past <= 5; ++past) {
            const sequence s{length, past, length + 2 * past};
            if (d.made().pairs(s) != d.enumerated(s)) {
                return false;
            }
        }
    }
    return true;
}

static_assert(agrees_at_compile_time({statistic::causal}));
static_assert(agrees_at_compile_time({statistic::bidirectional}));
static_assert(agrees_at_compile_time({statistic::cross_attention}));
static_assert(agrees_at_compile_time({statistic::sliding_window, 1}));
static_assert(agrees_at_compile_time({statistic::sliding_window, 4}));
static_assert(agrees_at_compile_time({statistic::sliding_window, 12}));
static_assert(agrees_at_compile_time({statistic::sliding_window, largest_parameter}));
static_assert(agrees_at_compile_time({statistic::window, 0, 0}));
static_assert(agrees_at_compile_time({statistic::window, 3, 2}));
static_assert(agrees_at_compile_time({statistic::window, -1, 1}));
static_assert(agrees_at_compile_time({statistic::window, 2, -1}));
static_assert(agrees_at_compile_time({statistic::window, -1, -1}));
static_assert(agrees_at_compile_time({statistic::window, largest_parameter, largest_parameter}));
static_assert(agrees_at_compile_time({statistic::chunked, 1}));
static_assert(agrees_at_compile_time({statistic::chunked, 3}));
static_assert(agrees_at_compile_time({statistic::chunked, 8}));
static_assert(agrees_at_compile_time({statistic::top_k, 1}));
static_assert(agrees_at_compile_time({statistic::top_k, 5}));
static_assert(agrees_at_compile_time({statistic::compressed_keys, 1}));
static_assert(agrees_at_compile_time({statistic::compressed_keys, 3}));
static_assert(agrees_at_compile_time({statistic::compressed_keys, 13}));
static_assert(agrees_at_compile_time({statistic::box, 1}));
static_assert(agrees_at_compile_time({statistic::box, 6}));
static_assert(agrees_at_compile_time({statistic::encoder}));
static_assert(agrees_at_compile_time({statistic::prefix_lm, 0}));
static_assert(agrees_at_compile_time({statistic::prefix_lm, 6}));
static_assert(agrees_at_compile_time({statistic::prefix_lm, largest_parameter}));
static_assert(agrees_at_compile_time({statistic::window_squares, 6}));
static_assert(agrees_at_compile_time({statistic::chunk_squares, 4}));
static_assert(agrees_at_compile_time({statistic::within_window, 6}));
static_assert(agrees_at_compile_time({statistic::limited_by_window, 6}));

static_assert(std::is_trivially_copyable_v<mask> && sizeof(mask) == 32);
static_assert(mask{} == mask::causal());

/// The ends of what fits: found by adding up every row, as the hidden test case below does.
struct far_row {
    definition d;
    sequence s;
    std::uint64_t pairs;
};

const std::vector<far_row> far_rows{
    {{statistic::causal}, {4294967295, 0}, 9223372034707292160U},
    {{statistic::causal}, {2147483646, 2147483649}, 6917529022272372735U},
    {{statistic::bidirectional}, {4294967295, 0}, 18446744065119617025U},
    {{statistic::bidirectional}, {2147483646, 2147483649}, 9223372026117357570U},
    {{statistic::sliding_window, 4096}, {4294967295, 0}, 17592177653760U},
    {{statistic::sliding_window, 4096}, {2147483646, 2147483649}, 8796093014016U},
    {{statistic::sliding_window, 2147483647}, {4294967295, 0}, 6917529024419856384U},
    {{statistic::sliding_window, 2147483647}, {2147483646, 2147483649}, 4611686011984936962U},
    {{statistic::window, 64, 64}, {4294967295, 0}, 554050776895U},
    {{statistic::window, 64, 64}, {2147483646, 2147483649}, 277025388254U},
    {{statistic::window, 2147483647, 2147483647}, {4294967295, 0}, 13835058048839712769U},
    {{statistic::window, 2147483647, 2147483647}, {2147483646, 2147483649}, 6917529017977405443U},
    {{statistic::window, -1, 4095}, {4294967295, 0}, 9223389622589978625U},
    {{statistic::window, -1, 4095}, {2147483646, 2147483649}, 6917537816209516545U},
    {{statistic::window, 2147483646, -1}, {4294967295, 0}, 16140901054832181249U},
    {{statistic::window, 2147483646, -1}, {2147483646, 2147483649}, 6917529015829921797U},
    {{statistic::chunked, 8192}, {4294967295, 0}, 17594333519872U},
    {{statistic::chunked, 8192}, {2147483646, 2147483649}, 8797166755839U},
    {{statistic::chunked, 3}, {4294967295, 0}, 8589934590U},
    {{statistic::chunked, 3}, {2147483646, 2147483649}, 4294967292U},
    {{statistic::chunked, 2147483647}, {4294967295, 0}, 4611686016279904257U},
    {{statistic::chunked, 2147483647}, {2147483646, 2147483649}, 2305843008139952126U},
    {{statistic::top_k, 2048}, {4294967295, 0}, 8796090924032U},
    {{statistic::top_k, 2048}, {2147483646, 2147483649}, 4398046507008U},
    {{statistic::compressed_keys, 128}, {4294967295, 0}, 72057591890444288U},
    {{statistic::compressed_keys, 128}, {2147483646, 2147483649}, 54043194421149696U},
    {{statistic::compressed_keys, 3}, {4294967295, 0}, 3074457343470774955U},
    {{statistic::compressed_keys, 3}, {2147483646, 2147483649}, 2305843006708296363U},
    {{statistic::compressed_keys, 2147483647}, {4294967295, 0}, 2147483651U},
    {{statistic::compressed_keys, 2147483647}, {2147483646, 2147483649}, 2147483648U},
    {{statistic::box, 4096}, {4294967295, 0}, 17592186040320U},
    {{statistic::box, 4096}, {2147483646, 2147483649}, 8796093014016U},
    {{statistic::box, 2147483647}, {4294967295, 0}, 9223372030412324865U},
    {{statistic::box, 2147483647}, {2147483646, 2147483649}, 4611686011984936962U},
    {{statistic::prefix_lm, 1024}, {4294967295, 0}, 9223372034707815936U},
    {{statistic::prefix_lm, 1024}, {2147483646, 2147483649}, 6917529022272372735U},
    {{statistic::prefix_lm, 2147483647}, {4294967295, 0}, 11529215040699760641U},
    {{statistic::prefix_lm, 2147483647}, {2147483646, 2147483649}, 6917529022272372735U},
};

}  // namespace

TEST_CASE("the fast reference function of these tests gives the number of keys by the definition of each mask") {
    std::string difference;
    for (const definition& d : every_definition(12)) {
        for (std::uint32_t end = 0; end <= 12; ++end) {
            for (std::uint32_t i = 0; i < end; ++i) {
                const sequence sample{1, i, (5 * end + i) % 13};
                const sequence rest{end - i, i, sample.keys};
                std::uint64_t attended = 0;
                for (std::int64_t j = 0; j < d.keys(rest); ++j) {
                    attended += d.attends(i, j) ? d.weight(i, j, rest) : 0U;
                }
                if (d.row(i, rest) != attended && difference.empty()) {
                    difference = describe(d.made(), rest);
                }
            }
        }
    }
    CHECK(difference.empty());
}

TEST_CASE("every mask has the pairs of its definition for short sequences after a few cached tokens") {
    comparison all;
    for (const definition& d : every_definition(26)) {
        const mask m = d.made();
        for (std::uint32_t length = 0; length <= 24; ++length) {
            for (std::uint32_t past = 0; past <= 12; ++past) {
                const sequence s{length, past, (7 * length + past) % 25};
                all.check(m, s, d.enumerated(s));
            }
        }
    }
    CHECK(all.first_difference() == "");
    CHECK(all.compared() > 200'000);
}

TEST_CASE("cross attention attends every key whatever the number of cached tokens") {
    comparison all;
    const definition d{statistic::cross_attention};
    for (std::uint32_t length = 0; length <= 24; ++length) {
        for (std::uint32_t keys = 0; keys <= 24; ++keys) {
            for (std::uint32_t past = 0; past <= 12; ++past) {
                all.check(d.made(), {length, past, keys}, d.enumerated({length, past, keys}));
            }
        }
    }
    CHECK(all.first_difference() == "");
    CHECK(mask::cross_attention().pairs(sequence{0xFFFF'FFFFU, 0, 0xFFFF'FFFFU}) == 18446744065119617025U);
}

TEST_CASE("in an encoder mask every encoder token attends every encoder token") {
    comparison all;
    const definition d{statistic::encoder};
    for (std::uint32_t keys = 0; keys <= 24; ++keys) {
        for (std::uint32_t length = 0; length <= 9; ++length) {
            all.check(d.made(), {length, 2 * length, keys}, d.enumerated({length, 2 * length, keys}));
        }
    }
    CHECK(all.first_difference() == "");
    CHECK(mask::encoder().pairs(sequence{0, 0, 0xFFFF'FFFFU}) == 18446744065119617025U);
}

TEST_CASE("an encoder window attends the pairs of encoder tokens within its distance") {
    for (const std::int64_t left : {-1, 0, 1, 4, 30}) {
        for (const std::int64_t right : {-1, 0, 2, 9}) {
            const mask near = mask::encoder_window(left, right);
            for (std::uint32_t keys = 0; keys <= 25; ++keys) {
                std::uint64_t pairs = 0;
                for (std::int64_t i = 0; i < keys; ++i) {
                    for (std::int64_t j = 0; j < keys; ++j) {
                        pairs += (left < 0 || i - j <= left) && (right < 0 || j - i <= right) ? 1 : 0;
                    }
                }
                REQUIRE(near.pairs(sequence{.length = 3, .past = 2, .keys = keys}) == pairs);
            }
        }
    }
    CHECK(mask::encoder_window(3, -1).is_of_other_side());
    CHECK(mask::encoder_window(3, -1).name() == "encoder_window(3,-1)");
    CHECK(mask::window(3, -1).on_encoder() == mask::encoder_window(3, -1));
    CHECK(mask::causal().on_encoder() == mask::encoder_window(-1, 0));
    CHECK(mask::bidirectional().on_encoder() == mask::encoder());
}

TEST_CASE("only cross attention and encoder masks depend on the number of encoder tokens") {
    for (const definition& d : every_definition(6)) {
        if (d.which != statistic::cross_attention && d.which != statistic::encoder) {
            CHECK(d.made().pairs(sequence{9, 4, 0}) == d.made().pairs(sequence{9, 4, 1000}));
        }
    }
}

TEST_CASE("every mask has the pairs of its definition for random sequences of thousands of tokens") {
    comparison all;
    random_definitions random;
    for (int round = 0; round < 30'000; ++round) {
        const definition d = random.next(round % 2 == 0 ? 4000 : largest_parameter);
        const sequence s{static_cast<std::uint32_t>(random.upto(3000)), static_cast<std::uint32_t>(random.upto(3000)),
                         static_cast<std::uint32_t>(random.upto(3000))};
        all.check(d.made(), s, d.row_by_row(s));
    }
    CHECK(all.first_difference() == "");
}

TEST_CASE("every mask has the pairs of its definition up to the longest sequence length") {
    comparison all;
    random_definitions random;
    for (int round = 0; round < 30'000; ++round) {
        const definition d = random.next(largest_parameter);
        const auto length = static_cast<std::uint32_t>(random.upto(3000));
        const auto room = static_cast<std::uint32_t>(max_sequence_length - length);
        const std::uint32_t keys = d.which == statistic::encoder ? length : 0xFFFF'FFFFU;
        const sequence s{length, room - static_cast<std::uint32_t>(random.upto(room)), keys};
        all.check(d.made(), s, d.row_by_row(s));
    }
    CHECK(all.first_difference() == "");
}

TEST_CASE("pairs of the longest sequences equal precomputed numbers") {
    comparison all;
    for (const far_row& far : far_rows) {
        all.check(far.d.made(), far.s, far.pairs);
    }
    CHECK(all.first_difference() == "");
    CHECK(all.compared() >= 20);
}

TEST_CASE("the precomputed pairs of the longest sequences equal a sum over their queries", "[.minutes]") {
    for (const far_row& far : far_rows) {
        const uint128 pairs = far.d.row_by_row(far.s);
        INFO(describe(far.d.made(), far.s));
        CHECK(floptally::to_string(pairs) == std::to_string(far.pairs));
    }
}

TEST_CASE(
    "causal pairs of a sequence equal those of its first part plus those of its second part after the first part is "
    "cached") {
    std::string difference;
    random_definitions random;
    for (int round = 0; round < 20'000; ++round) {
        const definition d = random.next(largest_parameter);
        if (!is_additive(d)) {
            continue;
        }
        const mask m = d.made();
        const std::uint64_t end = max_sequence_length - random.upto(max_sequence_length);
        const std::uint64_t middle = random.upto(end);
        const std::uint64_t past = random.upto(middle);
        const sequence whole{static_cast<std::uint32_t>(end - past), static_cast<std::uint32_t>(past)};
        const sequence first{static_cast<std::uint32_t>(middle - past), static_cast<std::uint32_t>(past)};
        const sequence second{static_cast<std::uint32_t>(end - middle), static_cast<std::uint32_t>(middle)};
        if (uint128{m.pairs(first)} + m.pairs(second) != m.pairs(whole) && difference.empty()) {
            difference = describe(m, whole) + " at " + std::to_string(middle);
        }
    }
    CHECK(difference == "");
}

TEST_CASE("the pairs of a window are all pairs minus the pairs left and right of the window") {
    std::string difference;
    random_definitions random;
    for (int round = 0; round < 20'000; ++round) {
        const std::int64_t left = random.parameter(0, largest_parameter);
        const std::int64_t right = random.parameter(0, largest_parameter);
        const std::uint64_t end = max_sequence_length - random.upto(max_sequence_length);
        const std::uint64_t past = random.upto(end);
        const sequence s{static_cast<std::uint32_t>(end - past), static_cast<std::uint32_t>(past)};
        const uint128 all = uint128{end} * (end - past);
        const uint128 to_the_left = all - mask::window(left, -1).pairs(s);
        const uint128 to_the_right = all - mask::window(-1, right).pairs(s);
        const sequence square{static_cast<std::uint32_t>(end)};
        const bool whole = mask::bidirectional().pairs(s) == all;
        const bool parts = mask::window(left, right).pairs(s) == all - to_the_left - to_the_right;
        const bool mirror = mask::window(left, right).pairs(square) == mask::window(right, left).pairs(square);
        if (!(whole && parts && mirror) && difference.empty()) {
            difference = describe(mask::window(left, right), s);
        }
    }
    CHECK(difference == "");
}

TEST_CASE("a wider mask attends at least as many pairs as a narrower mask") {
    std::string difference;
    random_definitions random;
    const auto compare = [&difference](const mask& narrow, const mask& wide, const sequence& s) {
        if (narrow.pairs(s) > wide.pairs(s) && difference.empty()) {
            difference = describe(narrow, s) + " against " + wide.name();
        }
    };
    for (int round = 0; round < 20'000; ++round) {
        const std::int64_t more = random.parameter(1, largest_parameter);
        const std::int64_t less = random.parameter(1, more);
        const std::int64_t other = random.parameter(-1, largest_parameter);
        const auto past = static_cast<std::uint32_t>(random.upto(max_sequence_length));
        const sequence s{static_cast<std::uint32_t>(random.upto(max_sequence_length - past)), past};
        compare(mask::sliding_window(less), mask::sliding_window(more), s);
        compare(mask::sliding_window(more), mask::causal(), s);
        compare(mask::top_k(less), mask::top_k(more), s);
        compare(mask::box(less), mask::box(more), s);
        compare(mask::window(less, other), mask::window(more, other), s);
        compare(mask::window(other, less), mask::window(other, more), s);
        compare(mask::window(other, more), mask::window(other, -1), s);
        compare(mask::chunked(more), mask::sliding_window(more), s);
        // A longer block makes fewer keys.
        compare(mask::compressed_keys(more), mask::compressed_keys(less), s);
    }
    CHECK(difference == "");
}

TEST_CASE("equal masks made by different functions compare equal") {
    CHECK(mask::window(-1, -1) == mask::bidirectional());
    CHECK(mask::window(-1, 0) == mask::causal());
    CHECK(mask{} == mask::causal());
    for (const std::int64_t tokens : {std::int64_t{1}, std::int64_t{2}, std::int64_t{4096}, largest_parameter}) {
        CHECK(mask::window(tokens - 1, 0) == mask::sliding_window(tokens));
        CHECK_FALSE(mask::window(tokens, 0) == mask::sliding_window(tokens));
        CHECK_FALSE(mask::top_k(tokens) == mask::sliding_window(tokens));  // conventions tell them apart
    }
    CHECK_FALSE(mask::chunked(8) == mask::box(8));
    CHECK_FALSE(mask::chunked(8) == mask::chunked(9));
    CHECK_FALSE(mask::window(1, 2) == mask::window(2, 1));
    CHECK_FALSE(mask::bidirectional() == mask::cross_attention());
}

TEST_CASE(
    "a top-k mask has the pairs of a sliding window of k, and a mask of one-token chunks has one pair per token") {
    random_definitions random;
    for (int round = 0; round < 1000; ++round) {
        const auto past = static_cast<std::uint32_t>(random.upto(max_sequence_length));
        const sequence s{static_cast<std::uint32_t>(random.upto(max_sequence_length - past)), past};
        const std::int64_t k = random.parameter(1, largest_parameter);
        REQUIRE(mask::top_k(k).pairs(s) == mask::sliding_window(k).pairs(s));
        REQUIRE(mask::chunked(1).pairs(s) == s.length);
        REQUIRE(mask::sliding_window(1).pairs(s) == s.length);
        REQUIRE(mask::window(0, 0).pairs(s) == s.length);
        REQUIRE(mask::box(1).pairs(s) == s.length);
        REQUIRE(mask::compressed_keys(1).pairs(s) == mask::causal().pairs(s));
    }
}

TEST_CASE(
    "pairs() refuses a sequence above the longest length, and the unchecked amount_of_countable() accepts the "
    "sequence") {
    random_definitions random;
    for (int round = 0; round < 1000; ++round) {
        const mask m = random.next(largest_parameter).made();
        const sequence s{0xFFFF'FFFFU, static_cast<std::uint32_t>(random.upto(max_sequence_length)), 0xFFFF'FFFFU};
        REQUIRE(m.amount_of_countable(s) == m.amount_of_countable(s));
        REQUIRE(
            (s.past == 0 || error_of([&] { return m.pairs(s); }).starts_with("past: past + length must be at most ")));
    }
}

TEST_CASE("every mask in golden/mask_pairs.json has the number of pairs that the file lists") {
    std::ifstream file(FLOPTALLY_GOLDEN_DIR "/mask_pairs.json");
    const nlohmann::json rows = nlohmann::json::parse(file);
    comparison all;
    for (const nlohmann::json& row : rows) {
        const auto kind = row.at("mask").get<std::string>();
        const nlohmann::json& args = row.at("args");
        const auto arg = [&args](std::size_t i) { return args.at(i).get<std::int64_t>(); };
        mask m;
        sequence s;
        if (kind == "hstu") {  // contextual, history, targets, target group, causal
            m = mask::hstu({.is_causal = args.at(4).get<bool>()});
            s.context = args.at(0).get<std::uint32_t>();
            s.targets = args.at(2).get<std::uint32_t>();
            s.target_group = args.at(3).get<std::uint32_t>();
        } else if (kind == "bidirectional") {
            m = mask::bidirectional();
        } else if (kind == "sliding_window") {
            m = mask::sliding_window(arg(0));
        } else if (kind == "two_sided_window") {
            m = mask::window(arg(0), arg(1));
        } else if (kind == "chunked") {
            m = mask::chunked(arg(0));
        } else if (kind == "topk") {
            m = mask::top_k(arg(0));
        } else if (kind == "compressed_blocks") {
            m = mask::compressed_keys(arg(0));
        } else if (kind == "prefix_lm") {
            m = mask::prefix_lm(arg(0));
        } else {
            REQUIRE(kind == "causal");
        }
        const auto queries = row.at("n_q").get<std::uint32_t>();
        const auto keys = row.at("n_k").get<std::uint32_t>();
        REQUIRE(keys >= queries);
        // Queries are the last of the keys' tokens.
        s.length = queries;
        s.past = keys - queries;
        all.check(m, s, row.at("pairs").get<std::uint64_t>());
    }
    CHECK(all.first_difference() == "");
    CHECK(all.compared() == 445);
}

TEST_CASE("a mask parameter out of range is an error with its public name") {
    constexpr std::int64_t above = largest_parameter + 1;
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
    struct factory {
        mask (*make)(std::int64_t);
        std::string field;
        std::int64_t least;
    };
    const std::vector<factory> factories{
        {[](std::int64_t n) { return mask::sliding_window(n); }, "sliding_window", 1},
        {[](std::int64_t n) { return mask::window(n, 0); }, "window.left", -1},
        {[](std::int64_t n) { return mask::window(-1, n); }, "window.right", -1},
        {[](std::int64_t n) { return mask::chunked(n); }, "attention_chunk_size", 1},
        {[](std::int64_t n) { return mask::top_k(n); }, "top_k", 1},
        {[](std::int64_t n) { return mask::compressed_keys(n); }, "compression_ratio", 1},
        {[](std::int64_t n) { return mask::box(n); }, "sliding_window", 1},
        {[](std::int64_t n) { return mask::prefix_lm(n); }, "prefix_lm", 0},
        {[](std::int64_t n) { return mask(make_statistic<maxtext::window_squares>(n)); }, "sliding_window", 1},
        {[](std::int64_t n) { return mask(make_statistic<maxtext::chunk_squares>(n)); }, "attention_chunk_size", 1},
        {[](std::int64_t n) { return mask(make_statistic<megatron_bridge::within_window>(n)); }, "sliding_window", 1},
        {[](std::int64_t n) { return mask(make_statistic<megatron_bridge::limited_by_window>(n)); }, "sliding_window",
         1},
    };
    for (const factory& f : factories) {
        for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-2}, std::int64_t{-4096}, above,
                                     std::int64_t{4294967296}, std::int64_t{4294967297}, lowest, highest}) {
            INFO(f.field << " " << n);
            if (n >= f.least && n <= largest_parameter) {
                CHECK_NOTHROW(f.make(n));
            } else {
                CHECK(refusal([&] { return f.make(n); }) == f.field + ": must be from " + std::to_string(f.least) +
                                                                " to 2147483647, got " + std::to_string(n));
            }
        }
        CHECK_NOTHROW(f.make(f.least));
        CHECK_NOTHROW(f.make(largest_parameter));
    }
    CHECK(refusal([] { return mask::sliding_window(0); }) == "sliding_window: must be from 1 to 2147483647, got 0");
    CHECK(refusal([] { return mask::window(-2, 0); }) == "window.left: must be from -1 to 2147483647, got -2");
    CHECK(refusal([] { return mask::window(-2, -2); }) == "window.left: must be from -1 to 2147483647, got -2");
}

TEST_CASE("a mask has the name that reports print") {
    CHECK(mask::sliding_window(1).name() == "sliding_window(1)");
    CHECK(mask::window(-1, 0).name() == "causal");
    CHECK(mask::window(-1, 1).name() == "window(-1,1)");
    CHECK(mask::window(0, -1).name() == "window(0,-1)");
    CHECK(mask{}.name() == "causal");
    CHECK(mask::causal().name() == "causal");
    CHECK(mask::bidirectional().name() == "bidirectional");
    CHECK(mask::sliding_window(1).name() == "sliding_window(1)");
    CHECK(mask::sliding_window(4096).name() == "sliding_window(4096)");
    CHECK(mask::sliding_window(largest_parameter).name() == "sliding_window(2147483647)");
    CHECK(mask::window(4095, 0).name() == "sliding_window(4096)");
    CHECK(mask::window(64, 64).name() == "window(64,64)");
    CHECK(mask::window(-1, 3).name() == "window(-1,3)");
    CHECK(mask::window(3, -1).name() == "window(3,-1)");
    CHECK(mask::chunked(8192).name() == "chunked(8192)");
    CHECK(mask::top_k(2048).name() == "top_k(2048)");
    CHECK(mask::compressed_keys(128).name() == "compressed_keys(128)");
    CHECK(mask::box(4096).name() == "box(4096)");
    CHECK(mask::cross_attention().name() == "cross_attention");
    CHECK(mask::encoder().name() == "encoder");
    CHECK(mask::prefix_lm(256).name() == "prefix_lm(256)");
    CHECK(floptally::statistic(make_statistic<maxtext::window_squares>(8)).name() == "window_squares(8)");
    CHECK(floptally::statistic(maxtext::chunk_squares{8}).name() == "chunk_squares(8)");
    CHECK(floptally::statistic(make_statistic<megatron_bridge::within_window>(8)).name() == "within_window(8)");
    CHECK(floptally::statistic(make_statistic<megatron_bridge::limited_by_window>(8)).name() == "limited_by_window(8)");
}

TEST_CASE(
    "is<T>() tells whether a statistic was made from struct T, and as<T>() returns the parameters in this struct") {
    CHECK(mask::window(7, 5).is<mask_statistics::band>());
    CHECK(mask::window(7, 5).as<mask_statistics::band>().left == 7);
    CHECK(mask::window(7, 5).as<mask_statistics::band>().right == 5);
    CHECK(mask::causal().as<mask_statistics::band>().left == -1);
    CHECK(mask::causal().as<mask_statistics::band>().right == 0);
    CHECK(mask::sliding_window(8).as<mask_statistics::band>().left == 7);
    CHECK(mask::chunked(8).as<mask_statistics::chunked>().tokens == 8);
    CHECK_FALSE(mask::chunked(8).is<mask_statistics::band>());
    CHECK(mask::top_k(8).as<mask_statistics::top_k>().keys == 8);
    CHECK(mask::compressed_keys(8).as<mask_statistics::compressed_keys>().ratio == 8);
    CHECK(mask::cross_attention().is<mask_statistics::cross_attention>());
    CHECK(mask::encoder().is_of_other_side());
    CHECK(mask::cross_attention().reads_other_side());
    CHECK_FALSE(mask::cross_attention().is_of_other_side());
    CHECK(mask::prefix_lm(8).as<mask_statistics::prefix_lm>().tokens == 8);
}

TEST_CASE("only causal, bidirectional and cross attention are computed from sums of L and L^2") {
    CHECK(mask::causal().is_polynomial());
    CHECK(mask::bidirectional().is_polynomial());
    CHECK(mask::cross_attention().is_polynomial());
    CHECK_FALSE(mask::sliding_window(largest_parameter).is_polynomial());
    CHECK_FALSE(mask::sliding_window(1).is_polynomial());
    CHECK_FALSE(mask::window(0, 0).is_polynomial());
    CHECK_FALSE(mask::window(-1, 1).is_polynomial());
    CHECK_FALSE(mask::window(1, -1).is_polynomial());
    CHECK_FALSE(mask::chunked(1).is_polynomial());
    CHECK_FALSE(mask::top_k(1).is_polynomial());
    CHECK_FALSE(mask::compressed_keys(2).is_polynomial());
    CHECK_FALSE(mask::box(1).is_polynomial());
    CHECK_FALSE(mask::encoder().is_polynomial());
    CHECK_FALSE(mask::prefix_lm(2).is_polynomial());
}

TEST_CASE("a mask is causal only if no query attends a later key") {
    std::size_t causal = 0;
    for (const definition& d : every_definition(5)) {
        bool looks_ahead = d.which == statistic::cross_attention || d.which == statistic::encoder;
        for (std::int64_t i = 0; i < 6; ++i) {
            for (std::int64_t j = i + 1; j < 6; ++j) {
                looks_ahead =
                    looks_ahead || (d.which != statistic::top_k && d.which != statistic::box && d.attends(i, j));
            }
        }
        INFO(d.made().name());
        causal += d.made().shape() == pair_shape::causal ? 1U : 0U;
        CHECK_FALSE((d.made().shape() == pair_shape::causal && looks_ahead));
    }
    CHECK(causal > 10);
}

TEST_CASE("top-k and a sliding window of equal size share one accumulator") {
    CHECK(mask::top_k(100).canonical() == mask::sliding_window(100));
    CHECK(mask::sliding_window(100).canonical() == mask::sliding_window(100));
    CHECK(mask::chunked(100).canonical() == mask::chunked(100));
    CHECK_FALSE(mask::top_k(100).canonical() == mask::top_k(100));
}

}  // namespace mask_test

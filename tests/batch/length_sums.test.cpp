// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/statistics/mask.hpp>

#include "catch2.hpp"
#include "sanitized.hpp"
#include "whole_sums.hpp"

namespace length_sums_test {
namespace {

using floptally::error;
using floptally::make_statistic;
using floptally::mask;
namespace maxtext = floptally::maxtext;
namespace megatron_bridge = floptally::megatron_bridge;
using floptally::mask_set;
using floptally::max_sequence_length;
using floptally::overflow;
using namespace floptally::detail;
using namespace whole_sums;

mask_set set_of(const std::vector<mask>& masks) {
    mask_set set;
    for (const floptally::statistic& m : masks) {
        set.find_or_add(m, "masks");
    }
    return set;
}

/// Every kind of mask, with parameters at, below and above the bounds at which the block form changes its mind.
std::vector<mask> every_mask() {
    std::vector<mask> masks{mask::causal(), mask::bidirectional(), mask::cross_attention(), mask::encoder(),
                            mask::prefix_lm(0)};
    const std::vector<std::int64_t> parameters{
        1,         2,         3,         4,         5,         7,           64,          127,        128,
        129,       512,       1000,      3000,      4096,      8191,        8192,        16383,      16384,
        32766,     32767,     32768,     32769,     65535,     65536,       99999,       131072,     524287,
        4'194'302, 4'194'303, 4'194'304, 4'194'305, 8'388'608, 134'217'728, 0x7FFF'FFFE, 0x7FFF'FFFF};
    for (const std::int64_t p : parameters) {
        masks.push_back(mask::sliding_window(p));
        masks.push_back(mask::chunked(p));
        masks.push_back(mask::top_k(p));
        masks.push_back(mask::compressed_keys(p));
        masks.push_back(mask::box(p));
        masks.push_back(make_statistic<maxtext::window_squares>(p));
        masks.push_back(make_statistic<maxtext::chunk_squares>(p));
        masks.push_back(make_statistic<megatron_bridge::within_window>(p));
        masks.push_back(make_statistic<megatron_bridge::limited_by_window>(p));
        masks.push_back(mask::prefix_lm(p));
        masks.push_back(mask::window(p, p / 2));
        masks.push_back(mask::window(-1, p));
        masks.push_back(mask::window(0, p - 1));
        masks.push_back(mask::window(p - 1, -1));
    }
    return masks;
}

/// The masks in sets as large as they get.
std::vector<mask_set> every_mask_in_sets() {
    std::vector<mask_set> sets(1);
    for (const floptally::statistic& m : every_mask()) {
        if (sets.back().size() == 16) {
            sets.emplace_back();
        }
        sets.back().find_or_add(m, "masks");
    }
    return sets;
}

using random_engine = std::mt19937_64;

std::uint64_t below(random_engine& random, std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
}

/// Lengths below `limit`: evenly, near 0, near the limit, or 0.
std::vector<std::uint64_t> random_lengths(random_engine& random, std::size_t n, std::uint64_t limit) {
    const std::uint64_t shape = below(random, 5);
    std::vector<std::uint64_t> lengths(n);
    for (std::uint64_t& length : lengths) {
        switch (shape == 4 ? below(random, 4) : shape) {
            case 0:
                length = below(random, limit);
                break;
            case 1:
                length = below(random, std::min<std::uint64_t>(limit, 20));
                break;
            case 2:
                length = limit - 1 - below(random, std::min<std::uint64_t>(limit, 3));
                break;
            default:
                length = below(random, 8) == 0 ? below(random, limit) : 0;
        }
    }
    return lengths;
}

struct outcome {
    std::optional<length_sums> sums;
    std::string problem;

    friend bool operator==(const outcome&, const outcome&) = default;
};

template <class F>
outcome outcome_of(const F& f) {
    try {
        return {f(), ""};
    } catch (const overflow& e) {
        return {std::nullopt, std::string("overflow ") + e.what()};
    } catch (const error& e) {
        return {std::nullopt, e.what()};
    }
}

template <class T>
std::string problem_of_lengths(const std::vector<T>& lengths) {
    const outcome fast = outcome_of([&] { return sum_lengths(lengths.data(), lengths.size(), {}); });
    REQUIRE(fast == outcome_of([&] { return sum_lengths_plainly(lengths.data(), lengths.size(), {}); }));
    return fast.problem;
}

template <class T>
std::string problem_of_boundaries(const std::vector<T>& boundaries) {
    const outcome fast = outcome_of([&] { return sum_cu_seqlens(boundaries.data(), boundaries.size(), {}); });
    REQUIRE(fast == outcome_of([&] { return sum_cu_seqlens_plainly(boundaries.data(), boundaries.size(), {}); }));
    return fast.problem;
}

template <class T>
void require_same(const std::vector<std::uint64_t>& lengths, const mask_set& masks) {
    std::vector<T> narrow;
    std::vector<T> boundaries{0};
    std::uint64_t end = 0;
    const auto limit = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    for (const std::uint64_t length : lengths) {
        narrow.push_back(static_cast<T>(std::min(length, limit)));
        if (end + length <= limit) {
            end += length;
            boundaries.push_back(static_cast<T>(end));
        }
    }
    // Not where a vector would begin.
    for (const std::size_t offset : {0U, 1U, 3U}) {
        if (offset <= narrow.size()) {
            const T* first = narrow.data() + offset;
            const std::size_t n = narrow.size() - offset;
            REQUIRE(outcome_of([&] { return sum_lengths(first, n, masks); }) ==
                    outcome_of([&] { return sum_lengths_plainly(first, n, masks); }));
        }
    }
    REQUIRE(outcome_of([&] { return sum_cu_seqlens(boundaries.data(), boundaries.size(), masks); }) ==
            outcome_of([&] { return sum_cu_seqlens_plainly(boundaries.data(), boundaries.size(), masks); }));
}

/// A user's statistic whose sum does not fit after a few lengths, and which refuses one length.
struct heavy {
    std::int32_t power;
    std::int32_t refused;

    static constexpr std::string_view name = "heavy";

    std::uint64_t operator()(const floptally::sequence& s) const {
        if (s.length == static_cast<std::uint32_t>(refused)) {
            throw error("heavy", "has no " + std::to_string(refused));
        }
        return s.length == 0 ? 0 : std::uint64_t{1} << static_cast<unsigned>(power);
    }
};

const std::vector<std::size_t> sizes{0,    1,    2,    7,    8,    9,    15,   16,   17,   23,   24,   25,   31,
                                     64,   100,  511,  512,  513,  519,  520,  535,  536,  1023, 1024, 1025, 1031,
                                     1536, 2047, 2048, 2049, 3071, 3072, 3073, 4095, 4096, 4097, 5000};

const std::vector<std::uint64_t> limits{2,         300,       8001,      0x7FFF,     0x8000,      0x8001,       100'000,
                                        0x3F'FFFF, 0x40'0000, 0x40'0001, 0x800'0000, 0x8000'0000, 0x1'0000'0000};

constexpr std::int32_t three[] = {3, 0, 5};
constexpr std::int32_t three_boundaries[] = {0, 3, 3, 8};
constexpr length_sums three_sums = sum_lengths(three, 3, {});
static_assert(three_sums.count == 2 && three_sums.tokens == 8 && three_sums.squares == 34);
static_assert(three_sums == sum_cu_seqlens(three_boundaries, 4, {}));

}  // namespace

TEST_CASE("sums over a few lengths match a hand calculation", "[length_sums]") {
    const mask_set masks =
        set_of({mask::causal(), mask::sliding_window(2), mask::chunked(2), mask::compressed_keys(2)});
    const length_sums sums = sum_lengths(three, 3, masks);
    CHECK(sums.count == 2);
    CHECK(sums.tokens == 8);
    CHECK(sums.squares == 34);
    CHECK(sums.pairs[0] == 6 + 15);
    CHECK(sums.pairs[1] == 5 + 9);
    CHECK(sums.pairs[2] == 4 + 7);
    CHECK(sums.pairs[3] == 2 + 6);
    CHECK(sums == sum_cu_seqlens(three_boundaries, 4, masks));
    CHECK(sum_lengths(three, 0, masks) == length_sums{masks});
    CHECK(sum_cu_seqlens(three_boundaries, 1, masks) == length_sums{masks});
}

TEMPLATE_TEST_CASE("summing lengths in blocks equals summing the lengths one by one", "[length_sums]", std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, long long, unsigned long long) {
    random_engine random(1);
    const std::vector<mask> masks = every_mask();
    std::size_t number = 0;
    for (const std::size_t n : sizes) {
        for (const std::uint64_t limit : limits) {
            if (skipped_when_sanitized(number++, 5)) {
                continue;
            }
            mask_set some;
            for (int i = 0; i < 3; ++i) {
                some.find_or_add(masks[below(random, masks.size())], "masks");
            }
            CAPTURE(n, limit, some[0].name());
            require_same<TestType>(random_lengths(random, n, limit), some);
        }
    }
}

TEST_CASE("summing lengths block by block equals a plain loop under every mask", "[length_sums]") {
    random_engine random(2);
    std::size_t number = 0;
    for (const mask_set& masks : every_mask_in_sets()) {
        if (skipped_when_sanitized(number++, 5)) {
            continue;
        }
        for (const std::uint64_t limit : limits) {
            for (const std::size_t n : {100U, 1100U}) {
                CAPTURE(n, limit, masks[0].name());
                require_same<std::int32_t>(random_lengths(random, n, limit), masks);
            }
        }
    }
}

TEST_CASE("consecutive blocks with small and large lengths are summed correctly", "[length_sums]") {
    random_engine random(3);
    const std::vector<mask> masks = every_mask();
    for (int repeat = 0; repeat < (is_sanitized ? 60 : 300); ++repeat) {
        std::vector<std::uint64_t> lengths;
        const std::size_t pieces = 1 + below(random, 8);
        for (std::size_t piece = 0; piece < pieces; ++piece) {
            const std::uint64_t limit = limits[below(random, limits.size() - 2)];
            const std::vector<std::uint64_t> more = random_lengths(random, below(random, 1300), limit);
            lengths.insert(lengths.end(), more.begin(), more.end());
        }
        mask_set some;
        for (int i = 0; i < 4; ++i) {
            some.find_or_add(masks[below(random, masks.size())], "masks");
        }
        CAPTURE(repeat, lengths.size());
        require_same<std::int32_t>(lengths, some);
        require_same<std::uint64_t>(lengths, some);
    }
}

TEST_CASE(
    "sums over 1024 equal lengths are correct just below, at and just above the length limits of blockwise summation",
    "[length_sums]") {
    std::size_t number = 0;
    for (const std::uint64_t length : {32766U, 32767U, 32768U, 4'194'302U, 4'194'303U, 4'194'304U, 4'194'305U}) {
        for (const mask_set& masks : every_mask_in_sets()) {
            if (skipped_when_sanitized(number++, 5)) {
                continue;
            }
            CAPTURE(length, masks[0].name());
            require_same<std::int64_t>(std::vector<std::uint64_t>(1024, length), masks);
        }
    }
}

TEST_CASE("attended pairs of a block of lengths are summed correctly for every chunk and window size of a mask",
          "[length_sums]") {
    random_engine random(5);
    const std::vector<std::uint64_t> lengths = random_lengths(random, 130, 0x8000);
    const std::vector<std::int32_t> narrow(lengths.begin(), lengths.end());
    std::uint64_t wrong = 0;
    for (std::int64_t parameter = 1; parameter < 0x8000 + 100; parameter += is_sanitized ? 25 : 1) {
        const mask_set masks =
            set_of({mask::chunked(parameter), mask::compressed_keys(parameter), mask::sliding_window(parameter),
                    mask::box(parameter), make_statistic<maxtext::window_squares>(parameter),
                    make_statistic<maxtext::chunk_squares>(parameter),
                    make_statistic<megatron_bridge::within_window>(parameter),
                    make_statistic<megatron_bridge::limited_by_window>(parameter)});
        wrong +=
            sum_lengths(narrow.data(), narrow.size(), masks) == sum_lengths_plainly(narrow.data(), narrow.size(), masks)
                ? 0U
                : 1U;
    }
    CHECK(wrong == 0);
}

TEST_CASE("no mask has more than L^2 pairs, so a sum of pairs cannot overflow before the sum of squares",
          "[length_sums]") {
    for (const floptally::statistic& m : every_mask()) {
        for (const std::uint64_t length : {0ULL, 1ULL, 2ULL, 3ULL, 5000ULL, 65537ULL, 0xFFFF'FFFEULL, 0xFFFF'FFFFULL}) {
            CAPTURE(m.name(), length);
            CHECK(m.pairs({.length = static_cast<std::uint32_t>(length)}) <= length * length);
        }
    }
}

TEST_CASE("an error for an invalid length names its index, wherever the length is in the list", "[length_sums]") {
    for (const std::size_t n : {3U, 40U, is_sanitized ? 300U : 1100U}) {
        for (std::size_t i = 0; i < n; ++i) {
            CAPTURE(n, i);
            const std::string field = "lengths[" + std::to_string(i) + "]: ";
            std::vector<std::int32_t> narrow(n, 1000);
            narrow[i] = -5;
            REQUIRE(problem_of_lengths(narrow) == field + "must be at least 0, got -5");
            narrow[n - 1] = -6;  // the first is named
            narrow[i] = -2'147'483'647 - 1;
            REQUIRE(problem_of_lengths(narrow) == field + "must be at least 0, got -2147483648");

            std::vector<std::int64_t> wide(n, 1000);
            wide[i] = -5;
            REQUIRE(problem_of_lengths(wide) == field + "must be at least 0, got -5");
            wide[i] = 4'294'967'296;
            REQUIRE(problem_of_lengths(wide) == field + "must be at most 4294967295, got 4294967296");
            wide[i] = std::numeric_limits<std::int64_t>::min();
            REQUIRE(problem_of_lengths(wide) == field + "must be at least 0, got -9223372036854775808");

            std::vector<std::uint64_t> natural(n, 40'000);
            natural[i] = std::numeric_limits<std::uint64_t>::max();
            REQUIRE(problem_of_lengths(natural) == field + "must be at most 4294967295, got 18446744073709551615");
        }
    }
    const std::vector<std::int32_t> lengths{1, -1};
    CHECK(outcome_of([&] { return sum_lengths(lengths.data(), 2, {}, "batch"); }).problem ==
          "batch[1]: must be at least 0, got -1");
}

TEST_CASE("a user's statistic that overflows or throws in a block reports the same error as for single lengths",
          "[length_sums]") {
    mask_set masks;
    for (const heavy& example : {heavy{59, 77}, heavy{61, 0x7FFF'FFFF}, heavy{0, 55}}) {
        masks.find_or_add(example, "masks");
    }
    const auto same = [&](const std::vector<std::int32_t>& lengths) {
        const outcome fast = outcome_of([&] { return sum_lengths(lengths.data(), lengths.size(), masks); });
        REQUIRE(fast == outcome_of([&] { return sum_lengths_plainly(lengths.data(), lengths.size(), masks); }));
        floptally::tally full{masks};
        full.add_lengths(std::vector<int>{3, 4});
        const floptally::tally before = full;
        const outcome result = outcome_of([&] {
            full.add_lengths(lengths);
            return length_sums{masks};
        });
        REQUIRE((result.sums.has_value() || full == before));
        REQUIRE((fast.problem.empty() || result.problem == fast.problem));
        return fast.problem;
    };
    for (const std::size_t n : {2U, 7U, 8U, 16U, 512U, 513U, 1100U}) {
        for (const std::int32_t length : {5, 5'000'000}) {  // in blocks, and too long for one
            CAPTURE(n, length);
            std::vector<std::int32_t> lengths(n, length);
            // Eight sums of the second statistic are 2^64; the first statistic has not yet overflowed then.
            const std::string overflows =
                "overflow heavy(61,2147483647): the sum does not fit 64 bits: count fewer samples";
            CHECK(same(lengths) == (n < 8 ? "" : overflows));
            std::fill(lengths.begin(), lengths.end() - 1, 0);
            CHECK(same(lengths).empty());
            lengths[n - 1] = 77;
            CHECK(same(lengths) == "heavy: has no 77");
            lengths[n - 2] = 55;  // of the last statistic, but before it
            CHECK(same(lengths) == "heavy: has no 55");
            lengths[n - 2] = -1;
            CHECK(same(lengths) == "lengths[" + std::to_string(n - 2) + "]: must be at least 0, got -1");
        }
    }
}

TEST_CASE("an error for a decreasing boundary names its index, wherever the boundary is in the list", "[length_sums]") {
    for (const std::size_t n : {3U, 40U, is_sanitized ? 300U : 1100U}) {
        for (std::size_t i = 1; i < n; ++i) {
            CAPTURE(n, i);
            const std::string field = "cu_seqlens[" + std::to_string(i) + "]: ";
            std::vector<std::int32_t> even(n);
            for (std::size_t j = 0; j < n; ++j) {
                even[j] = static_cast<std::int32_t>(100 * j);
            }
            const std::vector<std::int64_t> even64(even.begin(), even.end());
            const std::string before = std::to_string(even[i - 1]);

            std::vector<std::int32_t> bad = even;
            bad[i] = -5;
            REQUIRE(problem_of_boundaries(bad) == field + "must be at least 0, got -5");
            if (i > 1) {
                bad[i] = even[i - 1] - 1;
                REQUIRE(problem_of_boundaries(bad) == field + "must be at least the boundary before it, " + before +
                                                          ", got " + std::to_string(bad[i]));
                const std::vector<std::uint32_t> natural(bad.begin(), bad.end());
                REQUIRE(problem_of_boundaries(natural) == problem_of_boundaries(bad));
            }

            std::vector<std::int64_t> far = even64;
            for (std::size_t j = i; j < n; ++j) {
                far[j] += 4'294'967'196;
            }
            REQUIRE(problem_of_boundaries(far) == field + "must be at most 4294967295 above the boundary before it, " +
                                                      before + ", got " + std::to_string(far[i]));
            for (std::size_t j = i; j < n; ++j) {
                --far[j];
            }
            REQUIRE(problem_of_boundaries(far).empty());
        }
    }
}

TEST_CASE("an empty list of boundaries or a first boundary other than 0 is an error", "[length_sums]") {
    const std::vector<std::int32_t> none;
    CHECK(problem_of_boundaries(none) ==
          "cu_seqlens: must have at least one boundary, the 0 at its beginning, got none");
    CHECK(problem_of_boundaries(std::vector<std::int32_t>{3, 5}) == "cu_seqlens[0]: must be 0, got 3");
    CHECK(problem_of_boundaries(std::vector<std::int64_t>{-3}) == "cu_seqlens[0]: must be 0, got -3");
    CHECK(problem_of_boundaries(std::vector<std::uint32_t>(1000, 7)) == "cu_seqlens[0]: must be 0, got 7");
    CHECK(outcome_of([&] { return sum_cu_seqlens(none.data(), 0, {}, "cu_seqlens_padded"); }).problem ==
          "cu_seqlens_padded: must have at least one boundary, the 0 at its beginning, got none");
}

TEST_CASE("boundaries that wrapped around at 2^31 or 2^32 are detected", "[length_sums]") {
    for (const std::uint32_t length : {1000U, 32767U, 32768U, 4'194'303U, 4'194'304U, 1'000'000'000U}) {
        // From close below the wrap in one step where that is a length of its own, so that every place is tried.
        for (const std::size_t gap : {1U, 2U, 100U, 511U, 512U, 513U, 600U}) {
            for (const std::uint64_t top : {0x8000'0000ULL, 0x1'0000'0000ULL}) {
                CAPTURE(length, gap, top);
                const std::uint64_t run = std::uint64_t{length} * gap;
                std::vector<std::uint32_t> wrapped{0};
                if (run < top) {
                    wrapped.push_back(static_cast<std::uint32_t>(top - run));
                }
                const std::size_t start = wrapped.size();
                for (std::size_t i = 0; i < 1200; ++i) {
                    wrapped.push_back(wrapped.back() + length);
                }
                if (top == 0x1'0000'0000ULL) {
                    const auto bad = std::is_sorted_until(wrapped.begin(), wrapped.end());
                    const std::string field = "cu_seqlens[" + std::to_string(bad - wrapped.begin()) + "]: ";
                    REQUIRE((bad != wrapped.end() || start == 1));
                    const std::string problem = problem_of_boundaries(wrapped);
                    REQUIRE(problem == (bad == wrapped.end()
                                            ? ""
                                            : field + "must be at least the boundary before it, " +
                                                  std::to_string(*(bad - 1)) + ", got " + std::to_string(*bad)));
                } else {
                    const std::vector<std::int32_t> narrow(wrapped.begin(), wrapped.end());
                    const auto bad = std::find_if(narrow.begin(), narrow.end(), [](std::int32_t b) { return b < 0; });
                    const std::string field = "cu_seqlens[" + std::to_string(bad - narrow.begin()) + "]: ";
                    REQUIRE(problem_of_boundaries(narrow) ==
                            (bad == narrow.end() ? "" : field + "must be at least 0, got " + std::to_string(*bad)));
                }
            }
        }
    }
}

TEST_CASE("an overflow error for the sum of squared lengths names that sum", "[length_sums]") {
    // (2^32 − 1)² leaves 2^33 − 2, which these squares fill.
    const std::vector<std::uint32_t> filling{32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 724, 10, 1, 1};
    for (const std::size_t apart : {0U, 40U, 600U, 2000U}) {
        CAPTURE(apart);
        std::vector<std::uint32_t> lengths{0xFFFF'FFFF};
        lengths.resize(1 + apart, 0);
        lengths.insert(lengths.end(), filling.begin(), filling.end());
        REQUIRE(problem_of_lengths(lengths).empty());
        CHECK(sum_lengths(lengths.data(), lengths.size(), {}).squares == std::numeric_limits<std::uint64_t>::max());
        std::vector<std::int64_t> boundaries{0};
        for (const std::uint32_t length : lengths) {
            boundaries.push_back(boundaries.back() + length);
        }
        REQUIRE(problem_of_boundaries(boundaries).empty());

        lengths.push_back(1);
        CHECK(problem_of_lengths(lengths) ==
              "overflow squares: 18446744073709551615 + 1 does not fit 64 bits: use smaller numbers");
        boundaries.push_back(boundaries.back() + 1);
        CHECK(problem_of_boundaries(boundaries) ==
              "overflow squares: 18446744073709551615 + 1 does not fit 64 bits: use smaller numbers");
        lengths.insert(lengths.end(), 1000, 30'000);
        lengths.push_back(0xFFFF'FFFF);
        CHECK(problem_of_lengths(lengths) ==
              "overflow squares: 18446744073709551615 + 1 does not fit 64 bits: use smaller numbers");
    }
    const std::vector<std::uint32_t> two(2, 0xFFFF'FFFF);
    CHECK(problem_of_lengths(two) ==
          "overflow squares: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers");
    const mask_set masks = set_of({mask::bidirectional(), mask::causal()});
    CHECK(outcome_of([&] { return sum_lengths(two.data(), 1, masks); }).sums->pairs[0] == 18446744065119617025U);
}

}  // namespace length_sums_test

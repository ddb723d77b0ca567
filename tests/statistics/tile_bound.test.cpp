// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/tile_bound.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "hstu_definition.hpp"

namespace tile_bound_test {
namespace {

using namespace floptally;

/// True where query i sees key j, from the definition of a mask.
using seen_statistic = std::function<bool(std::int64_t i, std::int64_t j)>;

/// Tile by tile and pair by pair.
std::uint64_t enumerated(const seen_statistic& attends, std::int64_t first, std::int64_t end, std::int64_t keys,
                         std::int64_t block_rows, std::int64_t block_keys) {
    std::uint64_t pairs = 0;
    for (std::int64_t row = first; row < end; row += block_rows) {
        for (std::int64_t key = 0; key < keys; key += block_keys) {
            bool touched = false;
            for (std::int64_t i = row; i < std::min(row + block_rows, end); ++i) {
                for (std::int64_t j = key; j < std::min(key + block_keys, keys); ++j) {
                    touched = touched || attends(i, j);
                }
            }
            pairs += touched ? static_cast<std::uint64_t>(block_rows * block_keys) : 0U;
        }
    }
    return pairs;
}

struct tile {
    std::int64_t rows;
    std::int64_t keys;
};
constexpr tile tiles[] = {{1, 1}, {1, 4}, {4, 1}, {2, 3}, {3, 2}, {4, 4}, {7, 5}, {64, 64}};

std::string difference(const mask& m, const sequence& s, const seen_statistic& attends) {
    const bool other_side = m.reads_other_side();
    const std::int64_t end = m.is_of_other_side() ? s.keys : std::int64_t{s.past} + s.length;
    const std::int64_t first = m.is_of_other_side() ? 0 : s.past;
    const std::int64_t keys = other_side ? std::int64_t{s.keys} : end;
    for (const tile& t : tiles) {
        const std::uint64_t counted =
            executed_pairs(m, s, static_cast<std::uint64_t>(t.rows), static_cast<std::uint64_t>(t.keys));
        const std::uint64_t expected = enumerated(attends, first, end, keys, t.rows, t.keys);
        if (counted != expected || counted < m.pairs(s) || (t.rows * t.keys == 1 && counted != m.pairs(s))) {
            return m.name() + ", " + std::to_string(t.rows) + " x " + std::to_string(t.keys) + ", length " +
                   std::to_string(s.length) + ", past " + std::to_string(s.past) + ": " + std::to_string(counted) +
                   ", not " + std::to_string(expected);
        }
    }
    return "";
}

constexpr sequence one_tile{.length = 5};
static_assert(executed_pairs(mask::causal(), one_tile, 1, 1) == 15);
static_assert(executed_pairs(mask::causal(), one_tile, 4, 4) == 3 * 16);
static_assert(executed_pairs(mask::causal(), one_tile, 128, 64) == 128 * 64);

}  // namespace

TEST_CASE("attention tiles of sequence masks equal an enumeration", "[tile_bound]") {
    struct defined {
        mask attends;
        seen_statistic by_words;
    };
    std::vector<defined> all{
        {mask::causal(), [](auto i, auto j) { return j <= i; }},
        {mask::bidirectional(), [](auto, auto) { return true; }},
        {mask::cross_attention(), [](auto, auto) { return true; }},
        {mask::encoder(), [](auto, auto) { return true; }},
    };
    for (const std::int64_t n : {1, 2, 3, 5, 8, 40}) {
        all.push_back({mask::sliding_window(n), [n](auto i, auto j) { return j <= i && i - j < n; }});
        all.push_back({mask::chunked(n), [n](auto i, auto j) { return j <= i && i / n == j / n; }});
        all.push_back({mask::compressed_keys(n), [n](auto i, auto j) { return j * n + n - 1 <= i; }});
        all.push_back({mask::prefix_lm(n), [n](auto i, auto j) { return j <= i || j < n; }});
        all.push_back({mask::window(n, 2), [n](auto i, auto j) { return i - j <= n && j - i <= 2; }});
        all.push_back({mask::encoder_window(n, 2), [n](auto i, auto j) { return i - j <= n && j - i <= 2; }});
        all.push_back({mask::window(-1, n), [n](auto i, auto j) { return j - i <= n; }});
        all.push_back({mask::window(n, -1), [n](auto i, auto j) { return i - j <= n; }});
    }
    for (const defined& definition : all) {
        for (std::uint32_t length = 0; length <= 17; ++length) {
            for (const std::uint32_t past : {0U, 1U, 6U, 13U}) {
                REQUIRE(difference(definition.attends, {.length = length, .past = past, .keys = 2 * past + length},
                                   definition.by_words) == "");
            }
        }
    }
}

TEST_CASE("attention tiles of HSTU masks equal an enumeration", "[tile_bound][hstu]") {
    std::mt19937 engine{1802};
    const auto upto = [&engine](std::uint32_t most) { return static_cast<std::int64_t>(engine() % (most + 1)); };
    for (const hstu_mask& statistic : hstu_definition::statistics({1, 2, 5, 9, 40}, {0, 1, 3, 50})) {
        for (int i = 0; i < 60; ++i) {
            hstu_definition::parts s{.context = upto(6), .history = upto(20), .targets = upto(9), .group = 1 + upto(3)};
            s.past = upto(1) * upto(static_cast<std::uint32_t>(s.length()));
            CAPTURE(s.text());
            REQUIRE(difference(mask::hstu(statistic), s.record(), [&](std::int64_t row, std::int64_t key) {
                        return hstu_definition::attends(statistic, s, row, key);
                    }) == "");
        }
    }
}

TEST_CASE("counting attention tiles of a mask without a list of keys per query is an error", "[tile_bound]") {
    const sequence s{.length = 9};
    for (const statistic& m : std::initializer_list<statistic>{
             mask::top_k(3), mask::box(3), make_statistic<maxtext::window_squares>(3), maxtext::chunk_squares{3},
             make_statistic<megatron_bridge::within_window>(3), make_statistic<megatron_bridge::limited_by_window>(3),
             unit::hstu_part(hstu_rows::targets)}) {
        CHECK(error_of([&] { return executed_pairs(m, s, 4, 4); }) ==
              "mask: " + m.name() +
                  " knows how many keys a query sees, but not which: pass a mask with `add_keys`, such as a window");
    }
    CHECK(error_of([&] { return executed_pairs(mask::causal(), s, 0, 4); }) == "block_rows: must be at least 1, got 0");
    CHECK(error_of([&] { return executed_pairs(mask::causal(), s, 4, 0); }) == "block_keys: must be at least 1, got 0");
}

TEST_CASE("attention tiles of the longest sequence are exact") {
    const sequence longest{.length = 0xFFFF'FFFFU};
    // 2048 x 2048 tiles of 2^21 by 2^21 would be 2^64 pairs; their lower triangle fits.
    CHECK(executed_pairs(mask::causal(), longest, 1U << 21U, 1U << 21U) == (2048ULL * 2049 / 2) << 42U);
    CHECK(error_of([&] {
              return executed_pairs(mask::bidirectional(), longest, 1U << 21U, 1U << 21U);
          }).starts_with("executed_pairs: "));
}

}  // namespace tile_bound_test

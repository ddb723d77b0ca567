// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/batch/batch_sums.hpp>
#include <floptally/batch/decoding.hpp>
#include <floptally/batch/formats.hpp>
#include <floptally/batch/integer_view.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace batch_sums_test {
namespace {

using floptally::mask_set;
using floptally::sequence;
using floptally::detail::batch_sums;

/// Three sums: sequences, their tokens, and the squares of their lengths.
constexpr std::size_t three = 3;

std::uint64_t power_of_length(const sequence& slot, std::size_t i) {
    std::uint64_t power = 1;
    for (std::size_t n = 0; n < i; ++n) {
        power *= slot.length;
    }
    return power;
}

std::vector<std::uint64_t> sums_of(const batch_sums& all) { return {all.sums().begin(), all.sums().end()}; }

batch_sums counted(const std::vector<int>& lengths) {
    batch_sums sums_of_batch(mask_set{}, "sums");
    sums_of_batch.resize(three);
    std::vector<sequence> slots;
    floptally::tally batch;
    for (const int length : lengths) {
        slots.push_back({.length = static_cast<std::uint32_t>(length)});
        batch.add(slots.back());
    }
    sums_of_batch.add_counted(batch, slots, power_of_length);
    return sums_of_batch;
}

}  // namespace

TEST_CASE("batch sums add each sequence and can be added to the sums of another batch", "[batch_sums]") {
    batch_sums both = counted({3, 5});
    CHECK(sums_of(both) == std::vector<std::uint64_t>{2, 3 + 5, 9 + 25});
    both += counted({2, 7, 1});
    CHECK(sums_of(both) == std::vector<std::uint64_t>{5, 8 + 10, 34 + 4 + 49 + 1});
    CHECK(both.batch().get(floptally::view::useful, floptally::accumulator::tokens) == 18);
    both.clear();
    CHECK(sums_of(both) == std::vector<std::uint64_t>(three));
}

TEST_CASE("adding a run of decoding passes at once gives the sums of adding each pass", "[batch_sums]") {
    const std::vector<int> lengths{3, 5};
    batch_sums all(mask_set{}, "sums");
    all.resize(three);
    all.add(floptally::padded_rows<int>(lengths, 6), power_of_length);
    CHECK(sums_of(all) == std::vector<std::uint64_t>{2, 12, 72});
    CHECK(all.batch().get(floptally::view::useful, floptally::accumulator::tokens) == 8);
    const std::vector<floptally::pass_run> runs{{.past = 4, .tokens = 2, .passes = 3},
                                                {.past = 1, .tokens = 1, .passes = 2}};
    struct by_run {
        std::uint64_t operator()(const floptally::pass_run& run, std::size_t i) const {
            return i == 0 ? 1 : run.passes;
        }
        std::uint64_t operator()(const sequence& /*slot*/, std::size_t /*i*/) const { return 0; }
    };
    all.add(floptally::pass_runs(runs), by_run{});
    CHECK(sums_of(all) == std::vector<std::uint64_t>{4, 17, 77});
    CHECK(all.batch().get(floptally::view::useful, floptally::accumulator::tokens) == 8 + 6 + 2);
    CHECK(all.batch().get(floptally::view::useful, floptally::accumulator::count) == 2 + 5);
}

TEST_CASE("a row index out of range is an error that gives the position of the index in its list", "[batch_sums]") {
    const auto problem = [](const std::vector<int>& numbers) {
        return error_of([&] { return floptally::detail::nonnegative_below(3, "rows", numbers, "row_of"); });
    };
    CHECK(problem({2, 0, 2}) == "no error");
    CHECK(problem({3, 0, 2}).starts_with("row_of[0]: "));
    CHECK(problem({2, 0, 3}).starts_with("row_of[2]: "));
    CHECK(problem({-1, 0}) == "row_of[0]: must be at least 0, got -1");
}

TEST_CASE("a batch that overflows a batch sum changes no sum", "[batch_sums]") {
    batch_sums all = counted({3});
    const auto huge = [](const sequence& /*slot*/, std::size_t i) { return i == 2 ? ~std::uint64_t{0} : 1; };
    const std::array<sequence, 1> slots{sequence{.length = 4}};
    floptally::tally batch;
    batch.add(slots[0]);
    CHECK_THROWS_AS(all.add_counted(batch, slots, huge), floptally::overflow);
    CHECK(sums_of(all) == std::vector<std::uint64_t>{1, 3, 9});
    CHECK(all.batch().get(floptally::view::useful, floptally::accumulator::tokens) == 3);
}

}  // namespace batch_sums_test

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>
#include <floptally/balance/sample_loads.hpp>
#include <floptally/floptally.hpp>

#include "../examples/visual_loads.hpp"
#include "../examples/workloads.hpp"
#include "catch2.hpp"
#include "error_of.hpp"
#include "public_balancers.hpp"
#include "sanitized.hpp"

namespace balance_test {

using floptally::assigned;
using floptally::assignment;
using floptally::balance_mode;
using floptally::balance_options;
using floptally::balance_report;
using floptally::balance_report_of;
using floptally::balance_seed;
using floptally::contiguous;
using floptally::flop_counter;
using floptally::flops;
using floptally::max_over_mean;
using floptally::partition;
using floptally::spreads_of;
using floptally::tally;
using floptally::uint128;
using floptally::view;
using workloads::generator;

namespace {

std::vector<flops> llama_costs(const std::vector<std::uint32_t>& lengths) {
    return floptally::sample_costs(flop_counter(floptally::presets::llama_3_8b.cost()), lengths);
}

uint128 peak_of(const assignment& of) { return *std::max_element(of.loads.begin(), of.loads.end()); }

/// A bound below which no assignment is: the mean, and the largest cost; with equal counts, for every j, what the j
/// costliest samples have together with the least company. On r ranks (j or fewer) that is the cheapest others that
/// fill these up; the r with the smallest average is what they could choose. For j = 1: the largest and its least
/// company.
template <class Cost>
double lower_bound_of(const std::vector<Cost>& costs, std::size_t ranks, balance_mode mode) {
    std::vector<uint128> sorted = contiguous(costs, costs.size()).loads;
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> cheapest{0};  // sums of the cheapest 0, 1, …
    for (const uint128 cost : sorted) {
        cheapest.push_back(cheapest.back() + static_cast<double>(cost));
    }
    double bound = std::max(cheapest.back() / static_cast<double>(ranks), static_cast<double>(sorted.back()));
    const std::size_t each = costs.size() / ranks;
    for (std::size_t j = 1; mode == balance_mode::equal_count && j <= ranks; ++j) {
        const double costliest = cheapest.back() - cheapest[costs.size() - j];
        double least = std::numeric_limits<double>::max();
        for (std::size_t r = (j + each - 1) / each; r <= j; ++r) {
            least = std::min(least, (costliest + cheapest[each * r - j]) / static_cast<double>(r));
        }
        bound = std::max(bound, least);
    }
    return bound;
}

/// The bound on an assignment's ratio to the best one: its peak over the lower bound of any.
template <class Cost>
double over_bound(const assignment& subject, const std::vector<Cost>& costs, balance_mode mode) {
    return static_cast<double>(peak_of(subject)) / lower_bound_of(costs, subject.ranks(), mode);
}

/// Every sample stands in exactly one place, and the three lists of an assignment say the same.
template <class Cost>
bool is_whole(const assignment& source, const std::vector<Cost>& costs, std::size_t ranks, std::size_t loads = 1) {
    std::vector<int> seen(source.rank_of.size());
    bool whole = source.ranks() == ranks && source.rank_of.size() * loads == costs.size() &&
                 source.samples.size() == seen.size();
    for (std::size_t rank = 0; whole && rank < ranks; ++rank) {
        std::vector<uint128> sums(loads);
        std::int64_t last = -1;
        for (const std::uint32_t sample : source.samples_of(rank)) {
            whole = whole && source.rank_of[sample] == rank && std::int64_t{sample} > last;
            last = sample;
            ++seen[sample];
            for (std::size_t load = 0; load < loads; ++load) {
                sums[load] += static_cast<uint128>(costs[sample * loads + load]);
            }
        }
        whole = whole &&
                std::equal(sums.begin(), sums.end(), source.loads.begin() + static_cast<std::ptrdiff_t>(rank * loads));
    }
    return whole && std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; });
}

/// The smallest largest load of all assignments, by branch and bound below one that is known; `count` is the most
/// samples of a rank.
class optimum {
  public:
    optimum(std::vector<std::uint64_t> costs, std::size_t ranks, std::size_t count, uint128 known)
        : costs_(std::move(costs)),
          sums_(ranks),
          counts_(ranks),
          count_(count),
          best_(static_cast<std::uint64_t>(known)) {
        std::sort(costs_.rbegin(), costs_.rend());
        const std::uint64_t sum = std::accumulate(costs_.begin(), costs_.end(), std::uint64_t{0});
        enough_ = std::max((sum + ranks - 1) / ranks, costs_.empty() ? 0 : costs_.front());
        place(0, 0);
    }
    [[nodiscard]] std::uint64_t peak() const { return best_; }

  private:
    void place(std::size_t next, std::uint64_t peak) {
        if (next == costs_.size()) {
            best_ = std::min(best_, peak);
            return;
        }
        for (std::size_t rank = 0; rank < sums_.size() && best_ > enough_; ++rank) {
            bool tried = false;  // a rank that is alike
            for (std::size_t other = 0; other < rank; ++other) {
                tried = tried || (sums_[other] == sums_[rank] && counts_[other] == counts_[rank]);
            }
            if (!tried && counts_[rank] < count_ && sums_[rank] + costs_[next] < best_) {
                sums_[rank] += costs_[next];
                ++counts_[rank];
                place(next + 1, std::max(peak, sums_[rank]));
                --counts_[rank];
                sums_[rank] -= costs_[next];
            }
        }
    }

    std::vector<std::uint64_t> costs_;
    std::vector<std::uint64_t> sums_;
    std::vector<std::size_t> counts_;
    std::size_t count_;
    std::uint64_t enough_ = 0;
    std::uint64_t best_;
};

/// Costs of different kinds: even, few values, skewed, all nearly alike, a few huge ones, many zeros.
std::vector<std::uint64_t> some_costs(generator& draw, std::size_t count, std::uint64_t kind) {
    std::vector<std::uint64_t> costs(count);
    for (std::uint64_t& cost : costs) {
        const std::uint64_t even = draw.below(1000);
        cost = kind == 0   ? even
               : kind == 1 ? 1 + even % 10
               : kind == 2 ? even * even * even
               : kind == 3 ? 1000 + even % 30
               : kind == 4 ? 1'000'000 / (even + 1)
                           : (even % 3 == 0 ? even : 0);
    }
    return costs;
}

}  // namespace

TEST_CASE("the costs of single samples are their FLOPs and add up exactly to the FLOPs of the batch") {
    // A window, so that pairs have a word of their own.
    const floptally::transformer<floptally::gqa, floptally::gated_mlp> windowed{
        .hidden_size = 512,
        .num_layers = 3,
        .attention = {.num_heads = 8, .num_kv_heads = 2, .head_dim = 64},
        .feed_forward = {.intermediate_size = 1408},
        .vocab = {.size = 1000},
        .masks = floptally::mask::sliding_window(400)};
    const floptally::training_plan recomputes{.recomputed = floptally::recompute::full};
    for (const flop_counter& model :
         {flop_counter(floptally::presets::llama_3_8b.cost()), flop_counter(windowed.cost()),
          flop_counter(windowed.cost(), floptally::conventions::palm, recomputes)}) {
        const std::vector<std::uint32_t> lengths = workloads::lognormal_lengths(100, 700, 100, 16384, 3);
        tally batch{model.masks()};
        batch.add_lengths(lengths);
        std::vector<tally> samples;
        for (const std::uint32_t length : lengths) {
            samples.emplace_back(model.masks()).add(floptally::sequence{.length = length});
        }
        for (const view seen : {view::useful, view::padded, view::executed}) {
            const std::vector<flops> costs = floptally::sample_costs(model, lengths, seen);
            CHECK(std::accumulate(costs.begin(), costs.end(), flops{}) == model.total_flops(batch, seen));
            CHECK(costs == floptally::sample_costs(model, samples, seen));
        }
        const assignment balanced = partition(floptally::sample_costs(model, lengths), 10);
        CHECK(std::accumulate(balanced.loads.begin(), balanced.loads.end(), uint128{0}) ==
              model.evaluate(batch).total().value());
    }
}

TEST_CASE("vision and text costs of samples add up to the FLOPs of the batch") {
    const std::vector<tally> samples = workloads::tallies_of(workloads::image_counts(40, 5));
    tally batch{workloads::vision_language_model().masks()};
    for (const tally& sample : samples) {
        batch += sample;
    }
    const floptally::breakdown work = workloads::vision_language_model().evaluate(batch);
    flops vision;
    for (const floptally::component_flops& component : work.components()) {
        vision += component.name.view().substr(0, 7) == "vision." ? component.total(view::useful) : flops{};
    }
    REQUIRE(vision != flops{});
    const std::vector<flops> loads = workloads::loads_of(workloads::image_counts(40, 5));
    REQUIRE(loads.size() == 80);
    const std::vector<flops> whole = floptally::sample_costs(workloads::vision_language_model(), samples);
    flops sums[2];
    for (std::size_t i = 0; i < samples.size(); ++i) {
        sums[0] += loads[2 * i];
        sums[1] += loads[2 * i + 1];
        CHECK(loads[2 * i] + loads[2 * i + 1] == whole[i]);
    }
    CHECK(sums[1] == vision);
    CHECK(sums[0] + sums[1] == work.total());
    CHECK(floptally::sample_costs(workloads::vision_language_model(), samples, view::padded) == whole);

    // Weights: 3 for one component, 2 for the rest.
    const std::vector<floptally::component_load> weighed{{.components = "*", .weight = 2},
                                                         {.components = "attention.core", .weight = 3}};
    const std::vector<flops> times = floptally::sample_loads(workloads::vision_language_model(), samples, weighed);
    REQUIRE(times.size() == samples.size());
    CHECK(std::accumulate(times.begin(), times.end(), flops{}) ==
          2 * work.total() + work["attention.core"].total(view::useful));
    const std::vector<floptally::component_load> partial{{.components = "vision.*"}};
    CHECK(error_of([&] {
              return floptally::sample_loads(workloads::vision_language_model(), samples, partial);
          }).starts_with("loads: have no pattern that matches the component \""));
}

TEST_CASE(
    "the balancer's equal-count mode puts the same number of samples on every rank, samples of zero cost included") {
    const std::vector<int> costs{9, 0, 7, 0, 5, 0, 3, 0};
    const assignment balanced = partition(costs, 4);
    CHECK(is_whole(balanced, costs, 4));
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CHECK(balanced.samples_of(rank).size() == 2);
    }
    CHECK(peak_of(balanced) == 9);
    const assignment nothing = partition(std::vector<int>(6), 3);
    CHECK(is_whole(nothing, std::vector<int>(6), 3));
    CHECK(nothing.samples_of(2).size() == 2);
    CHECK(partition(std::vector<int>{}, 3).boundaries == std::vector<std::size_t>{0, 0, 0, 0});
    CHECK(error_of([&] { return partition(costs, 3); }) ==
          "ranks: must divide the 8 samples evenly for equal counts, got 3");
    CHECK(error_of([&] { return partition(costs, 16); }) ==
          "ranks: must divide the 8 samples evenly for equal counts, got 16");
}

TEST_CASE("the balancer's free mode allows any number of samples on a rank, even zero") {
    const std::vector<int> costs{9, 4, 3, 2};
    const assignment balanced = partition(costs, 2, {.mode = balance_mode::free});
    CHECK(is_whole(balanced, costs, 2));
    CHECK(balanced.loads == std::vector<uint128>{9, 9});
    const assignment wide = partition(costs, 6, {.mode = balance_mode::free});
    CHECK(is_whole(wide, costs, 6));
    CHECK(peak_of(wide) == 9);
    CHECK(std::count(wide.loads.begin(), wide.loads.end(), uint128{0}) == 2);
}

TEST_CASE(
    "the balancer's capacity mode keeps the summed sizes on a rank within the capacity, and fails if no assignment is "
    "found") {
    const std::vector<int> costs{8, 8, 1, 1};
    const std::vector<std::uint64_t> sizes{3, 1, 3, 1};
    const assignment balanced = partition(costs, 2, {.mode = balance_mode::capacity, .sizes = sizes, .capacity = 4});
    CHECK(is_whole(balanced, costs, 2));
    CHECK(balanced.loads == std::vector<uint128>{9, 9});
    CHECK(balanced.rank_of[0] != balanced.rank_of[2]);

    // The largest costs have the smallest sizes: by cost alone the last sample finds no room.
    const std::vector<std::uint64_t> tight{2, 2, 2, 3, 3};
    const std::vector<int> falling{5, 4, 3, 2, 1};
    const assignment fits = partition(falling, 2, {.mode = balance_mode::capacity, .sizes = tight, .capacity = 6});
    CHECK(fits.rank_of[3] == fits.rank_of[4]);
    CHECK(fits.rank_of[0] != fits.rank_of[3]);
    for (const balance_seed seed : {balance_seed::longest_first, balance_seed::differencing}) {
        const balance_options options{
            .mode = balance_mode::capacity, .seed = seed, .sizes = tight, .capacity = 6, .budget = 0};
        CHECK(partition(falling, 2, options).rank_of[3] == partition(falling, 2, options).rank_of[4]);
    }
    // Ranks are all but full: 24 samples of which no two are alike, within 0.2 % of the mean.
    const std::vector<std::uint32_t> lengths = workloads::lognormal_lengths(24, 1000, 100, 8192, 11);
    const std::vector<std::uint64_t> tokens(lengths.begin(), lengths.end());
    const assignment full =
        partition(llama_costs(lengths), 4, {.mode = balance_mode::capacity, .sizes = tokens, .capacity = 6500});
    for (const uint128 load : assigned(tokens, full.rank_of, 4).loads) {
        CHECK(load <= 6500);
    }

    const std::vector<std::uint64_t> large{3, 3, 3, 3};
    CHECK(error_of(
              [&] { return partition(costs, 2, {.mode = balance_mode::capacity, .sizes = large, .capacity = 5}); }) ==
          "capacity: sizes that add up to 12 do not fit 2 ranks with a capacity of 5; use more ranks or a larger "
          "capacity");
    CHECK(error_of(
              [&] { return partition(costs, 3, {.mode = balance_mode::capacity, .sizes = large, .capacity = 5}); }) ==
          "capacity: sizes that add up to 12 could not be made to fit 3 ranks with a capacity of 5: the search does "
          "not try all "
          "assignments; use more ranks or a larger capacity");
    CHECK(error_of([&] {
              return partition(costs, 2, {.mode = balance_mode::capacity, .sizes = large, .capacity = 2});
          }) == "sizes[0]: must be at most the capacity of a rank, 2, got 3");
}

TEST_CASE("the balancer keeps all samples of one group on one rank") {
    const std::vector<int> costs{4, 1, 4, 1, 4, 1, 4, 1};
    const std::vector<std::uint32_t> groups{0, 1, 0, 1, 2, 3, 2, 3};
    for (const balance_mode mode : {balance_mode::equal_count, balance_mode::free}) {
        const assignment balanced = partition(costs, 2, {.mode = mode, .groups = groups});
        CHECK(is_whole(balanced, costs, 2));
        CHECK(balanced.loads == std::vector<uint128>{10, 10});
        CHECK(balanced.rank_of[0] == balanced.rank_of[2]);
        CHECK(balanced.rank_of[4] == balanced.rank_of[6]);
        CHECK(balanced.rank_of[0] != balanced.rank_of[4]);
    }
    const std::vector<std::uint32_t> one_group(8, 5);
    CHECK(error_of([&] { return partition(costs, 2, {.groups = one_group}); }) ==
          "groups[4]: the samples of one group must together be at most the capacity of a rank, 4, got 5");
    CHECK(partition(costs, 2, {.mode = balance_mode::free, .groups = one_group}).samples_of(0).size() == 8);
    const std::vector<std::uint32_t> few(7);
    CHECK(error_of([&] { return partition(costs, 2, {.groups = few}); }) ==
          "groups: must have one number for each of the 8 samples, got 7");
    const std::vector<std::uint32_t> wrong{0, 1, 2, 3, 4, 5, 6, 8};
    CHECK(error_of([&] { return partition(costs, 2, {.groups = wrong}); }) ==
          "groups[7]: must be below the number of samples, 8, got 8");
    // Three and three of four: no rank can have four.
    const std::vector<std::uint32_t> threes{0, 0, 0, 1, 1, 1, 2, 2};
    CHECK(error_of([&] { return partition(costs, 2, {.groups = threes}); }) ==
          "groups: 8 samples could not be made to fit 2 ranks with a capacity of 4: the search does not try all "
          "assignments; use more "
          "ranks or a larger capacity");
}

TEST_CASE("bad balancing input is an error that names the field") {
    const double infinite = std::numeric_limits<double>::infinity();
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    const std::vector<int> costs{1, 2};
    CHECK(error_of([&] {
              return partition(std::vector<double>{1, infinite}, 1);
          }) == "costs[1]: must be finite and not negative, got inf");
    CHECK(error_of([&] {
              return partition(std::vector<double>{not_a_number}, 1);
          }).starts_with("costs[0]: must be finite and not negative, got "));
    CHECK(error_of([&] {
              return partition(std::vector<float>{1, 2, -1}, 1);
          }) == "costs[2]: must be finite and not negative, got -1.000000");
    CHECK(error_of([&] {
              return partition(std::vector<std::int64_t>{1, -7}, 1);
          }) == "costs[1]: must not be negative, got -7");
    CHECK(error_of([&] { return partition(costs, 0); }) == "ranks: must be from 1 to 2147483647, got 0");
    CHECK(error_of([&] { return partition(costs, std::uint64_t{1} << 40); }) ==
          "ranks: must be from 1 to 2147483647, got 1099511627776");
    CHECK(error_of([&] { return partition(costs, 1, {.loads = 0}); }) ==
          "costs: must have a multiple of 0 numbers, 0 for each sample, got 2");
    CHECK(error_of([&] {
              return partition(std::vector<int>{1, 2, 3}, 1, {.loads = 2});
          }) == "costs: must have a multiple of 2 numbers, 2 for each sample, got 3");
    const std::vector<std::uint64_t> sizes{1};
    CHECK(error_of([&] { return partition(costs, 2, {.mode = balance_mode::capacity, .sizes = sizes}); }) ==
          "sizes: must be one for each of 2 samples, got 1");
    CHECK(error_of([&] { return partition(costs, 2, {.sizes = sizes}); }) ==
          "sizes: must be empty outside of the mode capacity, got 1");
    CHECK(error_of([&] { return partition(costs, 2, {.capacity = 9}); }) ==
          "capacity: must be 0 unless the mode is capacity, got 9");
    const std::vector<std::uint64_t> huge(2, std::numeric_limits<std::uint64_t>::max());
    const std::vector<std::uint32_t> tied{0, 0};
    CHECK(error_of([&] {
              return partition(costs, 1,
                               {.mode = balance_mode::capacity, .sizes = huge, .capacity = 9, .groups = tied});
          }) ==
          "groups[0]: the samples of one group must together be at most the capacity of a rank, 9, got "
          "18446744073709551615");
    CHECK(error_of([&] { return partition(std::vector<flops>(2, flops{uint128{1} << 127}), 1); }) ==
          "flops: a sum does not fit 128 bits: count fewer samples");
    CHECK(error_of([&] {
              return partition(std::vector<flops>{flops{uint128{1} << 126}, flops{1}}, 2);
          }).starts_with("costs: must add up to less than 2^126"));
    CHECK(error_of([&] { return assigned(costs, {0}, 2); }) ==
          "rank_of: must have one rank for each of the 2 samples, got 1");
    CHECK(error_of([&] { return assigned(costs, {0, 2}, 2); }) == "rank_of[1]: must be below the 2 ranks, got 2");
    CHECK(error_of([&] { return balance_report_of(contiguous(costs, 2), contiguous(std::vector<int>{1}, 1)); }) ==
          "before: must assign the same samples with the same costs as `after`");
}

TEST_CASE("the same costs give the same assignment on every platform, and equal costs are ordered by index") {
    // Written down, so that another compiler, standard library or machine that decides otherwise is seen. They change
    // only where the search does, which the changelog must then say: ranks of one job must agree.
    const std::vector<int> equal(8, 5);
    CHECK(partition(equal, 4, {.seed = balance_seed::longest_first, .budget = 0}).rank_of ==
          std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(partition(equal, 4, {.seed = balance_seed::differencing, .budget = 0}).rank_of ==
          std::vector<std::uint32_t>{0, 1, 2, 3, 3, 2, 1, 0});
    const std::vector<std::uint32_t> lengths = workloads::lognormal_lengths(24, 1000, 100, 8192, 11);
    CHECK(lengths == std::vector<std::uint32_t>{167,  2316, 1486, 128, 1405, 1055, 1644, 1260, 1090, 379, 2044, 755,
                                                2927, 204,  695,  984, 295,  597,  938,  3337, 835,  746, 261,  404});
    const std::vector<flops> costs = llama_costs(lengths);
    CHECK(partition(costs, 4).rank_of ==
          std::vector<std::uint32_t>{1, 2, 2, 2, 1, 2, 3, 2, 3, 0, 3, 0, 1, 3, 3, 0, 1, 0, 1, 0, 3, 1, 2, 0});
    CHECK(partition(costs, 4, {.mode = balance_mode::free}).rank_of ==
          std::vector<std::uint32_t>{2, 1, 1, 0, 3, 0, 3, 2, 1, 3, 3, 1, 2, 1, 2, 0, 3, 2, 0, 0, 2, 3, 1, 1});
    const std::vector<std::uint64_t> sizes(lengths.begin(), lengths.end());
    CHECK(partition(costs, 4, {.mode = balance_mode::capacity, .sizes = sizes, .capacity = 6500}).rank_of ==
          std::vector<std::uint32_t>{1, 2, 2, 3, 1, 1, 3, 3, 2, 3, 3, 0, 1, 3, 0, 0, 0, 2, 1, 0, 3, 2, 2, 0});
    const std::vector<flops> both = workloads::loads_of(workloads::receipts(24, 2));
    CHECK(partition(both, 4, {.loads = 2}).rank_of ==
          std::vector<std::uint32_t>{0, 1, 1, 3, 2, 0, 0, 3, 3, 2, 3, 1, 1, 1, 2, 2, 0, 1, 3, 0, 2, 0, 2, 3});
    const std::vector<double> seconds{0.31, 0.25, 0.125, 0.7, 0.1, 0.06, 0.33, 0.11, 0.9};
    CHECK(partition(seconds, 3).rank_of == std::vector<std::uint32_t>{2, 2, 1, 1, 0, 0, 2, 1, 0});
    // A digest of a large one: Σ (sample + 1) · rank.
    const assignment large = partition(llama_costs(workloads::lognormal_lengths(4096, 1000, 70, 32768, 12)), 64);
    std::uint64_t digest = 0;
    for (std::size_t i = 0; i < large.rank_of.size(); ++i) {
        digest += (i + 1) * large.rank_of[i];
    }
    CHECK(digest == 263755769U);
}

/// A digest of some shards (FNV-1a), whose options are drawn; what cannot be sharded is in it too.
template <class Cost, class Make>
std::uint64_t digest_of_assignments(std::uint64_t first, const Make& cost) {
    generator draw(first);
    std::uint64_t digest = 14695981039346656037U;
    const auto hash = [&digest](std::uint64_t word) { digest = (digest ^ word) * 1099511628211U; };
    for (std::uint64_t i = 0; i < 600; ++i) {
        const std::size_t ranks = 1 + draw.below(i % 20 == 7 ? 80 : 12);
        const std::size_t loads = 1 + draw.below(3) / 2 * (1 + draw.below(2));
        // With 64 samples on a rank and fewer, pairs of them are exchanged.
        const std::size_t each = i % 60 == 3 ? 63 + draw.below(3)
                                             : 1 + draw.below(i % 50 == 0  ? 200
                                                              : i % 4 == 0 ? 20
                                                                           : 6);
        const std::size_t count = ranks * each;
        std::vector<Cost> costs;
        for (const std::uint64_t plain : some_costs(draw, count * loads, i % 6)) {
            costs.push_back(cost(plain));
        }
        const std::uint64_t budgets[] = {0, 40, 3000, floptally::automatic_budget};
        const std::uint64_t ends[] = {0, 16, 1024, 1'000'000};
        balance_options how{.mode = static_cast<balance_mode>(i % 3),
                            .seed = static_cast<balance_seed>(draw.below(3)),
                            .loads = loads,
                            .budget = budgets[draw.below(4)],
                            .fineness = ends[draw.below(4)]};
        std::vector<std::uint64_t> sizes(count);
        std::vector<std::uint32_t> groups(count);
        std::uint64_t all = 0;
        const std::uint64_t tie = 1 + draw.below(3);
        for (std::size_t sample = 0; sample < count; ++sample) {
            all += sizes[sample] = draw.below(100);
            groups[sample] = static_cast<std::uint32_t>(sample - sample % tie);
        }
        if (how.mode == balance_mode::capacity) {
            how.sizes = sizes;
            how.capacity = all / ranks + draw.below(150);
        }
        if (how.mode != balance_mode::equal_count) {
            how.groups = groups;
        }
        assignment sharded;
        if (error_of([&] { sharded = partition(costs, ranks, how); }) == "no error") {
            for (const std::uint32_t rank : sharded.rank_of) {
                hash(rank);
            }
            hash(sharded.is_optimum ? 1 : 0);
            hash(static_cast<std::uint64_t>(sharded.exponent));
        } else {
            hash(12345);
        }
    }
    return digest;
}

TEST_CASE(
    "the balancer's assignments are reproducible for every mode, seed, search budget, cost resolution and number "
    "type") {
    // Written down as those above are, and for the same reason.
    CHECK(digest_of_assignments<std::uint64_t>(1, [](std::uint64_t cost) { return cost; }) == 682925597932152129U);
    CHECK(digest_of_assignments<std::uint64_t>(2, [](std::uint64_t cost) { return cost << 24; }) ==
          3982445828308361831U);
    CHECK(digest_of_assignments<uint128>(3, [](std::uint64_t cost) { return uint128{cost} * cost << 30 | cost; }) ==
          13437704802976143115U);
    CHECK(digest_of_assignments<double>(4, [](std::uint64_t cost) { return static_cast<double>(cost) / 3; }) ==
          827236616183884136U);
}

TEST_CASE("neither the number type of costs nor a common factor of costs changes the balancer's assignment") {
    generator draw(21);
    for (std::uint64_t kind = 0; kind < 6; ++kind) {
        for (const balance_mode mode : {balance_mode::equal_count, balance_mode::free}) {
            const std::vector<std::uint64_t> costs = some_costs(draw, 60, kind);
            const balance_options how{.mode = mode, .fineness = 8192};
            const assignment balanced = partition(costs, 6, how);
            CHECK(partition(std::vector<double>(costs.begin(), costs.end()), 6, how) == balanced);
            std::vector<uint128> shifted;
            std::vector<uint128> scaled;
            std::vector<double> halves;
            for (const std::uint64_t cost : costs) {
                shifted.push_back(uint128{cost} << 80);
                scaled.push_back(uint128{cost} * 0x1234'5678'9ABC'DEF1U * 0x9876'5431U);
                halves.push_back(static_cast<double>(cost) / 1024);
            }
            CHECK(partition(shifted, 6, how).rank_of == balanced.rank_of);
            CHECK(partition(halves, 6, how).rank_of == balanced.rank_of);
            CHECK(max_over_mean(spreads_of(partition(halves, 6, how))) == max_over_mean(spreads_of(balanced)));
            // Where costs are near the bound, how near is rounded to their unit; peaks are alike to a hundredth
            // percent.
            const assignment wide = partition(scaled, 6, how);
            CHECK(is_whole(wide, scaled, 6));
            CHECK(max_over_mean(spreads_of(wide)) <= 1.0002 * max_over_mean(spreads_of(balanced)));
            CHECK(max_over_mean(spreads_of(balanced)) <= 1.0002 * max_over_mean(spreads_of(wide)));
        }
    }
    const assignment fractions = partition(std::vector<double>{0.75, 3, 1.5, 0.25}, 2, {.mode = balance_mode::free});
    CHECK(fractions.exponent == -51);
    CHECK(fractions.loads == std::vector<uint128>{uint128{3} << 51, uint128{5} << 50});
    CHECK(partition(std::vector<double>{1e300, 1, 1e300, 0}, 2).exponent == 944);
    CHECK(partition(std::vector<double>{5e-324, 0}, 2).exponent == -1126);
}

TEST_CASE("the balancer assigns up to 16 samples with a largest rank load of at most 1.04 times the optimum") {
    generator draw(31);
    double worst = 1;
    std::size_t exact = 0;
    constexpr std::size_t cases = 240;
    for (std::size_t i = 0; i < cases; ++i) {
        const std::size_t ranks = 2 + draw.below(5);
        const bool equal = i % 2 == 0;
        const std::size_t each = 1 + draw.below(16 / ranks);
        const std::size_t count = equal ? ranks * each : 1 + draw.below(16);
        const std::vector<std::uint64_t> costs = some_costs(draw, count, i % 6);
        const assignment balanced =
            partition(costs, ranks, {.mode = equal ? balance_mode::equal_count : balance_mode::free});
        REQUIRE(is_whole(balanced, costs, ranks));
        const optimum best(costs, ranks, equal ? each : count, peak_of(balanced));
        REQUIRE(peak_of(balanced) >= best.peak());
        worst = best.peak() == 0
                    ? worst
                    : std::max(worst, static_cast<double>(peak_of(balanced)) / static_cast<double>(best.peak()));
        exact += peak_of(balanced) == best.peak() ? 1U : 0U;
        // Too many samples for a complete search have exchanges alone, which come near too.
        CHECK(static_cast<double>(peak_of(partition(costs, ranks,
                                                    {.mode = equal ? balance_mode::equal_count : balance_mode::free,
                                                     .seed = balance_seed::longest_first}))) <=
              1.2 * static_cast<double>(best.peak()));
    }
    CHECK(worst <= 1.04);
    CHECK(exact >= cases * 99 / 100);
}

TEST_CASE("the balancer finds the optimum for a few samples even if swaps of two samples do not reach the optimum") {
    const auto peak = [](const std::vector<int>& costs, std::uint64_t ranks) {
        return peak_of(partition(costs, ranks, {.mode = balance_mode::free}));
    };
    CHECK(peak({9, 9, 7, 7, 6, 4, 2, 2, 2}, 3) == 16);
    CHECK(peak({8, 7, 6, 5, 4, 4, 3, 3, 2, 2, 1}, 5) == 9);
    CHECK(peak({10, 8, 7, 6, 5, 5, 4, 3, 3, 3, 1}, 5) == 11);
    // A second load whose sums are those of the first: the search looks at both.
    const auto peak_of_two = [](const std::vector<int>& costs, std::uint64_t ranks) {
        std::vector<int> both;
        for (const int cost : costs) {
            both.insert(both.end(), {cost, cost});
        }
        return peak_of(partition(both, ranks, {.mode = balance_mode::free, .loads = 2}));
    };
    CHECK(peak_of_two({9, 9, 7, 7, 6, 4, 2, 2, 2}, 3) == 16);
    CHECK(peak_of_two({8, 7, 6, 5, 4, 4, 3, 3, 2, 2, 1}, 5) == 9);
    CHECK(peak_of_two({10, 8, 7, 6, 5, 5, 4, 3, 3, 3, 1}, 5) == 11);
}

TEST_CASE(
    "lognormal lengths are balanced over 4 to 256 ranks with a largest load of at most 1.01 times the lower bound") {
    for (const std::size_t ranks : {4U, 8U, 16U, 32U, 64U, 128U, 256U}) {
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            for (const std::uint32_t sigma : {30U, 50U, 70U, 100U, 150U}) {
                INFO(ranks << " ranks, seed " << seed << ", sigma " << sigma);
                const std::vector<flops> costs =
                    llama_costs(workloads::lognormal_lengths(8 * ranks, 1000, sigma, 32768, seed));
                for (const balance_mode mode : {balance_mode::equal_count, balance_mode::free}) {
                    CHECK(over_bound(partition(costs, ranks, {.mode = mode}), costs, mode) <= 1.01);
                }
            }
        }
    }
}

TEST_CASE(
    "with equal counts the lower bound of the largest rank load adds the cheapest samples to the costliest sample") {
    // The mean and the largest alone, 10, is not attainable: whoever has the 10 has another one.
    const std::vector<int> costs{10, 1, 1, 1};
    const assignment balanced = partition(costs, 2);
    CHECK(peak_of(balanced) == 11);
    CHECK(balanced.is_optimum);
    CHECK(over_bound(balanced, costs, balance_mode::equal_count) == 1);
    CHECK(peak_of(partition(costs, 2, {.mode = balance_mode::free})) == 10);
    // Where several are costly, the second has no company as cheap as the first: not 32, but (30 + 30 + 1 + 1 + 5 + 5)
    // ÷ 2.
    const std::vector<int> two{30, 30, 1, 1, 5, 5, 5, 5, 5};
    CHECK(lower_bound_of(two, 3, balance_mode::equal_count) == 36);
    CHECK(peak_of(partition(two, 3)) == 36);
    CHECK(partition(two, 3, {.budget = 0}).is_optimum);
}

TEST_CASE("the balancer finds the optimal assignment of a few samples and marks the assignment as optimal") {
    // Within 1/8192 of the lower bound there was a better one.
    const std::vector<int> four{4564, 2627, 6807, 1076, 8699, 8635, 7595, 8286,
                                4652, 3243, 4878, 6841, 5418, 5386, 6317, 6818};
    const std::vector<int> two{8294, 2823, 5056, 4479, 2815, 6598, 6923, 8122,
                               4753, 1513, 1689, 2611, 8746, 3983, 3723, 2473};
    for (const balance_mode mode : {balance_mode::equal_count, balance_mode::free}) {
        CHECK(peak_of(partition(four, 4, {.mode = mode})) == 22987);
        CHECK(peak_of(partition(two, 2, {.mode = mode})) == 37301);
        CHECK(partition(two, 2, {.mode = mode}).is_optimum);
    }
    generator draw(61);
    std::size_t known = 0;
    constexpr std::size_t cases = 300;
    for (std::size_t i = 0; i < cases; ++i) {
        const std::size_t ranks = 2 + draw.below(5);
        const bool equal = i % 2 == 0;
        const std::size_t each = 1 + draw.below(16 / ranks);
        const std::size_t count = equal ? ranks * each : 1 + draw.below(13);
        const std::vector<std::uint64_t> costs = some_costs(draw, count, i % 6);
        const balance_mode mode = equal ? balance_mode::equal_count : balance_mode::free;
        const assignment balanced = partition(costs, ranks, {.mode = mode});
        if (balanced.is_optimum) {
            ++known;
            REQUIRE(optimum(costs, ranks, equal ? each : count, peak_of(balanced)).peak() == peak_of(balanced));
        }
        REQUIRE(lower_bound_of(costs, ranks, mode) <= static_cast<double>(peak_of(balanced)));
    }
    CHECK(known >= cases * 99 / 100);
    // Nothing is said that was not looked at.
    CHECK_FALSE(partition(two, 2, {.budget = 0}).is_optimum);
    CHECK_FALSE(partition(two, 2, {.budget = 30}).is_optimum);
    const std::vector<std::uint64_t> many = some_costs(draw, 60, 2);
    CHECK_FALSE(partition(many, 3).is_optimum);
    CHECK(partition(std::vector<int>(60, 7), 3).is_optimum);
    CHECK_FALSE(contiguous(two, 2).is_optimum);
}

TEST_CASE("the balancer is never worse than a public balancer on the same input") {
    using namespace public_balancers;
    generator draw(71);
    std::size_t better = 0;
    constexpr std::uint64_t cases = is_sanitized ? 600 : 3000;
    for (std::uint64_t i = 0; i < cases; ++i) {
        const std::size_t ranks = 1 + draw.below(i % 3 == 0 ? 40 : 12);
        const bool equal = i % 2 == 0;
        const std::size_t count = equal ? ranks * (1 + draw.below(12)) : ranks + draw.below(10 * ranks);
        // Lognormal lengths with attention, even numbers, few different ones, all equal but for some zeros.
        const std::uint64_t kind = i / 2 % 4;
        const std::vector<std::uint32_t> lengths = workloads::lognormal_lengths(count, 1000, 80, 32768, i);
        std::vector<std::uint64_t> costs(count);
        for (std::size_t sample = 0; sample < count; ++sample) {
            const std::uint64_t length = lengths[sample];
            costs[sample] = kind == 0   ? length * (length + 30000)
                            : kind == 1 ? draw.below(1'000'000)
                            : kind == 2 ? draw.below(6)
                                        : (i % 7 == 0 && length < 700 ? 0 : 5);
        }
        INFO(i << ": " << count << " samples on " << ranks << " ranks, kind " << kind);
        const balance_mode mode = equal ? balance_mode::equal_count : balance_mode::free;
        const uint128 largest_load = peak_of(partition(costs, ranks, {.mode = mode}));
        const ranks_of_samples differenced = karmarkar_karp(costs, ranks, equal);
        REQUIRE(largest_load <= peak_of(assigned(costs, differenced, ranks)));
        REQUIRE(largest_load <= peak_of(assigned(costs, greedy(costs, ranks, equal), ranks)));
        if (equal) {
            REQUIRE(largest_load <= peak_of(assigned(costs, equal_count_longest_first(costs, ranks), ranks)));
        }
        better += largest_load < peak_of(assigned(costs, differenced, ranks)) ? 1U : 0U;
        // Theirs is one of our seeds, tie for tie, so that this is so for every input and not for these alone.
        REQUIRE(partition(costs, ranks, {.mode = mode, .seed = balance_seed::differencing, .budget = 0}).rank_of ==
                differenced);
    }
    CHECK(better > cases / 4);
}

TEST_CASE(
    "the lower bound of the largest rank load adds the samples that must share a rank with the costliest sample") {
    floptally::detail::balance_items<std::uint64_t> items{.ranks = 2, .costs = {9, 3, 2, 1}, .sizes = {1, 1, 1, 1}};
    CHECK(items.lower_bound() == 9);
    items.capacity = 2;
    CHECK(items.lower_bound() == 10);
    items.ranks = 1;
    items.capacity = 4;
    CHECK(items.lower_bound() == 15);
    // Items that cost nothing, with and without equal counts.
    floptally::detail::balance_items<std::uint64_t> free_of_cost{.ranks = 2, .costs = {0, 0}, .sizes = {1, 1}};
    CHECK(free_of_cost.lower_bound() == 0);
    free_of_cost.capacity = 1;
    CHECK(free_of_cost.has_equal_counts());
    CHECK(free_of_cost.lower_bound() == 0);
}

TEST_CASE(
    "a sample that exceeds its rank's capacity moves to the rank with free capacity and the lowest peak load after the "
    "move") {
    const floptally::detail::balance_items<std::uint64_t> items{.ranks = 3,
                                                                .loads = 2,
                                                                .costs = {9, 9, 8, 8, 7, 7, 0, 2, 0, 1, 0, 6, 0, 3},
                                                                .sizes = {1, 1, 1, 1, 1, 1, 1},
                                                                .capacity = 3};
    // Items 0 to 2 fill the first rank, 3 and 4 have one each, and 5 and 6 are left over. Item 5 makes a load of
    // 1 + 6 on the third and 2 + 6 on the second; then item 6 makes 2 + 3 on the second and 7 + 3 on the third.
    CHECK(floptally::detail::fit_to_capacity(items, {0, 0, 0, 1, 2, 0, 0}) ==
          std::vector<std::uint32_t>{0, 0, 0, 1, 2, 2, 1});
}

TEST_CASE("the balancer is never worse than its initial assignments or than contiguous chunks in the given order") {
    generator draw(41);
    for (std::uint64_t i = 0; i < 120; ++i) {
        const std::size_t ranks = 2 + draw.below(12);
        const std::vector<std::uint64_t> costs = some_costs(draw, ranks * (1 + draw.below(12)), i % 6);
        const balance_mode mode = i % 2 == 0 ? balance_mode::equal_count : balance_mode::free;
        const uint128 own_peak = peak_of(partition(costs, ranks, {.mode = mode}));
        CHECK(own_peak <= peak_of(contiguous(costs, ranks)));
        for (const balance_seed seed : {balance_seed::longest_first, balance_seed::differencing}) {
            const assignment as_found = partition(costs, ranks, {.mode = mode, .seed = seed, .budget = 0});
            const assignment refined = partition(costs, ranks, {.mode = mode, .seed = seed});
            CHECK(is_whole(as_found, costs, ranks));
            CHECK(is_whole(refined, costs, ranks));
            CHECK(peak_of(refined) <= peak_of(as_found));
            CHECK(own_peak <= peak_of(as_found));
        }
        CHECK(own_peak <= peak_of(partition(costs, ranks, {.mode = mode, .budget = 0})));
    }
}

TEST_CASE("the balancer starts from LPT (longest sample first) or from Karmarkar-Karp differencing") {
    // Graham's example for 3 ranks, where LPT is at its worst, 4/3 − 1/9 of the optimum of 9.
    const std::vector<int> graham{5, 5, 4, 4, 3, 3, 3};
    const auto peak = [](const std::vector<int>& costs, std::uint64_t ranks, balance_seed seed, balance_mode mode) {
        return peak_of(partition(costs, ranks, {.mode = mode, .seed = seed, .budget = 0}));
    };
    CHECK(peak(graham, 3, balance_seed::longest_first, balance_mode::free) == 11);
    CHECK(peak_of(partition(graham, 3, {.mode = balance_mode::free})) == 9);
    // 8 7 6 5 4: differencing leaves 2 (16 and 14), LPT 4 (17 and 13); 15 and 15 is the best.
    const std::vector<int> korf{4, 5, 6, 7, 8};
    CHECK(peak(korf, 2, balance_seed::differencing, balance_mode::free) == 16);
    CHECK(peak(korf, 2, balance_seed::longest_first, balance_mode::free) == 17);
    CHECK(peak_of(partition(korf, 2, {.mode = balance_mode::free})) == 15);
    // Three ranks by hand: (8,7,6) then 5, 4, 3 …: 5 joins nothing smaller than 6.
    CHECK(peak({8, 7, 6, 5, 4, 3}, 3, balance_seed::differencing, balance_mode::equal_count) == 11);
    CHECK(peak({9, 1, 1, 1}, 2, balance_seed::differencing, balance_mode::equal_count) == 10);
}

TEST_CASE("the largest load of the balancer is at most 1.01 times the lower bound for 16384 samples on 512 ranks") {
    const std::vector<flops> large = llama_costs(workloads::lognormal_lengths(16384, 1000, 100, 32768, 1));
    const std::vector<flops> small = llama_costs(workloads::lognormal_lengths(512, 1000, 50, 32768, 1));
    for (const balance_mode mode : {balance_mode::equal_count, balance_mode::free}) {
        CHECK(over_bound(partition(large, 512, {.mode = mode}), large, mode) <= 1.01);
        CHECK(over_bound(partition(small, 64, {.mode = mode}), small, mode) <= 1.01);
    }
}

TEST_CASE("every mode of the balancer assigns each sample once, keeps groups on one rank and stays within capacities") {
    generator draw(51);
    for (std::uint64_t i = 0; i < 40; ++i) {
        const std::size_t ranks = 1 + draw.below(9);
        const std::size_t loads = 1 + draw.below(3);
        const std::size_t count = ranks * (1 + draw.below(20));
        const std::vector<std::uint64_t> costs = some_costs(draw, count * loads, i % 6);
        std::vector<std::uint64_t> sizes(count);
        std::vector<std::uint32_t> groups(count);
        std::uint64_t all = 0;
        for (std::size_t sample = 0; sample < count; ++sample) {
            all += sizes[sample] = draw.below(100);
            groups[sample] = static_cast<std::uint32_t>(sample - sample % (1 + draw.below(2)));
        }
        const std::uint64_t capacity = all / ranks + 200;
        const assignment counted = partition(costs, ranks, {.loads = loads});
        const assignment limited = partition(
            costs, ranks, {.mode = balance_mode::capacity, .loads = loads, .sizes = sizes, .capacity = capacity});
        const assignment tied = partition(costs, ranks, {.mode = balance_mode::free, .loads = loads, .groups = groups});
        for (const assignment* placement : {&counted, &limited, &tied}) {
            CHECK(is_whole(*placement, costs, ranks, loads));
        }
        const auto worst = [](const assignment& assigned_samples) {
            return max_over_mean(spreads_of(assigned_samples));
        };
        CHECK(worst(counted) <= worst(contiguous(costs, ranks, loads)) * (1 + 1e-9));
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            CHECK(counted.samples_of(rank).size() == count / ranks);
            std::uint64_t taken = 0;
            for (const std::uint32_t sample : limited.samples_of(rank)) {
                taken += sizes[sample];
            }
            CHECK(taken <= capacity);
        }
        for (std::size_t sample = 0; sample < count; ++sample) {
            CHECK(tied.rank_of[sample] == tied.rank_of[groups[sample]]);
        }
    }
}

TEST_CASE(
    "samples with two costs each are balanced over up to 16 ranks with a maximum of at most 1.03 times the mean") {
    for (const std::size_t ranks : {2U, 4U, 8U, 16U}) {
        for (const std::size_t each : {16U, 32U}) {
            for (std::uint64_t seed = 0; seed < 2; ++seed) {
                for (const bool photos : {false, true}) {
                    INFO(ranks << " ranks of " << each << ", seed " << seed << (photos ? ", receipts" : ", images"));
                    const std::size_t count = ranks * each;
                    const std::vector<flops> costs = workloads::loads_of(photos ? workloads::receipts(count, seed)
                                                                                : workloads::image_counts(count, seed));
                    const assignment balanced = partition(costs, ranks, {.loads = 2});
                    const balance_report report = balance_report_of(costs, balanced);
                    CHECK(report.after.size() == 2);
                    CHECK(max_over_mean(report.after) <= 1.03);
                    CHECK(max_over_mean(report.after) < max_over_mean(report.before));
                    // Balancing the sum does not balance both.
                    std::vector<flops> sums;
                    for (std::size_t i = 0; i < count; ++i) {
                        sums.push_back(costs[2 * i] + costs[2 * i + 1]);
                    }
                    const assignment by_sum = assigned(costs, partition(sums, ranks).rank_of, ranks, 2);
                    CHECK(max_over_mean(report.after) <= max_over_mean(spreads_of(by_sum)));
                }
            }
        }
    }
}

TEST_CASE("a few samples with two costs each get the assignment with the smallest ratio of largest to mean rank load") {
    generator draw(93);
    for (std::size_t i = 0; i < 60; ++i) {
        const std::size_t ranks = 2 + draw.below(2);
        const std::size_t count = ranks == 2 ? 4 + 2 * draw.below(3) : 6;
        const bool equal = i % 2 == 0;
        const std::vector<std::uint64_t> costs = some_costs(draw, 2 * count, i % 5);
        double least = 1e9;
        for (std::vector<std::uint32_t> rank_of(count);;) {
            std::vector<std::size_t> samples(ranks);
            for (const std::uint32_t rank : rank_of) {
                ++samples[rank];
            }
            if (!equal ||
                std::all_of(samples.begin(), samples.end(), [&](std::size_t n) { return n * ranks == count; })) {
                least = std::min(least, max_over_mean(spreads_of(assigned(costs, rank_of, ranks, 2))));
            }
            std::size_t digit = 0;
            while (digit < count && ++rank_of[digit] == ranks) {
                rank_of[digit++] = 0;
            }
            if (digit == count) {
                break;
            }
        }
        const assignment balanced =
            partition(costs, ranks, {.mode = equal ? balance_mode::equal_count : balance_mode::free, .loads = 2});
        INFO("case " << i << ": " << count << " samples on " << ranks << " ranks");
        CHECK(max_over_mean(spreads_of(balanced)) <= least * (1 + 1e-9));
    }
}

TEST_CASE("the default search budget is larger for samples with two costs than for samples with one") {
    generator draw(0);
    std::vector<std::uint64_t> costs;
    for (std::size_t i = 0; i < 256; ++i) {
        costs.push_back(draw.below(1000));
        costs.push_back(draw.below(3) * draw.below(1000));
    }
    const auto spread = [&](std::uint64_t budget) {
        return max_over_mean(
            spreads_of(partition(costs, 16, {.mode = balance_mode::free, .loads = 2, .budget = budget})));
    };
    CHECK(spread(floptally::automatic_budget) <= 1 + 1.0 / 1024);
    CHECK(spread(65536 + 32 * 256) > 1.002);
}

TEST_CASE("costs near 2^90 are balanced like costs near 2^20 when samples have two costs each") {
    generator draw(151);
    std::vector<uint128> small;
    std::vector<uint128> large;
    for (std::size_t i = 0; i < 2 * 12; ++i) {
        const uint128 cost = uint128{1 + draw.below(1000)} << 11;
        small.push_back(cost);
        large.push_back(i % 2 == 0 ? cost << 70 : cost);
    }
    CHECK(partition(large, 3, {.loads = 2}).rank_of == partition(small, 3, {.loads = 2}).rank_of);
}

TEST_CASE("a second cost that is zero for every sample does not change the assignment") {
    const std::vector<int> costs{9, 7, 6, 5, 4, 3, 2, 0};
    std::vector<int> both;
    for (const int cost : costs) {
        both.insert(both.end(), {cost, 0});
    }
    const balance_report report = balance_report_of(both, partition(both, 2, {.loads = 2}));
    CHECK(max_over_mean(report.after) == 1);
    CHECK(report.after[1].max_over_min == 1);
}

TEST_CASE("a balance report shows the loads before and after, the moved samples and the predicted speedup") {
    const std::vector<int> costs{6, 5, 2, 1};
    const assignment balanced = partition(costs, 2);
    const balance_report report = balance_report_of(costs, balanced);
    REQUIRE(report.before.size() == 1);
    CHECK(report.before[0].largest == 11);
    CHECK(report.before[0].smallest == 3);
    CHECK(report.before[0].max_over_mean == floptally::imbalance{11, 7});
    CHECK(*report.before[0].max_over_min == 11.0 / 3);
    CHECK(report.before[0].range_over_max == 8.0 / 11);
    CHECK(report.after[0].max_over_mean == floptally::imbalance{1, 1});
    CHECK(*report.after[0].max_over_min == 1);
    CHECK(report.after[0].range_over_max == 0);
    CHECK(report.samples == 4);
    CHECK(report.moved == 2);
    CHECK(report.predicted_speedup == 11.0 / 7);
    CHECK(balance_report_of(balanced, balanced).moved == 0);
    CHECK(balance_report_of(costs, assigned(costs, {1, 1, 0, 0}, 2)).moved == 4);

    // Two loads wait twice: (9 + 4) ÷ (6 + 3).
    const std::vector<int> both{4, 3, 5, 1, 1, 0, 2, 2};
    const assignment swapped = assigned(both, {0, 1, 1, 0}, 2, 2);
    CHECK(swapped.loads == std::vector<uint128>{6, 5, 6, 1});
    CHECK(balance_report_of(both, swapped).predicted_speedup == (9.0 + 4) / (6 + 5));

    // As many samples, of one load more or of another exponent alone.
    const auto against = [&](const assignment& other) {
        return error_of([&] { return balance_report_of(balanced, other); });
    };
    CHECK(against(swapped) == "before: must assign the same samples with the same costs as `after`");
    assignment halves = balanced;
    --halves.exponent;
    CHECK(against(halves) == "before: must assign the same samples with the same costs as `after`");
}

TEST_CASE(
    "on made-up patch counts MegatronMIMO's balancer lowers the largest-to-smallest rank load ratio from 1.27 to 1.07, "
    "as published") {
    // Megatron-Bridge PR 4608 publishes figures and no data: receipts of CORD-v2, 32 samples on 4 ranks, 8 on each,
    // cost = patches; largest ÷ smallest rank about 1.27 as they come and about 1.07 after its equal-count
    // longest-first, about 18 to 24 samples on another rank. These counts were chosen so that its rule has those
    // figures: they test the rule and the report, and say nothing of its data.
    const std::vector<std::uint64_t> patches{5848, 5848, 1564, 2976, 2976, 2976, 2976, 2976, 2976, 5848, 5848,
                                             2016, 2976, 5848, 2976, 2976, 2976, 2016, 1564, 5848, 2976, 2016,
                                             5848, 1564, 5848, 5848, 1564, 2016, 2016, 5848, 5848, 2016};
    const auto hundredths = [](const std::optional<double>& ratio) { return std::lround(*ratio * 100); };
    const balance_report theirs =
        balance_report_of(patches, assigned(patches, public_balancers::equal_count_longest_first(patches, 4), 4));
    CHECK(theirs.before[0].largest == 31464);
    CHECK(theirs.before[0].smallest == 24808);
    CHECK(hundredths(theirs.before[0].max_over_min) == 127);
    CHECK(hundredths(theirs.after[0].max_over_min) == 107);
    CHECK(theirs.moved == 22);
    // Ours is never worse.
    const assignment balanced = partition(patches, 4);
    const balance_report own_report = balance_report_of(patches, balanced);
    CHECK(own_report.before[0].max_over_min == theirs.before[0].max_over_min);
    CHECK(*own_report.after[0].max_over_min <= *theirs.after[0].max_over_min);
    CHECK(hundredths(own_report.after[0].max_over_min) == 102);
    CHECK(own_report.moved >= 18);
    CHECK(own_report.moved <= 24);
}

TEST_CASE("MegatronMIMO's weights cost_linear_vit and cost_linear_lm scale the costs of patches and tokens") {
    const std::vector<workloads::visual_sample> receipts = workloads::receipts(32, 9);
    const std::vector<tally> samples = workloads::tallies_of(receipts);
    // Their cost is a line in two counts, with floating-point weights; ours takes any numbers.
    const auto weighed = [&](double cost_linear_vit, double cost_linear_lm) {
        std::vector<double> costs;
        for (std::size_t i = 0; i < samples.size(); ++i) {
            std::uint64_t patches = 0;
            for (const floptally::grid& image : receipts[i].images) {
                patches += image.t * image.frame_patches();
            }
            costs.push_back(cost_linear_vit * static_cast<double>(patches) +
                            cost_linear_lm *
                                static_cast<double>(samples[i].get(view::useful, floptally::accumulator::tokens)));
        }
        return costs;
    };
    for (const auto& [vit, lm] : {std::pair{1.0, 0.0}, std::pair{0.0, 1.0}, std::pair{1.0, 2.5}}) {
        const std::vector<double> costs = weighed(vit, lm);
        const assignment balanced = partition(costs, 4);
        CHECK(max_over_mean(spreads_of(balanced)) <= max_over_mean(spreads_of(contiguous(costs, 4))));
        CHECK(max_over_mean(spreads_of(balanced)) <= 1.01);
        // The unit does not matter, so a proportion is enough.
        std::vector<double> twice = costs;
        for (double& cost : twice) {
            cost *= 2;
        }
        CHECK(partition(twice, 4).rank_of == balanced.rank_of);
    }
    CHECK(partition(weighed(1, 0), 4).rank_of != partition(weighed(0, 1), 4).rank_of);

    // Equal proportions of FLOPs, component by component: exactly vision and the rest, weighed.
    const flop_counter& model = workloads::vision_language_model();
    const std::vector<floptally::component_load> loads{{.components = "*", .weight = 5},
                                                       {.components = "vision.*", .weight = 2}};
    const std::vector<flops> both = workloads::loads_of(receipts);
    const std::vector<flops> weighted = floptally::sample_loads(model, samples, loads);
    REQUIRE(weighted.size() == samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
        CHECK(weighted[i] == 5 * both[2 * i] + 2 * both[2 * i + 1]);
    }
    // A weight of 0 leaves a part out.
    const std::vector<floptally::component_load> only_vision{{.components = "*", .weight = 0},
                                                             {.components = "vision.*"}};
    const std::vector<flops> vision = floptally::sample_loads(model, samples, only_vision);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        CHECK(vision[i] == both[2 * i + 1]);
    }
}

TEST_CASE("the balancer leaves samples on their ranks if all costs are zero or if no move helps") {
    // An error in MegatronMIMO's configuration; here a batch without images is one of whose vision nobody has any.
    const std::vector<double> nothing(32);
    for (const balance_mode mode : {balance_mode::equal_count, balance_mode::free}) {
        const assignment balanced = partition(nothing, 4, {.mode = mode});
        CHECK(balanced == [&] {
            assignment as_it_comes = contiguous(nothing, 4);
            as_it_comes.is_optimum = true;
            return as_it_comes;
        }());
        const balance_report report = balance_report_of(nothing, balanced);
        CHECK(report.moved == 0);
        CHECK(report.after[0].max_over_mean == floptally::imbalance{});
        CHECK(report.after[0].max_over_min == 1);
        CHECK(report.predicted_speedup == 1);
    }
    const std::vector<int> alike(32, 7);
    CHECK(balance_report_of(alike, partition(alike, 4)).moved == 0);
    CHECK(error_of([] {
              return partition(std::vector<double>{1, -0.5}, 1);
          }) == "costs[1]: must be finite and not negative, got -0.500000");
}

TEST_CASE("every number of a balance report is finite, and a ratio with denominator zero is absent") {
    const balance_report nothing = balance_report_of(std::vector<int>(4), partition(std::vector<int>(4), 2));
    CHECK(nothing.before[0].max_over_mean == floptally::imbalance{});
    CHECK(nothing.before[0].max_over_min == 1);
    CHECK(nothing.before[0].range_over_max == 0);
    CHECK(nothing.predicted_speedup == 1);
    const std::vector<int> item{5, 0};
    const balance_report idle = balance_report_of(item, partition(item, 2));
    CHECK(idle.after[0].max_over_min == std::nullopt);
    CHECK(idle.after[0].range_over_max == 1);
    CHECK(idle.after[0].max_over_mean == floptally::imbalance{2, 1});
    const balance_report empty = balance_report_of(std::vector<int>{}, partition(std::vector<int>{}, 2));
    CHECK(empty.predicted_speedup == 1);
    CHECK(empty.moved == 0);
    // 128-bit loads: reduced before they are multiplied.
    const std::vector<flops> huge(2, flops{uint128{1} << 120});
    CHECK(balance_report_of(huge, partition(huge, 2)).after[0].max_over_mean == floptally::imbalance{});
}

}  // namespace balance_test

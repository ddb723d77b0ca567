// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <floptally/balance/assignment.hpp>
#include <floptally/balance/cost_range.hpp>
#include <floptally/balance/detail/whole_costs.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/parallel/imbalance.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The spread of loads over ranks, and a comparison of two assignments.

namespace floptally::inline v0_3 {

/// The spread of one load over ranks. No number is infinite or NaN.
struct load_spread {
    uint128 largest = 0;
    uint128 smallest = 0;
    imbalance max_over_mean{};             ///< largest ÷ mean load, exact; 1 if all loads are 0
    std::optional<double> max_over_min{};  ///< largest ÷ smallest load; empty if only some loads are 0; 1 if all are 0
    double range_over_max = 0;             ///< (largest − smallest) ÷ largest load; 0 if all loads are 0
};

/// A comparison of two assignments of the same samples.
struct balance_report {
    std::vector<load_spread> before{};  ///< spread of each load in the first assignment
    std::vector<load_spread> after{};   ///< spread of each load in the second assignment
    std::size_t samples = 0;
    std::size_t moved = 0;  ///< number of samples that are on another rank than before
    /// Predicted time before ÷ predicted time after. The time is the largest load of any rank, summed over the loads
    /// (such as vision and language). This assumes that a rank's time is its load, and that all ranks wait for the
    /// slowest one after each load. All loads must have the same unit. 1 if all loads are 0.
    double predicted_speedup = 1;
};

/// Returns the spread of each load of an assignment.
[[nodiscard]] inline std::vector<load_spread> spreads_of(const assignment& samples) {
    std::vector<load_spread> spreads;
    for (std::size_t load = 0; load < samples.loads_per_rank && samples.ranks() != 0; ++load) {
        load_spread spread{.largest = samples.loads[load], .smallest = samples.loads[load]};
        uint128 sum = 0;
        for (std::size_t rank = 0; rank < samples.ranks(); ++rank) {
            const uint128 rank_load = samples.loads[rank * samples.loads_per_rank + load];
            spread.largest = std::max(spread.largest, rank_load);
            spread.smallest = std::min(spread.smallest, rank_load);
            sum = (flops{sum} + flops{rank_load}).value();
        }
        spread.max_over_mean = imbalance_of(spread.largest, sum, samples.ranks());
        const auto largest = static_cast<double>(spread.largest);
        if (spread.smallest != 0) {
            spread.max_over_min = largest / static_cast<double>(spread.smallest);
        } else if (spread.largest == 0) {
            spread.max_over_min = 1;
        }
        spread.range_over_max =
            spread.largest == 0 ? 0 : static_cast<double>(spread.largest - spread.smallest) / largest;
        spreads.push_back(spread);
    }
    return spreads;
}

/// Returns the largest ratio max ÷ mean (over the ranks) of any load; 1 if there are no loads.
[[nodiscard]] inline double max_over_mean(std::span<const load_spread> loads) {
    double worst = 1;
    for (const load_spread& load : loads) {
        worst = std::max(worst, load.max_over_mean.ratio());
    }
    return worst;
}

/// Returns the comparison of two assignments of the same samples.
[[nodiscard]] inline balance_report balance_report_of(const assignment& before, const assignment& after) {
    if (before.rank_of.size() != after.rank_of.size() || before.loads_per_rank != after.loads_per_rank ||
        before.exponent != after.exponent) {
        throw error("before", "must assign the same samples with the same costs as `after`");
    }
    balance_report report{.before = spreads_of(before), .after = spreads_of(after), .samples = after.rank_of.size()};
    for (std::size_t sample = 0; sample < report.samples; ++sample) {
        report.moved += before.rank_of[sample] != after.rank_of[sample] ? 1U : 0U;
    }
    const auto time_of = [](const std::vector<load_spread>& loads) {
        flops sum;
        for (const load_spread& load : loads) {
            sum += flops{load.largest};
        }
        return sum.value();
    };
    const uint128 after_time = time_of(report.after);
    report.predicted_speedup =
        after_time == 0 ? 1 : static_cast<double>(time_of(report.before)) / static_cast<double>(after_time);
    return report;
}

/// Compares the contiguous assignment (the samples are cut, in their order, into one piece for each rank) with `after`.
template <cost_range Costs>
[[nodiscard]] balance_report balance_report_of(const Costs& costs, const assignment& after) {
    return balance_report_of(contiguous(costs, after.ranks(), after.loads_per_rank), after);
}

}  // namespace floptally

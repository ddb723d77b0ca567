// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/waterfall/pipeline_schedule.hpp>

namespace floptally {

/// How unevenly ranks work, and how long their pipelines take, in any unit that is the same for all: FLOPs, or time at
/// the peak. Without anything said, all work all the time.
struct rank_times {
    uint128 largest = 1;  ///< of the rank with the most work
    uint128 sum = 1;
    std::uint64_t ranks = 1;
    std::optional<uint128> makespan{};  ///< until the last pipeline is done; absent where there is no pipeline

    /// Of the largest work and the sum over the ranks, as two reductions give them.
    [[nodiscard]] static rank_times of(uint128 largest, uint128 sum, std::uint64_t ranks) {
        require_positive(ranks, "ranks");
        if (sum == 0) {
            throw error("ranks", "do no work at all");
        }
        if (largest > sum || largest < (sum - 1) / ranks + 1) {
            throw error("ranks", "the largest work must be from the mean to the sum of all " + std::to_string(ranks) +
                                     ", got " + to_string(largest) + " of " + to_string(sum));
        }
        return {largest, sum, ranks, {}};
    }
    /// Of the work of each rank.
    [[nodiscard]] static rank_times of(std::span<const std::uint64_t> loads) {
        uint128 largest = 0;
        uint128 sum = 0;
        for (const std::uint64_t load : loads) {
            largest = std::max(largest, uint128{load});
            sum += load;
        }
        return of(largest, sum, loads.size());
    }
    /// Of pipelines beside each other, one for each part of the batch: a step ends with the last of them. Ranks of
    /// tensor and context parallelism that do the same as another count once.
    [[nodiscard]] static rank_times of(std::span<const pipeline_run> pipelines) {
        uint128 largest = 0;
        uint128 sum = 0;
        uint128 makespan = 0;
        std::uint64_t ranks = 0;
        for (const pipeline_run& one : pipelines) {
            makespan = std::max(makespan, uint128{one.makespan});
            ranks += one.busy.size();
            for (const std::uint64_t busy : one.busy) {
                largest = std::max(largest, uint128{busy});
                sum += busy;
            }
        }
        rank_times all = of(largest, sum, ranks);
        all.makespan = makespan;
        return all;
    }

    /// Of the time until all are done, what ranks work on average, …
    [[nodiscard]] double busy_share() const { return mean() / end(); }
    /// … what they wait since another has more work, …
    [[nodiscard]] double imbalance_share() const { return (static_cast<double>(largest) - mean()) / end(); }
    /// … and what the pipelines' order makes them wait besides.
    [[nodiscard]] double bubble_share() const { return (end() - static_cast<double>(largest)) / end(); }

  private:
    [[nodiscard]] double mean() const { return static_cast<double>(sum) / static_cast<double>(ranks); }
    [[nodiscard]] double end() const { return static_cast<double>(makespan.value_or(largest)); }
};

}  // namespace floptally

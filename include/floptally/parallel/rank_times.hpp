// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The uneven work of ranks, and the time that they wait.

namespace floptally {

/// The uneven work of ranks, and the time that their pipelines take, in one unit for all: FLOPs, or time at the peak.
/// By default all ranks work all the time.
struct rank_times {
    uint128 largest = 1;  ///< work of the rank with the most
    uint128 sum = 1;      ///< work of all ranks
    std::uint64_t ranks = 1;
    std::optional<uint128> makespan{};  ///< time until the last pipeline is done; absent without a pipeline
    bool is_after_one_f_one_b = false;  ///< 1F1B of the same layers on the same ranks would be done sooner

    /// The times of ranks from the largest work and the sum over the ranks, as two reductions give them.
    [[nodiscard]] static rank_times of(uint128 largest, uint128 sum, std::uint64_t ranks) {
        require_positive(ranks, "ranks");
        if (sum == 0) {
            throw error("ranks", "do no work at all");
        }
        if (largest > sum || largest < (sum - 1) / ranks + 1) {
            detail::refuse("ranks",
                           {"the largest work of ", ranks, " ranks must lie between their mean and their sum, got ",
                            to_string(largest), " of ", to_string(sum)});
        }
        return {.largest = largest, .sum = sum, .ranks = ranks};
    }
    /// The times of ranks from the work of each.
    [[nodiscard]] static rank_times of(std::span<const std::uint64_t> loads) {
        uint128 largest = 0;
        uint128 sum = 0;
        for (const std::uint64_t load : loads) {
            largest = std::max(largest, uint128{load});
            sum += load;
        }
        return of(largest, sum, loads.size());
    }
    /// The times of ranks from their pipelines, one for each part of the batch: a step ends with the last of them.
    /// Ranks of tensor and context parallelism that do the same work count once.
    [[nodiscard]] static rank_times of(std::span<const pipeline_run> pipelines) {
        uint128 largest = 0;
        uint128 sum = 0;
        uint128 makespan = 0;
        std::uint64_t ranks = 0;
        for (const pipeline_run& pipeline : pipelines) {
            makespan = std::max(makespan, uint128{pipeline.makespan});
            ranks += pipeline.busy.size();
            for (const std::uint64_t busy : pipeline.busy) {
                largest = std::max(largest, uint128{busy});
                sum += busy;
            }
        }
        rank_times all = of(largest, sum, ranks);
        all.makespan = makespan;
        return all;
    }

    /// The share of the time until all are done in which ranks work, on average.
    [[nodiscard]] double busy_share() const { return mean() / end(); }
    /// The share in which they wait since another has more work.
    [[nodiscard]] double imbalance_share() const { return (static_cast<double>(largest) - mean()) / end(); }
    /// The share in which they wait for the order of the pipelines besides.
    [[nodiscard]] double bubble_share() const { return (end() - static_cast<double>(largest)) / end(); }

  private:
    [[nodiscard]] double mean() const { return static_cast<double>(sum) / static_cast<double>(ranks); }
    [[nodiscard]] double end() const { return static_cast<double>(makespan.value_or(largest)); }
};

}  // namespace floptally

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
/// How unevenly ranks work, and how long they wait.

namespace floptally::inline v0_3 {

/// How unevenly ranks work, and how long their pipelines take. All values have the same unit: FLOPs, or the time that
/// these FLOPs take at peak speed. The default values mean that no rank ever waits.
struct rank_times {
    uint128 largest = 1;  ///< work of the rank that has the most work
    uint128 sum = 1;      ///< work of all ranks
    std::uint64_t ranks = 1;
    std::optional<uint128> makespan{};  ///< time until the last pipeline has ended; empty without a pipeline
    bool is_after_one_f_one_b = false;  ///< true: the schedule 1F1B would be faster with the same layers on the same
                                        ///< ranks

    /// Makes the times from the largest work of a rank and the sum over ranks, such as the results of a MAX and a SUM
    /// over ranks.
    [[nodiscard]] static rank_times of(uint128 largest, uint128 sum, std::uint64_t ranks) {
        require_positive(ranks, "ranks");
        if (sum == 0) {
            throw error("ranks", "at least one rank must have work, got none");
        }
        if (largest > sum || largest < (sum - 1) / ranks + 1) {
            detail::refuse("ranks", {"the largest work of ", ranks,
                                     " ranks must lie between the mean and the sum of their work, got ",
                                     to_string(largest), " with a sum of ", to_string(sum)});
        }
        return {.largest = largest, .sum = sum, .ranks = ranks};
    }
    /// Makes the times from the work of each rank.
    [[nodiscard]] static rank_times of(std::span<const std::uint64_t> loads) {
        uint128 largest = 0;
        uint128 sum = 0;
        for (const std::uint64_t load : loads) {
            largest = std::max(largest, uint128{load});
            sum += load;
        }
        return of(largest, sum, loads.size());
    }
    /// Makes the times from the pipelines of all data-parallel ranks. A step ends when the last pipeline ends. Ranks of
    /// tensor and context parallelism that do the same work count once.
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

    /// Returns the average fraction of the step in which a rank works. The step ends when the last rank has ended.
    [[nodiscard]] double busy_share() const { return mean() / end(); }
    /// Returns the average fraction of the step in which a rank waits because another rank has more work.
    [[nodiscard]] double imbalance_share() const { return (static_cast<double>(largest) - mean()) / end(); }
    /// Returns the average fraction of the step in which a rank waits for the passes of other pipeline ranks (the
    /// bubble). It excludes the wait of `imbalance_share`.
    [[nodiscard]] double bubble_share() const { return (end() - static_cast<double>(largest)) / end(); }

  private:
    [[nodiscard]] double mean() const { return static_cast<double>(sum) / static_cast<double>(ranks); }
    [[nodiscard]] double end() const { return static_cast<double>(makespan.value_or(largest)); }
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// Counts the tokens, attended pairs or other items of a batch that an entry of a cost multiplies, padding included.
/// The entry's statistic says which items. With `ranks` above 1 it returns the share of one rank, rounded up.
class batch_units {
  public:
    explicit batch_units(const tally& batch, std::uint64_t ranks = 1) : batch_(batch), ranks_(ranks) {
        require_positive(ranks, "token_ranks");
    }

    [[nodiscard]] std::uint64_t count(const cost& part, const cost_entry& entry) const {
        const statistic* const over = has_statistic(entry.what) ? &part.masks()[entry.mask] : nullptr;
        for (const known& unit : known_) {
            if (unit.what == entry.what && unit.in == entry.in && (over == nullptr || unit.over == *over)) {
                return unit.units;
            }
        }
        cost single;
        single.add_entry("units", {}, cost_entry{.what = entry.what, .in = entry.in, .useful = 1, .padded = 1},
                         over == nullptr ? statistic{} : *over);
        const std::uint64_t all = flop_counter(single, conventions::exact, {.counted = counted_passes::forward})
                                      .evaluate(batch_)
                                      .total(view::padded)
                                      .low();
        const std::uint64_t units = all / ranks_ + (all % ranks_ != 0 ? 1 : 0);
        known_.push_back({entry.what, entry.in, over == nullptr ? statistic{} : *over, units});
        return units;
    }

  private:
    struct known {
        accumulator what;
        modality in;
        statistic over;
        std::uint64_t units;
    };
    const tally& batch_;
    std::uint64_t ranks_;
    mutable std::vector<known> known_;
};

}  // namespace floptally::detail

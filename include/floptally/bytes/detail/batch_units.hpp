// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// How many units of a row's statistic a batch has, padded slots included, or one of `ranks` that share them equally.
class batch_units {
  public:
    explicit batch_units(const tally& batch, std::uint64_t ranks = 1) : batch_(batch), ranks_(ranks) {
        require_positive(ranks, "token_ranks");
    }

    [[nodiscard]] std::uint64_t of(const cost& part, const cost_row& row) const {
        const rule* const over = has_rule(row.what) ? &part.masks()[row.mask] : nullptr;
        for (const known& entry : known_) {
            if (entry.what == row.what && entry.in == row.in && (over == nullptr || entry.over == *over)) {
                return entry.units;
            }
        }
        cost single;
        single.add_row("units", {}, cost_row{.what = row.what, .in = row.in, .useful = 1, .padded = 1},
                       over == nullptr ? rule{} : *over);
        const std::uint64_t all = flop_counter(single, conventions::exact, {.counted = counted_passes::forward})
                                      .evaluate(batch_)
                                      .total(view::padded)
                                      .low();
        const std::uint64_t units = all / ranks_ + (all % ranks_ != 0 ? 1 : 0);
        known_.push_back({row.what, row.in, over == nullptr ? rule{} : *over, units});
        return units;
    }

  private:
    struct known {
        statistic what;
        modality in;
        rule over;
        std::uint64_t units;
    };
    const tally& batch_;
    std::uint64_t ranks_;
    mutable std::vector<known> known_;
};

}  // namespace floptally::detail

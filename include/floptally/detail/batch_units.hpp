// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/flops.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>

namespace floptally::detail {

/// How many units of a row's statistic a batch has, padded slots included.
class batch_units {
  public:
    explicit batch_units(const tally& batch) : batch_(batch) {}

    [[nodiscard]] std::uint64_t of(const cost& part, const cost_row& row) const {
        const rule* const over = has_rule(row.what) ? &part.masks()[row.mask] : nullptr;
        for (const known& one : known_) {
            if (one.what == row.what && one.in == row.in && (over == nullptr || one.over == *over)) {
                return one.units;
            }
        }
        cost single;
        single.add_row("units", {}, cost_row{.what = row.what, .in = row.in, .useful = 1, .padded = 1},
                       over == nullptr ? rule{} : *over);
        const flops units = flop_counter(single, conventions::exact, {.counted = counted_passes::forward})
                                .evaluate(batch_)
                                .total(view::padded);
        known_.push_back({row.what, row.in, over == nullptr ? rule{} : *over, units.low()});
        return units.low();
    }

  private:
    struct known {
        statistic what;
        modality in;
        rule over;
        std::uint64_t units;
    };
    const tally& batch_;
    mutable std::vector<known> known_;
};

}  // namespace floptally::detail

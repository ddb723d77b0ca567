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

namespace floptally::detail {

/// How many units of a row's statistic a batch has, padded slots included.
class batch_units {
  public:
    explicit batch_units(const tally& batch) : batch_(batch) {}

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

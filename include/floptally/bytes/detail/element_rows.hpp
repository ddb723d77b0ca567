// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <floptally/count/convention.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// Rows whose units are elements, beside the products that they belong to: a plan runs them as often as these.

namespace floptally::detail {

/// The convention that counts every row, element-wise ones too.
inline constexpr convention bytes_convention{
    .name = "bytes", .summary = "every row of a model", .counted = terms_that([](term) { return true; })};

/// A row without FLOPs, which says what flows where and which weights train, in a place among rows of elements. Those
/// are over `statistic::count`; what a plan makes of this one's adapter is over another, and left out.
[[nodiscard]] inline cost_row blank_of(cost_row row) {
    row.useful = row.padded = 0;
    if (row.what == statistic::routed) {  // of visits, which have no adapter here
        row.per_rank = {};
        return row;
    }
    row.what = row.what == statistic::count ? statistic::squares : row.what;
    return row;
}

/// A plan whose adapters all have the rank 1, for what does not grow with it.
[[nodiscard]] inline training_plan with_rank_one(training_plan plan) {
    for (weight_setting& setting : plan.weights) {
        setting.rank = setting.rank == 0 ? 0 : 1;
    }
    return plan;
}

/// Lists of such rows, one for each kind. Of an adapter a kind has elements for each unit of its rank
/// (`is_of_adapters`), or as many whatever its rank is.
template <class Kind>
class element_rows {
  public:
    explicit element_rows(std::span<const model_part> parts) {
        for (const model_part& part : parts) {
            blank_.push_back(part);
            blank_.back().cost = part.cost.with_rows(blank_of);
        }
    }

    /// So many elements of a part and of an adapter beside them, which run as `like` does.
    void put(std::size_t part, const cost& whole, const cost_row& like, const Kind& kind, std::uint64_t amount,
             std::uint64_t of_adapter = 0) {
        cost_row row{.what = statistic::count,
                     .kind = like.kind == term::scores ? term::values : like.kind,
                     .in = like.in,
                     .useful = amount,
                     .padded = amount,
                     .flow = like.flow,
                     .per_rank = {.in = of_adapter}};
        row.flow.writes = 0;
        list_of(kind)[part].cost.add_row(whole.components()[like.component], whole.weight_name(like), row);
    }

    /// Calls `each(kind, component, elements, run)` with sums of rows that the plan runs equally often.
    template <class Each>
    void for_each(const training_plan& plan, Each each) const {
        const training_plan of_any_rank = with_rank_one(plan);
        for (const list& listed : lists_) {
            const cost none;
            const plan_walk walk(listed.parts, none, bytes_convention, listed.kind.is_of_adapters ? plan : of_any_rank);
            for (const planned_row& planned : walk.rows) {
                if (planned.row.what == statistic::count && planned.row.padded != 0) {
                    each(listed.kind, walk.components[planned.component], planned.row.padded, planned.run);
                }
            }
        }
    }

  private:
    struct list {
        Kind kind;
        std::vector<model_part> parts;
    };

    std::vector<model_part>& list_of(const Kind& kind) {
        for (list& known : lists_) {
            if (known.kind == kind) {
                return known.parts;
            }
        }
        lists_.push_back({kind, blank_});
        return lists_.back().parts;
    }

    std::vector<model_part> blank_;  ///< with what flows where, which decides about gradients
    std::vector<list> lists_;
};

}  // namespace floptally::detail

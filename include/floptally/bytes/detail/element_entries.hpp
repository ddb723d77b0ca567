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
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/statistics/accumulator.hpp>

/// @file
/// Counts the elements that matrix products read or write. The number of elements is stored as the "FLOPs" of an entry
/// of a cost. This entry is made from the matrix product's entry, so that a plan runs both equally often.

namespace floptally::inline v0_3::detail {

/// A convention that counts every entry, element-wise entries included.
inline constexpr convention bytes_convention{
    .name = "bytes", .summary = "every entry of a model", .counted = terms_that([](term) { return true; })};

/// Returns an entry without FLOPs. It keeps the values that it reads and writes, and which weights train.
///
/// The returned entry does not use `accumulator::count`, because this accumulator marks entries that count elements.
/// Entries that a plan adds for adapters do not use it either, so that they can be recognized and left out.
[[nodiscard]] inline cost_entry blank_of(cost_entry entry) {
    entry.useful = entry.padded = 0;
    // Elements of experts' adapters are not counted, so the returned entry has no adapter.
    if (entry.what == accumulator::routed) {
        entry.per_rank = {};
        return entry;
    }
    entry.what = entry.what == accumulator::count ? accumulator::squares : entry.what;
    return entry;
}

/// Returns the plan with rank 1 for all adapters, to count the elements that do not depend on the adapters' rank.
[[nodiscard]] inline training_plan with_rank_one(training_plan plan) {
    for (weight_setting& setting : plan.weights) {
        setting.rank = setting.rank == 0 ? 0 : 1;
    }
    return plan;
}

/// Lists of entries that count elements, one list for each `Kind` of elements, such as one exchange. If a kind has
/// `is_of_adapters`, its elements are counted for adapters of rank 1 and multiplied by the rank. Elements of other
/// kinds do not depend on the rank.
template <class Kind>
class element_entries {
  public:
    explicit element_entries(std::span<const model_part> parts) {
        for (const model_part& part : parts) {
            blank_.push_back(part);
            blank_.back().cost = part.cost.with_entries(blank_of);
        }
    }

    /// Adds `amount` elements for the entry `like` of a part, and `of_adapter` elements for its adapter. The elements
    /// count as often as the plan runs `like`.
    void put(std::size_t part, const cost& whole, const cost_entry& like, const Kind& kind, std::uint64_t amount,
             std::uint64_t of_adapter = 0) {
        cost_entry entry{.what = accumulator::count,
                         .kind = like.kind == term::scores ? term::values : like.kind,
                         .in = like.in,
                         .useful = amount,
                         .padded = amount,
                         .flow = like.flow,
                         .per_rank = {.in = of_adapter}};
        entry.flow.writes = 0;
        list_of(kind)[part].cost.add_entry(whole.components()[like.component], whole.weight_name(like), entry);
    }

    /// Adds up the entries that have the same kind and component and that the plan runs equally often. Calls
    /// `each(kind, component, elements, run)` for each such sum.
    template <class Each>
    void for_each(const training_plan& plan, Each each) const {
        const training_plan of_any_rank = with_rank_one(plan);
        for (const list& listed : lists_) {
            const cost none;
            const plan_walk walk(listed.parts, none, bytes_convention, listed.kind.is_of_adapters ? plan : of_any_rank);
            for (const planned_entry& planned : walk.entries) {
                if (planned.entry.what == accumulator::count && planned.entry.padded != 0) {
                    each(listed.kind, walk.components[planned.component], planned.entry.padded, planned.run);
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

    std::vector<model_part> blank_;  ///< the model's parts without FLOPs; their data flow decides which gradients a
                                     ///< plan computes
    std::vector<list> lists_;
};

}  // namespace floptally::detail

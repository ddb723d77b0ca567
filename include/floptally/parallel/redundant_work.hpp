// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/training_plan.hpp>

namespace floptally {

/// A rule of a layout: all ranks along these axes run the same work, each the whole of it, as every rank of context
/// parallelism does with a vision tower whose images are not dealt. `weights` as in a `plan_rule`: "vision.*",
/// "moe.router", "attention.qkv/kv_a_proj_with_mqa".
struct redundant_work {
    component_name weights;
    axis_set over;
};

/// The plan of all ranks of a layout, for a batch of all of them and the cost of the whole model: what its rules name
/// is executed by each of the ranks, and useful once.
[[nodiscard]] constexpr training_plan with_redundant_work(training_plan plan, const parallel_layout& layout,
                                                          std::span<const redundant_work> rules) {
    for (const redundant_work& rule : rules) {
        if (rule.over.empty()) {
            throw error("redundant_work", "\"" + std::string(rule.weights.view()) + "\" is run again over no axis");
        }
        std::uint64_t ranks = 1;
        for (const parallel_axis axis : {parallel_axis::ep, parallel_axis::expert_dp}) {
            if (rule.over.contains(axis)) {
                throw error("redundant_work",
                            std::string(name_of(axis)) + " is no axis of its own: its ranks are those of dp x cp");
            }
        }
        for (const parallel_axis axis : dense_axes) {
            ranks = rule.over.contains(axis) ? checked_multiply(ranks, layout.size(axis), "redundant_work") : ranks;
        }
        plan.repeated.push_back({rule.weights, ranks}, "redundant_work");
    }
    return plan;
}
[[nodiscard]] constexpr training_plan with_redundant_work(const training_plan& plan, const parallel_layout& layout,
                                                          std::initializer_list<redundant_work> rules) {
    return with_redundant_work(plan, layout, std::span(rules.begin(), rules.size()));
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Work that each of several ranks runs completely. It counts as executed on every rank, but as useful only once.

namespace floptally::inline v0_3 {

/// Work that each rank along the axes `over` runs completely. For example, every context-parallel rank runs a vision
/// tower whose images are not sharded. `weights` is a pattern for names of model weights: "vision.*", "moe.router",
/// "attention.qkv/kv_a_proj_with_mqa".
struct redundant_work {
    component_name weights;
    axis_set over;
};

/// Returns the plan with redundant work added. The redundant work counts as executed on every rank, but as useful only
/// once. Use the result with the batch of all ranks and the cost of the whole model.
[[nodiscard]] constexpr training_plan with_redundant_work(training_plan plan, const parallel_layout& layout,
                                                          std::span<const redundant_work> repeated) {
    for (const redundant_work& work : repeated) {
        if (work.over.empty()) {
            detail::refuse("redundant_work",
                           {"\"", work.weights.view(),
                            "\" has no axis in `over`: name an axis along which every rank runs this work"});
        }
        std::uint64_t ranks = 1;
        for (const parallel_axis axis :
             {parallel_axis::ep, parallel_axis::expert_dp, parallel_axis::etp, parallel_axis::dp_replicate}) {
            if (work.over.contains(axis)) {
                detail::refuse(
                    "redundant_work",
                    {name_of(axis),
                     " cannot be used, because its ranks are also ranks of dp x cp x tp: name dp, cp or tp instead"});
            }
        }
        for (const parallel_axis axis : dense_axes) {
            ranks = work.over.contains(axis) ? checked(ranks, "redundant_work") * layout.size(axis) : ranks;
        }
        plan.repeated.push_back({work.weights, ranks}, "redundant_work");
    }
    return plan;
}
[[nodiscard]] constexpr training_plan with_redundant_work(const training_plan& plan, const parallel_layout& layout,
                                                          std::initializer_list<redundant_work> repeated) {
    return with_redundant_work(plan, layout, std::span(repeated.begin(), repeated.size()));
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/communication_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The line of communication from bytes and a bandwidth, where nobody measured it.

namespace floptally {

/// The exposed communication of a step whose ranks send these bytes, were none of it hidden: of the rank that needs
/// most time for it. Groups without a bandwidth are named, and their bytes have no time. `batch` is that of all
/// replicas.
[[nodiscard]] inline time_apart estimated_communication(std::span<const model_part> model, const tally& batch,
                                                        const parallel_sizes& sizes, std::uint64_t working_gpus,
                                                        const training_plan& plan, communication_options how,
                                                        const group_bandwidths& bandwidths) {
    time_apart made{.name = "estimated communication", .kind = apart_kind::transfer};
    for (std::uint64_t pp_rank = 0; pp_rank < sizes.pp; ++pp_rank) {
        const std::uint64_t rank = pp_rank * (working_gpus / sizes.pp);
        const parallel_layout layout(sizes, working_gpus, rank);
        how.token_ranks = working_gpus / sizes.tp / sizes.pp;
        const communication sent = communication_of(model, batch, layout, plan, how);
        double seconds = 0;
        std::string groups;
        for (const communication_time& group : communication_times(sent, bandwidths)) {
            seconds += group.seconds.value_or(0);
            append_item(groups, detail::text_of({name_of(group.over), " ",
                                                 detail::general_decimal(to_double(flops{group.bytes}) / 1e9, 3), " GB",
                                                 group.seconds ? "" : " without a bandwidth",
                                                 group.is_estimate ? ", experts chosen uniformly" : ""}));
        }
        for (const std::string& name : sent.unsaid) {
            append_item(groups, detail::text_of({"not said: ", name}));
        }
        if (pp_rank == 0 || seconds > made.seconds) {
            made.seconds = seconds;
            made.assumed = detail::text_of(
                {"estimated, were none of it hidden: ", groups.empty() ? std::string_view("nothing is sent") : groups});
        }
    }
    return made;
}

/// The exposed communication of the ranks that a step has: pipelines and a layout where there are any, and data
/// parallel ranks of what GPUs are left.
[[nodiscard]] inline time_apart estimated_communication(std::span<const model_part> model, const tally& batch,
                                                        const training_plan& plan,
                                                        const std::optional<pipeline_choices>& choices,
                                                        const std::optional<layout_work>& layout,
                                                        std::uint64_t working_gpus, const element_bits& bits,
                                                        const group_bandwidths& bandwidths) {
    communication_options how{.bits = bits};
    parallel_sizes sizes;
    if (layout) {
        sizes.cp = layout->loads.size();
        sizes.tp = layout->loads_of_ranks.size() / layout->loads.size();
        how.ranks.tensor = layout->how;
    }
    if (choices) {
        sizes.pp = choices->pp;
        sizes.vpp = choices->chunks();
        how.microbatches = detail::microbatches_of(*choices);
        how.ranks.pipeline = choices->split;
        how.ranks.layers_of_chunks = choices->layers_of_chunks;
    }
    const std::uint64_t ranks = checked(sizes.tp, "tp") * sizes.cp * sizes.pp;
    if (working_gpus % ranks != 0) {
        detail::refuse("gpus", {"must be a multiple of ", ranks, " ranks, tp x cp x pp, where they are not idle, got ",
                                working_gpus});
    }
    sizes.dp = working_gpus / ranks;
    return estimated_communication(model, batch, sizes, working_gpus, plan, how, bandwidths);
}

}  // namespace floptally

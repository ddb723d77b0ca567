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
#include <floptally/step/time_breakdown.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Estimates a step's exposed communication from bytes and bandwidths, for steps whose communication was not measured.

namespace floptally::inline v0_3 {

/// Estimates the exposed communication of a step: the communication time of the slowest rank, as if no communication
/// overlapped with computation. A group without a bandwidth adds no time; the result's text then names the group and
/// its bytes. `batch` is the batch of all replicas.
[[nodiscard]] inline time_apart estimated_communication(std::span<const model_part> model, const tally& batch,
                                                        const parallel_sizes& sizes, std::uint64_t working_gpus,
                                                        const training_plan& plan, communication_options options,
                                                        const group_bandwidths& bandwidths) {
    bandwidths.require_nodes();
    options.gpus_per_node = bandwidths.gpus_per_node;
    time_apart longest{.name = "estimated communication", .kind = apart_kind::transfer, .is_estimate = true};
    for (std::uint64_t pp_rank = 0; pp_rank < sizes.pp; ++pp_rank) {
        const std::uint64_t rank = pp_rank * (working_gpus / sizes.pp);
        const parallel_layout layout(sizes, working_gpus, rank);
        options.token_ranks = working_gpus / sizes.tp / sizes.pp;
        const communication sent = communication_of(model, batch, layout, plan, options);
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
        if (pp_rank == 0 || seconds > longest.seconds) {
            longest.seconds = seconds;
            longest.assumed = detail::text_of(
                {"estimated, were none of it hidden: ", groups.empty() ? std::string_view("nothing is sent") : groups});
        }
    }
    return longest;
}

/// Estimates the exposed communication of a pipeline and of a layout; each may be left out. Of the GPUs that are not
/// idle, those beyond tp x cp x pp are data parallel. Experts are split over `ep` ranks, and their matrices over `etp`
/// ranks; `etp` 0 means tp. Throws `error` if the number of GPUs that are not idle is no multiple of tp x cp x pp.
[[nodiscard]] inline time_apart estimated_communication(std::span<const model_part> model, const tally& batch,
                                                        const training_plan& plan,
                                                        const std::optional<pipeline_choices>& choices,
                                                        const std::optional<layout_work>& layout,
                                                        std::uint64_t working_gpus, const element_bits& bits,
                                                        const group_bandwidths& bandwidths, std::uint64_t ep = 1,
                                                        std::uint64_t etp = 0) {
    communication_options options{.bits = bits};
    parallel_sizes sizes{.ep = ep, .etp = etp};
    if (layout) {
        sizes.cp = layout->loads.size();
        sizes.tp = layout->loads_of_ranks.size() / layout->loads.size();
        options.ranks.tensor = layout->options;
    }
    if (choices) {
        sizes.pp = choices->pp;
        sizes.vpp = choices->chunks();
        options.microbatches = detail::microbatches_of(*choices);
        options.ranks.pipeline = choices->split;
        options.ranks.layers_of_chunks = choices->layers_of_chunks;
    }
    const std::uint64_t ranks = checked(sizes.tp, "tp") * sizes.cp * sizes.pp;
    if (working_gpus % ranks != 0) {
        detail::refuse("gpus", {"must be a multiple of tp x cp x pp = ", ranks, " after subtracting idle GPUs, got ",
                                working_gpus});
    }
    sizes.dp = working_gpus / ranks;
    return estimated_communication(model, batch, sizes, working_gpus, plan, options, bandwidths);
}

}  // namespace floptally

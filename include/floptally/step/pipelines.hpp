// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/pipeline_times.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The pipelines of a step from what a user says of them: stages, schedule, replicas, microbatches.

namespace floptally {

/// Choices of the pipelines of a step.
struct pipeline_choices {
    std::uint64_t pp = 1;                           ///< ranks of a pipeline
    std::optional<std::uint64_t> vpp{};             ///< chunks of each; 1, or 2 in ZB-V
    std::optional<pipeline_schedule> schedule{};    ///< 1F1B, or interleaved where `vpp` is above 1
    std::optional<std::uint64_t> replicas{};        ///< pipelines beside each other; as many as the lists below have
    std::optional<std::uint64_t> microbatches{};    ///< of each replica, all alike
    std::vector<std::uint64_t> loads{};             ///< own work of each replica, in any unit
    std::vector<std::vector<tally>> batches{};      ///< of each microbatch of each replica
    std::vector<std::uint64_t> layers_of_chunks{};  ///< in forward order; else an even split, but for `split`
    pipeline_options split{};

    [[nodiscard]] std::uint64_t chunks() const { return vpp.value_or(schedule == pipeline_schedule::zb_v ? 2 : 1); }
    [[nodiscard]] pipeline_schedule order() const {
        return schedule.value_or(vpp.value_or(1) > 1 ? pipeline_schedule::interleaved : pipeline_schedule::one_f_one_b);
    }
    [[nodiscard]] std::uint64_t num_replicas() const {
        return replicas.value_or(std::max({loads.size(), batches.size(), std::size_t{1}}));
    }
};

/// Pipelines beside each other as they ran.
struct pipelines {
    rank_times times{};
    std::uint64_t microbatches = 0;  ///< of all of them together
};

namespace detail {

[[nodiscard]] inline pipeline_split split_of(const pipeline_choices& choices, std::uint64_t layers) {
    if (choices.layers_of_chunks.empty()) {
        return pipeline_split::even(layers, choices.pp, choices.chunks(), choices.split);
    }
    for (const auto& [is_given, field] :
         {std::pair(choices.split.num_layers_in_first_pipeline_stage != 0, "num_layers_in_first_pipeline_stage"),
          std::pair(choices.split.num_layers_in_last_pipeline_stage != 0, "num_layers_in_last_pipeline_stage"),
          std::pair(choices.split.account_for_embedding_in_pipeline_split, "account_for_embedding_in_pipeline_split"),
          std::pair(choices.split.account_for_loss_in_pipeline_split, "account_for_loss_in_pipeline_split")}) {
        if (is_given) {
            throw error(field, "is given beside layers_of_chunks, which says all");
        }
    }
    const std::uint64_t chunks = choices.pp * choices.chunks();
    if (choices.layers_of_chunks.size() != chunks) {
        refuse("layers_of_chunks", {"must be ", chunks, " numbers, pp x vpp, got ", choices.layers_of_chunks.size()});
    }
    return {choices.pp, choices.layers_of_chunks};
}

/// The microbatches of each replica; an error where lists and numbers do not agree.
[[nodiscard]] inline std::uint64_t microbatches_of(const pipeline_choices& choices) {
    const std::uint64_t replicas = choices.num_replicas();
    if (!choices.loads.empty() && !choices.batches.empty()) {
        throw error("rank_work", "is given beside microbatches that say the work of each");
    }
    if (!choices.loads.empty() && choices.loads.size() != replicas) {
        refuse("rank_work", {"must have a number for each of ", replicas, " replicas, got ", choices.loads.size()});
    }
    if (choices.batches.empty()) {
        if (!choices.microbatches) {
            throw error("microbatches", "is missing; a pipeline runs so many of them in the step");
        }
        return *choices.microbatches;
    }
    if (choices.batches.size() != replicas) {
        refuse("microbatches", {"must be a list for each of ", replicas, " replicas, got ", choices.batches.size()});
    }
    const std::size_t own = choices.batches.front().size();
    for (const std::vector<tally>& replica : choices.batches) {
        if (replica.empty() || replica.size() != own) {
            throw error("microbatches", "must be one at least, and as many in each replica");
        }
    }
    if (choices.microbatches.value_or(own) != own) {
        refuse("microbatches",
               {"must be the ", own, " of each replica whose work is given, got ", *choices.microbatches});
    }
    return own;
}

}  // namespace detail

/// The time until these 1F1B pipelines would be done whose ranks hold the same layers in forward order, without chunks:
/// what other schedules are held against.
[[nodiscard]] inline std::uint64_t one_f_one_b_makespan(std::span<const chunk_work> work, std::uint64_t pp,
                                                        std::uint64_t vpp, std::uint64_t microbatches) {
    std::vector<chunk_work> stages(work.size() / vpp);
    for (std::size_t i = 0; i < work.size(); ++i) {
        chunk_work& stage = stages[i / vpp];
        stage.forward += work[i].forward;
        stage.backward_data += work[i].backward_data;
        stage.backward_weights += work[i].backward_weights;
    }
    return pipeline_order(pipeline_schedule::one_f_one_b, pp, 1, microbatches).run(stages).makespan;
}

/// Runs the pipelines of a step on the GPUs that work, on one clock of time at the peaks. `settings` are the precisions
/// of what does not run at `peak_tflops`.
[[nodiscard]] inline pipelines run_pipelines(const pipeline_choices& choices, std::span<const model_part> model,
                                             const training_plan& plan, const tally& batch, double peak_tflops,
                                             std::span<const precision_setting> settings, std::uint64_t working_gpus) {
    require_positive(choices.pp, "pp");
    require_positive(choices.chunks(), "vpp");
    if (model.empty()) {
        throw error("pp", "needs the layers of a model, and this cost is one sum of rows");
    }
    const std::uint64_t replicas = choices.num_replicas();
    require_positive(replicas, "replicas");
    const std::uint64_t microbatches = detail::microbatches_of(choices);
    const std::uint64_t ranks = (checked(choices.pp, "pp") * replicas);
    if (working_gpus % ranks != 0) {
        detail::refuse("gpus", {"must be a multiple of ", ranks, " ranks, pp x replicas, where they are not idle, got ",
                                working_gpus});
    }
    const pipeline_times times(model, detail::split_of(choices, num_layers(model)), plan, peak_tflops, settings);
    std::vector<std::vector<chunk_work>> work;
    if (!choices.batches.empty()) {
        work = times.of(choices.batches);
    } else if (!choices.loads.empty()) {
        work = times.of(batch, microbatches, choices.loads);
    } else {
        work.push_back(times.of(batch, microbatches));  // all replicas are alike
    }
    std::vector<pipeline_run> runs;
    std::uint64_t one_f_one_b = 0;
    for (const std::vector<chunk_work>& replica : work) {
        runs.push_back(
            pipeline_order::fitted(choices.order(), choices.pp, choices.chunks(), microbatches, replica).run(replica));
        one_f_one_b = std::max(one_f_one_b, one_f_one_b_makespan(replica, choices.pp, choices.chunks(), microbatches));
    }
    pipelines made{rank_times::of(runs), microbatches * replicas};
    made.times.is_after_one_f_one_b = *made.times.makespan > one_f_one_b;
    return made;
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/trained_parameters.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Searches the pipelines with a given number of ranks and microbatches for those that fit the memory.

namespace floptally::inline v0_3 {

/// The options of a search for pipelines. All pipelines of the search have these numbers of ranks and microbatches.
struct pipeline_search_options {
    std::uint64_t pipeline_ranks = 1;  ///< number of pipeline ranks: pp x replicas
    std::uint64_t microbatches = 1;    ///< number of microbatches of all replicas together
    std::uint64_t gpus_of_stage = 1;   ///< number of GPUs over which the memory of a stage is split evenly
    double memory_gib = 0;             ///< memory of one GPU, in GiB
    zero_stage sharded = zero_stage::none;
    /// GiB of activations of one microbatch, as a sum over the stages. Each stage counts what one of its GPUs holds. 0:
    /// unknown.
    double activation_gib = 0;
};

/// A pipeline that fits the memory.
struct fitting_pipeline {
    std::uint64_t pp = 1;
    std::uint64_t replicas = 1;
    std::uint64_t vpp = 1;
    std::uint64_t microbatches = 1;  ///< number of microbatches of each replica
    pipeline_schedule schedule = pipeline_schedule::one_f_one_b;
    double memory_gib = 0;  ///< memory of the fullest rank in GiB: model states, and activations if they are known
};

/// The pipelines that a search found, and how many it left out.
struct pipeline_search {
    std::vector<fitting_pipeline> found{};
    std::uint64_t too_large = 0;   ///< number of pipelines that do not fit the memory
    std::uint64_t impossible = 0;  ///< number of pipelines that do not divide the layers or the microbatches evenly
};

/// Returns the memory of the fullest rank in GiB: model states, and the activations that the schedule holds at once.
[[nodiscard]] inline double pipeline_memory_gib(std::span<const model_part> model, const training_plan& plan,
                                                const pipeline_order& order, const pipeline_split& split,
                                                const memory_plan& states, std::uint64_t gpus_of_stage,
                                                double activation_gib) {
    require_positive(gpus_of_stage, "gpus");
    const std::size_t ranks = order.ranks().size();
    std::vector<std::uint64_t> layers;
    for (const index_range& chunk : split.chunks()) {
        layers.push_back(chunk.size());
    }
    const pipeline_split chunks(layers.size(), layers);  // gives each chunk a separate rank
    std::vector<parameter_counts> held(ranks);
    for (std::uint64_t chunk = 0; chunk < layers.size(); ++chunk) {
        const parameter_counts own = trained_parameters(chunks.parts_of(model, chunk), plan);
        held[order.rank_of(chunk)].stored += own.stored;
        held[order.rank_of(chunk)].trainable += own.trainable;
    }
    const std::vector<std::uint64_t> most = order.most_held(layers);
    double largest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto share = [&](std::uint64_t count) { return (count + gpus_of_stage - 1) / gpus_of_stage; };
        const auto bytes =
            static_cast<double>(state_bytes_of(share(held[rank].stored), share(held[rank].trainable), states).total());
        const double activations =
            activation_gib * static_cast<double>(most[rank]) / static_cast<double>(split.num_layers());
        largest = std::max(largest, bytes / (1024.0 * 1024 * 1024) + activations);
    }
    return largest;
}

/// Returns all pipelines with equal stages that fit the memory: 1F1B, interleaved with up to 16 chunks per rank, ZB-H1
/// and ZB-V.
[[nodiscard]] inline pipeline_search pipelines_that_fit(std::span<const model_part> model, const training_plan& plan,
                                                        const pipeline_search_options& options) {
    require_positive(options.pipeline_ranks, "pp");
    require_positive(options.microbatches, "microbatches");
    pipeline_search search;
    for (std::uint64_t pp = 1; pp <= options.pipeline_ranks; ++pp) {
        const std::uint64_t replicas = options.pipeline_ranks / pp;
        if (options.pipeline_ranks % pp != 0) {
            continue;
        }
        if (options.microbatches % replicas != 0) {
            ++search.impossible;
            continue;
        }
        std::vector<std::pair<pipeline_schedule, std::uint64_t>> schedules = {{pipeline_schedule::one_f_one_b, 1}};
        for (std::uint64_t vpp = 2; pp > 1 && vpp <= 16; vpp *= 2) {
            schedules.emplace_back(pipeline_schedule::interleaved, vpp);
        }
        if (pp > 1) {
            schedules.emplace_back(pipeline_schedule::zero_bubble, 1);
            schedules.emplace_back(pipeline_schedule::zb_v, 2);
        }
        for (const auto& [schedule, vpp] : schedules) {
            const std::uint64_t own = options.microbatches / replicas;
            const std::uint64_t layers = num_layers(model);
            if (layers % (pp * vpp) != 0 || (schedule == pipeline_schedule::interleaved && own % pp != 0)) {
                ++search.impossible;
                continue;
            }
            const double needs = pipeline_memory_gib(
                model, plan, pipeline_order(schedule, pp, vpp, own), pipeline_split::even(layers, pp, vpp),
                {.sharded = options.sharded, .data_parallel = replicas}, options.gpus_of_stage, options.activation_gib);
            if (needs > options.memory_gib) {
                ++search.too_large;
                continue;
            }
            search.found.push_back({pp, replicas, vpp, own, schedule, needs});
        }
    }
    return search;
}

/// Returns a sentence for a report with what all pipelines of a search have in common.
[[nodiscard]] inline std::string kept_in(const pipeline_search_options& options) {
    return detail::text_of(
        {"kept: the batch and its microbatches, ", options.gpus_of_stage, " GPU", options.gpus_of_stage == 1 ? "" : "s",
         " of each stage, precision, recompute, times apart and what kernels reach; memory is ",
         options.activation_gib > 0 ? "weights, gradients, optimizer and activations by layers that are held"
                                    : "weights, gradients and optimizer alone, without activations",
         ", evenly split among the GPUs of a stage"});
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/bytes/communication.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/step/layout_text.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Describes the layout of a training step (all that decides its memory and time), the cluster, and the defaults of
/// training frameworks.

namespace floptally::inline v0_3 {

/// A layout of a training step: its ranks, the batch of each rank, and what the ranks shard and recompute.
struct training_layout {
    parallel_sizes sizes{};
    std::uint64_t microbatch = 1;    ///< number of sequences in a microbatch
    std::uint64_t microbatches = 1;  ///< number of microbatches that each replica accumulates in a step
    zero_stage sharded = zero_stage::optimizer;
    recompute recomputed = recompute::none;
    /// The order in which a pipeline runs its microbatches: 1F1B, GPipe or ZB-H1 with one chunk per rank, interleaved
    /// with several chunks per rank.
    pipeline_schedule schedule = pipeline_schedule::one_f_one_b;
    bool sequence_parallel = false;

    [[nodiscard]] friend bool operator==(const training_layout&, const training_layout&) = default;
};

/// Names of the values of `zero_stage`, in the same order.
inline constexpr const char* zero_stage_names[] = {"none", "optimizer", "gradients", "weights"};

/// Returns a layout as one line: "dp 8, tp 2, pp 4, vpp 5, microbatch 1 x 32, zero optimizer, recompute none".
[[nodiscard]] inline std::string to_string(const training_layout& layout) {
    const parallel_sizes& sizes = layout.sizes;
    std::string text = detail::text_of({"dp ", sizes.dp});
    const auto add = [&text](const char* name, std::uint64_t size, std::uint64_t usual) {
        if (size != usual) {
            append_item(text, detail::text_of({name, " ", size}));
        }
    };
    add("tp", sizes.tp, 1);
    add("cp", sizes.cp, 1);
    add("pp", sizes.pp, 1);
    add("vpp", sizes.vpp, 1);
    add("ep", sizes.ep, 1);
    add("etp", sizes.ep == 1 ? 0 : sizes.expert_tp(), sizes.ep == 1 ? 0 : sizes.tp);
    add("dp_replicate", sizes.dp_replicate, 1);
    append_item(text, detail::text_of({"microbatch ", layout.microbatch, " x ", layout.microbatches}));
    append_item(text, detail::text_of({"zero ", zero_stage_names[static_cast<std::size_t>(layout.sharded)]}));
    append_item(text, detail::text_of({"recompute ", recompute_names[static_cast<std::size_t>(layout.recomputed)]}));
    if (sizes.pp > 1) {
        append_item(text, pipeline_schedule_names[static_cast<std::size_t>(layout.schedule)]);
    }
    return text;
}

/// The accelerators that run a step, and their network.
struct training_cluster {
    std::uint64_t gpus = 1;
    double peak_tflops = 0;  ///< dense peak of one GPU in the precision of the layers' matrices
    /// Dense peak of one GPU for attention cores, routers and the lm_head. These stay in 16 bits even if the layers run
    /// in FP8 or FP4. 0 means the same as `peak_tflops`.
    double other_peak_tflops = 0;
    /// The fraction of the peak that each matrix product reaches, from 0 to 1. It is measured, or fitted to measured
    /// steps with `layout_predictor`. The MFU is lower, because it includes the bubble and the communication.
    double efficiency = 1;
    double memory_gib = 0;  ///< memory of one GPU in GiB (2³⁰ bytes)
    /// GiB of one GPU that the model cannot use: workspaces, CUDA, NCCL, unused memory of the allocator.
    double reserve_gib = 0;
    group_bandwidths network{};
    std::optional<double> memory_tbps{};  ///< bandwidth of one GPU's memory, from which the time of the optimizer step
                                          ///< follows; empty: the optimizer takes no time
};

/// The defaults of a trainer (a training framework): how it splits layers, what it shards, and which communication runs
/// during computation.
struct trainer_habits {
    std::string_view name = "megatron";
    layer_split layers = layer_split::automatic;
    bool has_tensor_parallel = true;
    bool has_pipelines = true;
    /// For each `zero_stage`: true if a search for layouts of this trainer tries the stage.
    std::array<bool, 4> shards{false, true, false, false};
    bool has_replicas = false;  ///< true: a search for layouts also tries HSDP with one replica for each node
    bool has_zero_bubble = false;
    /// For each parallel axis (tensor, pipeline, …), the fraction of its communication that overlaps with computation,
    /// from 0 to 1.
    std::array<double, parallel_axis_count> hidden{};
    /// For an interleaved pipeline: the fraction of its messages that overlaps with computation, from 0 to 1.
    double hidden_interleaved = 0;
    /// True: each node with a chosen expert gets a token once. False: each chosen expert gets a copy of the token.
    bool sends_token_once = false;
    std::string_view note{};  ///< the settings of the trainer that these defaults assume
};

/// The trainers whose defaults the library knows.
namespace trainers {

/// Megatron-Core with the overlap that its documentation lists under communication: `tp_comm_overlap`,
/// `overlap_grad_reduce` and `overlap_param_gather`, and `overlap_p2p_comm` if the pipeline is interleaved. Its `flex`
/// dispatcher sends no token twice to a node.
inline constexpr trainer_habits megatron{
    .hidden = {1, 1, 1, 0, 0, 1, 0, 0},
    .hidden_interleaved = 1,
    .sends_token_once = true,
    .note =
        "Megatron-Core with tp_comm_overlap, overlap_grad_reduce, overlap_param_gather, the flex dispatcher, and "
        "overlap_p2p_comm where interleaved"};
/// torchtitan: FSDP2 with prefetching, HSDP, and the pipelines of torch.distributed.pipelining.
inline constexpr trainer_habits torchtitan{.name = "torchtitan",
                                           .layers = layer_split::torchtitan,
                                           .shards = {false, false, true, true},
                                           .has_replicas = true,
                                           .has_zero_bubble = true,
                                           .hidden = {0, 1, 1, 0, 0, 1, 0, 1},
                                           .note = "torchtitan with FSDP2's prefetching"};
/// FSDP alone: no tensor parallelism and no pipelines.
inline constexpr trainer_habits fsdp{.name = "fsdp",
                                     .has_tensor_parallel = false,
                                     .has_pipelines = false,
                                     .shards = {false, false, true, true},
                                     .has_replicas = true,
                                     .hidden = {0, 1, 1, 0, 0, 1, 0, 1},
                                     .note = "FSDP with prefetching"};

/// All trainers of the library.
inline constexpr const trainer_habits* all[] = {&megatron, &torchtitan, &fsdp};

}  // namespace trainers

/// Returns the defaults of the trainer with this name. Throws `error` for any other name.
[[nodiscard]] inline const trainer_habits& trainer_named(std::string_view name) {
    std::string names;
    for (const trainer_habits* const known : trainers::all) {
        if (known->name == name) {
            return *known;
        }
        append_item(names, known->name);
    }
    detail::refuse("trainer", {"must be one of ", names, ", got \"", detail::shortened(std::string(name)), "\""});
}

}  // namespace floptally

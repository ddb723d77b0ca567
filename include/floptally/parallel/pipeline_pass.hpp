// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

/// @file
/// Schedules of pipelines by name, the passes of microbatches through chunks, and their work.

namespace floptally {

/// The order in which the ranks of a pipeline run the passes of their microbatches.
enum class pipeline_schedule : std::uint8_t {
    gpipe,        ///< all forward, then all backward (Huang et al. 2018)
    one_f_one_b,  ///< one forward, one backward: PipeDream-Flush, Megatron-LM without virtual stages
    interleaved,  ///< 1F1B over several chunks a rank (Narayanan et al. 2021), in Megatron-LM's order
    zero_bubble,  ///< ZB-H1 (Qi et al. 2023): 1F1B whose gradients of weights wait, r of them on rank r; memory as 1F1B
    zb_v          ///< ZB-V (the same): two chunks a rank in a V, the last one on the first rank; memory as 1F1B
};

inline constexpr const char* pipeline_schedule_names[] = {"gpipe", "1f1b", "interleaved", "zero_bubble", "zb_v"};

/// True of schedules in which gradients of weights are passes of their own.
[[nodiscard]] constexpr bool splits_backward(pipeline_schedule how) {
    return how == pipeline_schedule::zero_bubble || how == pipeline_schedule::zb_v;
}

/// The work of a pipeline's chunk for one microbatch, in one unit for all chunks: FLOPs, or time.
struct chunk_work {
    std::uint64_t forward = 0;
    std::uint64_t backward_data = 0;     ///< with recompute
    std::uint64_t backward_weights = 0;  ///< a pass of its own where `splits_backward`, else a part of the backward
};

/// A pass of a microbatch through a chunk.
struct pipeline_pass {
    enum class kind : std::uint8_t { forward, backward_data, backward_weights };
    kind what = kind::forward;
    std::uint64_t chunk = 0;
    std::uint64_t microbatch = 0;

    [[nodiscard]] friend constexpr bool operator==(const pipeline_pass&, const pipeline_pass&) = default;
};

/// The time that a pipeline takes, and the work of each rank in it.
struct pipeline_run {
    std::uint64_t makespan = 0;         ///< from the first pass to the end of the last one
    std::vector<std::uint64_t> busy{};  ///< time that each rank works; the rest of `makespan` it waits
};

}  // namespace floptally

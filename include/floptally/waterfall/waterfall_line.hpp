// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/step/time_breakdown.hpp>

/// @file
/// The lines of a waterfall: their kinds, names and numbers.

namespace floptally::inline v0_3 {

/// A kind of line of a waterfall.
enum class waterfall_step : std::uint8_t {
    useful,          ///< useful FLOPs at the stated peak; as a fraction of the step this is the MFU
    precision,       ///< time that useful work takes because its precision has another peak than the stated one;
                     ///< negative if that peak is higher
    padding,         ///< work on slots without a token and on mock sequences
    fused_backward,  ///< work of a fused attention backward: QKᵀ that is computed again, and gradients that are not
                     ///< needed
    recompute,
    repeated,      ///< work that each of several ranks runs completely because of the parallel layout
    masked_tiles,  ///< work on masked pairs of query and key, in tiles that kernels compute completely
    imbalance,     ///< waiting for the rank with the most work
    bubble,        ///< waiting in a pipeline's schedule
    idle_gpus,
    communication,  ///< communication that overlaps with no computation, without the waiting in the lines above
    data_wait,
    optimizer,
    elementwise,   ///< element-wise kernels, without matrix products
    launches,      ///< time in which no kernel runs
    apart,         ///< another kind of time without counted work; each kind has a line of its own
    memory_bound,  ///< time that even perfect kernels would wait for memory
    kernels        ///< all other time: kernels below their peak, and causes that are not known
};

/// Returns the name of a line's kind in JSON and in metrics: "useful", "precision", …
[[nodiscard]] constexpr const char* name_of(waterfall_step step) {
    constexpr const char* names[] = {"useful",        "precision",    "padding",   "fused_backward", "recompute",
                                     "repeated",      "masked_tiles", "imbalance", "bubble",         "idle_gpus",
                                     "communication", "data_wait",    "optimizer", "elementwise",    "launches",
                                     "apart",         "memory_bound", "kernels"};
    return names[static_cast<std::size_t>(step)];
}

/// Returns a short hint on what usually helps against a cause of lost time. Empty if nothing is lost. docs/waterfall.md
/// has the sources.
[[nodiscard]] constexpr const char* usual_help(waterfall_step step) {
    constexpr const char* texts[] = {"",
                                     "",
                                     "pack documents into rows",
                                     "nothing: a fused kernel saves more memory time than its extra FLOPs cost",
                                     "recompute less if memory allows: attention alone, or only some layers",
                                     "split the repeated work: sequence parallelism, a parallel vocabulary",
                                     "smaller tiles, or a kernel that skips masked ones",
                                     "shard samples by their FLOPs; give the stage of the lm_head fewer layers",
                                     "more microbatches, an interleaved schedule, or a zero-bubble schedule",
                                     "a layout that has work for all GPUs",
                                     "overlap it with computation; keep tensor parallelism inside a node",
                                     "more data loader workers, and prefetched batches",
                                     "a fused optimizer, or one that is sharded over ranks",
                                     "fuse them with adjacent kernels: torch.compile, or fused kernels",
                                     "no synchronization with the host; CUDA graphs or torch.compile",
                                     "",
                                     "more tokens for each read of the weights, or fewer bits of a weight",
                                     "larger matrices or better kernels; times by component show where"};
    return texts[static_cast<std::size_t>(step)];
}

/// A line of a waterfall. The times of all lines add up to the step's time over all of its GPUs, to the nanosecond.
struct waterfall_line {
    waterfall_step step = waterfall_step::useful;
    std::string name{};
    bool is_known = true;              ///< false: the time of this cause is unknown; it is 0 here and part of the last
                                       ///< line
    std::int64_t gpu_nanoseconds = 0;  ///< time over all GPUs; negative only in the line `precision`
    double share = 0;                  ///< fraction of the step's seconds x GPUs x peak: 0.412 is 41.2 points of MFU
    std::string assumed{};             ///< the assumption on which the line's time is based
};

namespace detail {

/// Returns the kind of waterfall line that shows times with this cause: communication, optimizer, …
[[nodiscard]] constexpr waterfall_step step_of(apart_kind kind) {
    switch (kind) {
        case apart_kind::communication:
        case apart_kind::transfer:
            return waterfall_step::communication;
        case apart_kind::data_wait:
            return waterfall_step::data_wait;
        case apart_kind::optimizer:
            return waterfall_step::optimizer;
        case apart_kind::elementwise:
            return waterfall_step::elementwise;
        case apart_kind::launches:
            return waterfall_step::launches;
        default:
            return waterfall_step::apart;
    }
}

}  // namespace detail

}  // namespace floptally

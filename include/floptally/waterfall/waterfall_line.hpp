// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/step/step_account.hpp>

/// @file
/// The lines of a waterfall: their kinds, names and numbers.

namespace floptally {

/// A kind of line of a waterfall.
enum class waterfall_step : std::uint8_t {
    useful,          ///< what is left: useful FLOPs at the stated peak, the MFU
    precision,       ///< peaks of the parts that are not the stated one; below 0 where they are higher
    padding,         ///< slots that hold no token, mock sequences
    fused_backward,  ///< QKᵀ once more, and gradients that nobody reads
    recompute,
    repeated,      ///< what several ranks of the layout run, each the whole of it
    masked_tiles,  ///< pairs of tiles that no mask lets through
    imbalance,     ///< ranks that wait for the one with the most work
    bubble,        ///< what a pipeline's schedule waits besides
    idle_gpus,
    communication,  ///< that no computation hides, without the waiting of the lines above
    data_wait,
    optimizer,
    elementwise,   ///< kernels that multiply nothing
    launches,      ///< no kernel runs
    apart,         ///< one line for each other time that was given
    memory_bound,  ///< what perfect kernels would wait for memory
    kernels        ///< the rest: kernels below their peak, and all that is not known
};

/// "useful", "precision", …: the name in JSON and in metrics.
[[nodiscard]] constexpr const char* name_of(waterfall_step what) {
    constexpr const char* names[] = {"useful",        "precision",    "padding",   "fused_backward", "recompute",
                                     "repeated",      "masked_tiles", "imbalance", "bubble",         "idle_gpus",
                                     "communication", "data_wait",    "optimizer", "elementwise",    "launches",
                                     "apart",         "memory_bound", "kernels"};
    return names[static_cast<std::size_t>(what)];
}

/// The usual help against a cause, in a few words; empty where nothing is lost. docs/waterfall.md has the sources.
[[nodiscard]] constexpr const char* usual_help(waterfall_step what) {
    constexpr const char* words[] = {"",
                                     "",
                                     "pack documents into rows",
                                     "nothing: such a kernel saves more time at the memory than it computes again",
                                     "recompute less, where memory allows: attention alone, or some of the layers",
                                     "split what is repeated: sequence parallelism, a parallel vocabulary",
                                     "smaller tiles, or a kernel that skips masked ones",
                                     "deal samples by their FLOPs; give the stage of the lm_head fewer layers",
                                     "more microbatches, chunks that interleave, or a zero-bubble schedule",
                                     "a layout that has work for all GPUs",
                                     "overlap it with computation; keep tensor parallelism inside a node",
                                     "more workers of the loader, and batches that are fetched ahead",
                                     "a fused optimizer, or one that ranks share",
                                     "fuse them with their neighbours: torch.compile, or fused kernels",
                                     "no synchronization with the host; CUDA graphs or torch.compile",
                                     "",
                                     "more tokens for each read of the weights, or fewer bits of a weight",
                                     "larger matrices or better kernels: times by component say whose"};
    return words[static_cast<std::size_t>(what)];
}

/// A line of a waterfall. All of them together are the step's time over all of its GPUs, to the nanosecond.
struct waterfall_line {
    waterfall_step what = waterfall_step::useful;
    std::string name{};
    bool is_known = true;              ///< else it is 0 here, and part of the last line
    std::int64_t gpu_nanoseconds = 0;  ///< over all GPUs; only `precision` can be below 0
    double share = 0;                  ///< of seconds x GPUs x peak: 0.412 is 41.2 points of MFU
    std::string assumed{};             ///< what the number rests on
};

namespace detail {

/// The line of a kind of time that is no work of kernels.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The time breakdown of a step, from which a waterfall is computed: FLOPs by peak, times of ranks, and separately
/// measured times.

namespace floptally::inline v0_3 {

/// The cause of a time in which no kernels with counted FLOPs run.
enum class apart_kind : std::uint8_t {
    unsaid,         ///< not set: the cause follows from the name of the time (`apart_kind_named`)
    communication,  ///< exposed communication measured on one rank, including the wait for other ranks
    transfer,       ///< exposed communication without the wait for other ranks, from the traces of several ranks
    data_wait,
    optimizer,
    elementwise,  ///< time of kernels without matrix products: norms, activations, rotary embeddings, look-ups, copies
    launches,     ///< time in which no kernel runs: launches, host, synchronization
    other
};

/// Names of the values of `apart_kind` in JSON, in the same order.
inline constexpr const char* apart_kind_names[] = {"unsaid",    "communication", "transfer", "data_wait",
                                                   "optimizer", "elementwise",   "launches", "other"};

/// A time in which no kernels with counted FLOPs run: data wait, exposed communication, optimizer.
struct time_apart {
    std::string name;
    double seconds = 0;  ///< this time in seconds, for each working GPU
    apart_kind kind = apart_kind::unsaid;
    std::string assumed = "measured";  ///< how the seconds were found, as text for a report
    bool is_estimate = false;          ///< true: `seconds` is an estimate, and a measurement replaces it
};

/// Returns the cause that belongs to the name of a time: "exposed_communication", "Data wait", "optimizer", "transfer",
/// … Returns `other` for an unknown name.
[[nodiscard]] inline apart_kind apart_kind_named(std::string_view name) {
    std::string key;
    for (const char c : name) {
        const bool is_upper = c >= 'A' && c <= 'Z';
        const bool is_letter = (c >= 'a' && c <= 'z') || is_upper;
        key += is_upper ? static_cast<char>(c - 'A' + 'a') : is_letter ? c : '_';
    }
    constexpr std::pair<std::string_view, apart_kind> known[] = {
        {"communication", apart_kind::communication}, {"exposed_communication", apart_kind::communication},
        {"nccl", apart_kind::communication},          {"transfer", apart_kind::transfer},
        {"exposed_transfer", apart_kind::transfer},   {"data", apart_kind::data_wait},
        {"data_wait", apart_kind::data_wait},         {"data_loading", apart_kind::data_wait},
        {"optimizer", apart_kind::optimizer},         {"optimizer_step", apart_kind::optimizer},
        {"elementwise", apart_kind::elementwise},     {"element_wise", apart_kind::elementwise},
        {"launches", apart_kind::launches},           {"no_kernel", apart_kind::launches}};
    for (const auto& [known_key, kind] : known) {
        if (key == known_key || (known_key == "nccl" && key.starts_with(known_key))) {
            return kind;
        }
    }
    return apart_kind::other;
}

/// Returns the cause of a time. If no cause was set, the name of the time gives the cause.
[[nodiscard]] inline apart_kind kind_of(const time_apart& time) {
    return time.kind == apart_kind::unsaid ? apart_kind_named(time.name) : time.kind;
}

/// The time that memory-bound components need for their bytes at the memory bandwidth, in addition to the time for
/// their FLOPs at the peak (bytes/step_bytes.hpp).
struct time_at_memory {
    double gpu_seconds = 0;  ///< the additional time in seconds, summed over all GPUs (`memory_bound_seconds`)
    std::string assumed{};
};

/// The time breakdown of a step. Empty members are unknown. A waterfall names what is unknown and leaves its time in
/// the last line.
struct time_breakdown {
    measurement step{};  ///< time of the step, number of all GPUs of the job, and the peak to which the MFU refers
    /// FLOPs of all ranks for each peak. Work that several ranks repeat counts only once. Count the FLOPs with a plan
    /// whose `repeated` is empty.
    std::vector<work_at_peak> work{};
    /// FLOPs as in `work`, but work that several ranks repeat counts once for each of these ranks. Count the FLOPs with
    /// a plan that sets `repeated`.
    std::optional<std::vector<work_at_peak>> repeated{};
    /// Additional FLOPs of attention kernels on masked keys, because kernels compute whole tiles.
    std::optional<std::vector<work_at_peak>> masked_tiles{};
    std::optional<rank_times> ranks{};         ///< makespan and spread of the ranks' times
    std::optional<std::uint64_t> idle_gpus{};  ///< how many of `step.gpus` have no work
    std::vector<time_apart> apart{};
    std::optional<time_at_memory> memory_bound{};
};

/// For a job with one GPU, fills in what is certain: no communication, no repeated work, no waiting for ranks, no idle
/// GPU. For several GPUs, returns the breakdown unchanged.
[[nodiscard]] inline time_breakdown with_one_gpu_defaults(time_breakdown timed) {
    if (timed.step.gpus == 1) {
        bool communicates = false;
        for (const time_apart& time : timed.apart) {
            communicates = communicates || kind_of(time) == apart_kind::communication;
        }
        if (!communicates) {
            timed.apart.push_back(
                {"exposed communication", 0, apart_kind::communication, "one GPU has nobody to talk to", true});
        }
        timed.repeated = timed.repeated ? timed.repeated : timed.work;
        timed.ranks = timed.ranks ? timed.ranks : rank_times{.makespan = 1};
        timed.idle_gpus = timed.idle_gpus.value_or(0);
    }
    return timed;
}

namespace detail {

/// Returns the GPU-seconds that FLOPs need at their peaks. `flops_of` returns the FLOPs of a breakdown in some view.
template <class Flops>
[[nodiscard]] double seconds_at_peaks(const std::vector<work_at_peak>& pieces, Flops flops_of) {
    double seconds = 0;
    for (const work_at_peak& piece : pieces) {
        seconds += divide(to_double(flops_of(piece.work)) / 1e12, piece.peak_tflops, "peak_tflops");
    }
    return seconds;
}
[[nodiscard]] inline double seconds_at_peaks(const std::vector<work_at_peak>& pieces, view seen) {
    return seconds_at_peaks(pieces, [seen](const breakdown& work) { return work.total(seen); });
}
[[nodiscard]] inline double tile_seconds(const time_breakdown& timed) {
    return timed.masked_tiles ? seconds_at_peaks(*timed.masked_tiles, view::executed) : 0;
}
/// Returns the GPU-seconds that all executed FLOPs except masked tiles need at their peaks.
[[nodiscard]] inline double executed_seconds(const time_breakdown& timed) {
    return seconds_at_peaks(timed.repeated ? *timed.repeated : timed.work, view::executed);
}

[[nodiscard]] inline double seconds_apart(const time_breakdown& timed) {
    double seconds = 0;
    for (const time_apart& span : timed.apart) {
        seconds += span.seconds;
    }
    return seconds;
}
/// Returns the seconds of measured communication, including the wait for other ranks.
[[nodiscard]] inline double seconds_with_waiting(const time_breakdown& timed) {
    double seconds = 0;
    for (const time_apart& span : timed.apart) {
        seconds += kind_of(span) == apart_kind::communication ? span.seconds : 0;
    }
    return seconds;
}

/// Returns the number of GPUs that work. Throws `error` if all are idle.
[[nodiscard]] inline double working_gpus(const time_breakdown& timed) {
    const std::uint64_t idle = timed.idle_gpus.value_or(0);
    if (idle >= timed.step.gpus) {
        refuse("idle_gpus", {"must be fewer than the ", timed.step.gpus, " GPUs, got ", idle});
    }
    return static_cast<double>(timed.step.gpus - idle);
}

}  // namespace detail

}  // namespace floptally

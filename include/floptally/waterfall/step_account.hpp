// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/error.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/utilization.hpp>
#include <floptally/waterfall/rank_times.hpp>

namespace floptally {

/// What the caller timed beside the kernels that are counted: data wait, exposed communication, the optimizer.
struct time_apart {
    std::string name;
    double seconds = 0;  ///< of each working GPU
};

/// What components need at the memory bandwidth beyond the time of their FLOPs (bytes/step_bytes.hpp).
struct time_at_memory {
    double gpu_seconds = 0;  ///< of all GPUs (`memory_bound_seconds`)
    std::string assumed{};
};

/// What is known of a step. What is absent is not known: a waterfall says so and leaves it in its last line.
struct step_account {
    measurement step{};  ///< all GPUs of the job; the peak that MFU is stated against
    /// FLOPs of all ranks together by the peaks that they run at, each piece of work once: a plan without `repeated`.
    std::vector<work_at_peak> work{};
    std::optional<std::vector<work_at_peak>> repeated{};  ///< the same with `repeated` in the plan
    std::optional<std::vector<work_at_peak>>
        masked_tiles{};                        ///< executed besides: keys that a kernel's tiles hold in vain
    std::optional<rank_times> ranks{};         ///< how unevenly ranks work
    std::optional<std::uint64_t> idle_gpus{};  ///< of `step.gpus`, those that run none of the work
    std::vector<time_apart> apart{};
    std::optional<time_at_memory> memory_bound{};
};

namespace detail {

/// GPU-seconds of FLOPs at the peaks that they run at; `flops_of` says which of a breakdown.
template <class Flops>
[[nodiscard]] double seconds_at_peaks(const std::vector<work_at_peak>& pieces, Flops flops_of) {
    double seconds = 0;
    for (const work_at_peak& one : pieces) {
        seconds += divide(to_double(flops_of(one.work)) / 1e12, one.peak_tflops, "peak_tflops");
    }
    return seconds;
}
[[nodiscard]] inline double seconds_at_peaks(const std::vector<work_at_peak>& pieces, view seen) {
    return seconds_at_peaks(pieces, [seen](const breakdown& work) { return work.total(seen); });
}
[[nodiscard]] inline double tile_seconds(const step_account& account) {
    return account.masked_tiles ? seconds_at_peaks(*account.masked_tiles, view::executed) : 0;
}
/// GPU-seconds of all that ranks execute but masked tiles.
[[nodiscard]] inline double executed_seconds(const step_account& account) {
    return seconds_at_peaks(account.repeated ? *account.repeated : account.work, view::executed);
}

[[nodiscard]] inline double seconds_apart(const step_account& account) {
    double seconds = 0;
    for (const time_apart& one : account.apart) {
        seconds += one.seconds;
    }
    return seconds;
}

/// GPUs that work; throws where none does.
[[nodiscard]] inline double working_gpus(const step_account& account) {
    const std::uint64_t idle = account.idle_gpus.value_or(0);
    if (idle >= account.step.gpus) {
        throw error("idle_gpus", "must be fewer than the " + std::to_string(account.step.gpus) + " GPUs, got " +
                                     std::to_string(idle));
    }
    return static_cast<double>(account.step.gpus - idle);
}

}  // namespace detail

}  // namespace floptally

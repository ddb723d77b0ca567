// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The account of a step, which a waterfall divides: its work by peaks, its ranks, times measured apart.

namespace floptally {

/// A time that the caller measured beside the counted kernels: data wait, exposed communication, the optimizer.
struct time_apart {
    std::string name;
    double seconds = 0;  ///< of each working GPU
};

/// The time that components need at the memory bandwidth beyond that of their FLOPs (bytes/step_bytes.hpp).
struct time_at_memory {
    double gpu_seconds = 0;  ///< of all GPUs (`memory_bound_seconds`)
    std::string assumed{};
};

/// The account of a step. An absent value is not known: a waterfall says so and leaves its time in the last line.
struct step_account {
    measurement step{};  ///< all GPUs of the job; the peak that MFU is stated against
    /// FLOPs of all ranks together by the peaks that they run at, each piece of work once: a plan without `repeated`.
    std::vector<work_at_peak> work{};
    std::optional<std::vector<work_at_peak>> repeated{};  ///< that work counted with `repeated` in the plan
    /// FLOPs that kernels execute besides, for masked keys in the tiles that they compute whole.
    std::optional<std::vector<work_at_peak>> masked_tiles{};
    std::optional<rank_times> ranks{};         ///< makespan and spread of the ranks
    std::optional<std::uint64_t> idle_gpus{};  ///< GPUs of `step.gpus` that run none of the work
    std::vector<time_apart> apart{};
    std::optional<time_at_memory> memory_bound{};
};

/// The account with what a job of one GPU implies: no other rank to wait for, no work repeated on one, none idle. A job
/// of several GPUs is returned unchanged.
[[nodiscard]] inline step_account with_one_gpu_said(step_account account) {
    if (account.step.gpus == 1) {
        account.repeated = account.repeated ? account.repeated : account.work;
        account.ranks = account.ranks ? account.ranks : rank_times{.makespan = 1};
        account.idle_gpus = account.idle_gpus.value_or(0);
    }
    return account;
}

namespace detail {

/// GPU-seconds of FLOPs at the peaks that they run at; `flops_of` chooses the FLOPs of a breakdown.
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
[[nodiscard]] inline double tile_seconds(const step_account& account) {
    return account.masked_tiles ? seconds_at_peaks(*account.masked_tiles, view::executed) : 0;
}
/// GPU-seconds of all that ranks execute but masked tiles.
[[nodiscard]] inline double executed_seconds(const step_account& account) {
    return seconds_at_peaks(account.repeated ? *account.repeated : account.work, view::executed);
}

[[nodiscard]] inline double seconds_apart(const step_account& account) {
    double seconds = 0;
    for (const time_apart& span : account.apart) {
        seconds += span.seconds;
    }
    return seconds;
}

/// The number of GPUs that work; an error where none does.
[[nodiscard]] inline double working_gpus(const step_account& account) {
    const std::uint64_t idle = account.idle_gpus.value_or(0);
    if (idle >= account.step.gpus) {
        refuse("idle_gpus", {"must be fewer than the ", account.step.gpus, " GPUs, got ", idle});
    }
    return static_cast<double>(account.step.gpus - idle);
}

}  // namespace detail

}  // namespace floptally

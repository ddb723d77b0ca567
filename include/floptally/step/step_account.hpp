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
/// The account of a step, which a waterfall divides: its work by peaks, its ranks, times measured apart.

namespace floptally {

/// A kind of time that is no work of the counted kernels.
enum class apart_kind : std::uint8_t {
    unsaid,         ///< by its name (`apart_kind_named`)
    communication,  ///< exposed, as it is measured on a rank: what it waits for other ranks is in it
    transfer,       ///< exposed communication without that waiting, as the traces of several ranks together say
    data_wait,
    optimizer,
    elementwise,  ///< kernels that multiply nothing: norms, activations, rotary embeddings, look-ups, copies
    launches,     ///< no kernel runs: launches, the host, synchronization
    other
};

/// The names of the kinds in JSON, in their order.
inline constexpr const char* apart_kind_names[] = {"unsaid",    "communication", "transfer", "data_wait",
                                                   "optimizer", "elementwise",   "launches", "other"};

/// A time that was measured beside the counted kernels: data wait, exposed communication, the optimizer.
struct time_apart {
    std::string name;
    double seconds = 0;  ///< of each working GPU
    apart_kind kind = apart_kind::unsaid;
    std::string assumed = "measured";  ///< what the number rests on
};

/// The kind that a name says: "exposed_communication", "Data wait", "optimizer", "transfer", …; else `other`.
[[nodiscard]] inline apart_kind apart_kind_named(std::string_view name) {
    std::string word;
    for (const char c : name) {
        const bool is_upper = c >= 'A' && c <= 'Z';
        const bool is_kept = (c >= 'a' && c <= 'z') || is_upper;
        word += is_upper ? static_cast<char>(c - 'A' + 'a') : is_kept ? c : '_';
    }
    constexpr std::pair<std::string_view, apart_kind> known[] = {
        {"communication", apart_kind::communication}, {"exposed_communication", apart_kind::communication},
        {"nccl", apart_kind::communication},          {"transfer", apart_kind::transfer},
        {"exposed_transfer", apart_kind::transfer},   {"data", apart_kind::data_wait},
        {"data_wait", apart_kind::data_wait},         {"data_loading", apart_kind::data_wait},
        {"optimizer", apart_kind::optimizer},         {"optimizer_step", apart_kind::optimizer},
        {"elementwise", apart_kind::elementwise},     {"element_wise", apart_kind::elementwise},
        {"launches", apart_kind::launches},           {"no_kernel", apart_kind::launches}};
    for (const auto& [each, kind] : known) {
        if (word == each || (each == "nccl" && word.starts_with(each))) {
            return kind;
        }
    }
    return apart_kind::other;
}

/// The kind of a time, by its name where nobody said it.
[[nodiscard]] inline apart_kind kind_of(const time_apart& time) {
    return time.kind == apart_kind::unsaid ? apart_kind_named(time.name) : time.kind;
}

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

/// The account with what a job of one GPU implies: no other rank to wait for or to talk to, no work repeated on one,
/// none idle. A job
/// of several GPUs is returned unchanged.
[[nodiscard]] inline step_account with_one_gpu_said(step_account account) {
    if (account.step.gpus == 1) {
        bool communicates = false;
        for (const time_apart& time : account.apart) {
            communicates = communicates || kind_of(time) == apart_kind::communication;
        }
        if (!communicates) {
            account.apart.push_back(
                {"exposed communication", 0, apart_kind::communication, "one GPU has nobody to talk to"});
        }
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
/// Seconds of measured communication, in which a rank may wait for others.
[[nodiscard]] inline double seconds_with_waiting(const step_account& account) {
    double seconds = 0;
    for (const time_apart& span : account.apart) {
        seconds += kind_of(span) == apart_kind::communication ? span.seconds : 0;
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/time_breakdown.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/trace_times.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// Joins the traces of several ranks into one step. Finds stragglers, waiting inside communication, and overlap.

namespace floptally::inline v0_3 {

namespace detail {

/// Returns a text that identifies the operation of a communication kernel. The kernels of the same operation on other
/// ranks have the same text.
[[nodiscard]] inline std::string operation_of(const trace& recorded, const trace_event& kernel) {
    std::string operation = recorded.names[kernel.collective == 0 ? kernel.name : kernel.collective - 1];
    if (const std::size_t placeholder = operation.find('?');
        operation.starts_with(between_two) && recorded.rank && placeholder != std::string::npos) {
        operation.replace(placeholder, 1, std::to_string(*recorded.rank));
    }
    return operation;
}

}  // namespace detail

/// Computes for each communication kernel how long it waits for other ranks (`trace_event::waiting`). Returns the
/// number of kernels for which no kernel of the same operation is found on another rank.
///
/// A collective ends on all ranks at the same time. The last rank to arrive spends only the transfer time, and the
/// other ranks wait for it. A send and its receive are treated in the same way if the traces contain their ranks. The
/// n-th kernel of an operation in a group is assumed to be the same operation on each rank. Clocks of different ranks
/// are not compared.
inline std::uint64_t tell_waiting(std::span<trace> ranks, const module_map& modules = module_map{}) {
    std::map<std::string, std::vector<std::vector<trace_event*>>> operations;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        std::map<std::uint32_t, bool> communicates;
        for (trace_event& event : ranks[rank].events) {
            if (event.kind != trace_kind::kernel) {
                continue;
            }
            const auto [known, is_new] = communicates.emplace(event.name, false);
            if (is_new) {
                known->second =
                    modules.part_of(std::string("kernel:").append(ranks[rank].names[event.name])) == "communication";
            }
            if (known->second) {
                event.waiting = 0;
                auto& of_ranks = operations[detail::operation_of(ranks[rank], event)];
                of_ranks.resize(ranks.size());
                of_ranks[rank].push_back(&event);
            }
        }
    }
    std::uint64_t alone = 0;
    for (auto& [name, of_ranks] : operations) {
        std::size_t count = 0;
        std::size_t partners = 0;
        bool is_alike = true;
        for (std::vector<trace_event*>& rank_kernels : of_ranks) {
            std::stable_sort(rank_kernels.begin(), rank_kernels.end(),
                             [](const trace_event* a, const trace_event* b) { return a->begin < b->begin; });
            is_alike = is_alike && (rank_kernels.empty() || count == 0 || rank_kernels.size() == count);
            count = std::max(count, rank_kernels.size());
            partners += rank_kernels.empty() ? 0U : 1U;
        }
        if (partners < 2 || !is_alike) {
            for (const std::vector<trace_event*>& rank_kernels : of_ranks) {
                alone += rank_kernels.size();
            }
            continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t transfer = INT64_MAX;
            for (const std::vector<trace_event*>& rank_kernels : of_ranks) {
                transfer =
                    rank_kernels.empty() ? transfer : std::min(transfer, rank_kernels[i]->end - rank_kernels[i]->begin);
            }
            for (const std::vector<trace_event*>& rank_kernels : of_ranks) {
                if (!rank_kernels.empty()) {
                    rank_kernels[i]->waiting = rank_kernels[i]->end - rank_kernels[i]->begin - transfer;
                }
            }
        }
    }
    return alone;
}

/// How one rank spends the time of a step. All times are in seconds of one GPU.
struct rank_line {
    double seconds = 0;
    double computing = 0;  ///< time of kernels with counted work, and of kernels unknown to the `module_map`
    double other = 0;      ///< time of the optimizer, data loading and element-wise kernels
    double transfer = 0;   ///< communication while no computation runs, without waiting for other ranks
    double waiting = 0;    ///< waiting for other ranks inside communication, while no computation runs
    double idle = 0;       ///< time in which no kernel runs
    double hidden = 0;     ///< communication that overlaps with computation; it adds no time to the step
};

/// The part of a step's time breakdown that is measured from traces.
struct traced_step {
    std::vector<time_apart> apart{};    ///< times without counted work (communication, optimizer, …)
    std::optional<rank_times> ranks{};  ///< computing times of the ranks; empty if waiting cannot be separated from
                                        ///< transfer
};

/// Completes a time breakdown with times from traces. The traces replace estimates (`time_apart::is_estimate`), and no
/// other times.
[[nodiscard]] inline time_breakdown with_traces(time_breakdown timed, const traced_step& traced) {
    std::erase_if(timed.apart, [](const time_apart& time) { return time.is_estimate; });
    const std::vector<time_apart> measured = timed.apart;
    for (const time_apart& time : traced.apart) {
        if (std::none_of(measured.begin(), measured.end(), [&time](const time_apart& other) {
                return detail::step_of(kind_of(other)) == detail::step_of(kind_of(time));
            })) {
            timed.apart.push_back(time);
        }
    }
    timed = with_one_gpu_defaults(std::move(timed));
    timed.ranks = timed.ranks ? timed.ranks : traced.ranks;
    return timed;
}

/// Removes the times that the traces measure from a time breakdown. The table by component has its own lines for them.
[[nodiscard]] inline time_breakdown without_traced(time_breakdown timed, const traced_step& traced) {
    std::erase_if(timed.apart, [&traced](const time_apart& time) {
        return std::any_of(traced.apart.begin(), traced.apart.end(),
                           [&time](const time_apart& other) { return kind_of(time) == kind_of(other); });
    });
    return timed;
}

/// A step of several ranks, from one trace for each rank: means over the ranks, and the times of each rank.
class rank_traces {
  public:
    rank_traces(std::vector<trace> ranks, const module_map& modules = module_map{}) {
        if (ranks.empty()) {
            throw error("trace", "is missing: pass the trace of at least one rank");
        }
        const std::uint64_t alone = ranks.size() == 1 ? 0 : tell_waiting(ranks, modules);
        for (const trace& rank : ranks) {
            times_.emplace_back(rank, modules);
        }
        for (std::size_t rank = 0; rank < times_.size(); ++rank) {
            if (times_[rank].on_gpu() != times_.front().on_gpu()) {
                detail::refuse(indexed("trace", rank), {"has GPU kernels but trace[0] has none, or the reverse: pass "
                                                        "traces that were recorded with the same activities"});
            }
            for (const std::string& note : times_[rank].notes()) {
                notes_.push_back(times_.size() == 1 ? note : detail::text_of({"trace ", rank, ": ", note}));
            }
        }
        if (alone != 0) {
            notes_.push_back(detail::text_of(
                {"kernels of communication that no other trace has, so that their waiting is unknown: ", alone}));
        }
        is_told_ = ranks.size() > 1 && alone == 0;
    }

    [[nodiscard]] std::span<const trace_times> ranks() const { return times_; }
    [[nodiscard]] std::span<const std::string> notes() const { return notes_; }
    /// Returns the seconds of a step, as the mean over the ranks.
    [[nodiscard]] double seconds() const {
        return mean([](const trace_times& rank) { return rank.seconds(); });
    }

    /// Returns how each rank spends the time of a step.
    [[nodiscard]] std::vector<rank_line> lines(const breakdown& work) const {
        std::vector<rank_line> lines;
        for (const trace_times& rank : times_) {
            rank_line line{.seconds = rank.seconds(), .waiting = rank.waiting(), .hidden = rank.hidden()};
            for (const time_apart& time : rank.apart(work)) {
                (time.kind == apart_kind::communication || time.kind == apart_kind::transfer ? line.transfer
                 : time.kind == apart_kind::launches                                         ? line.idle
                                                     : line.other) += time.seconds;
            }
            line.computing = std::max(0.0, line.seconds - line.transfer - line.idle - line.other - line.waiting);
            lines.push_back(line);
        }
        return lines;
    }

    /// Returns the times without counted work, as means over the ranks. Waiting is excluded from communication if the
    /// same operation is found on the other ranks for every communication kernel.
    [[nodiscard]] std::vector<time_apart> apart(const breakdown& work) const {
        std::vector<time_apart> sum;
        for (const trace_times& rank : times_) {
            for (time_apart time : rank.apart(work)) {
                const bool sends = time.kind == apart_kind::communication || time.kind == apart_kind::transfer;
                time.kind = sends ? (is_told_ ? apart_kind::transfer : apart_kind::communication) : time.kind;
                time.seconds /= static_cast<double>(times_.size());
                const auto same = std::find_if(sum.begin(), sum.end(),
                                               [&time](const time_apart& other) { return other.kind == time.kind; });
                if (same == sum.end()) {
                    time.assumed = times_.size() == 1 ? time.assumed : "in the traces, mean of the ranks";
                    sum.push_back(std::move(time));
                } else {
                    same->seconds += time.seconds;
                }
            }
        }
        return sum;
    }

    /// Returns the computing times of the ranks in picoseconds. Their `makespan` is the mean over the ranks of
    /// computing and waiting time. Returns nothing if waiting is unknown.
    [[nodiscard]] std::optional<rank_times> times(const breakdown& work) const {
        if (!is_told_) {
            return {};
        }
        std::vector<std::uint64_t> loads;
        double waiting = 0;
        for (const rank_line& line : lines(work)) {
            loads.push_back(static_cast<std::uint64_t>(std::llround(line.computing * 1e12)));
            waiting += line.waiting;
        }
        rank_times times_of_ranks = rank_times::of(loads);
        const auto ranks = static_cast<double>(loads.size());
        times_of_ranks.makespan =
            static_cast<uint128>(std::ceil(static_cast<double>(times_of_ranks.sum) / ranks + waiting * 1e12 / ranks));
        // If the largest computing time exceeds the makespan, a part of that time overlaps with communication. The
        // other ranks do not wait for that part.
        times_of_ranks.largest = std::min(times_of_ranks.largest, *times_of_ranks.makespan);
        return times_of_ranks;
    }

    /// Returns the part of the step's time breakdown that is measured from the traces.
    [[nodiscard]] traced_step step(const breakdown& work) const { return {apart(work), times(work)}; }

    /// Returns the seconds of each part of the work (like `trace_times::parts`), as means over the ranks.
    [[nodiscard]] std::vector<timed_part> parts(const breakdown& work) const {
        std::vector<timed_part> sum;
        for (const trace_times& rank : times_) {
            for (timed_part& part : rank.parts(work)) {
                part.seconds /= static_cast<double>(times_.size());
                const auto same = std::find_if(sum.begin(), sum.end(), [&part](const timed_part& other) {
                    return other.name == part.name && other.timed == part.timed && other.components == part.components;
                });
                if (same == sum.end()) {
                    sum.push_back(std::move(part));
                } else {
                    same->seconds += part.seconds;
                }
            }
        }
        return sum;
    }

  private:
    template <class Seconds>
    [[nodiscard]] double mean(Seconds seconds_of) const {
        double sum = 0;
        for (const trace_times& rank : times_) {
            sum += seconds_of(rank);
        }
        return sum / static_cast<double>(times_.size());
    }

    std::vector<trace_times> times_;
    std::vector<std::string> notes_;
    bool is_told_ = false;
};

}  // namespace floptally

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
#include <floptally/step/step_account.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/trace_times.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// Traces of several ranks as one account: stragglers, waiting inside communication, overlap.

namespace floptally {

namespace detail {

/// The operation of a kernel of communication and its ranks: its partners on other ranks have the same.
[[nodiscard]] inline std::string operation_of(const trace& of, const trace_event& kernel) {
    std::string operation = of.names[kernel.collective == 0 ? kernel.name : kernel.collective - 1];
    if (const std::size_t own = operation.find('?');
        operation.starts_with(between_two) && of.rank && own != std::string::npos) {
        operation.replace(own, 1, std::to_string(*of.rank));
    }
    return operation;
}

}  // namespace detail

/// Says of each kernel of communication how long it waits: a collective ends on all ranks together, so that the rank
/// that came last has its transfer alone, and the others have waited for it; so do a send and its receive, where the
/// traces say their ranks. The n-th kernel of an operation in a group is the same one on each rank; no clocks are
/// compared. Returns the kernels that have no partner on another rank.
inline std::uint64_t tell_waiting(std::span<trace> ranks, const module_map& modules = module_map{}) {
    std::map<std::string, std::vector<std::vector<trace_event*>>> operations;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        std::map<std::uint32_t, bool> communicates;
        for (trace_event& event : ranks[rank].events) {
            if (event.what != trace_kind::kernel) {
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
        for (std::vector<trace_event*>& own : of_ranks) {
            std::stable_sort(own.begin(), own.end(),
                             [](const trace_event* a, const trace_event* b) { return a->begin < b->begin; });
            is_alike = is_alike && (own.empty() || count == 0 || own.size() == count);
            count = std::max(count, own.size());
            partners += own.empty() ? 0 : 1;
        }
        if (partners < 2 || !is_alike) {
            for (const std::vector<trace_event*>& own : of_ranks) {
                alone += own.size();
            }
            continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
            std::int64_t transfer = INT64_MAX;
            for (const std::vector<trace_event*>& own : of_ranks) {
                transfer = own.empty() ? transfer : std::min(transfer, own[i]->end - own[i]->begin);
            }
            for (const std::vector<trace_event*>& own : of_ranks) {
                if (!own.empty()) {
                    own[i]->waiting = own[i]->end - own[i]->begin - transfer;
                }
            }
        }
    }
    return alone;
}

/// A rank's step, in seconds of one device.
struct rank_line {
    double seconds = 0;
    double computing = 0;  ///< kernels of counted work, and those that no pattern knows
    double besides = 0;    ///< the optimizer, data, element-wise kernels
    double transfer = 0;   ///< communication that no computation hides, without waiting
    double waiting = 0;    ///< for other ranks, inside communication that nothing hides
    double idle = 0;       ///< no kernel runs
    double hidden = 0;     ///< communication beside computation, which costs no time of its own
};

/// The account of a step as traces say it.
struct traced_step {
    std::vector<time_apart> apart{};    ///< times that are no work of counted kernels
    std::optional<rank_times> ranks{};  ///< where waiting is told from transfer
};

/// The account with what traces say of it and nobody else did. A time that a job of one GPU implies is not measured.
[[nodiscard]] inline step_account with_traces(step_account account, const traced_step& traced) {
    std::erase_if(account.apart, [](const time_apart& time) { return time.assumed != "measured"; });
    const std::vector<time_apart> given = account.apart;
    for (const time_apart& time : traced.apart) {
        if (std::none_of(given.begin(), given.end(), [&time](const time_apart& other) {
                return detail::step_of(kind_of(other)) == detail::step_of(kind_of(time));
            })) {
            account.apart.push_back(time);
        }
    }
    account = with_one_gpu_said(std::move(account));
    account.ranks = account.ranks ? account.ranks : traced.ranks;
    return account;
}

/// The account without the kinds of time that traces have, whose parts have lines of their own by component.
[[nodiscard]] inline step_account without_traced(step_account account, const traced_step& traced) {
    std::erase_if(account.apart, [&traced](const time_apart& time) {
        return std::any_of(traced.apart.begin(), traced.apart.end(),
                           [&time](const time_apart& other) { return kind_of(time) == kind_of(other); });
    });
    return account;
}

/// The step of several ranks from a trace of each: means over the ranks, and each rank's own.
class rank_traces {
  public:
    rank_traces(std::vector<trace> ranks, const module_map& modules = module_map{}) {
        if (ranks.empty()) {
            throw error("trace", "needs one of at least one rank");
        }
        const std::uint64_t alone = ranks.size() == 1 ? 0 : tell_waiting(ranks, modules);
        for (const trace& rank : ranks) {
            times_.emplace_back(rank, modules);
        }
        for (std::size_t rank = 0; rank < times_.size(); ++rank) {
            if (times_[rank].on_gpu() != times_.front().on_gpu()) {
                detail::refuse(indexed("trace", rank), {"has kernels of a GPU where another has none"});
            }
            for (const std::string& note : times_[rank].notes()) {
                notes_.push_back(times_.size() == 1 ? note : detail::text_of({"trace ", rank, ": ", note}));
            }
        }
        if (alone != 0) {
            notes_.push_back(detail::text_of(
                {"kernels of communication that no other trace has, whose waiting is not told: ", alone}));
        }
        is_told_ = ranks.size() > 1 && alone == 0;
    }

    [[nodiscard]] std::span<const trace_times> ranks() const { return times_; }
    [[nodiscard]] std::span<const std::string> notes() const { return notes_; }
    /// The time of a step, the mean of the ranks.
    [[nodiscard]] double seconds() const {
        return mean([](const trace_times& rank) { return rank.seconds(); });
    }

    /// Each rank's step.
    [[nodiscard]] std::vector<rank_line> lines(const breakdown& work) const {
        std::vector<rank_line> lines;
        for (const trace_times& rank : times_) {
            rank_line line{.seconds = rank.seconds(), .waiting = rank.waiting(), .hidden = rank.hidden()};
            for (const time_apart& time : rank.apart(work)) {
                (time.kind == apart_kind::communication || time.kind == apart_kind::transfer ? line.transfer
                 : time.kind == apart_kind::launches                                         ? line.idle
                                                     : line.besides) += time.seconds;
            }
            line.computing = std::max(0.0, line.seconds - line.transfer - line.idle - line.besides - line.waiting);
            lines.push_back(line);
        }
        return lines;
    }

    /// Times that are no counted work, means of the ranks; communication is without waiting where every kernel of it
    /// has its partners.
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

    /// Picoseconds that the ranks compute, and that they compute and wait; nothing where waiting is not told.
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
        rank_times all = rank_times::of(loads);
        const auto ranks = static_cast<double>(loads.size());
        all.makespan = static_cast<uint128>(std::ceil(static_cast<double>(all.sum) / ranks + waiting * 1e12 / ranks));
        // A rank with more work than that hides its communication: what the others wait less is not waited.
        all.largest = std::min(all.largest, *all.makespan);
        return all;
    }

    /// The account of the step as all traces say it.
    [[nodiscard]] traced_step step(const breakdown& work) const { return {apart(work), times(work)}; }

    /// Seconds of each part, means of the ranks; parts as `trace_times::parts` has them.
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
    template <class Of>
    [[nodiscard]] double mean(Of of) const {
        double sum = 0;
        for (const trace_times& rank : times_) {
            sum += of(rank);
        }
        return sum / static_cast<double>(times_.size());
    }

    std::vector<trace_times> times_;
    std::vector<std::string> notes_;
    bool is_told_ = false;
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/step/component_rates.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/detail/part_groups.hpp>
#include <floptally/waterfall/detail/shared_time.hpp>
#include <floptally/waterfall/detail/trace_spans.hpp>
#include <floptally/waterfall/detail/trace_window.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace.hpp>

/// @file
/// The time of a trace by part, every moment once.

namespace floptally {

/// Time of a part in a trace, over all of its devices and steps.
struct trace_time {
    std::string part{};  ///< as a pattern names it, or why it is of no part
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    bool is_known = true;  ///< else no pattern says what it is
};

/// The part of a trace in which kernels of communication wait for other ranks, where `tell_waiting` says how long.
inline constexpr std::string_view waiting_part = "waiting for ranks";

/// The time of the steps of a trace by part: of kernels of its GPUs, or, where it has none, of operators of the host.
///
/// Every moment of a device is counted once. Kernels that run at once on several streams share it evenly; communication
/// and copies give way to computation, so that theirs is the time that nothing hides. On the host a moment of a thread
/// is its innermost operator's, and threads share as streams do.
class trace_times {
  public:
    explicit trace_times(const trace& recorded, const module_map& modules = module_map{}) {
        detail::trace_spans spans(recorded, modules);
        const detail::trace_window window(recorded);
        begin_ = window.begin;
        end_ = window.end;
        steps_ = window.steps;
        std::map<std::uint32_t, std::vector<detail::timed_stretch>> devices = kernels(recorded, spans, window);
        if (devices.empty()) {
            on_gpu_ = false;
            for (const detail::op_stretch& stretch : spans.stretches()) {
                devices[0].push_back({stretch.begin, stretch.end, key_of(stretch.label, stretch.op), false});
            }
        }
        if (devices.empty()) {
            throw error("trace", "has neither an operator nor a kernel that ran for a nanosecond");
        }
        devices_ = devices.size();
        nanoseconds_ = (end_ - begin_) * static_cast<std::int64_t>(devices_);
        std::map<std::uint64_t, std::int64_t> taken;
        for (auto& [device, stretches] : devices) {
            hidden_ += on_gpu_ ? detail::hidden_time(stretches, begin_, end_) : 0;
            idle_ += detail::share_time(std::move(stretches), begin_, end_,
                                        [&taken](std::uint64_t key, std::int64_t time) { taken[key] += time; });
        }
        list(recorded, spans, taken);
    }

    /// Parts in the order in which patterns met them, then the time of no pattern, then the time in which nothing ran;
    /// they add up to `nanoseconds()`.
    [[nodiscard]] std::span<const trace_time> times() const { return times_; }
    /// The nanoseconds of all steps over all devices.
    [[nodiscard]] std::int64_t nanoseconds() const { return nanoseconds_; }
    /// GPUs with a kernel, or 1 where the trace has none.
    [[nodiscard]] std::uint64_t devices() const { return devices_; }
    /// Steps that the profiler marks, or 1.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    /// True where kernels were timed, false where operators of the host were.
    [[nodiscard]] bool on_gpu() const { return on_gpu_; }
    /// The time of one step. Of a GPU it is from the end of the kernels that were launched before the profiler's first
    /// mark to the end of those launched before its last one, and never from before a mark; on the host from mark to
    /// mark; of a trace without marks, all of it.
    [[nodiscard]] double seconds() const { return seconds_per_step(nanoseconds_); }
    /// Seconds of one step of one device in which communication that nothing hides waits for other ranks, where
    /// `tell_waiting` was told.
    [[nodiscard]] double waiting() const {
        const auto waited = std::find_if(times_.begin(), times_.end(),
                                         [](const trace_time& time) { return time.part == waiting_part; });
        return waited == times_.end() ? 0 : seconds_per_step(waited->forward);
    }
    /// Seconds of one step of one device in which communication runs beside computation.
    [[nodiscard]] double hidden() const { return seconds_per_step(hidden_); }
    /// Sentences about time that no pattern attributes and about events that are left out.
    [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

    /// Seconds of one step of one device, for a table by component of this work. A part that the work does not have is
    /// time without FLOPs, and parts that have a component in common are one. Where the trace has no backward of a
    /// component that has one, its time is of the forward alone. What no pattern knows is left out: it is of the line
    /// of all that nobody timed, as the work is that ran there.
    [[nodiscard]] std::vector<timed_part> parts(const breakdown& work) const {
        std::vector<detail::part_group> groups;
        for (const trace_time& time : times_) {
            if (time.is_known) {
                detail::add_part(groups,
                                 {time.part, detail::components_of(time.part, work), time.forward, time.backward});
            }
        }
        std::vector<timed_part> parts;
        for (detail::part_group& joined : groups) {
            flops backward;
            flops forward;
            for (const std::string& component : joined.components) {
                forward += detail::work_of(work[component], view::executed, counted_passes::forward);
                backward += detail::work_of(work[component], view::executed, counted_passes::backward);
            }
            parts.push_back({.name = std::move(joined.name),
                             .components = std::move(joined.components),
                             .timed = joined.backward == 0 && backward != flops{} ? counted_passes::forward
                                      : joined.forward == 0 && forward != flops{} ? counted_passes::backward
                                                                                  : counted_passes::train,
                             .seconds = seconds_per_step(joined.forward + joined.backward)});
        }
        return parts;
    }

    /// Seconds of one step of one device that are no counted work, by their kinds: communication (`transfer` where the
    /// trace says what of it is waiting), data loading, the optimizer, kernels that multiply nothing, and none at all.
    [[nodiscard]] std::vector<time_apart> apart(const breakdown& work) const {
        std::vector<time_apart> found;
        const auto put = [&found](const char* name, apart_kind kind, double seconds) {
            const auto same = std::find_if(found.begin(), found.end(),
                                           [kind](const time_apart& other) { return other.kind == kind; });
            if (same == found.end()) {
                found.push_back({name, seconds, kind, "in the trace"});
            } else {
                same->seconds += seconds;
            }
        };
        const bool tells_waiting = waiting() > 0;
        for (const auto& [name, kind] :
             {std::pair("communication", tells_waiting ? apart_kind::transfer : apart_kind::communication),
              std::pair("data loading", apart_kind::data_wait), std::pair("optimizer", apart_kind::optimizer),
              std::pair("element-wise kernels", apart_kind::elementwise),
              std::pair("no kernel runs", apart_kind::launches)}) {
            // A trace of the host alone does not say what ranks send.
            if (on_gpu_ || (kind != apart_kind::communication && kind != apart_kind::transfer)) {
                put(name, kind, 0);
            }
        }
        for (const trace_time& time : times_) {
            const double seconds = seconds_per_step(time.forward + time.backward);
            if (time.part == waiting_part || !time.is_known) {
                continue;
            }
            const bool is_idle = time.part == idle_part();
            const auto known = std::find_if(found.begin(), found.end(), [&](const time_apart& other) {
                return time.part == other.name || (is_idle && other.kind == apart_kind::launches);
            });
            if (known != found.end()) {
                known->seconds += seconds;
            } else if (detail::components_of(time.part, work).empty()) {
                put("element-wise kernels", apart_kind::elementwise, seconds);
            }
        }
        return found;
    }

  private:
    static constexpr std::uint64_t unknown = std::uint64_t{1} << 63U;  ///< of a key: the rest is a name
    static constexpr std::uint64_t waiting_key = std::uint64_t{1} << 62U;

    [[nodiscard]] double seconds_per_step(std::int64_t time) const {
        return static_cast<double>(time) / 1e9 / static_cast<double>(devices_) / static_cast<double>(steps_);
    }

    [[nodiscard]] static std::uint64_t key_of(const detail::trace_label& label, std::uint32_t name) {
        return label.part == 0 ? unknown | name : std::uint64_t{label.part} * 2 + (label.backward ? 1 : 0);
    }

    [[nodiscard]] std::map<std::uint32_t, std::vector<detail::timed_stretch>> kernels(
        const trace& recorded, detail::trace_spans& spans, const detail::trace_window& window) {
        std::map<std::uint32_t, std::vector<detail::timed_stretch>> devices;
        const std::int64_t marked_begin = window.begin;
        begin_ += window.is_marked ? window.lag(recorded, spans) : 0;
        std::uint64_t alone = 0;
        std::uint64_t outside = 0;
        for (const trace_event& event : recorded.events) {
            if (event.what != trace_kind::kernel && event.what != trace_kind::copy) {
                continue;
            }
            std::vector<detail::timed_stretch>& stretches = devices[event.device];
            const detail::trace_spans::launch* const from = spans.launch_of(event);
            alone += from == nullptr ? 1 : 0;
            const std::int64_t launched = from == nullptr ? event.begin : from->begin;
            const std::int64_t first = from == nullptr ? begin_ : marked_begin;
            if (window.is_marked && (launched < first || launched >= window.end)) {
                ++outside;
                continue;
            }
            const detail::trace_label label =
                spans.label_of_kernel(event, from == nullptr ? detail::trace_label{} : from->label);
            const bool is_copy = event.what == trace_kind::copy;
            const bool gives_way = is_copy || spans.parts()[label.part] == "communication";
            if (event.waiting != 0) {
                stretches.push_back({event.begin, event.begin + event.waiting, waiting_key, gives_way, false});
            }
            stretches.push_back(
                {event.begin + event.waiting, event.end, key_of(label, event.name), gives_way, is_copy});
            end_ = std::max(end_, event.end);
        }
        if (begin_ >= end_) {  // nothing of these steps ran after those before
            begin_ = marked_begin;
        }
        if (begin_ != marked_begin) {
            notes_.push_back(detail::text_of(
                {"the device began the profiler's steps ", milliseconds(begin_ - marked_begin), " ms after the host"}));
        }
        for (const auto& [count, what] :
             {std::pair(alone, "without a launch in the trace: "),
              std::pair(outside, "that were not launched in the profiler's steps, left out: ")}) {
            if (count != 0) {
                notes_.push_back(detail::text_of({"kernels and copies ", what, count}));
            }
        }
        return devices;
    }

    void list(const trace& recorded, const detail::trace_spans& spans,
              const std::map<std::uint64_t, std::int64_t>& taken) {
        trace_time unnamed{.part = "not attributed", .is_known = false};
        std::vector<std::pair<std::int64_t, std::uint32_t>> names;
        for (std::uint64_t part = 1; part < spans.parts().size(); ++part) {
            const auto at = [&taken](std::uint64_t key) {
                const auto found = taken.find(key);
                return found == taken.end() ? 0 : found->second;
            };
            const trace_time time{.part = spans.parts()[part], .forward = at(2 * part), .backward = at(2 * part + 1)};
            if (time.forward != 0 || time.backward != 0) {
                times_.push_back(time);
            }
        }
        if (const auto waited = taken.find(waiting_key); waited != taken.end()) {
            times_.push_back({std::string(waiting_part), waited->second, 0});
        }
        for (auto from = taken.lower_bound(unknown); from != taken.end(); ++from) {
            unnamed.forward += from->second;
            names.emplace_back(-from->second, static_cast<std::uint32_t>(from->first & ~unknown));
        }
        std::sort(names.begin(), names.end());
        if (!names.empty()) {
            std::string most;
            for (std::size_t i = 0; i < names.size() && i < 3; ++i) {
                append_item(most, detail::text_of({milliseconds_a_step(-names[i].first), " ms ",
                                                   detail::shortened(recorded.names[names[i].second])}));
            }
            notes_.push_back(detail::text_of({"no pattern says what ", milliseconds_a_step(unnamed.forward),
                                              " ms of a step are, most of them ", most}));
            times_.push_back(unnamed);
        }
        if (spans.backward_alone() != 0) {
            notes_.push_back(detail::text_of(
                {"backward operators without a forward one that is told apart: ", spans.backward_alone()}));
        }
        if (idle_ != 0) {
            times_.push_back({idle_part(), idle_, 0});
        }
    }

    [[nodiscard]] const char* idle_part() const { return on_gpu_ ? "no kernel runs" : "no operator runs"; }
    /// Milliseconds of one step of one device, as the table has them.
    [[nodiscard]] std::string milliseconds_a_step(std::int64_t time) const {
        return detail::fixed_decimal(1e3 * seconds_per_step(time), 3);
    }
    [[nodiscard]] static std::string milliseconds(std::int64_t time) {
        return detail::fixed_decimal(static_cast<double>(time) / 1e6, 3);
    }

    std::vector<trace_time> times_;
    std::vector<std::string> notes_;
    std::uint64_t steps_ = 0;
    std::uint64_t devices_ = 0;
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
    std::int64_t nanoseconds_ = 0;
    std::int64_t idle_ = 0;
    std::int64_t hidden_ = 0;
    bool on_gpu_ = true;
};

}  // namespace floptally

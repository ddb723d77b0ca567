// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/step/component_rates.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/time_breakdown.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/detail/trace_spans.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace.hpp>

/// @file
/// The time of a trace, divided among the parts of the work. If kernels overlap, their time does not count twice.

namespace floptally::inline v0_3::detail {

/// The period of time of the steps in a trace: from the profiler's first step mark on the host to the end of the last
/// step mark. Without step marks it is the whole trace.
struct trace_window {
    explicit trace_window(const trace& recorded) {
        std::optional<std::pair<std::int64_t, std::int64_t>> marked;
        std::optional<std::pair<std::int64_t, std::int64_t>> all;
        const auto widen = [](auto& window, const trace_event& event) {
            window = window ? std::pair(std::min(window->first, event.begin), std::max(window->second, event.end))
                            : std::pair(event.begin, event.end);
        };
        for (const trace_event& event : recorded.events) {
            widen(all, event);
            if (event.kind == trace_kind::annotation && recorded.names[event.name].starts_with(profiler_step)) {
                ++steps;
                widen(marked, event);
            }
        }
        if (!all || all->first == all->second) {
            throw error("trace", "has no event with a duration: record at least one step");
        }
        is_marked = marked.has_value();
        begin = marked.value_or(*all).first;
        end = marked.value_or(*all).second;
        steps = std::max<std::uint64_t>(steps, 1);
    }

    /// Returns how many nanoseconds a device lags behind the host at the first step mark. This is the time from the
    /// mark until the kernels that were launched before it have ended. If there are no such kernels, it is the delay
    /// between launch and start of the first kernel that was launched after the mark.
    [[nodiscard]] std::int64_t lag(const trace& recorded, const detail::trace_spans& spans) const {
        std::optional<std::int64_t> before;
        std::optional<std::pair<std::int64_t, std::int64_t>>
            first;  // launch time and start time of the first kernel that was launched after the mark
        for (const trace_event& event : recorded.events) {
            const bool is_on_device = event.kind == trace_kind::kernel || event.kind == trace_kind::copy;
            const detail::trace_spans::launch* const from = is_on_device ? spans.launch_of(event) : nullptr;
            if (from == nullptr || from->begin >= end) {
                continue;
            }
            if (from->begin < begin) {
                before = std::max(before.value_or(begin), event.end);
            } else if (!first || std::pair(from->begin, event.begin) < *first) {
                first = {from->begin, event.begin};
            }
        }
        const std::int64_t delay = before ? *before - begin : first ? first->second - first->first : 0;
        return std::max<std::int64_t>(delay, 0);
    }

    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t steps = 0;
    bool is_marked = false;
};

/// An interval of time in which an operator or a kernel runs.
struct timed_stretch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t key = 0;
    bool gives_way = false;  ///< true for communication and copies: if computation overlaps with them, the time counts
                             ///< as computation
    bool is_copy = false;
};

/// Divides the time from `begin` to `end` among the intervals, and calls `each(key, nanoseconds)` with the key of an
/// interval and its share. Overlapping intervals share the time evenly. If the time is not divisible, the intervals
/// that began first get one more nanosecond. Returns the nanoseconds in which nothing runs.
template <class Each>
std::int64_t share_time(std::vector<timed_stretch> stretches, std::int64_t begin, std::int64_t end, Each each) {
    for (timed_stretch& stretch : stretches) {
        stretch.begin = std::max(stretch.begin, begin);
        stretch.end = std::min(stretch.end, end);
    }
    stretches.erase(std::remove_if(stretches.begin(), stretches.end(),
                                   [](const timed_stretch& stretch) { return stretch.end <= stretch.begin; }),
                    stretches.end());
    std::stable_sort(stretches.begin(), stretches.end(),
                     [](const timed_stretch& a, const timed_stretch& b) { return a.begin < b.begin; });
    std::vector<timed_stretch> running;  // the intervals that include `now`, ordered by start
    std::int64_t idle = 0;
    std::size_t next = 0;
    for (std::int64_t now = begin; now < end;) {
        running.erase(std::remove_if(running.begin(), running.end(),
                                     [now](const timed_stretch& stretch) { return stretch.end <= now; }),
                      running.end());
        while (next < stretches.size() && stretches[next].begin <= now) {
            running.push_back(stretches[next++]);
        }
        std::int64_t until = next < stretches.size() ? stretches[next].begin : end;
        std::int64_t computing = 0;  // number of running intervals that are computation; if there are any,
                                     // communication and copies get no time
        for (const timed_stretch& stretch : running) {
            until = std::min(until, stretch.end);
            computing += stretch.gives_way ? 0 : 1;
        }
        const bool all = computing == 0;
        const std::int64_t sharers = all ? static_cast<std::int64_t>(running.size()) : computing;
        std::int64_t left = sharers == 0 ? 0 : (until - now) % sharers;
        for (const timed_stretch& stretch : running) {
            if (all || !stretch.gives_way) {
                each(stretch.key, (until - now) / sharers + (left > 0 ? 1 : 0));
                --left;
            }
        }
        idle += sharers == 0 ? until - now : 0;
        now = until;
    }
    return idle;
}

/// Returns the nanoseconds in which communication overlaps with computation. Copies do not count.
[[nodiscard]] inline std::int64_t hidden_time(const std::vector<timed_stretch>& stretches, std::int64_t from,
                                              std::int64_t until) {
    std::vector<std::pair<std::int64_t, std::pair<int, int>>> edges;
    for (const timed_stretch& stretch : stretches) {
        const std::int64_t begin = std::max(stretch.begin, from);
        const std::int64_t end = std::min(stretch.end, until);
        if (begin < end && !stretch.is_copy) {
            const std::pair<int, int> change{stretch.gives_way ? 1 : 0, stretch.gives_way ? 0 : 1};
            edges.push_back({begin, change});
            edges.push_back({end, {-change.first, -change.second}});
        }
    }
    std::sort(edges.begin(), edges.end());
    std::int64_t hidden = 0;
    std::pair<int, int> running{};
    for (std::size_t i = 0; i < edges.size(); ++i) {
        hidden += running.first > 0 && running.second > 0 ? edges[i].first - edges[i - 1].first : 0;
        running.first += edges[i].second.first;
        running.second += edges[i].second.second;
    }
    return hidden;
}

/// Parts of a trace that share components, merged into one part.
struct part_group {
    std::string name;
    std::vector<std::string> components;
    std::int64_t forward = 0;
    std::int64_t backward = 0;
};

/// Adds a part of a trace to `groups`. All groups that share a component with the part are merged with it.
inline void add_part(std::vector<part_group>& groups, part_group part) {
    const auto shares = [&part](const part_group& other) {
        return std::any_of(other.components.begin(), other.components.end(), [&part](const std::string& name) {
            return std::find(part.components.begin(), part.components.end(), name) != part.components.end();
        });
    };
    for (auto other = std::find_if(groups.begin(), groups.end(), shares); other != groups.end();
         other = std::find_if(groups.begin(), groups.end(), shares)) {
        for (const std::string& name : other->components) {
            if (std::find(part.components.begin(), part.components.end(), name) == part.components.end()) {
                part.components.push_back(name);
            }
        }
        part.name = other->name == part.name ? part.name : std::string{};
        part.forward += other->forward;
        part.backward += other->backward;
        groups.erase(other);
    }
    if (part.name.empty()) {
        for (const std::string& name : part.components) {
            part.name.append(part.name.empty() ? "" : "+").append(name);
        }
    }
    groups.push_back(std::move(part));
}

/// Returns the components of the work that the name of a part lists: "attention.qkv+mlp" lists two. If the model is a
/// vision tower alone, the part "vision.mlp" means the component "mlp".
[[nodiscard]] inline std::vector<std::string> components_of(std::string_view part, const breakdown& work) {
    const auto has = [&work](std::string_view name) {
        return std::any_of(work.components().begin(), work.components().end(),
                           [name](const component_flops& component) { return matches(name, component.name.view()); });
    };
    std::vector<std::string> found;
    for (std::size_t first = 0; first <= part.size();) {
        const std::size_t end = std::min(part.find('+', first), part.size());
        std::string_view name = part.substr(first, end - first);
        const std::size_t tower = name.starts_with("vision.") || name.starts_with("audio.") ? name.find('.') + 1 : 0;
        if (tower != 0 && !has(std::string(name.substr(0, tower)) + "*")) {
            name.remove_prefix(tower);
        }
        for (const component_flops& component : work.components()) {
            if (matches(name, component.name.view())) {
                found.emplace_back(component.name.view());
            }
        }
        first = end + 1;
    }
    return found;
}

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// The nanoseconds of one part of the work in a trace, summed over all devices and steps.
struct trace_time {
    std::string part{};  ///< name of the part from the `module_map`; if no pattern of the map matches, a description of
                         ///< the time
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    bool is_known = true;  ///< false if no pattern of the `module_map` matches
};

/// The name of the part for the time in which communication kernels wait for other ranks. Traces have this part only
/// after `tell_waiting` was called.
inline constexpr std::string_view waiting_part = "waiting for ranks";

/// The time of a trace's steps, by the part of the work. GPU kernels are timed if the trace has any, else operators of
/// the host.
///
/// A `trace_times` counts the time of a device once. Kernels that run at the same time on several streams share the
/// time evenly. If communication or copies overlap with computation, the time counts as computation. On the host, the
/// time of a thread belongs to its innermost operator, and threads share time like streams.
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
            throw error("trace", "has no operator and no kernel with a duration: record CPU or CUDA activities");
        }
        devices_ = devices.size();
        nanoseconds_ = (end_ - begin_) * static_cast<std::int64_t>(devices_);
        std::map<std::uint64_t, std::int64_t> time_by_key;
        for (auto& [device, stretches] : devices) {
            hidden_ += on_gpu_ ? detail::hidden_time(stretches, begin_, end_) : 0;
            idle_ +=
                detail::share_time(std::move(stretches), begin_, end_,
                                   [&time_by_key](std::uint64_t key, std::int64_t time) { time_by_key[key] += time; });
        }
        list_times(recorded, spans, time_by_key);
    }

    /// Returns the time of each part of the work, in the order in which the parts first occur in the trace. Then follow
    /// the time of events that match no pattern of the `module_map`, and the time in which nothing ran. The times add
    /// up to `nanoseconds()`.
    [[nodiscard]] std::span<const trace_time> times() const { return times_; }
    /// Returns the nanoseconds of all steps over all devices.
    [[nodiscard]] std::int64_t nanoseconds() const { return nanoseconds_; }
    /// Returns the number of GPUs that ran a kernel; 1 if the trace has no kernel.
    [[nodiscard]] std::uint64_t devices() const { return devices_; }
    /// Returns the number of steps that the profiler marked; 1 if there are no marks.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    /// Returns true if GPU kernels were timed, false if operators of the host were.
    [[nodiscard]] bool on_gpu() const { return on_gpu_; }
    /// Returns the seconds of one step.
    ///
    /// On a GPU the steps begin when the kernels that were launched before the profiler's first mark have ended, but
    /// not before that mark. They end when the kernels that were launched before the last mark have ended. On the host
    /// the steps go from the first mark to the last. A trace without marks counts as one step.
    [[nodiscard]] double seconds() const { return seconds_per_step(nanoseconds_); }
    /// Returns how many seconds of a step one device waits for other ranks, in communication that overlaps with no
    /// computation. The result is 0 before `tell_waiting` was called.
    [[nodiscard]] double waiting() const {
        const auto waiting_time = std::find_if(times_.begin(), times_.end(),
                                               [](const trace_time& time) { return time.part == waiting_part; });
        return waiting_time == times_.end() ? 0 : seconds_per_step(waiting_time->forward);
    }
    /// Returns for how many seconds of a step communication overlaps with computation on one device.
    [[nodiscard]] double hidden() const { return seconds_per_step(hidden_); }
    /// Returns notes about time that matches no pattern of the `module_map`, and about events that are left out.
    [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

    /// Returns the seconds that each part of a step takes on one device. Pass the result to `component_waterfall` to
    /// see the MFU by component.
    ///
    /// A part without a component in `work` is time without FLOPs. Parts that share a component are merged. If the
    /// trace has only forward time of a part although its components have backward FLOPs, the part's time covers the
    /// forward pass alone. The same holds for the backward. Time that matches no pattern of the `module_map` is left
    /// out. Such time and the work that ran in it belong to the rest of the step, which was not measured.
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

    /// Returns how many seconds of a step one device spends without counted work, by kind: communication, data loading,
    /// the optimizer, element-wise kernels, and no kernel at all. Communication has the kind `apart_kind::transfer` if
    /// the trace separates its waiting time.
    [[nodiscard]] std::vector<time_apart> apart(const breakdown& work) const {
        std::vector<time_apart> times;
        const auto put = [&times](const char* name, apart_kind kind, double seconds) {
            const auto same = std::find_if(times.begin(), times.end(),
                                           [kind](const time_apart& other) { return other.kind == kind; });
            if (same == times.end()) {
                times.push_back({name, seconds, kind, "in the trace"});
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
            // A trace without GPU kernels contains no communication.
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
            const auto known = std::find_if(times.begin(), times.end(), [&](const time_apart& other) {
                return time.part == other.name || (is_idle && other.kind == apart_kind::launches);
            });
            if (known != times.end()) {
                known->seconds += seconds;
            } else if (detail::components_of(time.part, work).empty()) {
                put("element-wise kernels", apart_kind::elementwise, seconds);
            }
        }
        return times;
    }

  private:
    /// this bit in a key means that no pattern of the `module_map` matches; the other bits are then the index of the
    /// event's name
    static constexpr std::uint64_t unknown = std::uint64_t{1} << 63U;
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
        std::uint64_t without_launch = 0;
        std::uint64_t outside = 0;
        for (const trace_event& event : recorded.events) {
            if (event.kind != trace_kind::kernel && event.kind != trace_kind::copy) {
                continue;
            }
            std::vector<detail::timed_stretch>& stretches = devices[event.device];
            const detail::trace_spans::launch* const from = spans.launch_of(event);
            without_launch += from == nullptr ? 1 : 0;
            const std::int64_t launched = from == nullptr ? event.begin : from->begin;
            const std::int64_t first = from == nullptr ? begin_ : marked_begin;
            if (window.is_marked && (launched < first || launched >= window.end)) {
                ++outside;
                continue;
            }
            const detail::trace_label label =
                spans.label_of_kernel(event, from == nullptr ? detail::trace_label{} : from->label);
            const bool is_copy = event.kind == trace_kind::copy;
            const bool gives_way = is_copy || spans.parts()[label.part] == "communication";
            if (event.waiting != 0) {
                stretches.push_back({event.begin, event.begin + event.waiting, waiting_key, gives_way, false});
            }
            stretches.push_back(
                {event.begin + event.waiting, event.end, key_of(label, event.name), gives_way, is_copy});
            end_ = std::max(end_, event.end);
        }
        if (begin_ >= end_) {  // no kernel runs between the step marks
            begin_ = marked_begin;
        }
        if (begin_ != marked_begin) {
            notes_.push_back(detail::text_of(
                {"the device began the profiler's steps ", milliseconds(begin_ - marked_begin), " ms after the host"}));
        }
        for (const auto& [count, description] :
             {std::pair(without_launch, "without a launch in the trace: "),
              std::pair(outside, "that were not launched in the profiler's steps, left out: ")}) {
            if (count != 0) {
                notes_.push_back(detail::text_of({"kernels and copies ", description, count}));
            }
        }
        return devices;
    }

    void list_times(const trace& recorded, const detail::trace_spans& spans,
                    const std::map<std::uint64_t, std::int64_t>& time_by_key) {
        trace_time unnamed{.part = "not attributed", .is_known = false};
        std::vector<std::pair<std::int64_t, std::uint32_t>> names;
        for (std::uint64_t part = 1; part < spans.parts().size(); ++part) {
            const auto time_of = [&time_by_key](std::uint64_t key) {
                const auto found = time_by_key.find(key);
                return found == time_by_key.end() ? 0 : found->second;
            };
            const trace_time time{
                .part = spans.parts()[part], .forward = time_of(2 * part), .backward = time_of(2 * part + 1)};
            if (time.forward != 0 || time.backward != 0) {
                times_.push_back(time);
            }
        }
        if (const auto waiting_time = time_by_key.find(waiting_key); waiting_time != time_by_key.end()) {
            times_.push_back({std::string(waiting_part), waiting_time->second, 0});
        }
        for (auto from = time_by_key.lower_bound(unknown); from != time_by_key.end(); ++from) {
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
            notes_.push_back(detail::text_of(
                {"no pattern matches ", milliseconds_a_step(unnamed.forward), " ms of a step, most of that ", most}));
            times_.push_back(unnamed);
        }
        if (spans.backward_alone() != 0) {
            notes_.push_back(
                detail::text_of({"backward operators whose forward operator is unknown: ", spans.backward_alone()}));
        }
        if (idle_ != 0) {
            times_.push_back({idle_part(), idle_, 0});
        }
    }

    [[nodiscard]] const char* idle_part() const { return on_gpu_ ? "no kernel runs" : "no operator runs"; }
    /// Returns a time in milliseconds of one step on one device, with three decimals.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace.hpp>

namespace floptally::inline v0_3::detail {

/// The work that runs at a moment of a trace. `part` is the number of the part of the work, or 0 if no pattern of the
/// `module_map` matches. `backward` is true in the backward pass.
struct trace_label {
    std::uint32_t part = 0;
    bool backward = false;
};

/// An interval of a thread's time in which the innermost operator does not change.
struct op_stretch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    trace_label label{};
    std::uint32_t op = 0;  ///< index of the operator's name in `trace::names`
};

/// The nested spans of host events, and the part of the work that runs in each span. The innermost span that matches a
/// pattern of the `module_map` gives the part. A backward operator has the part of its forward operator.
class trace_spans {
  public:
    trace_spans(const trace& recorded, const module_map& modules)
        : trace_(recorded), modules_(modules), parts_{""}, paths_{{"", 0}} {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < recorded.events.size(); ++i) {
            if (recorded.events[i].kind != trace_kind::kernel && recorded.events[i].kind != trace_kind::copy) {
                order.push_back(i);
            }
        }
        // If two spans begin together, the outer one comes first.
        std::stable_sort(order.begin(), order.end(), [&recorded](std::size_t a, std::size_t b) {
            const trace_event& x = recorded.events[a];
            const trace_event& y = recorded.events[b];
            return x.begin != y.begin ? x.begin < y.begin : x.end != y.end ? x.end > y.end : x.kind < y.kind;
        });
        learn_threads();
        for (const std::size_t i : order) {
            open(recorded.events[i]);
        }
        for (auto& [lane, stack] : stacks_) {
            close(stack, INT64_MAX);
        }
    }

    /// Returns the names of the parts of the work, indexed by `trace_label::part`. The first name is empty and stands
    /// for work that matches no pattern of the `module_map`.
    [[nodiscard]] const std::vector<std::string>& parts() const { return parts_; }
    [[nodiscard]] const std::vector<op_stretch>& stretches() const { return stretches_; }
    /// Returns the number of backward operators whose forward operator is missing in the trace or ambiguous.
    [[nodiscard]] std::uint64_t backward_alone() const { return backward_alone_; }

    /// The time at which a kernel was launched, and the part of the work that ran then.
    struct launch {
        trace_label label{};
        std::int64_t begin = 0;
    };
    /// Returns the launch of a kernel: the call that launched it, or else the operator that contains the launch.
    /// Returns null if the trace has neither.
    [[nodiscard]] const launch* launch_of(const trace_event& kernel) const {
        // If no operator launched the kernel, some profilers write the correlation id as the external id too.
        const std::uint64_t external = kernel.external == kernel.correlation ? 0 : kernel.external;
        for (const auto& [launches, id] :
             {std::pair(&launches_, kernel.correlation), std::pair(&operators_, external)}) {
            const auto found = id == 0 ? launches->end() : launches->find(id);
            if (found != launches->end()) {
                return &found->second;
            }
        }
        return nullptr;
    }
    /// Returns the part of the work that a kernel belongs to: the part for the kernel's own name, or else the part in
    /// which the kernel was launched. A memory copy for which neither is known gets the part "copies".
    [[nodiscard]] trace_label label_of_kernel(const trace_event& kernel, trace_label launched) {
        std::uint32_t part = part_named("kernel:", kernel.name);
        part = part != 0 ? part : launched.part;
        part = part == 0 && kernel.kind == trace_kind::copy ? part_number("copies") : part;
        return {part, launched.backward};
    }

  private:
    struct span {
        std::int64_t end = 0;
        std::uint32_t path = 0;
        trace_label label{};
        bool in_op = false;
        std::uint32_t op = 0;
    };
    struct thread_stack {
        std::vector<span> open;
        std::int64_t done = 0;  ///< end of the last interval that was recorded for this thread
    };
    struct path {
        std::string text;
        std::uint32_t part = 0;
    };
    using lane_time = std::pair<std::uint32_t, std::int64_t>;

    /// Finds the lane (host thread) for each thread number in the profiler's backward operators. Uses the
    /// links from forward to backward operators. If only one lane runs forward operators, no link is needed.
    void learn_threads() {
        std::map<lane_time, std::uint64_t> backward;
        std::map<std::uint64_t, bool> threads;
        std::map<std::uint32_t, bool> forward_lanes;
        for (const trace_event& event : trace_.events) {
            if (event.kind == trace_kind::op && event.sequence >= 0) {
                if (event.forward_thread != 0) {
                    backward[{event.lane, event.begin}] = event.forward_thread;
                    threads[event.forward_thread] = true;
                } else {
                    forward_lanes[event.lane] = true;
                }
            }
        }
        std::map<std::uint64_t, bool> doubtful;
        for (const trace_link& link : trace_.links) {
            const auto found = backward.find({link.backward_lane, link.backward_begin});
            if (found != backward.end()) {
                const auto [known, is_new] = lane_of_thread_.emplace(found->second, link.forward_lane);
                doubtful[found->second] = doubtful[found->second] || known->second != link.forward_lane;
            }
        }
        for (const auto& [thread, is_doubtful] : doubtful) {
            if (is_doubtful) {
                lane_of_thread_.erase(thread);
            }
        }
        if (forward_lanes.size() == 1) {
            for (const auto& [thread, ignored] : threads) {
                lane_of_thread_.emplace(thread, forward_lanes.begin()->first);
            }
        }
    }

    void open(const trace_event& event) {
        thread_stack& stack = stacks_[event.lane];
        close(stack, event.begin);
        const span outer = stack.open.empty() ? span{INT64_MAX} : stack.open.back();
        record_stretch(stack, event.begin);
        span inner = outer;
        // An inner span cannot end after its outer span. Recorded times can be wrong by less than a microsecond, so the
        // end is corrected.
        inner.end = std::min(outer.end, event.end);
        if (trace_.names[event.name].starts_with(profiler_step)) {  // Step marks are not part of a path, so that a
                                                                    // module has the same path in all steps.
        } else if (event.kind == trace_kind::module_call || event.kind == trace_kind::annotation) {
            inner.path = path_in(outer.path, event.name);
            inner.label.part = paths_[inner.path].part != 0 ? paths_[inner.path].part : outer.label.part;
        } else if (event.kind == trace_kind::op) {
            inner.in_op = true;
            inner.op = event.name;
            if (event.forward_thread != 0) {
                take_from_forward(event, inner);
            }
            const std::uint32_t part = part_named("op:", event.name);
            inner.label.part = part != 0 ? part : inner.label.part;
            if (event.sequence >= 0 && event.forward_thread == 0) {
                // Several operators may share a sequence number. The last one to begin created the backward node.
                forward_[{event.lane, event.sequence}] = {inner.path, inner.label.part};
            }
            if (event.external != 0) {
                operators_[event.external] = {inner.label, event.begin};
            }
        } else if (event.correlation != 0) {
            launches_[event.correlation] = {inner.label, event.begin};
        }
        stack.open.push_back(inner);
    }

    /// Gives a backward operator the path of its forward operator, and the same part of the work.
    void take_from_forward(const trace_event& event, span& inner) {
        inner.label.backward = true;
        const auto lane = lane_of_thread_.find(event.forward_thread);
        const auto found = lane == lane_of_thread_.end() || event.sequence < 0
                               ? forward_.end()
                               : forward_.find({lane->second, event.sequence});
        if (found == forward_.end()) {
            ++backward_alone_;
            return;
        }
        inner.path = found->second.first;
        inner.label.part = found->second.second;
    }

    void close(thread_stack& stack, std::int64_t until) {
        while (!stack.open.empty() && stack.open.back().end <= until) {
            record_stretch(stack, stack.open.back().end);
            stack.open.pop_back();
        }
    }

    /// Records the interval of a thread's innermost operator that ends at `until`.
    void record_stretch(thread_stack& stack, std::int64_t until) {
        if (!stack.open.empty() && stack.open.back().in_op && until > stack.done) {
            stretches_.push_back({stack.done, until, stack.open.back().label, stack.open.back().op});
        }
        stack.done = until;
    }

    [[nodiscard]] std::uint32_t path_in(std::uint32_t outer, std::uint32_t name) {
        const auto [found, is_new] = path_numbers_.emplace(std::pair(outer, name), 0);
        if (is_new) {
            std::string text = paths_[outer].text;
            text.append(text.empty() ? "" : "/").append(trace_.names[name]);
            found->second = static_cast<std::uint32_t>(paths_.size());
            const std::uint32_t part = part_number(modules_.part_of(text));
            paths_.push_back({std::move(text), part});
        }
        return found->second;
    }

    [[nodiscard]] std::uint32_t part_named(std::string_view kind, std::uint32_t name) {
        std::unordered_map<std::uint32_t, std::uint32_t>& known = kind == "op:" ? op_parts_ : kernel_parts_;
        const auto [found, is_new] = known.emplace(name, 0);
        if (is_new) {
            found->second = part_number(modules_.part_of(std::string(kind).append(trace_.names[name])));
        }
        return found->second;
    }

    [[nodiscard]] std::uint32_t part_number(const std::string& part) {
        const auto found = std::find(parts_.begin(), parts_.end(), part);
        if (found != parts_.end()) {
            return static_cast<std::uint32_t>(found - parts_.begin());
        }
        parts_.push_back(part);
        return static_cast<std::uint32_t>(parts_.size() - 1);
    }

    const trace& trace_;
    const module_map& modules_;
    std::vector<std::string> parts_;
    std::vector<path> paths_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> path_numbers_;
    std::unordered_map<std::uint32_t, std::uint32_t> op_parts_;
    std::unordered_map<std::uint32_t, std::uint32_t> kernel_parts_;
    std::map<std::uint64_t, std::uint32_t> lane_of_thread_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<std::uint32_t, std::uint32_t>> forward_;
    std::unordered_map<std::uint64_t, launch> launches_;
    std::unordered_map<std::uint64_t, launch> operators_;
    std::map<std::uint32_t, thread_stack> stacks_;
    std::vector<op_stretch> stretches_;
    std::uint64_t backward_alone_ = 0;
};

}  // namespace floptally::detail

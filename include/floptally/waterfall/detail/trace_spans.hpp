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

namespace floptally::detail {

/// A part by its number, 0 where no pattern says it, and whether a moment is spent on its backward.
struct trace_label {
    std::uint32_t part = 0;
    bool backward = false;
};

/// A stretch of a thread's time in which the operator inside all others is the same.
struct op_stretch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    trace_label label{};
    std::uint32_t op = 0;  ///< its name
};

/// Spans of the host as they nest, from outside to inside, each with what runs there: the innermost span that a pattern
/// knows says it, and of a backward operator its forward one.
class trace_spans {
  public:
    trace_spans(const trace& recorded, const module_map& modules)
        : trace_(recorded), modules_(modules), parts_{""}, paths_{{"", 0}} {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < recorded.events.size(); ++i) {
            if (recorded.events[i].what != trace_kind::kernel && recorded.events[i].what != trace_kind::copy) {
                order.push_back(i);
            }
        }
        // Outer spans first where two begin at once.
        std::stable_sort(order.begin(), order.end(), [&recorded](std::size_t a, std::size_t b) {
            const trace_event& x = recorded.events[a];
            const trace_event& y = recorded.events[b];
            return x.begin != y.begin ? x.begin < y.begin : x.end != y.end ? x.end > y.end : x.what < y.what;
        });
        learn_threads();
        for (const std::size_t i : order) {
            open(recorded.events[i]);
        }
        for (auto& [lane, stack] : stacks_) {
            close(stack, INT64_MAX);
        }
    }

    /// By number; the first is "".
    [[nodiscard]] const std::vector<std::string>& parts() const { return parts_; }
    [[nodiscard]] const std::vector<op_stretch>& stretches() const { return stretches_; }
    /// Backward operators whose forward one is not in the trace, or not told apart from another.
    [[nodiscard]] std::uint64_t backward_alone() const { return backward_alone_; }

    /// Where the kernel was launched, and when.
    struct launch {
        trace_label label{};
        std::int64_t begin = 0;
    };
    /// By the call that launched it, else by the operator that it is of; nothing where neither is there.
    [[nodiscard]] const launch* launch_of(const trace_event& kernel) const {
        // Where no operator launched it, some profilers write its correlation there once more.
        const std::uint64_t external = kernel.external == kernel.correlation ? 0 : kernel.external;
        for (const auto& [from, id] : {std::pair(&launches_, kernel.correlation), std::pair(&operators_, external)}) {
            const auto found = id == 0 ? from->end() : from->find(id);
            if (found != from->end()) {
                return &found->second;
            }
        }
        return nullptr;
    }
    /// The part of a kernel's own name, before that of its place. A copy that no pattern knows is a copy.
    [[nodiscard]] trace_label label_of_kernel(const trace_event& kernel, trace_label launched) {
        std::uint32_t part = part_named("kernel:", kernel.name);
        part = part != 0 ? part : launched.part;
        part = part == 0 && kernel.what == trace_kind::copy ? part_number("copies") : part;
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
        std::int64_t done = 0;  ///< stretches are made up to here
    };
    struct path {
        std::string text;
        std::uint32_t part = 0;
    };
    using place = std::pair<std::uint32_t, std::int64_t>;

    /// Finds the lane of each thread of the profiler's own numbers: links say it, and one lane alone needs none.
    void learn_threads() {
        std::map<place, std::uint64_t> backward;
        std::map<std::uint64_t, bool> threads;
        std::map<std::uint32_t, bool> forward_lanes;
        for (const trace_event& event : trace_.events) {
            if (event.what == trace_kind::op && event.sequence >= 0) {
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
        stretch(stack, event.begin);
        span inner = outer;
        inner.end = std::min(outer.end, event.end);  // clocks of two sources may differ by less than a microsecond
        if (trace_.names[event.name].starts_with(
                profiler_step)) {  // no part of a path: patterns are the same in every step
        } else if (event.what == trace_kind::module_call || event.what == trace_kind::annotation) {
            inner.path = path_in(outer.path, event.name);
            inner.label.part = paths_[inner.path].part != 0 ? paths_[inner.path].part : outer.label.part;
        } else if (event.what == trace_kind::op) {
            inner.in_op = true;
            inner.op = event.name;
            if (event.forward_thread != 0) {
                follow(event, inner);
            }
            const std::uint32_t part = part_named("op:", event.name);
            inner.label.part = part != 0 ? part : inner.label.part;
            if (event.sequence >= 0 && event.forward_thread == 0) {
                // The last to begin of operators with one number made the node of the backward.
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

    /// A backward operator runs where its forward one did.
    void follow(const trace_event& event, span& inner) {
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
            stretch(stack, stack.open.back().end);
            stack.open.pop_back();
        }
    }

    /// Ends the stretch of the innermost operator of a thread.
    void stretch(thread_stack& stack, std::int64_t until) {
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <floptally/text/error.hpp>
#include <floptally/waterfall/detail/trace_spans.hpp>
#include <floptally/waterfall/trace.hpp>

namespace floptally::detail {

/// The time of a trace's steps, from mark to mark of the host; all of a trace without marks.
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
            if (event.what == trace_kind::annotation && recorded.names[event.name].starts_with(profiler_step)) {
                ++steps;
                widen(marked, event);
            }
        }
        if (!all || all->first == all->second) {
            throw error("trace", "has no event with a duration");
        }
        is_marked = marked.has_value();
        begin = marked.value_or(*all).first;
        end = marked.value_or(*all).second;
        steps = std::max<std::uint64_t>(steps, 1);
    }

    /// The time by which the devices are behind the host at the first mark: until the kernels that were launched before
    /// it have ended; where the trace has none of them, as long as the first kernel that was launched after it waited.
    [[nodiscard]] std::int64_t lag(const trace& recorded, const detail::trace_spans& spans) const {
        std::optional<std::int64_t> before;
        std::optional<std::pair<std::int64_t, std::int64_t>> first;  // launched and begun
        for (const trace_event& event : recorded.events) {
            const bool is_on_device = event.what == trace_kind::kernel || event.what == trace_kind::copy;
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
        const std::int64_t waited = before ? *before - begin : first ? first->second - first->first : 0;
        return std::max<std::int64_t>(waited, 0);
    }

    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t steps = 0;
    bool is_marked = false;
};

}  // namespace floptally::detail

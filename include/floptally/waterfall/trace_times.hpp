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

#include <floptally/breakdown.hpp>
#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/detail/shared_time.hpp>
#include <floptally/detail/shortened.hpp>
#include <floptally/detail/trace_spans.hpp>
#include <floptally/error.hpp>
#include <floptally/step/component_rates.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/module_rules.hpp>
#include <floptally/waterfall/trace.hpp>

namespace floptally {

/// Time of a part in a trace, over all of its devices and steps.
struct trace_time {
    std::string part{};  ///< as a rule names it, or why it is of no part
    std::int64_t forward = 0;
    std::int64_t backward = 0;
    bool is_known = true;  ///< else no rule says what it is
};

/// What ran in the steps of a trace: kernels of its GPUs, or, where it has none, operators of the host.
///
/// Every moment of a device is counted once. Kernels that run at once on several streams share it evenly; communication
/// and copies give way to computation, so that theirs is the time that nothing hides. On the host a moment of a thread
/// is its innermost operator's, and threads share as streams do.
class trace_times {
  public:
    explicit trace_times(const trace& of, const module_rules& rules = module_rules{}) {
        detail::trace_spans spans(of, rules);
        find_window(of);
        std::map<std::uint32_t, std::vector<detail::timed_stretch>> devices = kernels(of, spans);
        if (devices.empty()) {
            on_gpu_ = false;
            for (const detail::op_stretch& one : spans.stretches()) {
                devices[0].push_back({one.begin, one.end, key_of(one.label, one.op), false});
            }
        }
        if (devices.empty()) {
            throw error("trace", "has neither an operator nor a kernel that ran for a nanosecond");
        }
        devices_ = devices.size();
        nanoseconds_ = (end_ - begin_) * static_cast<std::int64_t>(devices_);
        std::map<std::uint64_t, std::int64_t> taken;
        for (auto& [device, stretches] : devices) {
            idle_ += detail::share_time(std::move(stretches), begin_, end_,
                                        [&taken](std::uint64_t key, std::int64_t time) { taken[key] += time; });
        }
        list(of, spans, taken);
    }

    /// Parts as rules first met them, then what no rule says, then what nothing ran in; they add up to `nanoseconds()`.
    [[nodiscard]] std::span<const trace_time> times() const { return times_; }
    [[nodiscard]] std::int64_t nanoseconds() const { return nanoseconds_; }
    [[nodiscard]] std::uint64_t devices() const { return devices_; }
    /// Steps that the profiler marks, or 1.
    [[nodiscard]] std::uint64_t steps() const { return steps_; }
    [[nodiscard]] bool on_gpu() const { return on_gpu_; }
    /// Of one step: from the first mark of the profiler to the last one, or to the end of the kernels that were
    /// launched until then; of a trace without marks, all of it.
    [[nodiscard]] double seconds() const { return of_a_step(nanoseconds_); }
    /// What could not be attributed, and what was left out.
    [[nodiscard]] std::span<const std::string> notes() const { return notes_; }

    /// Seconds of one step of one device, for a table by component of this work. A part that the work does not have is
    /// time without FLOPs, and parts that have a component in common are one. Where the trace has no backward of a
    /// component that has one, its time is of the forward alone. What no rule knows is left out: it is of the line of
    /// all that nobody timed, as the work is that ran there.
    [[nodiscard]] std::vector<timed_part> parts(const breakdown& work) const {
        std::vector<group> groups;
        for (const trace_time& one : times_) {
            if (one.is_known) {
                add(groups, {one.part, components_of(one.part, work), one.forward, one.backward});
            }
        }
        std::vector<timed_part> parts;
        for (group& one : groups) {
            flops backward;
            flops forward;
            for (const std::string& component : one.components) {
                forward += detail::work_of(work[component], view::executed, counted_passes::forward);
                backward += detail::work_of(work[component], view::executed, counted_passes::backward);
            }
            parts.push_back({.name = std::move(one.name),
                             .components = std::move(one.components),
                             .timed = one.backward == 0 && backward != flops{} ? counted_passes::forward
                                      : one.forward == 0 && forward != flops{} ? counted_passes::backward
                                                                               : counted_passes::train,
                             .seconds = of_a_step(one.forward + one.backward)});
        }
        return parts;
    }

  private:
    static constexpr std::uint64_t unknown = std::uint64_t{1} << 63U;  ///< of a key: the rest is a name

    /// Parts that the work does not tell apart.
    struct group {
        std::string name;
        std::vector<std::string> components;
        std::int64_t forward = 0;
        std::int64_t backward = 0;
    };

    /// A part beside the others, or with those that have one of its components.
    static void add(std::vector<group>& groups, group added) {
        const auto shares = [&added](const group& other) {
            return std::any_of(other.components.begin(), other.components.end(), [&added](const std::string& name) {
                return std::find(added.components.begin(), added.components.end(), name) != added.components.end();
            });
        };
        for (auto other = std::find_if(groups.begin(), groups.end(), shares); other != groups.end();
             other = std::find_if(groups.begin(), groups.end(), shares)) {
            for (const std::string& name : other->components) {
                if (std::find(added.components.begin(), added.components.end(), name) == added.components.end()) {
                    added.components.push_back(name);
                }
            }
            added.name = other->name == added.name ? added.name : std::string{};
            added.forward += other->forward;
            added.backward += other->backward;
            groups.erase(other);
        }
        if (added.name.empty()) {
            for (const std::string& name : added.components) {
                added.name.append(added.name.empty() ? "" : "+").append(name);
            }
        }
        groups.push_back(std::move(added));
    }

    [[nodiscard]] double of_a_step(std::int64_t time) const {
        return static_cast<double>(time) / 1e9 / static_cast<double>(devices_) / static_cast<double>(steps_);
    }

    [[nodiscard]] static std::uint64_t key_of(const detail::trace_label& label, std::uint32_t name) {
        return label.part == 0 ? unknown | name : std::uint64_t{label.part} * 2 + (label.backward ? 1 : 0);
    }

    void find_window(const trace& of) {
        std::optional<std::pair<std::int64_t, std::int64_t>> marked;
        std::optional<std::pair<std::int64_t, std::int64_t>> all;
        const auto widen = [](auto& window, const trace_event& one) {
            window = window ? std::pair(std::min(window->first, one.begin), std::max(window->second, one.end))
                            : std::pair(one.begin, one.end);
        };
        for (const trace_event& one : of.events) {
            widen(all, one);
            if (one.what == trace_kind::annotation && of.names[one.name].starts_with(profiler_step)) {
                ++steps_;
                widen(marked, one);
            }
        }
        if (!all || all->first == all->second) {
            throw error("trace", "has no event with a duration");
        }
        is_marked_ = marked.has_value();
        begin_ = marked.value_or(*all).first;
        end_ = marked.value_or(*all).second;
        steps_ = std::max<std::uint64_t>(steps_, 1);
    }

    [[nodiscard]] std::map<std::uint32_t, std::vector<detail::timed_stretch>> kernels(const trace& of,
                                                                                      detail::trace_spans& spans) {
        std::map<std::uint32_t, std::vector<detail::timed_stretch>> devices;
        std::uint64_t alone = 0;
        std::uint64_t outside = 0;
        const std::int64_t marked_end = end_;
        for (const trace_event& one : of.events) {
            if (one.what != trace_kind::kernel && one.what != trace_kind::copy) {
                continue;
            }
            std::vector<detail::timed_stretch>& stretches = devices[one.device];
            const detail::trace_spans::launch* const from = spans.launch_of(one);
            alone += from == nullptr ? 1 : 0;
            const std::int64_t launched = from == nullptr ? one.begin : from->begin;
            if (is_marked_ && (launched < begin_ || launched >= marked_end)) {
                ++outside;
                continue;
            }
            const detail::trace_label label =
                spans.label_of_kernel(one, from == nullptr ? detail::trace_label{} : from->label);
            const bool gives_way = one.what == trace_kind::copy || spans.parts()[label.part] == "communication";
            stretches.push_back({one.begin, one.end, key_of(label, one.name), gives_way});
            end_ = std::max(end_, one.end);
        }
        if (alone != 0) {
            notes_.push_back("kernels and copies without a launch in the trace: " + std::to_string(alone));
        }
        if (outside != 0) {
            notes_.push_back("kernels and copies that were not launched in the profiler's steps, left out: " +
                             std::to_string(outside));
        }
        return devices;
    }

    void list(const trace& of, const detail::trace_spans& spans, const std::map<std::uint64_t, std::int64_t>& taken) {
        trace_time unnamed{.part = "not attributed", .is_known = false};
        std::vector<std::pair<std::int64_t, std::uint32_t>> names;
        for (std::uint64_t part = 1; part < spans.parts().size(); ++part) {
            const auto at = [&taken](std::uint64_t key) {
                const auto found = taken.find(key);
                return found == taken.end() ? 0 : found->second;
            };
            const trace_time one{.part = spans.parts()[part], .forward = at(2 * part), .backward = at(2 * part + 1)};
            if (one.forward != 0 || one.backward != 0) {
                times_.push_back(one);
            }
        }
        for (auto from = taken.lower_bound(unknown); from != taken.end(); ++from) {
            unnamed.forward += from->second;
            names.emplace_back(-from->second, static_cast<std::uint32_t>(from->first & ~unknown));
        }
        std::sort(names.begin(), names.end());
        if (!names.empty()) {
            std::string most;
            for (std::size_t i = 0; i < names.size() && i < 3; ++i) {
                append_item(most,
                            milliseconds(-names[i].first) + " ms " + detail::shortened(of.names[names[i].second]));
            }
            notes_.push_back("no rule says what " + milliseconds(unnamed.forward) + " ms are, most of them " + most);
            times_.push_back(unnamed);
        }
        if (spans.backward_alone() != 0) {
            notes_.push_back("backward operators without a forward one that is told apart: " +
                             std::to_string(spans.backward_alone()));
        }
        if (idle_ != 0) {
            times_.push_back({on_gpu_ ? "no kernel runs" : "no operator runs", idle_, 0});
        }
    }

    [[nodiscard]] static std::string milliseconds(std::int64_t time) {
        return detail::fixed_decimal(static_cast<double>(time) / 1e6, 3);
    }

    /// Of a part's names those that the work has; "vision.mlp" is the "mlp" of a model that is nothing but a tower.
    [[nodiscard]] static std::vector<std::string> components_of(std::string_view part, const breakdown& work) {
        const auto has = [&work](std::string_view name) {
            return std::any_of(work.components().begin(), work.components().end(),
                               [name](const component_flops& one) { return matches(name, one.name.view()); });
        };
        std::vector<std::string> found;
        for (std::size_t first = 0; first <= part.size();) {
            const std::size_t end = std::min(part.find('+', first), part.size());
            std::string_view name = part.substr(first, end - first);
            const std::size_t tower =
                name.starts_with("vision.") || name.starts_with("audio.") ? name.find('.') + 1 : 0;
            if (tower != 0 && !has(std::string(name.substr(0, tower)) + "*")) {
                name.remove_prefix(tower);
            }
            for (const component_flops& one : work.components()) {
                if (matches(name, one.name.view())) {
                    found.emplace_back(one.name.view());
                }
            }
            first = end + 1;
        }
        return found;
    }

    std::vector<trace_time> times_;
    std::vector<std::string> notes_;
    std::uint64_t steps_ = 0;
    std::uint64_t devices_ = 0;
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
    std::int64_t nanoseconds_ = 0;
    std::int64_t idle_ = 0;
    bool is_marked_ = false;
    bool on_gpu_ = true;
};

}  // namespace floptally

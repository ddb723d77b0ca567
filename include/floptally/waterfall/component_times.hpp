// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/component_rates.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/waterfall/waterfall.hpp>

/// @file
/// Joins the measured times of components with their FLOPs. Shows the MFU of each component, and how many points of the
/// step's MFU each component costs.

namespace floptally::inline v0_3 {

/// A measured part of a step's time. Sources are your own timers, hooks of modules, or a profiler's trace.
struct timed_part {
    std::string name{};
    /// The components whose FLOPs ran in this time: exact names, or prefixes that end in `*`. Each exact name must
    /// exist in the work, and at least one name or prefix must match. If the list is empty, no counted work ran in this
    /// time.
    std::vector<std::string> components{};
    counted_passes timed = counted_passes::train;  ///< the passes in which the time was measured
    double seconds = 0;                            ///< seconds of one GPU: the mean over all GPUs that are not idle
};

/// The time of one component in a step. Nanoseconds are summed over all GPUs.
struct component_line {
    std::string name{};
    std::vector<std::string> components{};
    counted_passes timed = counted_passes::train;
    bool is_timed = true;  ///< false for the line of the rest of the step, which was not measured and includes waits
                           ///< and idle GPUs
    std::int64_t gpu_nanoseconds = 0;       ///< measured time of the line, summed over all GPUs
    std::int64_t useful_nanoseconds = 0;    ///< time that the useful FLOPs need at the stated peak; this is the line's
                                            ///< contribution to the MFU
    std::int64_t executed_nanoseconds = 0;  ///< time that the executed FLOPs need, each at the peak of its precision
    double share = 0;                       ///< the line's time as a fraction of the step's time
    double mfu = 0;  ///< (time of the line's useful FLOPs at the peak of their precision) ÷ (measured time of the line)
    double kernel_rate = 0;  ///< (time of the line's executed FLOPs at the peak of their precision) ÷ (measured time of
                             ///< the line)

    /// Returns the nanoseconds of the line that are not useful work at the peak. They lower the step's MFU. Equal to
    /// `not_useful()` + `below_peak()`.
    [[nodiscard]] std::int64_t lost() const { return gpu_nanoseconds - useful_nanoseconds; }
    /// Returns the nanoseconds of executed work that is not useful (padding, recompute, …). If the line's precision has
    /// another peak than the stated one, the result includes the time difference (negative for a higher peak).
    [[nodiscard]] std::int64_t not_useful() const { return executed_nanoseconds - useful_nanoseconds; }
    /// Returns the nanoseconds that kernels take beyond the time at their peak. Waits are included.
    [[nodiscard]] std::int64_t below_peak() const { return gpu_nanoseconds - executed_nanoseconds; }
};

/// A step's time by component. Each component has an MFU, and a cost in points of the step's MFU.
///
/// T is the step's time over all GPUs, t the time of a line, and u the line's useful FLOPs ÷ the stated peak. The line
/// costs (t − u) ÷ T. The times t add up to T and the times u to the time of all useful work, so the costs add up to 1
/// − MFU. The sum is exact to the nanosecond: rounding errors of the lines do not add up.
class component_waterfall {
  public:
    component_waterfall(const time_breakdown& timed, std::span<const timed_part> times) : whole_(timed), timed_(timed) {
        const std::uint64_t idle = timed.idle_gpus.value_or(0);
        working_ = static_cast<std::int64_t>(timed.step.gpus - idle);
        for (const waterfall_line& line : whole_.lines()) {
            total_ += line.gpu_nanoseconds;
        }
        std::vector<timed_part> parts(times.begin(), times.end());
        for (const time_apart& time : timed.apart) {
            if (time.seconds != 0) {
                parts.push_back({.name = time.name, .seconds = time.seconds});
            }
        }
        list_components();
        require(parts);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            add(parts[i], i);
        }
        add_rest();
    }

    /// Returns the lines of the table. First come the times that were passed to the constructor, in their order, then
    /// those of `time_breakdown::apart`. The last line is the remaining time, which was not measured.
    [[nodiscard]] std::span<const component_line> lines() const { return lines_; }
    /// Returns the waterfall of the whole step.
    [[nodiscard]] const waterfall& whole() const { return whole_; }
    /// Returns the nanoseconds of the step over all GPUs: the sum of the lines.
    [[nodiscard]] std::int64_t gpu_nanoseconds() const { return total_; }
    /// Converts nanoseconds over all GPUs to points of the MFU: 1 point is 1 % of the step's time over all GPUs.
    [[nodiscard]] double points(std::int64_t gpu_nanoseconds) const {
        return 100 * static_cast<double>(gpu_nanoseconds) / static_cast<double>(total_);
    }

  private:
    /// A component of the work, with two flags: whether a measured time covers its forward and its backward pass.
    struct worked_component {
        std::string name;
        bool forward_timed = false;
        bool backward_timed = false;
    };
    struct work {
        flops useful{};
        double own_seconds = 0;       ///< time that the useful FLOPs need, each at the peak of its precision
        double executed_seconds = 0;  ///< time that the executed FLOPs need, each at the peak of its precision
    };

    [[nodiscard]] const std::vector<work_at_peak>& executed() const {
        return timed_.repeated ? *timed_.repeated : timed_.work;
    }

    void list_components() {
        const auto put = [this](const std::vector<work_at_peak>& pieces) {
            for (const work_at_peak& piece : pieces) {
                for (const component_flops& component : piece.work.components()) {
                    const std::string name(component.name.view());
                    if (std::none_of(worked_.begin(), worked_.end(),
                                     [&name](const worked_component& known) { return known.name == name; })) {
                        worked_.push_back({name});
                    }
                }
            }
        };
        put(timed_.work);
        put(executed());
        if (timed_.masked_tiles) {
            put(*timed_.masked_tiles);
        }
    }

    void require(const std::vector<timed_part>& times) const {
        double sum = 0;
        for (std::size_t i = 0; i < times.size(); ++i) {
            const timed_part& part = times[i];
            if (!(part.seconds >= 0) || !(part.seconds <= timed_.step.seconds * (1 + 1e-9))) {
                detail::refuse(indexed("times", i),
                               {"\"", part.name, "\" must be from 0 to the ", decimal(timed_.step.seconds),
                                " s of the step, got ", std::to_string(part.seconds)});
            }
            for (std::size_t j = 0; j < i; ++j) {
                if (times[j].name == part.name && times[j].timed == part.timed) {
                    detail::refuse(indexed("times", i),
                                   {"\"", part.name, "\" has two times for the same passes: give one of them"});
                }
            }
            sum += part.seconds;
        }
        if (sum > timed_.step.seconds * (1 + 1e-9)) {
            detail::refuse("times", {"add up to ", decimal(sum), " s, more than the step's ",
                                     decimal(timed_.step.seconds), " s: pass times of one step that do not overlap"});
        }
    }

    void add(const timed_part& part, std::size_t index) {
        component_line line{.name = part.name, .timed = part.timed};
        work sum;
        for (const std::string& pattern : part.components) {
            bool found = false;
            for (worked_component& known : worked_) {
                if (matches(pattern, known.name)) {
                    found = true;
                    mark_timed(known, part.timed, index);
                    line.components.push_back(known.name);
                    add_work(sum, known.name, part.timed);
                }
            }
            if (!found && !pattern.ends_with('*')) {
                refuse_unknown(index, part, pattern);
            }
        }
        if (line.components.empty() && !part.components.empty()) {
            refuse_unknown(index, part, part.components.front());
        }
        const double measured = part.seconds * static_cast<double>(working_);
        if (sum.executed_seconds > measured * (1 + 1e-9) + 1e-9) {
            detail::refuse(indexed("times", index),
                           {"\"", part.name, "\" needs ", decimal(sum.executed_seconds / static_cast<double>(working_)),
                            " s of each GPU at its peak, but took only ", decimal(part.seconds),
                            " s: check the time, the peak, the number of GPUs and the components of this part"});
        }
        seconds_ += part.seconds;
        put(std::move(line), sum, std::min(total_, std::int64_t{std::llround(seconds_ * 1e9)} * working_));
    }

    void add_rest() {
        component_line line{.name = "not timed", .is_timed = false};
        work sum;
        for (const worked_component& known : worked_) {
            const flops before = sum.useful;
            const double executed_before = sum.executed_seconds;
            if (!known.forward_timed) {
                add_work(sum, known.name, counted_passes::forward);
            }
            if (!known.backward_timed) {
                add_work(sum, known.name, counted_passes::backward);
            }
            if (sum.useful != before || sum.executed_seconds != executed_before) {
                line.components.push_back(known.name);
            }
        }
        const double left = static_cast<double>(total_ - time_) / 1e9;
        if (sum.executed_seconds > left + 1e-9 * static_cast<double>(total_) / 1e9) {
            std::string untimed;
            for (const std::string& name : line.components) {
                append_item(untimed, name);
            }
            detail::refuse("times",
                           {"leave ", decimal(left / static_cast<double>(working_)),
                            " s of each GPU for components without a time, but these (", untimed, ") need ",
                            decimal(sum.executed_seconds / static_cast<double>(working_)),
                            " s at their peak: shorten a time, or list these components in the part that ran them"});
        }
        put(std::move(line), sum, total_);
    }

    void mark_timed(worked_component& known, counted_passes timed, std::size_t index) const {
        const bool forward = timed != counted_passes::backward;
        const bool backward = timed != counted_passes::forward;
        if ((forward && known.forward_timed) || (backward && known.backward_timed)) {
            detail::refuse(indexed("times", index),
                           {"\"", known.name, "\" has two times: list the component in one part only"});
        }
        known.forward_timed = known.forward_timed || forward;
        known.backward_timed = known.backward_timed || backward;
    }

    void add_work(work& sum, std::string_view name, counted_passes timed) const {
        const auto each = [name](const std::vector<work_at_peak>& pieces, auto visit) {
            for (const work_at_peak& piece : pieces) {
                for (const component_flops& component : piece.work.components()) {
                    if (component.name.view() == name) {
                        visit(component, piece.peak_tflops);
                    }
                }
            }
        };
        each(timed_.work, [&](const component_flops& component, double peak) {
            const flops useful = detail::work_of(component, view::useful, timed);
            sum.useful += useful;
            sum.own_seconds += to_double(useful) / 1e12 / peak;
        });
        const auto run = [&](const component_flops& component, double peak) {
            sum.executed_seconds += to_double(detail::work_of(component, view::executed, timed)) / 1e12 / peak;
        };
        each(executed(), run);
        if (timed_.masked_tiles) {
            each(*timed_.masked_tiles, run);
        }
    }

    /// Appends a line. Each time of the line, in nanoseconds, is the rounded sum of times up to this line minus the
    /// rounded sum up to the line before. So the times of all lines add up exactly.
    void put(component_line line, const work& sum, std::int64_t until) {
        line.gpu_nanoseconds = until - time_;
        time_ = until;
        useful_ += sum.useful;
        const std::int64_t useful =
            std::llround(detail::divide(to_double(useful_) / 1e12, timed_.step.peak_tflops, "peak_tflops") * 1e9);
        line.useful_nanoseconds = useful - useful_time_;
        useful_time_ = useful;
        executed_ += sum.executed_seconds;
        const std::int64_t executed = std::llround(executed_ * 1e9);
        line.executed_nanoseconds = executed - executed_time_;
        executed_time_ = executed;
        const double taken = static_cast<double>(line.gpu_nanoseconds) / 1e9;
        line.share = points(line.gpu_nanoseconds) / 100;
        line.mfu = taken > 0 ? sum.own_seconds / taken : 0;
        line.kernel_rate = taken > 0 ? sum.executed_seconds / taken : 0;
        lines_.push_back(std::move(line));
    }

    [[noreturn]] void refuse_unknown(std::size_t index, const timed_part& part, std::string_view pattern) const {
        detail::refuse(indexed("times", index), {"\"", part.name, "\" lists the component \"", pattern,
                                                 "\", but the components of the work are: ", names()});
    }
    [[nodiscard]] std::string names() const {
        std::string known;
        for (const worked_component& component : worked_) {
            append_item(known, component.name);
        }
        return known;
    }
    static std::string decimal(double value) { return detail::fixed_decimal(value, 6); }

    waterfall whole_;
    time_breakdown timed_;
    std::vector<worked_component> worked_;
    std::vector<component_line> lines_;
    std::int64_t total_ = 0;
    std::int64_t working_ = 0;
    double seconds_ = 0;
    double executed_ = 0;
    flops useful_{};
    std::int64_t time_ = 0;
    std::int64_t useful_time_ = 0;
    std::int64_t executed_time_ = 0;
};

}  // namespace floptally

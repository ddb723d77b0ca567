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
/// Measured times beside FLOPs: what each component made of its time, and the points of the MFU that it costs.

namespace floptally {

/// A part of a step's time that was measured: by spans of the caller's, hooks of modules, or a trace.
struct timed_part {
    std::string name{};
    /// Whose FLOPs it ran, each by its name, which the work must have, or by one that ends in `*`; one of them at least
    /// must be there. An empty list is time that is no counted work.
    std::vector<std::string> components{};
    counted_passes timed = counted_passes::train;  ///< which passes of them the time is of
    double seconds = 0;                            ///< of each working GPU, the mean of all of them
};

/// A line of a step's time by component. Nanoseconds are over all GPUs.
struct component_line {
    std::string name{};
    std::vector<std::string> components{};
    counted_passes timed = counted_passes::train;
    bool is_timed = true;                   ///< else all that nobody timed, waits and idle GPUs among it
    std::int64_t gpu_nanoseconds = 0;       ///< its time
    std::int64_t useful_nanoseconds = 0;    ///< its useful FLOPs at the stated peak: its share of the MFU
    std::int64_t executed_nanoseconds = 0;  ///< all that it executes, at the peaks of its precisions
    double share = 0;                       ///< of the step's time
    double mfu = 0;                         ///< its own: useful FLOPs at the peaks of its precisions ÷ its time
    double kernel_rate = 0;                 ///< the same of all that it executes

    /// The time that it takes from the MFU: `besides` and `below` together.
    [[nodiscard]] std::int64_t lost() const { return gpu_nanoseconds - useful_nanoseconds; }
    /// The time of executed work that is not useful (padding, recompute, …), and the difference of the peaks; below 0
    /// where its own is higher.
    [[nodiscard]] std::int64_t besides() const { return executed_nanoseconds - useful_nanoseconds; }
    /// The time that kernels take beyond their peak, and waits.
    [[nodiscard]] std::int64_t below() const { return gpu_nanoseconds - executed_nanoseconds; }
};

/// A step's time by component: what each made of its own time, and how many points of the MFU it costs.
///
/// With T the step's time over all GPUs, t that of a line and u its useful FLOPs ÷ the stated peak, the line costs
/// (t − u) ÷ T. The lines are all of T and their u the whole useful work, so that the points of all of them are
/// 1 − MFU: exactly, since each line's integers are differences of rounded sums.
class component_waterfall {
  public:
    component_waterfall(const step_account& account, std::span<const timed_part> times)
        : whole_(account), account_(account) {
        const std::uint64_t idle = account.idle_gpus.value_or(0);
        working_ = static_cast<std::int64_t>(account.step.gpus - idle);
        for (const waterfall_line& line : whole_.lines()) {
            total_ += line.gpu_nanoseconds;
        }
        std::vector<timed_part> all(times.begin(), times.end());
        for (const time_apart& time : account.apart) {
            if (time.seconds != 0) {
                all.push_back({.name = time.name, .seconds = time.seconds});
            }
        }
        list_components();
        require(all);
        for (std::size_t i = 0; i < all.size(); ++i) {
            add(all[i], i);
        }
        add_rest();
    }

    /// The lines: times in the order given, then those apart of the account; the last is all that nobody timed.
    [[nodiscard]] std::span<const component_line> lines() const { return lines_; }
    /// The waterfall of the whole step, from the peak to its MFU.
    [[nodiscard]] const waterfall& whole() const { return whole_; }
    /// The nanoseconds of the step over all GPUs, which the lines add up to.
    [[nodiscard]] std::int64_t gpu_nanoseconds() const { return total_; }
    /// Nanoseconds over all GPUs as points of the MFU: 41.2 is 41.2 % of the peak.
    [[nodiscard]] double points(std::int64_t gpu_nanoseconds) const {
        return 100 * static_cast<double>(gpu_nanoseconds) / static_cast<double>(total_);
    }

  private:
    /// A component of the work, and which of its passes have a time.
    struct worked_component {
        std::string name;
        bool forward_timed = false;
        bool backward_timed = false;
    };
    struct work {
        flops useful{};
        double own_seconds = 0;       ///< useful, at the peaks of its precisions
        double executed_seconds = 0;  ///< likewise
    };

    [[nodiscard]] const std::vector<work_at_peak>& executed() const {
        return account_.repeated ? *account_.repeated : account_.work;
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
        put(account_.work);
        put(executed());
        if (account_.masked_tiles) {
            put(*account_.masked_tiles);
        }
    }

    void require(const std::vector<timed_part>& times) const {
        double sum = 0;
        for (std::size_t i = 0; i < times.size(); ++i) {
            const timed_part& part = times[i];
            if (!(part.seconds >= 0) || !(part.seconds <= account_.step.seconds * (1 + 1e-9))) {
                detail::refuse(indexed("times", i),
                               {"\"", part.name, "\" must be from 0 to the ", decimal(account_.step.seconds),
                                " s of the step, got ", std::to_string(part.seconds)});
            }
            for (std::size_t j = 0; j < i; ++j) {
                if (times[j].name == part.name && times[j].timed == part.timed) {
                    detail::refuse(indexed("times", i), {"\"", part.name, "\" has two times"});
                }
            }
            sum += part.seconds;
        }
        if (sum > account_.step.seconds * (1 + 1e-9)) {
            detail::refuse("times", {"are ", decimal(sum), " s together, and the step ", decimal(account_.step.seconds),
                                     ": some of them overlap, or are of another step"});
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
                    take(known, part.timed, index);
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
                            " s of each GPU at its peak, and took ", decimal(part.seconds),
                            " s: a time, a peak or a number of GPUs is wrong, or its components ran in another part"});
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
                           {"leave ", decimal(left / static_cast<double>(working_)), " s of each GPU, and ", untimed,
                            " need ", decimal(sum.executed_seconds / static_cast<double>(working_)),
                            " s at their peak: a time is too long, or they ran in a part that does not say so"});
        }
        put(std::move(line), sum, total_);
    }

    void take(worked_component& known, counted_passes timed, std::size_t index) const {
        const bool forward = timed != counted_passes::backward;
        const bool backward = timed != counted_passes::forward;
        if ((forward && known.forward_timed) || (backward && known.backward_timed)) {
            detail::refuse(indexed("times", index), {"\"", known.name, "\" has two times"});
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
        each(account_.work, [&](const component_flops& component, double peak) {
            const flops useful = detail::work_of(component, view::useful, timed);
            sum.useful += useful;
            sum.own_seconds += to_double(useful) / 1e12 / peak;
        });
        const auto run = [&](const component_flops& component, double peak) {
            sum.executed_seconds += to_double(detail::work_of(component, view::executed, timed)) / 1e12 / peak;
        };
        each(executed(), run);
        if (account_.masked_tiles) {
            each(*account_.masked_tiles, run);
        }
    }

    /// Each integer is the difference of two rounded sums, up to the line and with it.
    void put(component_line line, const work& sum, std::int64_t until) {
        line.gpu_nanoseconds = until - time_;
        time_ = until;
        useful_ += sum.useful;
        const std::int64_t useful =
            std::llround(detail::divide(to_double(useful_) / 1e12, account_.step.peak_tflops, "peak_tflops") * 1e9);
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
        detail::refuse(indexed("times", index),
                       {"\"", part.name, "\" is of \"", pattern, "\", and the work has none: ", names()});
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
    step_account account_;
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

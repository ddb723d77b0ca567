// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/run_account.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/version.hpp>

/// @file
/// The metrics of a meter for a logger: a list of names and numbers, which docs/meter.md explains.

namespace floptally {

/// One number for a logger, with the convention, the version and the GPUs that make it comparable.
struct metric {
    std::string name;
    double value = 0;
    std::string_view convention{};  ///< as long as the meter lives
    std::string_view version{};
    std::string_view counted{};  ///< the GPUs that it is of (`meter::counted`); as long as the meter lives
};

namespace detail {

[[nodiscard]] inline std::array<std::pair<std::string_view, double>, 6> named(const duration_percentiles& done) {
    return {{{"p10", done.p10},
             {"p25", done.p25},
             {"p50", done.p50},
             {"p75", done.p75},
             {"p90", done.p90},
             {"p99", done.p99}}};
}

/// The mixed-precision rate of totals, which must be of the precisions' own model.
[[nodiscard]] inline mixed_precision_rate mixed_rate(const mixed_precision& precisions, const step_totals& done) {
    if (precisions.whole().total(done.batch) != done.useful) {
        throw error("flops", "the precisions are of a model with " + to_string(precisions.whole().total(done.batch)) +
                                 " FLOPs, and the steps did " + to_string(done.useful));
    }
    return precisions.rate(done.batch, done.gpu_seconds);
}

/// These steps with the FLOPs of another counter of their model.
[[nodiscard]] inline step_totals counted_by(const flop_counter& other, step_totals done) {
    done.useful = other.total(done.batch, view::useful);
    done.padded = other.total(done.batch, view::padded);
    done.executed = other.total(done.batch, view::executed);
    return done;
}

class metric_list {
  public:
    metric_list(const meter& steps, std::string_view prefix) : steps_(steps), prefix_(prefix) {}

    void add(std::string_view name, double value) { add(name, value, steps_.model().counted_as().name); }

    void add(const step_totals& done) {
        const step_rates rate = rates(done);
        add("mfu_pct", 100 * rate.mfu);
        add("mfu_padded_pct", 100 * rate.padded_mfu);
        add("hfu_pct", 100 * rate.hfu);
        add("tflops_per_gpu", rate.tflops_per_gpu);
        add("tflops_padded_per_gpu", rate.padded_tflops_per_gpu);
        add("tflops_executed_per_gpu", rate.executed_tflops_per_gpu);
        add("tokens_per_second", rate.tokens_per_second);
        add("tokens_per_second_per_gpu", rate.tokens_per_second_per_gpu);
        add("samples_per_second", rate.samples_per_second);
        add("useful_fraction", rate.useful_fraction);
        add("useful_flops_fraction", rate.useful_flops_fraction);
        add("step_seconds", rate.step_seconds);
        if (steps_.precisions()) {
            const mixed_precision_rate mixed = mixed_rate(*steps_.precisions(), done);
            add("mfu_mixed_pct", 100 * mixed.mfu);
            add("mixed_peak_tflops", mixed.peak_tflops);
        }
        if (steps_.beside()) {
            add_beside(rates(counted_by(*steps_.beside(), done)), steps_.beside()->counted_as().name);
        }
    }

    [[nodiscard]] std::vector<metric> take() { return std::move(metrics_); }

  private:
    void add(std::string_view name, double value, std::string_view convention) {
        metrics_.push_back({std::string(prefix_).append(name), value, convention, version, steps_.counted()});
    }

    void add_beside(const step_rates& rate, std::string_view convention) {
        const auto put = [&](std::string_view what, std::string_view end, double value) {
            add(text_of({what, convention, end}), value, convention);
        };
        put("mfu_", "_pct", 100 * rate.mfu);
        put("mfu_", "_padded_pct", 100 * rate.padded_mfu);
        put("tflops_", "_per_gpu", rate.tflops_per_gpu);
        put("tflops_", "_padded_per_gpu", rate.padded_tflops_per_gpu);
    }

    const meter& steps_;
    std::string_view prefix_;
    std::vector<metric> metrics_;
};

}  // namespace detail

/// Rates of a step: "train/mfu_pct", "train/mfu_padded_pct", "train/hfu_pct", "train/tflops_per_gpu", …; by the
/// convention that the meter shows beside, "train/mfu_megatron_pct", "train/tflops_megatron_per_gpu" and both
/// "_padded".
[[nodiscard]] inline std::vector<metric> metrics(const meter& steps, const step_totals& done,
                                                 std::string_view prefix = "train/") {
    detail::metric_list list(steps, prefix);
    list.add(done);
    return list.take();
}

/// Rates of an interval or a run, and the spread of its step times: "train/step_seconds_p50", "…_p95", "…_min",
/// "…_max". Of a run whose wall clock is kept, "train/wall_seconds", "train/goodput_pct" and "train/mfu_wall_pct".
[[nodiscard]] inline std::vector<metric> metrics(const meter& steps, const step_series& done,
                                                 std::string_view prefix = "train/") {
    detail::metric_list list(steps, prefix);
    list.add(done.totals);
    list.add("step_seconds_p50", done.step_seconds.percentile(50));
    list.add("step_seconds_p95", done.step_seconds.percentile(95));
    list.add("step_seconds_min", done.step_seconds.min());
    list.add("step_seconds_max", done.step_seconds.max());
    list.add("steps", static_cast<double>(done.totals.steps));
    if (&done == &steps.run() && steps.account().has_begun()) {
        const goodput made = goodput_of(done.totals, steps.account());
        list.add("wall_seconds", made.wall_seconds);
        list.add("goodput_pct", 100 * made.step_share);
        list.add("mfu_wall_pct", 100 * made.mfu);
    }
    return list.take();
}

/// Percentiles of step times, from `steps.step_percentiles()`: "train/steady_step_seconds_p10", "…_p25", "…_p50",
/// "…_p75", "…_p90", "…_p99".
[[nodiscard]] inline std::vector<metric> metrics(const meter& steps, const duration_percentiles& done,
                                                 std::string_view prefix = "train/") {
    detail::metric_list list(steps, prefix);
    for (const auto& [name, seconds] : detail::named(done)) {
        list.add(std::string("steady_step_seconds_").append(name), seconds);
    }
    return list.take();
}

/// The percentiles as one line: "step seconds p10 0.4120, p25 0.4151, …, p99 0.5019 (90 steps, the first 10 left out)".
[[nodiscard]] inline std::string to_string(const duration_percentiles& done) {
    std::string text;
    for (const auto& [name, seconds] : detail::named(done)) {
        append_item(text, std::string(name).append(" ").append(detail::fixed_decimal(seconds, 4)));
    }
    return "step seconds " + text + " (" + std::to_string(done.steps) + " steps, the first " +
           std::to_string(done.left_out) + " left out)";
}

}  // namespace floptally

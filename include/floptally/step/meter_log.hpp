// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/version.hpp>

/// @file
/// The metrics of a meter for a logger: a list of names and numbers. docs/meter.md explains each.

namespace floptally::inline v0_3 {

/// One number for a logger, with the convention, the version and the GPUs that make it comparable. The texts are valid
/// as long as the meter lives.
struct metric {
    std::string name;
    double value = 0;
    std::string_view convention{};
    std::string_view version{};
    std::string_view counted{};  ///< the GPUs that the number covers (`meter::counted`)
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

/// Returns the mixed-precision MFU of totals. Throws `error` if the totals and `precisions` are of different models.
[[nodiscard]] inline mixed_precision_rate mixed_rate(const mixed_precision& precisions, const step_totals& done) {
    if (precisions.whole().total_flops(done.batch) != done.useful) {
        throw error("flops", "the precisions belong to a model with " +
                                 to_string(precisions.whole().total_flops(done.batch)) +
                                 " FLOPs, but the steps executed " + to_string(done.useful) +
                                 ": make them from the meter's model and plan");
    }
    return precisions.rate(done.batch, done.gpu_seconds);
}

/// Returns the totals `done` with their FLOPs counted again by `other`, a counter of the same model.
[[nodiscard]] inline step_totals counted_by(const flop_counter& other, step_totals done) {
    done.useful = other.total_flops(done.batch, view::useful);
    done.padded = other.total_flops(done.batch, view::padded);
    done.executed = other.total_flops(done.batch, view::executed);
    return done;
}

class metric_list {
  public:
    metric_list(const meter& steps, std::string_view prefix) : steps_(steps), prefix_(prefix) {}

    void add(std::string_view name, double value) { add(name, value, steps_.model().counted_as().name); }

    /// Adds the rates of `done` as metrics. For a run that was counted with several plans, leaves out the
    /// mixed-precision MFU and the second convention: both count the run's tally again with one plan.
    void add(const step_totals& done) {
        const bool has_tally = &done != &steps_.run().totals || !steps_.run_is_recounted();
        const step_rates rate = rates(done);
        if (rate.has_peak) {
            add("mfu_pct", 100 * rate.mfu);
            add("mfu_padded_pct", 100 * rate.padded_mfu);
            add("hfu_pct", 100 * rate.hfu);
        }
        add("tflops_per_gpu", rate.tflops_per_gpu);
        add("tflops_padded_per_gpu", rate.padded_tflops_per_gpu);
        add("tflops_executed_per_gpu", rate.executed_tflops_per_gpu);
        add("tokens_per_second", rate.tokens_per_second);
        add("tokens_per_second_per_gpu", rate.tokens_per_second_per_gpu);
        add("samples_per_second", rate.samples_per_second);
        add("useful_fraction", rate.useful_fraction);
        add("useful_flops_fraction", rate.useful_flops_fraction);
        add("step_seconds", rate.step_seconds);
        if (steps_.precisions() && has_tally && rate.has_peak) {
            const mixed_precision_rate mixed = mixed_rate(*steps_.precisions(), done);
            add("mfu_mixed_pct", 100 * mixed.mfu);
            add("mixed_peak_tflops", mixed.peak_tflops);
        }
        if (steps_.beside() && has_tally) {
            add_beside(rates(counted_by(*steps_.beside(), done)), steps_.beside()->counted_as().name);
        }
    }

    /// Adds metrics that say how much of the run is done and, if a budget is set, how much is left. The time that is
    /// left is estimated from the speed in the totals `rate`.
    void add_run(const step_totals& rate) {
        const step_totals& run = steps_.run().totals;
        const auto in = run.batch.masks().main_modality();
        const std::uint64_t tokens = run.batch.get(view::useful, accumulator::tokens, in);
        add("total_steps", static_cast<double>(run.steps));
        add("total_tokens", static_cast<double>(tokens));
        add("total_flops", to_double(run.useful));
        std::optional<double> seconds;
        const auto left = [&](std::string_view name, std::uint64_t budget, std::uint64_t done, double per_second) {
            if (budget == 0) {
                return;
            }
            const auto rest = static_cast<double>(budget > done ? budget - done : 0);
            add(name, rest);
            if (rest == 0 || per_second > 0) {
                const double needed = rest == 0 ? 0 : rest / per_second;
                seconds = seconds && *seconds < needed ? *seconds : needed;
            }
        };
        const auto amount = static_cast<double>(rate.batch.get(view::useful, accumulator::tokens, in));
        left("steps_left", steps_.budget().steps, run.steps, static_cast<double>(rate.steps) / rate.seconds);
        left("tokens_left", steps_.budget().tokens, tokens, amount / rate.seconds);
        if (seconds) {
            const double share = steps_.goodput().has_begun() ? goodput_of(run, steps_.goodput()).step_share : 1;
            add("seconds_left", *seconds / share);
            add("ends_at", steps_.goodput().time() + *seconds / share);
        }
    }

    /// Adds metrics for the spread of the ranks' times and for the rank that is most often the slowest.
    void add_ranks(const rank_spread& ranks) {
        if (ranks.steps == 0) {
            return;
        }
        const auto steps = static_cast<double>(ranks.steps);
        const rank_spread::slow_rank slowest = ranks.slowest_rank();
        add("rank_seconds_max", ranks.slowest_seconds / steps);
        add("rank_seconds_min", ranks.fastest_seconds / steps);
        add("rank_spread_pct", ranks.slowest_seconds > 0
                                   ? 100 * (ranks.slowest_seconds - ranks.fastest_seconds) / ranks.slowest_seconds
                                   : 0);
        add("slowest_rank", static_cast<double>(slowest.rank));
        add("slowest_rank_steps_pct", 100 * static_cast<double>(slowest.steps) / steps);
    }

    [[nodiscard]] std::vector<metric> take() { return std::move(metrics_); }

  private:
    void add(std::string_view name, double value, std::string_view convention) {
        metrics_.push_back({std::string(prefix_).append(name), value, convention, version, steps_.counted()});
    }

    void add_beside(const step_rates& rate, std::string_view convention) {
        const auto put = [&](std::string_view begin, std::string_view end, double value) {
            add(text_of({begin, convention, end}), value, convention);
        };
        if (rate.has_peak) {
            put("mfu_", "_pct", 100 * rate.mfu);
            put("mfu_", "_padded_pct", 100 * rate.padded_mfu);
        }
        put("tflops_", "_per_gpu", rate.tflops_per_gpu);
        put("tflops_", "_padded_per_gpu", rate.padded_tflops_per_gpu);
    }

    const meter& steps_;
    std::string_view prefix_;
    std::vector<metric> metrics_;
};

}  // namespace detail

/// Returns why the rates of a step, an interval or a run cannot be right (`utilization::doubt`). Returns an empty text
/// if the rates can be right, or if no step has ended.
[[nodiscard]] inline std::string doubt_of(const meter& steps, const step_totals& done) {
    if (done.steps == 0 || !done.has_peak()) {
        return {};
    }
    const step_rates rate = rates(done);
    return doubt_of(rate.hfu > 1 ? rate.hfu : rate.mfu,
                    steps.model().is_forward_only() ? counted_passes::forward : counted_passes::train);
}

/// Returns the rates of a step: "train/mfu_pct", "train/mfu_padded_pct", "train/hfu_pct", "train/tflops_per_gpu", … A
/// second convention (`meter::shows_beside`) adds "train/mfu_megatron_pct" and "train/tflops_megatron_per_gpu", each
/// also with "_padded".
[[nodiscard]] inline std::vector<metric> metrics(const meter& steps, const step_totals& done,
                                                 std::string_view prefix = "train/") {
    detail::metric_list list(steps, prefix);
    list.add(done);
    return list.take();
}

/// Returns the rates of an interval or a run, and the spread of its step times: "train/step_seconds_p50", "…_p95",
/// "…_min", "…_max". Also returns the totals of the run so far: "train/total_flops", "…_tokens", "…_steps". A budget
/// (`meter::set_budget`) adds "train/tokens_left" or "train/steps_left", "train/seconds_left", and "train/ends_at" in
/// seconds since 1970. A reduction adds "train/rank_seconds_max", "…_min", "train/rank_spread_pct",
/// "train/slowest_rank" and "train/slowest_rank_steps_pct". If the peak is unknown, there is no MFU. A run with a wall
/// clock (`meter::goodput`) adds "train/wall_seconds", "train/goodput_pct" and "train/mfu_wall_pct". Steps that could
/// not be counted (`on_error::leave_out`) add "train/steps_left_out". An interval without a counted step has no other
/// metric. Throws `error` before the first step of the run.
[[nodiscard]] inline std::vector<metric> metrics(const meter& steps, const step_series& done,
                                                 std::string_view prefix = "train/") {
    detail::metric_list list(steps, prefix);
    const bool is_run = &done == &steps.run();
    const std::uint64_t left_out = is_run ? steps.left_out().run : steps.left_out().interval;
    if (left_out != 0) {
        list.add("steps_left_out", static_cast<double>(left_out));
    }
    if (done.totals.steps == 0 && (left_out != 0 || steps.run().totals.steps != 0)) {
        return list.take();
    }
    list.add(done.totals);
    list.add("step_seconds_p50", done.step_seconds.percentile(50));
    list.add("step_seconds_p95", done.step_seconds.percentile(95));
    list.add("step_seconds_min", done.step_seconds.min());
    list.add("step_seconds_max", done.step_seconds.max());
    list.add("steps", static_cast<double>(done.totals.steps));
    list.add_run(done.totals);
    list.add_ranks(is_run ? steps.run_ranks() : steps.interval_ranks());
    if (is_run && steps.goodput().has_begun()) {
        const goodput whole = goodput_of(done.totals, steps.goodput());
        list.add("wall_seconds", whole.wall_seconds);
        list.add("goodput_pct", 100 * whole.step_share);
        if (done.totals.has_peak()) {
            list.add("mfu_wall_pct", 100 * whole.mfu);
        }
    }
    return list.take();
}

/// Returns the percentiles of step times, from `steps.step_percentiles()`: "train/steady_step_seconds_p10", "…_p25",
/// "…_p50", "…_p75", "…_p90", "…_p99".
[[nodiscard]] inline std::vector<metric> metrics(const meter& steps, const duration_percentiles& done,
                                                 std::string_view prefix = "train/") {
    detail::metric_list list(steps, prefix);
    for (const auto& [name, seconds] : detail::named(done)) {
        list.add(std::string("steady_step_seconds_").append(name), seconds);
    }
    return list.take();
}

/// Returns the percentiles as one line: "step seconds p10 0.4120, p25 0.4151, …, p99 0.5019 (90 steps, the first 10
/// left out)".
[[nodiscard]] inline std::string to_string(const duration_percentiles& done) {
    std::string text;
    for (const auto& [name, seconds] : detail::named(done)) {
        append_item(text, std::string(name).append(" ").append(detail::fixed_decimal(seconds, 4)));
    }
    return "step seconds " + text + " (" + std::to_string(done.steps) + " steps, the first " +
           std::to_string(done.left_out) + " left out)";
}

}  // namespace floptally

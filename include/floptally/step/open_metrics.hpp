// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Writes the counters of a meter for Prometheus, in the text format of OpenMetrics.

namespace floptally::inline v0_3 {

namespace detail {

/// Builds a text in the format of OpenMetrics 1.0, which Prometheus reads.
class open_metrics_text {
  public:
    using label = std::pair<std::string_view, std::string_view>;

    /// Starts a text. All samples get the label run="…" with the value `run`; no label if `run` is empty.
    explicit open_metrics_text(std::string_view run) : run_(run) {}

    /// Starts a metric family with its help text. Add the samples of the family next.
    void family(std::string_view name, std::string_view type, std::string_view unit, std::string_view help) {
        name_ = std::string("floptally_").append(name);
        suffix_ = type == "counter" ? "_total" : type == "info" ? "_info" : "";
        text_.append("# TYPE ").append(name_).append(" ").append(type).append("\n");
        if (!unit.empty()) {
            text_.append("# UNIT ").append(name_).append(" ").append(unit).append("\n");
        }
        text_.append("# HELP ").append(name_).append(" ").append(help).append("\n");
    }

    void sample(std::string_view value, std::initializer_list<label> labels = {}) {
        text_.append(name_).append(suffix_);
        std::string_view before = "{";
        const auto put = [&](std::string_view name, std::string_view content) {
            text_.append(before).append(name).append("=\"");
            for (const char letter : content) {
                text_.append(letter == '\n' ? "\\n" : letter == '"' ? "\\\"" : letter == '\\' ? "\\\\" : "");
                text_.append(letter == '\n' || letter == '"' || letter == '\\' ? 0 : 1, letter);
            }
            text_.append("\"");
            before = ",";
        };
        for (const auto& [name, content] : labels) {
            put(name, content);
        }
        if (!run_.empty()) {
            put("run", run_);
        }
        text_.append(before == "{" ? " " : "} ").append(value).append("\n");
    }
    void sample(double value, std::initializer_list<label> labels = {}) {
        std::array<char, 32> digits{};  // the shortest text that reads back as the same number
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
        sample(std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())), labels);
    }

    [[nodiscard]] std::string take() { return std::move(text_.append("# EOF\n")); }

  private:
    std::string_view run_;
    std::string name_;
    std::string_view suffix_;
    std::string text_;
};

}  // namespace detail

/// Returns the totals of a meter's run in the text format of OpenMetrics, for a scrape by Prometheus or a textfile of
/// its node exporter. The totals are counters, so that MFU over any time range is a ratio of sums, not a mean of
/// ratios:
///
///     sum(rate(floptally_flops_total{view="useful"}[5m])) / rate(floptally_peak_flops_total[5m])
///
/// Before the first step the counters are 0. Pass `run` to give all samples a label that distinguishes the runs of one
/// job. Prometheus itself sets the label `job`.
[[nodiscard]] inline std::string to_open_metrics(const meter& steps, std::string_view run = {}) {
    detail::open_metrics_text text(run);
    const step_totals& done = steps.run().totals;
    const metered_hardware& hardware = steps.hardware();
    text.family("meter", "info", "", "How FLOPs were counted, and what they are measured against.");
    text.sample("1", {{"version", version},
                      {"convention", steps.model().counted_as().name},
                      {"counted", steps.counted()},
                      {"accelerator", hardware.accelerator},
                      {"precision", hardware.precision}});
    text.family("gpus", "gauge", "", "GPUs that work on the sequences counted.");
    text.sample(std::to_string(hardware.gpus));
    if (!hardware.peak_is_unknown) {
        text.family("peak_tflops", "gauge", "", "Dense peak of one GPU, in 10^12 FLOP/s.");
        text.sample(hardware.peak_tflops);
    }
    text.family("steps", "counter", "", "Steps that ended.");
    text.sample(std::to_string(done.steps));
    text.family("step_seconds", "counter", "seconds", "Their time.");
    text.sample(done.seconds);
    text.family("gpu_seconds", "counter", "seconds", "Their time on all GPUs together.");
    text.sample(done.gpu_seconds);
    if (!hardware.peak_is_unknown && done.has_peak()) {
        text.family("peak_flops", "counter", "", "FLOPs that all GPUs could have computed in it, at their peak.");
        text.sample(done.peak_tflop * 1e12);
    }

    if (steps.goodput().has_begun()) {
        text.family("wall_seconds", "counter", "seconds", "Wall clock of the run, its restarts among it.");
        text.sample(steps.goodput().wall_seconds());
        text.family("spent_seconds", "counter", "seconds", "Wall clock that was spent on something besides steps.");
        for (const spent_time& each : steps.goodput().spent()) {
            text.sample(each.seconds, {{"on", each.name}});
        }
    }
    constexpr std::pair<view, std::string_view> views[] = {
        {view::useful, "useful"}, {view::padded, "padded"}, {view::executed, "executed"}};
    text.family("flops", "counter", "", "Floating-point operations, by component and view.");
    if (steps.run_is_recounted()) {  // the run's tally does not show which step was counted with which plan
        for (const auto& [seen, name] : views) {
            text.sample(to_string(done.total(seen)), {{"component", "all"}, {"view", name}});
        }
    } else {
        const breakdown work = steps.model().evaluate(done.steps != 0 ? done.batch : tally{steps.model().masks()});
        for (const component_flops& component : work.components()) {
            for (const auto& [seen, name] : views) {
                text.sample(to_string(component.total(seen)), {{"component", component.name.view()}, {"view", name}});
            }
        }
    }
    if (steps.beside() && !steps.run_is_recounted()) {
        text.family("beside_flops", "counter", "", "The same steps by the convention that is shown beside, by view.");
        const std::string_view by = steps.beside()->counted_as().name;
        for (const auto& [seen, name] : views) {
            const flops total = done.steps == 0 ? flops{} : steps.beside()->total_flops(done.batch, seen);
            text.sample(to_string(total), {{"convention", by}, {"view", name}});
        }
    }
    const auto amounts = [&](std::string_view name, accumulator what, std::string_view help) {
        text.family(name, "counter", "", help);
        for (const auto& [seen, seen_name] : views) {
            if (seen != view::executed) {
                const modality in = done.batch.masks().main_modality();
                text.sample(std::to_string(done.steps == 0 ? 0 : done.batch.get(seen, what, in)),
                            {{"view", seen_name}});
            }
        }
    };
    amounts("tokens", accumulator::tokens, "Tokens: real ones, and all slots that kernels processed.");
    amounts("sequences", accumulator::count, "Sequences: those with a real token, and all.");
    return text.take();
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Computes the MFU of an RL step that consists of passes (rollout, log-probabilities, update), each with its own
/// model, plan, batch, time and GPUs.

namespace floptally::inline v0_3 {

/// The GPU time of a pass or of a whole step. It may be the sum over several steps.
struct gpu_time {
    double seconds = 0;
    double gpu_seconds = 0;
    double peak_tflop = 0;  ///< Σ seconds x GPUs x dense peak of one GPU, in 10¹² FLOP; 0 if the peak is unknown

    gpu_time() = default;
    /// Makes the GPU time from the seconds, GPUs and peak of a measurement.
    explicit gpu_time(const measurement& step)
        : seconds(step.seconds),
          gpu_seconds(detail::gpu_seconds_of(step)),
          peak_tflop(gpu_seconds * step.peak_tflops) {}

    gpu_time& operator+=(const gpu_time& other) {
        seconds += other.seconds;
        gpu_seconds += other.gpu_seconds;
        peak_tflop += other.peak_tflop;
        return *this;
    }
};

/// One pass of a step, or the sum of the same pass over several steps.
struct step_pass {
    component_name name;  ///< name of the pass: "rollout", "old_log_prob", "ref", "values", "update"
    breakdown work{};     ///< FLOPs of the pass, counted with its own model and plan
    gpu_time time{};      ///< GPU time of this pass only
    /// True if the learner runs the pass. False if an inference engine or the server of another model runs it.
    bool learns = true;
    /// FLOPs that were saved because requests or rollouts share a prefix that was computed once.
    flops shared{};
    /// Bytes of weights and KV cache that were read, for the memory bandwidth utilization (MBU); 0: unknown.
    uint128 bytes_read = 0;
    /// Bytes that the memory could have moved in the time of the pass: Σ seconds x GPUs x bandwidth.
    double memory_bytes = 0;

    /// Adds the same pass of another step, whose batch may differ.
    step_pass& operator+=(const step_pass& other) {
        work += other.work;
        shared += other.shared;
        time += other.time;
        bytes_read += other.bytes_read;
        memory_bytes += other.memory_bytes;
        return *this;
    }
};

/// The rates of a pass, of all passes of the learner, or of a whole step, over the time that they took.
struct pass_rate {
    std::string name;
    flops useful{};
    flops padded{};
    flops executed{};
    flops shared{};
    gpu_time time{};
    /// (Time that the useful FLOPs need at the peak of each pass) ÷ (time of the passes).
    double mfu = 0;
    double padded_mfu = 0;
    double hfu = 0;
    /// MFU over the wall clock of the step on the GPUs of this pass (`mfu` is over the time of the pass alone). The two
    /// differ for an asynchronous learner.
    double wall_mfu = 0;
    std::optional<double> mbu{};
    /// Contribution to the MFU of the whole step: (time that the useful FLOPs of the pass need at its peak) ÷ (time of
    /// the whole step).
    double points = 0;
    double lost = 0;  ///< (time of the pass − time that its useful FLOPs need at its peak) ÷ time of the whole step
};

/// The rates of a step that consists of passes. All shares are GPU-seconds divided by those of the whole step, so that
/// passes may have different peaks. The `points` of all passes add up to the MFU of the whole step. All `points`, all
/// `lost` and `no_pass` add up to 1.
struct pass_rates {
    /// False if the peak of a pass or of the step is unknown. Then MFU, HFU, `points` and `lost` are 0 and have no
    /// meaning.
    bool has_peak = true;
    std::vector<pass_rate> passes{};
    /// Rates of all passes that train the model (`learns`) over the sum of their times. Empty if no pass trains it.
    std::optional<pass_rate> learner{};
    pass_rate whole{};   ///< rates of all passes over the wall clock of all GPUs, including idle ones
    double no_pass = 0;  ///< share of the GPU time of the whole step in which no pass ran
};

namespace detail {

inline void add_work(const step_pass& pass, pass_rate& sum) {
    sum.useful += pass.work.total(view::useful);
    sum.padded += pass.work.total(view::padded);
    sum.executed += pass.work.total(view::executed);
    sum.shared += pass.shared;
}

/// The GPU-seconds that the FLOPs of passes need, each pass at its own peak.
struct seconds_at_peak {
    double useful = 0;
    double padded = 0;
    double executed = 0;

    /// Adds the GPU-seconds that the FLOPs of one pass need at the peak of the pass.
    void add(const pass_rate& pass) {
        const double peak = pass.time.peak_tflop / pass.time.gpu_seconds;
        const auto needed = [peak](flops work) { return divide(to_double(work) / 1e12, peak, "peak_tflops"); };
        useful += needed(pass.useful);
        padded += needed(pass.padded);
        executed += needed(pass.executed);
    }

    /// Sets the rates of one pass or of several passes together. `whole` is the GPU time of the whole step.
    void set(pass_rate& rate, const gpu_time& whole) const {
        rate.mfu = divide(useful, rate.time.gpu_seconds, "seconds");
        rate.padded_mfu = divide(padded, rate.time.gpu_seconds, "seconds");
        rate.hfu = divide(executed, rate.time.gpu_seconds, "seconds");
        rate.wall_mfu = rate.mfu * (rate.time.seconds / whole.seconds);
        rate.points = divide(useful, whole.gpu_seconds, "seconds");
        rate.lost = rate.time.gpu_seconds / whole.gpu_seconds - rate.points;
    }
};

}  // namespace detail

/// Returns the rates of the passes of a step. `wall` is the wall clock of the step on all GPUs of the job. Passes run
/// one after the other or on different GPUs. Throws `error` if the passes took more GPU-seconds than `wall` has.
[[nodiscard]] inline pass_rates rates_of(std::span<const step_pass> passes, const gpu_time& wall) {
    detail::require_finite_positive(wall.seconds, "seconds");
    detail::require_finite_positive(wall.gpu_seconds, "gpus");
    if (passes.empty()) {
        throw error("passes", "must have at least one pass, got none");
    }
    pass_rates rates_of_step;
    if (wall.peak_tflop != 0) {
        detail::require_finite_positive(wall.peak_tflop, "peak_tflops");
    }
    rates_of_step.has_peak = wall.peak_tflop != 0;
    for (const step_pass& pass : passes) {
        rates_of_step.has_peak = rates_of_step.has_peak && pass.time.peak_tflop != 0;
    }
    pass_rate learner{.name = "learner"};
    detail::seconds_at_peak of_learner;
    detail::seconds_at_peak of_all;
    rates_of_step.whole.name = "whole";
    rates_of_step.whole.time = wall;
    gpu_time all;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const step_pass& pass = passes[i];
        for (std::size_t other = 0; other < i; ++other) {
            if (passes[other].name == pass.name) {
                detail::refuse(indexed("passes", i),
                               {"\"", pass.name.view(), "\" is the name of two passes: give each pass its own name"});
            }
        }
        pass_rate& own =
            rates_of_step.passes.emplace_back(pass_rate{.name = std::string(pass.name.view()), .time = pass.time});
        detail::require_finite_positive(pass.time.gpu_seconds, (own.name + ".seconds").c_str());
        detail::add_work(pass, own);
        detail::add_work(pass, rates_of_step.whole);
        if (rates_of_step.has_peak) {
            detail::require_finite_positive(pass.time.peak_tflop, (own.name + ".peak_tflops").c_str());
            detail::seconds_at_peak of_pass;
            of_pass.add(own);
            of_pass.set(own, wall);
            of_all.add(own);
            if (pass.learns) {
                of_learner.add(own);
            }
        }
        if (pass.memory_bytes > 0) {
            own.mbu = to_double(flops{pass.bytes_read}) / pass.memory_bytes;
        }
        all += pass.time;
        if (pass.learns) {
            detail::add_work(pass, learner);
            learner.time += pass.time;
        }
    }
    constexpr double rounding = 1e-6;
    if (all.gpu_seconds > wall.gpu_seconds * (1 + rounding)) {
        detail::refuse("passes", {"took ", detail::general_decimal(all.gpu_seconds, 6), " GPU-seconds, more than the ",
                                  detail::general_decimal(wall.gpu_seconds, 6),
                                  " of all GPUs in the step: pass the gpus of the whole job, and count each ",
                                  "second of a GPU in one pass only"});
    }
    if (rates_of_step.has_peak) {
        of_all.set(rates_of_step.whole, wall);
        rates_of_step.whole.lost = 1 - rates_of_step.whole.mfu;
    }
    const double idle = 1 - all.gpu_seconds / wall.gpu_seconds;
    rates_of_step.no_pass = idle < rounding && idle > -rounding ? 0 : idle;
    if (learner.time.gpu_seconds > 0) {
        if (rates_of_step.has_peak) {
            of_learner.set(learner, wall);
        }
        rates_of_step.learner = learner;
    }
    return rates_of_step;
}

/// Returns the table of a step: time and MFU of each pass, of the learner and of the whole step. Further rows show how
/// the time is lost between the peak of all GPUs and the MFU of the whole step.
[[nodiscard]] inline table table_of(const pass_rates& rates_of_step) {
    table_section rates{.columns = {{},
                                    {"TFLOP", cell_side::right, 12},
                                    {"seconds", cell_side::right, 10},
                                    {"GPU-seconds", cell_side::right, 13},
                                    {"MFU", cell_side::right, 9},
                                    {"HFU", cell_side::right, 9},
                                    {"MBU", cell_side::right, 9}}};
    const bool has_peak = rates_of_step.has_peak;
    const auto fraction = [has_peak](double value) {
        return has_peak ? number_cell(100 * value, 2, " %") : table_cell{"-"};
    };
    const auto add = [&rates, &fraction](const pass_rate& rate) {
        table_cell work = number_cell(to_double(rate.useful) / 1e12, 3);
        work.exact = to_string(rate.useful);
        rates.rows.push_back({{rate.name},
                              work,
                              number_cell(rate.time.seconds, 3),
                              number_cell(rate.time.gpu_seconds, 3),
                              fraction(rate.mfu),
                              fraction(rate.hfu),
                              rate.mbu ? number_cell(100 * *rate.mbu, 2, " %") : table_cell{"-"}});
    };
    table_section lines{.columns = {{"of the whole's time at the peak"}, {"points", cell_side::right, 12}}};
    const auto line = [&lines](std::string name, double share) {
        lines.rows.push_back({{std::move(name)}, number_cell(100 * share, 2)});
    };
    line("all GPUs at their peak", 1);
    line("no pass runs", -rates_of_step.no_pass);
    for (const pass_rate& pass : rates_of_step.passes) {
        add(pass);
        line(pass.name + " below the peak", -pass.lost);
    }
    if (rates_of_step.learner) {
        add(*rates_of_step.learner);
    }
    add(rates_of_step.whole);
    line("MFU of the whole", rates_of_step.whole.mfu);
    table shown{.title = "passes of a step", .sections = {std::move(rates)}};
    if (has_peak) {
        shown.sections.push_back(std::move(lines));
    } else {
        shown.notes.emplace_back("the peak is unknown, so that there is no MFU: pass peak_tflops");
    }
    for (const pass_rate& pass : rates_of_step.passes) {
        if (pass.shared != flops{}) {
            shown.notes.push_back(detail::text_of({pass.name, ": ", to_string(pass.shared),
                                                   " FLOPs more without the prefixes that are shared, not run"}));
        }
    }
    for (const pass_rate& pass : rates_of_step.passes) {
        const std::string doubt = doubt_of(pass.hfu > 1 ? pass.hfu : pass.mfu, counted_passes::forward);
        if (!doubt.empty()) {
            shown.notes.push_back(detail::text_of({pass.name, ": ", doubt}));
        }
    }
    return shown;
}

/// Returns the table of a step as aligned text.
[[nodiscard]] inline std::string to_table(const pass_rates& rates_of_step) {
    const table shown = table_of(rates_of_step);
    std::string text = shown.title + "\n\n" + to_text(shown, 2);
    for (const std::string& note : shown.notes) {
        detail::append(text, {&note == shown.notes.data() ? "\nnote: " : "note: ", note, "\n"});
    }
    return text;
}

}  // namespace floptally

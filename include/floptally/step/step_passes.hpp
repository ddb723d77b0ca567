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
/// A step that is passes, each with its own model, plan, batch, seconds and GPUs: rollout, log-probabilities, update.

namespace floptally {

/// The time of GPUs: of a pass, or of a whole step. Times add up over steps.
struct gpu_time {
    double seconds = 0;
    double gpu_seconds = 0;
    double peak_tflop = 0;  ///< Σ seconds x GPUs x dense peak of one, in 10¹² FLOP

    gpu_time() = default;
    /// The time of a measurement.
    explicit gpu_time(const measurement& of)
        : seconds(of.seconds), gpu_seconds(detail::gpu_seconds_of(of)), peak_tflop(gpu_seconds * of.peak_tflops) {}

    gpu_time& operator+=(const gpu_time& other) {
        seconds += other.seconds;
        gpu_seconds += other.gpu_seconds;
        peak_tflop += other.peak_tflop;
        return *this;
    }
};

/// One pass of a step, or the sum of that pass over steps.
struct step_pass {
    component_name name;  ///< "rollout", "old_log_prob", "ref", "values", "update"
    breakdown work{};     ///< by its own model and plan
    gpu_time time{};      ///< its own: no other pass's seconds are in it
    /// True for a pass of the learner; one of an engine that generates, or of another model's server, is none.
    bool learns = true;
    /// FLOPs that were not run, since requests or rollouts share a prefix that was computed once.
    flops shared{};
    /// Weights and cache that were read, and what the memories could have read: for an MBU, where both are known.
    uint128 bytes_read = 0;
    double memory_bytes = 0;  ///< Σ seconds x GPUs x bandwidth

    /// Adds the same pass of another step, perhaps of another batch.
    step_pass& operator+=(const step_pass& other) {
        work += other.work;
        shared += other.shared;
        time += other.time;
        bytes_read += other.bytes_read;
        memory_bytes += other.memory_bytes;
        return *this;
    }
};

/// Rates of a pass, of the learner's passes, or of a whole step, each over its own time.
struct pass_rate {
    std::string name;
    flops useful{};
    flops padded{};
    flops executed{};
    flops shared{};
    gpu_time time{};
    double mfu = 0;
    double padded_mfu = 0;
    double hfu = 0;
    std::optional<double> mbu{};
    double points = 0;  ///< of the whole's MFU that its useful FLOPs are
    double lost = 0;    ///< of 1: its time less its useful FLOPs at the peak, over the time of the whole
};

/// A step of passes. The points of all passes add up to the whole's MFU; these, what passes lost and the time in which
/// no pass ran add up to 1.
struct pass_rates {
    std::vector<pass_rate> passes{};
    std::optional<pass_rate> learner{};  ///< passes that learn, over their own time
    pass_rate whole{};                   ///< all FLOPs over the wall clock of all GPUs, idle ones included
    double no_pass = 0;                  ///< the share of that time in which no pass ran
};

namespace detail {

inline void add_work(const step_pass& pass, pass_rate& to) {
    to.useful += pass.work.total(view::useful);
    to.padded += pass.work.total(view::padded);
    to.executed += pass.work.total(view::executed);
    to.shared += pass.shared;
}
inline void set_rates(pass_rate& of, const gpu_time& whole) {
    const auto over = [](flops work, double peak) { return divide(to_double(work) / 1e12, peak, "seconds"); };
    of.mfu = over(of.useful, of.time.peak_tflop);
    of.padded_mfu = over(of.padded, of.time.peak_tflop);
    of.hfu = over(of.executed, of.time.peak_tflop);
    of.points = over(of.useful, whole.peak_tflop);
    of.lost = of.time.peak_tflop / whole.peak_tflop - of.points;
}

}  // namespace detail

/// Rates of the passes of a step. `wall` is the wall clock of the step on all GPUs of the job, which no passes can
/// exceed together: they run one after the other, or on GPUs of their own.
[[nodiscard]] inline pass_rates rates_of(std::span<const step_pass> passes, const gpu_time& wall) {
    detail::require_finite_positive(wall.seconds, "seconds");
    detail::require_finite_positive(wall.peak_tflop, "peak_tflops");
    if (passes.empty()) {
        throw error("passes", "must have at least one pass");
    }
    pass_rates made;
    pass_rate learner{.name = "learner"};
    made.whole.name = "whole";
    made.whole.time = wall;
    gpu_time all;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const step_pass& pass = passes[i];
        for (std::size_t other = 0; other < i; ++other) {
            if (passes[other].name == pass.name) {
                detail::refuse(indexed("passes", i), {"\"", pass.name.view(), "\" is the name of another pass too"});
            }
        }
        pass_rate& own = made.passes.emplace_back(pass_rate{.name = std::string(pass.name.view()), .time = pass.time});
        detail::require_finite_positive(pass.time.peak_tflop, (own.name + ".seconds").c_str());
        detail::add_work(pass, own);
        detail::add_work(pass, made.whole);
        detail::set_rates(own, wall);
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
        detail::refuse("passes", {"took ", detail::general_decimal(all.gpu_seconds, 6), " GPU-seconds of the ",
                                  detail::general_decimal(wall.gpu_seconds, 6),
                                  " that all GPUs have in the step: gpus are those of the whole job, ",
                                  "and a second of a GPU is of one pass"});
    }
    detail::set_rates(made.whole, wall);
    made.whole.lost = 1 - made.whole.mfu;
    made.no_pass = 1 - all.peak_tflop / wall.peak_tflop;
    if (learner.time.peak_tflop > 0) {
        detail::set_rates(learner, wall);
        made.learner = learner;
    }
    return made;
}

/// The table of a step: passes, learner and whole with the time of each and the MFU over it; then the whole's MFU line
/// by line.
[[nodiscard]] inline table table_of(const pass_rates& made) {
    table_section rates{.columns = {{},
                                    {"TFLOP", cell_side::right, 12},
                                    {"seconds", cell_side::right, 10},
                                    {"GPU-seconds", cell_side::right, 13},
                                    {"MFU", cell_side::right, 9},
                                    {"HFU", cell_side::right, 9},
                                    {"MBU", cell_side::right, 9}}};
    const auto add = [&rates](const pass_rate& of) {
        table_cell work = number_cell(to_double(of.useful) / 1e12, 3);
        work.exact = to_string(of.useful);
        rates.rows.push_back({{of.name},
                              work,
                              number_cell(of.time.seconds, 3),
                              number_cell(of.time.gpu_seconds, 3),
                              number_cell(100 * of.mfu, 2, " %"),
                              number_cell(100 * of.hfu, 2, " %"),
                              of.mbu ? number_cell(100 * *of.mbu, 2, " %") : table_cell{"-"}});
    };
    table_section lines{.columns = {{"of the whole's time at the peak"}, {"points", cell_side::right, 12}}};
    const auto line = [&lines](std::string name, double share) {
        lines.rows.push_back({{std::move(name)}, number_cell(100 * share, 2)});
    };
    line("all GPUs at their peak", 1);
    line("no pass runs", -made.no_pass);
    for (const pass_rate& pass : made.passes) {
        add(pass);
        line(pass.name + " below the peak", -pass.lost);
    }
    if (made.learner) {
        add(*made.learner);
    }
    add(made.whole);
    line("MFU of the whole", made.whole.mfu);
    table shown{.title = "passes of a step", .sections = {std::move(rates), std::move(lines)}};
    for (const pass_rate& pass : made.passes) {
        if (pass.shared != flops{}) {
            shown.notes.push_back(detail::text_of({pass.name, ": ", to_string(pass.shared),
                                                   " FLOPs more without the prefixes that are shared, not run"}));
        }
    }
    return shown;
}

/// The table of a step as aligned text.
[[nodiscard]] inline std::string to_table(const pass_rates& made) {
    const table shown = table_of(made);
    std::string text = shown.title + "\n\n" + to_text(shown, 2);
    for (const std::string& note : shown.notes) {
        detail::append(text, {&note == shown.notes.data() ? "\nnote: " : "note: ", note, "\n"});
    }
    return text;
}

}  // namespace floptally

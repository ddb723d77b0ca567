// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

#include <floptally/compare.hpp>
#include <floptally/floptally.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>
#include <floptally/report_json.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally compare`: one step counted by every convention, and which convention a number from a dashboard or a log
/// follows.

namespace program {

inline void add_compare_options(cxxopts::Options& options) {
    add_flops_options(options);
    options.add_options("Dashboard")(
        "observed", "the dashboard's number: 402TFLOP/s of one GPU, 3.21PFLOP of the step or 40.7%",
        cxxopts::value<std::string>(), "NUMBER")("seconds", "duration of the step", cxxopts::value<std::string>(), "S")(
        "log",
        "log of a trainer whose steps are this batch, or as many of its sequences as the log says: " +
            floptally::known_trainers(),
        cxxopts::value<std::string>(), "FILE");
    add_peak_options(options);
}

/// The measurement behind an observed rate, as far as the options say it.
inline floptally::observed_step read_observed_step(const arguments& args) {
    floptally::observed_step step;
    if (const auto seconds = args.text("seconds")) {
        step.seconds = parse_positive(*seconds, "seconds");
    }
    if (args.is_passed("gpus")) {
        step.gpus = gpus_of(args);
    }
    if (args.is_passed("accelerator") || args.is_passed("peak-tflops")) {
        step.peak_tflops = peak_of(args).tflops;
    }
    return step;
}

inline std::string run_compare(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::training_plan plan = read_plan(args);
    require_components(model.cost, plan);
    const auto asked = args.text("convention");
    const auto only = asked ? std::optional(std::string(floptally::convention_named(*asked).name)) : std::nullopt;
    return naming_options([&] {
        const floptally::convention_comparison all(model, plan);
        floptally::tally batch{all.masks()};
        const read_input input(args);
        floptally::add_input(input.get(), model, batch, spelling);
        const floptally::observed_step step = read_observed_step(args);
        const auto log = args.text("log");
        if (log && (args.is_passed("observed") || args.is_passed("seconds"))) {
            throw error("log", "already contains rates and seconds: leave --observed and --seconds out");
        }
        std::istringstream lines(log ? read_file(*log, "log") : "");
        const floptally::comparison_report report =
            log ? floptally::comparison_of(model.model_type, all, batch, only.value_or(""),
                                           floptally::observed_log_of(lines, batch, step), step)
                : floptally::comparison_of(model.model_type, all, batch, only.value_or(""),
                                           args.text("observed").value_or(""), step);
        return args.as_json() ? floptally::to_json(report).dump(2) + "\n" : floptally::to_table(report);
    });
}

}  // namespace program

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

#include <floptally/conventions/comparison.hpp>
#include <floptally/conventions/trainer_log.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/json/comparison_json.hpp>
#include <floptally/step/comparison_report.hpp>
#include <floptally/step/observed_work.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally compare`: one step as every convention counts it, and whose number a dashboard or a log shows.

namespace program {

inline void add_compare_options(cxxopts::Options& options) {
    add_flops_options(options);
    options.add_options("Dashboard")(
        "observed", "a number of it: 402TFLOP/s of one GPU, 3.21PFLOP of the step or 40.7%",
        cxxopts::value<std::string>(), "NUMBER")("seconds", "duration of the step", cxxopts::value<std::string>(), "S")(
        "log",
        "a trainer's log whose steps are this batch, or as many of its sequences as the log says: of " +
            floptally::known_trainers(),
        cxxopts::value<std::string>(), "FILE");
    add_peak_options(options);
}

/// The measurement that an observed rate was made with, as far as the options say it.
inline floptally::observed_step read_observed_step(const arguments& args) {
    floptally::observed_step step;
    if (const auto seconds = args.text("seconds")) {
        step.seconds = parse_positive(*seconds, "seconds");
    }
    if (args.given("gpus")) {
        step.gpus = gpus_of(args);
    }
    if (args.given("accelerator") || args.given("peak-tflops")) {
        step.peak_tflops = peak_of(args).tflops;
    }
    return step;
}

inline std::string run_compare(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::training_plan plan = read_plan(args);
    require_components(model.cost, plan);
    const auto only = args.text("convention");
    if (only) {
        (void)floptally::convention_named(*only);
    }
    return naming_options([&] {
        const floptally::convention_comparison all(model, plan);
        floptally::tally batch{all.masks()};
        const read_input input(args);
        floptally::add_input(input.get(), model, batch, spelling);
        const floptally::observed_step step = read_observed_step(args);
        const auto log = args.text("log");
        if (log && (args.given("observed") || args.given("seconds"))) {
            throw error("log", "says rates and seconds itself; give it without --observed and --seconds");
        }
        std::istringstream lines(log ? read_file(*log, "log") : "");
        const floptally::comparison_report made =
            log ? floptally::comparison_of(model.model_type, all, batch, only.value_or(""),
                                           floptally::observed_log_of(lines, batch, step))
                : floptally::comparison_of(model.model_type, all, batch, only.value_or(""),
                                           args.text("observed").value_or(""), step);
        return args.as_json() ? floptally::to_json(made).dump(2) + "\n" : floptally::to_table(made);
    });
}

}  // namespace program

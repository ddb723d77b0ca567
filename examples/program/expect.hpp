// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/report.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "measure.hpp"
#include "published_runs.hpp"

/// @file
/// `floptally expect`: published runs nearest to the user's, by one convention, and where the user's MFU stands.

namespace program {

inline void add_expect_options(cxxopts::Options& options) {
    add_flops_options(options);
    options.add_options("Run")("accelerator", "name as the driver reports it; `floptally accelerators` lists the names",
                               cxxopts::value<std::string>(),
                               "NAME")("gpus", "number of GPUs", cxxopts::value<std::string>(), "N")(
        "precision", "fp64, fp32, tf32, fp16, bf16, fp8, int8 or fp4", cxxopts::value<std::string>(), "bf16")(
        "mfu", "your MFU: 40% or 0.4", cxxopts::value<std::string>(), "X")(
        "seconds", "duration of the step, instead of --mfu", cxxopts::value<std::string>(), "S");
    options.add_options("Published runs")("nearest", "how many runs to show", cxxopts::value<std::string>(), "20")(
        "unmarked", "leave out runs with forced expert balance, dropped tokens or a cut model")(
        "all", "the whole table, without a run to compare");
}

/// The user's MFU as the options say it: given, or of a measured step.
inline std::optional<double> own_mfu(const arguments& args, const floptally::report& counted) {
    const auto mfu_text = args.text("mfu");
    if (args.is_passed("seconds")) {
        if (mfu_text) {
            throw error("mfu", "is passed, but --seconds also determines the MFU: pass one of them");
        }
        return measure(args, counted).utilization.mfu;
    }
    return mfu_text ? std::optional(parse_share(*mfu_text, "mfu").fraction) : std::nullopt;
}

inline expectation expectation_of(const arguments& args) {
    if (args.flag("all")) {
        for (const char* const other : {"config", "accelerator", "mfu", "seconds", "nearest", "unmarked"}) {
            if (args.is_passed(other)) {
                throw error(arguments::field(other), "is about one run, but --all shows every run: pass one of them");
            }
        }
        return all_published_runs();
    }
    const floptally::model_config model = read_model(args);
    const floptally::report counted = count(args, model);
    const auto gpus = args.is_passed("gpus") ? std::optional(gpus_of(args)) : std::nullopt;
    const run_features own = user_features(model, counted.batch, args.required("accelerator", "NAME"),
                                           args.text("precision").value_or("bf16"), gpus);
    return expect(own, own_mfu(args, counted), parse_count(args.text("nearest").value_or("20"), "nearest", 1, 100'000),
                  args.flag("unmarked"));
}

inline std::string run_expect(const arguments& args) {
    const std::size_t format = args.choice("format", {"table", "json", "markdown"});
    const expectation found = expectation_of(args);
    return format == 1   ? to_json(found).dump(2) + "\n"
           : format == 2 ? floptally::to_markdown(table_of(found))
                         : to_table(found);
}

}  // namespace program

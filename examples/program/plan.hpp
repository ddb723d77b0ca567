// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/step/report.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally plan`: the days and the GPU hours of a training run.

namespace program {

inline void add_plan_options(cxxopts::Options& options) {
    add_flops_options(options);
    add_peak_options(options);
    options.add_options("Run")("tokens", "of the whole run, real ones: 15T, 15e12 or an integer",
                               cxxopts::value<std::string>(), "N")("mfu", "as it was measured: 40% or a fraction, 0.4",
                                                                   cxxopts::value<std::string>(), "40%");
}

inline std::string run_plan(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::report counted = count(args, model);
    const std::uint64_t of_batch =
        counted.batch.get(floptally::view::useful, floptally::statistic::tokens, counted.batch.masks().main_modality());
    if (of_batch == 0) {
        throw error("lengths", "have no token: the run's batches are taken to be like this one");
    }
    const std::uint64_t tokens = parse_large_count(args.required("tokens", "N"), "tokens");
    const given_share mfu = parse_share(args.text("mfu").value_or("40%"), "mfu");
    std::vector<std::string> notes;
    if (!args.given("mfu")) {
        notes.emplace_back("mfu is taken to be 40 %, since none is given");
    }
    if (!mfu.note.empty()) {
        notes.push_back(mfu.note);
    }
    if (const std::string doubt = floptally::doubt_of(mfu.fraction, counted.plan.counted); !doubt.empty()) {
        notes.push_back(doubt);
    }
    const std::uint64_t gpus = gpus_of(args);
    const double peak = peak_of(args).tflops;
    const double batches = static_cast<double>(tokens) / static_cast<double>(of_batch);
    struct row {
        const char* name;
        double flops;
        double days;
        double gpu_hours;
    };
    const auto made = [&](const char* name, double of_one_batch) {
        const double flops = of_one_batch * batches;
        const double seconds =
            floptally::detail::divide(flops / 1e12, static_cast<double>(gpus) * peak * mfu.fraction, "mfu");
        return row{name, flops, seconds / 86400, seconds * static_cast<double>(gpus) / 3600};
    };
    const std::uint64_t parameters = counted.parameters.active.value_or(counted.parameters.total);
    const row rows[] = {made("exact", floptally::to_double(counted.work.total())),
                        made("6ND", 6 * static_cast<double>(parameters) * static_cast<double>(of_batch))};
    if (args.as_json()) {
        nlohmann::ordered_json out{{"version", floptally::version},
                                   {"tokens", std::to_string(tokens)},
                                   {"gpus", gpus},
                                   {"peak_tflops", peak},
                                   {"mfu", mfu.fraction},
                                   {"parameters", std::to_string(parameters)}};
        for (const row& line : rows) {
            out[line.name] = {{"flops", line.flops}, {"days", line.days}, {"gpu_hours", line.gpu_hours}};
        }
        out["notes"] = notes;
        return out.dump(2) + "\n";
    }
    std::string table = fmt::format("{:<8}{:>14}{:>12}{:>16}\n", "", "FLOPs", "days", "GPU hours");
    for (const row& line : rows) {
        table += fmt::format("{:<8}{:>14.4g}{:>12.2f}{:>16.0f}\n", line.name, line.flops, line.days, line.gpu_hours);
    }
    table += fmt::format(
        "{} tokens in batches like this one, {} GPUs at {:.6g} % of {} TFLOP/s; N is {} active parameters\n", tokens,
        gpus, 100 * mfu.fraction, peak, parameters);
    for (const std::string& note : notes) {
        table += fmt::format("note: {}\n", note);
    }
    return table;
}

}  // namespace program

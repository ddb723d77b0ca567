// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

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
    options.add_options("Run")("tokens", "of the whole run, real ones: 15e12 or an integer",
                               cxxopts::value<std::string>(),
                               "N")("mfu", "in per cent, as it was measured", cxxopts::value<std::string>(), "40");
}

/// A number of tokens, which may be written as 15e12.
inline std::uint64_t parse_tokens(const std::string& text) {
    if (const auto value = parse<std::uint64_t>(text); value && *value > 0) {
        return *value;
    }
    const auto value = parse<double>(text);
    if (!value || !(*value >= 1) || !(*value < 1e18) ||
        *value != static_cast<double>(static_cast<std::uint64_t>(*value))) {
        throw error("tokens", fmt::format("must be a whole number from 1 to 10^18, as 15e12, got \"{}\"", text));
    }
    return static_cast<std::uint64_t>(*value);
}

inline std::string run_plan(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::report counted = count(args, model);
    const std::uint64_t of_batch =
        counted.batch.get(floptally::view::useful, floptally::statistic::tokens, counted.batch.masks().main_modality());
    if (of_batch == 0) {
        throw error("lengths", "have no token: the run's batches are taken to be like this one");
    }
    const std::uint64_t tokens = parse_tokens(args.required("tokens", "N"));
    const double mfu = parse_positive(args.required("mfu", "40"), "mfu");
    if (mfu > 100) {
        throw error("mfu", fmt::format("must be at most 100 %, got {}", mfu));
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
            floptally::detail::divide(flops / 1e12, static_cast<double>(gpus) * peak * mfu / 100, "mfu");
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
                                   {"mfu", mfu / 100},
                                   {"parameters", std::to_string(parameters)}};
        for (const row& one : rows) {
            out[one.name] = {{"flops", one.flops}, {"days", one.days}, {"gpu_hours", one.gpu_hours}};
        }
        return out.dump(2) + "\n";
    }
    std::string table = fmt::format("{:<8}{:>14}{:>12}{:>16}\n", "", "FLOPs", "days", "GPU hours");
    for (const row& one : rows) {
        table += fmt::format("{:<8}{:>14.4g}{:>12.2f}{:>16.0f}\n", one.name, one.flops, one.days, one.gpu_hours);
    }
    return table +
           fmt::format("{} tokens in batches like this one, {} GPUs at {} % of {} TFLOP/s; N is {} active parameters\n",
                       tokens, gpus, mfu, peak, parameters);
}

}  // namespace program

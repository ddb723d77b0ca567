// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>

#include <floptally/floptally.hpp>
#include <floptally/hardware.hpp>
#include <floptally/json.hpp>
#include <floptally/report.hpp>

#include "arguments.hpp"
#include "count.hpp"

/// @file
/// Reads the measurement of a step from the options: its time, its GPUs and their peaks.

namespace program {

inline void add_peak_options(cxxopts::Options& options) {
    options.add_options("Utilization")("gpus", "number of GPUs", cxxopts::value<std::string>(), "N")(
        "accelerator", "name as the driver reports it; `floptally accelerators` lists the names",
        cxxopts::value<std::string>(), "NAME")(
        "peak-tflops", "dense peak of one GPU in TFLOP/s; overrides --accelerator", cxxopts::value<std::string>(), "X")(
        "peak-kind", "what the peak is: datasheet, boost or measured", cxxopts::value<std::string>(), "KIND")(
        "clock-mhz", "clock for the boost peak of --accelerator", cxxopts::value<std::string>(), "MHZ")(
        "precision", "fp64, fp32, tf32, fp16, bf16, fp8, int8 or fp4", cxxopts::value<std::string>(), "bf16");
}

inline void add_mfu_options(cxxopts::Options& options) {
    add_flops_and_unit_options(options);
    options.add_options("Utilization")("seconds", "duration of the step", cxxopts::value<std::string>(), "S");
    add_peak_options(options);
    options.add_options("Utilization")("precisions", "precisions of components and of layers: mlp=fp8,@1-30=fp8",
                                       cxxopts::value<std::string>(), "LIST");
}

inline double parse_positive(const std::string& text, const std::string& field) {
    const auto value = parse<double>(text);
    if (!value || !(*value > 0) || *value > std::numeric_limits<double>::max()) {
        throw error(field, fmt::format("must be a finite number above 0, got \"{}\"", text));
    }
    return *value;
}

inline std::uint64_t gpus_of(const arguments& args) {
    return parse_count(args.required("gpus", "N"), "gpus", 1, 100'000'000);
}

inline std::optional<double> clock_of(const arguments& args) {
    const auto clock = args.text("clock-mhz");
    return clock ? std::optional(parse_positive(*clock, "clock_mhz")) : std::nullopt;
}

inline floptally::chosen_peak peak_of(const arguments& args) {
    const auto peak = args.text("peak-tflops");
    const auto accelerator = args.text("accelerator");
    if (!peak && !accelerator) {
        throw error("accelerator", "is missing: pass --accelerator NAME or --peak-tflops X");
    }
    const auto kind = args.text("peak-kind");
    return floptally::choose_peak(
        accelerator, peak ? std::optional(parse_positive(*peak, "peak_tflops")) : std::nullopt,
        args.text("precision").value_or("bf16"),
        kind ? floptally::peak_kind_named(*kind) : floptally::peak_kind::unsaid, clock_of(args));
}

inline floptally::mfu_report measure(const arguments& args, const floptally::report& counted) {
    floptally::mfu_report mfu;
    mfu.step.seconds = parse_positive(args.required("seconds", "S"), "seconds");
    mfu.step.gpus = gpus_of(args);
    const floptally::chosen_peak chosen = peak_of(args);
    mfu.step.peak_tflops = chosen.tflops;
    mfu.accelerator = chosen.accelerator;
    mfu.precision = chosen.precision;
    mfu.peak_source = chosen.source;
    mfu.peak_kind = chosen.kind;
    mfu.peak_quality = chosen.quality;
    mfu.utilization = floptally::utilize(counted.work, counted.batch, mfu.step);
    return mfu;
}

/// The precisions of --precisions, for a batch counted under `plan`. Empty without the option.
inline std::optional<floptally::mixed_precision> mixed_precision_of(const arguments& args,
                                                                    const floptally::model_config& model,
                                                                    const floptally::report& counted,
                                                                    const floptally::training_plan& plan) {
    const auto precisions = args.text("precisions");
    if (!precisions) {
        return {};
    }
    return floptally::mixed_precision(
        floptally::flop_counter(model, counted.counted_as, plan), model.parts, plan,
        floptally::precision_settings_named(*precisions, args.text("accelerator"), clock_of(args)),
        peak_of(args).tflops);
}

}  // namespace program

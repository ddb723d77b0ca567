// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

#include <floptally/floptally.hpp>
#include <floptally/hardware.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>
#include <floptally/memory.hpp>
#include <floptally/report.hpp>
#include <floptally/report_json.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally bytes`: bytes that a batch moves between GPU memory and compute units. A waterfall uses them too.

namespace program {

inline void add_memory_options(cxxopts::Options& options) {
    options.add_options("Memory")("memory-tbps", "memory bandwidth of one GPU in TB/s; overrides --accelerator",
                                  cxxopts::value<std::string>(), "X")(
        "batches", "microbatches of all replicas; each reads the weights once", cxxopts::value<std::string>(), "N")(
        "weight-bits", "bits of a weight as kernels read it", cxxopts::value<std::string>(), "16")(
        "gradient-bits", "bits of a weight's gradient", cxxopts::value<std::string>(), "16")(
        "activation-bits", "bits of an operand or a result", cxxopts::value<std::string>(), "16")(
        "cache-bits", "bits of a cached key or value", cxxopts::value<std::string>(), "16")(
        "distinct-experts", "experts whose weights were read, summed over layers and batches, as measured",
        cxxopts::value<std::string>(), "N");
}

inline void add_bytes_options(cxxopts::Options& options) {
    add_flops_options(options);
    options.add_options("Utilization")("seconds", "duration of a decode step", cxxopts::value<std::string>(), "S")(
        "gpus", "number of GPUs", cxxopts::value<std::string>(), "N")(
        "accelerator", "name as the driver reports it; `floptally accelerators` lists the names",
        cxxopts::value<std::string>(), "NAME");
    add_memory_options(options);
}

inline floptally::element_bits bits_of(const arguments& args) {
    const auto read = [&](const char* option) {
        return parse_count(args.text(option).value_or("16"), arguments::field(option), 1, 64);
    };
    return {.weights = read("weight-bits"),
            .gradients = read("gradient-bits"),
            .activations = read("activation-bits"),
            .cache = read("cache-bits")};
}

inline std::uint64_t batches_of(const arguments& args, std::uint64_t absent = 1) {
    const auto batches = args.text("batches");
    return batches ? parse_count(*batches, "batches", 1, std::uint64_t{1} << 32U) : absent;
}

inline std::optional<std::uint64_t> distinct_experts_of(const arguments& args) {
    const auto count = args.text("distinct-experts");
    return count ? std::optional(parse_count(*count, "distinct_experts", 0, std::uint64_t{1} << 62U)) : std::nullopt;
}

/// The memory bandwidth in TB/s; nullopt for an accelerator whose bandwidth is unknown.
inline std::optional<double> memory_tbps_of(const arguments& args) {
    if (const auto bandwidth = args.text("memory-tbps")) {
        return parse_positive(*bandwidth, "memory_tbps");
    }
    const auto accelerator = args.text("accelerator");
    const auto known = accelerator ? floptally::memory_bandwidth_named(*accelerator) : std::nullopt;
    return known ? std::optional(known->tbps) : std::nullopt;
}

inline floptally::step_bytes bytes_of(const arguments& args, const floptally::model_config& model,
                                      const floptally::training_plan& plan, std::uint64_t batches) {
    const read_input input(args);
    if (!input.get().requests.empty()) {
        if (args.is_passed("batches") || args.is_passed("distinct-experts") || !input.get().has_requests_alone()) {
            throw error(
                "request",
                "already determines the decode steps: leave out --batches, --distinct-experts and other batches");
        }
        return floptally::bytes_of_requests(model, input.get().requests, input.get().prefill_chunk, plan,
                                            bits_of(args));
    }
    floptally::byte_counter counter(model, plan, bits_of(args), batches);
    floptally::add_input(input.get(), model, counter, spelling);
    if (const auto count = distinct_experts_of(args)) {
        counter.add_distinct_experts(*count);
    }
    return counter.count();
}

inline std::string run_bytes(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::report counted = count(args, model);
    if (counted.counted_as.name != floptally::conventions::exact.name) {
        throw error("convention",
                    fmt::format("must be exact, since only exact counts bytes, got \"{}\"", counted.counted_as.name));
    }
    floptally::byte_report report{.model_type = model.model_type,
                                  .work = counted.work,
                                  .moved = bytes_of(args, model, counted.plan, batches_of(args)),
                                  .bits = bits_of(args),
                                  .batches = batches_of(args),
                                  .memory_tbps = memory_tbps_of(args),
                                  .distinct_experts = distinct_experts_of(args)};
    if (const auto seconds = args.text("seconds")) {
        if (counted.plan.counted != floptally::counted_passes::forward) {
            throw error("phase", "must be forward, since MBU is defined for a decode step: pass --phase forward");
        }
        const double tbps = report.memory_tbps ? *report.memory_tbps
                                               : floptally::memory_tbps_named(args.required("accelerator", "NAME"));
        report.mbu = floptally::model_bandwidth_utilization(report.moved, parse_positive(*seconds, "seconds"),
                                                            gpus_of(args), tbps);
    }
    switch (args.choice("format", {"table", "json", "markdown"})) {
        case 0:
            return floptally::to_table(report);
        case 1:
            return floptally::to_json(report).dump(2) + "\n";
        default:
            return floptally::to_markdown(report);
    }
}

}  // namespace program

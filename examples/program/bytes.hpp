// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/byte_report.hpp>
#include <floptally/bytes/request_bytes.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/json/byte_json.hpp>
#include <floptally/step/report.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally bytes`: the bytes that a batch moves between memory and units, also for a waterfall.

namespace program {

inline void add_memory_options(cxxopts::Options& options) {
    options.add_options("Memory")("memory-tbps", "bandwidth of one GPU's memory; wins over --accelerator",
                                  cxxopts::value<std::string>(), "X")(
        "batches", "microbatches of all replicas, each of which reads the weights", cxxopts::value<std::string>(), "N")(
        "weight-bits", "of a weight as it is read", cxxopts::value<std::string>(), "16")(
        "gradient-bits", "of a weight's gradient", cxxopts::value<std::string>(), "16")(
        "activation-bits", "of an operand or a result", cxxopts::value<std::string>(), "16")(
        "cache-bits", "of a cached key or value", cxxopts::value<std::string>(), "16")(
        "distinct-experts", "experts whose weights were read, over all layers and batches, as measured",
        cxxopts::value<std::string>(), "N");
}

inline void add_bytes_options(cxxopts::Options& options) {
    add_flops_options(options);
    options.add_options("Utilization")("seconds", "duration of a decode step", cxxopts::value<std::string>(), "S")(
        "gpus", "how many took part", cxxopts::value<std::string>(), "N")(
        "accelerator", "as the driver calls it; see: floptally accelerators", cxxopts::value<std::string>(), "NAME");
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
    const auto given = args.text("batches");
    return given ? parse_count(*given, "batches", 1, std::uint64_t{1} << 32U) : absent;
}

inline std::optional<std::uint64_t> distinct_experts_of(const arguments& args) {
    const auto count = args.text("distinct-experts");
    return count ? std::optional(parse_count(*count, "distinct_experts", 0, std::uint64_t{1} << 62U)) : std::nullopt;
}

/// The memory bandwidth in TB/s; none for an accelerator whose memory is not known.
inline std::optional<double> memory_tbps_of(const arguments& args) {
    if (const auto given = args.text("memory-tbps")) {
        return parse_positive(*given, "memory_tbps");
    }
    const auto accelerator = args.text("accelerator");
    const auto known = accelerator ? floptally::memory_bandwidth_named(*accelerator) : std::nullopt;
    return known ? std::optional(known->tbps) : std::nullopt;
}

inline floptally::step_bytes bytes_of(const arguments& args, const floptally::model_config& model,
                                      const floptally::training_plan& plan, std::uint64_t batches) {
    const read_input input(args);
    if (!input.get().requests.empty()) {
        if (args.given("batches") || args.given("distinct-experts") || !input.get().has_requests_alone()) {
            throw error("request",
                        "decides by itself which steps read the weights: give no other batch with it, no "
                        "--batches and no --distinct-experts");
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
        throw error("convention", fmt::format("must be exact, whose products are those that move bytes, got \"{}\"",
                                              counted.counted_as.name));
    }
    floptally::byte_report made{.model_type = model.model_type,
                                .work = counted.work,
                                .moved = bytes_of(args, model, counted.plan, batches_of(args)),
                                .bits = bits_of(args),
                                .batches = batches_of(args),
                                .memory_tbps = memory_tbps_of(args),
                                .distinct_experts = distinct_experts_of(args)};
    if (const auto seconds = args.text("seconds")) {
        if (counted.plan.counted != floptally::counted_passes::forward) {
            throw error("phase", "must be forward: an MBU is of a decode step");
        }
        const double tbps =
            made.memory_tbps ? *made.memory_tbps : floptally::memory_tbps_named(args.required("accelerator", "NAME"));
        made.mbu = floptally::model_bandwidth_utilization(made.moved, parse_positive(*seconds, "seconds"),
                                                          gpus_of(args), tbps);
    }
    switch (args.choice("format", {"table", "json", "markdown"})) {
        case 0:
            return floptally::to_table(made);
        case 1:
            return floptally::to_json(made).dump(2) + "\n";
        default:
            return floptally::to_markdown(made);
    }
}

}  // namespace program

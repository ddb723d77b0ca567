// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <floptally/batch/add_input.hpp>
#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/byte_report.hpp>
#include <floptally/floptally.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/step/memory_bandwidth.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally bytes`: what a batch moves between memory and units, and the same for a waterfall.

namespace program {

inline void add_memory_options(cxxopts::Options& options) {
    options.add_options("Memory")("memory-tbps", "bandwidth of one GPU's memory; wins over --accelerator",
                                  cxxopts::value<std::string>(), "X")(
        "batches", "microbatches of all replicas, each of which reads the weights", cxxopts::value<std::string>(), "N")(
        "weight-bits", "of a weight as it is read", cxxopts::value<std::string>(), "16")(
        "gradient-bits", "of a weight's gradient", cxxopts::value<std::string>(), "16")(
        "activation-bits", "of an operand or a result", cxxopts::value<std::string>(), "16")(
        "cache-bits", "of a cached key or value", cxxopts::value<std::string>(), "16");
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

inline std::uint64_t batches_of(const arguments& args) {
    return parse_count(args.text("batches").value_or("1"), "batches", 1, std::uint64_t{1} << 32U);
}

/// In TB/s; an accelerator whose memory is not known has none.
inline std::optional<double> memory_tbps_of(const arguments& args) {
    if (const auto given = args.text("memory-tbps")) {
        return parse_positive(*given, "memory_tbps");
    }
    const auto accelerator = args.text("accelerator");
    const auto known = accelerator ? floptally::memory_bandwidth_named(*accelerator) : std::nullopt;
    return known ? std::optional(known->tbps) : std::nullopt;
}

inline floptally::step_bytes bytes_of(const arguments& args, const floptally::model_config& model,
                                      const floptally::training_plan& plan) {
    floptally::byte_counter counter(model, plan, bits_of(args), batches_of(args));
    const read_input input(args);
    floptally::add_input(input.get(), model, counter, spelling);
    return counter.count();
}

inline std::string to_text(floptally::uint128 bytes) { return floptally::to_string(bytes); }

/// A line for each component that moves bytes, and their sum.
inline std::string bytes_table(const floptally::byte_report& made) {
    std::string table = fmt::format("{:<24}{:>12}", "", "FLOPs");
    for (std::size_t kind = 0; kind < floptally::byte_kind_count; ++kind) {
        table += fmt::format("{:>13}", floptally::name(static_cast<floptally::byte_kind>(kind)));
    }
    table += fmt::format("{:>13}{:>13}\n", "bytes", "FLOPs/byte");
    const auto put = [&](std::string_view name, floptally::flops work, const auto& of) {
        table += fmt::format("{:<24}{:>12.4g}", name, floptally::to_double(work));
        for (std::size_t kind = 0; kind < floptally::byte_kind_count; ++kind) {
            const auto moved = floptally::flops{of.total(static_cast<floptally::byte_kind>(kind))};
            table += fmt::format("{:>13.4g}", floptally::to_double(moved));
        }
        table += fmt::format("{:>13.4g}{:>13.4g}\n", floptally::to_double(floptally::flops{of.total()}),
                             floptally::arithmetic_intensity(work, of.total()));
    };
    for (const floptally::component_bytes& one : made.moved.components) {
        put(one.name.view(), made.executed(one.name.view()), one);
    }
    put("total", made.executed(), made.moved);
    table += fmt::format(
        "executed FLOPs; weights of {} bits read {} time{} a pass; attention and element-wise work are fused\n",
        made.bits.weights, made.batches, made.batches == 1 ? "" : "s");
    if (!made.moved.unsaid.empty()) {
        table += fmt::format("activations are not said, and not counted, of: {}\n", fmt::join(made.moved.unsaid, ", "));
    }
    if (!made.moved.at_most.empty()) {
        table += fmt::format("at most so many bytes are moved of: {}\n", fmt::join(made.moved.at_most, ", "));
    }
    return made.mbu ? table + fmt::format("MBU {:.2f} %: weights and cache, of what the memory could move\n",
                                          100 * *made.mbu)
                    : table;
}

/// The same as JSON; counts are decimal strings.
inline std::string bytes_json(const floptally::byte_report& made, int indent = -1) {
    using json = nlohmann::ordered_json;
    const auto line = [](floptally::flops work, const auto& of) {
        json bytes = json::object();
        for (std::size_t i = 0; i < floptally::byte_kind_count; ++i) {
            const auto kind = static_cast<floptally::byte_kind>(i);
            bytes[std::string(floptally::name(kind))] = to_text(of.total(kind));
        }
        bytes["total"] = to_text(of.total());
        return json{{"flops", floptally::to_string(work)},
                    {"bytes", bytes},
                    {"intensity", floptally::arithmetic_intensity(work, of.total())}};
    };
    json components = json::array();
    for (const floptally::component_bytes& one : made.moved.components) {
        json named{{"name", one.name.view()}};
        named.update(line(made.executed(one.name.view()), one));
        components.push_back(named);
    }
    json out{{"version", floptally::version}, {"model_type", made.model_type},
             {"batches", made.batches},       {"bits", json::object()},
             {"components", components},      {"total", line(made.executed(), made.moved)},
             {"unsaid", made.moved.unsaid},   {"at_most", made.moved.at_most}};
    for (std::size_t i = 0; i < floptally::byte_kind_count; ++i) {
        const auto kind = static_cast<floptally::byte_kind>(i);
        out["bits"][std::string(floptally::name(kind))] = made.bits.of(kind);
    }
    if (made.memory_tbps) {
        out["memory_tbps"] = *made.memory_tbps;
    }
    if (made.mbu) {
        out["mbu"] = *made.mbu;
    }
    return out.dump(indent);
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
                                .moved = bytes_of(args, model, counted.plan),
                                .bits = bits_of(args),
                                .batches = batches_of(args),
                                .memory_tbps = memory_tbps_of(args)};
    if (const auto seconds = args.text("seconds")) {
        if (counted.plan.counted != floptally::counted_passes::forward) {
            throw error("phase", "must be forward: an MBU is of a decode step");
        }
        const double tbps =
            made.memory_tbps ? *made.memory_tbps : floptally::memory_tbps_named(args.required("accelerator", "NAME"));
        made.mbu = floptally::model_bandwidth_utilization(made.moved, parse_positive(*seconds, "seconds"),
                                                          gpus_of(args), tbps);
    }
    return args.as_json() ? bytes_json(made, 2) + "\n" : bytes_table(made);
}

}  // namespace program

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/hardware.hpp>
#include <floptally/json.hpp>
#include <floptally/layout.hpp>
#include <floptally/memory.hpp>
#include <floptally/report_json.hpp>
#include <floptally/search.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "bytes.hpp"
#include "count.hpp"
#include "fit.hpp"
#include "measure.hpp"
#include "network.hpp"
#include "ranks.hpp"

/// @file
/// `floptally search`: the layouts of a model that fit a cluster, soonest first; and the parts of `fit` that search.

namespace program {

inline void add_search_options(cxxopts::Options& options) {
    add_flops_options(options);
    add_peak_options(options);
    auto add = options.add_options("Cluster");
    add("gpus-per-node", "consecutive ranks on one node", cxxopts::value<std::string>(), "8");
    add("network-gbps", "GB/s that a GPU sends: within=450,between=50; known for the accelerators of docs/search.md",
        cxxopts::value<std::string>(), "LIST");
    add("memory-tbps", "bandwidth of one GPU's memory, for the optimizer; wins over --accelerator",
        cxxopts::value<std::string>(), "X");
    add("efficiency", "part of the peak that products reach, such as 60%; fitted to published steps if it is not given",
        cxxopts::value<std::string>(), "X");
    auto search = options.add_options("Search");
    search("global-batch", "sequences of a step; of one length where --lengths has one", cxxopts::value<std::string>(),
           "N");
    search("trainer", "whose splits, schedules and overlap: megatron, torchtitan or fsdp",
           cxxopts::value<std::string>(), "megatron");
    search("largest-microbatch", "most sequences of a microbatch", cxxopts::value<std::string>(), "8");
    search("least-context", "least tokens of a sequence on each context parallel rank", cxxopts::value<std::string>(),
           "2048");
    search("top", "layouts to show", cxxopts::value<std::string>(), "20");
    search("explain", "why a layout is missing, or its place: tp=2,pp=4,mb=1 or a trainer's settings",
           cxxopts::value<std::string>(), "LAYOUT");
    auto fixed = options.add_options("Held fixed");
    for (const char* const size : {"dp", "cp", "tp", "pp", "vpp", "ep", "etp", "dp-replicate"}) {
        fixed(size, "as in `fit`: searches only layouts with this size", cxxopts::value<std::string>(), "N");
    }
    fixed("micro-batch-size", "sequences of a microbatch", cxxopts::value<std::string>(), "N");
    fixed("zero", "none, optimizer, gradients or weights", cxxopts::value<std::string>(), "WHAT");
    fixed("schedule", "gpipe, 1f1b, interleaved or zero_bubble", cxxopts::value<std::string>(), "NAME");
    fixed("sequence-parallel", "true or false; true where tp is above 1", cxxopts::value<std::string>(), "true");
    fixed("context-exchange", "ring, all_gather or ulysses", cxxopts::value<std::string>(), "ring");
    for (const auto& [option, meaning, value] : rank_options) {
        const std::string name = option;
        if (name.find("layer") != std::string::npos || name.find("account") == 0 ||
            name == "pipeline-model-parallel-layout") {
            fixed(option, meaning, cxxopts::value<std::string>(), value);
        }
    }
    add_held_options(options);
}

/// The sequences of the global batch. One length stands for all of --global-batch.
inline std::vector<std::uint64_t> read_global_batch(const arguments& args) {
    const read_input input(args);
    const floptally::model_input& all = input.get();
    if (all.lengths.size() != 1 || all.formats() != 1 || all.lengths.front().row_length) {
        throw error(
            "lengths",
            "must be the sequences of a global batch: pass --lengths or --lengths-file without --row-length and "
            "without other batch options");
    }
    std::vector<std::uint64_t> lengths = all.lengths.front().lengths.visit(
        [](const auto& numbers) { return floptally::detail::nonnegative(numbers, "lengths"); });
    const auto global = args.text("global-batch");
    if (global) {
        const std::uint64_t count = parse_count(*global, "global_batch", 1, 1U << 20U);
        if (lengths.size() == 1) {
            lengths.resize(count, lengths.front());
        }
        if (lengths.size() != count) {
            throw error("global_batch",
                        fmt::format("must be {}, the number of sequences of --lengths, got {}: leave it out",
                                    lengths.size(), count));
        }
    }
    return lengths;
}

/// The cluster of the options, and the sentence that says where its efficiency is from.
inline std::pair<floptally::training_cluster, std::string> read_cluster(const arguments& args,
                                                                        const floptally::model_config& model) {
    const std::uint64_t gpus = gpus_of(args);
    const std::string precision = args.text("precision").value_or("bf16");
    const auto accelerator = args.text("accelerator");
    const auto peak = args.text("peak-tflops");
    floptally::training_cluster cluster{.gpus = gpus};
    if (accelerator) {
        cluster = floptally::cluster_named(*accelerator, precision, gpus);
    } else if (!peak) {
        static_cast<void>(peak_of(args));
    }
    if (peak) {
        cluster.peak_tflops = parse_positive(*peak, "peak_tflops");
        cluster.other_peak_tflops = 0;
    }
    if (const auto memory = args.text("memory-gib")) {
        cluster.memory_gib = parse_positive(*memory, "memory_gib");
    } else if (!(cluster.memory_gib > 0)) {
        throw error("memory_gib", "is missing: pass --memory-gib X, or an --accelerator whose memory is known");
    }
    if (const auto memory = args.text("memory-tbps")) {
        cluster.memory_tbps = parse_positive(*memory, "memory_tbps");
    }
    cluster.reserve_gib = parse_number_from_0(args, "reserve-gib");
    if (args.text("gpus-per-node")) {
        cluster.network.gpus_per_node = gpus_per_node_of(args);
    }
    if (const auto network = args.text("network-gbps")) {
        cluster.network = parse_bandwidths(*network, cluster.network.gpus_per_node);
    } else if (gpus > 1 && !cluster.network.within_nodes) {
        throw error("network_gbps",
                    "is missing: pass --network-gbps within=X,between=Y with --gpus-per-node N; only the "
                    "accelerators of docs/search.md have known bandwidths");
    }
    std::string source = "given";
    if (const auto efficiency = args.text("efficiency")) {
        cluster.efficiency = parse_share(*efficiency, "efficiency").fraction;
    } else {
        const floptally::assumed_efficiency known =
            floptally::efficiency_of(accelerator ? floptally::accelerator_named(*accelerator).name : std::string_view{},
                                     floptally::precision_named(precision), floptally::holds_experts(model.parts));
        cluster.efficiency = known.value;
        source = known.source;
    }
    return {cluster, source};
}

/// The predictor of the options.
inline floptally::layout_predictor read_predictor(const arguments& args, const floptally::model_config& model,
                                                  const floptally::training_cluster& cluster) {
    floptally::training_plan plan = read_plan(args);
    plan.recomputed = floptally::recompute::none;
    if (args.text("convention").value_or("exact") != "exact") {
        throw error("convention",
                    "must be exact, since a search predicts time from the executed FLOPs: leave --convention out");
    }
    const floptally::flop_counter counter(model, floptally::conventions::exact, plan);
    return {
        model.parts,
        floptally::counted_masks(model.cost, counter),
        read_global_batch(args),
        plan,
        read_memory_options(args),
        cluster,
        floptally::trainer_named(args.text("trainer").value_or("megatron")),
        static_cast<floptally::context_exchange>(args.choice("context-exchange", floptally::context_exchange_names))};
}

inline floptally::search_options read_search_options(const arguments& args) {
    floptally::search_options options;
    const auto fixed = [&](const char* option) {
        const auto text = args.text(option);
        return text ? std::optional(parse_count(*text, arguments::field(option), 1, std::uint64_t{1} << 20U))
                    : std::nullopt;
    };
    options.dp = fixed("dp");
    options.cp = fixed("cp");
    options.tp = fixed("tp");
    options.pp = fixed("pp");
    options.vpp = fixed("vpp");
    options.ep = fixed("ep");
    options.etp = fixed("etp");
    options.dp_replicate = fixed("dp-replicate");
    options.microbatch = fixed("micro-batch-size");
    options.largest_microbatch = fixed("largest-microbatch").value_or(options.largest_microbatch);
    options.least_context = fixed("least-context").value_or(options.least_context);
    if (args.text("zero")) {
        options.sharded = static_cast<floptally::zero_stage>(args.choice("zero", floptally::zero_stage_names));
    }
    if (args.text("recompute")) {
        options.recomputed = static_cast<floptally::recompute>(args.choice("recompute", floptally::recompute_names));
    }
    if (args.text("schedule")) {
        options.schedule =
            static_cast<floptally::pipeline_schedule>(args.choice("schedule", floptally::pipeline_schedule_names));
    }
    if (args.text("sequence-parallel")) {
        options.sequence_parallel = args.choice("sequence-parallel", {"true", "false"}) == 0;
    }
    return options;
}

/// Writes how far a long search is to standard error, if that is a terminal's or a log's to read.
inline std::function<void(std::uint64_t, std::uint64_t)> progress_of_search() {
    return [](std::uint64_t tried, std::uint64_t all) {
        constexpr std::uint64_t long_search = 20'000;
        if (all >= long_search && (tried % 8192 == 0 || tried == all)) {
            std::fputs(fmt::format("floptally: tried {} of {} layouts\n", tried, all).c_str(), stderr);
        }
    };
}

/// The layouts that fit. With a measured step it is shown too, and its efficiency is the one in `args`.
inline std::string run_search(const arguments& args, const floptally::model_config& model,
                              const std::optional<floptally::measured_step>& measured) {
    const auto [cluster, source] = read_cluster(args, model);
    floptally::layout_predictor predictor = read_predictor(args, model, cluster);
    floptally::search_options options = read_search_options(args);
    options.progress = progress_of_search();
    floptally::layout_search search = floptally::search_layouts(predictor, options);
    search.measured = measured;
    search.assumed.front() += "; " + (measured ? "as in the measured step" : source);
    if (const auto text = args.text("explain")) {
        const floptally::training_layout layout = floptally::training_layout_named(*text, predictor, options);
        const std::string answer = floptally::explain(predictor, search, layout);
        return args.as_json()
                   ? nlohmann::ordered_json{{"layout", floptally::to_json(predictor, layout)}, {"explanation", answer}}
                             .dump(2) +
                         "\n"
                   : answer + "\n";
    }
    const std::size_t top = parse_count(args.text("top").value_or("20"), "top", 1, 1'000'000);
    const char* const formats[] = {"table", "json", "markdown", "megatron", "torchtitan", "areal", "fsdp2"};
    const std::size_t format = args.choice("format", formats);
    if (format >= 3) {
        if (search.found.empty()) {
            throw error("format",
                        fmt::format("no layout was found: {} layouts need too much memory and {} do not divide the "
                                    "model, batch or GPUs; search with more memory, or with fewer fixed sizes",
                                    search.too_large, search.impossible));
        }
        constexpr floptally::layout_format written[] = {
            floptally::layout_format::megatron, floptally::layout_format::torchtitan, floptally::layout_format::areal,
            floptally::layout_format::fsdp2};
        return floptally::settings_of(predictor, search.found.front().layout, written[format - 3]);
    }
    return format == 0   ? floptally::to_table(search, top)
           : format == 1 ? floptally::to_json(predictor, search, top).dump(2) + "\n"
                         : floptally::to_markdown(floptally::table_of(search, top));
}

inline std::string run_search(const arguments& args) { return run_search(args, read_model(args), {}); }

}  // namespace program

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/pipeline.hpp>
#include <floptally/waterfall.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "ranks.hpp"

/// @file
/// `floptally whatif --best`: pipeline layouts with the same GPUs and microbatches that fit the memory, fastest first.

namespace program {

inline void add_best_options(cxxopts::Options& options) {
    options.add_options("Search")("best",
                                  "find other pipeline layouts with the same GPUs and microbatches, fastest first")(
        "memory-gib", "memory of one GPU in GiB, for --best", cxxopts::value<std::string>(), "X")(
        "zero", "states that data parallel ranks shard: none, optimizer, gradients or weights",
        cxxopts::value<std::string>(),
        "WHAT")("activation-gib", "measured GiB of one microbatch, of one GPU of each stage, summed over the stages",
                cxxopts::value<std::string>(), "X");
}

/// A layout of `--best`, with its predicted step time.
struct found_layout {
    std::map<std::string, std::string> options{};
    double memory_gib = 0;  ///< of the rank with the most: states, and activations if they were passed
    double seconds = 0;
    double mfu = 0;
    double bound = 0;  ///< MFU with kernels at their peak
};

/// The result of a search, and what it left out.
struct layout_search {
    std::vector<found_layout> found{};
    std::uint64_t too_large = 0;   ///< how many do not fit the memory
    std::uint64_t impossible = 0;  ///< how many do not divide the layers or microbatches
    std::string common_settings{};
};

/// All pipelines with the measured step's GPUs, GPUs per stage and microbatches. `then(options)` returns the time
/// breakdown of one.
template <class Then>
layout_search search_layouts(const arguments& args, const floptally::model_config& model,
                             const floptally::waterfall& measured, Then then) {
    for (const char* option :
         {"rank-work", "micro-batch-size", "layers-of-chunks", "num-layers-in-first-pipeline-stage",
          "num-layers-in-last-pipeline-stage", "account-for-embedding-in-pipeline-split",
          "account-for-loss-in-pipeline-split", "pipeline-model-parallel-layout", "layer-split", "batches"}) {
        if (args.text(option)) {
            throw error("best",
                        fmt::format("searches only pipelines with equal stages and equal microbatches: leave --{} out",
                                    option));
        }
    }
    const auto number = [&](const char* option) {
        return parse_count(args.required(option, "N"), arguments::field(option), 1, std::uint64_t{1} << 24U);
    };
    const auto activations = args.text("activation-gib");
    const auto idle = args.text("idle-gpus");
    const std::uint64_t working = gpus_of(args) - (idle ? parse_count(*idle, "idle_gpus", 0, gpus_of(args) - 1) : 0);
    const std::uint64_t pipelines = number("pp") * number("replicas");
    const floptally::pipeline_search_options options{
        .pipeline_ranks = pipelines,
        .microbatches = number("microbatches") * number("replicas"),
        .gpus_of_stage = working / pipelines,
        .memory_gib = parse_positive(args.required("memory-gib", "X"), "memory_gib"),
        .sharded =
            static_cast<floptally::zero_stage>(args.choice("zero", {"none", "optimizer", "gradients", "weights"})),
        .activation_gib = activations ? parse_positive(*activations, "activation_gib") : 0};
    const floptally::pipeline_search fitting = floptally::pipelines_that_fit(model.parts, read_plan(args), options);
    layout_search search{.too_large = fitting.too_large,
                         .impossible = fitting.impossible,
                         .common_settings = floptally::kept_in(options)};
    for (const floptally::fitting_pipeline& pipeline : fitting.found) {
        found_layout layout{
            .options = {{"pp", std::to_string(pipeline.pp)},
                        {"replicas", std::to_string(pipeline.replicas)},
                        {"vpp", std::to_string(pipeline.vpp)},
                        {"microbatches", std::to_string(pipeline.microbatches)},
                        {"schedule", floptally::pipeline_schedule_names[static_cast<std::size_t>(pipeline.schedule)]}},
            .memory_gib = pipeline.memory_gib};
        const floptally::time_breakdown timed = then(layout.options);
        const floptally::waterfall predicted = floptally::what_if(timed, measured);
        layout.seconds = predicted.seconds();
        layout.mfu = predicted.mfu();
        layout.bound = floptally::what_if(timed, measured, 1).mfu();
        search.found.push_back(std::move(layout));
    }
    std::stable_sort(search.found.begin(), search.found.end(),
                     [](const found_layout& a, const found_layout& b) { return a.seconds < b.seconds; });
    return search;
}

inline std::string show(const layout_search& search) {
    std::string table = fmt::format("{:>6}{:>10}{:>6}{:>14}{:>14}{:>10}{:>12}{:>9}{:>9}\n", "pp", "replicas", "vpp",
                                    "microbatches", "schedule", "GiB", "seconds", "MFU %", "bound");
    for (std::size_t i = 0; i < search.found.size() && i < 10; ++i) {
        const found_layout& layout = search.found[i];
        table += fmt::format("{:>6}{:>10}{:>6}{:>14}{:>14}{:>10.2f}{:>12.6f}{:>9.2f}{:>9.2f}\n",
                             layout.options.at("pp"), layout.options.at("replicas"), layout.options.at("vpp"),
                             layout.options.at("microbatches"), layout.options.at("schedule"), layout.memory_gib,
                             layout.seconds, 100 * layout.mfu, 100 * layout.bound);
    }
    return table + fmt::format("{} layouts fit, {} do not, {} cannot be split evenly; {}\n", search.found.size(),
                               search.too_large, search.impossible, search.common_settings);
}

inline nlohmann::ordered_json to_json(const layout_search& search) {
    nlohmann::ordered_json layouts = nlohmann::ordered_json::array();
    for (const found_layout& layout : search.found) {
        const auto number = [&](const char* name) { return std::stoull(layout.options.at(name)); };
        layouts.push_back({{"pp", number("pp")},
                           {"replicas", number("replicas")},
                           {"vpp", number("vpp")},
                           {"microbatches", number("microbatches")},
                           {"schedule", layout.options.at("schedule")},
                           {"memory_gib", layout.memory_gib},
                           {"seconds", layout.seconds},
                           {"mfu", layout.mfu},
                           {"mfu_bound", layout.bound}});
    }
    return {{"layouts", layouts},
            {"too_large", search.too_large},
            {"impossible", search.impossible},
            {"kept", search.common_settings}};
}

}  // namespace program

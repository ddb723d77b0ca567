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

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/pipeline_search.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/what_if.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "ranks.hpp"

/// @file
/// `floptally whatif --best`: pipelines of as many GPUs and microbatches that fit the memory, soonest first.

namespace program {

inline void add_best_options(cxxopts::Options& options) {
    options.add_options("Search")("best", "other pipelines of as many GPUs and microbatches, soonest first")(
        "memory-gib", "of one GPU, for --best", cxxopts::value<std::string>(), "X")(
        "zero", "states that data parallel ranks split: none, optimizer, gradients or weights",
        cxxopts::value<std::string>(),
        "WHAT")("activation-gib", "of one microbatch in all stages together, on one GPU of each, as measured",
                cxxopts::value<std::string>(), "X");
}

/// A layout of `--best`, and how long its step would take.
struct found_layout {
    std::map<std::string, std::string> options{};
    double memory_gib = 0;  ///< of the rank with the most: states, and activations where they were given
    double seconds = 0;
    double mfu = 0;
    double bound = 0;  ///< MFU with kernels at their peak
};

/// A search, and what it left out.
struct layout_search {
    std::vector<found_layout> found{};
    std::uint64_t too_large = 0;   ///< do not fit the memory
    std::uint64_t impossible = 0;  ///< layers or microbatches do not divide
    std::string kept{};
};

/// All pipelines of the measured step's GPUs, GPUs of a stage and microbatches. `then(options)` is the account of one.
template <class Then>
layout_search search_layouts(const arguments& args, const floptally::model_config& model,
                             const floptally::waterfall& measured, Then then) {
    for (const char* option :
         {"rank-work", "micro-batch-size", "layers-of-chunks", "num-layers-in-first-pipeline-stage",
          "num-layers-in-last-pipeline-stage", "account-for-embedding-in-pipeline-split",
          "account-for-loss-in-pipeline-split", "batches"}) {
        if (args.text(option)) {
            throw error("best", fmt::format("searches equal stages and microbatches; take --{} away", option));
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
    layout_search search{
        .too_large = fitting.too_large, .impossible = fitting.impossible, .kept = floptally::kept_in(options)};
    for (const floptally::fitting_pipeline& pipeline : fitting.found) {
        found_layout layout{
            .options = {{"pp", std::to_string(pipeline.pp)},
                        {"replicas", std::to_string(pipeline.replicas)},
                        {"vpp", std::to_string(pipeline.vpp)},
                        {"microbatches", std::to_string(pipeline.microbatches)},
                        {"schedule", floptally::pipeline_schedule_names[static_cast<std::size_t>(pipeline.schedule)]}},
            .memory_gib = pipeline.memory_gib};
        const floptally::step_account account = then(layout.options);
        const floptally::waterfall made = floptally::what_if(account, measured);
        layout.seconds = made.seconds();
        layout.mfu = made.mfu();
        layout.bound = floptally::what_if(account, measured, 1).mfu();
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
                               search.too_large, search.impossible, search.kept);
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
            {"kept", search.kept}};
}

}  // namespace program

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

#include <floptally/count/trained_parameters.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/waterfall/waterfall.hpp>

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
    bool has_activations = false;
    std::uint64_t gpus_of_stage = 1;
};

/// The memory of the rank with the most, in GiB.
inline double memory_of(const floptally::model_config& model, const floptally::training_plan& plan,
                        const floptally::pipeline_order& order, const floptally::pipeline_split& split,
                        const floptally::memory_plan& states, std::uint64_t gpus_of_stage, double activation_gib) {
    const std::size_t ranks = order.ranks().size();
    std::vector<std::uint64_t> layers;
    for (const floptally::index_range& chunk : split.chunks()) {
        layers.push_back(chunk.size());
    }
    const floptally::pipeline_split chunks(layers.size(), layers);  // each chunk on a rank of its own
    std::vector<floptally::parameter_counts> held(ranks);
    for (std::uint64_t chunk = 0; chunk < layers.size(); ++chunk) {
        const floptally::parameter_counts own =
            floptally::trained_parameters(chunks.parts_of(model.parts, chunk), plan);
        held[order.rank_of(chunk)].stored += own.stored;
        held[order.rank_of(chunk)].trainable += own.trainable;
    }
    const std::vector<std::uint64_t> most = order.most_held(layers);
    double largest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto share = [&](std::uint64_t count) { return (count + gpus_of_stage - 1) / gpus_of_stage; };
        const double bytes = static_cast<double>(
            floptally::state_bytes_of(share(held[rank].stored), share(held[rank].trainable), states).total());
        const double activations =
            activation_gib * static_cast<double>(most[rank]) / static_cast<double>(split.num_layers());
        largest = std::max(largest, bytes / (1024.0 * 1024 * 1024) + activations);
    }
    return largest;
}

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
    const double memory_gib = parse_positive(args.required("memory-gib", "X"), "memory_gib");
    const auto activations = args.text("activation-gib");
    const double activation_gib = activations ? parse_positive(*activations, "activation_gib") : 0;
    const auto idle = args.text("idle-gpus");
    const std::uint64_t working = gpus_of(args) - (idle ? parse_count(*idle, "idle_gpus", 0, gpus_of(args) - 1) : 0);
    const std::uint64_t pipelines = number("pp") * number("replicas");
    const std::uint64_t microbatches = number("microbatches") * number("replicas");
    const floptally::training_plan plan = read_plan(args);
    const auto sharded =
        static_cast<floptally::zero_stage>(args.choice("zero", {"none", "optimizer", "gradients", "weights"}));
    layout_search search{.has_activations = activations.has_value(), .gpus_of_stage = working / pipelines};
    using floptally::pipeline_schedule;
    for (std::uint64_t pp = 1; pp <= pipelines; ++pp) {
        const std::uint64_t replicas = pipelines / pp;
        if (pipelines % pp != 0) {
            continue;
        }
        if (microbatches % replicas != 0) {
            ++search.impossible;
            continue;
        }
        std::vector<std::pair<pipeline_schedule, std::uint64_t>> schedules = {{pipeline_schedule::one_f_one_b, 1}};
        for (std::uint64_t vpp = 2; pp > 1 && vpp <= 16; vpp *= 2) {
            schedules.emplace_back(pipeline_schedule::interleaved, vpp);
        }
        if (pp > 1) {
            schedules.emplace_back(pipeline_schedule::zero_bubble, 1);
            schedules.emplace_back(pipeline_schedule::zb_v, 2);
        }
        for (const auto& [schedule, vpp] : schedules) {
            const std::uint64_t own = microbatches / replicas;
            const std::uint64_t layers = floptally::num_layers(model.parts);
            if (layers % (pp * vpp) != 0 || (schedule == pipeline_schedule::interleaved && own % pp != 0)) {
                ++search.impossible;
                continue;
            }
            const floptally::pipeline_order order(schedule, pp, vpp, own);
            const double needs =
                memory_of(model, plan, order, floptally::pipeline_split::even(layers, pp, vpp),
                          {.sharded = sharded, .data_parallel = replicas}, search.gpus_of_stage, activation_gib);
            if (needs > memory_gib) {
                ++search.too_large;
                continue;
            }
            found_layout layout{
                .options = {{"pp", std::to_string(pp)},
                            {"replicas", std::to_string(replicas)},
                            {"vpp", std::to_string(vpp)},
                            {"microbatches", std::to_string(own)},
                            {"schedule", floptally::pipeline_schedule_names[static_cast<std::size_t>(schedule)]}},
                .memory_gib = needs};
            const floptally::step_account account = then(layout.options);
            const floptally::waterfall made = floptally::what_if(account, measured);
            layout.seconds = made.seconds();
            layout.mfu = made.mfu();
            layout.bound = floptally::what_if(account, measured, 1).mfu();
            search.found.push_back(std::move(layout));
        }
    }
    std::stable_sort(search.found.begin(), search.found.end(),
                     [](const found_layout& a, const found_layout& b) { return a.seconds < b.seconds; });
    return search;
}

inline std::string kept_in(const layout_search& search) {
    return fmt::format(
        "kept: the batch and its microbatches, {} GPU{} of each stage, precision, recompute, times apart and what "
        "kernels reach; "
        "memory is {}, evenly split among the GPUs of a stage",
        search.gpus_of_stage, search.gpus_of_stage == 1 ? "" : "s",
        search.has_activations ? "weights, gradients, optimizer and activations by layers that are held"
                               : "weights, gradients and optimizer alone, without activations");
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
                               search.too_large, search.impossible, kept_in(search));
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
            {"kept", kept_in(search)}};
}

}  // namespace program

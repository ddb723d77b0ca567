// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/model_config.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/waterfall/masked_tiles.hpp>
#include <floptally/waterfall/pipeline_work.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_json.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally waterfall` and `whatif`: where the time of a step went, and where it would go.

namespace program {

/// Options of which `whatif` takes another value, as --then-NAME.
inline constexpr const char* changeable[][3] = {
    {"recompute", "none, full or attention", "WHAT"},
    {"recompute-components", "components that the backward computes again besides", "mlp,moe.experts"},
    {"recompute-every", "recompute in the n-th, 2n-th, ... layer only", "N"},
    {"attention-backward", "fused (computes QK^T once more) or eager", "HOW"},
    {"repeated", "ranks that run the same work: vision.*=4", "LIST"},
    {"precisions", "of components and layers: mlp=fp8,@1-30=fp8", "LIST"},
    {"gpus", "how many took part", "N"},
    {"idle-gpus", "of --gpus, those that run none of the work", "N"},
    {"rank-work", "own work of each rank, in any unit", "5,6,5,9"},
    {"tile", "queries by keys that an attention kernel computes at once", "128x128"},
    {"pp", "ranks of a pipeline", "N"},
    {"vpp", "chunks of layers on each of them", "N"},
    {"microbatches", "that each pipeline runs in the step", "N"},
    {"schedule", "gpipe, 1f1b, interleaved or zero_bubble", "NAME"},
    {"apart", "seconds of the step that are no work: data_wait=0.02,optimizer=0.01", "LIST"}};

inline void add_account_options(cxxopts::Options& options) {
    for (const auto& one : changeable) {
        const std::string_view name = one[0];
        const bool is_new = name == "idle-gpus" || name == "rank-work" || name == "tile" || name == "pp" ||
                            name == "vpp" || name == "microbatches" || name == "schedule" || name == "apart";
        if (is_new) {
            options.add_options("Where the time goes")(one[0], one[1], cxxopts::value<std::string>(), one[2]);
        }
    }
}

inline void add_waterfall_options(cxxopts::Options& options) {
    add_mfu_options(options);
    add_account_options(options);
}

inline void add_whatif_options(cxxopts::Options& options) {
    add_waterfall_options(options);
    for (const auto& one : changeable) {
        options.add_options("What if")(std::string("then-") + one[0], one[1], cxxopts::value<std::string>(), one[2]);
    }
}

inline std::vector<std::string_view> parts_of_list(std::string_view list, char apart) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(apart, begin), list.size());
        parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

inline floptally::attention_tile parse_tile(std::string_view text) {
    const std::vector<std::string_view> sides = parts_of_list(text, 'x');
    if (sides.size() != 2) {
        throw error("tile", fmt::format("must be ROWSxKEYS, as 128x128, got \"{}\"", text));
    }
    return {parse_count(sides[0], "tile", 1, 1U << 20U), parse_count(sides[1], "tile", 1, 1U << 20U)};
}

inline std::vector<floptally::time_apart> parse_times(std::string_view text) {
    std::vector<floptally::time_apart> times;
    for (const std::string_view one : parts_of_list(text, ',')) {
        const std::size_t equals = one.find('=');
        const auto seconds = equals == std::string_view::npos ? std::nullopt : parse<double>(one.substr(equals + 1));
        if (!seconds || equals == 0) {
            throw error("apart", fmt::format("must be NAME=SECONDS, apart by commas, got \"{}\"", one));
        }
        times.push_back({std::string(one.substr(0, equals)), *seconds});
    }
    return times;
}

/// From a pipeline's own stages, or from the work of each rank.
inline std::optional<floptally::rank_times> read_ranks(const arguments& args, const floptally::model_config& model,
                                                       const floptally::report& counted) {
    const auto pp = args.text("pp");
    const auto loads = args.text("rank-work");
    for (const char* const needs_pp : {"vpp", "microbatches", "schedule"}) {
        if (!pp && args.text(needs_pp)) {
            throw error("pp", fmt::format("is missing; --{} is of a pipeline", needs_pp));
        }
    }
    if (!pp) {
        if (!loads) {
            return {};
        }
        std::vector<std::uint64_t> work;
        for (const std::int64_t one : parse_integers(*loads, "rank_work")) {
            if (one < 0) {
                throw error(floptally::indexed("rank_work", work.size()),
                            fmt::format("must be at least 0, got {}", one));
            }
            work.push_back(static_cast<std::uint64_t>(one));
        }
        return floptally::rank_times::of(work);
    }
    if (loads) {
        throw error("rank_work", "is given beside --pp, whose ranks have the work of their layers");
    }
    const std::uint64_t stages = parse_count(*pp, "pp", 1, 1U << 16U);
    const std::uint64_t chunks = parse_count(args.text("vpp").value_or("1"), "vpp", 1, 1U << 16U);
    const std::uint64_t microbatches = parse_count(args.required("microbatches", "N"), "microbatches", 1, 1U << 24U);
    const std::string usual = chunks > 1 ? "interleaved" : "1f1b";
    std::size_t schedule = 0;
    const std::string name = args.text("schedule").value_or(usual);
    while (schedule < std::size(floptally::pipeline_schedule_names) &&
           floptally::pipeline_schedule_names[schedule] != name) {
        ++schedule;
    }
    if (schedule == std::size(floptally::pipeline_schedule_names)) {
        throw error("schedule", fmt::format("must be one of {}, got \"{}\"",
                                            fmt::join(floptally::pipeline_schedule_names, ", "), name));
    }
    const floptally::pipeline_order order(static_cast<floptally::pipeline_schedule>(schedule), stages, chunks,
                                          microbatches);
    const auto split = floptally::pipeline_split::even(floptally::num_layers(model.parts), stages, chunks);
    const std::vector<floptally::pipeline_run> runs = {
        order.run(floptally::pipeline_work(model.parts, split, counted.batch, microbatches, counted.plan))};
    return floptally::rank_times::of(runs);
}

/// FLOPs by the peaks that they run at.
inline std::vector<floptally::work_at_peak> read_work(const arguments& args, const floptally::model_config& model,
                                                      const floptally::report& counted,
                                                      const floptally::training_plan& plan) {
    if (const auto precisions = mixed_precision_of(args, model, counted, plan)) {
        return precisions->by_peak(counted.batch);
    }
    return {{floptally::flop_counter(model, counted.counted_as, plan).evaluate(counted.batch), peak_of(args).tflops}};
}

/// All that the options say of a step but its time.
inline floptally::step_account read_account(const arguments& args, const floptally::model_config& model) {
    const floptally::report counted = count(args, model);
    if (counted.counted_as.name != floptally::conventions::exact.name) {
        throw error("convention", fmt::format("must be exact, whose views a waterfall is made of, got \"{}\"",
                                              counted.counted_as.name));
    }
    floptally::step_account account;
    account.step = {.seconds = 0, .gpus = gpus_of(args), .peak_tflops = peak_of(args).tflops};
    floptally::training_plan once = counted.plan;
    once.repeated = {};
    account.work = read_work(args, model, counted, once);
    if (!counted.plan.repeated.empty()) {
        account.repeated = read_work(args, model, counted, counted.plan);
    }
    if (const auto tile = args.text("tile")) {
        floptally::masked_tiles tiles(model.parts, parse_tile(*tile));
        const read_input input(args);
        floptally::add_input(input.get(), model, tiles, spelling);
        account.masked_tiles =
            std::vector<floptally::work_at_peak>{{tiles.work(counted.plan), account.step.peak_tflops}};
    }
    account.ranks = read_ranks(args, model, counted);
    if (const auto idle = args.text("idle-gpus")) {
        account.idle_gpus = parse_count(*idle, "idle_gpus", 0, account.step.gpus - 1);
    }
    if (const auto apart = args.text("apart")) {
        account.apart = parse_times(*apart);
    }
    return floptally::with_one_gpu_said(std::move(account));
}

inline floptally::waterfall read_waterfall(const arguments& args, const floptally::model_config& model) {
    const double seconds = parse_positive(args.required("seconds", "S"), "seconds");
    floptally::step_account account = read_account(args, model);
    account.step.seconds = seconds;
    return floptally::waterfall(account);
}

inline std::string run_waterfall(const arguments& args) {
    const floptally::waterfall made = read_waterfall(args, read_model(args));
    switch (args.choice("format", {"table", "json", "markdown"})) {
        case 1:
            return floptally::to_json(made).dump(2) + "\n";
        case 2:
            return floptally::to_markdown(made);
        default:
            return floptally::to_table(made);
    }
}

// ---- whatif ----

inline std::string run_whatif(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::waterfall measured = read_waterfall(args, model);
    const floptally::step_account other = read_account(args.with_prefix("then-"), model);
    const floptally::waterfall then = floptally::what_if(other, measured.kernel_rate());
    const floptally::waterfall bound = floptally::what_if(other, 1);
    if (args.as_json()) {
        nlohmann::ordered_json out{{"version", floptally::version},
                                   {"measured", floptally::to_json(measured)},
                                   {"then", floptally::to_json(then)},
                                   {"bound", floptally::to_json(bound)}};
        return out.dump(2) + "\n";
    }
    std::string table = fmt::format("{:<44}{:>14}{:>10}\n", "", "seconds", "MFU %");
    const auto put = [&table](std::string_view name, const floptally::waterfall& one) {
        table += fmt::format("{:<44}{:>14.6f}{:>10.2f}\n", name, one.seconds(), 100 * one.mfu());
    };
    put("measured", measured);
    put("then, with kernels that reach as much", then);
    put("bound: kernels at their peak", bound);
    return table + fmt::format(
                       "kernels reach {:.2f} % of their peak, and all that is not known is in that; times apart are "
                       "kept, messages take none\n",
                       100 * measured.kernel_rate());
}

}  // namespace program

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
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/memory.hpp>
#include <floptally/waterfall.hpp>
#include <floptally/waterfall_json.hpp>

#include "arguments.hpp"
#include "best.hpp"
#include "bytes.hpp"
#include "component_times.hpp"
#include "count.hpp"
#include "measure.hpp"
#include "network.hpp"
#include "ranks.hpp"

/// @file
/// `floptally waterfall` and `whatif`: the lines of a step's time, and the lines with other choices.

namespace program {

inline void add_step_options(cxxopts::Options& options) {
    add_mfu_options(options);
    add_memory_options(options);
    constexpr const char* of_time_breakdown[][3] = {
        {"tile", "queries x keys that an attention kernel computes at once", "128x128"},
        {"apart", "seconds of the step that are not model work: data_wait=0.02,optimizer=0.01", "LIST"},
        {"network-gbps",
         "10^9 bytes that a rank sends a second, for communication that nobody measured: 50, tp=400,dp=50, or "
         "within=450,between=50 with --gpus-per-node",
         "LIST"}};
    const auto add = [&options](const auto& list) {
        for (const auto& [name, meaning, value] : list) {
            options.add_options("Where the time goes")(name, meaning, cxxopts::value<std::string>(), value);
        }
    };
    add(rank_options);
    add(of_time_breakdown);
}

inline void add_waterfall_options(cxxopts::Options& options) {
    add_step_options(options);
    options.add_options("Where the time goes")("by-cost", "the lines that cost most first, each with a bar");
    add_times_options(options);
}

/// Options that the other step may change, as --then-NAME.
inline void add_whatif_options(cxxopts::Options& options) {
    add_step_options(options);
    add_best_options(options);
    std::vector<std::string_view> changeable = {"recompute",
                                                "recompute-components",
                                                "recompute-every",
                                                "attention-backward",
                                                "repeated",
                                                "precisions",
                                                "gpus",
                                                "accelerator",
                                                "peak-tflops",
                                                "precision",
                                                "clock-mhz",
                                                "lengths",
                                                "lengths-file",
                                                "row-length",
                                                "cu-seqlens",
                                                "cu-seqlens-padded",
                                                "num-real-seqs",
                                                "memory-tbps",
                                                "batches",
                                                "network-gbps",
                                                "weight-bits",
                                                "gradient-bits",
                                                "activation-bits",
                                                "tile",
                                                "apart"};
    for (const auto& option : rank_options) {
        changeable.emplace_back(option[0]);
    }
    std::vector<cxxopts::HelpOptionDetails> known;
    for (const std::string& group : options.groups()) {
        for (const cxxopts::HelpOptionDetails& option : options.group_help(group).options) {
            known.push_back(option);
        }
    }
    for (const std::string_view name : changeable) {
        const auto is_named = [name](const cxxopts::HelpOptionDetails& option) {
            return std::find(option.l.begin(), option.l.end(), name) != option.l.end();
        };
        const auto option = std::find_if(known.begin(), known.end(), is_named);
        options.add_options("What if")(fmt::format("then-{}", name), option->desc, cxxopts::value<std::string>(),
                                       option->arg_help);
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
        throw error("tile", fmt::format("must be ROWSxKEYS, such as 128x128, got \"{}\"", text));
    }
    return {parse_count(sides[0], "tile", 1, 1U << 20U), parse_count(sides[1], "tile", 1, 1U << 20U)};
}

inline std::vector<floptally::time_apart> parse_times(std::string_view text) {
    std::vector<floptally::time_apart> times;
    for (const std::string_view item : parts_of_list(text, ',')) {
        const std::size_t equals = item.find('=');
        const auto seconds = equals == std::string_view::npos ? std::nullopt : parse<double>(item.substr(equals + 1));
        if (!seconds || equals == 0) {
            throw error(
                "apart",
                fmt::format("must be NAME=SECONDS, separated by commas, such as data=0.2,checkpoint=0.5, got \"{}\"",
                            item));
        }
        times.push_back({std::string(item.substr(0, equals)), *seconds});
    }
    return times;
}

/// The FLOPs of a step, by the peak that each part runs at.
inline std::vector<floptally::work_at_peak> read_work(const arguments& args, const floptally::model_config& model,
                                                      const floptally::report& counted,
                                                      const floptally::training_plan& plan) {
    if (const auto precisions = mixed_precision_of(args, model, counted, plan)) {
        return precisions->by_peak(counted.batch);
    }
    return {{floptally::flop_counter(model, counted.counted_as, plan).evaluate(counted.batch), peak_of(args).tflops}};
}

/// The time that components need at the memory's bandwidth, if it is known. Each microbatch reads the weights.
inline std::optional<floptally::time_at_memory> read_memory(const arguments& args, const floptally::model_config& model,
                                                            const floptally::training_plan& plan,
                                                            const std::vector<floptally::work_at_peak>& work,
                                                            std::uint64_t microbatches) {
    const auto tbps = memory_tbps_of(args);
    const std::vector<floptally::time_apart> apart =
        args.text("apart") ? parse_times(*args.text("apart")) : std::vector<floptally::time_apart>{};
    const bool has_elementwise =
        args.text("trace") || std::any_of(apart.begin(), apart.end(), [](const floptally::time_apart& time) {
            return floptally::kind_of(time) == floptally::apart_kind::elementwise;
        });
    if (!tbps) {
        return {};
    }
    const bool is_said = args.text("batches") || microbatches != 0;
    const std::uint64_t batches = batches_of(args, std::max<std::uint64_t>(microbatches, 1));
    return floptally::memory_time(bytes_of(args, model, plan, batches), work, *tbps, batches, is_said, has_elementwise);
}

/// The time breakdown of a step from the options, without the step's time.
inline floptally::time_breakdown read_time_breakdown(const arguments& command_args,
                                                     const floptally::model_config& model) {
    const arguments args = with_layout_of_step(command_args);
    const floptally::report counted = count(args, model);
    if (counted.counted_as.name != floptally::conventions::exact.name) {
        throw error("convention", fmt::format("must be exact, since only exact counts the padded and executed FLOPs "
                                              "that a waterfall needs, got \"{}\"",
                                              counted.counted_as.name));
    }
    floptally::time_breakdown timed;
    timed.step = {.seconds = 0, .gpus = gpus_of(args), .peak_tflops = peak_of(args).tflops};
    floptally::training_plan once = counted.plan;
    once.repeated = {};
    timed.work = read_work(args, model, counted, once);
    if (!counted.plan.repeated.empty()) {
        timed.repeated = read_work(args, model, counted, counted.plan);
    }
    const auto precisions = args.text("precisions");
    const std::vector<floptally::precision_setting> settings =
        precisions ? floptally::precision_settings_named(*precisions, args.text("accelerator"), clock_of(args))
                   : std::vector<floptally::precision_setting>{};
    if (const auto tile = args.text("tile")) {
        floptally::masked_tiles tiles(model.parts, parse_tile(*tile));
        const read_input input(args);
        floptally::add_input(input.get(), model, tiles, spelling);
        timed.masked_tiles = tiles.by_peak(counted.plan, timed.step.peak_tflops, settings);
    }
    if (const auto idle = args.text("idle-gpus")) {
        timed.idle_gpus = parse_count(*idle, "idle_gpus", 0, timed.step.gpus - 1);
    }
    const std::optional<floptally::layout_work> layout = read_layout(args, model, counted, settings);
    if (layout) {
        timed.repeated = layout->run;
    }
    const auto [ranks, microbatches] =
        read_ranks(args, model, counted, layout, settings, timed.step.gpus - timed.idle_gpus.value_or(0));
    timed.ranks = ranks;
    if (const auto apart = args.text("apart")) {
        timed.apart = parse_times(*apart);
    }
    if (auto sent = read_communication(args, model, counted, layout, timed)) {
        timed.apart.push_back(std::move(*sent));
    }
    timed.memory_bound = read_memory(args, model, once, timed.work, microbatches);
    return floptally::with_one_gpu_defaults(std::move(timed));
}

inline floptally::waterfall read_waterfall(const arguments& args, const floptally::model_config& model) {
    const double seconds = parse_positive(args.required("seconds", "S"), "seconds");
    floptally::time_breakdown timed = read_time_breakdown(args, model);
    timed.step.seconds = seconds;
    return floptally::waterfall(timed);
}

inline std::string run_waterfall(const arguments& args) {
    const floptally::model_config model = read_model(args);
    floptally::time_breakdown timed = read_time_breakdown(args, model);
    const std::optional<measured_times> times = read_times(args, timed.work);
    const bool says_seconds = times && times->measured.seconds && !args.text("seconds");
    timed.step.seconds =
        says_seconds ? *times->measured.seconds : parse_positive(args.required("seconds", "S"), "seconds");
    const floptally::waterfall whole_step(times ? floptally::with_traces(timed, times->traced) : timed);
    std::optional<floptally::component_waterfall> components;
    std::optional<std::vector<floptally::compared_component>> compared;
    if (times) {
        components.emplace(floptally::without_traced(timed, times->traced), times->measured.times);
        compared = read_comparison(args, timed, *components);
    }
    switch (args.choice("format", {"table", "json", "markdown"})) {
        case 1: {
            nlohmann::ordered_json out = floptally::to_json(whole_step);
            if (times) {
                out["components"] = floptally::to_json(*components);
                out["notes"] = times->notes;
                if (!times->lines.empty()) {
                    out["ranks"] = floptally::to_json(times->lines);
                }
                if (compared) {
                    out["compared"] = floptally::to_json(*compared);
                }
            }
            // Names of kernels and modules may have any bytes.
            return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
        }
        case 2:
            return floptally::to_markdown(whole_step) +
                   (times ? show(floptally::to_markdown(*components), times->notes, "\n* ") : "") +
                   (compared ? "\n" + floptally::to_markdown(floptally::table_of(*compared)) : "");
        default:
            return (args.flag("by-cost") ? floptally::to_table_by_cost(whole_step) : floptally::to_table(whole_step)) +
                   (times ? show(floptally::to_table(*components), times->notes, "note: ") : "") +
                   (times && !times->lines.empty() ? "\n" + floptally::to_text(floptally::table_of(times->lines))
                                                   : "") +
                   (compared ? "\n" + floptally::to_text(floptally::table_of(*compared)) : "");
    }
}

inline std::string run_whatif(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const arguments other_args = args.with_prefix("then-");
    if (args.flag("best")) {
        return run_best(args, other_args, model);
    }
    const floptally::waterfall measured = read_waterfall(args, model);
    const floptally::compared_steps steps(measured, read_time_breakdown(other_args, model));
    if (args.as_json()) {
        nlohmann::ordered_json out{{"version", floptally::version},
                                   {"numbers_version", floptally::numbers_version},
                                   {"measured", floptally::to_json(steps.measured)},
                                   {"then", floptally::to_json(steps.predicted)},
                                   {"bound", floptally::to_json(steps.bound)}};
        return out.dump(2) + "\n";
    }
    const floptally::table shown = floptally::table_of(steps);
    return floptally::to_text(shown) + shown.notes.front() + "\n";
}

}  // namespace program

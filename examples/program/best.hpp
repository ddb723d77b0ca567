// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/layout.hpp>
#include <floptally/search.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "ranks.hpp"
#include "search.hpp"

/// @file
/// `floptally whatif --best`: the search of layouts, with the efficiency that a measured step has.

namespace program {

/// Adds the options of `search` that `whatif` does not have, and --best.
inline void add_best_options(cxxopts::Options& options) {
    options.add_options("Search")(
        "best", "list the layouts that fit, as `floptally search`, at the efficiency of the measured step");
    const auto knows = [&options](const std::string& name) {
        for (const std::string& group : options.groups()) {
            for (const cxxopts::HelpOptionDetails& known : options.group_help(group).options) {
                if (std::find(known.l.begin(), known.l.end(), name) != known.l.end()) {
                    return true;
                }
            }
        }
        return false;
    };
    cxxopts::Options search("", "");
    add_search_options(search);
    for (const std::string& group : search.groups()) {
        for (const cxxopts::HelpOptionDetails& one : search.group_help(group).options) {
            const std::string name = one.l.empty() ? std::string() : std::string(one.l.front());
            if (name.empty() || knows(name)) {
                continue;
            }
            if (one.is_boolean) {
                options.add_options("Search")(name, one.desc);
            } else {
                options.add_options("Search")(name, one.desc, cxxopts::value<std::string>(), one.arg_help);
            }
        }
    }
    for (const char* const added : {"dp", "dp-replicate", "zero"}) {
        options.add_options("Search")(fmt::format("then-{}", added), "held fixed by --best",
                                      cxxopts::value<std::string>(), "N");
    }
}

/// The layout of the measured step as text, for `training_layout_named`.
inline std::string measured_layout(const arguments& args) {
    std::string text;
    for (const auto& [name, option] : {std::pair("dp", "replicas"),
                                       {"dp", "dp"},
                                       {"tp", "tp"},
                                       {"cp", "cp"},
                                       {"pp", "pp"},
                                       {"vpp", "vpp"},
                                       {"ep", "ep"},
                                       {"etp", "etp"},
                                       {"dp_replicate", "dp-replicate"},
                                       {"mb", "micro-batch-size"},
                                       {"microbatches", "microbatches"},
                                       {"zero", "zero"},
                                       {"recompute", "recompute"},
                                       {"schedule", "schedule"},
                                       {"sequence_parallel", "sequence-parallel"}}) {
        if (const auto value = args.text(option);
            value && !(option == std::string_view("dp") && args.text("replicas"))) {
            text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, *value);
        }
    }
    return text;
}

/// The options that hold a search fixed. The sizes of the measured step do not; --then-NAME does.
inline std::map<std::string, std::string> fixed_by_then(const arguments& args, const std::string& efficiency) {
    std::map<std::string, std::string> fixed{{"efficiency", efficiency}};
    const auto layout = args.text("then-layout");
    const floptally::parallel_sizes sizes =
        layout ? floptally::read_layout(*layout).sizes : floptally::parallel_sizes{};
    for (const auto& [option, member] : size_options) {
        const std::uint64_t size = member == &floptally::parallel_sizes::etp ? sizes.expert_tp() : sizes.*member;
        fixed[option] = args.text(fmt::format("then-{}", option)).value_or(layout ? std::to_string(size) : "");
    }
    for (const char* const option : {"zero", "recompute"}) {
        fixed[option] = args.text(fmt::format("then-{}", option)).value_or("");
    }
    for (const auto& [option, meaning, value] : rank_options) {
        if (!fixed.contains(option) && option != std::string_view("gpus-per-node")) {
            fixed[option] = args.text(fmt::format("then-{}", option)).value_or("");
        }
    }
    return fixed;
}

/// Lists the layouts that fit, at the efficiency of the step that `args` measured. `then` are the options of the
/// searched steps.
inline std::string run_best(const arguments& args, const arguments& then, const floptally::model_config& model) {
    const auto layout = layout_of(args, gpus_of(args));
    const arguments step = layout ? with_layout(args, *layout) : args;
    auto [cluster, source] = read_cluster(step, model);
    floptally::layout_predictor measured = read_predictor(step, model, cluster);
    const floptally::training_layout now =
        floptally::training_layout_named(measured_layout(step), measured, {}, "layout");
    const floptally::measured_step fitted =
        floptally::fit_efficiency(measured, now, parse_positive(step.required("seconds", "S"), "seconds"));
    return run_search(
        then.with(fixed_by_then(args, step.text("efficiency").value_or(fmt::format("{}", fitted.efficiency)))), model,
        fitted);
}

}  // namespace program

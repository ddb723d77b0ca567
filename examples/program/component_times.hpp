// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace_times.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

#include "arguments.hpp"
#include "batch.hpp"

/// @file
/// Measured times of components, from a file of them or from a trace of PyTorch's profiler.

namespace program {

inline void add_times_options(cxxopts::Options& options) {
    options.add_options("By component")("component-times", "measured times of components, as JSON",
                                        cxxopts::value<std::string>(), "FILE")(
        "trace", "of a step, by torch.profiler's export_chrome_trace", cxxopts::value<std::string>(), "FILE")(
        "modules", "components of modules in the trace, before the usual ones: *.mixer=mamba,op:my::*=mlp",
        cxxopts::value<std::string>(), "LIST");
}

/// The times of components from the options; none where there are no such options.
struct measured_times {
    floptally::component_times given{};
    std::vector<std::string> notes{};
};

/// The measured times from the options, for the work of a step, among whose components a trace's parts are looked up.
inline std::optional<measured_times> read_times(const arguments& args,
                                                const std::vector<floptally::work_at_peak>& work) {
    const auto times = args.text("component-times");
    const auto trace = args.text("trace");
    const auto modules = args.text("modules");
    if (times && trace) {
        throw error("component_times", "is given beside --trace: one of them says the times");
    }
    if (modules && !trace) {
        throw error("modules", "is given without --trace, whose modules it names");
    }
    if (times) {
        const nlohmann::json file = nlohmann::json::parse(read_file(*times, "component_times"), nullptr, false);
        if (file.is_discarded()) {
            throw error("component_times", fmt::format("is no JSON: \"{}\"", *times));
        }
        return measured_times{floptally::read_component_times(file), {}};
    }
    if (!trace) {
        return {};
    }
    const floptally::trace_times made(floptally::load_kineto_trace(*trace),
                                      modules ? floptally::module_map_named(*modules) : floptally::module_map{});
    floptally::breakdown all;
    for (const floptally::work_at_peak& piece : work) {
        all += piece.work;
    }
    return measured_times{{made.seconds(), made.parts(all)},
                          std::vector<std::string>(made.notes().begin(), made.notes().end())};
}

/// The report by component, after that of the whole, with each note in a line of its own.
inline std::string show(const std::string& by_component, const std::vector<std::string>& notes, std::string_view mark) {
    std::string text = "\n" + by_component;
    for (const std::string& note : notes) {
        text += fmt::format("{}{}\n", mark, note);
    }
    return text;
}

}  // namespace program

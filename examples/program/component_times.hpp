// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <floptally/core.hpp>
#include <floptally/report_json.hpp>
#include <floptally/waterfall.hpp>
#include <floptally/waterfall_json.hpp>

#include "arguments.hpp"
#include "batch.hpp"

/// @file
/// Reads measured times of components from a file, or from a trace of PyTorch's profiler.

namespace program {

inline void add_times_options(cxxopts::Options& options) {
    options.add_options("By component")("component-times", "measured times of components, as JSON",
                                        cxxopts::value<std::string>(), "FILE")(
        "trace", "trace of a step by torch.profiler's export_chrome_trace; one for each rank, separated by commas",
        cxxopts::value<std::string>(), "FILE[,FILE]")(
        "modules", "components of modules in the trace, tried before the usual ones: *.mixer=mamba,op:my::*=mlp",
        cxxopts::value<std::string>(),
        "LIST")("against", "earlier trace or times of the same model: shows which component became slower",
                cxxopts::value<std::string>(), "FILE");
}

/// The times of components from the options.
struct measured_times {
    floptally::component_times measured{};
    std::vector<std::string> notes{};
    floptally::traced_step traced{};            ///< from a trace: time that is no work, and ranks
    std::vector<floptally::rank_line> lines{};  ///< one for each rank, if several traces were passed
};

/// How to read a trace from its file. An embedding program, such as Python, may unpack gzip in its own way.
inline floptally::trace (*load_trace)(const std::filesystem::path&) = floptally::load_kineto_trace;

/// The times in a file, as JSON.
inline measured_times read_times_of(const std::string& path, const char* field) {
    std::istringstream text(read_file(path, field));
    return {floptally::read_component_times(floptally::read_json(text, field)), {}, {}, {}};
}

/// The times from the traces of one or several ranks. Names of parts are looked up among the components of this work.
inline measured_times read_traces(const arguments& args, const std::string& paths,
                                  const std::vector<floptally::work_at_peak>& work) {
    // A name with a comma is one file if that file exists.
    const std::vector<std::string> files =
        std::filesystem::exists(paths) ? std::vector<std::string>{paths} : comma_separated({paths});
    std::vector<floptally::trace> traces;
    for (const std::string& file : files) {
        traces.push_back(load_trace(file));
    }
    const auto modules = args.text("modules");
    const floptally::rank_traces joined_ranks(
        std::move(traces), modules ? floptally::module_map_named(*modules) : floptally::module_map{});
    floptally::breakdown all;
    for (const floptally::work_at_peak& piece : work) {
        all += piece.work;
    }
    return {{joined_ranks.seconds(), joined_ranks.parts(all)},
            std::vector<std::string>(joined_ranks.notes().begin(), joined_ranks.notes().end()),
            joined_ranks.step(all),
            files.size() == 1 ? std::vector<floptally::rank_line>{} : joined_ranks.lines(all)};
}

/// The measured times from the options, for the work of a step; nullopt without such options.
inline std::optional<measured_times> read_times(const arguments& args,
                                                const std::vector<floptally::work_at_peak>& work) {
    const auto times = args.text("component-times");
    const auto trace = args.text("trace");
    if (times && trace) {
        throw error("component_times",
                    "cannot be passed with --trace, because both contain the times: leave one of them out");
    }
    for (const auto& [option, needs] : {std::pair("modules", trace.has_value()), {"against", times || trace}}) {
        if (args.text(option) && !needs) {
            throw error(option, fmt::format("works only with --trace{}, or leave it out",
                                            option == std::string_view("modules")
                                                ? ": pass both"
                                                : " or --component-times: pass one of them as well"));
        }
    }
    return times   ? std::optional(read_times_of(*times, "component_times"))
           : trace ? std::optional(read_traces(args, *trace, work))
                   : std::nullopt;
}

/// The measured step by component.
inline floptally::component_waterfall by_component(floptally::time_breakdown timed, const measured_times& times) {
    timed.step.seconds = times.measured.seconds.value_or(timed.step.seconds);
    return {floptally::without_traced(std::move(timed), times.traced), times.measured.times};
}

/// Compares with an earlier step of the same model, by component; nullopt without --against.
inline std::optional<std::vector<floptally::compared_component>> read_comparison(
    const arguments& args, const floptally::time_breakdown& timed, const floptally::component_waterfall& after) {
    const auto against = args.text("against");
    if (!against) {
        return {};
    }
    const measured_times before =
        args.text("trace") ? read_traces(args, *against, timed.work) : read_times_of(*against, "against");
    if (!before.measured.seconds) {
        throw error("against", "has no step time: add \"seconds\", the duration of the step, to the file");
    }
    floptally::time_breakdown earlier = timed;
    earlier.apart.clear();  // measured in the later step
    return floptally::compare(by_component(std::move(earlier), before), after);
}

/// The report by component, after the report of the whole step. Each note is a line of its own.
inline std::string show(const std::string& by_component, const std::vector<std::string>& notes, std::string_view mark) {
    std::string text = "\n" + by_component;
    for (const std::string& note : notes) {
        text += fmt::format("{}{}\n", mark, note);
    }
    return text;
}

}  // namespace program

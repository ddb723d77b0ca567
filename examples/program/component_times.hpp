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

#include <floptally/config/json_text.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/waterfall/component_comparison.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/rank_traces.hpp>
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
        "trace", "of a step, by torch.profiler's export_chrome_trace; of several ranks apart by commas",
        cxxopts::value<std::string>(), "FILE[,FILE]")(
        "modules", "components of modules in the trace, before the usual ones: *.mixer=mamba,op:my::*=mlp",
        cxxopts::value<std::string>(),
        "LIST")("against", "an earlier trace or file of times of the same model: which component became slower",
                cxxopts::value<std::string>(), "FILE");
}

/// The times of components from the options.
struct measured_times {
    floptally::component_times given{};
    std::vector<std::string> notes{};
    floptally::traced_step traced{};            ///< in a trace: what is no work, and ranks
    std::vector<floptally::rank_line> lines{};  ///< of each rank whose trace is given, where they are several
};

/// How a trace is read from its file: a program within another unpacks by what that one has.
inline floptally::trace (*load_trace)(const std::filesystem::path&) = floptally::load_kineto_trace;

/// The times of a file of them, as JSON.
inline measured_times read_times_of(const std::string& path, const char* field) {
    std::istringstream text(read_file(path, field));
    return {floptally::read_component_times(floptally::read_json(text, field)), {}, {}, {}};
}

/// The times of the traces of one or several ranks, whose parts are looked up among the components of this work.
inline measured_times read_traces(const arguments& args, const std::string& paths,
                                  const std::vector<floptally::work_at_peak>& work) {
    // A name with a comma is one file, where there is such a one.
    const std::vector<std::string> files =
        std::filesystem::exists(paths) ? std::vector<std::string>{paths} : comma_separated({paths});
    std::vector<floptally::trace> traces;
    for (const std::string& file : files) {
        traces.push_back(load_trace(file));
    }
    const auto modules = args.text("modules");
    const floptally::rank_traces made(std::move(traces),
                                      modules ? floptally::module_map_named(*modules) : floptally::module_map{});
    floptally::breakdown all;
    for (const floptally::work_at_peak& piece : work) {
        all += piece.work;
    }
    return {{made.seconds(), made.parts(all)},
            std::vector<std::string>(made.notes().begin(), made.notes().end()),
            made.step(all),
            files.size() == 1 ? std::vector<floptally::rank_line>{} : made.lines(all)};
}

/// The measured times from the options, for the work of a step; none where there are no such options.
inline std::optional<measured_times> read_times(const arguments& args,
                                                const std::vector<floptally::work_at_peak>& work) {
    const auto times = args.text("component-times");
    const auto trace = args.text("trace");
    if (times && trace) {
        throw error("component_times", "is given beside --trace: one of them says the times");
    }
    for (const auto& [option, needs] : {std::pair("modules", trace.has_value()), {"against", times || trace}}) {
        if (args.text(option) && !needs) {
            throw error(option, fmt::format("is given without --trace{}", option == std::string_view("modules")
                                                                              ? ", whose modules it names"
                                                                              : " or --component-times"));
        }
    }
    return times   ? std::optional(read_times_of(*times, "component_times"))
           : trace ? std::optional(read_traces(args, *trace, work))
                   : std::nullopt;
}

/// The measured step by component.
inline floptally::component_waterfall by_component(floptally::step_account account, const measured_times& times) {
    account.step.seconds = times.given.seconds.value_or(account.step.seconds);
    return {floptally::without_traced(std::move(account), times.traced), times.given.times};
}

/// An earlier step of the same model beside this one, by component; none where --against is not given.
inline std::optional<std::vector<floptally::compared_component>> read_comparison(
    const arguments& args, const floptally::step_account& account, const floptally::component_waterfall& after) {
    const auto against = args.text("against");
    if (!against) {
        return {};
    }
    const measured_times before =
        args.text("trace") ? read_traces(args, *against, account.work) : read_times_of(*against, "against");
    if (!before.given.seconds) {
        throw error("against", "must say the seconds of its step");
    }
    floptally::step_account earlier = account;
    earlier.apart.clear();  // measured in the later step
    return floptally::compare(by_component(std::move(earlier), before), after);
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

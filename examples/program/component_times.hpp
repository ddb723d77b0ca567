// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
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
        cxxopts::value<std::string>(), "LIST");
}

/// The times of components from the options; none where there are no such options.
struct measured_times {
    floptally::component_times given{};
    std::vector<std::string> notes{};
    std::vector<floptally::time_apart> apart{};    ///< in a trace: what is no work
    std::optional<floptally::rank_times> ranks{};  ///< in the traces of several ranks
    std::vector<floptally::rank_line> lines{};     ///< of each of them
};

/// How a trace is read from its file: a program within another unpacks by what that one has.
inline floptally::trace (*load_trace)(const std::filesystem::path&) = floptally::load_kineto_trace;

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
    // A name with a comma is one file, where there is such a one.
    const std::vector<std::string> files =
        std::filesystem::exists(*trace) ? std::vector<std::string>{*trace} : comma_separated({*trace});
    std::vector<floptally::trace> traces;
    for (const std::string& file : files) {
        traces.push_back(load_trace(file));
    }
    const floptally::rank_traces made(std::move(traces),
                                      modules ? floptally::module_map_named(*modules) : floptally::module_map{});
    floptally::breakdown all;
    for (const floptally::work_at_peak& piece : work) {
        all += piece.work;
    }
    return measured_times{{made.seconds(), made.parts(all)},
                          std::vector<std::string>(made.notes().begin(), made.notes().end()),
                          made.apart(all),
                          made.times(all),
                          files.size() == 1 ? std::vector<floptally::rank_line>{} : made.lines(all)};
}

/// The account with what a trace says of it and nobody else did.
inline floptally::step_account with_trace(floptally::step_account account, const measured_times& times) {
    using floptally::apart_kind;
    const auto is_alike = [](const floptally::time_apart& a, const floptally::time_apart& b) {
        const auto kind = [](const floptally::time_apart& time) {
            const apart_kind own = floptally::kind_of(time);
            return own == apart_kind::transfer ? apart_kind::communication : own;
        };
        return kind(a) == kind(b);
    };
    // A time that a job of one GPU implies is not measured.
    std::erase_if(account.apart, [](const floptally::time_apart& time) { return time.assumed != "measured"; });
    const std::vector<floptally::time_apart> given = account.apart;
    for (const floptally::time_apart& time : times.apart) {
        if (std::none_of(given.begin(), given.end(),
                         [&](const floptally::time_apart& other) { return is_alike(other, time); })) {
            account.apart.push_back(time);
        }
    }
    account = floptally::with_one_gpu_said(std::move(account));
    account.ranks = account.ranks ? account.ranks : times.ranks;
    return account;
}

/// A rank's step from its trace, in milliseconds.
inline std::string show_ranks(const std::vector<floptally::rank_line>& lines) {
    std::string table = fmt::format("{:<10}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "by rank, ms", "step",
                                    "computing", "besides", "transfer", "waiting", "idle", "hidden");
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        const floptally::rank_line& line = lines[rank];
        table += fmt::format("{:<10}{:>13.3f}{:>12.3f}{:>12.3f}{:>12.3f}{:>12.3f}{:>12.3f}{:>12.3f}\n", rank,
                             1e3 * line.seconds, 1e3 * line.computing, 1e3 * line.besides, 1e3 * line.transfer,
                             1e3 * line.waiting, 1e3 * line.idle, 1e3 * line.hidden);
    }
    return table;
}

inline nlohmann::ordered_json to_json(const std::vector<floptally::rank_line>& lines) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const floptally::rank_line& line : lines) {
        ranks.push_back({{"seconds", line.seconds},
                         {"computing", line.computing},
                         {"besides", line.besides},
                         {"transfer", line.transfer},
                         {"waiting", line.waiting},
                         {"idle", line.idle},
                         {"hidden", line.hidden}});
    }
    return ranks;
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

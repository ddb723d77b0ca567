// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/hardware.hpp>
#include <floptally/json.hpp>
#include <floptally/report.hpp>
#include <floptally/report_json.hpp>

#include "arguments.hpp"
#include "bytes.hpp"
#include "compare.hpp"
#include "count.hpp"
#include "expect.hpp"
#include "fit.hpp"
#include "measure.hpp"
#include "plan.hpp"
#include "search.hpp"
#include "waterfall.hpp"

/// @file
/// The program `floptally`: FLOPs and MFU of a config and a batch, as a table or as JSON. docs/command_line.md
/// specifies it. The executable and `python -m floptally` both run this code.

namespace program {

using json = nlohmann::ordered_json;

inline floptally::report count(const arguments& args) { return count(args, read_model(args)); }

inline std::string show(const arguments& args, const floptally::report& counted) {
    // An accelerator's name comes from the user and may have any bytes.
    return args.as_json() ? floptally::to_json(counted).dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                          : floptally::to_table(counted);
}

inline std::string run_flops(const arguments& args) {
    const floptally::work_unit unit = unit_of(args);
    floptally::report counted = count(args);
    counted.unit = unit;
    return show(args, counted);
}

inline std::string run_mfu(const arguments& args) {
    const floptally::work_unit unit = unit_of(args);
    if (unit == floptally::work_unit::macs && args.is_passed("peak-tflops")) {
        throw error("unit",
                    "macs cannot be passed with --peak-tflops, which is in FLOP/s: leave --unit out, or pass "
                    "--accelerator NAME instead of --peak-tflops");
    }
    const floptally::model_config model = read_model(args);
    floptally::report counted = count(args, model);
    counted.mfu = measure(args, counted);
    if (const auto precisions = mixed_precision_of(args, model, counted, counted.plan)) {
        const floptally::measurement& step = counted.mfu->step;
        counted.mfu->mixed = precisions->rate(counted.batch, step.seconds * static_cast<double>(step.gpus));
    }
    counted.unit = unit;
    return show(args, counted);
}

inline std::string run_models(const arguments& args) {
    const auto types = floptally::known_model_types();
    json specs = json::object();
    std::string table;
    for (const std::string_view type : types) {
        const std::string file = floptally::spec_file(type);
        table += file.empty() ? fmt::format("{}\n", type) : fmt::format("{:<32}{}\n", type, file);
        if (!file.empty()) {
            specs[std::string(type)] = file;
        }
    }
    return args.as_json() ? json{{"version", floptally::version}, {"models", types}, {"specs", specs}}.dump(2) + "\n"
                          : table;
}

inline std::string run_accelerators(const arguments& args) {
    json listed = json::array();
    std::string table = fmt::format("{:<24}{:<10}", "name", "vendor");
    for (std::size_t i = 0; i < floptally::precision_count; ++i) {
        table += fmt::format("{:>8}", floptally::name(static_cast<floptally::precision>(i)));
    }
    table += fmt::format("{:>8}{:>6}  (dense TFLOP/s of one device; int8 in TOP/s; memory in TB/s and GiB)\n", "memory",
                         "size");
    for (const floptally::accelerator& part : floptally::accelerators()) {
        json peaks = json::object();
        table += fmt::format("{:<24}{:<10}", part.name, part.vendor);
        for (std::size_t i = 0; i < floptally::precision_count; ++i) {
            const auto which = static_cast<floptally::precision>(i);
            const double peak = part.published_tflops(which);
            table += peak > 0 ? fmt::format("{:>8}", peak) : fmt::format("{:>8}", "-");
            if (peak > 0) {
                peaks[std::string(floptally::name(which))] = peak;
            }
        }
        const auto memory = floptally::memory_bandwidth_named(part.name);
        table += memory ? fmt::format("{:>8}", memory->tbps) : fmt::format("{:>8}", "-");
        const auto size = floptally::memory_size_named(part.name);
        table += size ? fmt::format("{:>6}", size->gib) : fmt::format("{:>6}", "-");
        const std::string_view doubt = floptally::remark(part.quality);
        table += fmt::format("{}{}\n", doubt.empty() ? "" : "  ", doubt);
        json names = json::array();
        for (const std::string_view driver_name : part.driver_names) {
            if (!driver_name.empty()) {
                names.push_back(driver_name);
            }
        }
        json memories = json::array();
        for (const std::string_view name : floptally::names_with_memory(part)) {
            const auto bandwidth = floptally::memory_bandwidth_named(name);
            const auto capacity = floptally::memory_size_named(name);
            const floptally::publication& source = bandwidth ? bandwidth->source : capacity->source;
            memories.push_back({{"name", name},
                                {"tbps", bandwidth ? json(bandwidth->tbps) : json()},
                                {"gib", capacity ? json(capacity->gib) : json()},
                                {"source", {{"title", source.title}, {"url", source.url}}},
                                {"quality", floptally::name(bandwidth ? bandwidth->quality : capacity->quality)}});
        }
        listed.push_back({{"name", part.name},
                          {"vendor", part.vendor},
                          {"form_factor", part.form_factor},
                          {"driver_names", names},
                          {"dense_tflops", peaks},
                          {"memory", memories},
                          {"source", {{"title", part.source.title}, {"url", part.source.url}}},
                          {"quality", floptally::name(part.quality)},
                          {"flops_per_clock", part.flops_per_clock == 0 ? json() : json(part.flops_per_clock)},
                          {"datasheet_mhz", part.datasheet_mhz == 0 ? json() : json(part.datasheet_mhz)},
                          {"note", part.note}});
    }
    return args.as_json() ? json{{"version", floptally::version}, {"accelerators", listed}}.dump(2) + "\n" : table;
}

inline std::string run_conventions(const arguments& args) {
    json listed = json::array();
    std::string table;
    for (const floptally::convention* preset : floptally::conventions::all) {
        json counters = json::array();
        for (const floptally::conventions::counter_of_preset& counter : floptally::conventions::counters) {
            if (counter.how == preset) {
                counters.push_back({{"name", counter.name}, {"what", counter.what}});
            }
        }
        const std::string also = floptally::counters_of(preset->name);
        listed.push_back({{"name", preset->name}, {"summary", preset->summary}, {"counters", counters}});
        table += fmt::format("{:<26}{}{}\n", preset->name, preset->summary, also.empty() ? "" : "; also " + also);
    }
    return args.as_json() ? json{{"version", floptally::version}, {"conventions", listed}}.dump(2) + "\n" : table;
}

struct command {
    std::string_view name;
    std::string_view summary;
    void (*add_options)(cxxopts::Options&);
    std::string (*run)(const arguments&);
};

inline constexpr command commands[] = {
    {"flops", "FLOPs of a batch, by component, phase and view", add_flops_and_unit_options, run_flops},
    {"mfu", "FLOPs of a step with MFU, padded MFU and HFU", add_mfu_options, run_mfu},
    {"compare", "one step by every convention; finds the convention of a dashboard's number", add_compare_options,
     run_compare},
    {"bytes", "bytes that a batch moves through memory, and FLOPs per byte", add_bytes_options, run_bytes},
    {"fit", "what a rank of each pipeline stage holds and sends", add_fit_options, run_fit},
    {"search", "the layouts that fit a cluster, soonest first", add_search_options, run_search},
    {"expect", "what MFU is normal: published runs nearest to yours", add_expect_options, run_expect},
    {"waterfall", "where the step's time went, from the peak down to the MFU", add_waterfall_options, run_waterfall},
    {"whatif", "predicts the step with other choices, at today's kernel rates", add_whatif_options, run_whatif},
    {"plan", "days, GPU hours and price of a training run", add_plan_options, run_plan},
    {"models", "the model types that --config takes", nullptr, run_models},
    {"accelerators", "peaks by product name, with their sources", nullptr, run_accelerators},
    {"conventions", "the conventions for counting FLOPs", nullptr, run_conventions}};

inline std::string help() {
    std::string text = "floptally: exact FLOPs of model training, and MFU\n\nusage: floptally COMMAND [OPTIONS]\n\n";
    for (const command& known : commands) {
        text += fmt::format("  {:<14}{}\n", known.name, known.summary);
    }
    return text + "\n  floptally COMMAND --help, floptally --version\n";
}

/// The option in a message of cxxopts. It is in quotation marks, ‘’ or ''.
inline std::string quoted_option(std::string_view message) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const std::size_t quote = message.find_first_of("'\xE2");
    const std::size_t first = message.find_first_of(letters, quote);
    if (quote == std::string_view::npos || first == std::string_view::npos) {
        return "command";
    }
    const std::size_t length = message.substr(first).find_first_not_of(letters);
    return arguments::field(std::string(message.substr(first, length)));
}

/// Returns "; did you mean --lengths?" for the option that is nearest to an unknown name, or an empty text. `name` has
/// underscores for hyphens.
inline std::string nearest_option(const cxxopts::Options& options, std::string_view name) {
    std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
    std::string found;
    const auto compare = [&](const std::string& known) {
        const std::size_t away = floptally::detail::edit_distance(name, arguments::field(known), best - 1);
        if (!known.empty() && away < best) {
            best = away;
            found = known;
        }
    };
    const auto compare_each = [&](const auto& names) {
        if constexpr (std::is_convertible_v<decltype(names), const std::string&>) {
            compare(names);  // cxxopts before 3.1
        } else {
            std::for_each(names.begin(), names.end(), compare);
        }
    };
    for (const std::string& group : options.groups()) {
        for (const auto& option : options.group_help(group).options) {
            compare_each(option.l);
        }
    }
    return found.empty() ? found : fmt::format("; did you mean --{}?", found);
}

/// Rethrows an error of cxxopts with our text, since its own texts change between versions.
inline cxxopts::ParseResult parse_options(cxxopts::Options& options, std::string_view command, int argc, char** argv) {
    try {
        return options.parse(argc, argv);
    } catch (const cxxopts::exceptions::no_such_option& problem) {
        const std::string name = quoted_option(problem.what());
        const std::string near = nearest_option(options, name);
        throw error(name,
                    near.empty()
                        ? fmt::format("unknown option; `floptally {} --help` lists the known ones", command)
                        : fmt::format("unknown option{} `floptally {} --help` lists the known ones", near, command));
    } catch (const cxxopts::exceptions::missing_argument& problem) {
        throw error(quoted_option(problem.what()), "has no value: write one after it");
    } catch (const cxxopts::exceptions::exception& problem) {
        throw error("command", fmt::format("cannot be read: {}", problem.what()));
    }
}

inline std::string run(int argc, char** argv) {
    const std::string_view name = argc < 2 ? "" : argv[1];
    if (name == "--help" || name == "-h" || name == "--version") {
        if (argc > 2) {
            throw error("command", fmt::format("unexpected argument \"{}\": leave it out", argv[2]));
        }
        return name == "--version" ? fmt::format("floptally {}\n", floptally::version) : help();
    }
    for (const command& known : commands) {
        if (known.name != name) {
            continue;
        }
        cxxopts::Options options("floptally " + std::string(name), std::string(known.summary));
        options.add_options()("format", "table or json; also markdown for bytes, expect, fit and waterfall",
                              cxxopts::value<std::string>(), "FORMAT")("h,help", "show this help");
        if (known.add_options != nullptr) {
            known.add_options(options);
        }
        const cxxopts::ParseResult parsed = parse_options(options, name, argc - 1, argv + 1);
        if (parsed.count("help") > 0) {
            return options.help();
        }
        const arguments args(parsed);
        std::string text = known.run(args);
        args.expect_all_read(name);
        return text;
    }
    std::string names;
    for (const command& known : commands) {
        names += fmt::format("{}{}",
                             names.empty()                                  ? ""
                             : &known == &commands[std::size(commands) - 1] ? " or "
                                                                            : ", ",
                             known.name);
    }
    throw error("command", name.empty() ? fmt::format("is missing; must be {}", names)
                                        : fmt::format("must be {}, got \"{}\"", names, name));
}

/// The message as one line.
inline int fail(std::string_view message, int status) {
    std::string line(message);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    // fmt::print would throw if standard error is closed.
    std::fputs(fmt::format("floptally: error: {}\n", line).c_str(), stderr);
    return status;
}

/// Runs the program; returns its exit status.
inline int main(int argc, char** argv) {
    constexpr int bad_input = 2;
    constexpr int other_failure = 1;
    try {
        const std::string text = run(argc, argv);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
            return fail("output: standard output cannot be written", other_failure);
        }
        return 0;
    } catch (const error& problem) {
        return fail(problem.what(), bad_input);
    } catch (const std::exception& problem) {
        return fail(fmt::format("failure: {}", problem.what()), other_failure);
    }
}

}  // namespace program

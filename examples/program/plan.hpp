// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/report.hpp>

#include "arguments.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// `floptally plan`: days, GPU hours and price of a training run.

namespace program {

inline void add_plan_options(cxxopts::Options& options) {
    add_flops_options(options);
    add_peak_options(options);
    options.add_options("Run")("tokens", "real tokens of the whole run: 15T, 15e12 or an integer",
                               cxxopts::value<std::string>(), "N")(
        "mfu", "the MFU that you measured or expect: 40% or a fraction, 0.4", cxxopts::value<std::string>(), "40%");
    options.add_options("Run")("spent",
                               "other time of the run, under any name: checkpoint=60s/1h, restart=20m/12h, "
                               "lost=30m/12h (so long, once in so much time of steps), data=2% (of the time of steps)",
                               cxxopts::value<std::vector<std::string>>(), "NAME=TIME/EVERY");
    options.add_options("Run")("price", "price of one GPU for an hour, in any currency", cxxopts::value<std::string>(),
                               "X");
}

/// A time with a unit: 90s, 1.5h, 20m, 2d.
inline double parse_time(std::string_view text, const std::string& field) {
    constexpr std::pair<char, double> units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    for (const auto& [letter, seconds] : units) {
        if (!text.empty() && text.back() == letter) {
            return seconds * parse_positive(std::string(text.substr(0, text.size() - 1)), field);
        }
    }
    throw error(field, fmt::format("must be a time with a unit, such as 90s, 20m, 1.5h or 2d, got \"{}\"", text));
}

/// Wall-clock time of a run outside of its steps, as a share of the steps' time.
struct spent_share {
    std::string name;
    double share = 0;
};

inline spent_share parse_spent(std::string_view text) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string_view::npos) {
        throw error(
            "spent",
            fmt::format("must be NAME=TIME/EVERY or NAME=SHARE%, such as checkpoint=40s/1h or failures=2%, got \"{}\"",
                        text));
    }
    const std::string name(text.substr(0, sign));
    const std::string field = "spent " + name;
    const std::string_view amount = text.substr(sign + 1);
    const std::size_t slash = amount.find('/');
    if (slash != std::string_view::npos) {
        return {name, parse_time(amount.substr(0, slash), field) / parse_time(amount.substr(slash + 1), field)};
    }
    if (amount.empty() || amount.back() != '%') {
        throw error(field, fmt::format("must be TIME/EVERY or SHARE%, such as 40s/1h or 2%, got \"{}\"", amount));
    }
    return {name, parse_positive(std::string(amount.substr(0, amount.size() - 1)), field) / 100};
}

inline std::string run_plan(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::report counted = count(args, model);
    const std::uint64_t of_batch = counted.batch.get(floptally::view::useful, floptally::accumulator::tokens,
                                                     counted.batch.masks().main_modality());
    if (of_batch == 0) {
        throw error("lengths", "must have at least one token: this batch stands for every batch of the run");
    }
    const std::uint64_t tokens = parse_large_count(args.required("tokens", "N"), "tokens");
    const given_share mfu = parse_share(args.text("mfu").value_or("40%"), "mfu");
    std::vector<std::string> notes;
    if (!args.is_passed("mfu")) {
        notes.emplace_back("mfu is taken to be 40 %, since none is given");
    }
    if (!mfu.note.empty()) {
        notes.push_back(mfu.note);
    }
    if (const std::string doubt = floptally::doubt_of(mfu.fraction, counted.plan.counted); !doubt.empty()) {
        notes.push_back(doubt);
    }
    const std::uint64_t gpus = gpus_of(args);
    const double peak = peak_of(args).tflops;
    const double batches = static_cast<double>(tokens) / static_cast<double>(of_batch);
    std::vector<spent_share> spent;
    double wall = 1;  // wall-clock seconds per second of a step
    for (const std::string& texts : args.repeated("spent")) {
        for (std::size_t first = 0; first <= texts.size();) {
            const std::size_t comma = std::min(texts.find(',', first), texts.size());
            spent.push_back(parse_spent(std::string_view(texts).substr(first, comma - first)));
            wall += spent.back().share;
            first = comma + 1;
        }
    }
    const std::optional<std::string> price_text = args.text("price");
    const std::optional<double> price = price_text ? std::optional(parse_positive(*price_text, "price")) : std::nullopt;
    struct row {
        const char* name;
        double flops;
        double days;
        double gpu_hours;
    };
    const auto make_row = [&](const char* name, double of_one_batch) {
        const double flops = of_one_batch * batches;
        const double seconds =
            floptally::detail::divide(flops / 1e12, static_cast<double>(gpus) * peak * mfu.fraction, "mfu");
        return row{name, flops, seconds / 86400, seconds * static_cast<double>(gpus) / 3600};
    };
    const std::uint64_t parameters = counted.parameters.active.value_or(counted.parameters.total);
    const row rows[] = {make_row("exact", floptally::to_double(counted.work.total())),
                        make_row("6ND", 6 * static_cast<double>(parameters) * static_cast<double>(of_batch))};
    if (args.as_json()) {
        nlohmann::ordered_json out{{"version", floptally::version},
                                   {"numbers_version", floptally::numbers_version},
                                   {"tokens", std::to_string(tokens)},
                                   {"gpus", gpus},
                                   {"peak_tflops", peak},
                                   {"mfu", mfu.fraction},
                                   {"parameters", std::to_string(parameters)}};
        for (const row& line : rows) {
            out[line.name] = {{"flops", line.flops}, {"days", line.days}, {"gpu_hours", line.gpu_hours}};
            if (!spent.empty()) {
                out[line.name]["wall_days"] = line.days * wall;
                out[line.name]["wall_gpu_hours"] = line.gpu_hours * wall;
            }
            if (price) {
                out[line.name]["price"] = line.gpu_hours * wall * *price;
            }
        }
        if (!spent.empty()) {
            out["goodput"] = 1 / wall;
            out["wall_mfu"] = mfu.fraction / wall;
            for (const spent_share& each : spent) {
                out["spent"][each.name] = each.share / wall;
            }
        }
        out["notes"] = notes;
        return out.dump(2) + "\n";
    }
    std::string table = fmt::format("{:<8}{:>14}{:>12}{:>16}\n", "", "FLOPs", "days", "GPU hours");
    for (const row& line : rows) {
        table += fmt::format("{:<8}{:>14.4g}{:>12.2f}{:>16.0f}\n", line.name, line.flops, line.days, line.gpu_hours);
    }
    table += fmt::format(
        "{} tokens in batches like this one, {} GPUs at {:.6g} % of {} TFLOP/s; N is {} active parameters\n", tokens,
        gpus, 100 * mfu.fraction, peak, parameters);
    if (!spent.empty()) {
        table += fmt::format("\n{:<24}{:>12}{:>16}\n", "of the wall clock", "share", "days");
        const auto add = [&](std::string_view name, double share) {
            table += fmt::format("{:<24}{:>10.2f} %{:>16.2f}\n", name, 100 * share, rows[0].days * wall * share);
        };
        add("steps (goodput)", 1 / wall);
        for (const spent_share& each : spent) {
            add(each.name, each.share / wall);
        }
        add("all", 1);
        table += fmt::format("MFU over the wall clock {:.4g} %, {:.0f} GPU hours\n", 100 * mfu.fraction / wall,
                             rows[0].gpu_hours * wall);
    }
    if (price) {
        table += fmt::format("{:.0f} at {:g} an hour of a GPU\n", rows[0].gpu_hours * wall * *price, *price);
    }
    for (const std::string& note : notes) {
        table += fmt::format("note: {}\n", note);
    }
    return table;
}

}  // namespace program

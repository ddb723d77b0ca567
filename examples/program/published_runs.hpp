// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/conventions.hpp>
#include <floptally/core.hpp>
#include <floptally/descriptors.hpp>
#include <floptally/hardware.hpp>
#include <floptally/json.hpp>
#include <floptally/report.hpp>

/// @file
/// Published training runs (examples/data/published_runs.json) with their exact MFU, and those nearest to a user's run.
///
/// The exact MFU counts every matrix product of the model once, by the convention `exact`, over the dense peak of the
/// run's precision. A run without tokens/s has the MFU that follows from its TFLOP/s and its source's convention.

namespace program {

/// The table as JSON text, in pieces that every compiler takes as string literals. The build writes them.
inline constexpr std::string_view published_runs_text[] = {
#include <published_runs.inc>
};

/// The features that decide how comparable two runs are.
struct run_features {
    double work_per_token = 0;  ///< FLOPs of a training step of one token: all products, next to no attention
    bool has_experts = false;
    bool has_recurrent_mixers = false;  ///< Mamba, delta rules and other mixers without attention
    double length = 0;                  ///< tokens; of several sequences the sum of squares over the sum
    const floptally::accelerator* part = nullptr;
    floptally::precision precision = floptally::precision::bf16;
    std::optional<std::uint64_t> gpus{};
};

/// A published run.
struct published_run {
    std::string source{};  ///< key of the table's sources
    std::string model{};   ///< key of the table's models
    std::string accelerator{};
    std::string precision{};
    int year = 0;
    std::uint64_t gpus = 0;
    std::uint64_t length = 0;
    std::optional<double> tokens_per_second{};  ///< of one GPU, as printed
    std::optional<double> tflops{};             ///< of one GPU, as printed
    std::optional<double> mfu_percent{};        ///< as printed
    std::optional<double> stated_peak{};        ///< TFLOP/s that the source divides by
    std::string counted_by{};                   ///< a convention, "none", or empty if nothing checks the run
    std::string reason{};                       ///< why no convention gives the printed figure
    std::vector<std::string> marks{};           ///< "forced balance", "dropped tokens", "cut model"
    std::string page{};

    std::string unread{};             ///< why the run has no exact MFU; empty if it has one
    run_features features{};          ///< of a run that is read
    double mfu = 0;                   ///< exact
    std::optional<double> printed{};  ///< the source's figure as a fraction of the dense peak, or of its stated peak

    /// The marks, separated by commas.
    [[nodiscard]] std::string marked() const {
        std::string text;
        for (const std::string& mark : marks) {
            text += (text.empty() ? "" : ", ") + mark;
        }
        return text;
    }
    [[nodiscard]] std::string_view kind() const {
        return features.has_recurrent_mixers ? features.has_experts ? "hybrid MoE" : "hybrid"
               : features.has_experts        ? "MoE"
                                             : "dense";
    }
};

/// Returns what the step of one token shows of a model.
inline run_features features_of(const floptally::model_config& model) {
    const floptally::flop_counter counter(model, floptally::conventions::exact);
    floptally::tally token{counter.masks()};
    token.add_lengths({1});
    const floptally::breakdown work = counter.evaluate(token);
    run_features found{.work_per_token = to_double(work.total())};
    for (const floptally::component_flops& part : work.components()) {
        const std::string_view name = part.name.view();
        found.has_experts = found.has_experts || name == "moe.experts";
        found.has_recurrent_mixers = found.has_recurrent_mixers || name.starts_with("mixer.");
    }
    return found;
}

/// The table, read and counted once in a process.
class published_table {
  public:
    static const published_table& get() {
        static const published_table table;
        return table;
    }
    [[nodiscard]] const std::vector<published_run>& runs() const { return runs_; }
    [[nodiscard]] const nlohmann::ordered_json& sources() const { return sources_; }
    [[nodiscard]] std::string title(const published_run& run) const { return sources_[run.source]["title"]; }
    [[nodiscard]] std::size_t read() const {
        return static_cast<std::size_t>(
            std::count_if(runs_.begin(), runs_.end(), [](const published_run& run) { return run.unread.empty(); }));
    }

  private:
    /// A model of the table with as many prediction layers as a run trains.
    struct counted_model {
        floptally::model_config config;
        run_features features;
    };

    published_table() {
        std::string text;
        for (const std::string_view piece : published_runs_text) {
            text += piece;
        }
        const auto table = nlohmann::ordered_json::parse(text);
        sources_ = table["sources"];
        for (const auto& row : table["runs"]) {
            published_run& run = runs_.emplace_back(plain(row));
            try {
                count(run, table["models"][run.model]["config"], row.value("mtp", std::uint64_t{0}));
            } catch (const floptally::error& problem) {
                run.unread = problem.what();
            }
        }
    }

    static published_run plain(const nlohmann::ordered_json& row) {
        const auto some = [&row](const char* key) {
            return row.contains(key) ? std::optional(row[key].get<double>()) : std::nullopt;
        };
        return {.source = row["source"],
                .model = row["model"],
                .accelerator = row["accelerator"],
                .precision = row["precision"],
                .year = row["year"],
                .gpus = row["gpus"],
                .length = row["sequence_length"],
                .tokens_per_second = some("tokens_per_second_per_gpu"),
                .tflops = some("tflops_per_gpu"),
                .mfu_percent = some("mfu_percent"),
                .stated_peak = some("stated_peak_tflops"),
                .counted_by = row.value("counted_by", ""),
                .reason = row.value("reason", ""),
                .marks = row.value("marks", std::vector<std::string>{}),
                .page = row.value("page", "")};
    }

    void count(published_run& run, const nlohmann::ordered_json& config, std::uint64_t mtp) {
        const floptally::accelerator& part = floptally::accelerator_named(run.accelerator);
        const floptally::precision precision = floptally::precision_named(run.precision);
        const double peak = part.peak_tflops(precision);
        auto known = models_.find({run.model, mtp});
        if (known == models_.end()) {
            floptally::model_config model =
                floptally::read_config(nlohmann::json::parse(config.dump()), {.mtp_layers = mtp});
            const run_features features = features_of(model);
            known = models_.emplace(std::pair(run.model, mtp), counted_model{std::move(model), features}).first;
        }
        const floptally::model_config& model = known->second.config;
        const double length = static_cast<double>(run.length);
        double tokens = run.tokens_per_second.value_or(0);
        if (!run.tokens_per_second) {
            const double rate = run.tflops ? *run.tflops : *run.mfu_percent / 100 * run.stated_peak.value_or(peak);
            tokens = rate * 1e12 * length / work(model, run.length, floptally::convention_named(run.counted_by));
        }
        run.features = known->second.features;
        run.features.length = length;
        run.features.part = &part;
        run.features.precision = precision;
        run.features.gpus = run.gpus;
        run.mfu = tokens / length * work(model, run.length, floptally::conventions::exact) / (peak * 1e12);
        if (run.mfu_percent) {
            run.printed = *run.mfu_percent / 100;
        } else if (run.tflops) {
            run.printed = *run.tflops / peak;
        }
    }

    /// FLOPs of a training step of one sequence.
    static double work(const floptally::model_config& model, std::uint64_t length, const floptally::convention& by) {
        const floptally::flop_counter counter(model, by);
        floptally::tally batch{floptally::counted_masks(model.cost, counter)};
        batch.add_lengths({static_cast<std::int64_t>(length)});
        return to_double(counter.evaluate(batch).total());
    }

    std::vector<published_run> runs_;
    nlohmann::ordered_json sources_;
    std::map<std::pair<std::string, std::uint64_t>, counted_model> models_;
};

/// The bits of a precision's factors.
inline double bits_of(floptally::precision which) {
    constexpr double bits[floptally::precision_count] = {64, 32, 19, 16, 16, 8, 8, 4};
    return bits[static_cast<std::size_t>(which)];
}

/// The rate that accelerators of all generations have in common: bf16, else fp16, else fp32.
inline double common_tflops(const floptally::accelerator& part) {
    for (const floptally::precision which :
         {floptally::precision::bf16, floptally::precision::fp16, floptally::precision::fp32}) {
        if (part.published_tflops(which) > 0) {
            return part.published_tflops(which);
        }
    }
    return 1;
}

/// How far a published run is from another run, in doublings: 1 for a model of twice the work a token, for half the
/// bits, for four times the length or 256 times the GPUs. Another accelerator is 1, 1 more for another vendor, and the
/// doublings of the peak; experts or recurrent mixers on one side only are 2 each.
inline double distance(const run_features& own, const run_features& other) {
    const auto doublings = [](double a, double b) { return std::fabs(std::log2(a / b)); };
    double sum = doublings(own.work_per_token, other.work_per_token) +
                 doublings(bits_of(own.precision), bits_of(other.precision)) + doublings(own.length, other.length) / 2;
    sum += (own.has_experts != other.has_experts ? 2 : 0) +
           (own.has_recurrent_mixers != other.has_recurrent_mixers ? 2 : 0);
    if (own.part->name != other.part->name) {
        sum += 1 + (own.part->vendor != other.part->vendor ? 1 : 0) +
               doublings(common_tflops(*own.part), common_tflops(*other.part));
    }
    if (own.gpus && other.gpus) {
        sum += doublings(static_cast<double>(*own.gpus), static_cast<double>(*other.gpus)) / 8;
    }
    return sum;
}

/// A published run and its distance from the user's.
struct near_run {
    const published_run* run = nullptr;
    std::optional<double> distance{};
};

/// The published runs nearest to a user's run, and where that run stands among them.
struct expectation {
    std::vector<near_run> runs{};
    double low = 0;               ///< a tenth of the runs is below it
    double median = 0;            ///< of the runs' exact MFU
    double high = 0;              ///< a tenth of the runs is above it
    std::optional<double> own{};  ///< the user's MFU
    std::size_t below = 0;        ///< runs with a lower MFU than the user's
};

/// Returns the value with a share of `values` below it, between two values in proportion. `values` are sorted.
inline double quantile(const std::vector<double>& values, double share) {
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

/// Fills in what the runs' MFUs say together.
inline void summarize(expectation& found) {
    std::vector<double> values;
    for (const near_run& near : found.runs) {
        values.push_back(near.run->mfu);
    }
    std::sort(values.begin(), values.end());
    found.low = quantile(values, 0.1);
    found.median = quantile(values, 0.5);
    found.high = quantile(values, 0.9);
    if (found.own) {
        found.below =
            static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), *found.own) - values.begin());
    }
}

/// Returns every run of the table that is read.
inline expectation all_published_runs() {
    expectation found;
    for (const published_run& run : published_table::get().runs()) {
        if (run.unread.empty()) {
            found.runs.push_back({.run = &run});
        }
    }
    summarize(found);
    return found;
}

/// Returns the `most` runs nearest to the user's; of runs equally near, those first in the table. `unmarked`: only runs
/// without a mark.
inline expectation expect(const run_features& own, std::optional<double> mfu, std::size_t most, bool unmarked) {
    expectation found;
    for (const published_run& run : published_table::get().runs()) {
        if (run.unread.empty() && (!unmarked || run.marks.empty())) {
            found.runs.push_back({&run, distance(own, run.features)});
        }
    }
    std::stable_sort(found.runs.begin(), found.runs.end(),
                     [](const near_run& a, const near_run& b) { return *a.distance < *b.distance; });
    found.runs.resize(std::min(most, found.runs.size()));
    found.own = mfu;
    summarize(found);
    return found;
}

/// Returns the features of a user's run of a model over a batch. Throws `error` for a batch without text tokens, an
/// accelerator that is not known, and one without a published rate of the precision.
inline run_features user_features(const floptally::model_config& model, const floptally::tally& batch,
                                  std::string_view accelerator, std::string_view precision,
                                  std::optional<std::uint64_t> gpus) {
    using floptally::accumulator;
    const double tokens = static_cast<double>(batch.get(floptally::view::useful, accumulator::tokens));
    if (!(tokens > 0)) {
        throw floptally::error("lengths",
                               "must have text tokens, since the published runs train language models: pass --lengths");
    }
    run_features own = features_of(model);
    own.length = static_cast<double>(batch.get(floptally::view::useful, accumulator::squares)) / tokens;
    own.part = &floptally::accelerator_named(accelerator);
    own.precision = floptally::precision_named(precision);
    own.gpus = gpus;
    if (!(own.part->published_tflops(own.precision) > 0)) {
        throw floptally::error("precision", std::string(own.part->name) + " has no published " +
                                                std::string(floptally::name(own.precision)) +
                                                " rate: pass the precision whose peak your MFU is relative to");
    }
    return own;
}

/// Returns an expectation as JSON, as docs/command_line.md specifies it.
inline nlohmann::ordered_json to_json(const expectation& found) {
    using json = nlohmann::ordered_json;
    const published_table& table = published_table::get();
    json runs = json::array();
    for (const near_run& near : found.runs) {
        const published_run& run = *near.run;
        const json& source = table.sources()[run.source];
        runs.push_back({{"model", run.model},
                        {"kind", run.kind()},
                        {"year", run.year},
                        {"accelerator", run.accelerator},
                        {"gpus", run.gpus},
                        {"precision", run.precision},
                        {"sequence_length", run.length},
                        {"mfu", run.mfu},
                        {"published", run.printed ? json(*run.printed) : json()},
                        {"published_peak_tflops", run.stated_peak ? json(*run.stated_peak) : json()},
                        {"peak_tflops", run.features.part->peak_tflops(run.features.precision)},
                        {"published_convention", run.counted_by.empty() ? json() : json(run.counted_by)},
                        {"reason", run.reason.empty() ? json() : json(run.reason)},
                        {"marks", run.marks},
                        {"source", source["title"]},
                        {"page", run.page.empty() ? source["where"] : json(run.page)},
                        {"distance", near.distance ? json(*near.distance) : json()}});
    }
    json result{{"version", floptally::version}, {"runs", runs},       {"low", found.low},
                {"median", found.median},        {"high", found.high}, {"own", json()}};
    if (found.own) {
        result["own"] = {{"mfu", *found.own},
                         {"below", found.below},
                         {"runs", found.runs.size()},
                         {"quantile", static_cast<double>(found.below) / static_cast<double>(found.runs.size())}};
    }
    json unread = json::array();
    for (const published_run& run : table.runs()) {
        if (!run.unread.empty()) {
            unread.push_back({{"model", run.model},
                              {"accelerator", run.accelerator},
                              {"source", table.title(run)},
                              {"reason", run.unread}});
        }
    }
    result["read"] = table.read();
    result["unread"] = unread;
    result["sources"] = table.sources();
    return result;
}

/// Returns an expectation as a table.
inline floptally::table table_of(const expectation& found) {
    using floptally::cell_side;
    using floptally::number_cell;
    floptally::table_section section{.columns = {{"model", cell_side::left},
                                                 {"accelerator", cell_side::left, 14},
                                                 {"GPUs", cell_side::right, 7},
                                                 {"precision", cell_side::left, 9},
                                                 {"length", cell_side::right, 9},
                                                 {"MFU %", cell_side::right, 7},
                                                 {"published", cell_side::right, 11},
                                                 {"counted by", cell_side::left, 16},
                                                 {"distance", cell_side::right, 8},
                                                 {"year", cell_side::left, 4},
                                                 {"source", cell_side::left}}};
    const published_table& table = published_table::get();
    for (const near_run& near : found.runs) {
        const published_run& run = *near.run;
        const std::string marked = run.marked();
        section.rows.push_back({{marked.empty() ? run.model : run.model + " (" + marked + ")"},
                                {run.accelerator},
                                floptally::count_cell(run.gpus),
                                {run.precision},
                                floptally::count_cell(run.length),
                                number_cell(100 * run.mfu, 1),
                                run.printed ? number_cell(100 * *run.printed, 1) : floptally::table_cell{"-"},
                                {run.counted_by.empty() ? "-" : run.counted_by},
                                near.distance ? number_cell(*near.distance, 2) : floptally::table_cell{"-"},
                                {std::to_string(run.year)},
                                {table.title(run)}});
    }
    const auto percent = [](double fraction) { return number_cell(100 * fraction, 1, " %").text; };
    std::vector<std::string> notes;
    notes.push_back(std::to_string(found.runs.size()) + " of " + std::to_string(table.read()) +
                    " published runs; exact MFU: a tenth below " + percent(found.low) + ", median " +
                    percent(found.median) + ", a tenth above " + percent(found.high));
    if (found.own) {
        notes.push_back("your MFU of " + percent(*found.own) + " is above " + std::to_string(found.below) +
                        " of these " + std::to_string(found.runs.size()) + " runs");
    }
    return {.sections = {section}, .notes = notes};
}

/// Returns the table of an expectation as aligned text, with its notes.
inline std::string to_table(const expectation& found) {
    const floptally::table shown = table_of(found);
    std::string text = floptally::to_text(shown);
    for (const std::string& note : shown.notes) {
        text += note + "\n";
    }
    return text;
}

}  // namespace program

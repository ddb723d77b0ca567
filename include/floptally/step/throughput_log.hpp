// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/step/detail/line_scanner.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>

/// @file
/// Writes, reads and compares the log lines of NVIDIA's recsys-examples (HSTU). The scripts of recsys-examples can read
/// the written lines. This header reads the lines of all versions of recsys-examples
/// (`examples/hstu/training/trainer/training.py` and `…/benchmark/…/hstu_layer_benchmark.py`).

namespace floptally::inline v0_3 {

/// The line of a training step: `[train] [iter I, tokens T, elapsed_time X.XX ms, achieved FLOPS F.FF TFLOPS,
/// MFU M.MM%]`, with a tail such as `: loss 0.691234`.
struct train_line {
    std::uint64_t iteration = 0;
    std::uint64_t tokens = 0;
    double milliseconds = 0;
    std::optional<double> tflops{};   ///< TFLOP/s of all GPUs together; empty in logs of the first versions
    std::optional<double> mfu_pct{};  ///< MFU in percent; empty in logs of earlier versions

    [[nodiscard]] friend bool operator==(const train_line&, const train_line&) = default;
};

/// The line of one pass of a layer: `[LAYER] [train_fwd] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%`
struct layer_line {
    std::string layer = "LAYER";  ///< the kind of layer in the log: "FUSED", "NATIVE", "DEBUG"
    std::string pass{};           ///< the pass in the log: "train_fwd" (in older logs "fwd"), "bwd" or "e2e"
    std::uint64_t tokens = 0;
    double milliseconds = 0;          ///< median time; for "e2e" in older logs the median of "fwd" plus that of "bwd"
    std::optional<double> tflops{};   ///< TFLOP/s of the pass; empty in logs of the first versions
    std::optional<double> mfu_pct{};  ///< MFU in percent; empty in logs of earlier versions

    [[nodiscard]] friend bool operator==(const layer_line&, const layer_line&) = default;
};

/// Returns the log line of a step or an interval: real tokens, time of all its steps, useful TFLOP/s of all GPUs
/// together.
[[nodiscard]] inline train_line train_line_of(std::uint64_t iteration, const step_totals& done) {
    const step_rates rate = rates(done);
    return {.iteration = iteration,
            .tokens = done.batch.get(view::useful, accumulator::tokens, done.batch.masks().main_modality()),
            .milliseconds = 1e3 * done.seconds,
            .tflops = rate.tflops,
            .mfu_pct = rate.has_peak ? std::optional<double>(100 * rate.mfu) : std::nullopt};
}

/// Returns the log line of one pass of a layer that has `work` useful FLOPs on `on.gpus` GPUs. `on.seconds` is the
/// median time.
[[nodiscard]] inline layer_line layer_line_of(std::string_view pass, std::uint64_t tokens, flops work,
                                              const measurement& on) {
    const double gpu_seconds = detail::gpu_seconds_of(on);
    const double rate = detail::divide(to_double(work) / 1e12, on.seconds, "seconds");
    const double per_gpu = detail::divide(to_double(work) / 1e12, gpu_seconds, "seconds");
    return {.pass = std::string(pass),
            .tokens = tokens,
            .milliseconds = 1e3 * on.seconds,
            .tflops = rate,
            .mfu_pct = 100 * detail::divide(per_gpu, on.peak_tflops, "peak_tflops")};
}

/// Returns the line as text. Leaves out empty values, like the older versions of recsys-examples.
[[nodiscard]] inline std::string to_string(const train_line& line) {
    std::string text = detail::text_of({"[train] [iter ", line.iteration, ", tokens ", line.tokens, ", elapsed_time ",
                                        detail::fixed_decimal(line.milliseconds, 2), " ms"});
    if (line.tflops) {
        detail::append(text, {", achieved FLOPS ", detail::fixed_decimal(*line.tflops, 2), " TFLOPS"});
    }
    if (line.tflops && line.mfu_pct) {
        detail::append(text, {", MFU ", detail::fixed_decimal(*line.mfu_pct, 2), "%"});
    }
    return text.append("]");
}

[[nodiscard]] inline std::string to_string(const layer_line& line) {
    std::string text = detail::text_of({"[", line.layer, "] [", line.pass, "] tokens ", line.tokens,
                                        ";time (median): ", detail::fixed_decimal(line.milliseconds, 3), " ms"});
    if (!line.tflops) {
        return text.append(".");
    }
    detail::append(text, {";achieved flops: ", detail::fixed_decimal(*line.tflops, 2), " TFLOPS"});
    if (line.mfu_pct) {
        detail::append(text, {";MFU: ", detail::fixed_decimal(*line.mfu_pct, 2), "%"});
    }
    return text;
}

namespace detail {

/// Returns the position where the log line of a training step begins in the text, or npos.
[[nodiscard]] inline std::size_t find_train_line(std::string_view text) {
    for (std::size_t at = text.find("[train]"); at != std::string_view::npos; at = text.find("[train]", at + 1)) {
        if (line_scanner(text.substr(at)).literal("[train]").blanks().literal("[iter").good()) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// Returns the position where the log line of a layer begins in the text, or npos. Such a line begins with two words in
/// brackets. The second word is the name of a pass ("bwd"), or "tokens" follows it.
[[nodiscard]] inline std::size_t find_layer_line(std::string_view text) {
    for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
        std::string layer;
        std::string pass;
        line_scanner scan(text.substr(at));
        scan.literal("[").word(layer).literal("]").blanks().literal("[").word(pass);
        const bool named = pass == "train_fwd" || pass == "fwd" || pass == "bwd" || pass == "e2e";
        if (scan.good() && (named || scan.literal("]").blanks().literal("tokens").good())) {
            return at;
        }
    }
    return std::string_view::npos;
}

inline constexpr const char* train_form =
    "[train] [iter I, tokens T, elapsed_time X ms, achieved FLOPS F TFLOPS, MFU M%]";
inline constexpr const char* layer_form = "[LAYER] [P] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%";

[[noreturn]] inline void throw_malformed(std::size_t number, std::string_view line, std::string_view form) {
    refuse(text_of({"line ", number}), {"must read \"", form, "\", got \"", line.substr(0, 200), "\""});
}

[[nodiscard]] inline train_line parse_train_line(std::string_view text, std::size_t number) {
    train_line line;
    line_scanner scan(text);
    scan.literal("[train]").blanks().literal("[iter ").number(line.iteration).literal(", tokens ").number(line.tokens);
    scan.literal(", elapsed_time ").number(line.milliseconds).literal(" ms");
    if (scan.take(", achieved FLOPS ")) {
        scan.number(line.tflops).literal(" TFLOPS");
        if (scan.take(", MFU ")) {
            scan.number(line.mfu_pct).literal("%");
        }
    }
    scan.literal("]");
    // The line may go on with the step's loss. A second step in one line is an error, because it would be skipped.
    const bool ends = scan.finished() || scan.take(":") || scan.take(" ");
    if (!scan.good() || !ends || find_train_line(scan.rest()) != std::string_view::npos ||
        find_layer_line(scan.rest()) != std::string_view::npos) {
        throw_malformed(number, text, train_form);
    }
    return line;
}

[[nodiscard]] inline layer_line parse_layer_line(std::string_view text, std::size_t number) {
    layer_line line;
    line_scanner scan(text);
    scan.literal("[").word(line.layer).literal("]").blanks().literal("[").word(line.pass).literal("]").blanks();
    scan.literal("tokens ").number(line.tokens).literal(";time");
    scan.take(" (median)");
    scan.literal(": ").number(line.milliseconds).literal(" ms");
    if (!scan.take(".")) {
        scan.literal(";achieved flops: ").number(line.tflops).literal(" TFLOPS");
        if (scan.take(";MFU: ")) {
            scan.number(line.mfu_pct).literal("%");
        }
    }
    if (!scan.finished()) {
        throw_malformed(number, text, layer_form);
    }
    return line;
}

/// Returns true if a line has words that occur only in log lines of steps and layers. If such a line
/// cannot be read, it was cut off or mixed with another line.
[[nodiscard]] inline bool has_throughput_words(std::string_view text) {
    return text.find("achieved FLOPS") != std::string_view::npos ||
           text.find("achieved flops") != std::string_view::npos ||
           text.find("time (median):") != std::string_view::npos;
}

}  // namespace detail

/// The lines of a log that print a throughput, in the order of the log.
struct throughput_log {
    std::vector<train_line> steps{};
    std::vector<layer_line> layers{};
};

/// Reads a log. Skips other lines, colours, and what a logger prints before a step or layer line (time, level, rank).
/// Throws `error` with the line number for a step or layer line that cannot be read, and for a log without such lines.
[[nodiscard]] inline throughput_log read_throughput_log(std::istream& text) {
    throughput_log log;
    std::size_t number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        const std::string seen = detail::without_colours(line);
        const std::string_view plain = seen;
        if (const std::size_t at = detail::find_train_line(plain); at != std::string_view::npos) {
            log.steps.push_back(detail::parse_train_line(plain.substr(at), number));
        } else if (const std::size_t layer = detail::find_layer_line(plain); layer != std::string_view::npos) {
            log.layers.push_back(detail::parse_layer_line(plain.substr(layer), number));
        } else if (detail::has_throughput_words(plain)) {
            detail::throw_malformed(number, plain,
                                    detail::text_of({detail::train_form, "\" or \"", detail::layer_form}));
        }
    }
    if (text.bad()) {
        throw error("log", "cannot be read to its end: check its disk, or read a copy");
    }
    if (log.steps.empty() && log.layers.empty()) {
        detail::refuse("log", {"has no throughput in its ", number, " lines: pass a log with lines like \"",
                               detail::train_form, "\" or \"", detail::layer_form, "\""});
    }
    return log;
}

/// A training run to compare with others: its log and its GPUs.
struct experiment {
    std::string name{};
    std::uint64_t gpus = 0;
    double peak_tflops = 0;  ///< dense peak of one GPU
    std::vector<train_line> steps{};
};

/// One row of the comparison of training runs.
struct experiment_row {
    std::string name{};
    double tflops_per_gpu = 0;       ///< TFLOP/s of one GPU over all steps: Σ FLOPs ÷ Σ (time x GPUs)
    double best_tflops_per_gpu = 0;  ///< TFLOP/s of one GPU in the fastest step of the log
    /// MFU in percent, computed from `tflops_per_gpu` and the peak, not read from the log.
    double mfu_pct = 0;
    double speed_up = 0;  ///< `tflops_per_gpu` ÷ that of the first experiment
};

/// Compares experiments with the first one. Returns a row for each, in the same order.
[[nodiscard]] inline std::vector<experiment_row> compare(std::span<const experiment> experiments) {
    std::vector<experiment_row> rows;
    for (const experiment& run : experiments) {
        detail::require_peak(run.peak_tflops, "peak_tflops");
        if (run.gpus == 0) {
            throw error("gpus", "must be at least 1, got 0 in \"" + run.name + "\"");
        }
        double tflop = 0;
        double milliseconds = 0;
        double best = 0;
        for (const train_line& line : run.steps) {
            detail::require_finite_positive(line.milliseconds, "elapsed_time");
            if (!line.tflops) {
                throw error("achieved FLOPS", "iteration " + std::to_string(line.iteration) + " of \"" + run.name +
                                                  "\" has none, because the log is of an old version of "
                                                  "recsys-examples: use logs of a later one");
            }
            detail::require_finite_positive(*line.tflops, "achieved FLOPS");
            tflop += *line.tflops * line.milliseconds;
            milliseconds += line.milliseconds;
            best = std::max(best, *line.tflops);
        }
        if (run.steps.empty()) {
            throw error("steps",
                        "\"" + run.name + "\" has no line of a step in its log: pass the log of a run with steps");
        }
        const auto gpus = static_cast<double>(run.gpus);
        const double rate = detail::divide(tflop, milliseconds, "elapsed_time") / gpus;
        rows.push_back({.name = run.name,
                        .tflops_per_gpu = rate,
                        .best_tflops_per_gpu = best / gpus,
                        .mfu_pct = 100 * detail::divide(rate, run.peak_tflops, "peak_tflops"),
                        .speed_up = rows.empty() ? 1 : rate / rows.front().tflops_per_gpu});
    }
    return rows;
}

/// Returns the rows as a Markdown table.
[[nodiscard]] inline std::string to_markdown(std::span<const experiment_row> rows) {
    table_section section{.columns = {{"experiment"}}};
    for (const char* name : {"TFLOPS/GPU", "peak TFLOPS/GPU", "MFU", "speed-up"}) {
        section.columns.push_back({name, cell_side::right});
    }
    for (const experiment_row& row : rows) {
        section.rows.push_back({{row.name},
                                number_cell(row.tflops_per_gpu, 2),
                                number_cell(row.best_tflops_per_gpu, 2),
                                number_cell(row.mfu_pct, 2, " %"),
                                number_cell(row.speed_up, 2, "x")});
    }
    return to_markdown(table{.sections = {std::move(section)}});
}

}  // namespace floptally

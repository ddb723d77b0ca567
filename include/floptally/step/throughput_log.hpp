// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/detail/line_scanner.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>
#include <floptally/statistic.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/utilization.hpp>

/// @file
/// The two log lines of NVIDIA's recsys-examples (HSTU), written as its scripts read them and read in every shape that
/// its versions write: `examples/hstu/training/trainer/training.py` and `…/benchmark/…/hstu_layer_benchmark.py`.

namespace floptally {

/// `[train] [iter I, tokens T, elapsed_time X.XX ms, achieved FLOPS F.FF TFLOPS, MFU M.MM%]`, with a tail such as
/// `: loss 0.691234`.
struct train_line {
    std::uint64_t iteration = 0;
    std::uint64_t tokens = 0;
    double milliseconds = 0;
    std::optional<double> tflops{};   ///< of all GPUs together; the first versions say none
    std::optional<double> mfu_pct{};  ///< of later versions

    [[nodiscard]] friend bool operator==(const train_line&, const train_line&) = default;
};

/// `[LAYER] [train_fwd] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%`
struct layer_line {
    std::string layer = "LAYER";  ///< the kind of layer as the log has it: "FUSED", "NATIVE", "DEBUG"
    std::string pass{};           ///< "train_fwd" ("fwd" before), "bwd", "e2e"
    std::uint64_t tokens = 0;
    double milliseconds = 0;          ///< median; of "e2e" in older logs the sum of the medians of both passes
    std::optional<double> tflops{};   ///< the first versions say none
    std::optional<double> mfu_pct{};  ///< of later versions

    [[nodiscard]] friend bool operator==(const layer_line&, const layer_line&) = default;
};

/// The line of a step or of an interval: its real tokens, its whole time, useful TFLOPS of all GPUs together.
[[nodiscard]] inline train_line train_line_of(std::uint64_t iteration, const step_totals& done) {
    const step_rates rate = rates(done);
    return {.iteration = iteration,
            .tokens = done.batch.get(view::useful, statistic::tokens, done.batch.masks().main_modality()),
            .milliseconds = 1e3 * done.seconds,
            .tflops = rate.tflops,
            .mfu_pct = 100 * rate.mfu};
}

/// The line of one pass of a layer whose useful FLOPs are `work`, on `on.gpus` GPUs in the median of `on.seconds`.
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

/// What is not known is left out, as the versions that do not know it do.
[[nodiscard]] inline std::string to_string(const train_line& line) {
    std::string text("[train] [iter ");
    text.append(std::to_string(line.iteration)).append(", tokens ").append(std::to_string(line.tokens));
    text.append(", elapsed_time ").append(detail::fixed_decimal(line.milliseconds, 2)).append(" ms");
    if (line.tflops) {
        text.append(", achieved FLOPS ").append(detail::fixed_decimal(*line.tflops, 2)).append(" TFLOPS");
    }
    if (line.tflops && line.mfu_pct) {
        text.append(", MFU ").append(detail::fixed_decimal(*line.mfu_pct, 2)).append("%");
    }
    return text.append("]");
}

[[nodiscard]] inline std::string to_string(const layer_line& line) {
    std::string text("[");
    text.append(line.layer).append("] [").append(line.pass).append("] tokens ").append(std::to_string(line.tokens));
    text.append(";time (median): ").append(detail::fixed_decimal(line.milliseconds, 3)).append(" ms");
    if (!line.tflops) {
        return text.append(".");
    }
    text.append(";achieved flops: ").append(detail::fixed_decimal(*line.tflops, 2)).append(" TFLOPS");
    if (line.mfu_pct) {
        text.append(";MFU: ").append(detail::fixed_decimal(*line.mfu_pct, 2)).append("%");
    }
    return text;
}

namespace detail {

/// Where a line of a step begins; npos where none does.
[[nodiscard]] inline std::size_t find_train_line(std::string_view text) {
    for (std::size_t at = text.find("[train]"); at != std::string_view::npos; at = text.find("[train]", at + 1)) {
        if (line_scanner(text.substr(at)).literal("[train]").blanks().literal("[iter").good()) {
            return at;
        }
    }
    return std::string_view::npos;
}

/// Where a line of a layer begins: two words in brackets, then tokens, or a pass that its benchmark names.
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
    throw error(std::string("line ").append(std::to_string(number)),
                std::string("must read \"").append(form).append("\", got \"").append(line.substr(0, 200)).append("\""));
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
    // What follows is the trainer's: its loss. A second line in it would be of another rank, and lost.
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

/// Words that only these two lines have: a line with one of them and without its begin was cut or mixed with another.
[[nodiscard]] inline bool has_throughput_words(std::string_view text) {
    return text.find("achieved FLOPS") != std::string_view::npos ||
           text.find("achieved flops") != std::string_view::npos ||
           text.find("time (median):") != std::string_view::npos;
}

}  // namespace detail

/// The lines of a log that say a throughput, in their order.
struct throughput_log {
    std::vector<train_line> steps{};
    std::vector<layer_line> layers{};
};

/// Reads a log. What stands before a line of a step or of a layer (a time, a level, a rank) is skipped, and so are
/// colours and lines of other kinds; a line that looks like one of the two and cannot be read is an error with its
/// number, and so is a log that has neither.
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
            detail::throw_malformed(number, plain, std::string(detail::train_form) + "\" or \"" + detail::layer_form);
        }
    }
    if (text.bad()) {
        throw error("log", "cannot be read to its end");
    }
    if (log.steps.empty() && log.layers.empty()) {
        throw error("log", "says no throughput in its " + std::to_string(number) + " lines: it has none like \"" +
                               detail::train_form + "\" or \"" + detail::layer_form + "\"");
    }
    return log;
}

}  // namespace floptally

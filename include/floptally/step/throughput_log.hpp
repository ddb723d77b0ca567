// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>
#include <floptally/statistic.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/utilization.hpp>

/// @file
/// The two log lines of NVIDIA's recsys-examples (HSTU), written and read.

namespace floptally {

/// `[train] [iter I, tokens T, elapsed_time X.XX ms, achieved FLOPS F.FF TFLOPS, MFU M.MM%]`
struct train_line {
    std::uint64_t iteration = 0;
    std::uint64_t tokens = 0;
    double milliseconds = 0;
    double tflops = 0;  ///< of all GPUs together
    double mfu_pct = 0;

    [[nodiscard]] friend bool operator==(const train_line&, const train_line&) = default;
};

/// `[LAYER] [train_fwd] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%`
struct layer_line {
    std::string pass{};  ///< "train_fwd", "train_bwd", …
    std::uint64_t tokens = 0;
    double milliseconds = 0;  ///< median
    double tflops = 0;
    double mfu_pct = 0;

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

[[nodiscard]] inline std::string to_string(const train_line& line) {
    return std::string("[train] [iter ")
        .append(std::to_string(line.iteration))
        .append(", tokens ")
        .append(std::to_string(line.tokens))
        .append(", elapsed_time ")
        .append(detail::fixed_decimal(line.milliseconds, 2))
        .append(" ms, achieved FLOPS ")
        .append(detail::fixed_decimal(line.tflops, 2))
        .append(" TFLOPS, MFU ")
        .append(detail::fixed_decimal(line.mfu_pct, 2))
        .append("%]");
}

[[nodiscard]] inline std::string to_string(const layer_line& line) {
    return std::string("[LAYER] [")
        .append(line.pass)
        .append("] tokens ")
        .append(std::to_string(line.tokens))
        .append(";time (median): ")
        .append(detail::fixed_decimal(line.milliseconds, 3))
        .append(" ms;achieved flops: ")
        .append(detail::fixed_decimal(line.tflops, 2))
        .append(" TFLOPS;MFU: ")
        .append(detail::fixed_decimal(line.mfu_pct, 2))
        .append("%");
}

namespace detail {

/// Reads a line from left to right; once something does not fit, `good` stays false.
class line_scanner {
  public:
    explicit line_scanner(std::string_view text) : rest_(text) {}

    line_scanner& literal(std::string_view expected) {
        good_ = good_ && rest_.substr(0, expected.size()) == expected;
        rest_.remove_prefix(good_ ? expected.size() : 0);
        return *this;
    }

    line_scanner& number(std::uint64_t& value) { return parse(value); }

    line_scanner& number(double& value) {
        parse(value);
        good_ = good_ && std::isfinite(value) && value >= 0 && !std::signbit(value);
        return *this;
    }

    /// Letters, digits and underscores up to the next other character.
    line_scanner& word(std::string& value) {
        const std::size_t size =
            rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        value = std::string(rest_.substr(0, size));
        good_ = good_ && !value.empty();
        rest_.remove_prefix(good_ ? value.size() : 0);
        return *this;
    }

    /// Nothing is left but the end of the line, which may be a carriage return.
    [[nodiscard]] bool finished() const { return good_ && (rest_.empty() || rest_ == "\r"); }

  private:
    template <class Number>
    line_scanner& parse(Number& value) {
        const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        good_ = good_ && problem == std::errc{};
        rest_.remove_prefix(good_ ? static_cast<std::size_t>(end - rest_.data()) : 0);
        return *this;
    }

    std::string_view rest_;
    bool good_ = true;
};

[[noreturn]] inline void throw_malformed(std::size_t number, std::string_view line, std::string_view form) {
    throw error(std::string("line ").append(std::to_string(number)),
                std::string("must read \"").append(form).append("\", got \"").append(line.substr(0, 200)).append("\""));
}

[[nodiscard]] inline train_line parse_train_line(std::string_view text, std::size_t number) {
    train_line line;
    line_scanner scan(text);
    scan.literal("[train] [iter ").number(line.iteration).literal(", tokens ").number(line.tokens);
    scan.literal(", elapsed_time ").number(line.milliseconds).literal(" ms, achieved FLOPS ").number(line.tflops);
    scan.literal(" TFLOPS, MFU ").number(line.mfu_pct).literal("%]");
    if (!scan.finished()) {
        throw_malformed(number, text, "[train] [iter I, tokens T, elapsed_time X ms, achieved FLOPS F TFLOPS, MFU M%]");
    }
    return line;
}

[[nodiscard]] inline layer_line parse_layer_line(std::string_view text, std::size_t number) {
    layer_line line;
    line_scanner scan(text);
    scan.literal("[LAYER] [").word(line.pass).literal("] tokens ").number(line.tokens);
    scan.literal(";time (median): ").number(line.milliseconds).literal(" ms;achieved flops: ").number(line.tflops);
    scan.literal(" TFLOPS;MFU: ").number(line.mfu_pct).literal("%");
    if (!scan.finished()) {
        throw_malformed(number, text, "[LAYER] [P] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%");
    }
    return line;
}

}  // namespace detail

/// The lines of a log that say a throughput, in their order.
struct throughput_log {
    std::vector<train_line> steps{};
    std::vector<layer_line> layers{};
};

/// Reads a log. What stands before "[train] [iter " or "[LAYER] [" in a line (a time, a rank) is skipped, and so are
/// lines with neither; a line that begins as one of the two and does not end so is an error with its number.
[[nodiscard]] inline throughput_log read_throughput_log(std::istream& text) {
    throughput_log log;
    std::string line;
    for (std::size_t number = 1; std::getline(text, line); ++number) {
        const std::string_view seen = line;
        if (const std::size_t at = seen.find("[train] [iter "); at != std::string_view::npos) {
            log.steps.push_back(detail::parse_train_line(seen.substr(at), number));
        } else if (const std::size_t layer = seen.find("[LAYER] ["); layer != std::string_view::npos) {
            log.layers.push_back(detail::parse_layer_line(seen.substr(layer), number));
        }
    }
    if (text.bad()) {
        throw error("log", "cannot be read to its end");
    }
    return log;
}

}  // namespace floptally

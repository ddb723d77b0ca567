// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <floptally/text/number_text.hpp>

/// @file
/// The lines in which well-known trainers log their rates.

namespace floptally {

/// A number as it was printed: anything between `least` and `most` is printed so.
struct printed_number {
    double least = 0;
    double most = 0;

    [[nodiscard]] double middle() const { return least + (most - least) / 2; }
};

/// The numbers that a trainer printed of a step, or of several that it averages. Rates are of one GPU.
struct trainer_line {
    std::string_view trainer{};  ///< "Megatron-LM"
    std::optional<printed_number> tflops{};
    std::optional<printed_number> all_tflops{};  ///< of all GPUs together
    std::optional<printed_number> mfu{};         ///< a fraction
    std::optional<printed_number> seconds{};
    std::optional<printed_number> tokens_per_second{};
    std::optional<printed_number> samples{};             ///< sequences of the step, of all GPUs
    std::optional<printed_number> samples_per_second{};  ///< of all GPUs
    std::optional<printed_number> flops{};               ///< of all GPUs, a count
};

namespace detail {

/// A number of a trainer's line: the words before it, what it is, and the unit.
struct trainer_field {
    std::string_view label;
    std::optional<printed_number> trainer_line::*what = nullptr;
    double unit = 1;
};

/// The line of one trainer, which has all of these.
struct trainer_form {
    std::string_view trainer;
    trainer_field fields[3]{};
};

/// Megatron-LM's line is Megatron-Bridge's and ms-swift's too; the second of Megatron-Bridge's is its own. nanoGPT's
/// MFU is a running mean. verl's is of the actor's update, whose time another clock takes. Hugging Face's Trainer has
/// one line for a whole run.
inline constexpr trainer_form trainer_forms[] = {
    {"Megatron-LM",
     {{"elapsed time per iteration (ms):", &trainer_line::seconds, 1e-3},
      {"throughput per GPU (TFLOP/s/GPU):", &trainer_line::tflops},
      {"global batch size:", &trainer_line::samples}}},
    {"Megatron-Bridge", {{"Step Time :", &trainer_line::seconds}, {"GPU utilization:", &trainer_line::tflops}}},
    {"MaxText", {{"seconds:", &trainer_line::seconds}, {"TFLOP/s/device:", &trainer_line::tflops}}},
    {"torchtitan", {{"tps:", &trainer_line::tokens_per_second}, {"tflops:", &trainer_line::tflops}}},
    {"recsys-examples",
     {{"elapsed_time", &trainer_line::seconds, 1e-3}, {"achieved FLOPS", &trainer_line::all_tflops}}},
    {"nanochat", {{"dt:", &trainer_line::seconds, 1e-3}, {"mfu:", &trainer_line::mfu, 1e-2}}},
    {"nanoGPT", {{"time", &trainer_line::seconds, 1e-3}, {"mfu", &trainer_line::mfu, 1e-2}}},
    {"verl", {{"timing_s/update_actor:", &trainer_line::seconds}, {"perf/mfu/actor:", &trainer_line::mfu}}},
    {"Hugging Face Trainer",
     {{"'train_runtime':", &trainer_line::seconds},
      {"'train_samples_per_second':", &trainer_line::samples_per_second},
      {"'total_flos':", &trainer_line::flops}}}};

/// The exponent at the beginning of that text, as Python prints large floats ("e+16"); 0 without one.
[[nodiscard]] inline double exponent_at(std::string_view text) {
    if (text.empty() || text.front() != 'e') {
        return 0;
    }
    text.remove_prefix(std::min<std::size_t>(text.size(), text.starts_with("e+") ? 2 : 1));
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    text = text.substr(0, text.find_first_not_of("0123456789", sign));
    return number_of_text<double>(text).value_or(0);
}

/// The number that follows a label, with commas between thousands, an exponent or neither; none where the label is not
/// there, or the end of a longer word.
[[nodiscard]] inline std::optional<printed_number> number_after(std::string_view line, std::string_view label,
                                                                double unit) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
    std::size_t at = line.find(label);
    while (at != std::string_view::npos && at != 0 && letters.find(line[at - 1]) != std::string_view::npos) {
        at = line.find(label, at + 1);
    }
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string_view rest = line.substr(at + label.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::size_t length = std::min(rest.find_first_not_of("0123456789.,"), rest.size());
    unit *= std::pow(10.0, exponent_at(rest.substr(length)));
    std::string digits(rest.substr(0, length));
    if (const std::size_t end = digits.find_last_not_of(".,"); end != std::string::npos) {
        digits.erase(end + 1);  // of the sentence, not of the number
    }
    std::erase(digits, ',');
    const auto value = number_of_text<double>(digits);
    if (!value || !(*value > 0) || !(unit > 0) || !std::isfinite(unit)) {
        return std::nullopt;
    }
    const std::size_t point = digits.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
    const double half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return printed_number{(*value - half) * unit, (*value + half) * unit};
}

}  // namespace detail

/// The numbers in a line of a log, by the trainer whose line it is; none of any other line, nor of one with a 0 among
/// them.
[[nodiscard]] inline std::optional<trainer_line> trainer_line_of(std::string_view line) {
    for (const detail::trainer_form& form : detail::trainer_forms) {
        trainer_line found{.trainer = form.trainer};
        const bool is_whole = std::all_of(std::begin(form.fields), std::end(form.fields), [&](const auto& field) {
            if (field.what == nullptr) {
                return true;
            }
            found.*field.what = detail::number_after(line, field.label, field.unit);
            return (found.*field.what).has_value();
        });
        if (is_whole) {
            if (found.samples) {
                found.samples = printed_number{found.samples->middle(), found.samples->middle()};
            } else if (found.samples_per_second) {
                found.samples = printed_number{found.samples_per_second->least * found.seconds->least,
                                               found.samples_per_second->most * found.seconds->most};
            }
            return found;
        }
    }
    return std::nullopt;
}

/// The trainers whose lines are known, for an error: "Megatron-LM, MaxText, …".
[[nodiscard]] inline std::string known_trainers() {
    std::string names;
    for (const detail::trainer_form& form : detail::trainer_forms) {
        names.append(names.empty() ? "" : ", ").append(form.trainer);
    }
    return names;
}

}  // namespace floptally

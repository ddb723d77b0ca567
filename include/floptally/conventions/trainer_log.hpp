// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/text/number_text.hpp>

/// @file
/// Parses the log lines, JSON records and CSV tables in which well-known trainers write their rates.

namespace floptally::inline v0_3 {

/// A number that a trainer printed with rounding: the true value is between `least` and `most`.
struct printed_number {
    double least = 0;
    double most = 0;

    /// Returns the middle of the range.
    [[nodiscard]] double middle() const { return least + (most - least) / 2; }
};

/// The numbers in one record of a trainer's log, for one step or the mean of several. Rates are per GPU unless the
/// member says otherwise.
struct trainer_line {
    std::string_view trainer{};  ///< name of the trainer: "Megatron-LM"
    std::optional<printed_number> tflops{};
    std::optional<printed_number> all_tflops{};  ///< TFLOP/s, all GPUs together
    std::optional<printed_number> mfu{};         ///< MFU as a fraction: 0.412
    std::optional<printed_number> seconds{};
    std::optional<printed_number> tokens{};  ///< number of tokens of the step on all GPUs together
    std::optional<printed_number> tokens_per_second{};
    std::optional<printed_number> all_tokens_per_second{};  ///< tokens per second of all GPUs together
    std::optional<printed_number> samples{};                ///< number of sequences of the step on all GPUs together
    std::optional<printed_number> samples_per_second{};     ///< sequences per second of all GPUs together
    std::optional<printed_number> flops{};  ///< number of FLOPs of all GPUs together; a count, not a rate
};

namespace detail {

/// Unusual forms in which a trainer prints a number in its log.
enum class trainer_number : std::uint8_t {
    needed,
    optional,   ///< the record is also recognized without this number
    truncated,  ///< the trainer truncates the decimals instead of rounding them
    inverse     ///< the trainer prints the inverse of the stored number: batches per second for `seconds`
};

/// A number in a trainer's log record: the label before it, the member of `trainer_line` that stores it, and the unit.
struct trainer_field {
    std::string_view label;
    std::optional<printed_number> trainer_line::*member = nullptr;
    double unit = 1;
    trainer_number kind = trainer_number::needed;
};

/// The format of one trainer's record: one line, or several lines if `begins` is not empty. A record must have all
/// fields that are not optional.
struct trainer_form {
    std::string_view trainer;
    std::array<trainer_field, 4> fields{};
    std::string_view begins{};  ///< text of the line that begins a record of several lines
    std::string_view ends{};    ///< text of the line that ends a record of several lines; empty: no such line
};

inline constexpr double per_cent = 1e-2;
inline constexpr double milliseconds = 1e-3;

/// The formats of the known trainers' records. A line is read with the first format that fits. Megatron-Bridge and
/// ms-swift also print Megatron-LM's line. A label without a colon or blank at its end is a key of a dict or of JSON,
/// or a column of a CSV file.
///
/// The MFU in these records is not always that of one step. nanoGPT's is a running mean. verl's is for the actor's
/// update only, which is timed separately. Hugging Face's Trainer writes one record for a whole run. ms-swift's is the
/// mean since the run began.
inline constexpr trainer_form trainer_forms[] = {
    {"Megatron-LM",
     {{{"elapsed time per iteration (ms):", &trainer_line::seconds, milliseconds},
       {"throughput per GPU (TFLOP/s/GPU):", &trainer_line::tflops},
       {"global batch size:", &trainer_line::samples},
       {"tokens per GPU (tokens/s/GPU):", &trainer_line::tokens_per_second, 1, trainer_number::optional}}}},
    {"Megatron-LM",  // this format includes the numbers that Primus adds to the line
     {{{"elapsed time per iteration (ms):", &trainer_line::seconds, milliseconds},
       {"compute per GPU (TFLOP/s/GPU):", &trainer_line::tflops},
       {"global batch size:", &trainer_line::samples},
       {"tokens/s/GPU inst/harmonic mean:", &trainer_line::tokens_per_second, 1, trainer_number::optional}}}},
    {"Megatron-Bridge", {{{"Step Time :", &trainer_line::seconds}, {"GPU utilization:", &trainer_line::tflops}}}},
    {"MaxText",
     {{{"seconds:", &trainer_line::seconds},
       {"TFLOP/s/device:", &trainer_line::tflops},
       {"Tokens/s/device:", &trainer_line::tokens_per_second, 1, trainer_number::optional}}}},
    {"torchtitan", {{{"tps:", &trainer_line::tokens_per_second}, {"tflops:", &trainer_line::tflops}}}},
    {"recsys-examples",
     {{{"elapsed_time ", &trainer_line::seconds, milliseconds},
       {"achieved FLOPS ", &trainer_line::all_tflops},
       {"tokens ", &trainer_line::tokens, 1, trainer_number::optional}}}},
    {"nanochat",
     {{{"dt:", &trainer_line::seconds, milliseconds},
       {"bf16_mfu:", &trainer_line::mfu, per_cent},
       {"tok/sec:", &trainer_line::all_tokens_per_second, 1, trainer_number::optional}}}},
    {"nanochat",  // format until 2025
     {{{"dt:", &trainer_line::seconds, milliseconds},
       {"mfu:", &trainer_line::mfu, per_cent},
       {"tok/sec:", &trainer_line::all_tokens_per_second, 1, trainer_number::optional}}}},
    {"nanoGPT", {{{"time ", &trainer_line::seconds, milliseconds}, {"mfu ", &trainer_line::mfu, per_cent}}}},
    {"verl",
     {{{"timing_s/update_actor", &trainer_line::seconds},
       {"perf/mfu/actor", &trainer_line::mfu},
       {"perf/total_num_tokens", &trainer_line::tokens, 1, trainer_number::optional}}}},
    {"prime-rl", {{{"Throughput:", &trainer_line::all_tokens_per_second}, {"MFU:", &trainer_line::mfu, per_cent}}}},
    {"prime-rl",  // the labels are names of prime-rl's metrics
     {{{"perf/throughput", &trainer_line::all_tokens_per_second}, {"perf/mfu", &trainer_line::mfu, per_cent}}}},
    {"TRL",
     {{{"perf/forwarded_tok_s_fwd_bwd", &trainer_line::all_tokens_per_second},
       {"perf/mfu_fwd_bwd", &trainer_line::mfu, per_cent}}}},
    {"TRL",
     {{{"perf/forwarded_tok_s_wall_clock", &trainer_line::all_tokens_per_second},
       {"perf/mfu_wall_clock", &trainer_line::mfu, per_cent}}}},
    {"Automodel",
     {{{"tps", &trainer_line::all_tokens_per_second},
       {"mfu", &trainer_line::mfu, per_cent},
       {"num_tokens_per_step", &trainer_line::tokens, 1, trainer_number::optional}}}},
    {"ms-swift",  // format of ms-swift when it trains with Megatron-LM
     {{{"train_speed(s/it)", &trainer_line::seconds}, {"throughput(TFLOP/s/GPU)", &trainer_line::tflops}}}},
    {"ms-swift", {{{"train_speed(s/it)", &trainer_line::seconds}, {"MFU", &trainer_line::mfu}}}},
    {"ms-swift",  // format until 2025
     {{{"train_speed(iter/s)", &trainer_line::seconds, 1, trainer_number::inverse}, {"MFU", &trainer_line::mfu}}}},
    {"OLMo-core",
     {{{"throughput/device/TPS", &trainer_line::tokens_per_second},
       {"throughput/device/MFU", &trainer_line::mfu, per_cent}}}},
    {"OLMo-core",  // OLMo-core's console output, one number a line
     {{{"throughput/device/TPS", &trainer_line::tokens_per_second, 1, trainer_number::truncated},
       {"throughput/device/MFU", &trainer_line::mfu, per_cent}}},
     "[step="},
    {"Lightning",
     {{{"device/batches_per_sec", &trainer_line::seconds, 1, trainer_number::inverse},
       {"device/flops_per_sec", &trainer_line::tflops, 1e-12},
       {"device/items_per_sec", &trainer_line::tokens_per_second, 1, trainer_number::optional}}}},
    {"Lightning",
     {{{"device/batches_per_sec", &trainer_line::seconds, 1, trainer_number::inverse},
       {"device/mfu", &trainer_line::mfu},
       {"device/items_per_sec", &trainer_line::tokens_per_second, 1, trainer_number::optional}}}},
    {"Hugging Face Trainer",
     {{{"train_runtime", &trainer_line::seconds},
       {"train_samples_per_second", &trainer_line::samples_per_second},
       {"total_flos", &trainer_line::flops}}}},
    {"Hugging Face Trainer",  // the output of the Trainer's `log_metrics`
     {{{"train_runtime", &trainer_line::seconds},
       {"train_samples_per_second", &trainer_line::samples_per_second},
       {"total_flos", &trainer_line::flops}}},
     "train metrics"},
    {"Hugging Face Trainer",  // the files train_results.json and trainer_state.json
     {{{"train_runtime", &trainer_line::seconds},
       {"train_samples_per_second", &trainer_line::samples_per_second},
       {"total_flos", &trainer_line::flops}}},
     "{",
     "}"}};

/// Returns the decimal exponent at the beginning of a text: 16 for "e+16". Python prints large floats in this form.
/// Returns 0 if the text begins with no exponent.
[[nodiscard]] inline double exponent_at(std::string_view text) {
    if (text.empty() || (text.front() != 'e' && text.front() != 'E')) {
        return 0;
    }
    text.remove_prefix(1);
    text.remove_prefix(text.starts_with('+') ? 1 : 0);
    const std::size_t sign = text.starts_with('-') ? 1 : 0;
    text = text.substr(0, text.find_first_not_of("0123456789", sign));
    return number_of_text<double>(text).value_or(0);
}

inline constexpr std::string_view digits_and_marks = "0123456789.,";

/// A decimal number at the beginning of a text.
struct decimal_number {
    double value;
    double half;       ///< half a unit of the last printed digit
    std::size_t size;  ///< number of characters, without sign and exponent
};

/// Reads "34,112.50". Ignores a comma or full stop after the number.
[[nodiscard]] inline std::optional<decimal_number> decimal_at(std::string_view text) {
    const std::size_t size = std::min(text.find_first_not_of(digits_and_marks), text.size());
    std::string digits(text.substr(0, size));
    if (const std::size_t end = digits.find_last_not_of(".,"); end != std::string::npos) {
        digits.erase(end + 1);
    }
    std::erase(digits, ',');
    const auto value = number_of_text<double>(digits);
    if (!value) {
        return std::nullopt;
    }
    const std::size_t point = digits.find('.');
    const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
    return decimal_number{*value, 0.5 * std::pow(10.0, -static_cast<double>(decimals)), size};
}

/// Reads "0:49:19.03" and "1 day, 0:49:19.03" in seconds.
[[nodiscard]] inline std::optional<decimal_number> clock_time_at(std::string_view text) {
    double seconds = 0;
    if (const std::size_t day = text.find(" day"); day != std::string_view::npos) {
        const auto days = number_of_text<double>(text.substr(0, day));
        const std::size_t rest = text.find(", ", day);
        if (!days || rest == std::string_view::npos) {
            return std::nullopt;
        }
        seconds = *days * 24 * 3600;
        text.remove_prefix(rest + 2);
    }
    for (const double unit : {3600.0, 60.0}) {
        const std::size_t colon = text.find(':');
        const auto part = number_of_text<double>(text.substr(0, colon));
        if (colon == std::string_view::npos || !part) {
            return std::nullopt;
        }
        seconds += unit * *part;
        text.remove_prefix(colon + 1);
    }
    auto last = decimal_at(text);
    if (last) {
        last->value += seconds;
    }
    return last;
}

/// Reads the number at the beginning of the text behind a label: "3", ": 3", "': 3", "=3", ":np.float64(3)", "': '3'".
/// The number may have commas between thousands, an exponent, or transformers' unit GF of 2³⁰. A time may be written as
/// hours, minutes and seconds.
[[nodiscard]] inline std::optional<printed_number> number_behind(std::string_view text, const trainer_field& field) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t'\":="), text.size()));
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
    const std::size_t word = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.");
    const bool is_call =
        word != std::string_view::npos && text[word] == '(' &&
        letters.find(text.front()) != std::string_view::npos;  // a wrapped number such as np.float64(…) or tensor(…)
    text.remove_prefix(is_call ? word + 1 : 0);
    std::optional<decimal_number> number = decimal_at(text);
    if (!number) {
        return std::nullopt;
    }
    const std::string_view rest = text.substr(number->size);
    double unit = field.unit * std::pow(10.0, exponent_at(rest));
    bool truncated = field.kind == trainer_number::truncated;
    if (rest.starts_with("GF")) {
        unit *= 1024.0 * 1024 * 1024;
        truncated = true;
    }
    if (field.member == &trainer_line::seconds && (rest.starts_with(':') || rest.starts_with(" day"))) {
        number = clock_time_at(text);
    }
    if (!number || !(number->value > 0) || !(unit > 0) || !std::isfinite(unit)) {
        return std::nullopt;
    }
    // A double has a rounding error even if all digits are printed. Its product with the unit has one too.
    const double half = std::max(number->half, number->value * 1e-12);
    const double least = number->value - (truncated ? 0 : half);
    const double most = number->value + (truncated ? 2 * half : half);
    if (field.kind == trainer_number::inverse) {
        return least > 0 ? std::optional(printed_number{unit / most, unit / least}) : std::nullopt;
    }
    return printed_number{least * unit, most * unit};
}

/// Returns the number after a field's label. Returns nothing if no number follows the label. A label inside a longer
/// word does not count, except after the prefix "train/".
[[nodiscard]] inline std::optional<printed_number> number_after(std::string_view line, const trainer_field& field) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
    for (std::size_t at = line.find(field.label); at != std::string_view::npos; at = line.find(field.label, at + 1)) {
        std::string_view before = line.substr(0, at);
        before.remove_suffix(before.ends_with("train/") ? 6 : 0);
        if (!before.empty() && letters.find(before.back()) != std::string_view::npos) {
            continue;
        }
        if (const auto found = number_behind(line.substr(at + field.label.size()), field)) {
            return found;
        }
    }
    return std::nullopt;
}

/// Reads each field of the format that occurs in the line, and stores it in `found`.
inline void add_fields(const trainer_form& form, std::string_view line, trainer_line& found) {
    for (const trainer_field& field : form.fields) {
        if (field.member != nullptr) {
            if (const auto number = number_after(line, field)) {
                found.*field.member = number;
            }
        }
    }
}

/// Returns true if all fields that the format requires are present.
[[nodiscard]] inline bool is_whole(const trainer_form& form, const trainer_line& found) {
    return std::all_of(form.fields.begin(), form.fields.end(), [&](const trainer_field& field) {
        return field.member == nullptr || field.kind == trainer_number::optional || (found.*field.member).has_value();
    });
}

/// Fills in the number of sequences of a complete record that has only sequences per second and the step's time.
[[nodiscard]] inline trainer_line with_samples(trainer_line found) {
    if (found.samples) {
        found.samples = printed_number{found.samples->middle(), found.samples->middle()};
    } else if (found.samples_per_second) {
        found.samples = printed_number{found.samples_per_second->least * found.seconds->least,
                                       found.samples_per_second->most * found.seconds->most};
    }
    return found;
}

/// Splits a line of a CSV file. Removes the quotes around names.
[[nodiscard]] inline std::vector<std::string_view> csv_cells(std::string_view line) {
    std::vector<std::string_view> cells;
    for (bool last = false; !last;) {
        const std::size_t comma = line.find(',');
        last = comma == std::string_view::npos;
        std::string_view cell = line.substr(0, comma);
        while (!cell.empty() && (cell.front() == '"' || cell.front() == ' ')) {
            cell.remove_prefix(1);
        }
        while (!cell.empty() && (cell.back() == '"' || cell.back() == ' ' || cell.back() == '\r')) {
            cell.remove_suffix(1);
        }
        cells.push_back(cell);
        line.remove_prefix(last ? 0 : comma + 1);
    }
    return cells;
}

/// Returns true if a name is the label of a field, with or without the prefix "train/".
[[nodiscard]] inline bool is_trainer_key(std::string_view name) {
    name.remove_prefix(name.starts_with("train/") ? 6 : 0);
    for (const trainer_form& form : trainer_forms) {
        for (const trainer_field& field : form.fields) {
            if (field.member != nullptr && field.label == name) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace detail

/// Returns the numbers in a log line of a known trainer. Returns nothing for any other line, and for a line in which a
/// number is 0.
[[nodiscard]] inline std::optional<trainer_line> trainer_line_of(std::string_view line) {
    for (const detail::trainer_form& form : detail::trainer_forms) {
        if (!form.begins.empty()) {
            continue;
        }
        trainer_line found{.trainer = form.trainer};
        detail::add_fields(form, line, found);
        if (detail::is_whole(form, found)) {
            return detail::with_samples(found);
        }
    }
    return std::nullopt;
}

/// Reads a trainer's log line by line. Also reads records of several lines, and CSV files with a line of names.
class trainer_log_reader {
  public:
    /// Returns the numbers of the record that ends with this line. Returns nothing if no record ends with it.
    [[nodiscard]] std::optional<trainer_line> read(std::string_view line) {
        const std::string named = with_names(line);
        if (const auto found = trainer_line_of(named)) {
            return found;
        }
        for (std::size_t i = 0; i < std::size(detail::trainer_forms); ++i) {
            const detail::trainer_form& form = detail::trainer_forms[i];
            if (form.begins.empty()) {
                continue;
            }
            std::optional<trainer_line>& record = records_[i];
            if (line.find(form.begins) != std::string_view::npos) {
                record = trainer_line{.trainer = form.trainer};
            }
            if (!record) {
                continue;
            }
            detail::add_fields(form, line, *record);
            if (detail::is_whole(form, *record)) {
                const trainer_line found = detail::with_samples(*record);
                record.reset();
                return found;
            }
            if (!form.ends.empty() && line.find(form.ends) != std::string_view::npos) {
                record.reset();
            }
        }
        return std::nullopt;
    }

  private:
    /// Returns a line of a CSV file with the column's name before each number. Returns any other line unchanged.
    [[nodiscard]] std::string with_names(std::string_view line) {
        const std::vector<std::string_view> cells = detail::csv_cells(line);
        if (cells.size() > 1 && std::any_of(cells.begin(), cells.end(), detail::is_trainer_key)) {
            columns_.assign(cells.begin(), cells.end());
            return {};
        }
        if (columns_.empty() || cells.size() != columns_.size()) {
            return std::string(line);
        }
        std::string named;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            named.append(columns_[i]).append(": ").append(cells[i]).append(" ");
        }
        return named;
    }

    std::vector<std::string> columns_{};
    std::array<std::optional<trainer_line>, std::size(detail::trainer_forms)> records_{};
};

/// Returns the names of the known trainers for the text of an error: "Megatron-LM, MaxText, …".
[[nodiscard]] inline std::string known_trainers() {
    std::string names;
    std::string_view last;
    for (const detail::trainer_form& form : detail::trainer_forms) {
        if (form.trainer != last) {
            names.append(names.empty() ? "" : ", ").append(form.trainer);
            last = form.trainer;
        }
    }
    return names;
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
// Keeps commas in the values of a repeated option: "8,900,100" is one sequence.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/core.hpp>
#include <floptally/report.hpp>

/// @file
/// Reads the program's options as text and as numbers.

namespace program {

using floptally::error;

template <class Number>
std::optional<Number> parse(std::string_view text) {
    return floptally::detail::number_of_text<Number>(text);
}

inline std::int64_t parse_integer(std::string_view text, const std::string& field) {
    if (const auto value = parse<std::int64_t>(text)) {
        return *value;
    }
    throw error(field, fmt::format("must be a 64-bit integer, got \"{}\"", text));
}

inline std::uint64_t parse_count(std::string_view text, const std::string& field, std::uint64_t least,
                                 std::uint64_t most) {
    const auto value = parse<std::uint64_t>(text);
    if (!value || *value < least || *value > most) {
        throw error(field, fmt::format("must be an integer from {} to {}, got \"{}\"", least, most, text));
    }
    return *value;
}

/// A whole number from 1 to 10^18, also with a fraction, an exponent or a letter for a power of ten: "15T", "1.5e12",
/// "250M". Letters are K, M, B or G, and T. The number is exact, not rounded.
inline std::uint64_t parse_large_count(std::string_view text, const std::string& field) {
    constexpr std::uint64_t most = 1'000'000'000'000'000'000;
    const auto fail = [&]() -> std::uint64_t {
        throw error(field,
                    fmt::format("must be a whole number from 1 to 10^18, such as 15e12 or 15T (suffixes: K, M, B, "
                                "G, T), got \"{}\"",
                                text));
    };
    std::string_view rest = text;
    int zeros = 0;  // how far the decimal point moves to the right
    constexpr std::string_view letters = "kKmMbBgGtT";
    constexpr int powers[] = {3, 3, 6, 6, 9, 9, 9, 9, 12, 12};
    const std::size_t e = rest.find_first_of("eE");
    if (e != std::string_view::npos) {
        std::string_view exponent = rest.substr(e + 1);
        exponent.remove_prefix(!exponent.empty() && exponent.front() == '+' ? 1 : 0);
        const auto power = parse<int>(exponent);
        if (!power || *power < 0 || *power > 18) {
            return fail();
        }
        zeros = *power;
        rest = rest.substr(0, e);
    } else if (const std::size_t letter = letters.find(rest.empty() ? '-' : rest.back());
               letter != std::string_view::npos) {
        zeros = powers[letter];
        rest.remove_suffix(1);
    }
    std::uint64_t value = 0;
    bool after_point = false;
    const auto add = [&](std::uint64_t digit) {
        const bool fits = value <= (most - digit) / 10;
        value = fits ? value * 10 + digit : 0;
        return fits;
    };
    std::size_t digits = 0;
    for (const char c : rest) {
        if (c == '.' && !after_point) {
            after_point = true;
            continue;
        }
        digits += 1;
        zeros -= after_point ? 1 : 0;
        if (c < '0' || c > '9' || (zeros < 0 && c != '0')) {
            return fail();
        }
        if (zeros >= 0 || !after_point) {
            if (!add(static_cast<std::uint64_t>(c - '0'))) {
                return fail();
            }
        }
    }
    for (; zeros > 0; --zeros) {
        if (!add(0)) {
            return fail();
        }
    }
    return digits == 0 || value == 0 ? fail() : value;
}

/// A share of something, and a note about how it was written.
struct given_share {
    double fraction = 0;
    std::string note{};
};

/// A share from "40%", from a fraction up to 1, or from a bare number above 1. A bare number is per cent and gets a
/// note.
inline given_share parse_share(std::string_view text, const std::string& field) {
    const bool is_percent = !text.empty() && text.back() == '%';
    std::string_view number = text.substr(0, text.size() - (is_percent ? 1 : 0));
    number = number.substr(0, number.find_last_not_of(' ') + 1);
    const auto value = parse<double>(number);
    if (!value || !(*value > 0) || *value > 100) {
        throw error(field, fmt::format("must be above 0 and at most 100 %, such as 40% or 0.4, got \"{}\"", text));
    }
    if (is_percent) {
        return {.fraction = *value / 100};
    }
    if (*value > 1) {
        return {.fraction = *value / 100,
                .note = fmt::format("{} {} is taken for {} %; write {}%, since a bare number above 1 will be an error",
                                    field, number, number, number)};
    }
    return {.fraction = *value,
            .note = *value < 1 ? "" : fmt::format("{} {} is the whole, 100 %; one per cent is 1%", field, number)};
}

/// Largest COUNT of "NUMBERxCOUNT" in a list of integers.
inline constexpr std::uint64_t most_repeats = std::uint64_t{1} << 24U;

/// The integers of a text, separated by white space or commas. A comma must be between two of them.
///
/// With `is_repeatable`, "2048x16" is the number 2048 sixteen times.
inline std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& field,
                                                bool is_repeatable = false) {
    constexpr std::string_view blanks = " \t\r\n";
    std::vector<std::int64_t> values;
    bool after_comma = false;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n,"));
        if (word.empty() && text.empty() && !after_comma) {
            break;
        }
        const std::string entry = floptally::indexed(field, values.size());
        const std::size_t times = is_repeatable ? word.find('x') : std::string_view::npos;
        if (times == std::string_view::npos) {
            values.push_back(parse_integer(word, entry));
        } else if (const auto count = parse<std::uint64_t>(word.substr(times + 1));
                   !count || *count == 0 || *count > most_repeats) {
            throw error(entry, fmt::format("must be an integer, or NUMBERxCOUNT with a count from 1 to {}, got \"{}\"",
                                           most_repeats, word));
        } else {
            values.insert(values.end(), *count, parse_integer(word.substr(0, times), entry));
        }
        text.remove_prefix(word.size());
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        after_comma = !text.empty() && text.front() == ',';
        text.remove_prefix(after_comma ? 1 : 0);
    }
    if (values.empty()) {
        throw error(field, "must list at least one integer, such as 512,1024, got none");
    }
    return values;
}

/// Parsed options. The FIELD of an error is an option's long name with _ for -.
class arguments {
  public:
    explicit arguments(const cxxopts::ParseResult& parsed) : parsed_(parsed) {
        if (!parsed.unmatched().empty()) {
            throw error("command", fmt::format("unexpected argument \"{}\": leave it out", parsed.unmatched().front()));
        }
    }

    /// These options, where an option with that prefix is read before the one without.
    [[nodiscard]] arguments with_prefix(std::string prefix) const {
        arguments other = *this;
        other.prefix_ = std::move(prefix);
        return other;
    }

    /// These options with some values replaced. An empty value removes the option.
    [[nodiscard]] arguments with(const std::map<std::string, std::string>& values) const {
        arguments other = *this;
        for (const auto& [name, value] : values) {
            other.values_[name] = value;
        }
        return other;
    }

    [[nodiscard]] bool is_passed(const std::string& name) const {
        const auto other = values_.find(name);
        return other != values_.end() ? !other->second.empty() : count(option_of(name)) > 0;
    }

    [[nodiscard]] bool flag(const std::string& option) const { return is_passed(option) && parsed_[option].as<bool>(); }

    [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
        if (const auto other = values_.find(name); other != values_.end()) {
            return other->second.empty() ? std::nullopt : std::optional(other->second);
        }
        const std::string option = option_of(name);
        const std::size_t times = count(option);
        if (times > 1) {
            throw error(field(option), fmt::format("is passed {} times: pass it once", times));
        }
        return times > 0 ? std::optional(parsed_[option].as<std::string>()) : std::nullopt;
    }

    [[nodiscard]] std::string required(const std::string& option, std::string_view meaning) const {
        if (auto value = text(option)) {
            return *value;
        }
        throw error(field(option), fmt::format("is missing: pass --{} {}", option, meaning));
    }

    [[nodiscard]] std::vector<std::string> repeated(const std::string& option) const {
        return count(option) > 0 ? parsed_[option].as<std::vector<std::string>>() : std::vector<std::string>{};
    }

    /// Throws `error` for an option that was passed and that no code has read: it would have no effect.
    void expect_all_read(std::string_view command) const {
        for (const cxxopts::KeyValue& passed : parsed_.arguments()) {
            if (!read_->contains(passed.key())) {
                throw error(field(passed.key()), fmt::format("has no effect on `floptally {}` with these options: "
                                                             "leave it out",
                                                             command));
            }
        }
    }

    /// The index of the option's value in `choices`; `absent` without the option.
    template <std::size_t Count>
    [[nodiscard]] std::size_t choice(const std::string& option, const char* const (&choices)[Count],
                                     std::size_t absent = 0) const {
        const std::string word = text(option).value_or(choices[absent]);
        for (std::size_t i = 0; i < Count; ++i) {
            if (choices[i] == word) {
                return i;
            }
        }
        throw error(field(option), fmt::format("must be one of {}, got \"{}\"", fmt::join(choices, ", "), word));
    }

    [[nodiscard]] bool as_json() const { return choice("format", {"table", "json"}) == 1; }

    [[nodiscard]] static std::string field(std::string option) {
        std::replace(option.begin(), option.end(), '-', '_');
        return option;
    }

  private:
    /// The option to read for a name: with the prefix if it was passed, or if it replaces the other. Some options drop
    /// related ones: another batch drops the whole old batch, another accelerator the old peak and memory, another peak
    /// the old clock, another layout the old sizes.
    [[nodiscard]] std::string option_of(const std::string& name) const {
        if (prefix_.empty()) {
            return name;
        }
        const auto is_among = [&name](std::initializer_list<std::string_view> names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        const auto has = [this](const char* other) { return parsed_.count(prefix_ + other) > 0; };
        const bool another_batch =
            (has("lengths") || has("lengths-file") || has("cu-seqlens")) &&
            is_among({"lengths", "lengths-file", "row-length", "cu-seqlens", "cu-seqlens-padded", "num-real-seqs"});
        const bool another_peak = (has("accelerator") && is_among({"peak-tflops", "clock-mhz", "memory-tbps"})) ||
                                  (has("precision") && name == "peak-tflops") ||
                                  (has("peak-tflops") && name == "clock-mhz");
        const bool another_layout = has("layout") && is_among({"pp", "vpp", "replicas", "tp", "cp", "ep", "etp"});
        return has(name.c_str()) || another_batch || another_peak || another_layout ? prefix_ + name : name;
    }

    /// How often an option was passed. Notes that it was read.
    [[nodiscard]] std::size_t count(const std::string& option) const {
        read_->insert(option);
        return parsed_.count(option);
    }

    const cxxopts::ParseResult& parsed_;
    std::shared_ptr<std::set<std::string>> read_ = std::make_shared<std::set<std::string>>();  ///< of all copies
    std::string prefix_;
    std::map<std::string, std::string> values_;
};

}  // namespace program

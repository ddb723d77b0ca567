// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
// A repeated option's values are whole, commas and all: "8,900,100" is one sequence.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>

/// @file
/// The options of the program as text and as numbers.

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

/// A whole number from 1 to 10^18 that may have a fraction, an exponent or a power of ten as a letter: "15T", "1.5e12",
/// "250M"; K, M, B or G, and T. Its digits are counted, not rounded.
inline std::uint64_t parse_large_count(std::string_view text, const std::string& field) {
    constexpr std::uint64_t most = 1'000'000'000'000'000'000;
    const auto fail = [&]() -> std::uint64_t {
        throw error(field, fmt::format("must be a whole number from 1 to 10^18, as 15e12 or 15T (K, M, B or G, T), "
                                       "got \"{}\"",
                                       text));
    };
    std::string_view rest = text;
    int zeros = 0;  // by which the point moves to the right
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

/// A share of something, and what is to be said of how it was written.
struct given_share {
    double fraction = 0;
    std::string note{};
};

/// A share from "40%", from a fraction up to 1, or from a bare number of per cent above 1, which has a note.
inline given_share parse_share(std::string_view text, const std::string& field) {
    const bool is_percent = !text.empty() && text.back() == '%';
    std::string_view number = text.substr(0, text.size() - (is_percent ? 1 : 0));
    number = number.substr(0, number.find_last_not_of(' ') + 1);
    const auto value = parse<double>(number);
    if (!value || !(*value > 0) || *value > 100) {
        throw error(field, fmt::format("must be above 0 and at most 100 %, as 40% or 0.4, got \"{}\"", text));
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

/// The integers of a text, apart by white space or commas. A comma must be between two of them.
inline std::vector<std::int64_t> parse_integers(std::string_view text, const std::string& field) {
    constexpr std::string_view blanks = " \t\r\n";
    std::vector<std::int64_t> values;
    bool after_comma = false;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n,"));
        if (word.empty() && text.empty() && !after_comma) {
            break;
        }
        values.push_back(parse_integer(word, floptally::indexed(field, values.size())));
        text.remove_prefix(word.size());
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        after_comma = !text.empty() && text.front() == ',';
        text.remove_prefix(after_comma ? 1 : 0);
    }
    if (values.empty()) {
        throw error(field, "must list at least one integer");
    }
    return values;
}

/// Parsed options. The FIELD of an error is an option's long name with _ for -.
class arguments {
  public:
    explicit arguments(const cxxopts::ParseResult& parsed) : parsed_(parsed) {
        if (!parsed.unmatched().empty()) {
            throw error("command", fmt::format("unexpected argument \"{}\"", parsed.unmatched().front()));
        }
    }

    /// The options where one with that prefix is used before the one without.
    [[nodiscard]] arguments with_prefix(std::string prefix) const {
        arguments other = *this;
        other.prefix_ = std::move(prefix);
        return other;
    }

    /// The options with other values of some; an empty one takes an option away.
    [[nodiscard]] arguments with(const std::map<std::string, std::string>& values) const {
        arguments other = *this;
        for (const auto& [name, value] : values) {
            other.values_[name] = value;
        }
        return other;
    }

    [[nodiscard]] bool given(const std::string& name) const {
        const auto other = values_.find(name);
        return other != values_.end() ? !other->second.empty() : parsed_.count(option_of(name)) > 0;
    }

    [[nodiscard]] bool flag(const std::string& option) const { return given(option) && parsed_[option].as<bool>(); }

    [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
        if (const auto other = values_.find(name); other != values_.end()) {
            return other->second.empty() ? std::nullopt : std::optional(other->second);
        }
        const std::string option = option_of(name);
        if (parsed_.count(option) > 1) {
            throw error(field(option), fmt::format("is given {} times; must be given once", parsed_.count(option)));
        }
        return parsed_.count(option) > 0 ? std::optional(parsed_[option].as<std::string>()) : std::nullopt;
    }

    [[nodiscard]] std::string required(const std::string& option, std::string_view meaning) const {
        if (auto value = text(option)) {
            return *value;
        }
        throw error(field(option), fmt::format("is missing; give --{} {}", option, meaning));
    }

    [[nodiscard]] std::vector<std::string> repeated(const std::string& option) const {
        return parsed_.count(option) > 0 ? parsed_[option].as<std::vector<std::string>>() : std::vector<std::string>{};
    }

    /// The position of the given word in `choices`; `absent` where there is none.
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
    /// The option that says a name: the one with the prefix where it is given or replaces the other. Another batch
    /// has nothing of the one before, another accelerator another peak and memory, another peak no clock.
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
        return has(name.c_str()) || another_batch || another_peak ? prefix_ + name : name;
    }

    const cxxopts::ParseResult& parsed_;
    std::string prefix_;
    std::map<std::string, std::string> values_;
};

}  // namespace program

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <floptally/text/number_text.hpp>

namespace floptally::inline v0_3::detail {

inline constexpr std::string_view word_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// Parses one log line from left to right. After the first mismatch `good()` stays false.
class line_scanner {
  public:
    explicit line_scanner(std::string_view text) : rest_(text) {}

    /// If the line continues with `expected`, skips it and returns true.
    bool take(std::string_view expected) {
        const bool found = good_ && rest_.substr(0, expected.size()) == expected;
        rest_.remove_prefix(found ? expected.size() : 0);
        return found;
    }

    line_scanner& literal(std::string_view expected) {
        good_ = take(expected);
        return *this;
    }

    line_scanner& number(std::uint64_t& value) { return parse(value); }

    line_scanner& number(double& value) {
        parse(value);
        good_ = good_ && std::isfinite(value) && value >= 0 && !std::signbit(value);
        return *this;
    }

    line_scanner& number(std::optional<double>& value) { return number(value.emplace()); }

    /// Reads a word of letters, digits and underscores.
    line_scanner& word(std::string& value) {
        const std::size_t size = rest_.find_first_not_of(word_characters);
        value = std::string(rest_.substr(0, size));
        good_ = good_ && !value.empty();
        rest_.remove_prefix(good_ ? value.size() : 0);
        return *this;
    }

    /// Skips blanks. Requires at least one.
    line_scanner& blanks() {
        literal(" ");
        rest_.remove_prefix(good_ ? std::min(rest_.find_first_not_of(' '), rest_.size()) : 0);
        return *this;
    }

    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] std::string_view rest() const { return rest_; }
    /// True if nothing but blanks is left. Some loggers fill lines with blanks.
    [[nodiscard]] bool finished() const { return good_ && rest_.find_first_not_of(" \t\r") == std::string_view::npos; }

  private:
    template <class Number>
    line_scanner& parse(Number& value) {
        const auto [end, problem] = read_number(rest_.data(), rest_.data() + rest_.size(), value);
        good_ = good_ && problem == std::errc{};
        rest_.remove_prefix(good_ ? static_cast<std::size_t>(end - rest_.data()) : 0);
        return *this;
    }

    std::string_view rest_;
    bool good_ = true;
};

/// Returns the line without colour escape sequences (ECMA-48: ESC [ … and a last byte from @ to ~).
[[nodiscard]] inline std::string without_colours(std::string_view line) {
    std::string plain;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (line.substr(at, 2) != "\x1b[") {
            plain += line[at];
            continue;
        }
        at += 2;
        while (at < line.size() && (line[at] < '@' || line[at] > '~')) {
            ++at;
        }
    }
    return plain;
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/text/utf8.hpp>

/// @file
/// Joins pieces to a text with one function that is not inlined. With `string + string` the compiler would generate
/// some hundred instructions for each `+`, and a dozen classes for each length of a literal.

namespace floptally::inline v0_3::detail {

/// A piece of a text: characters, or an integer.
class piece {
  public:
    piece(const char* text) : text_(text) {}         // NOLINT(google-explicit-constructor): lists of pieces
    piece(std::string_view text) : text_(text) {}    // NOLINT(google-explicit-constructor)
    piece(const std::string& text) : text_(text) {}  // NOLINT(google-explicit-constructor)
    template <std::integral Number>
    requires(!std::same_as<Number, char> && !std::same_as<Number, bool>)
        piece(Number number)  // NOLINT(google-explicit-constructor)
        : is_number_(true),
          is_negative_(std::signed_integral<Number> && static_cast<std::int64_t>(number) < 0),
          size_(is_negative_ ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number)) {}

    void append_to(std::string& text) const {
        if (!is_number_) {
            text.append(text_);
            return;
        }
        char digits[24];
        std::size_t at = sizeof digits;
        std::uint64_t rest = size_;
        do {
            digits[--at] = static_cast<char>('0' + rest % 10);
            rest /= 10;
        } while (rest != 0);
        if (is_negative_) {
            digits[--at] = '-';
        }
        text.append(digits + at, sizeof digits - at);
    }

  private:
    std::string_view text_{};
    bool is_number_ = false;
    bool is_negative_ = false;
    std::uint64_t size_ = 0;
};

/// Appends the pieces to a text.
[[gnu::cold, gnu::noinline]] inline void append(std::string& text, std::initializer_list<piece> pieces) {
    for (const piece& next : pieces) {
        next.append_to(text);
    }
}

/// Joins the pieces to a text.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of(std::initializer_list<piece> pieces) {
    std::string text;
    append(text, pieces);
    return text;
}

/// Replaces control characters except line ends, and bytes that are not UTF-8, by question marks. The text is then safe
/// for terminals and for Python, and no zero byte ends `what()` early.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string printable(std::string text) {
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = utf8_length(std::string_view(text).substr(i));
        const bool is_control = (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n') || text[i] == 0x7F;
        if (length == 0 || is_control) {
            text[i] = '?';
        }
        i += length == 0 ? 1 : length;
    }
    return text;
}

/// Returns a text such as "0.0412" or "9.89e+14": printf's %.*g, with a decimal point in every locale. It is for the
/// texts of errors and warnings (`doubt`). The functions in `number_text.hpp` need <charconv>, which would take a tenth
/// of the compile time of floptally.hpp.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string rounded(double value, int digits) {
    char printed[40];
    const int size = std::snprintf(printed, sizeof printed, "%.*g", digits, value);
    std::string text;
    bool has_point = false;
    for (int i = 0; i < size && i < static_cast<int>(sizeof printed) - 1; ++i) {
        const char c = printed[i];
        const bool is_point = !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+');
        if (!is_point) {
            text.push_back(c);
        } else if (!has_point) {  // the locale's decimal point may have several bytes
            text.push_back('.');
            has_point = true;
        }
    }
    return text;
}

/// Shortens a value for an error message to at most 60 bytes. A shortened value ends in "...".
[[nodiscard]] inline std::string shortened(std::string text) {
    constexpr std::size_t most = 60;
    if (text.size() <= most) {
        return text;
    }
    std::size_t end = most - 3;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;  // moves back to the start of a UTF-8 character
    }
    return text.substr(0, end) + "...";
}

}  // namespace floptally::detail

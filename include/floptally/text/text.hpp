// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/// @file
/// Texts made of pieces by one function that is not inlined. A chain of strings added to each other would be some
/// hundred instructions for each sign in every place, and each length of an appended literal a dozen more classes to
/// compile.

namespace floptally::detail {

/// A piece of a text: words, or a whole number.
class piece {
  public:
    piece(const char* words) : words_(words) {}         // NOLINT(google-explicit-constructor): as below
    piece(std::string_view words) : words_(words) {}    // NOLINT(google-explicit-constructor)
    piece(const std::string& words) : words_(words) {}  // NOLINT(google-explicit-constructor)
    template <std::integral Number>
    requires(!std::same_as<Number, char> && !std::same_as<Number, bool>)
        piece(Number number)  // NOLINT(google-explicit-constructor)
        : is_number_(true),
          is_negative_(std::signed_integral<Number> && static_cast<std::int64_t>(number) < 0),
          size_(is_negative_ ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number)) {}

    void append_to(std::string& text) const {
        if (!is_number_) {
            text.append(words_);
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
    std::string_view words_{};
    bool is_number_ = false;
    bool is_negative_ = false;
    std::uint64_t size_ = 0;
};

/// Appends pieces to a text.
[[gnu::cold, gnu::noinline]] inline void append(std::string& text, std::initializer_list<piece> pieces) {
    for (const piece& next : pieces) {
        next.append_to(text);
    }
}

/// The text of pieces.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string text_of(std::initializer_list<piece> pieces) {
    std::string text;
    append(text, pieces);
    return text;
}

/// A text with a question mark for each control character but the end of a line: no terminal obeys it, no zero byte
/// ends it.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string printable(std::string text) {
    for (char& c : text) {
        c = (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F ? '?' : c;
    }
    return text;
}

/// The beginning of a value for an error message, at most 60 bytes with "..." at its end where it is cut.
[[nodiscard]] inline std::string shortened(std::string text) {
    constexpr std::size_t most = 60;
    if (text.size() <= most) {
        return text;
    }
    std::size_t end = most - 3;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;  // not within a UTF-8 character
    }
    return text.substr(0, end) + "...";
}

}  // namespace floptally::detail

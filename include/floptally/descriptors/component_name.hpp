// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/text/error.hpp>

/// @file
/// The name of a component: "attention.core".

namespace floptally {

/// The name of a component as users write it: "attention.core", "moe.experts", … at most 39 characters.
class component_name {
  public:
    static constexpr std::size_t capacity = 39;

    component_name() = default;
    constexpr component_name(std::string_view text)  // NOLINT(google-explicit-constructor): a name is text
        : text_{}, length_{} {
        assign("", text);
    }
    /// "encoder." and "mlp": "encoder.mlp".
    constexpr component_name(std::string_view prefix, std::string_view text) : text_{}, length_{} {
        assign(prefix, text);
    }
    constexpr component_name(const char* text) : component_name(std::string_view(text)) {}  // NOLINT: likewise
    component_name(const std::string& text) : component_name(std::string_view(text)) {}     // NOLINT: likewise

    /// The text; it is gone with the name.
    [[nodiscard]] constexpr std::string_view view() const { return {text_, length_}; }
    [[nodiscard]] friend constexpr bool operator==(const component_name& a, const component_name& b) {
        return a.is(b.view());
    }
    /// True for this text. A constant expression pays for each step: a plain loop has the fewest.
    [[nodiscard]] constexpr bool is(std::string_view text) const {
        if (!std::is_constant_evaluated()) {
            return view() == text;
        }
        const char* const other = text.data();
        std::size_t i = length_ == text.size() ? length_ : capacity + 1;
        while (i != 0 && i <= capacity && text_[i - 1] == other[i - 1]) {  // names differ at their ends
            --i;
        }
        return i == 0;
    }

    /// True for rows that multiply no matrix, which keep their name where the matrices beside them get another.
    [[nodiscard]] constexpr bool is_elementwise() const { return is("norm") || is("bias") || is("embedding"); }
    /// The name of the same part on the other side of an encoder-decoder: "encoder.mlp".
    [[nodiscard]] constexpr component_name on_encoder() const {
        return is_elementwise() ? *this : component_name("encoder.", view());
    }

  private:
    constexpr void assign(std::string_view prefix, std::string_view text) {
        const std::size_t length = prefix.size() + text.size();
        if (length == 0 || length > capacity) {
            detail::refuse("component", {"a name must have 1 to 39 characters, got \"", prefix, text, "\""});
        }
        const char* from = prefix.empty() ? text.data() : prefix.data();
        for (std::size_t i = 0; i < length; ++i) {
            from = i == prefix.size() ? text.data() : from;
            text_[i] = *from++;
            if (text_[i] >= 0 && text_[i] < ' ') {
                detail::refuse("component", {"a name must not have control characters, got \"", prefix, text, "\""});
            }
        }
        length_ = static_cast<std::uint8_t>(length);
    }

    char text_[capacity];
    std::uint8_t length_;
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>

#include <floptally/text/error.hpp>

/// @file
/// `component_name`: the name of a component, such as "attention.core".

namespace floptally::inline v0_3 {

/// The name of a component of a cost: "attention.core", "moe.experts", …. It has 1 to 39 characters.
class component_name {
  public:
    static constexpr std::size_t capacity = 39;

    component_name() = default;
    constexpr component_name(std::string_view text)  // NOLINT(google-explicit-constructor): text stands for its name
        : text_{}, length_{} {
        assign("", text);
    }
    /// Joins two texts: "encoder." and "mlp" give "encoder.mlp".
    constexpr component_name(std::string_view prefix, std::string_view text) : text_{}, length_{} {
        assign(prefix, text);
    }
    constexpr component_name(const char* text) : component_name(std::string_view(text)) {}  // NOLINT: same reason
    component_name(const std::string& text) : component_name(std::string_view(text)) {}     // NOLINT: same reason

    /// Returns the text. The view is valid as long as the name exists.
    [[nodiscard]] constexpr std::string_view view() const { return {text_, length_}; }
    [[nodiscard]] friend constexpr bool operator==(const component_name& a, const component_name& b) {
        return a.is(b.view());
    }
    /// Returns true if the name equals `text`. The loop is written out, because that takes the fewest evaluation steps
    /// in a constant expression.
    [[nodiscard]] constexpr bool is(std::string_view text) const {
        if (!std::is_constant_evaluated()) {
            return view() == text;
        }
        const char* const other = text.data();
        std::size_t i = length_ == text.size() ? length_ : capacity + 1;
        while (i != 0 && i <= capacity &&
               text_[i - 1] == other[i - 1]) {  // compares from the end, where names usually differ
            --i;
        }
        return i == 0;
    }

    /// Returns true for norm, bias and embedding: weights without a matrix product. These names are kept when the other
    /// components of a part are renamed.
    [[nodiscard]] constexpr bool is_elementwise() const { return is("norm") || is("bias") || is("embedding"); }
    /// Returns the name with the prefix "encoder.". Keeps norm, bias and embedding without a prefix.
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
        bool is_ascii = true;
        for (std::size_t i = 0; i < length; ++i) {
            from = i == prefix.size() ? text.data() : from;
            text_[i] = *from++;
            is_ascii = is_ascii && static_cast<unsigned char>(text_[i]) < 0x80;
            if (static_cast<unsigned char>(text_[i]) < ' ') {
                detail::refuse("component", {"a name must not have control characters, got \"", prefix, text, "\""});
            }
        }
        length_ = static_cast<std::uint8_t>(length);
        if (!is_ascii && !detail::is_utf8({text_, length})) {
            detail::refuse("component", {"a name must be UTF-8, got \"", prefix, text, "\""});
        }
    }

    char text_[capacity];
    std::uint8_t length_;
};

/// Writes the name to a stream.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const component_name& name) {
    return to << name.view();
}

}  // namespace floptally

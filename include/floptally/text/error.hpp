// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <floptally/text/text.hpp>

/// @file
/// The error of bad input, with its field, its problem and the value, and that of a failed call.

namespace floptally {

/// An error of bad input. `what()` reads "FIELD: what is wrong, with the value, and what would be right". Control
/// characters of names and values, a zero byte too, are question marks in it.
///
/// FIELD is a name that the caller knows: a config key ("text_config.hidden_size"), an argument with its index
/// ("cu_seqlens[2]"), a statistic ("squares").
class error : public std::runtime_error {
  public:
    [[gnu::cold, gnu::noinline]] error(std::string_view field, std::string_view problem)
        : std::runtime_error(detail::printable(detail::text_of({field, ": ", problem}))), field_length_(field.size()) {}

    [[nodiscard]] std::string_view field() const noexcept { return std::string_view(what()).substr(0, field_length_); }
    [[nodiscard]] std::string_view problem() const noexcept {
        return std::string_view(what()).substr(field_length_ + 2);
    }

  private:
    std::size_t field_length_;
};

/// An error of a count that would not fit its integer. Nothing wraps: the sum keeps its old value.
class overflow : public error {
  public:
    using error::error;
};

namespace detail {

/// Throws an error of `field` whose text is made of pieces.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(std::string_view field,
                                                          std::initializer_list<piece> problem) {
    throw error(field, text_of(problem));
}

/// The text of a failed call in the words of its library, with its place: "TEXT (FILE:LINE)".
[[nodiscard]] inline std::string called_at(std::string_view text, const char* file, int line) {
    return text_of({text, " (", file, ":", line, ")"});
}

/// Throws the error of a failed call, whose field is the call.
[[noreturn]] inline void throw_failed_call(std::string_view call, std::string_view text, const char* file, int line) {
    throw error(call, called_at(text, file, line));
}

}  // namespace detail

/// Throws where a size is 0.
constexpr void require_positive(std::uint64_t value, const char* field) {
    if (value == 0) {
        throw error(field, "must be at least 1, got 0");
    }
}

/// Throws where `value` is not below `bound`, which the error calls `bound_name`.
constexpr void require_below(std::uint64_t bound, std::string_view bound_name, std::uint64_t value,
                             std::string_view field) {
    if (value >= bound) {
        throw error(field, detail::text_of({"must be below ", bound_name, " = ", bound, ", got ", value}));
    }
}

/// Throws where a list has `given` entries and not one for each of the `expected` of another, which the error calls
/// `as`.
constexpr void require_as_many(std::size_t expected, std::string_view as, std::size_t given, std::string_view field) {
    if (given != expected) {
        throw error(field, detail::text_of({"must be as many as ", as, " (", expected, "), got ", given}));
    }
}

/// Appends to a list in an error's text: "exact, megatron, palm".
inline void append_item(std::string& list, std::string_view item) {
    detail::append(list, {list.empty() ? "" : ", ", item});
}

/// "name[index]", the FIELD of one element.
[[nodiscard]] inline std::string indexed(std::string_view name, std::size_t index) {
    return detail::text_of({name, "[", index, "]"});
}

}  // namespace floptally

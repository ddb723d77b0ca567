// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef __cpp_exceptions
#error "floptally reports bad input by exceptions: compile without -fno-exceptions"
#include "this line ends the compilation, after the error above"
#endif

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include <floptally/text/text.hpp>

/// @file
/// `error` and `overflow`, the two exceptions of the library, and the functions that throw them.

namespace floptally::inline v0_3 {

/// The error for bad input. `what()` reads "FIELD: what is wrong, with the value, and what would be right". It shows
/// control characters, zero bytes and bytes that are not UTF-8 as question marks.
///
/// FIELD is a name from the caller's input: a config key ("text_config.hidden_size"), an argument with its index
/// ("cu_seqlens[2]"), a statistic ("squares").
class error : public std::runtime_error {
  public:
    /// Makes an error whose text is "FIELD: PROBLEM".
    [[gnu::cold, gnu::noinline]] error(std::string_view field, std::string_view problem)
        : std::runtime_error(detail::printable(detail::text_of({field, ": ", problem}))), field_length_(field.size()) {}

    /// Returns the name of the input that is wrong.
    [[nodiscard]] std::string_view field() const noexcept { return std::string_view(what()).substr(0, field_length_); }
    /// Returns what is wrong with it, and what to do.
    [[nodiscard]] std::string_view problem() const noexcept {
        return std::string_view(what()).substr(field_length_ + 2);
    }

  private:
    std::size_t field_length_;
};

/// The error for a count that would exceed its integer type. Nothing wraps around: the sum is unchanged.
class overflow : public error {
  public:
    using error::error;
};

namespace detail {

/// Throws an `error` that names `field`. The pieces are joined to the error's text.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(std::string_view field,
                                                          std::initializer_list<piece> problem) {
    throw error(field, text_of(problem));
}

/// Throws an `error` that names `field` if `name` is not UTF-8. Logs and saved states are JSON, which must be UTF-8.
inline void require_utf8(std::string_view name, std::string_view field) {
    if (!is_utf8(name)) {
        refuse(field, {"must be UTF-8, got \"", name, "\""});
    }
}

/// Calls `call`. If it throws an `error` that names the input `name`, or an element such as "name[3]", the error is
/// thrown with `field` in place of `name`. All other errors pass unchanged.
template <class Call>
constexpr void with_renamed_field(std::string_view name, std::string_view field, Call call) {
    try {
        call();
    } catch (const error& problem) {
        const std::string_view named = problem.field();
        const std::string_view rest = named.substr(name.size() < named.size() ? name.size() : named.size());
        if (name == field || named.substr(0, name.size()) != name || !(rest.empty() || rest.front() == '[')) {
            throw;
        }
        throw error(std::string(field).append(rest), problem.problem());
    }
}

/// Returns "TEXT (FILE:LINE)": the error text of another library (MPI, NCCL, CUDA) and the line of the call.
[[nodiscard]] inline std::string called_at(std::string_view text, const char* file, int line) {
    return text_of({text, " (", file, ":", line, ")"});
}

/// Throws the error of a failed call of another library. The error begins with the name of the call.
[[noreturn]] inline void throw_failed_call(std::string_view call, std::string_view text, const char* file, int line) {
    throw error(call, called_at(text, file, line));
}

}  // namespace detail

/// If `value` is 0, throws an `error` that names `field`.
constexpr void require_positive(std::uint64_t value, const char* field) {
    if (value == 0) {
        throw error(field, "must be at least 1, got 0");
    }
}

/// Unless `value` is below `bound`, throws an `error` that names `field`. `bound_name` is the name of the bound in the
/// error.
constexpr void require_below(std::uint64_t bound, std::string_view bound_name, std::uint64_t value,
                             std::string_view field) {
    if (value >= bound) {
        throw error(field, detail::text_of({"must be below ", bound_name, " = ", bound, ", got ", value}));
    }
}

/// Throws an `error` that names `field` if two lists have different sizes. `size` is the size of the list named
/// `field`, and `expected` the size of the list named `as`.
constexpr void require_as_many(std::size_t expected, std::string_view as, std::size_t size, std::string_view field) {
    if (size != expected) {
        throw error(field, detail::text_of({"must be as many as ", as, " (", expected, "), got ", size}));
    }
}

/// Appends an item to a comma-separated list for an error's text: "exact, megatron, palm".
inline void append_item(std::string& list, std::string_view item) {
    detail::append(list, {list.empty() ? "" : ", ", item});
}

/// Returns "name[index]": an error about one element of a list begins with this text.
[[nodiscard]] inline std::string indexed(std::string_view name, std::size_t index) {
    return detail::text_of({name, "[", index, "]"});
}

}  // namespace floptally

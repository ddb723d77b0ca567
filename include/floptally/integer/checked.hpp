// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Integers that never wrap: an overflow is an error of the compiler in a constant expression, `overflow` at run time.

namespace floptally {

/// An unsigned integer of 128 bits, which wraps.
__extension__ typedef unsigned __int128 uint128;

namespace detail {

template <class T>
concept integer_of_64_bits = std::integral<T> && sizeof(T) <= sizeof(std::uint64_t);

/// Throws `overflow`; not inline, out of the way of results that fit.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_overflow(std::uint64_t a, const char* operation,
                                                                  std::uint64_t b, std::string_view field) {
    throw overflow(field, text_of({a, operation, b, " does not fit 64 bits"}));
}

/// The smaller of two: std::min without <algorithm>, a fifth of the umbrella's compile time.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
    return a < b ? a : b;
}
/// The larger of two, likewise. g++ 12 compares a bare ?: of narrow integers in 32 bits.
template <class N>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr const N& larger(const N& a, const N& b) {
    return a < b ? b : a;
}

}  // namespace detail

/// An unsigned 64-bit integer whose sums and products never wrap.
///
/// A formula reads as in its comment: `2 * checked(num_heads, "attention.qkv") * head_dim`. Where a sum or product does
/// not fit 64 bits, `overflow` names the field, which a result has from its left checked operand; in a constant
/// expression that is an error of the compiler. C++ multiplies from left to right: of a product's first two factors one
/// is checked. All else is done with the `std::uint64_t` that it becomes where one is asked for.
///
/// It refers to the text of the field. Host only: device code cannot throw and uses total functions with a sticky error
/// word.
class checked {
  public:
    /// The integer, and the field that an overflow names.
    constexpr checked(std::uint64_t value, std::string_view field) noexcept : value_(value), field_(field) {}

    /// The plain integer; no narrower one, which `large ? sum : 0` would otherwise be.
    template <std::same_as<std::uint64_t> Integer>
    constexpr operator Integer() const noexcept {  // NOLINT(google-explicit-constructor): it is one
        return value_;
    }

    [[nodiscard]] friend constexpr checked operator+(const checked& a, const checked& b) {
        return {sum_of(a.value_, b.value_, a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator+(const checked& a, detail::integer_of_64_bits auto b) {
        return {sum_of(a.value_, static_cast<std::uint64_t>(b), a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator+(detail::integer_of_64_bits auto a, const checked& b) {
        return {sum_of(static_cast<std::uint64_t>(a), b.value_, b.field_), b.field_};
    }
    [[nodiscard]] friend constexpr checked operator*(const checked& a, const checked& b) {
        return {product_of(a.value_, b.value_, a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator*(const checked& a, detail::integer_of_64_bits auto b) {
        return {product_of(a.value_, static_cast<std::uint64_t>(b), a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator*(detail::integer_of_64_bits auto a, const checked& b) {
        return {product_of(static_cast<std::uint64_t>(a), b.value_, b.field_), b.field_};
    }
    constexpr checked& operator+=(std::uint64_t more) {
        value_ = sum_of(value_, more, field_);
        return *this;
    }

    /// A plain sum does not become checked by what is added to it.
    template <std::integral Integer>
    friend constexpr Integer& operator+=(Integer&, const checked&) = delete;

  private:
    static constexpr std::uint64_t sum_of(std::uint64_t a, std::uint64_t b, std::string_view field) {
        const std::uint64_t sum = a + b;
        if (sum < a) {
            detail::throw_overflow(a, " + ", b, field);
        }
        return sum;
    }
    static constexpr std::uint64_t product_of(std::uint64_t a, std::uint64_t b, std::string_view field) {
        const uint128 product = uint128{a} * b;
        if ((product >> 64) != 0) {
            detail::throw_overflow(a, " x ", b, field);
        }
        return static_cast<std::uint64_t>(product);
    }

    std::uint64_t value_;
    std::string_view field_;
};

/// The decimal digits of a 128-bit integer.
[[nodiscard]] inline std::string to_string(uint128 value) {
    char digits[39];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + static_cast<int>(value % 10U));
        value /= 10U;
    } while (value != 0);
    return {digits + at, sizeof digits - at};
}

}  // namespace floptally

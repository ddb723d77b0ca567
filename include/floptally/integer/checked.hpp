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
/// Integers that never wrap. An overflow is a compile error in a constant expression and throws `overflow` at run time.

namespace floptally::inline v0_3 {

/// An unsigned integer of 128 bits. It wraps on overflow.
__extension__ typedef unsigned __int128 uint128;

/// An integer of at most 64 bits, which can be added to or multiplied by a `checked` integer.
template <class T>
concept integer_up_to_64_bits = std::integral<T> && sizeof(T) <= sizeof(std::uint64_t);

namespace detail {

/// Throws `overflow` for a sum or product that does not fit 64 bits. Not inlined, so that results that fit stay fast.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_overflow(std::uint64_t a, const char* operation,
                                                                  std::uint64_t b, std::string_view field) {
    throw overflow(field, text_of({a, operation, b, " does not fit 64 bits: use smaller numbers"}));
}

/// Returns the smaller of two integers. Replaces std::min, because including <algorithm> takes a fifth of the compile
/// time of floptally.hpp.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t smaller(std::uint64_t a, std::uint64_t b) {
    return a < b ? a : b;
}
/// Returns the larger of two integers. Replaces std::max. Use this function instead of `a < b ? b : a`: g++ 12 computes
/// that expression in 32 bits for narrower integers.
template <class N>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr const N& larger(const N& a, const N& b) {
    return a < b ? b : a;
}

}  // namespace detail

/// An unsigned 64-bit integer whose sums and products never wrap.
///
/// A `checked` integer is used in formulas: `2 * checked(num_heads, "attention.qkv") * head_dim`. If a sum or product
/// does not fit 64 bits, it throws `overflow`. The error names the field of the left checked operand. In a constant
/// expression an overflow is a compile error. C++ multiplies from left to right, so one of a product's first two
/// factors must be checked. For other operations a checked integer converts to `std::uint64_t`.
///
/// A `checked` integer refers to the text of its field, so that text must outlive it. The class is for host code only,
/// because device code cannot throw. Kernels call functions that accept every input, and record errors in memory.
class checked {
  public:
    /// Creates a checked integer. If a sum or product with this integer does not fit 64 bits, the error names `field`.
    constexpr checked(std::uint64_t value, std::string_view field) noexcept : value_(value), field_(field) {}

    /// Converts a checked integer to `std::uint64_t`, but not to a narrower type. If it converted to int too, the
    /// expression `large ? sum : 0` would be an int.
    template <std::same_as<std::uint64_t> Integer>
    constexpr operator Integer() const noexcept {  // NOLINT(google-explicit-constructor): an integer
        return value_;
    }

    [[nodiscard]] friend constexpr checked operator+(const checked& a, const checked& b) {
        return {sum_of(a.value_, b.value_, a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator+(const checked& a, integer_up_to_64_bits auto b) {
        return {sum_of(a.value_, static_cast<std::uint64_t>(b), a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator+(integer_up_to_64_bits auto a, const checked& b) {
        return {sum_of(static_cast<std::uint64_t>(a), b.value_, b.field_), b.field_};
    }
    [[nodiscard]] friend constexpr checked operator*(const checked& a, const checked& b) {
        return {product_of(a.value_, b.value_, a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator*(const checked& a, integer_up_to_64_bits auto b) {
        return {product_of(a.value_, static_cast<std::uint64_t>(b), a.field_), a.field_};
    }
    [[nodiscard]] friend constexpr checked operator*(integer_up_to_64_bits auto a, const checked& b) {
        return {product_of(static_cast<std::uint64_t>(a), b.value_, b.field_), b.field_};
    }
    constexpr checked& operator+=(std::uint64_t more) {
        value_ = sum_of(value_, more, field_);
        return *this;
    }

    /// Deleted: adding a checked integer to a plain sum would not check the sum.
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

/// Returns the decimal digits of a 128-bit integer.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>

#include <floptally/integer/checked.hpp>

/// @file
/// A number of FLOPs: an exact unsigned integer of 128 bits.

namespace floptally::inline v0_3 {

/// A type of integers that can be compared with FLOPs: any integral type except `bool` and `char`.
template <class T>
concept comparable_integer = std::same_as<T, uint128> ||
    (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>);

/// An exact number of floating-point operations.
///
/// One multiply-add is two FLOPs. Llama-3.1-405B on a batch of 16M tokens exceeds 2^64, hence 128 bits. The number
/// compares with integers (`work.total() == 421'651'971'833'856`) and prints as an integer (`std::cout <<
/// work.total()`). Only FLOPs can be added to FLOPs: `flops + 1` does not compile, because a number of tokens is not a
/// number of FLOPs. Sums and products throw `overflow` above 128 bits.
class flops {
  public:
    constexpr flops() = default;
    /// Makes a number of FLOPs from an integer.
    constexpr explicit flops(uint128 value) noexcept : value_(value) {}

    /// Returns the number as an integer of 128 bits.
    [[nodiscard]] constexpr uint128 value() const noexcept { return value_; }
    /// Returns the upper 64 bits of the number.
    [[nodiscard]] constexpr std::uint64_t high() const noexcept { return static_cast<std::uint64_t>(value_ >> 64); }
    /// Returns the lower 64 bits of the number.
    [[nodiscard]] constexpr std::uint64_t low() const noexcept { return static_cast<std::uint64_t>(value_); }

    constexpr flops& operator+=(flops other) {
        const uint128 sum = value_ + other.value_;
        if (sum < value_) {
            throw overflow("flops", "a sum does not fit 128 bits: count fewer samples");
        }
        value_ = sum;
        return *this;
    }

    [[nodiscard]] friend constexpr flops operator+(flops a, flops b) { return a += b; }

    /// Returns the FLOPs of `times` repetitions of the same work.
    [[nodiscard]] friend constexpr flops operator*(std::uint64_t times, flops work) {
        const uint128 high = uint128{work.high()} * times + (uint128{work.low()} * times >> 64);
        if ((high >> 64) != 0) {
            throw overflow("flops", "a product does not fit 128 bits: use smaller numbers");
        }
        return flops{work.value_ * times};
    }
    [[nodiscard]] friend constexpr flops operator*(flops work, std::uint64_t times) { return times * work; }

    [[nodiscard]] friend constexpr bool operator==(flops, flops) = default;
    [[nodiscard]] friend constexpr auto operator<=>(flops, flops) = default;
    [[nodiscard]] friend constexpr bool operator==(flops work, comparable_integer auto integer) {
        return (work <=> integer) == 0;
    }
    /// A negative integer is less than every number of FLOPs.
    [[nodiscard]] friend constexpr std::strong_ordering operator<=>(flops work, comparable_integer auto integer) {
        if constexpr (std::signed_integral<decltype(integer)>) {
            if (integer < 0) {
                return std::strong_ordering::greater;
            }
        }
        return work.value_ <=> static_cast<uint128>(integer);
    }

  private:
    uint128 value_ = 0;
};

/// Returns the exact integer in decimal.
[[nodiscard]] inline std::string to_string(flops count) { return to_string(count.value()); }

/// Writes the exact integer in decimal: `std::cout << work.total()`.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, flops count) {
    return to << to_string(count);
}

}  // namespace floptally

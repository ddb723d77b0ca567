// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include <floptally/integer/checked.hpp>

/// @file
/// A number of FLOPs: an exact unsigned integer of 128 bits.

namespace floptally {

/// A number of floating-point operations, exact.
///
/// One multiply-add is two FLOPs. Llama-3.1-405B on a batch of 16M tokens already passes 2^64, hence 128 bits.
/// It does not mix with plain integers (`flops + 1` does not compile): a count of tokens is not a count of FLOPs.
/// Sums and products are checked and throw `overflow`.
class flops {
  public:
    constexpr flops() = default;
    constexpr explicit flops(uint128 value) noexcept : value_(value) {}

    [[nodiscard]] constexpr uint128 value() const noexcept { return value_; }
    /// The upper 64 bits.
    [[nodiscard]] constexpr std::uint64_t high() const noexcept { return static_cast<std::uint64_t>(value_ >> 64); }
    /// The lower 64 bits.
    [[nodiscard]] constexpr std::uint64_t low() const noexcept { return static_cast<std::uint64_t>(value_); }

    constexpr flops& operator+=(flops other) {
        const uint128 sum = value_ + other.value_;
        if (sum < value_) {
            throw overflow("flops", "a sum does not fit 128 bits");
        }
        value_ = sum;
        return *this;
    }

    [[nodiscard]] friend constexpr flops operator+(flops a, flops b) { return a += b; }

    /// `times` repetitions of the same work.
    [[nodiscard]] friend constexpr flops operator*(std::uint64_t times, flops work) {
        const uint128 high = uint128{work.high()} * times + (uint128{work.low()} * times >> 64);
        if ((high >> 64) != 0) {
            throw overflow("flops", "a product does not fit 128 bits");
        }
        return flops{work.value_ * times};
    }
    [[nodiscard]] friend constexpr flops operator*(flops work, std::uint64_t times) { return times * work; }

    [[nodiscard]] friend constexpr bool operator==(flops, flops) = default;
    [[nodiscard]] friend constexpr auto operator<=>(flops, flops) = default;

  private:
    uint128 value_ = 0;
};

/// The exact integer in decimal.
[[nodiscard]] inline std::string to_string(flops count) { return to_string(count.value()); }

}  // namespace floptally

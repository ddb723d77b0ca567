// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/parallel/verified_sum.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Hashes of integers and texts. Ranks compare them before they work together.

namespace floptally::inline v0_3::detail {

/// A hash of a sequence of integers and texts.
class schema_hash {
  public:
    schema_hash& operator<<(std::uint64_t value) {
        value_ = mixed(value_ ^ value);
        return *this;
    }
    schema_hash& operator<<(std::string_view text) {
        *this << std::uint64_t{text.size()};
        for (const char c : text) {
            *this << std::uint64_t{static_cast<unsigned char>(c)};
        }
        return *this;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0;
};

/// Returns the hash of each fact on which ranks must agree, and its complement. After a MAX over ranks these show the
/// largest and the smallest hash. The size of the message depends only on the number of facts.
template <std::size_t Facts>
[[nodiscard]] constexpr std::array<std::uint64_t, 2 * Facts> agreement_message(
    const std::array<std::uint64_t, Facts>& hashes) {
    std::array<std::uint64_t, 2 * Facts> integers{};
    for (std::size_t i = 0; i < Facts; ++i) {
        integers[2 * i] = hashes[i];
        integers[2 * i + 1] = ~hashes[i];
    }
    return integers;
}

/// Throws if the messages of the ranks differ, and names the fact that differs. `maxima` are the maxima of the messages
/// over all ranks. Every rank has the same maxima, so every rank throws the same error.
template <std::size_t Facts>
void require_agreement(const std::array<std::uint64_t, 2 * Facts>& maxima,
                       const std::array<std::string_view, Facts>& names, std::string_view consequence) {
    for (std::size_t i = 0; i < Facts; ++i) {
        if (maxima[2 * i] != ~maxima[2 * i + 1]) {
            refuse(names[i], {"the ranks have different values, ", consequence, ": configure all ranks alike"});
        }
    }
}

}  // namespace floptally::detail

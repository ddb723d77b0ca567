// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Hashes of words and texts that ranks compare before they work together.

namespace floptally::detail {

/// A hash of a sequence of words and texts.
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

/// Hashes of the things that ranks must agree on, each with its complement: under MAX they give the largest and the
/// least. The message has the same size whatever the ranks believe.
template <std::size_t Things>
[[nodiscard]] constexpr std::array<std::uint64_t, 2 * Things> agreement_message(
    const std::array<std::uint64_t, Things>& hashes) {
    std::array<std::uint64_t, 2 * Things> words{};
    for (std::size_t i = 0; i < Things; ++i) {
        words[2 * i] = hashes[i];
        words[2 * i + 1] = ~hashes[i];
    }
    return words;
}

/// From the maxima over the ranks, which are the same on all of them: so is the error, which names what differs.
template <std::size_t Things>
void require_agreement(const std::array<std::uint64_t, 2 * Things>& maxima,
                       const std::array<std::string_view, Things>& names, std::string_view consequence) {
    for (std::size_t i = 0; i < Things; ++i) {
        if (maxima[2 * i] != ~maxima[2 * i + 1]) {
            refuse(names[i], {"the ranks do not agree on it, ", consequence});
        }
    }
}

}  // namespace floptally::detail

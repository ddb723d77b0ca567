// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/witnessed_sum.hpp>
#include <floptally/error.hpp>

namespace floptally::detail {

/// A word for any sequence of words and texts.
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

/// What ranks must agree on, one hash for each thing, in a message whose size is the same whatever they believe.
inline constexpr std::size_t agreement_fields = 6;
using agreement_hashes = std::array<std::uint64_t, agreement_fields>;
using agreement_words = std::array<std::uint64_t, 2 * agreement_fields>;

/// Each hash and its complement: under MAX they give the largest and the least.
[[nodiscard]] constexpr agreement_words agreement_message(const agreement_hashes& hashes) {
    agreement_words words{};
    for (std::size_t i = 0; i < agreement_fields; ++i) {
        words[2 * i] = hashes[i];
        words[2 * i + 1] = ~hashes[i];
    }
    return words;
}

/// From the maxima over the ranks, which are the same on all of them: so is the error, which names what differs.
inline void require_agreement(const agreement_words& maxima,
                              const std::array<std::string_view, agreement_fields>& names,
                              std::string_view consequence) {
    for (std::size_t i = 0; i < agreement_fields; ++i) {
        if (maxima[2 * i] != ~maxima[2 * i + 1]) {
            throw error(names[i], std::string("the ranks do not agree on it, ").append(consequence));
        }
    }
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/detail/bounded_vector.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistic.hpp>

namespace floptally::detail {

/// The words of a tally: the fixed statistics and Σ pairs of each mask that is no polynomial in them, useful and then
/// padded. What is added is added whole or not at all.
class tally_words {
  public:
    static constexpr std::size_t fixed = 7;

    /// One addition to one view, word by word.
    using amounts = bounded_vector<std::uint64_t, fixed + max_masks>;

  private:  // first, since clang evaluates templates in constant expressions only where they stand above their use
    /// Calls `apply(word, amount)` for each word that changes.
    template <class Apply>
    static constexpr void each_word(const amounts& added, Apply apply) {
        for (std::size_t word = 0; word < added.size(); ++word) {
            apply(word, added[word]);
        }
    }
    template <class Apply>
    static constexpr void each_word(const length_sums& added, Apply apply) {
        apply(static_cast<std::size_t>(statistic::count), added.count);
        apply(static_cast<std::size_t>(statistic::tokens), added.tokens);
        apply(static_cast<std::size_t>(statistic::squares), added.squares);
        for (std::size_t i = 0; i < added.pairs.size(); ++i) {
            apply(fixed + i, added.pairs[i]);
        }
    }

    /// Names the first word that would not fit.
    template <class Sums>
    [[gnu::cold, gnu::noinline]] void refuse(const Sums& added, std::size_t base) const {
        each_word(added, [&](std::size_t word, std::uint64_t amount) {
            if (words_[base + word] + amount < amount) {
                throw_overflow(word);
            }
        });
    }

  public:
    constexpr tally_words() = default;

    constexpr explicit tally_words(const mask_set& of_model) {
        for (const mask& m : of_model) {
            if (!m.is_polynomial()) {
                masks_.find_or_add(m, "masks");
            }
        }
    }

    /// Adds both, or, where a sum would not fit, neither.
    template <class Useful, class Padded>
    constexpr void commit(const Useful& useful, const Padded& padded) {
        const std::size_t n = stride();
        bool wraps = false;
        const auto check = [&](std::size_t at, std::uint64_t amount) { wraps |= words_[at] + amount < amount; };
        each_word(useful, [&](std::size_t word, std::uint64_t amount) { check(word, amount); });
        each_word(padded, [&](std::size_t word, std::uint64_t amount) { check(n + word, amount); });
        if (wraps) {
            refuse(useful, 0);
            refuse(padded, n);
        }
        each_word(useful, [&](std::size_t word, std::uint64_t amount) { words_[word] += amount; });
        each_word(padded, [&](std::size_t word, std::uint64_t amount) { words_[n + word] += amount; });
    }

    [[nodiscard]] constexpr const mask_set& masks() const { return masks_; }
    /// Words of one view.
    [[nodiscard]] constexpr std::size_t stride() const { return fixed + masks_.size(); }
    [[nodiscard]] constexpr std::size_t offset(view seen) const { return seen == view::useful ? 0 : stride(); }
    [[nodiscard]] constexpr const std::uint64_t* data() const { return words_.data(); }
    [[nodiscard]] constexpr std::uint64_t& operator[](std::size_t at) { return words_[at]; }
    [[nodiscard]] constexpr std::uint64_t operator[](std::size_t at) const { return words_[at]; }

    [[noreturn, gnu::cold, gnu::noinline]] void throw_overflow(std::size_t word) const {
        constexpr const char* names[fixed] = {"count", "tokens", "keys", "squares", "cached", "crossed", "routed"};
        throw overflow(word < fixed ? names[word] : masks_[word - fixed].name(), "the sum does not fit 64 bits");
    }

    [[nodiscard]] friend constexpr bool operator==(const tally_words& a, const tally_words& b) {
        return a.masks_ == b.masks_ && a.words_ == b.words_;
    }

  private:
    mask_set masks_{};
    std::array<std::uint64_t, 2 * (fixed + max_masks)> words_{};
};

}  // namespace floptally::detail

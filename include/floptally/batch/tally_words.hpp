// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/unit_amounts.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The order of the words of a tally.

namespace floptally::detail {

/// The words of a tally: the fixed statistics (of every tower, where there are towers) and Σ pairs of each mask that is
/// no polynomial in them, useful and then padded. An addition is whole or not at all.
///
/// As much memory again holds what is about to be added, so that nothing is allocated while a batch is counted.
class tally_words {
  public:
    static constexpr std::size_t fixed = 7;  ///< fixed statistics of one tower

    /// The index in a view of a fixed statistic of a tower.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr std::size_t index_of(modality in, statistic what) {
        return fixed * static_cast<std::size_t>(in) + static_cast<std::size_t>(what);
    }
    /// The number of words before those of the masks.
    [[nodiscard]] static constexpr std::size_t before_masks(const mask_set& masks) {
        return masks.has_towers() ? fixed * modality_count : fixed;
    }

    /// The number of words of one view.
    [[nodiscard]] static constexpr std::size_t stride_of(const mask_set& masks) {
        return before_masks(masks) + masks.size();
    }

    /// One addition to one view, word by word.
    using amounts = array_view<std::uint64_t>;

  private:  // first, since clang evaluates templates in constant expressions only where they stand above their use
    /// Calls `apply(word, amount)` for each word that changes.
    template <class Apply>
    constexpr void each_word(const amounts& added, Apply apply) const {
        for (std::size_t word = 0; word < added.size(); ++word) {
            apply(word, added[word]);
        }
    }
    template <class Apply>
    constexpr void each_word(const fixed_sums& added, Apply apply) const {
        apply(static_cast<std::size_t>(statistic::count), added.count);
        apply(static_cast<std::size_t>(statistic::tokens), added.tokens);
        apply(static_cast<std::size_t>(statistic::squares), added.squares);
    }
    template <class Apply>
    constexpr void each_word(const borrowed_sums& added, Apply apply) const {
        each_word(static_cast<const fixed_sums&>(added), apply);
        for (std::size_t i = 0; i < added.masks; ++i) {
            apply(before_masks(masks_) + i, added.pairs[i]);
        }
    }
    template <class Apply>
    constexpr void each_word(const past_sums& added, Apply apply) const {
        each_word(static_cast<const borrowed_sums&>(added), apply);
        apply(static_cast<std::size_t>(statistic::cached), added.cached);
    }

    // Every call of these two is inlined, whatever else the unit makes: g++ stops inlining where a unit makes a
    // `flop_counter`, and one length then costs six calls.

    /// Calls `apply(word, useful, padded)` for each word that changes, both views at once: a loop over few masks is
    /// mostly its start and end.
    template <class Apply>
    [[gnu::always_inline]] constexpr void each_of_both(const fixed_sums& useful, const fixed_sums& padded,
                                                       Apply& apply) const {
        apply(static_cast<std::size_t>(statistic::count), useful.count, padded.count);
        apply(static_cast<std::size_t>(statistic::tokens), useful.tokens, padded.tokens);
        apply(static_cast<std::size_t>(statistic::squares), useful.squares, padded.squares);
    }
    template <class Apply>
    [[gnu::always_inline]] constexpr void each_of_both(const borrowed_sums& useful, const borrowed_sums& padded,
                                                       Apply& apply) const {
        each_of_both(static_cast<const fixed_sums&>(useful), static_cast<const fixed_sums&>(padded), apply);
        for (std::size_t i = 0; i < useful.masks; ++i) {
            apply(before_masks(masks_) + i, useful.pairs[i], padded.pairs[i]);
        }
    }
    template <class Useful, class Padded, class Apply>
    constexpr void each_of_both(const Useful& useful, const Padded& padded, Apply& apply) const {
        each_word(useful, [&](std::size_t word, std::uint64_t amount) { apply(word, amount, 0); });
        each_word(padded, [&](std::size_t word, std::uint64_t amount) { apply(word, 0, amount); });
    }

    /// An addition to a word of each view, which records whether one wrapped.
    struct addition {
        std::uint64_t* useful;
        std::uint64_t* padded;
        bool wraps = false;

        [[gnu::always_inline]] constexpr void operator()(std::size_t word, std::uint64_t more,
                                                         std::uint64_t more_padded) {
            wraps |= (useful[word] += more) < more;
            wraps |= (padded[word] += more_padded) < more_padded;
        }
    };

    /// Calls `apply(word, amount)` with the amount that `times` equal units add to every word.
    template <class Unit, class Apply>
    constexpr void each_amount(const Unit& unit, std::uint64_t times, Apply apply) const {
        std::size_t word = 0;
        const auto visit = [&](modality in, const auto& what) {
            const uint128 product = in == modality_of(unit) ? times * amount_of(what, unit) : 0;
            if ((product >> 64) != 0) {  // of tokens, before a product of squares could pass 128 bits
                throw_overflow(word);
            }
            apply(word++, static_cast<std::uint64_t>(product));
        };
        for (std::size_t in = 0; in < before_masks(masks_) / fixed; ++in) {
            for (std::size_t what = 0; what < fixed; ++what) {
                visit(static_cast<modality>(in), static_cast<statistic>(what));
            }
        }
        for (const rule& m : masks_) {
            visit(m.in(), m);
        }
    }

    /// The memory of the amounts that are about to be added to a view.
    [[nodiscard]] constexpr std::uint64_t* pending(view seen) { return words_.begin() + 2 * stride() + offset(seen); }
    /// The same, all 0.
    constexpr std::uint64_t* cleared(view seen) {
        std::uint64_t* const first = pending(seen);
        for (std::uint64_t* word = first; word != first + stride(); ++word) {
            *word = 0;
        }
        return first;
    }

    /// Throws for the first word that would not fit.
    template <class Sums>
    [[gnu::cold, gnu::noinline]] void refuse(const Sums& added, std::size_t base) const {
        each_word(added, [&](std::size_t word, std::uint64_t amount) {
            if (words_[base + word] + amount < amount) {
                throw_overflow(word);
            }
        });
    }

    /// True for amounts in memory of their own, which adding them to the words does not change.
    template <class Sums>
    static constexpr bool is_apart = !std::is_same_v<Sums, amounts>;

    /// Takes back an addition, and throws for the first word that did not fit.
    template <class Useful, class Padded>
    [[gnu::cold, gnu::noinline]] constexpr void undo(const Useful& useful, const Padded& padded) {
        const std::size_t n = stride();
        const auto subtract = [&](std::size_t word, std::uint64_t more, std::uint64_t more_padded) {
            words_[word] -= more;
            words_[n + word] -= more_padded;
        };
        each_of_both(useful, padded, subtract);
        refuse(useful, 0);
        refuse(padded, n);
    }

  public:
    constexpr tally_words() : tally_words(mask_set{}) {}

    constexpr explicit tally_words(const mask_set& of_model) : masks_(mask_set::of_towers(of_model)) {
        for (const rule& m : of_model) {
            if (!m.is_polynomial()) {
                masks_.find_or_add(m.canonical(), "masks");
            }
        }
        words_.fill(4 * stride(), 0);
    }

    /// Adds to both views; where a sum would not fit, throws and adds to neither.
    template <class Useful, class Padded>
    [[gnu::always_inline]] constexpr void commit(const Useful& useful, const Padded& padded) {
        const std::size_t n = stride();
        std::uint64_t* const to = words_.begin();
        addition add{to, to + n};
        if constexpr (is_apart<Useful> && is_apart<Padded>) {  // in one pass, which is undone where a word wraps
            each_of_both(useful, padded, add);
            if (add.wraps) {
                undo(Useful(useful), Padded(padded));  // of copies: sums that are fine stay in registers
            }
        } else {
            const auto look = [&](std::size_t word, std::uint64_t more, std::uint64_t more_padded) {
                add.wraps |= to[word] + more < more;
                add.wraps |= to[n + word] + more_padded < more_padded;
            };
            each_of_both(useful, padded, look);
            if (add.wraps) {
                refuse(useful, 0);
                refuse(padded, n);
            }
            each_of_both(useful, padded, add);
        }
    }

    [[nodiscard]] constexpr const mask_set& masks() const { return masks_; }
    /// The number of words of one view.
    [[nodiscard]] constexpr std::size_t stride() const { return stride_of(masks_); }
    /// The index of the first word of a view.
    [[nodiscard]] constexpr std::size_t offset(view seen) const { return seen == view::useful ? 0 : stride(); }
    [[nodiscard]] constexpr const std::uint64_t* data() const { return words_.begin(); }
    [[nodiscard]] constexpr std::uint64_t& operator[](std::size_t at) { return words_[at]; }
    [[nodiscard]] constexpr std::uint64_t operator[](std::size_t at) const { return words_[at]; }

    /// The amounts that `times` equal sequences, grids or clips of sound add to a view. They hold until the next are
    /// asked for.
    template <class Unit>
    requires requires(const Unit& unit) { modality_of(unit); }
    [[nodiscard]] constexpr amounts amounts_of(view seen, const Unit& unit, std::uint64_t times = 1) {
        std::uint64_t* const to = pending(seen);
        each_amount(unit, times, [to](std::size_t word, std::uint64_t amount) { to[word] = amount; });
        return {to, stride()};
    }
    /// The words of a view.
    [[nodiscard]] constexpr amounts amounts_of(view seen) const { return {data() + offset(seen), stride()}; }
    /// `number` more of one fixed statistic of the text.
    [[nodiscard]] constexpr amounts amounts_of(view seen, statistic what, std::uint64_t number) {
        return amounts_of_word(seen, index_of(modality::text, what), number);
    }
    /// `number` more of the word at index `at` of a view.
    [[nodiscard]] constexpr amounts amounts_of_word(view seen, std::size_t at, std::uint64_t number) {
        std::uint64_t* const to = cleared(seen);
        to[at] = number;
        return {to, stride()};
    }
    /// The memory in which sums of lengths are made before they are added.
    [[nodiscard]] constexpr sum_space space() { return {masks_, pending(view::useful), pending(view::padded)}; }

    /// Begins an addition of many units: `begin`, `gather` of each, `commit`.
    constexpr void begin() {
        cleared(view::useful);
        cleared(view::padded);
    }
    template <class Unit>
    constexpr void gather(const Unit& real, const Unit& slot) {
        for (const view seen : {view::useful, view::padded}) {
            std::uint64_t* const to = pending(seen);
            each_amount(seen == view::useful ? real : slot, 1, [&](std::size_t word, std::uint64_t amount) {
                if (to[word] + amount < amount) {
                    throw_overflow(word);
                }
                to[word] += amount;
            });
        }
    }
    constexpr void commit() {
        commit(amounts{pending(view::useful), stride()}, amounts{pending(view::padded), stride()});
    }

    /// Sets every word to 0.
    constexpr void clear() {
        for (std::uint64_t& word : words_) {
            word = 0;
        }
    }

    /// Throws that the sum of a word, which the error names, does not fit 64 bits.
    [[noreturn, gnu::cold, gnu::noinline]] void throw_overflow(std::size_t word) const {
        const std::size_t masks = before_masks(masks_);
        throw overflow(
            word < masks ? qualified(static_cast<modality>(word / fixed), name_of(static_cast<statistic>(word % fixed)))
                         : masks_[word - masks].name(),
            "the sum does not fit 64 bits");
    }

    [[nodiscard]] friend constexpr bool operator==(const tally_words& a, const tally_words& b) {
        bool same = a.masks_ == b.masks_;
        for (std::size_t i = 0; same && i < 2 * a.stride(); ++i) {
            same = a.words_[i] == b.words_[i];
        }
        return same;
    }

  private:
    mask_set masks_{};
    list<std::uint64_t> words_{};  // both views; then, likewise, what is about to be added
};

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/context_share.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_checks.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The tally of a batch: exact sums over its samples.

namespace floptally {

/// Exact sums over the samples of a batch: a row of 64-bit integer statistics.
///
/// It knows no hidden size, so it adds up over microbatches, ranks and time in any order, bit for bit. Build it with
/// the masks of the model (`tally{model.masks()}`); masks that follow from the fixed statistics need no word. Its
/// memory is allocated when it is made, not when it is added to. An error leaves the tally as it was. A tally that was
/// moved from can be assigned to, and nothing else.
class tally : public adds_batches<tally> {
  private:  // first, since clang evaluates templates in constant expressions only where they stand above their use
    template <std::derived_from<detail::fixed_sums> Sums>
    [[nodiscard]] static constexpr const Sums& amounts_of(view /*seen*/, const Sums& sums) {
        return sums;
    }
    template <batch_sample Sample>
    [[nodiscard]] constexpr auto amounts_of(view seen, const equal_samples<Sample>& samples) {
        return words_.amounts_of(seen, samples.one(), samples.times());
    }

    template <batch_sample Sample>
    constexpr void check(const Sample& real, const Sample& slot) const {
        detail::check_sample(real, masks());
        if (&real != &slot) {  // what fills its slot is handed in twice
            detail::check_sample(slot, masks());
            detail::require_room(real, slot);
        }
    }
    template <batch_sample Sample>
    constexpr void add_sample(const Sample& real, const Sample& slot) {
        check(real, slot);
        const auto useful = words_.amounts_of(view::useful, real);
        words_.commit(useful, &real == &slot ? useful : words_.amounts_of(view::padded, slot));
    }

  public:
    static constexpr std::size_t fixed_words = detail::tally_words::fixed;  ///< fixed statistics of one tower

    constexpr tally() : tally(mask_set{}) {}

    /// Counts nothing yet; it keeps the pairs of these masks.
    constexpr explicit tally(const mask_set& masks) : words_(masks) {}

    /// Adds a batch in any format (batch/source.hpp). The short calls, `add_lengths`, `add_cu_seqlens`, …, are those of
    /// `adds_batches`.
    template <batch_source Source>
    constexpr void add(const Source& source) {
        if constexpr (summed_source<Source>) {
            source.sum(words_.space(), [this](const auto& useful, const auto& padded) {
                words_.commit(amounts_of(view::useful, useful), amounts_of(view::padded, padded));
            });
        } else {
            words_.begin();
            source.each([this](const auto& real, const auto& slot) {
                check(real, slot);
                words_.gather(real, slot);
            });
            words_.commit();
        }
    }

    /// A compile error that says why a class is no batch.
    template <detail::fails_as_source T>
    constexpr void add(const T& /*no_source*/) {
        detail::say_what_a_batch_lacks<T>();
    }

    /// Adds equal samples that fill their slots.
    template <batch_sample Sample>
    constexpr void add(const equal_samples<Sample>& samples) {
        detail::check_sample(samples.one(), masks());
        const auto amounts = amounts_of(view::useful, samples);
        words_.commit(amounts, amounts);
    }

    /// Adds one sequence that fills its slot.
    constexpr void add(const sequence& real) { add_sample(real, real); }

    /// Adds one sequence and the slot that it is padded to; {} for `real` is a mock sequence.
    constexpr void add(const sequence& real, const sequence& slot) { add_sample(real, slot); }

    /// Adds one image or clip, t frames of h·w patches, to the vision tower, or one clip of sound to the audio tower.
    template <tower_sample Sample>  // so that braces stay a sequence, here and below
    constexpr void add(const Sample& real) {
        add_sample(real, real);
    }

    /// Adds such a sample and the slot that it is padded to; {} for `real` is all padding.
    template <tower_sample Sample>
    constexpr void add(const Sample& real, const Sample& slot) {
        add_sample(real, slot);
    }

    /// Adds visits of tokens to experts, summed over all MoE layers, as a router counted them: for a `moe` that has
    /// `routed_is_measured`. `padded` are those that kernels ran, capacity slots included.
    constexpr void add_routed(std::uint64_t useful, std::uint64_t padded) {
        if (padded < useful) {
            throw error("routed", std::to_string(padded) + " padded visits are fewer than " + std::to_string(useful));
        }
        words_.commit(words_.amounts_of(view::useful, statistic::routed, useful),
                      words_.amounts_of(view::padded, statistic::routed, padded));
    }

    /// Adds to a named word that the caller measured (`measured(name)`), which this tally was built with: useful, and
    /// padded.
    constexpr void add_measured(std::string_view name, std::uint64_t useful, std::uint64_t padded) {
        const rule word = measured(name);
        if (word.is_polynomial()) {
            add_routed(useful, padded);
            return;
        }
        if (padded < useful) {
            throw error(name, std::to_string(padded) + " padded are fewer than " + std::to_string(useful));
        }
        std::size_t index = masks().find(word);
        for (const modality in : {modality::vision, modality::audio}) {  // of a tower: its word is as unique
            index = index == masks().size() ? masks().find(word.in(in)) : index;
        }
        if (index == masks().size()) {
            throw error(name, "this tally has no such word: build it with masks() that have measured(\"" +
                                  std::string(name) + "\")");
        }
        const std::size_t at = detail::tally_words::before_masks(masks()) + index;
        words_.commit(words_.amounts_of_word(view::useful, at, useful),
                      words_.amounts_of_word(view::padded, at, padded));
    }

    /// Adds another tally of the same masks in the same order.
    constexpr tally& operator+=(const tally& other) {
        if (!(masks() == other.masks())) {
            throw error("masks", "two tallies of different masks cannot be added");
        }
        words_.commit(other.words_.amounts_of(view::useful), other.words_.amounts_of(view::padded));
        share_ += other.share_;
        added_up_ += other.added_up_;
        return *this;
    }

    /// One of the fixed statistics of a tower; pairs are asked for by their mask.
    [[nodiscard]] constexpr std::uint64_t get(view seen, statistic what, modality in = modality::text) const {
        detail::require_amounts(seen);
        if (what == statistic::pairs) {
            throw error("statistic", "pairs belong to a mask: use pairs(view, mask)");
        }
        return in != modality::text && !masks().has_towers()
                   ? 0
                   : words_[words_.offset(seen) + detail::tally_words::index_of(in, what)];
    }

    /// The sum of a rule; for a mask, Σ attended pairs. A rule that neither follows from the moments nor is one that
    /// this tally was built with is an error.
    [[nodiscard]] constexpr std::uint64_t pairs(view seen, const rule& which) const {
        detail::require_amounts(seen);
        const auto moment = [&](statistic what) { return uint128{get(seen, what, which.in())}; };
        if (const moment_form form = which.moments(); form.exists) {
            const uint128 halves =
                form.half_squares * moment(statistic::squares) + form.half_tokens * moment(statistic::tokens);
            const uint128 sum = halves / 2 + form.cached * moment(statistic::cached) +
                                form.crossed * moment(statistic::crossed) + form.count * moment(statistic::count) +
                                form.routed * moment(statistic::routed) + form.keys * moment(statistic::keys);
            if ((sum >> 64) != 0) {
                throw overflow("pairs", to_string(sum) + " does not fit 64 bits");
            }
            return static_cast<std::uint64_t>(sum);
        }
        const std::size_t index = masks().find(which.canonical());
        if (index == masks().size()) {
            throw error("masks", "this tally keeps no pairs of " + which.name() +
                                     ": build it with the masks() of the cost that is evaluated");
        }
        return words_[words_.offset(seen) + detail::tally_words::before_masks(masks()) + index];
    }

    /// The masks that have a word of their own.
    [[nodiscard]] constexpr const mask_set& masks() const { return words_.masks(); }

    /// All words, useful then padded, each the fixed statistics (of every tower) and one for each of `masks()`: the
    /// input of a SUM all-reduce.
    [[nodiscard]] constexpr detail::array_view<std::uint64_t> words() const {
        return {words_.data(), 2 * words_.stride()};
    }

    /// The first of `words()`.
    [[nodiscard]] constexpr const std::uint64_t* data() const { return words_.data(); }

    /// The tally whose `words()` were summed elsewhere.
    [[nodiscard]] static constexpr tally from_words(const mask_set& masks,
                                                    const detail::array_view<std::uint64_t>& words) {
        tally sum{masks};
        if (words.size() != 2 * sum.words_.stride()) {
            throw error("words", "must be " + std::to_string(2 * sum.words_.stride()) + " for these masks, got " +
                                     std::to_string(words.size()));
        }
        for (std::size_t i = 0; i < words.size(); ++i) {
            sum.words_[i] = words[i];
        }
        return sum;
    }

    /// Marks the tally's text as one rank's share of context parallelism, which a reduction then compares with the
    /// scope. A rank that adds only its own slices should mark its tally. The mark is no part of the words, and not
    /// compared by ==.
    constexpr void mark_share(const context_share& held) { share_ = held; }
    /// The mark of `mark_share`.
    [[nodiscard]] constexpr const context_share& share_of_context() const { return share_; }

    /// Marks the ranks over which the tally was added up, as every sum over ranks does with its result: a reduction
    /// that would add those up again is an error. The mark goes with the tally into sums, is no part of the words, and
    /// not compared by ==. A caller who adds up in two levels, by two layouts whose axes have one name, marks the tally
    /// with `{}` between them.
    constexpr void mark_added_up(const added_up& over) { added_up_ = over; }
    /// The mark of `mark_added_up`, which sums keep.
    [[nodiscard]] constexpr const added_up& added_up_over() const { return added_up_; }

    /// Sets all words to 0 and removes the marks, in the memory that it has.
    constexpr void clear() {
        words_.clear();
        share_ = {};
        added_up_ = {};
    }

    /// True for equal masks and equal words; marks are not compared.
    [[nodiscard]] friend constexpr bool operator==(const tally& a, const tally& b) { return a.words_ == b.words_; }

  private:
    detail::tally_words words_;
    context_share share_{};
    added_up added_up_{};
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/context_share.hpp>
#include <floptally/batch/mask_set.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/detail/array_view.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/detail/modality_checks.hpp>
#include <floptally/detail/sample_checks.hpp>
#include <floptally/detail/sequence_checks.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/error.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

/// Exact sums over sequences: the row of integer statistics that a batch is.
///
/// It knows no hidden size, so it adds up over microbatches, ranks and time in any order, bit for bit. Build it with
/// the masks of the model (`tally{model.masks()}`); masks that follow from the fixed statistics need no word.
/// Its memory is allocated when it is made, not when it is added to. An error leaves the tally as it was; one that was
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
    static constexpr std::size_t fixed_words = detail::tally_words::fixed;

    constexpr tally() = default;

    constexpr explicit tally(const mask_set& masks) : words_(masks) {}

    /// A batch in any format (batch/source.hpp). Its short calls, `add_lengths`, `add_cu_seqlens`, …, are those of
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

    template <detail::fails_as_source T>
    constexpr void add(const T& /*no_source*/) {
        detail::say_what_a_batch_lacks<T>();
    }

    /// So many equal samples.
    template <batch_sample Sample>
    constexpr void add(const equal_samples<Sample>& samples) {
        detail::check_sample(samples.one(), masks());
        const auto amounts = amounts_of(view::useful, samples);
        words_.commit(amounts, amounts);
    }

    /// One sequence that fills its slot.
    constexpr void add(const sequence& real) { add_sample(real, real); }

    /// One sequence and the slot that it is padded to; {} for `real` is a mock sequence.
    constexpr void add(const sequence& real, const sequence& slot) { add_sample(real, slot); }

    /// One image or clip: t frames of h·w patches, in the vision tower; or one clip of sound, in the audio tower.
    template <tower_sample Sample>  // so that braces stay a sequence, here and below
    constexpr void add(const Sample& real) {
        add_sample(real, real);
    }

    /// The same in the slot that it is padded to; {} for `real` is all padding.
    template <tower_sample Sample>
    constexpr void add(const Sample& real, const Sample& slot) {
        add_sample(real, slot);
    }

    /// Visits of tokens to experts, summed over all MoE layers, as a router counted them: for a `moe` that has
    /// `routed_is_measured`. `padded` are those that kernels ran, capacity slots included.
    constexpr void add_routed(std::uint64_t useful, std::uint64_t padded) {
        if (padded < useful) {
            throw error("routed", std::to_string(padded) + " padded visits are fewer than " + std::to_string(useful));
        }
        words_.commit(words_.amounts_of(view::useful, statistic::routed, useful),
                      words_.amounts_of(view::padded, statistic::routed, padded));
    }

    /// A named word that the caller measured (`measured(name)`), which this tally was built with: useful, and padded.
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

    /// The sum of a rule, of a mask Σ attended pairs: one that follows from the moments, or one that this tally was
    /// built with.
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

    /// All words, useful then padded, each the fixed statistics (of every tower) and one for each of `masks()`:
    /// what a SUM all-reduce takes.
    /// (`Word` is a parameter so that who does not call it does not compile a span.)
    template <class Word = std::uint64_t>
    [[nodiscard]] constexpr std::span<const Word> words() const {
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

    /// Says that its text is one rank's share of context parallelism, which a reduction then compares with the scope:
    /// what a rank adds of its own slices should say so. It is no part of what is counted, and not compared by ==.
    constexpr void mark_share(const context_share& held) { share_ = held; }
    [[nodiscard]] constexpr const context_share& share_of_context() const { return share_; }

    /// Counts nothing again, in the memory that it has.
    constexpr void clear() {
        words_.clear();
        share_ = {};
    }

    [[nodiscard]] friend constexpr bool operator==(const tally& a, const tally& b) { return a.words_ == b.words_; }

  private:
    detail::tally_words words_;
    context_share share_{};
};

}  // namespace floptally

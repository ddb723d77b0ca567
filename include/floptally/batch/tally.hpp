// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/batch/context_shard.hpp>
#include <floptally/batch/formats.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_checks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The tally of a batch: exact sums over its samples.

namespace floptally::inline v0_3 {

namespace detail {

/// Throws `error` for the executed view. A tally has only a useful and a padded view. Recompute repeats work of the
/// model but adds no samples.
constexpr void require_amounts(view seen) {
    if (seen == view::executed) {
        throw error("view", "must be useful or padded, since a tally has no executed amounts");
    }
}

}  // namespace detail

/// Exact sums over the samples of a batch, in 64-bit integer accumulators.
///
/// A tally does not depend on a model's hidden size. Tallies can be summed over microbatches, ranks and time in any
/// order, with the same result. Build a tally with the masks of the model: `tally{model.masks()}`. If a mask's pairs
/// follow from sums such as Σ length and Σ length², the mask needs no accumulator of its own. Only construction
/// allocates memory; adding does not. An error leaves the tally unchanged. A moved-from tally can only be assigned to.
class tally : public adds_batches<tally> {
  private:
    // Private members come first: clang evaluates a template in a constant expression only after its definition.
    template <batch_sample Sample>
    constexpr void check(const Sample& real, const Sample& slot) const {
        detail::check_sample(real, masks());
        if (&real != &slot) {  // The same object is passed as `real` and as `slot` if a sample fills its slot.
            detail::check_sample(slot, masks());
            detail::require_room(real, slot);
        }
    }
    template <batch_sample Sample>
    constexpr void add_sample(const Sample& real, const Sample& slot) {
        check(real, slot);
        const auto useful = accumulators_.amounts_of(view::useful, real);
        accumulators_.commit(useful, &real == &slot ? useful : accumulators_.amounts_of(view::padded, slot));
    }

  public:
    /// Number of fixed accumulators of one modality: one for each value of `accumulator` except `pairs`.
    static constexpr std::size_t fixed_accumulators = accumulator_count - 1;

    constexpr tally() : tally(mask_set{}) {}

    /// Creates a tally whose sums are 0. It counts the attended pairs of these masks.
    constexpr explicit tally(const mask_set& masks) : accumulators_(masks) {}

    /// Adds a batch in any format (`batch_source`). `adds_batches` has the short calls `add_lengths`,
    /// `add_cu_seqlens`, …
    template <batch_source Source>
    constexpr void add(const Source& source) {
        accumulators_.begin();
        source.each([this](const auto& real, const auto& slot) {
            check(real, slot);
            accumulators_.gather(real, slot);
        });
        accumulators_.commit();
    }
    /// Adds a source that computes its own sums (`add_to`). Always inlined: for few lengths, function calls would take
    /// longer than the sums.
    template <summed_source Source>
    [[gnu::always_inline]] constexpr void add(const Source& source) {
        source.add_to(accumulators_);
    }

    /// Fails to compile with a message that says what the class lacks as a batch source.
    template <detail::fails_as_source T>
    constexpr void add(const T& /*no_source*/) {
        detail::say_what_a_batch_lacks<T>();
    }

    /// Adds one sequence without padding.
    constexpr void add(const sequence& real) { add_sample(real, real); }

    /// Adds one sequence and the slot that it is padded to. Pass {} as `real` for a mock sequence.
    constexpr void add(const sequence& real, const sequence& slot) { add_sample(real, slot); }

    /// Adds one image or video clip (t frames of h·w patches) to the vision tower, or one audio clip to the audio
    /// tower.
    // This overload is a template, so that an argument in braces means a sequence and not an image.
    template <tower_sample Sample>
    constexpr void add(const Sample& real) {
        add_sample(real, real);
    }

    /// Adds a sample of a tower and the slot that it is padded to. Pass {} as `real` if the slot is only padding.
    template <tower_sample Sample>
    constexpr void add(const Sample& real, const Sample& slot) {
        add_sample(real, slot);
    }

    /// Adds the visits of tokens to experts that a router counted, summed over all MoE layers. Use it for a `moe` with
    /// `routed_is_measured`. `visits.padded` are the visits that kernels ran, including capacity slots.
    constexpr void add_routed(const useful_and_padded& visits) {
        if (visits.padded < visits.useful) {
            throw error("routed", "padded visits must include the " + std::to_string(visits.useful) +
                                      " useful visits, got " + std::to_string(visits.padded));
        }
        accumulators_.commit(accumulators_.amounts_of(view::useful, accumulator::routed, visits.useful),
                             accumulators_.amounts_of(view::padded, accumulator::routed, visits.padded));
    }

    /// Adds to the named accumulator of a measured statistic (`measured(name)`). Throws `error` if the tally was not
    /// built with this accumulator.
    constexpr void add_measured(std::string_view name, const useful_and_padded& amount) {
        const statistic accumulator = measured(name);
        if (accumulator.is_polynomial()) {
            add_routed(amount);
            return;
        }
        if (amount.padded < amount.useful) {
            throw error(name, "the padded amount must include the useful amount, " + std::to_string(amount.useful) +
                                  ", got " + std::to_string(amount.padded));
        }
        std::size_t index = masks().find(accumulator);
        // The name of a measured statistic is unique across modalities, so at most one modality has it.
        for (const modality in : {modality::vision, modality::audio}) {
            index = index == masks().size() ? masks().find(accumulator.in(in)) : index;
        }
        if (index == masks().size()) {
            throw error(name, "is not kept by this tally: create the tally with masks that include measured(\"" +
                                  std::string(name) + "\")");
        }
        const std::size_t at = detail::tally_accumulators::before_masks(masks()) + index;
        accumulators_.commit(accumulators_.amounts_of_accumulator(view::useful, at, amount.useful),
                             accumulators_.amounts_of_accumulator(view::padded, at, amount.padded));
        measured_ |= bit_of(index);
    }

    /// True if an amount of a measured statistic was added, even if the amount was 0.
    [[nodiscard]] constexpr bool has_measured(const statistic& measured) const {
        const std::size_t index = masks().find(measured);
        return index != masks().size() && measured.is_measured() && (measured_ & bit_of(index)) != 0;
    }
    /// Records that an amount of a measured statistic was added, even if it was 0. Call this if the accumulators come
    /// from a sum over ranks or from a file. Such accumulators do not show whether an amount of 0 was added. Has no
    /// effect for a statistic that this tally does not count.
    constexpr void mark_measured(const statistic& measured) {
        const std::size_t index = masks().find(measured);
        measured_ |= index != masks().size() && measured.is_measured() ? bit_of(index) : 0;
    }
    /// Copies the marks of another tally with the same masks: a measured statistic that was added to `mine` counts as
    /// added to this tally too.
    constexpr void mark_measured(const tally& mine) { measured_ |= mine.measured_; }

    /// Adds another tally of the same masks in the same order.
    constexpr tally& operator+=(const tally& other) {
        if (!(masks() == other.masks())) {
            throw error("masks", "tallies of different masks cannot be added up: build both with the same masks");
        }
        accumulators_.commit(other.accumulators_.amounts_of(view::useful),
                             other.accumulators_.amounts_of(view::padded));
        shard_ += other.shard_;
        added_up_ += other.added_up_;
        measured_ |= other.measured_;
        return *this;
    }

    /// Returns a fixed accumulator (one that every tally has) of a modality. Throws `error` for `accumulator::pairs`:
    /// use `pairs(view, mask)`.
    [[nodiscard]] constexpr std::uint64_t get(view seen, accumulator which, modality in = modality::text) const {
        detail::require_amounts(seen);
        if (which == accumulator::pairs) {
            throw error("statistic", "every mask has its own number of pairs: call pairs(view, mask) with one mask");
        }
        return in != modality::text && !masks().has_towers()
                   ? 0
                   : accumulators_[accumulators_.offset(seen) + detail::tally_accumulators::index_of(in, which)];
    }

    /// Returns the sum of a statistic over the batch; for a mask, the number of attended pairs. Throws `error` if the
    /// statistic can be computed neither from moments (such as Σ length and Σ length²) nor from an accumulator of this
    /// tally.
    [[nodiscard]] constexpr std::uint64_t pairs(view seen, const statistic& which) const {
        detail::require_amounts(seen);
        const auto moment = [&](accumulator kind) { return uint128{get(seen, kind, which.in())}; };
        if (const moment_form form = which.moments(); form.exists) {
            const uint128 halves =
                form.half_squares * moment(accumulator::squares) + form.half_tokens * moment(accumulator::tokens);
            const uint128 sum = halves / 2 + form.cached * moment(accumulator::cached) +
                                form.crossed * moment(accumulator::crossed) + form.count * moment(accumulator::count) +
                                form.routed * moment(accumulator::routed) + form.keys * moment(accumulator::keys);
            if ((sum >> 64) != 0) {
                throw overflow("pairs", to_string(sum) + " does not fit 64 bits: count fewer samples");
            }
            return static_cast<std::uint64_t>(sum);
        }
        const std::size_t index = masks().find(which.canonical());
        if (index == masks().size()) {
            throw error("masks", "this tally keeps no pairs of " + which.name() +
                                     ": build it with the masks() of the cost that is evaluated");
        }
        return accumulators_[accumulators_.offset(seen) + detail::tally_accumulators::before_masks(masks()) + index];
    }

    /// Returns the masks and other statistics for which this tally has an accumulator.
    [[nodiscard]] constexpr const mask_set& masks() const { return accumulators_.masks(); }

    /// Returns all accumulators, first useful, then padded: the input of a SUM all-reduce. Each view has the fixed
    /// accumulators (of every tower) and then one for each mask of `masks()`.
    [[nodiscard]] constexpr array_view<std::uint64_t> accumulators() const {
        return {accumulators_.data(), 2 * accumulators_.stride()};
    }

    /// A pointer to the first of `accumulators()`.
    [[nodiscard]] constexpr const std::uint64_t* data() const { return accumulators_.data(); }

    /// Returns a tally with these accumulators, such as the result of an all-reduce. None of its measured statistics is
    /// marked as added: call `mark_measured`, or use `with_accumulators`.
    [[nodiscard]] static constexpr tally from_accumulators(const mask_set& masks,
                                                           const array_view<std::uint64_t>& accumulators) {
        tally sum{masks};
        if (accumulators.size() != 2 * sum.accumulators_.stride()) {
            throw error("accumulators", "must have " + std::to_string(2 * sum.accumulators_.stride()) +
                                            " integers for these masks, got " + std::to_string(accumulators.size()));
        }
        for (std::size_t i = 0; i < accumulators.size(); ++i) {
            sum.accumulators_[i] = accumulators[i];
        }
        return sum;
    }

    /// Returns a tally with these accumulators, and with the masks and the marks of measured statistics of this tally.
    /// Use it for accumulators that were computed from this tally's, such as a sum over ranks.
    [[nodiscard]] constexpr tally with_accumulators(const array_view<std::uint64_t>& accumulators) const {
        tally sum = from_accumulators(masks(), accumulators);
        sum.measured_ = measured_;
        return sum;
    }

    /// Marks the tally's text sequences as the context-parallel shard of one rank. A sum over ranks then checks that
    /// its caller declared shards, and not copies. A rank that adds only its own slices of sequences should mark its
    /// tally. The mark is not part of the accumulators, and == does not compare it.
    constexpr void mark_shard(const cp_rank& held) { shard_ = context_shard(held); }
    /// Returns the mark that `mark_shard` has set.
    [[nodiscard]] constexpr const context_shard& shard_of_context() const { return shard_; }

    /// Marks the axes over which the tally was summed. Every sum over ranks marks its result. A second sum over the
    /// same axis throws `error`. Sums of tallies keep the mark. The mark is not part of the accumulators, and == does
    /// not compare it. If you sum in two levels, by two layouts whose axes have the same name, mark the tally with `{}`
    /// in between.
    constexpr void mark_added_up(const added_up& over) { added_up_ = over; }
    /// Returns the mark that `mark_added_up` has set.
    [[nodiscard]] constexpr const added_up& added_up_over() const { return added_up_; }

    /// Sets all accumulators to 0 and removes the marks. Keeps the memory.
    constexpr void clear() {
        accumulators_.clear();
        shard_ = {};
        added_up_ = {};
        measured_ = 0;
    }

    /// True for equal masks and equal accumulators. Does not compare marks.
    [[nodiscard]] friend constexpr bool operator==(const tally& a, const tally& b) {
        return a.accumulators_ == b.accumulators_;
    }

  private:
    /// Returns the bit of `measured_` for the measured statistic masks()[index]. Only the first 64 statistics have a
    /// bit. For the others an amount of 0 counts as missing.
    [[nodiscard]] constexpr std::uint64_t bit_of(std::size_t index) const {
        std::size_t before = 0;
        for (std::size_t i = 0; i < index; ++i) {
            before += masks()[i].is_measured() ? 1U : 0U;
        }
        return before < 64 ? std::uint64_t{1} << before : 0;
    }

    detail::tally_accumulators accumulators_;
    context_shard shard_{};
    added_up added_up_{};
    std::uint64_t measured_ = 0;  ///< One bit for each measured statistic, set if an amount was added. The accumulators
                                  ///< do not show this, because an amount of 0 does not change them.
};

}  // namespace floptally

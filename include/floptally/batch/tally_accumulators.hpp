// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <floptally/batch/length_sums.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The accumulators of a tally: their order, the amounts that a sample adds to them, and an addition that changes all
/// accumulators or none. Host and device compute equal amounts. Amounts have 128 bits, because the amount of a grid can
/// exceed 64 bits.

namespace floptally::inline v0_3 {

/// An amount that a caller measured, in the useful and the padded view: `{.useful = 10, .padded = 12}`, or `{.useful =
/// 10}` without padding.
struct useful_and_padded {
    std::uint64_t useful = 0;
    std::uint64_t padded = useful;

    [[nodiscard]] friend constexpr bool operator==(const useful_and_padded&, const useful_and_padded&) = default;
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Returns the modality of a sample.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const sequence& /*unused*/) {
    return modality::text;
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const grid& /*unused*/) { return modality::vision; }
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality modality_of(const audio_clip& /*unused*/) {
    return modality::audio;
}

/// Returns the amount that a sample adds to a fixed accumulator.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(accumulator which, const sequence& s) {
    const std::uint64_t n = s.length;
    switch (which) {
        case accumulator::count:
            return n != 0 ? 1 : 0;
        case accumulator::tokens:
            return n;
        case accumulator::keys:
            return s.keys;
        case accumulator::squares:
            return n * n;
        case accumulator::cached:
            return n * s.past;
        case accumulator::crossed:
            return n * s.keys;
        default:  // No sample adds to `routed`, which a router measures, or to `pairs`, which a mask counts.
            return 0;
    }
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(accumulator which, const grid& g) {
    if (which == accumulator::keys) {
        return g.keys;
    }
    return g.t * amount_of(which, sequence{.length = static_cast<std::uint32_t>(g.frame_patches()), .keys = g.keys});
}
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of(accumulator which, const audio_clip& clip) {
    return amount_of(which, sequence{clip.frames});
}

/// Returns the amount that a sample adds to the accumulator of a statistic of the sample's modality. A sample adds 0 to
/// a measured statistic.
template <class Sample>
[[nodiscard]] constexpr uint128 amount_of(const statistic& which, const Sample& sample) {
    return which.is_measured() ? 0 : which.amount_of_countable(sample);
}

/// The accumulators of a tally, first those of the useful view, then those of the padded view. Each view begins with
/// the fixed accumulators of the text and, if the model has them, of the towers. Then it has Σ pairs of each mask that
/// is not a polynomial of the fixed accumulators. An addition changes all accumulators or none.
///
/// `tally_accumulators` also has memory for amounts that are checked before they are added. So counting a batch
/// allocates nothing.
class tally_accumulators {
  public:
    static constexpr std::size_t fixed = 7;  ///< number of fixed accumulators of one modality

    /// Returns the index of a fixed accumulator of a modality in a view.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr std::size_t index_of(modality in, accumulator which) {
        return fixed * static_cast<std::size_t>(in) + static_cast<std::size_t>(which);
    }
    /// Returns the number of accumulators of a view that come before the accumulators of masks.
    [[nodiscard]] static constexpr std::size_t before_masks(const mask_set& masks) {
        return masks.has_towers() ? fixed * modality_count : fixed;
    }

    /// Returns the number of accumulators of one view of a tally with these masks.
    [[nodiscard]] static constexpr std::size_t stride_of(const mask_set& masks) {
        return before_masks(masks) + masks.size();
    }

    /// The amounts that are added to one view of a tally: one number for each of its accumulators.
    using amounts = array_view<std::uint64_t>;

  private:
    // Private members come first: clang evaluates a template in a constant expression only after its definition. The
    // next functions call `apply(accumulator, amount)` for each accumulator that changes.
    template <class Apply>
    constexpr void each_accumulator(const amounts& sums, Apply apply) const {
        for (std::size_t place = 0; place < sums.size(); ++place) {
            apply(place, sums[place]);
        }
    }
    template <class Apply>
    constexpr void each_accumulator(const fixed_sums& sums, Apply apply) const {
        apply(static_cast<std::size_t>(accumulator::count), sums.count);
        apply(static_cast<std::size_t>(accumulator::tokens), sums.tokens);
        apply(static_cast<std::size_t>(accumulator::squares), sums.squares);
    }
    template <class Apply>
    constexpr void each_accumulator(const borrowed_sums& sums, Apply apply) const {
        each_accumulator(static_cast<const fixed_sums&>(sums), apply);
        for (std::size_t i = 0; i < sums.masks; ++i) {
            apply(before_masks(masks_) + i, sums.pairs[i]);
        }
    }
    template <class Apply>
    constexpr void each_accumulator(const past_sums& sums, Apply apply) const {
        each_accumulator(static_cast<const borrowed_sums&>(sums), apply);
        apply(static_cast<std::size_t>(accumulator::cached), sums.cached);
    }

    // The next two functions are always inlined. Otherwise g++ stops inlining in a translation unit that builds a
    // `flop_counter`, and adding one length takes six function calls.

    /// Calls `apply(accumulator, useful, padded)` for each accumulator that changes. Handles both views in one loop,
    /// because a loop over few masks spends most of its time on set-up.
    template <class Apply>
    [[gnu::always_inline]] constexpr void each_of_both(const fixed_sums& useful, const fixed_sums& padded,
                                                       Apply& apply) const {
        apply(static_cast<std::size_t>(accumulator::count), useful.count, padded.count);
        apply(static_cast<std::size_t>(accumulator::tokens), useful.tokens, padded.tokens);
        apply(static_cast<std::size_t>(accumulator::squares), useful.squares, padded.squares);
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
        each_accumulator(useful, [&](std::size_t place, std::uint64_t amount) { apply(place, amount, 0); });
        each_accumulator(padded, [&](std::size_t place, std::uint64_t amount) { apply(place, 0, amount); });
    }

    /// Adds an amount to an accumulator of each view, and records whether a sum overflowed.
    struct addition {
        std::uint64_t* useful;
        std::uint64_t* padded;
        bool wraps = false;

        [[gnu::always_inline]] constexpr void operator()(std::size_t place, std::uint64_t more,
                                                         std::uint64_t more_padded) {
            wraps |= (useful[place] += more) < more;
            wraps |= (padded[place] += more_padded) < more_padded;
        }
    };

    /// Calls `apply(accumulator, amount)` for every accumulator. `amount` is what `times` samples, each equal to
    /// `unit`, add to that accumulator.
    template <class Unit, class Apply>
    constexpr void each_amount(const Unit& unit, std::uint64_t times, Apply apply) const {
        std::size_t place = 0;
        const auto visit = [&](modality in, const auto& which) {
            const uint128 product = in == modality_of(unit) ? times * amount_of(which, unit) : 0;
            // The 128-bit product cannot overflow, because the sum of tokens would overflow 64 bits before it.
            if ((product >> 64) != 0) {
                throw_overflow(place);
            }
            apply(place++, static_cast<std::uint64_t>(product));
        };
        for (std::size_t in = 0; in < before_masks(masks_) / fixed; ++in) {
            for (std::size_t moment = 0; moment < fixed; ++moment) {
                visit(static_cast<modality>(in), static_cast<accumulator>(moment));
            }
        }
        for (const statistic& m : masks_) {
            visit(m.in(), m);
        }
    }

    /// Returns the memory for the amounts that are about to be added to a view.
    [[nodiscard]] constexpr std::uint64_t* pending(view seen) {
        return accumulators_.begin() + 2 * stride() + offset(seen);
    }
    /// Returns the memory of `pending`, set to 0.
    constexpr std::uint64_t* cleared(view seen) {
        std::uint64_t* const first = pending(seen);
        for (std::uint64_t* place = first; place != first + stride(); ++place) {
            *place = 0;
        }
        return first;
    }

    /// Throws for the first accumulator that would overflow.
    template <class Sums>
    [[gnu::cold, gnu::noinline]] void refuse(const Sums& sums, std::size_t base) const {
        each_accumulator(sums, [&](std::size_t place, std::uint64_t amount) {
            if (accumulators_[base + place] + amount < amount) {
                throw_overflow(place);
            }
        });
    }

    /// True if amounts of type `Sums` never lie in the accumulators' memory, so that the addition cannot overwrite
    /// them.
    template <class Sums>
    static constexpr bool is_apart = !std::is_same_v<Sums, amounts>;

    /// Undoes an addition and throws for the first accumulator that overflowed.
    template <class Useful, class Padded>
    [[gnu::cold, gnu::noinline]] constexpr void undo(const Useful& useful, const Padded& padded) {
        const std::size_t n = stride();
        const auto subtract = [&](std::size_t place, std::uint64_t more, std::uint64_t more_padded) {
            accumulators_[place] -= more;
            accumulators_[n + place] -= more_padded;
        };
        each_of_both(useful, padded, subtract);
        refuse(useful, 0);
        refuse(padded, n);
    }

  public:
    constexpr tally_accumulators() : tally_accumulators(mask_set{}) {}

    constexpr explicit tally_accumulators(const mask_set& of_model) : masks_(mask_set::of_towers(of_model)) {
        for (const statistic& m : of_model) {
            if (!m.is_polynomial()) {
                masks_.find_or_add(m.canonical(), "masks");
            }
        }
        accumulators_.fill(4 * stride(), 0);
    }

    /// Adds amounts to the useful and the padded view. If a sum would overflow, throws `overflow` and changes neither
    /// view.
    template <class Useful, class Padded>
    [[gnu::always_inline]] constexpr void commit(const Useful& useful, const Padded& padded) {
        const std::size_t n = stride();
        std::uint64_t* const target = accumulators_.begin();
        addition add{target, target + n};
        // This branch adds without a check, and undoes the addition if a sum has overflowed.
        if constexpr (is_apart<Useful> && is_apart<Padded>) {
            each_of_both(useful, padded, add);
            if (add.wraps) {
                // Copies are passed, so that the compiler can keep the sums in registers.
                undo(Useful(useful), Padded(padded));
            }
        } else {
            const auto look = [&](std::size_t place, std::uint64_t more, std::uint64_t more_padded) {
                add.wraps |= target[place] + more < more;
                add.wraps |= target[n + place] + more_padded < more_padded;
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
    /// Returns the number of accumulators of one view.
    [[nodiscard]] constexpr std::size_t stride() const { return stride_of(masks_); }
    /// Returns the index of the first accumulator of a view.
    [[nodiscard]] constexpr std::size_t offset(view seen) const { return seen == view::useful ? 0 : stride(); }
    [[nodiscard]] constexpr const std::uint64_t* data() const { return accumulators_.begin(); }
    [[nodiscard]] constexpr std::uint64_t& operator[](std::size_t at) { return accumulators_[at]; }
    [[nodiscard]] constexpr std::uint64_t operator[](std::size_t at) const { return accumulators_[at]; }

    /// Returns the amounts that `times` equal samples add to a view. The amounts are valid until the next call of this
    /// function.
    template <class Unit>
    requires requires(const Unit& unit) { modality_of(unit); }
    [[nodiscard]] constexpr amounts amounts_of(view seen, const Unit& unit, std::uint64_t times = 1) {
        std::uint64_t* const target = pending(seen);
        each_amount(unit, times, [target](std::size_t place, std::uint64_t amount) { target[place] = amount; });
        return {target, stride()};
    }
    /// Returns the accumulators of a view.
    [[nodiscard]] constexpr amounts amounts_of(view seen) const { return {data() + offset(seen), stride()}; }
    /// Returns amounts that add `number` to the accumulator `which` of modality text, and to no other.
    [[nodiscard]] constexpr amounts amounts_of(view seen, accumulator which, std::uint64_t number) {
        return amounts_of_accumulator(seen, index_of(modality::text, which), number);
    }
    /// Returns amounts that add `number` to the accumulator at index `at` of a view.
    [[nodiscard]] constexpr amounts amounts_of_accumulator(view seen, std::size_t at, std::uint64_t number) {
        std::uint64_t* const target = cleared(seen);
        target[at] = number;
        return {target, stride()};
    }
    /// Returns the memory in which sums over lengths are computed before they are added.
    [[nodiscard]] constexpr sum_space space() { return {masks_, pending(view::useful), pending(view::padded)}; }

    /// Starts an addition of many samples: call `begin`, then `gather` for each, then `commit`.
    constexpr void begin() {
        cleared(view::useful);
        cleared(view::padded);
    }
    template <class Unit>
    constexpr void gather(const Unit& real, const Unit& slot) {
        for (const view seen : {view::useful, view::padded}) {
            std::uint64_t* const target = pending(seen);
            each_amount(seen == view::useful ? real : slot, 1, [&](std::size_t place, std::uint64_t amount) {
                if (target[place] + amount < amount) {
                    throw_overflow(place);
                }
                target[place] += amount;
            });
        }
    }
    constexpr void commit() {
        commit(amounts{pending(view::useful), stride()}, amounts{pending(view::padded), stride()});
    }

    /// Sets every accumulator to 0.
    constexpr void clear() {
        for (std::uint64_t& place : accumulators_) {
            place = 0;
        }
    }

    /// Throws `overflow` with the name of the accumulator at this index.
    [[noreturn, gnu::cold, gnu::noinline]] void throw_overflow(std::size_t place) const {
        const std::size_t masks = before_masks(masks_);
        throw overflow(place < masks ? qualified(static_cast<modality>(place / fixed),
                                                 name_of(static_cast<accumulator>(place % fixed)))
                                     : masks_[place - masks].name(),
                       "the sum does not fit 64 bits: count fewer samples");
    }

    [[nodiscard]] friend constexpr bool operator==(const tally_accumulators& a, const tally_accumulators& b) {
        bool same = a.masks_ == b.masks_;
        for (std::size_t i = 0; same && i < 2 * a.stride(); ++i) {
            same = a.accumulators_[i] == b.accumulators_[i];
        }
        return same;
    }

  private:
    mask_set masks_{};
    list<std::uint64_t> accumulators_{};  // accumulators of the useful and the padded view, then memory for the amounts
                                          // that are about to be added to each
};

}  // namespace floptally::detail

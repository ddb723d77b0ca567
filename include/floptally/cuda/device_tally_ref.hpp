// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_checks.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// A `device_tally` as a caller's own kernel sees it.

namespace floptally {

/// A unit that a kernel can add: a `sequence`, a `grid`, an `audio_clip`.
template <class Unit>
concept device_unit = requires(const Unit& unit) {
    detail::modality_of(unit);
};

/// A `device_tally` as a kernel sees it: a value that any thread adds to. The owner must outlive it.
///
/// A sequence that cannot be counted is left out and recorded; reading the owner throws its error. Threads of one block
/// that add much should add to words of the block (`local`), which are merged once. `Rules` is the `rule_list` that its
/// kernels are compiled with.
template <class Rules>
class basic_device_tally_ref {
  public:
    /// The rules that kernels with this value are compiled with.
    using rules = Rules;

    basic_device_tally_ref() = default;
    /// A reference to a tally's schema, to the words of both views in the order of `tally::words`, and to the record of
    /// refusals: all in device memory.
    FLOPTALLY_HOST_DEVICE basic_device_tally_ref(const detail::word_schema* schema, std::uint64_t* words,
                                                 detail::refusal_record* refusals)
        : schema_(schema), words_(words), refusals_(refusals) {}

    /// Adds a sequence, image or clip of sound that fills its slot; a braced list is a sequence. `index` is its number
    /// in an error.
    template <device_unit Unit = sequence>
    FLOPTALLY_HOST_DEVICE void add(const Unit& real, std::uint64_t index = 0) const {
        add(real, real, index);
    }
    /// Adds a unit and the slot that it is padded to; {} for `real` is a mock sequence.
    template <device_unit Unit = sequence>
    FLOPTALLY_HOST_DEVICE void add(const Unit& real, const Unit& slot, std::uint64_t index = 0) const {
        if (!is_valid(real, slot) || !add_words(real, slot)) {
            detail::refuse(refusals_, {detail::refusal_place::own_kernel, index}, real, slot);
        }
    }

    /// Adds visits of tokens to experts, as a router counted them, over all layers: `tally::add_routed`.
    FLOPTALLY_HOST_DEVICE void add_routed(std::uint64_t useful, std::uint64_t padded) const {
        if (padded < useful) {
            detail::refuse(refusals_, {detail::refusal_place::own_kernel, 0}, {detail::refused::routed}, useful,
                           padded);
            return;
        }
        constexpr std::uint32_t word = detail::tally_words::index_of(modality::text, statistic::routed);
        add_to(0, word, useful);
        add_to(1, word, padded);
    }

    /// This tally over the words of a block: `words` points to `size()` words of shared memory. Refusals go to the
    /// owner at once.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE basic_device_tally_ref local(std::uint64_t* words) const {
        basic_device_tally_ref here = *this;
        here.words_ = words;
        return here;
    }
    /// Sets the words to 0, by all threads of a block together: `thread` of `threads`. The block must synchronise
    /// afterwards.
    FLOPTALLY_HOST_DEVICE void clear(std::uint32_t thread, std::uint32_t threads) const {
        for (std::uint32_t word = thread; word < size(); word += threads) {
            words_[word] = 0;
        }
    }
    /// Adds the words of a block, by all of its threads together, after they have synchronised.
    FLOPTALLY_HOST_DEVICE void merge(const basic_device_tally_ref& block, std::uint32_t thread,
                                     std::uint32_t threads) const {
        for (std::uint32_t word = thread; word < size(); word += threads) {
            if (block.words_[word] != 0) {
                add_to(word / schema_->stride(), word % schema_->stride(), block.words_[word]);
            }
        }
    }

    /// The number of words of both views.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return schema_->size(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t* words() const { return words_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE const detail::word_schema& schema() const { return *schema_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE detail::refusal_record* refusals() const { return refusals_; }

    /// Adds to word `word` of a view, 0 useful or 1 padded.
    FLOPTALLY_HOST_DEVICE void add_to(std::uint32_t seen, std::uint32_t word, uint128 amount) const {
        const auto low = static_cast<std::uint64_t>(amount);
        if (amount != low || (low != 0 && detail::add_overflows(words_ + seen * schema_->stride() + word, low))) {
            detail::atomic_or(&refusals_->overflowed[seen], std::uint64_t{1} << word);
        }
    }

    /// Adds a unit to its words from `first` on, to each or to one in `step`; false where a rule cannot count it.
    template <device_unit Unit>
    FLOPTALLY_HOST_DEVICE bool add_words(const Unit& real, const Unit& slot, std::uint32_t first = 0,
                                         std::uint32_t step = 1) const {
        return detail::take_amounts<Rules>(
            *schema_, real, slot,
            [&](std::uint32_t /*column*/, std::uint32_t seen, std::uint32_t word, uint128 sum) {
                add_to(seen, word, sum);
            },
            first, step);
    }

    /// True where a tally of the host would accept the unit and its slot, were it not for its rules.
    template <device_unit Unit>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_valid(const Unit& real, const Unit& slot) const {
        if (!schema_->has_tower(detail::modality_of(real))) {
            return false;
        }
        if constexpr (std::is_same_v<Unit, audio_clip>) {
            return slot.frames >= real.frames;
        } else if constexpr (std::is_same_v<Unit, grid>) {
            return !detail::has_too_large_a_frame(real) && !detail::has_too_large_a_frame(slot) &&
                   detail::has_room(real, slot);
        } else {
            return detail::is_valid(real) && detail::is_valid(slot) && detail::has_room(real, slot);
        }
    }

  private:
    const detail::word_schema* schema_ = nullptr;
    std::uint64_t* words_ = nullptr;
    detail::refusal_record* refusals_ = nullptr;
};

/// The rules that kernels have by default: windows, beside the moments. Other masks have so much code that a caller's
/// own kernel names them: `basic_device_tally_ref<library_rules>`.
using window_rules = rule_list<mask_rules::band>;

/// The reference to a device tally whose masks are windows.
using device_tally_ref = basic_device_tally_ref<window_rules>;

/// The amount that a rule counts of a sample, computed in a kernel: `rule::amount` for a device, which cannot call
/// through the rule's own functions of the host and so knows only the structs of its list. Returns false and leaves
/// `amount` unchanged where the list lacks the rule's struct or the struct counts no such sample: a device cannot
/// throw.
///
///     floptally::uint128 pairs = 0;
///     if (floptally::device_amount<floptally::library_rules::with<dilated_window>>(attends, sample, pairs)) { … }
template <class Rules = library_rules, class Sample>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool device_amount(const rule& what, const Sample& sample,
                                                                 uint128& amount) {
    static_assert(detail::numbers_differ(Rules{}),
                  "two rules of the list have the same name, or names of the same number: rename your own");
    bool counted = false;
    detail::with_struct_of(
        what, Rules{}, [&]<class Rule>(const Rule& made) { counted = detail::amount_of_rule(made, sample, amount); });
    return counted;
}

}  // namespace floptally

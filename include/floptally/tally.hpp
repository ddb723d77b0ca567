// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <floptally/checked.hpp>
#include <floptally/detail/attention_mask.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>

namespace floptally {

/// `num_real_seqs` of a batch without mock sequences.
inline constexpr std::size_t all_sequences = std::numeric_limits<std::size_t>::max();

/// Exact sums over sequences: the row of integer statistics that a batch is.
///
/// It knows no hidden size, so it adds up over microbatches, ranks and time in any order, bit for bit. Build it with
/// the masks of the model (`tally{model.masks()}`); masks that follow from the fixed statistics need no word.
/// Everything is O(1) in memory. An error leaves the tally as it was.
class tally {
  public:
    static constexpr std::size_t fixed_words = detail::tally_words::fixed;

    constexpr tally() = default;

    constexpr explicit tally(const mask_set& masks) : words_(masks) {}

    /// One sequence that fills its slot.
    constexpr void add(const sequence& real) { add(real, real); }

    /// One sequence and the slot that it is padded to; {} for `real` is a mock sequence.
    constexpr void add(const sequence& real, const sequence& slot) {
        check(real);
        check(slot);
        require_room("length", real.length, slot.length);
        require_room("past", real.past, slot.past);
        require_room("keys", real.keys, slot.keys);
        words_.commit(amounts_of(real, 1), amounts_of(slot, 1));
    }

    /// One image or clip: t frames of h·w patches, each attending within itself.
    constexpr void add(const grid& patches) {
        if (patches.frame_patches() > max_sequence_length) {
            throw error("grid", "a frame of " + std::to_string(patches.h) + " x " + std::to_string(patches.w) +
                                    " patches is above " + std::to_string(max_sequence_length));
        }
        const amounts frames = amounts_of({static_cast<std::uint32_t>(patches.frame_patches())}, patches.t);
        words_.commit(frames, frames);
    }

    /// Lengths of sequences, in tokens: any contiguous range of 32- or 64-bit integers, which errors call `field`.
    template <detail::integer_range Lengths>
    constexpr void add_lengths(const Lengths& lengths, std::string_view field = "lengths") {
        const std::span view_of{lengths};
        const detail::length_sums sums = detail::sum_lengths(view_of.data(), view_of.size(), masks(), field);
        words_.commit(sums, sums);
    }

    /// A BSHD batch: one row for each length, all of them padded to `row_length`. A row of no token is a mock sequence.
    template <detail::integer_range Lengths>
    constexpr void add_padded(const Lengths& lengths, std::uint64_t row_length, std::string_view field = "lengths") {
        const std::span view_of{lengths};
        const detail::length_sums useful = detail::sum_lengths(view_of.data(), view_of.size(), masks(), field);
        if (row_length > max_sequence_length) {
            throw error("row_length", "must be at most " + std::to_string(max_sequence_length) + ", got " +
                                          std::to_string(row_length));
        }
        for (std::size_t i = 0; i < view_of.size(); ++i) {
            if (std::cmp_greater(view_of[i], row_length)) {
                throw error(indexed(field, i), "must be at most the row_length, " + std::to_string(row_length) +
                                                   ", got " + std::to_string(view_of[i]));
            }
        }
        words_.commit(useful, amounts_of({static_cast<std::uint32_t>(row_length)}, view_of.size()));
    }

    /// A BSHD batch by its attention mask, `rows` x `columns` flags row by row: its ones are useful, its shape is
    /// padded. The ones of a row stand together, with padding on either side.
    template <detail::flag_range Flags>
    constexpr void add_attention_mask(const Flags& attention_mask, std::size_t rows, std::size_t columns) {
        const std::span flags{attention_mask};
        const detail::attention_mask_rows<typename decltype(flags)::value_type> batch{flags.data(), flags.size(), rows,
                                                                                      columns};
        tally sum{masks()};
        for (std::size_t row = 0; row < rows; ++row) {
            sum.add({.length = batch.length(row)}, {.length = static_cast<std::uint32_t>(columns)});
        }
        *this += sum;
    }

    /// Both sides of an encoder-decoder: the lengths of its decoder and, one for each, of its encoder.
    template <detail::integer_range Lengths, detail::integer_range Keys>
    constexpr void add_encoder_decoder(const Lengths& lengths, const Keys& encoder_lengths,
                                       std::string_view field = "lengths") {
        const std::span own{lengths};
        const std::span other{encoder_lengths};
        if (own.size() != other.size()) {
            throw error("encoder_lengths", "must be as many as " + std::string(field) + " (" +
                                               std::to_string(own.size()) + "), got " + std::to_string(other.size()));
        }
        const detail::given_lengths<typename decltype(own)::value_type> decoder{own.data(), field};
        const detail::given_lengths<typename decltype(other)::value_type> encoder{other.data(), "encoder_lengths"};
        tally sum{masks()};
        for (std::size_t i = 0; i < own.size(); ++i) {
            sum.add(sequence{.length = decoder.checked(i), .keys = encoder.checked(i)});
        }
        *this += sum;
    }

    /// Boundaries of a packed row: 0, L₁, L₁+L₂, … Repeated boundaries are empty sequences and count nothing.
    template <detail::integer_range Boundaries>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens) {
        const std::span view_of{cu_seqlens};
        const detail::length_sums sums = detail::sum_cu_seqlens(view_of.data(), view_of.size(), masks(), "cu_seqlens");
        words_.commit(sums, sums);
    }

    /// Boundaries of the real sequences and of the slots that kernels process; the sequences from `num_real_seqs` on
    /// are mock sequences: padded, not useful. Without slots of their own pass `cu_seqlens` twice.
    template <detail::integer_range Boundaries, detail::integer_range Slots>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens, const Slots& cu_seqlens_padded,
                                  std::size_t num_real_seqs = all_sequences) {
        const std::span real{cu_seqlens};
        const std::span slots{cu_seqlens_padded};
        // Validates every boundary, also those of mock sequences, and before the slots, which may be the same.
        detail::length_sums useful = detail::sum_cu_seqlens(real.data(), real.size(), masks(), "cu_seqlens");
        const detail::length_sums padded =
            detail::sum_cu_seqlens(slots.data(), slots.size(), masks(), "cu_seqlens_padded");
        if (real.size() != slots.size()) {
            throw error("cu_seqlens_padded", "has " + std::to_string(slots.size()) + " boundaries, cu_seqlens has " +
                                                 std::to_string(real.size()));
        }
        const std::size_t sequences = real.size() - 1;
        const std::size_t real_sequences = num_real_seqs == all_sequences ? sequences : num_real_seqs;
        if (real_sequences > sequences) {
            throw error("num_real_seqs", "must be at most the " + std::to_string(sequences) +
                                             " sequences of cu_seqlens, got " + std::to_string(num_real_seqs));
        }
        for (std::size_t i = 0; i < real_sequences; ++i) {
            const auto length = static_cast<std::uint64_t>(real[i + 1] - real[i]);
            const auto slot = static_cast<std::uint64_t>(slots[i + 1] - slots[i]);
            if (slot < length) {
                throw error(
                    indexed("cu_seqlens_padded", i + 1),
                    "leaves a slot of " + std::to_string(slot) + " tokens for a sequence of " + std::to_string(length));
            }
        }
        if (real_sequences < sequences) {
            useful = detail::sum_cu_seqlens(real.data(), real_sequences + 1, masks(), "cu_seqlens");
        }
        words_.commit(useful, padded);
    }

    /// Visits of tokens to experts, summed over all MoE layers, as a router counted them: for a `moe` that has
    /// `routed_is_measured`. `padded` are those that kernels ran, capacity slots included.
    constexpr void add_routed(std::uint64_t useful, std::uint64_t padded) {
        if (padded < useful) {
            throw error("routed", std::to_string(padded) + " padded visits are fewer than " + std::to_string(useful));
        }
        const auto visits = [&](std::uint64_t number) {
            amounts added;
            for (std::size_t word = 0; word <= static_cast<std::size_t>(statistic::routed); ++word) {
                added.push_back(word == static_cast<std::size_t>(statistic::routed) ? number : 0, "words");
            }
            return added;
        };
        words_.commit(visits(useful), visits(padded));
    }

    /// Adds another tally of the same masks in the same order.
    constexpr tally& operator+=(const tally& other) {
        if (!(masks() == other.masks())) {
            throw error("masks", "two tallies of different masks cannot be added");
        }
        words_.commit(other.amounts_of(view::useful), other.amounts_of(view::padded));
        return *this;
    }

    /// One of the fixed statistics; pairs are asked for by their mask.
    [[nodiscard]] constexpr std::uint64_t get(view seen, statistic what) const {
        if (what == statistic::pairs) {
            throw error("statistic", "pairs belong to a mask: use pairs(view, mask)");
        }
        return words_[words_.offset(seen) + static_cast<std::size_t>(what)];
    }

    /// Σ attended pairs of a mask: a polynomial one, or one that this tally was built with.
    [[nodiscard]] constexpr std::uint64_t pairs(view seen, const mask& which) const {
        const std::uint64_t squares = get(seen, statistic::squares);
        const std::uint64_t cached = get(seen, statistic::cached);
        if (which.kind() == mask_kind::cross_attention) {
            return get(seen, statistic::crossed);
        }
        if (which == mask::bidirectional()) {
            return checked_add(squares, cached, "pairs");
        }
        if (which.is_polynomial()) {
            const auto triangles = static_cast<std::uint64_t>((uint128{squares} + get(seen, statistic::tokens)) / 2);
            return checked_add(triangles, cached, "pairs");
        }
        const std::size_t index = masks().find(which);
        if (index == masks().size()) {
            throw error("masks", "this tally keeps no pairs of " + which.name() +
                                     ": build it with the masks() of the cost that is evaluated");
        }
        return words_[words_.offset(seen) + fixed_words + index];
    }

    /// The masks that have a word of their own.
    [[nodiscard]] constexpr const mask_set& masks() const { return words_.masks(); }

    /// All words, useful then padded, each `fixed_words + masks().size()`: what a SUM all-reduce takes.
    [[nodiscard]] constexpr std::span<const std::uint64_t> words() const {
        return {words_.data(), 2 * words_.stride()};
    }

    /// The tally whose `words()` were summed elsewhere.
    [[nodiscard]] static constexpr tally from_words(const mask_set& masks, std::span<const std::uint64_t> words) {
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

    [[nodiscard]] friend constexpr bool operator==(const tally&, const tally&) = default;

  private:
    using amounts = detail::tally_words::amounts;

    static constexpr void require_room(const char* field, std::uint32_t real, std::uint32_t slot) {
        if (slot < real) {
            throw error(field, "a slot of " + std::to_string(slot) + " has no room for " + std::to_string(real));
        }
    }

    static constexpr void check(const sequence& s) {
        if (std::uint64_t{s.past} + s.length > max_sequence_length) {
            throw error("past", "past + length must be at most " + std::to_string(max_sequence_length) + ", got " +
                                    std::to_string(s.past) + " + " + std::to_string(s.length));
        }
    }

    [[nodiscard]] constexpr amounts amounts_of(const sequence& s, std::uint64_t times) const {
        const std::uint64_t n = s.length;
        amounts added;
        const auto append = [&](std::uint64_t amount) {
            const uint128 product = uint128{times} * amount;
            if ((product >> 64) != 0) {
                words_.throw_overflow(added.size());
            }
            added.push_back(static_cast<std::uint64_t>(product), "words");
        };
        for (const std::uint64_t amount :
             {std::uint64_t{n != 0}, n, std::uint64_t{s.keys}, n * n, n * s.past, n * s.keys, std::uint64_t{0}}) {
            append(amount);
        }
        for (const mask& m : masks()) {
            append(m.pairs(s));
        }
        return added;
    }

    [[nodiscard]] constexpr amounts amounts_of(view seen) const {
        amounts added;
        for (std::size_t word = 0; word < words_.stride(); ++word) {
            added.push_back(words_[words_.offset(seen) + word], "words");
        }
        return added;
    }

    detail::tally_words words_;
};

}  // namespace floptally

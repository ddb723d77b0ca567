// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/attention_mask.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/detail/modality_checks.hpp>
#include <floptally/detail/sequence_checks.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
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
        detail::require_room(real, slot);
        words_.commit(words_.amounts_of(real, 1), words_.amounts_of(slot, 1));
    }

    /// One image or clip: t frames of h·w patches, in the vision tower.
    template <std::same_as<grid> Grid>  // so that braces stay a sequence, here and below
    constexpr void add(const Grid& patches) {
        add(patches, patches);
    }

    /// One image or clip and the slot that it is padded to; {} for `real` is all padding.
    template <std::same_as<grid> Grid>
    constexpr void add(const Grid& real, const Grid& slot) {
        detail::check_grid(real, masks());
        detail::check_grid(slot, masks());
        detail::require_room(real, slot);
        words_.commit(words_.amounts_of(real), words_.amounts_of(slot));
    }

    /// One clip of sound, in the audio tower.
    template <std::same_as<audio_clip> Clip>
    constexpr void add(const Clip& frames) {
        add(frames, frames);
    }

    /// One clip of sound and the slot that it is padded to.
    template <std::same_as<audio_clip> Clip>
    constexpr void add(const Clip& real, const Clip& slot) {
        detail::require_modality(masks(), modality::audio, "audio_frames");
        detail::require_room("audio_frames", real.frames, slot.frames);
        words_.commit(words_.amounts_of(real), words_.amounts_of(slot));
    }

    /// Grids of images and clips, three numbers (t, h, w) for each, as `image_grid_thw` has them.
    template <detail::integer_range Numbers>
    constexpr void add_grid_thw(const Numbers& grid_thw) {
        const std::span view_of{grid_thw};
        if (view_of.size() % 3 != 0) {
            throw error("grid_thw", "must have three numbers for each grid, got " + std::to_string(view_of.size()));
        }
        const detail::given_lengths<typename decltype(view_of)::value_type> numbers{view_of.data(), "grid_thw"};
        tally sum{masks()};
        for (std::size_t i = 0; i < view_of.size(); i += 3) {
            sum.add(grid{numbers.checked(i), numbers.checked(i + 1), numbers.checked(i + 2)});
        }
        *this += sum;
    }

    /// Clips of sound by their frames.
    template <detail::integer_range Frames>
    constexpr void add_audio_frames(const Frames& audio_frames) {
        const std::span view_of{audio_frames};
        const detail::given_lengths<typename decltype(view_of)::value_type> frames{view_of.data(), "audio_frames"};
        tally sum{masks()};
        for (std::size_t i = 0; i < view_of.size(); ++i) {
            sum.add(audio_clip{frames.checked(i)});
        }
        *this += sum;
    }

    /// Lengths of sequences, in tokens: any contiguous range of 32- or 64-bit integers, which errors call `field`.
    template <detail::integer_range Lengths>
    constexpr void add_lengths(const Lengths& lengths, std::string_view field = "lengths") {
        const std::span view_of{lengths};
        const detail::length_sums sums = detail::sum_lengths(view_of.data(), view_of.size(), text_masks(), field);
        words_.commit(sums, sums);
    }

    /// A BSHD batch: one row for each length, all of them padded to `row_length`. A row of no token is a mock sequence.
    template <detail::integer_range Lengths>
    constexpr void add_padded(const Lengths& lengths, std::uint64_t row_length, std::string_view field = "lengths") {
        const std::span view_of{lengths};
        const detail::length_sums useful = detail::sum_lengths(view_of.data(), view_of.size(), text_masks(), field);
        detail::require_row_length(row_length);
        for (std::size_t i = 0; i < view_of.size(); ++i) {
            detail::require_in_row(field, i, static_cast<std::uint64_t>(view_of[i]), row_length);
        }
        const sequence row{static_cast<std::uint32_t>(row_length)};
        words_.commit(useful, words_.amounts_of(row, view_of.size()));
    }

    /// A BSHD batch without padding: `rows` sequences of `columns` tokens.
    constexpr void add_shape(std::uint64_t rows, std::uint64_t columns) {
        detail::require_row_length(columns);
        check({static_cast<std::uint32_t>(columns)});
        const auto shape = words_.amounts_of(sequence{static_cast<std::uint32_t>(columns)}, rows);
        words_.commit(shape, shape);
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
        require_as_many(own.size(), field, other.size(), "encoder_lengths");
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
        const detail::length_sums sums =
            detail::sum_cu_seqlens(view_of.data(), view_of.size(), text_masks(), "cu_seqlens");
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
        detail::length_sums useful = detail::sum_cu_seqlens(real.data(), real.size(), text_masks(), "cu_seqlens");
        const detail::length_sums padded =
            detail::sum_cu_seqlens(slots.data(), slots.size(), text_masks(), "cu_seqlens_padded");
        if (real.size() != slots.size()) {
            throw error("cu_seqlens_padded", "has " + std::to_string(slots.size()) + " boundaries, cu_seqlens has " +
                                                 std::to_string(real.size()));
        }
        const std::size_t sequences = real.size() - 1;
        const std::size_t real_sequences = num_real_seqs == all_sequences ? sequences : num_real_seqs;
        if (real_sequences > sequences) {
            detail::refuse_real_sequences(num_real_seqs, sequences);
        }
        detail::require_room(real.data(), slots.data(), real_sequences);
        if (real_sequences < sequences) {
            useful = detail::sum_cu_seqlens(real.data(), real_sequences + 1, text_masks(), "cu_seqlens");
        }
        words_.commit(useful, padded);
    }

    /// Visits of tokens to experts, summed over all MoE layers, as a router counted them: for a `moe` that has
    /// `routed_is_measured`. `padded` are those that kernels ran, capacity slots included.
    constexpr void add_routed(std::uint64_t useful, std::uint64_t padded) {
        if (padded < useful) {
            throw error("routed", std::to_string(padded) + " padded visits are fewer than " + std::to_string(useful));
        }
        words_.commit(words_.amounts_of(statistic::routed, useful), words_.amounts_of(statistic::routed, padded));
    }

    /// Adds another tally of the same masks in the same order.
    constexpr tally& operator+=(const tally& other) {
        if (!(masks() == other.masks())) {
            throw error("masks", "two tallies of different masks cannot be added");
        }
        words_.commit(other.words_.amounts_of(view::useful), other.words_.amounts_of(view::padded));
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

    /// Σ attended pairs of a mask: a polynomial one, or one that this tally was built with.
    [[nodiscard]] constexpr std::uint64_t pairs(view seen, const mask& which) const {
        const std::uint64_t squares = get(seen, statistic::squares, which.in());
        const std::uint64_t cached = get(seen, statistic::cached, which.in());
        if (which.kind() == mask_kind::cross_attention) {
            return get(seen, statistic::crossed, which.in());
        }
        if (which == mask::bidirectional().in(which.in())) {
            return checked_add(squares, cached, "pairs");
        }
        if (which.is_polynomial()) {
            const std::uint64_t tokens = get(seen, statistic::tokens, which.in());
            return checked_add(static_cast<std::uint64_t>((uint128{squares} + tokens) / 2), cached, "pairs");
        }
        const std::size_t index = masks().find(which);
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
    /// The masks, where a text can be added.
    [[nodiscard]] constexpr const mask_set& text_masks() const {
        detail::require_modality(masks(), modality::text, "lengths");
        return masks();
    }

    constexpr void check(const sequence& s) const {
        detail::require_modality(masks(), modality::text, "length");
        detail::check_sequence(s);
    }

    detail::tally_words words_;
};

}  // namespace floptally

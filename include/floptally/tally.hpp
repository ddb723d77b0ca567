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
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

/// `num_real_seqs` of a batch without mock sequences.
inline constexpr std::size_t all_sequences = std::numeric_limits<std::size_t>::max();

/// Exact sums over sequences: the row of integer statistics that a batch is.
///
/// It knows no hidden size, so it adds up over microbatches, ranks and time in any order, bit for bit. Build it with
/// the masks of the model (`tally{model.masks()}`); masks that follow from the fixed statistics need no word.
/// Its memory is allocated when it is made, not when it is added to. An error leaves the tally as it was; one that was
/// moved from can be assigned to, and nothing else.
class tally {
  private:  // first, since clang evaluates templates in constant expressions only where they stand above their use
    template <class Unit>
    constexpr void check(const Unit& real, const Unit& slot) const {
        check(real);
        check(slot);
        detail::require_room(real, slot);
    }
    template <class Unit>
    constexpr void add_unit(const Unit& real, const Unit& slot) {
        check(real, slot);
        words_.commit(words_.amounts_of(view::useful, real), words_.amounts_of(view::padded, slot));
    }

    /// One of many that `words_.commit()` adds together.
    template <class Unit>
    constexpr void gather(const Unit& real, const Unit& slot) {
        check(real, slot);
        words_.gather(real, slot);
    }
    template <class Unit>
    constexpr void gather(const Unit& real) {
        gather(real, real);
    }

  public:
    static constexpr std::size_t fixed_words = detail::tally_words::fixed;

    constexpr tally() = default;

    constexpr explicit tally(const mask_set& masks) : words_(masks) {}

    /// One sequence that fills its slot.
    constexpr void add(const sequence& real) { add(real, real); }

    /// One sequence and the slot that it is padded to; {} for `real` is a mock sequence.
    constexpr void add(const sequence& real, const sequence& slot) { add_unit(real, slot); }

    /// One image or clip: t frames of h·w patches, in the vision tower.
    template <std::same_as<grid> Grid>  // so that braces stay a sequence, here and below
    constexpr void add(const Grid& patches) {
        add(patches, patches);
    }

    /// One image or clip and the slot that it is padded to; {} for `real` is all padding.
    template <std::same_as<grid> Grid>
    constexpr void add(const Grid& real, const Grid& slot) {
        add_unit(real, slot);
    }

    /// One clip of sound, in the audio tower.
    template <std::same_as<audio_clip> Clip>
    constexpr void add(const Clip& frames) {
        add(frames, frames);
    }

    /// One clip of sound and the slot that it is padded to.
    template <std::same_as<audio_clip> Clip>
    constexpr void add(const Clip& real, const Clip& slot) {
        add_unit(real, slot);
    }

    /// Grids of images and clips, three numbers (t, h, w) for each, as `image_grid_thw` has them.
    template <detail::integer_range Numbers>
    constexpr void add_grid_thw(const Numbers& grid_thw) {
        const std::span view_of{grid_thw};
        if (view_of.size() % 3 != 0) {
            throw error("grid_thw", "must have three numbers for each grid, got " + std::to_string(view_of.size()));
        }
        const detail::given_lengths<typename decltype(view_of)::value_type> numbers{view_of.data(), "grid_thw"};
        words_.begin();
        for (std::size_t i = 0; i < view_of.size(); i += 3) {
            gather(grid{numbers.checked(i), numbers.checked(i + 1), numbers.checked(i + 2)});
        }
        words_.commit();
    }

    /// Clips of sound by their frames.
    template <detail::integer_range Frames>
    constexpr void add_audio_frames(const Frames& audio_frames) {
        const std::span view_of{audio_frames};
        const detail::given_lengths<typename decltype(view_of)::value_type> frames{view_of.data(), "audio_frames"};
        words_.begin();
        for (std::size_t i = 0; i < view_of.size(); ++i) {
            gather(audio_clip{frames.checked(i)});
        }
        words_.commit();
    }

    /// Lengths of sequences, in tokens: any contiguous range of 32- or 64-bit integers, which errors call `field`.
    template <detail::integer_range Lengths>
    constexpr void add_lengths(const Lengths& lengths, std::string_view field = "lengths") {
        const std::span view_of{lengths};
        const detail::length_sums sums =
            detail::sum_lengths(view_of.data(), view_of.size(), text_masks(), field, words_.sums_of(view::useful));
        words_.commit(sums, sums);
    }

    /// A BSHD batch: one row for each length, all of them padded to `row_length`. A row of no token is a mock sequence.
    template <detail::integer_range Lengths>
    constexpr void add_padded(const Lengths& lengths, std::uint64_t row_length, std::string_view field = "lengths") {
        const std::span view_of{lengths};
        const detail::length_sums useful =
            detail::sum_lengths(view_of.data(), view_of.size(), text_masks(), field, words_.sums_of(view::useful));
        detail::require_row_length(row_length);
        for (std::size_t i = 0; i < view_of.size(); ++i) {
            detail::require_in_row(field, i, static_cast<std::uint64_t>(view_of[i]), row_length);
        }
        const sequence row{static_cast<std::uint32_t>(row_length)};
        words_.commit(useful, words_.amounts_of(view::padded, row, view_of.size()));
    }

    /// A BSHD batch without padding: `rows` sequences of `columns` tokens.
    constexpr void add_shape(std::uint64_t rows, std::uint64_t columns) {
        detail::require_row_length(columns);
        check(sequence{static_cast<std::uint32_t>(columns)});
        const auto shape = words_.amounts_of(view::useful, sequence{static_cast<std::uint32_t>(columns)}, rows);
        words_.commit(shape, shape);
    }

    /// A BSHD batch by its attention mask, `rows` x `columns` flags row by row: its ones are useful, its shape is
    /// padded. The ones of a row stand together, with padding on either side.
    template <detail::flag_range Flags>
    constexpr void add_attention_mask(const Flags& attention_mask, std::size_t rows, std::size_t columns) {
        const std::span flags{attention_mask};
        const detail::attention_mask_rows<typename decltype(flags)::value_type> batch{flags.data(), flags.size(), rows,
                                                                                      columns};
        words_.begin();
        for (std::size_t row = 0; row < rows; ++row) {
            gather(sequence{.length = batch.length(row)}, sequence{.length = static_cast<std::uint32_t>(columns)});
        }
        words_.commit();
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
        words_.begin();
        for (std::size_t i = 0; i < own.size(); ++i) {
            gather(sequence{.length = decoder.checked(i), .keys = encoder.checked(i)});
        }
        words_.commit();
    }

    /// Boundaries of a packed row: 0, L₁, L₁+L₂, … Repeated boundaries are empty sequences and count nothing.
    template <detail::integer_range Boundaries>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens) {
        const std::span view_of{cu_seqlens};
        const detail::length_sums sums = detail::sum_cu_seqlens(view_of.data(), view_of.size(), text_masks(),
                                                                "cu_seqlens", words_.sums_of(view::useful));
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
        detail::length_sums useful =
            detail::sum_cu_seqlens(real.data(), real.size(), text_masks(), "cu_seqlens", words_.sums_of(view::useful));
        const detail::length_sums padded = detail::sum_cu_seqlens(slots.data(), slots.size(), text_masks(),
                                                                  "cu_seqlens_padded", words_.sums_of(view::padded));
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
            useful = detail::sum_cu_seqlens(real.data(), real_sequences + 1, text_masks(), "cu_seqlens",
                                            words_.sums_of(view::useful));
        }
        words_.commit(useful, padded);
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
        const std::size_t index = masks().find(word);
        if (index == masks().size()) {
            throw error(name, "this tally has no such word: build it with masks() that have measured(\"" +
                                  std::string(name) + "\")");
        }
        const std::size_t at = detail::tally_words::before_masks(masks()) + index;
        words_.commit(words_.amounts_of_word(view::useful, at, useful), words_.amounts_of_word(view::padded, at, padded));
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

    /// Counts nothing again, in the memory that it has.
    constexpr void clear() { words_.clear(); }

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
    constexpr void check(const grid& g) const { detail::check_grid(g, masks()); }
    constexpr void check(const audio_clip& /*unused*/) const {
        detail::require_modality(masks(), modality::audio, "audio_frames");
    }

    detail::tally_words words_;
};

}  // namespace floptally

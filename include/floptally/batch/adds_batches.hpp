// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/batch/attention_mask.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/lengths.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/batch/tower_inputs.hpp>

/// @file
/// The short calls of everything that a batch can be added to, such as `add_cu_seqlens`.

namespace floptally {

/// The short calls of everything that a batch can be added to: each is `add` of a source by its own name. A receiver
/// derives from this (`class tally : public adds_batches<tally>`) and has `add(source)`, which leaves it as it was
/// where that throws.
template <class Receiver>
class adds_batches {
  public:
    /// Adds sequences by their lengths, in tokens: any contiguous range of 32- or 64-bit integers, which errors call
    /// `field`.
    template <detail::integer_range Lengths>
    constexpr void add_lengths(const Lengths& lengths, std::string_view field = "lengths") {
        self().add(sequence_lengths(lengths, field));
    }

    /// Adds a BSHD batch: one row for each length, all of them padded to `row_length`. A row without a token is a mock
    /// sequence.
    template <detail::integer_range Lengths>
    constexpr void add_padded(const Lengths& lengths, std::uint64_t row_length, std::string_view field = "lengths") {
        self().add(padded_rows(lengths, row_length, field));
    }

    /// Adds a BSHD batch without padding: `rows` sequences of `columns` tokens.
    constexpr void add_shape(std::uint64_t rows, std::uint64_t columns) { self().add(full_rows(rows, columns)); }

    /// Adds a BSHD batch by its attention mask, `rows` x `columns` flags row by row: its ones are useful, its shape is
    /// padded. The ones of a row stand together, with padding on either side.
    template <detail::flag_range Flags>
    constexpr void add_attention_mask(const Flags& attention_mask, std::size_t rows, std::size_t columns) {
        self().add(attention_mask_rows(attention_mask, rows, columns));
    }

    /// Adds both sides of an encoder-decoder: the lengths of its decoder and, one for each, of its encoder.
    template <detail::integer_range Lengths, detail::integer_range Keys>
    constexpr void add_encoder_decoder(const Lengths& lengths, const Keys& encoder_lengths,
                                       std::string_view field = "lengths") {
        self().add(encoder_decoder_lengths(lengths, encoder_lengths, field));
    }

    /// Adds new tokens after cached ones: lengths and, one for each, the tokens before them.
    template <detail::integer_range Lengths, detail::integer_range Past>
    constexpr void add_new_tokens(const Lengths& lengths, const Past& past) {
        self().add(cached_lengths(lengths, past));
    }

    /// Adds samples of HSTU: their total lengths, and the contextual tokens and targets among them; targets are in
    /// groups of `target_group`. An empty list is all zeros.
    template <detail::integer_range Lengths, detail::integer_range Contextual, detail::integer_range Targets>
    constexpr void add_hstu(const Lengths& lengths, const Contextual& contextual, const Targets& targets,
                            std::uint32_t target_group = 1) {
        self().add(hstu_lengths(lengths, contextual, targets, target_group));
    }

    /// Adds a packed row by its boundaries 0, L₁, L₁+L₂, … Repeated boundaries are empty sequences and count nothing.
    template <detail::integer_range Boundaries>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens) {
        self().add(packed_sequences(cu_seqlens));
    }

    /// Adds a packed row by the boundaries of its sequences and of the slots that kernels process. The sequences from
    /// `num_real_seqs` on are mock sequences: padded, not useful. Where there are no slots of their own pass
    /// `cu_seqlens` twice.
    template <detail::integer_range Boundaries, detail::integer_range Slots>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens, const Slots& cu_seqlens_padded,
                                  std::size_t num_real_seqs = all_sequences) {
        self().add(packed_slots(cu_seqlens, cu_seqlens_padded, num_real_seqs));
    }

    /// Adds a packed row by the boundaries of its real sequences and of all slots, which may be more: the slots after
    /// the real sequences are mock sequences. Errors call the slots `slots_field`.
    template <detail::integer_range Boundaries, detail::integer_range Slots>
    constexpr void add_packed(const Boundaries& cu_seqlens_real, const Slots& slots,
                              std::string_view slots_field = "cu_seqlens") {
        self().add(packed_real(cu_seqlens_real, slots, slots_field));
    }

    /// Adds images and clips by their grids, three numbers (t, h, w) for each, as `image_grid_thw` has them.
    template <detail::integer_range Numbers>
    constexpr void add_grid_thw(const Numbers& grid_thw) {
        self().add(listed_grids(grid_thw));
    }

    /// Adds the samples of a diffusion model: grids of latents, three numbers (t, h, w) for each, and the tokens of the
    /// text of each.
    template <detail::integer_range Numbers, detail::integer_range Texts>
    constexpr void add_grids_with_text(const Numbers& grid_thw, const Texts& encoder_lengths) {
        self().add(listed_grids_with_text(grid_thw, encoder_lengths));
    }

    /// Adds clips of sound by their frames.
    template <detail::integer_range Frames>
    constexpr void add_audio_frames(const Frames& audio_frames) {
        self().add(listed_clips(audio_frames));
    }

    [[nodiscard]] friend constexpr bool operator==(const adds_batches&, const adds_batches&) = default;

  private:
    friend Receiver;
    constexpr adds_batches() = default;

    [[nodiscard]] constexpr Receiver& self() { return static_cast<Receiver&>(*this); }
};

}  // namespace floptally

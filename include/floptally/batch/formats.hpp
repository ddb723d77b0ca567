// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The formats of a batch, each as a source (source.hpp): lengths and BSHD rows, boundaries of packed sequences,
/// attention masks, grids of images and audio clips. A list of numbers is any contiguous range of 32- or 64-bit
/// integers. `adds_batches` has the short calls that add them, such as `add_cu_seqlens`.

namespace floptally::inline v0_3 {

/// A batch source: sequences without padding, by their lengths. A length of 0 adds nothing.
template <integer T>
class sequence_lengths {
  public:
    using sample = sequence;

    constexpr sequence_lengths(std::span<const T> lengths) : lengths_(lengths) {}  // NOLINT: a view

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::plain_lengths<T> lengths{lengths_.data(), "lengths"};
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            const sequence real{.length = lengths.checked(i)};
            visit(real, real);
        }
    }

    template <class Accumulators>
    [[gnu::always_inline]] constexpr void add_to(Accumulators& accumulators) const {
        accumulators.masks().require(modality::text, "lengths");
        detail::add_filled(detail::plain_lengths<T>{lengths_.data(), "lengths"}, lengths_.size(), accumulators);
    }

  private:
    std::span<const T> lengths_;
};

/// A batch source: BSHD rows, one for each length, padded to `row_length`. A length of 0 is a mock sequence.
template <integer T>
class padded_rows {
  public:
    using sample = sequence;

    constexpr padded_rows(std::span<const T> lengths, std::uint64_t row_length)
        : lengths_(lengths), row_length_(row_length) {}

    template <class Visit>
    constexpr void each(Visit visit) const {
        detail::checking_accumulators accumulators;
        add_to(accumulators);  // This call throws the error if a length is invalid.
        for (const T length : lengths_) {
            visit(sequence{.length = static_cast<std::uint32_t>(length)}, row());
        }
    }

    template <class Accumulators>
    constexpr void add_to(Accumulators& accumulators) const {
        accumulators.masks().require(modality::text, "lengths");
        const detail::plain_lengths<T> lengths{lengths_.data(), "lengths"};
        const detail::borrowed_sums useful =
            detail::sums_of(lengths, lengths_.size(), accumulators.space(), view::useful);
        detail::require_row_length(row_length_);
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            detail::require_in_row("lengths", i, static_cast<std::uint64_t>(lengths_[i]), row_length_);
        }
        accumulators.commit(useful, accumulators.amounts_of(view::padded, row(), lengths_.size()));
    }

  private:
    [[nodiscard]] constexpr sequence row() const { return {.length = static_cast<std::uint32_t>(row_length_)}; }

    std::span<const T> lengths_;
    std::uint64_t row_length_;
};

/// Returns a BSHD batch without padding: `shape.rows` sequences of `shape.columns` tokens.
[[nodiscard]] constexpr equal_samples<sequence> full_rows(const batch_shape& shape) {
    detail::require_row_length(shape.columns);
    return {sequence{.length = static_cast<std::uint32_t>(shape.columns)}, shape.rows};
}

/// A list with one number for each sequence, such as its cached tokens (`past`). `field` is the name of the list in
/// errors. If `may_be_left_out` is true, an empty list stands for zeros.
template <integer P>
struct listed_part {
    std::span<const P> numbers{};
    std::uint32_t sequence::*member = nullptr;  ///< the member of `sequence` that is set to the number
    const char* field = nullptr;
    bool may_be_left_out = false;
};

/// A batch source: the lengths of sequences, and one or two lists with another number for each sequence.
template <integer T, integer P>
class lengths_and_parts {
  public:
    using sample = sequence;
    using part = listed_part<P>;

    constexpr lengths_and_parts(std::span<const T> lengths, const part& first, const part& second = {},
                                std::uint32_t target_group = 0)
        : lengths_(lengths), parts_{checked(first), checked(second)}, target_group_(target_group) {}

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::plain_lengths<T> lengths{lengths_.data(), "lengths"};
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            sequence real{.length = lengths.checked(i), .target_group = target_group_};
            for (const part& list : parts_) {
                if (list.member != nullptr) {
                    real.*list.member = detail::plain_lengths<P>{list.numbers.data(), list.field}.checked(i);
                }
            }
            visit(real, real);
        }
    }

    [[nodiscard]] constexpr std::span<const T> lengths() const { return lengths_; }
    [[nodiscard]] constexpr std::span<const part> parts() const { return parts_; }

  private:
    [[nodiscard]] constexpr part checked(part list) const {
        if (list.numbers.empty() && list.may_be_left_out) {
            return {};
        }
        if (list.member != nullptr) {
            require_as_many(lengths_.size(), "lengths", list.numbers.size(), list.field);
        }
        return list;
    }

    std::span<const T> lengths_;
    part parts_[2];
    std::uint32_t target_group_;
};

/// Returns a batch of an encoder-decoder: the decoder's length and the encoder's length of each sample.
template <integer_range Lengths, integer_range Keys>
[[nodiscard]] constexpr auto encoder_decoder_lengths(const Lengths& lengths, const Keys& encoder_lengths) {
    return lengths_and_parts<element_of<Lengths>, element_of<Keys>>(
        lengths, {encoder_lengths, &sequence::keys, "encoder_lengths"});
}
/// The lengths to which the rows of an encoder-decoder are padded: those of the decoder, and those of the encoder. Rows
/// without a value are not padded.
struct both_row_lengths {
    std::optional<std::uint64_t> row_length{};
    std::optional<std::uint64_t> encoder_row_length{};
};

/// A batch source: samples of an encoder-decoder, with padded decoder rows, padded encoder rows or both.
template <integer T, integer K>
class encoder_decoder_rows {
  public:
    using sample = sequence;

    constexpr encoder_decoder_rows(std::span<const T> lengths, std::span<const K> encoder_lengths,
                                   const both_row_lengths& rows)
        : lengths_(lengths), keys_(encoder_lengths), rows_(rows) {
        require_as_many(lengths.size(), "lengths", encoder_lengths.size(), "encoder_lengths");
        for (const std::optional<std::uint64_t>& row : {rows.row_length, rows.encoder_row_length}) {
            if (row) {
                detail::require_row_length(*row);
            }
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::plain_lengths<T> lengths{lengths_.data(), "lengths"};
        const detail::plain_lengths<K> keys{keys_.data(), "encoder_lengths"};
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            const sequence real{.length = lengths.checked(i), .keys = keys.checked(i)};
            visit(real, sequence{.length = slot("lengths", "row_length", i, real.length, rows_.row_length),
                                 .keys = slot("encoder_lengths", "encoder_row_length", i, real.keys,
                                              rows_.encoder_row_length)});
        }
    }

  private:
    [[nodiscard]] static constexpr std::uint32_t slot(const char* field, const char* row_field, std::size_t at,
                                                      std::uint32_t length, const std::optional<std::uint64_t>& row) {
        if (!row) {
            return length;
        }
        if (length > *row) {
            detail::refuse(indexed(field, at), {"must be at most the ", row_field, ", ", *row, ", got ", length});
        }
        return static_cast<std::uint32_t>(*row);
    }

    std::span<const T> lengths_;
    std::span<const K> keys_;
    both_row_lengths rows_;
};

template <integer_range Lengths, integer_range Keys>
encoder_decoder_rows(const Lengths& lengths, const Keys& encoder_lengths, const both_row_lengths& rows)
    -> encoder_decoder_rows<element_of<Lengths>, element_of<Keys>>;

/// Returns a batch with a key-value cache: the number of new tokens and of cached tokens of each sequence.
template <integer_range Lengths, integer_range Past>
[[nodiscard]] constexpr auto cached_lengths(const Lengths& lengths, const Past& past) {
    return lengths_and_parts<element_of<Lengths>, element_of<Past>>(lengths, {past, &sequence::past, "past"});
}
/// Returns a batch of HSTU samples: their total lengths, and the numbers of contextual tokens and of targets that the
/// lengths include. Targets are in groups of `target_group`. An empty list stands for zeros.
template <integer_range Lengths, integer_range Contextual, integer_range Targets>
[[nodiscard]] constexpr auto hstu_lengths(const Lengths& lengths, const Contextual& contextual, const Targets& targets,
                                          std::uint32_t target_group) {
    return lengths_and_parts<element_of<Lengths>, element_of<Contextual>>(
        lengths, {contextual, &sequence::context, "contextual", true}, {targets, &sequence::targets, "targets", true},
        target_group);
}

template <integer_range Lengths>
sequence_lengths(const Lengths& lengths) -> sequence_lengths<element_of<Lengths>>;
template <integer_range Lengths>
padded_rows(const Lengths& lengths, std::uint64_t row_length) -> padded_rows<element_of<Lengths>>;

/// The value of `num_real_seqs` for a batch without mock sequences.
inline constexpr std::size_t all_sequences = SIZE_MAX;

/// A batch source: packed sequences without padding, by their boundaries. Repeated boundaries are empty sequences and
/// count nothing.
template <integer T>
class packed_sequences {
  public:
    using sample = sequence;

    constexpr packed_sequences(std::span<const T> cu_seqlens) : cu_seqlens_(cu_seqlens) {}  // NOLINT: a view

    template <class Visit>
    constexpr void each(Visit visit) const {
        const auto lengths = detail::between(cu_seqlens_.data(), cu_seqlens_.size(), "cu_seqlens");
        for (std::size_t i = 0; i + 1 < cu_seqlens_.size(); ++i) {
            const sequence real{.length = lengths.checked(i)};
            visit(real, real);
        }
    }

    template <class Accumulators>
    [[gnu::always_inline]] constexpr void add_to(Accumulators& accumulators) const {
        accumulators.masks().require(modality::text, "lengths");
        detail::add_filled(detail::between(cu_seqlens_.data(), cu_seqlens_.size(), "cu_seqlens"),
                           cu_seqlens_.size() - 1, accumulators);
    }

  private:
    std::span<const T> cu_seqlens_;
};

/// A batch source: packed sequences and the slots that kernels process for them. The slots after the real sequences are
/// mock sequences: they count as padded, not as useful.
template <integer T, integer S>
class packed_slots {
  public:
    using sample = sequence;

    /// Takes two lists of equally many boundaries: of sequences and of slots. The first `num_real_seqs` sequences are
    /// real, the others mock sequences. If the slots are the sequences themselves, pass `cu_seqlens` twice.
    constexpr packed_slots(std::span<const T> cu_seqlens, std::span<const S> cu_seqlens_padded,
                           std::size_t num_real_seqs = all_sequences)
        : packed_slots(cu_seqlens, cu_seqlens_padded, num_real_seqs, false) {}

    /// Returns a pack from the boundaries of its real sequences and of all slots. There may be more slots than
    /// sequences. Use this form if your collator keeps the boundaries from before it appended mock sequences. Errors
    /// call the list of slots `cu_seqlens`.
    [[nodiscard]] static constexpr packed_slots of_real(std::span<const T> cu_seqlens_real, std::span<const S> slots) {
        return {cu_seqlens_real, slots, all_sequences, true};
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        detail::checking_accumulators accumulators;
        add_to(accumulators);  // This call throws the error if a boundary is invalid.
        const std::size_t real = real_sequences();
        for (std::size_t i = 0; i + 1 < slots_.size(); ++i) {
            visit(sequence{.length = i < real ? static_cast<std::uint32_t>(real_[i + 1] - real_[i]) : 0},
                  sequence{.length = static_cast<std::uint32_t>(slots_[i + 1] - slots_[i])});
        }
    }

    template <class Accumulators>
    constexpr void add_to(Accumulators& accumulators) const {
        const detail::sum_space space = accumulators.space();
        space.masks().require(modality::text, "lengths");
        // First checks the boundaries of all sequences, including mock sequences. Then checks the boundaries of the
        // slots, which may be the same list.
        const auto lengths = detail::between(real_.data(), real_.size(), real_field());
        const std::size_t all = real_.size() - 1;
        const std::size_t real = real_sequences();
        const std::size_t summed = detail::smaller(real, all);
        const detail::borrowed_sums useful = detail::sums_of(lengths, summed, space, view::useful);
        detail::check_more(lengths, summed, all, useful);
        const auto slots = detail::between(slots_.data(), slots_.size(), slots_field());
        const detail::borrowed_sums padded = detail::sums_of(slots, slots_.size() - 1, space, view::padded);
        require_counts(real);
        detail::require_room(real_.data(), slots_.data(), real, slots_field());
        accumulators.commit(useful, padded);
    }

  private:
    constexpr packed_slots(std::span<const T> real, std::span<const S> slots, std::size_t num_real_seqs,
                           bool may_be_fewer)
        : real_(real), slots_(slots), num_real_seqs_(num_real_seqs), may_be_fewer_(may_be_fewer) {}

    // Errors use these names for the list of sequences and the list of slots.
    [[nodiscard]] constexpr const char* real_field() const { return may_be_fewer_ ? "cu_seqlens_real" : "cu_seqlens"; }
    [[nodiscard]] constexpr const char* slots_field() const {
        return may_be_fewer_ ? "cu_seqlens" : "cu_seqlens_padded";
    }

    [[nodiscard]] constexpr std::size_t real_sequences() const {
        return num_real_seqs_ == all_sequences ? real_.size() - 1 : num_real_seqs_;
    }

    constexpr void require_counts(std::size_t real_sequences) const {
        if (may_be_fewer_ && real_.size() > slots_.size()) {
            detail::refuse_boundary_count(real_field(), real_.size(), slots_field(), slots_.size());
        }
        if (!may_be_fewer_ && real_.size() != slots_.size()) {
            detail::refuse_boundary_count(slots_field(), slots_.size(), real_field(), real_.size());
        }
        if (real_sequences > real_.size() - 1) {
            detail::refuse_real_sequences(num_real_seqs_, real_.size() - 1);
        }
    }

    std::span<const T> real_;
    std::span<const S> slots_;
    std::size_t num_real_seqs_;
    bool may_be_fewer_;
};

template <integer_range Boundaries>
packed_sequences(const Boundaries& cu_seqlens) -> packed_sequences<element_of<Boundaries>>;
template <integer_range Boundaries, integer_range Slots, class... More>
packed_slots(const Boundaries& cu_seqlens, const Slots& slots, More... more)
    -> packed_slots<element_of<Boundaries>, element_of<Slots>>;

/// Returns a pack from the boundaries of its real sequences, `cu_seqlens_real`, and of all its slots.
template <integer_range Boundaries, integer_range Slots>
[[nodiscard]] constexpr auto packed_real(const Boundaries& cu_seqlens_real, const Slots& slots) {
    return packed_slots<element_of<Boundaries>, element_of<Slots>>::of_real(cu_seqlens_real, slots);
}

/// A contiguous range of flags: bool, or integers 0 and 1. `std::vector<bool>` is not contiguous.
template <class Range>
concept flag_range = requires(const Range& range) {
    std::span{range}.data();
}
&&std::integral<typename decltype(std::span{std::declval<const Range&>()})::value_type>;

namespace detail {

/// Throws the error for an invalid flag at index `at`. The flag is neither 0 nor 1, or zeros separate it from earlier
/// ones of its row.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_flag(std::int64_t flag, std::size_t at, std::size_t columns) {
    if (flag == 1) {
        detail::refuse(indexed("attention_mask", at),
                       {"is 1 after the real tokens of row ", at / columns,
                        " have ended: the real tokens of a row must be consecutive, with padding only before or after "
                        "them"});
    }
    detail::refuse(indexed("attention_mask", at), {"must be 0 or 1, got ", std::to_string(flag)});
}

}  // namespace detail

/// A batch source: the attention mask of a BSHD batch, with one row of flags for each sequence. Useful tokens are the
/// ones, padded tokens are all flags. In a row the ones must be contiguous. Padding may precede or follow them.
template <std::integral T>
class attention_mask_rows {
  public:
    using sample = sequence;

    constexpr attention_mask_rows(std::span<const T> flags, const batch_shape& shape)
        : flags_(flags.data()), shape_(shape) {
        const std::uint64_t entries = checked(shape.rows, "attention_mask") * shape.columns;
        if (entries != flags.size()) {
            detail::refuse("attention_mask", {"must have ", shape.rows, " x ", shape.columns, " = ", entries,
                                              " entries, got ", flags.size()});
        }
        if (shape.columns > max_sequence_length) {
            detail::refuse("attention_mask",
                           {"must have rows of at most ", max_sequence_length, " tokens, got ", shape.columns});
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (std::size_t row = 0; row < shape_.rows; ++row) {
            visit(sequence{.length = length(row)}, sequence{.length = static_cast<std::uint32_t>(shape_.columns)});
        }
    }

  private:
    /// Returns the number of ones in a row. Throws if zeros lie between ones: windows and chunks count by distance, and
    /// such zeros change the distance of a token to its keys.
    [[nodiscard]] constexpr std::uint32_t length(std::size_t row) const {
        const std::size_t first = row * shape_.columns;
        std::uint32_t ones = 0;
        bool ended = false;
        for (std::size_t at = first; at < first + shape_.columns; ++at) {
            if (flags_[at] == T{0}) {
                ended = ended || ones != 0;
            } else if (flags_[at] == T{1} && !ended) {
                ++ones;
            } else {
                detail::refuse_flag(static_cast<std::int64_t>(flags_[at]), at, shape_.columns);
            }
        }
        return ones;
    }

    const T* flags_;
    batch_shape shape_;
};

template <flag_range Flags>
attention_mask_rows(const Flags& flags, const batch_shape& shape)
    -> attention_mask_rows<typename decltype(std::span{flags})::value_type>;

/// A batch source: images and video clips, three numbers (t, h, w) each, counted in patches before the model merges
/// neighbouring patches. This is the format of `image_grid_thw`.
template <integer T>
class listed_grids {
  public:
    using sample = grid;

    constexpr listed_grids(std::span<const T> grid_thw) : numbers_(grid_thw) {  // NOLINT: a view
        if (numbers_.size() % 3 != 0) {
            detail::refuse("grid_thw", {"must have three numbers for each grid, got ", numbers_.size()});
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::plain_lengths<T> sides{numbers_.data(), "grid_thw"};
        for (std::size_t i = 0; i < numbers_.size(); i += 3) {
            const grid patches{sides.checked(i), sides.checked(i + 1), sides.checked(i + 2)};
            visit(patches, patches);
        }
    }

  private:
    std::span<const T> numbers_;
};

/// A batch source for diffusion models: grids of latents, three numbers (t, h, w) each, and the number of text tokens
/// of each grid.
template <integer T, integer K>
class listed_grids_with_text {
  public:
    using sample = grid;

    constexpr listed_grids_with_text(std::span<const T> grid_thw, std::span<const K> encoder_lengths)
        : grids_(grid_thw), texts_(encoder_lengths) {
        if (3 * texts_.size() != grid_thw.size()) {
            detail::refuse("encoder_lengths",
                           {"must have one length for each grid (", grid_thw.size() / 3, "), got ", texts_.size()});
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::plain_lengths<K> texts{texts_.data(), "encoder_lengths"};
        std::size_t at = 0;
        grids_.each([&](grid latents, const grid& /*slot*/) {
            latents.keys = texts.checked(at++);
            visit(latents, latents);
        });
    }

  private:
    listed_grids<T> grids_;
    std::span<const K> texts_;
};

/// A batch source: audio clips by the number of frames that enter the audio tower.
template <integer T>
class listed_clips {
  public:
    using sample = audio_clip;

    constexpr listed_clips(std::span<const T> audio_frames) : frames_(audio_frames) {}  // NOLINT: a view

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::plain_lengths<T> frames{frames_.data(), "audio_frames"};
        for (std::size_t i = 0; i < frames_.size(); ++i) {
            const audio_clip clip{frames.checked(i)};
            visit(clip, clip);
        }
    }

  private:
    std::span<const T> frames_;
};

template <integer_range Numbers>
listed_grids(const Numbers& grid_thw) -> listed_grids<element_of<Numbers>>;
template <integer_range Numbers, integer_range Texts>
listed_grids_with_text(const Numbers& grid_thw, const Texts& encoder_lengths)
    -> listed_grids_with_text<element_of<Numbers>, element_of<Texts>>;
template <integer_range Frames>
listed_clips(const Frames& audio_frames) -> listed_clips<element_of<Frames>>;

/// The type of an argument in braces, such as `add_lengths({5, 9})`. C++ deduces no template argument from braces.
using braced_integers = std::initializer_list<std::int64_t>;

/// Short calls that add batches by format: `add_lengths(x)` is `add(sequence_lengths(x))`. A receiver derives from this
/// class (`class tally : public adds_batches<tally>`) and has `add(source)`. If a call throws, the receiver is
/// unchanged.
template <class Receiver>
class adds_batches {
  public:
    /// Adds sequences by their lengths, in tokens: any contiguous range of 32- or 64-bit integers.
    template <integer_range Lengths = braced_integers>
    constexpr void add_lengths(const Lengths& lengths) {
        self().add(sequence_lengths(lengths));
    }

    /// Adds a BSHD batch: one row for each length, padded to `row_length`. A length of 0 is a mock sequence.
    template <integer_range Lengths = braced_integers>
    constexpr void add_padded(const Lengths& lengths, std::uint64_t row_length) {
        self().add(padded_rows(lengths, row_length));
    }

    /// Adds a BSHD batch without padding: `shape.rows` sequences of `shape.columns` tokens.
    constexpr void add_shape(const batch_shape& shape) { self().add(full_rows(shape)); }

    /// Adds a BSHD batch by its attention mask, with one row of flags for each sequence. Useful tokens are the ones,
    /// padded tokens are all flags. In a row the ones must be contiguous. Padding may precede or follow them.
    template <flag_range Flags = braced_integers>
    constexpr void add_attention_mask(const Flags& attention_mask, const batch_shape& shape) {
        self().add(attention_mask_rows(attention_mask, shape));
    }

    /// Adds a batch of an encoder-decoder: the decoder's length and the encoder's length of each sample.
    template <integer_range Lengths = braced_integers, integer_range Keys = braced_integers>
    constexpr void add_encoder_decoder(const Lengths& lengths, const Keys& encoder_lengths) {
        self().add(encoder_decoder_lengths(lengths, encoder_lengths));
    }

    /// Adds a batch of an encoder-decoder whose rows are padded: `add_encoder_decoder(lengths, encoder_lengths,
    /// {.row_length = 50, .encoder_row_length = 100})`.
    template <integer_range Lengths = braced_integers, integer_range Keys = braced_integers>
    constexpr void add_encoder_decoder(const Lengths& lengths, const Keys& encoder_lengths,
                                       const both_row_lengths& rows) {
        self().add(encoder_decoder_rows(lengths, encoder_lengths, rows));
    }

    /// Adds a batch with a key-value cache: the number of new tokens and of cached tokens of each sequence.
    template <integer_range Lengths = braced_integers, integer_range Past = braced_integers>
    constexpr void add_new_tokens(const Lengths& lengths, const Past& past) {
        self().add(cached_lengths(lengths, past));
    }

    /// Adds HSTU samples: their total lengths, and the numbers of contextual tokens and of targets that the lengths
    /// include. Targets are in groups of `target_group`. An empty list stands for zeros.
    template <integer_range Lengths = braced_integers, integer_range Contextual = braced_integers,
              integer_range Targets = braced_integers>
    constexpr void add_hstu(const Lengths& lengths, const Contextual& contextual, const Targets& targets,
                            std::uint32_t target_group = 1) {
        self().add(hstu_lengths(lengths, contextual, targets, target_group));
    }

    /// Adds a pack by the boundaries of its sequences: 0, L₁, L₁+L₂, … Repeated boundaries are empty sequences and
    /// count nothing.
    template <integer_range Boundaries = braced_integers>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens) {
        self().add(packed_sequences(cu_seqlens));
    }

    /// Adds a pack by the boundaries of its sequences and of the slots that kernels process. The first `num_real_seqs`
    /// sequences are real, the others are mock sequences: they count as padded, not as useful. If the slots are the
    /// sequences themselves, pass `cu_seqlens` twice.
    template <integer_range Boundaries = braced_integers, integer_range Slots = braced_integers>
    constexpr void add_cu_seqlens(const Boundaries& cu_seqlens, const Slots& cu_seqlens_padded,
                                  std::size_t num_real_seqs = all_sequences) {
        self().add(packed_slots(cu_seqlens, cu_seqlens_padded, num_real_seqs));
    }

    /// Adds a pack by the boundaries of its real sequences and of all slots. Slots after the real sequences are mock
    /// sequences. Errors call the list of slots `cu_seqlens`.
    template <integer_range Boundaries = braced_integers, integer_range Slots = braced_integers>
    constexpr void add_packed(const Boundaries& cu_seqlens_real, const Slots& slots) {
        self().add(packed_real(cu_seqlens_real, slots));
    }

    /// Adds images and video clips by their grids of patches: three numbers (t, h, w) each, in the format of
    /// `image_grid_thw`. Patches are counted before the model merges neighbours.
    template <integer_range Numbers = braced_integers>
    constexpr void add_grid_thw(const Numbers& grid_thw) {
        self().add(listed_grids(grid_thw));
    }

    /// Adds samples of a diffusion model: grids of latents, three numbers (t, h, w) each, and the number of text tokens
    /// of each grid.
    template <integer_range Numbers = braced_integers, integer_range Texts = braced_integers>
    constexpr void add_grids_with_text(const Numbers& grid_thw, const Texts& encoder_lengths) {
        self().add(listed_grids_with_text(grid_thw, encoder_lengths));
    }

    /// Adds audio clips by their numbers of frames.
    template <integer_range Frames = braced_integers>
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

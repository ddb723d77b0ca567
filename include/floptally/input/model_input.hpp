// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/batch/formats.hpp>
#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `model_input`: a batch as the command line and the Python module take it.

namespace floptally::inline v0_3 {

/// Two functions that give the names of inputs in errors. Each takes the name of a member of `model_input`. `field`
/// returns the field of the error. `option` returns the name that the user types, such as "--lengths".
struct input_spelling {
    std::string (*field)(std::string_view name);
    std::string (*option)(std::string_view name);
    std::string_view one_list_of_lengths;
};

/// A spelling that uses the names of the members of `model_input` as they are. The arguments of the Python functions
/// have these names.
inline constexpr input_spelling plain_spelling{[](std::string_view name) { return std::string(name); },
                                               [](std::string_view name) { return std::string(name); }, "lengths"};

/// A batch as the command line and the Python module take it. Lengths and flags are views of the caller's arrays.
struct model_input {
    /// Lengths of sequences. `field` is the name of this input in errors.
    struct list {
        std::string field = "lengths";
        integer_view lengths;
        std::optional<std::uint64_t> row_length{};  ///< the length that all sequences are padded to; empty: no padding
    };
    /// An attention mask [B, S], row by row. The flag of a real token is 1.
    struct flag_rows {
        integer_view flags;
        std::size_t rows = 0;
        std::size_t columns = 0;
    };
    /// Boundaries of a pack. The real sequences come first, mock sequences follow. `num_real_seqs` or the shorter list
    /// `cu_seqlens_real` says how many are real.
    struct packed {
        integer_view cu_seqlens;
        std::optional<integer_view> cu_seqlens_padded{};
        std::size_t num_real_seqs = all_sequences;
        std::optional<integer_view> cu_seqlens_real{};

        /// Adds the pack as a batch source (batch/formats.hpp) to a tally, or to another receiver of batches.
        template <class Receiver>
        void add_to(Receiver& sum) const {
            if (cu_seqlens_real) {
                require_real_count();
                if (!cu_seqlens_padded) {
                    detail::visit_both(*cu_seqlens_real, cu_seqlens,
                                       [&](const auto& real, const auto& slots) { sum.add(packed_real(real, slots)); });
                    return;
                }
                require_beginning();
            }
            // Without padding and mock sequences the useful and the padded view are equal. Then the simpler source,
            // `packed_sequences`, counts both.
            if (!cu_seqlens_padded && num_real_seqs == all_sequences) {
                detail::visit_for<Receiver>(cu_seqlens, [&](const auto& all) { sum.add(packed_sequences(all)); });
                return;
            }
            const std::size_t real_sequences = cu_seqlens_real ? cu_seqlens_real->size() - 1 : num_real_seqs;
            detail::visit_both(
                cu_seqlens, cu_seqlens_padded.value_or(cu_seqlens),
                [&](const auto& all, const auto& slots) { sum.add(packed_slots(all, slots, real_sequences)); });
        }

      private:
        /// Throws if `num_real_seqs` and `cu_seqlens_real` contradict each other.
        void require_real_count() const {
            if (cu_seqlens_real->size() == 0) {
                throw error("cu_seqlens_real", "must have at least one boundary, the 0 at its beginning, got none");
            }
            const std::size_t real = cu_seqlens_real->size() - 1;
            if (num_real_seqs != all_sequences && num_real_seqs != real) {
                detail::refuse("num_real_seqs",
                               {"must be ", real, ", the number of sequences in cu_seqlens_real, got ", num_real_seqs});
            }
        }

        /// Throws unless `cu_seqlens` begins with the boundaries of `cu_seqlens_real`. This is required if
        /// `cu_seqlens_padded` is passed too.
        void require_beginning() const {
            detail::visit_both(*cu_seqlens_real, cu_seqlens, [](const auto& real, const auto& all) {
                if (real.size() > all.size()) {
                    detail::refuse_boundary_count("cu_seqlens_real", real.size(), "cu_seqlens", all.size());
                }
                for (std::size_t i = 0; i < real.size(); ++i) {
                    if (!std::cmp_equal(real[i], all[i])) {
                        detail::refuse(indexed("cu_seqlens_real", i),
                                       {"must equal the same boundary of cu_seqlens, ", all[i], ", got ", real[i]});
                    }
                }
            });
        }
    };

    std::vector<list> lengths{};
    std::optional<packed> boundaries{};
    /// For an encoder-decoder: the encoder length of each sequence. For a diffusion model: the text lengths of each
    /// image or clip, one for each text that the model reads.
    std::optional<integer_view> encoder_lengths{};
    /// For an encoder-decoder: the length that the encoder's rows are padded to; empty: no padding.
    std::optional<std::uint64_t> encoder_row_length{};
    /// Padded text lengths of a diffusion model, for each image or clip in turn, or once for all of them; empty: no
    /// padding.
    std::optional<integer_view> encoder_lengths_padded{};
    std::vector<sequence> sequences{};           ///< sequences of HSTU, with contextual tokens and targets
    std::vector<sequence> new_tokens{};          ///< sequences of new tokens after a cached prefix
    std::vector<request> requests{};             ///< inference requests, each with a prompt to prefill and tokens to
                                                 ///< decode
    std::uint32_t prefill_chunk = whole_prompt;  ///< largest number of prompt tokens of a request in one forward pass
    std::vector<grid> grids{};
    /// Images or clips: frames, height and width in pixels; the model's spec gives the patch size.
    std::vector<grid> pixels{};
    std::vector<grid> grids_padded{};     ///< padded size of each image or clip in patches, or one size for all; empty:
                                          ///< no padding
    std::vector<grid> condition_grids{};  ///< for image editing: the size of each input image in patches; every member
                                          ///< of `grids` has equally many input images, listed in the order of `grids`
    std::uint64_t images = 0;             ///< number of images of the fixed size that the model's config states
    std::optional<integer_view> audio_frames{};
    std::optional<flag_rows> attention_mask{};
    /// Rows of an attention mask that are already counted: `real` is the tally of rows with a real token, `mock` the
    /// tally of rows with only padding.
    struct counted_rows {
        std::string field;
        tally real;
        tally mock;
    };
    std::vector<counted_rows> rows{};
    /// A count that the caller measured instead of deriving it from lengths, such as the number of logits
    /// (statistics/measured.hpp).
    struct measured_amount {
        std::string name;
        std::uint64_t useful = 0;
        std::uint64_t padded = 0;
    };
    std::vector<measured_amount> measured{};
    std::vector<tally> tallies{};  ///< already counted parts of the batch; their masks must be those of the model

    /// Returns how many members that describe samples are set, except `tallies` and `measured`.
    [[nodiscard]] std::ptrdiff_t formats() const {
        const bool named[] = {!lengths.empty(),
                              !rows.empty(),
                              attention_mask.has_value(),
                              boundaries.has_value(),
                              encoder_lengths.has_value(),
                              encoder_lengths_padded.has_value(),
                              encoder_row_length.has_value(),
                              !sequences.empty(),
                              !new_tokens.empty(),
                              !requests.empty(),
                              !grids.empty(),
                              !pixels.empty(),
                              !grids_padded.empty(),
                              !condition_grids.empty(),
                              images != 0,
                              audio_frames.has_value()};
        return std::count(std::begin(named), std::end(named), true);
    }
    /// Returns true if the batch has samples in any form other than tallies and measured amounts (see `formats`).
    [[nodiscard]] bool names_any() const { return formats() != 0; }
    /// Returns true if `requests` are the only samples of the batch.
    [[nodiscard]] bool has_requests_alone() const {
        return !requests.empty() && formats() == 1 && measured.empty() && tallies.empty();
    }
};

/// Returns an HSTU sequence of contextual tokens, history and targets. Targets are in groups of `target_group`. Throws
/// an `error` that names `field` if the sequence exceeds 2^32 - 1 tokens.
[[nodiscard]] inline sequence hstu_sequence(std::uint32_t context, std::uint32_t history, std::uint32_t targets,
                                            std::uint32_t target_group, std::string_view field) {
    const std::uint64_t length = std::uint64_t{context} + history + targets;
    if (length > max_sequence_length) {
        detail::refuse(field,
                       {"context + history + targets must be at most ", max_sequence_length, " tokens, got ", length});
    }
    return {.length = static_cast<std::uint32_t>(length),
            .context = context,
            .targets = targets,
            .target_group = target_group};
}

namespace detail {

/// Returns true if samples of this modality attend to other tokens: text to an encoder's output, or an image to a text.
[[nodiscard]] inline bool reads_other_side_in(const cost& model, modality which) {
    return std::any_of(model.entries().begin(), model.entries().end(), [&](const cost_entry& entry) {
        return entry.in == which && (entry.what == accumulator::keys || (entry.what == accumulator::pairs &&
                                                                         model.masks()[entry.mask].reads_other_side()));
    });
}

}  // namespace detail

/// Returns true if the model attends to the output of an encoder.
[[nodiscard]] inline bool has_encoder(const cost& model) { return detail::reads_other_side_in(model, modality::text); }

namespace detail {

/// Returns the kinds of tokens that the model reads when it processes images or clips, as a set with one bit for each
/// `token_stream`.
[[nodiscard]] inline std::uint64_t streams_of_grids(const cost& model) {
    std::uint64_t all = 0;
    for (const cost_entry& entry : model.entries()) {
        if (entry.in == modality::vision && entry.what == accumulator::pairs) {
            const mask& over = model.masks()[entry.mask];
            all |= over.is<unit_statistics::joint_tokens>() ? over.as<unit_statistics::joint_tokens>().queries()
                   : over.is<mask_statistics::joint_pairs>()
                       ? over.as<mask_statistics::joint_pairs>().queries() |
                             over.as<mask_statistics::joint_pairs>().seen_streams()
                   : over.is<unit_statistics::stream_powers>() ? over.as<unit_statistics::stream_powers>().streams()
                                                               : 0;
        }
    }
    return all;
}
[[nodiscard]] inline bool has_stream(std::uint64_t all, token_stream stream) {
    const std::uint64_t first = static_cast<std::uint64_t>(stream);
    return (all & (stream == token_stream::second || stream == token_stream::third ? 3 * first : first)) != 0;
}

}  // namespace detail

/// Returns how many texts the model reads for each image or clip, from 0 to 4. Most models read none; diffusion models
/// may.
[[nodiscard]] inline std::size_t texts_of_grids(const cost& model) {
    const std::uint64_t all = detail::streams_of_grids(model);
    return detail::has_stream(all, token_stream::fourth)                                                         ? 4
           : detail::has_stream(all, token_stream::third)                                                        ? 3
           : detail::has_stream(all, token_stream::second)                                                       ? 2
           : detail::has_stream(all, token_stream::text) || detail::reads_other_side_in(model, modality::vision) ? 1
                                                                                                                 : 0;
}

/// Returns the text lengths of a batch's images or clips: `encoder_lengths` if they are set. Otherwise, for a model
/// that also reads each text as a sequence (Grounding DINO), returns the lengths of the sequences. Returns null if
/// neither exists.
[[nodiscard]] inline const integer_view* texts_of(const model_input& batch, const model_config& model) {
    const bool meets_text = std::any_of(model.towers.begin(), model.towers.end(),
                                        [](const tower_input& tower) { return tower.meets_text; });
    const bool are_lengths = meets_text && batch.lengths.size() == 1 && texts_of_grids(model.cost) == 1;
    return batch.encoder_lengths ? &*batch.encoder_lengths : are_lengths ? &batch.lengths.front().lengths : nullptr;
}

/// Returns true if the model also attends to condition images, the input images of image editing.
[[nodiscard]] inline bool takes_conditions(const cost& model) {
    return detail::has_stream(detail::streams_of_grids(model), token_stream::condition);
}

/// Returns true if the model's encoder reads sound.
[[nodiscard]] inline bool encodes_sound(const model_config& model) {
    return std::any_of(model.towers.begin(), model.towers.end(),
                       [](const tower_input& tower) { return tower.are_keys; });
}

/// Returns the image size that the config states. Throws an `error` with field `images` if the config states none.
[[nodiscard]] inline grid fixed_image(const model_config& model, const input_spelling& spelling = plain_spelling) {
    for (const tower_input& tower : model.towers) {
        if (tower.image) {
            return *tower.image;
        }
    }
    detail::refuse("images", {"need a fixed image size, and the config of ", model.model_type, " states none; use ",
                              spelling.option("grid_thw")});
}

}  // namespace floptally

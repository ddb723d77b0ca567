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
#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/other_side_masks.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A batch as a user names it, for the program and the Python module.

namespace floptally {

/// A caller's spelling of the inputs: `field` is the FIELD of an error, `option` is used within its text. Both are
/// given the names of `model_input`.
struct input_spelling {
    std::string (*field)(std::string_view name);
    std::string (*option)(std::string_view name);
    std::string_view one_list_of_lengths;
};

/// The spelling of function arguments, which are called as in `model_input`.
inline constexpr input_spelling plain_spelling{[](std::string_view name) { return std::string(name); },
                                               [](std::string_view name) { return std::string(name); }, "lengths"};

/// A batch as a user names it. Lengths and flags are views, and not copied.
struct model_input {
    /// A list of sequences by their lengths; `field` is its name in errors.
    struct list {
        std::string field = "lengths";
        integer_view lengths;
        std::optional<std::uint64_t> row_length{};  ///< length of the rows that they are padded to, if they are
    };
    /// The rows of an attention mask, with the flag 1 for a real token.
    struct flag_rows {
        integer_view flags;
        std::size_t rows = 0;
        std::size_t columns = 0;
    };
    /// Boundaries of a packed row. The real sequences come first: they are `num_real_seqs`, or have the boundaries
    /// `cu_seqlens_real`, which are fewer where mock sequences follow.
    struct packed {
        integer_view cu_seqlens;
        std::optional<integer_view> cu_seqlens_padded{};
        std::size_t num_real_seqs = all_sequences;
        std::optional<integer_view> cu_seqlens_real{};

        /// Adds the row as a source (batch/packed.hpp) to a tally, or to another receiver of sources.
        template <class Receiver>
        void add_to(Receiver& sum) const {
            if (cu_seqlens_real) {
                require_real_count();
                if (!cu_seqlens_padded) {
                    in_slots(*cu_seqlens_real, cu_seqlens,
                             [&](const auto& real, const auto& slots) { sum.add(packed_real(real, slots)); });
                    return;
                }
                require_beginning();
            }
            // Without padding or mock sequences both views are one sum.
            if (!cu_seqlens_padded && num_real_seqs == all_sequences) {
                cu_seqlens.visit([&](const auto& all) { sum.add(packed_sequences(all)); });
                return;
            }
            const std::size_t real_sequences = cu_seqlens_real ? cu_seqlens_real->size() - 1 : num_real_seqs;
            in_slots(cu_seqlens, cu_seqlens_padded.value_or(cu_seqlens),
                     [&](const auto& all, const auto& slots) { sum.add(packed_slots(all, slots, real_sequences)); });
        }

      private:
        template <class Visit>
        static void in_slots(const integer_view& real, const integer_view& slots, Visit visit) {
            real.visit([&](const auto& first) { slots.visit([&](const auto& second) { visit(first, second); }); });
        }

        /// Throws where `num_real_seqs` and `cu_seqlens_real` contradict each other.
        void require_real_count() const {
            if (cu_seqlens_real->size() == 0) {
                throw error("cu_seqlens_real", "needs at least one boundary");
            }
            const std::size_t real = cu_seqlens_real->size() - 1;
            if (num_real_seqs != all_sequences && num_real_seqs != real) {
                detail::refuse("num_real_seqs",
                               {"must be the ", real, " sequences of cu_seqlens_real, got ", num_real_seqs});
            }
        }

        /// Throws where `cu_seqlens_real` is not the beginning of `cu_seqlens`, beside slots with boundaries of their
        /// own.
        void require_beginning() const {
            in_slots(*cu_seqlens_real, cu_seqlens, [](const auto& real, const auto& all) {
                if (real.size() > all.size()) {
                    detail::refuse_boundary_count("cu_seqlens_real", real.size(), "cu_seqlens", all.size());
                }
                for (std::size_t i = 0; i < real.size(); ++i) {
                    if (!std::cmp_equal(real[i], all[i])) {
                        detail::refuse(indexed("cu_seqlens_real", i),
                                       {"must be as in cu_seqlens, ", all[i], ", got ", real[i]});
                    }
                }
            });
        }
    };

    std::vector<list> lengths{};
    std::optional<packed> boundaries{};
    /// One for each of the lengths, or of a diffusion model's grids; of one that takes several texts as many for each.
    std::optional<integer_view> encoder_lengths{};
    std::optional<integer_view> encoder_lengths_padded{};  ///< those that texts of grids are padded to, or one for all
    std::vector<sequence> sequences{};                     ///< HSTU sequences, with context and targets
    std::vector<sequence> new_tokens{};                    ///< new tokens after a cached past
    std::vector<request> requests{};                       ///< prefilled and decoded
    std::uint32_t prefill_chunk = whole_prompt;            ///< tokens of their prompts in a pass
    std::vector<grid> grids{};
    std::vector<grid> pixels{};  ///< frames, height and width of pictures or clips, of which a page knows the grids
    std::vector<grid> grids_padded{};     ///< those that the grids are padded to, or one for all; empty: none is padded
    std::vector<grid> condition_grids{};  ///< that the grids are made from: as many for each, in their order
    std::uint64_t images = 0;             ///< number of images of the fixed size that the config states
    std::optional<integer_view> audio_frames{};
    std::optional<flag_rows> attention_mask{};
    /// Rows that an attention mask counted before: those with a real token, and those without.
    struct counted_rows {
        std::string field;
        tally real;
        tally mock;
    };
    std::vector<counted_rows> rows{};
    /// A word that the caller measured, by its name (rules/measured.hpp).
    struct measured_word {
        std::string name;
        std::uint64_t useful = 0;
        std::uint64_t padded = 0;
    };
    std::vector<measured_word> measured{};
    std::vector<tally> tallies{};  ///< parts that were counted before, with all towers of the model

    /// How many formats of samples the batch names.
    [[nodiscard]] std::ptrdiff_t formats() const {
        const bool named[] = {!lengths.empty(),
                              !rows.empty(),
                              attention_mask.has_value(),
                              boundaries.has_value(),
                              encoder_lengths.has_value(),
                              encoder_lengths_padded.has_value(),
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
    /// True where the batch names samples, which a model may be unable to take.
    [[nodiscard]] bool names_any() const { return formats() != 0; }
    /// True where the batch is requests and nothing else.
    [[nodiscard]] bool has_requests_alone() const {
        return !requests.empty() && formats() == 1 && measured.empty() && tallies.empty();
    }
};

/// An HSTU sequence of contextual tokens, history and targets, `target_group` targets in a group.
[[nodiscard]] inline sequence hstu_sequence(std::uint32_t context, std::uint32_t history, std::uint32_t targets,
                                            std::uint32_t target_group, std::string_view field) {
    const std::uint64_t length = std::uint64_t{context} + history + targets;
    if (length > max_sequence_length) {
        detail::refuse(field, {"c + h + t must be at most ", max_sequence_length, ", got ", length});
    }
    return {.length = static_cast<std::uint32_t>(length),
            .context = context,
            .targets = targets,
            .target_group = target_group};
}

namespace detail {

/// True where some of the work over samples of a modality is over tokens of their other side.
[[nodiscard]] inline bool reads_other_side_in(const cost& model, modality which) {
    return std::any_of(model.rows().begin(), model.rows().end(), [&](const cost_row& row) {
        return row.in == which && (row.what == statistic::keys ||
                                   (row.what == statistic::pairs && model.masks()[row.mask].reads_other_side()));
    });
}

}  // namespace detail

/// True where some of the work is over the tokens of an encoder.
[[nodiscard]] inline bool has_encoder(const cost& model) { return detail::reads_other_side_in(model, modality::text); }

namespace detail {

/// The streams of tokens that some of the work over grids reads (`token_stream`).
[[nodiscard]] inline std::uint64_t streams_of_grids(const cost& model) {
    std::uint64_t all = 0;
    for (const cost_row& row : model.rows()) {
        if (row.in == modality::vision && row.what == statistic::pairs) {
            const mask& over = model.masks()[row.mask];
            all |= over.is<unit_rules::joint_tokens>()  ? over.as<unit_rules::joint_tokens>().queries()
                   : over.is<mask_rules::joint_pairs>() ? over.as<mask_rules::joint_pairs>().queries() |
                                                              over.as<mask_rules::joint_pairs>().seen_streams()
                   : over.is<unit_rules::stream_powers>() ? over.as<unit_rules::stream_powers>().streams()
                                                          : 0;
        }
    }
    return all;
}
[[nodiscard]] inline bool has_stream(std::uint64_t all, token_stream one) {
    const std::uint64_t first = static_cast<std::uint64_t>(one);
    return (all & (one == token_stream::second || one == token_stream::third ? 3 * first : first)) != 0;
}

}  // namespace detail

/// How many texts each grid has, as in a diffusion model.
[[nodiscard]] inline std::size_t texts_of_grids(const cost& model) {
    const std::uint64_t all = detail::streams_of_grids(model);
    return detail::has_stream(all, token_stream::fourth)                                                         ? 4
           : detail::has_stream(all, token_stream::third)                                                        ? 3
           : detail::has_stream(all, token_stream::second)                                                       ? 2
           : detail::has_stream(all, token_stream::text) || detail::reads_other_side_in(model, modality::vision) ? 1
                                                                                                                 : 0;
}

/// The lengths of the texts of a batch's grids: as they are named, or where a model reads each text as a sequence too
/// (Grounding DINO), those of its sequences; null where it has none.
[[nodiscard]] inline const integer_view* texts_of(const model_input& batch, const model_config& model) {
    const bool meets_text = std::any_of(model.towers.begin(), model.towers.end(),
                                        [](const tower_input& tower) { return tower.meets_text; });
    const bool are_lengths = meets_text && batch.lengths.size() == 1 && texts_of_grids(model.cost) == 1;
    return batch.encoder_lengths ? &*batch.encoder_lengths : are_lengths ? &batch.lengths.front().lengths : nullptr;
}

/// True where a grid can be made from others, of which it has the tokens too.
[[nodiscard]] inline bool takes_conditions(const cost& model) {
    return detail::has_stream(detail::streams_of_grids(model), token_stream::condition);
}

/// True where the model's encoder takes sound.
[[nodiscard]] inline bool encodes_sound(const model_config& model) {
    return std::any_of(model.towers.begin(), model.towers.end(),
                       [](const tower_input& tower) { return tower.are_keys; });
}

/// The image of fixed size that the config states, or an error.
[[nodiscard]] inline grid fixed_image(const model_config& model, const input_spelling& words = plain_spelling) {
    for (const tower_input& tower : model.towers) {
        if (tower.image) {
            return *tower.image;
        }
    }
    detail::refuse("images", {model.model_type, " states no size of its images; use ", words.option("grid_thw")});
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model_config.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>

namespace floptally {

/// How a caller calls the inputs of a model: as the FIELD of an error, and where an error's text speaks of them. The
/// names that go in are those of `model_input`.
struct input_spelling {
    std::string (*field)(std::string_view name);
    std::string (*option)(std::string_view name);
    std::string_view one_list_of_lengths;
};

/// As they stand: what the arguments of a function are called.
inline constexpr input_spelling plain_spelling{[](std::string_view name) { return std::string(name); },
                                               [](std::string_view name) { return std::string(name); }, "lengths"};

/// A batch as a user names it: what the program and the Python module take. Nothing of it is copied.
struct model_input {
    /// Sequences by their lengths; a field names each of several lists.
    struct list {
        std::string field = "lengths";
        integer_view lengths;
        std::optional<std::uint64_t> row_length{};  ///< of the rows that they are padded to, where they stand in rows
    };
    /// Rows of flags, 1 for a real token, as an attention mask has them.
    struct flag_rows {
        integer_view flags;
        std::size_t rows = 0;
        std::size_t columns = 0;
    };
    /// Boundaries of a packed row. What is real is said by `num_real_seqs`, or by the boundaries of the real sequences
    /// alone, which are fewer where `cu_seqlens` has mock sequences behind them.
    struct packed {
        integer_view cu_seqlens;
        std::optional<integer_view> cu_seqlens_padded{};
        std::size_t num_real_seqs = all_sequences;
        std::optional<integer_view> cu_seqlens_real{};

        /// Adds the source (batch/packed.hpp) that it is to a tally, or to whatever takes one.
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
        template <class With>
        static void in_slots(const integer_view& real, const integer_view& slots, With with) {
            real.visit([&](const auto& first) { slots.visit([&](const auto& second) { with(first, second); }); });
        }

        /// Both ways to say what is real say the same.
        void require_real_count() const {
            if (cu_seqlens_real->size() == 0) {
                throw error("cu_seqlens_real", "needs at least one boundary");
            }
            const std::size_t real = cu_seqlens_real->size() - 1;
            if (num_real_seqs != all_sequences && num_real_seqs != real) {
                throw error("num_real_seqs", std::string("must be the ")
                                                 .append(std::to_string(real))
                                                 .append(" sequences of cu_seqlens_real, got ")
                                                 .append(std::to_string(num_real_seqs)));
            }
        }

        /// Where slots have boundaries of their own, the real ones are the first of the others.
        void require_beginning() const {
            in_slots(*cu_seqlens_real, cu_seqlens, [](const auto& real, const auto& all) {
                if (real.size() > all.size()) {
                    detail::refuse_boundary_count("cu_seqlens_real", real.size(), "cu_seqlens", all.size());
                }
                for (std::size_t i = 0; i < real.size(); ++i) {
                    if (!std::cmp_equal(real[i], all[i])) {
                        throw error(indexed("cu_seqlens_real", i), std::string("must be as in cu_seqlens, ")
                                                                       .append(std::to_string(all[i]))
                                                                       .append(", got ")
                                                                       .append(std::to_string(real[i])));
                    }
                }
            });
        }
    };

    std::vector<list> lengths{};
    std::optional<packed> boundaries{};
    std::optional<integer_view> encoder_lengths{};  ///< one for each of the lengths
    std::vector<sequence> sequences{};              ///< of HSTU: with context and targets
    std::vector<sequence> new_tokens{};             ///< with a cached past
    std::vector<grid> grids{};
    std::uint64_t images = 0;  ///< of the fixed size that the config states
    std::optional<integer_view> audio_frames{};
    std::optional<flag_rows> attention_mask{};
    /// Rows that were counted before, by an attention mask: those with a real token, and those without.
    struct counted_rows {
        std::string field;
        tally real;
        tally mock;
    };
    std::vector<counted_rows> rows{};
    /// A word that the caller measured, by its name (statistics/measured.hpp).
    struct measured_word {
        std::string name;
        std::uint64_t useful = 0;
        std::uint64_t padded = 0;
    };
    std::vector<measured_word> measured{};
    std::vector<tally> tallies{};  ///< what was counted before, with all sides that the model has

    /// Whether there are samples, which a model may be unable to take.
    [[nodiscard]] bool names_any() const {
        return !lengths.empty() || !rows.empty() || attention_mask || boundaries || encoder_lengths ||
               !sequences.empty() || !new_tokens.empty() || !grids.empty() || images != 0 || audio_frames;
    }
};

/// Contextual tokens, history, targets, and how many targets are a group.
[[nodiscard]] inline sequence hstu_sequence(std::uint32_t context, std::uint32_t history, std::uint32_t targets,
                                            std::uint32_t target_group, std::string_view field) {
    const std::uint64_t length = std::uint64_t{context} + history + targets;
    if (length > max_sequence_length) {
        throw error(field, std::string("c + h + t must be at most ")
                               .append(std::to_string(max_sequence_length))
                               .append(", got ")
                               .append(std::to_string(length)));
    }
    return {.length = static_cast<std::uint32_t>(length),
            .context = context,
            .targets = targets,
            .target_group = target_group};
}

/// Whether some of the work is over the tokens of an encoder.
[[nodiscard]] inline bool has_encoder(const cost& model) {
    return std::any_of(model.rows().begin(), model.rows().end(), [&](const cost_row& row) {
        return row.what == statistic::keys ||
               (row.what == statistic::pairs && model.masks()[row.mask].reads_other_side());
    });
}

/// Whether its encoder takes sound.
[[nodiscard]] inline bool encodes_sound(const model_config& model) {
    return std::any_of(model.towers.begin(), model.towers.end(), [](const tower_input& one) { return one.are_keys; });
}

/// The image of fixed size that the config states, or an error.
[[nodiscard]] inline grid fixed_image(const model_config& model, const input_spelling& words = plain_spelling) {
    for (const tower_input& one : model.towers) {
        if (one.image) {
            return *one.image;
        }
    }
    throw error(
        "images",
        std::string(model.model_type).append(" states no size of its images; use ").append(words.option("grid_thw")));
}

}  // namespace floptally

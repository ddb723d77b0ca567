// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/error.hpp>
#include <floptally/integer_view.hpp>
#include <floptally/mask.hpp>
#include <floptally/model_config.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>
#include <floptally/tower.hpp>

namespace floptally {

/// How a caller calls the inputs of a model: as the FIELD of an error, and where an error's text speaks of them. The
/// names that go in are those of `model_input`.
struct input_spelling {
    std::string (*field)(std::string_view name);
    std::string (*option)(std::string_view name);
};

/// As they stand: what the arguments of a function are called.
inline constexpr input_spelling plain_spelling{[](std::string_view name) { return std::string(name); },
                                               [](std::string_view name) { return std::string(name); }};

/// A batch as a user names it: what the program and the Python module take. Nothing of it is copied.
struct model_input {
    /// Sequences by their lengths; a field names each of several lists.
    struct list {
        std::string field = "lengths";
        integer_view lengths;
    };
    /// Boundaries of a packed row, as `tally::add_cu_seqlens` has them.
    struct packed {
        integer_view cu_seqlens;
        integer_view cu_seqlens_padded;  ///< `cu_seqlens` again where there is no padding
        std::size_t num_real_seqs = all_sequences;
    };

    std::vector<list> lengths{};
    std::optional<packed> boundaries{};
    std::optional<integer_view> encoder_lengths{};  ///< one for each of the lengths
    std::vector<sequence> sequences{};              ///< of HSTU: with context and targets
    std::vector<sequence> new_tokens{};             ///< with a cached past
    std::vector<grid> grids{};
    std::uint64_t images = 0;  ///< of the fixed size that the config states
    std::optional<integer_view> audio_frames{};
    std::vector<tally> tallies{};  ///< what was counted before, as a batch by its attention mask

    /// Whether anything but tallies is given, which a model may be unable to take.
    [[nodiscard]] bool names_any() const {
        return !lengths.empty() || boundaries || encoder_lengths || !sequences.empty() || !new_tokens.empty() ||
               !grids.empty() || images != 0 || audio_frames;
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
               (row.what == statistic::pairs && model.masks()[row.mask].kind() == mask_kind::cross_attention);
    });
}

/// Whether its encoder takes sound.
[[nodiscard]] inline bool encodes_sound(const model_config& model) {
    return std::any_of(model.towers.begin(), model.towers.end(),
                       [](const tower_input& one) { return one.are_keys; });
}

/// The image of fixed size that the config states, or an error.
[[nodiscard]] inline grid fixed_image(const model_config& model, const input_spelling& words = plain_spelling) {
    for (const tower_input& one : model.towers) {
        if (one.image) {
            return *one.image;
        }
    }
    throw error("images", std::string(model.model_type)
                              .append(" states no size of its images; use ")
                              .append(words.option("grid_thw")));
}

namespace detail {

/// Checks a batch against a model and adds it.
class input_adder {
  public:
    input_adder(const model_input& batch, const model_config& model, const input_spelling& words)
        : batch_(batch), model_(model), words_(words) {}

    /// Into a tally of the model's masks.
    void add_to(tally& sum) const {
        for (const tally& counted : batch_.tallies) {
            sum += counted;
        }
        if (!batch_.names_any()) {
            return;
        }
        require_towers();
        require_text();
        require_sides();
        for (const model_input::list& list : batch_.lengths) {
            add_lengths(list, sum);
        }
        if (batch_.boundaries) {
            const model_input::packed& row = *batch_.boundaries;
            row.cu_seqlens.visit([&](const auto& real) {
                row.cu_seqlens_padded.visit(
                    [&](const auto& slots) { sum.add_cu_seqlens(real, slots, row.num_real_seqs); });
            });
        }
        add_sequences(sum);
        for (const grid& patches : batch_.grids) {
            sum.add(patches);
        }
        if (batch_.images != 0) {
            const grid image = fixed_image(model_, words_);
            for (std::uint64_t i = 0; i < batch_.images; ++i) {
                sum.add(image);
            }
        }
        if (batch_.audio_frames) {
            batch_.audio_frames->visit([&](const auto& frames) { sum.add_audio_frames(frames); });
        }
        require_placeholders(model_, sum);
    }

  private:
    [[noreturn]] void refuse(std::string_view name, const std::string& problem) const {
        throw error(words_.field(name), problem);
    }
    [[nodiscard]] std::string option(std::string_view name) const { return words_.option(name); }
    [[nodiscard]] std::string subject(std::string_view says) const { return model_.model_type + std::string(says); }
    [[nodiscard]] const mask_set& masks() const { return model_.cost.masks(); }

    void require_towers() const {
        const auto require = [&](bool given, tower which, std::string_view name) {
            if (given && !masks().has(which)) {
                refuse(name, subject(" has no ").append(name_of(which)).append(" tower"));
            }
        };
        require(!batch_.grids.empty(), tower::vision, "grid_thw");
        require(batch_.images != 0, tower::vision, "images");
        require(batch_.audio_frames.has_value(), tower::audio, "audio_frames");
    }

    void require_text() const {
        if (masks().has(tower::text)) {
            return;
        }
        const auto require_absent = [&](bool given, std::string_view name) {
            if (given) {
                throw error(name, subject(" has no text; use ")
                                      .append(option("grid_thw"))
                                      .append(", ")
                                      .append(option("images"))
                                      .append(" or ")
                                      .append(option("audio_frames")));
            }
        };
        for (const model_input::list& list : batch_.lengths) {
            require_absent(true, list.field);
        }
        require_absent(batch_.boundaries.has_value(), words_.field("cu_seqlens"));
        require_absent(!batch_.new_tokens.empty(), words_.field("new_tokens"));
        require_absent(!batch_.sequences.empty(), words_.field("sequences"));
    }

    /// An encoder-decoder needs both sides, and no other model has a second one.
    void require_sides() const {
        const bool needed = has_encoder(model_.cost);
        const bool given = batch_.encoder_lengths.has_value();
        const std::string whose = option("lengths") + " are its decoder's";
        if (encodes_sound(model_)) {
            if (given) {
                refuse("encoder_lengths", "follow from " + option("audio_frames") + "; " + model_.model_type +
                                              " has an encoder of sound");
            }
            if (!batch_.audio_frames) {
                refuse("audio_frames", "is missing; " + model_.model_type + " has an encoder of sound, and " + whose);
            }
        } else if (needed && !given) {
            refuse("encoder_lengths", "is missing; " + model_.model_type + " has an encoder, and " + whose);
        }
        if (!needed && given) {
            refuse("encoder_lengths", subject(" has no encoder beside its decoder"));
        }
        if (needed && batch_.lengths.size() != 1) {
            refuse("encoder_lengths", "needs " + option("lengths"));
        }
        const auto require_absent = [&](bool is_given, std::string_view name) {
            if (needed && is_given) {
                refuse(name, "has no tokens on the encoder's side; use " + option("lengths"));
            }
        };
        require_absent(batch_.boundaries.has_value(), "cu_seqlens");
        require_absent(!batch_.new_tokens.empty(), "new_tokens");
        require_absent(!batch_.sequences.empty(), "sequences");
    }

    /// Each with its tokens on the encoder's side, or with its clip of sound.
    void add_lengths(const model_input::list& list, tally& sum) const {
        list.lengths.visit([&](const auto& lengths) {
            if (encodes_sound(model_)) {
                sum.add_encoder_decoder(lengths, keys_of_clips(list), list.field);
            } else if (batch_.encoder_lengths) {
                batch_.encoder_lengths->visit(
                    [&](const auto& other) { sum.add_encoder_decoder(lengths, other, list.field); });
            } else {
                sum.add_lengths(lengths, list.field);
            }
        });
    }

    [[nodiscard]] std::vector<std::uint32_t> keys_of_clips(const model_input::list& list) const {
        return batch_.audio_frames->visit([&](const auto& frames) {
            if (frames.size() != list.lengths.size()) {
                refuse("audio_frames", "must be one clip for each of " + list.field + " (" +
                                           std::to_string(list.lengths.size()) + "), got " +
                                           std::to_string(frames.size()));
            }
            const given_lengths<typename std::remove_reference_t<decltype(frames)>::value_type> clips{
                frames.data(), "audio_frames"};
            std::vector<std::uint32_t> keys;
            for (std::size_t i = 0; i < frames.size(); ++i) {
                keys.push_back(keys_of(model_, audio_clip{clips.checked(i)}));
            }
            return keys;
        });
    }

    void add_sequences(tally& sum) const {
        if (!batch_.sequences.empty() &&
            std::none_of(masks().begin(), masks().end(), [](const mask& m) { return m.is_hstu(); })) {
            refuse("sequences", subject(" has no HSTU mask, which sees contextual tokens and targets; use ") +
                                    option("lengths"));
        }
        for (const std::vector<sequence>* list : {&batch_.sequences, &batch_.new_tokens}) {
            for (const sequence& one : *list) {
                sum.add(one);
            }
        }
    }

    const model_input& batch_;
    const model_config& model_;
    const input_spelling& words_;
};

}  // namespace detail

/// Adds a batch to a tally with the masks of the model, or nothing where the model cannot take it.
inline void add_input(const model_input& batch, const model_config& model, tally& sum,
                      const input_spelling& words = plain_spelling) {
    tally added{sum.masks()};
    detail::input_adder(batch, model, words).add_to(added);
    sum += added;
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/grid_slots.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/input/placeholders.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `add_input`: a `model_input` is checked against a model and added to a tally.

namespace floptally {

/// True where the padded view of a batch has more than the useful one.
[[nodiscard]] inline bool is_padded(const tally& batch) {
    const std::span<const std::uint64_t> words = batch.words();
    const auto padded = words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2);
    return !std::equal(words.begin(), padded, padded);
}

namespace detail {

/// A check of a batch against a model, and its sum.
class input_adder {
  public:
    input_adder(const model_input& batch, const model_config& model, const input_spelling& words)
        : batch_(batch), model_(model), words_(words) {}

    /// Adds the batch to a tally of the model's masks, or to another receiver of such batches.
    template <class Receiver>
    void add_to(Receiver& sum) const {
        for (const tally& counted : batch_.tallies) {
            add_counted(counted, sum);
        }
        for (const model_input::measured_word& word : batch_.measured) {
            const rule named = measured(word.name);
            if (!named.is_polynomial() && sum.masks().find(named) == sum.masks().size()) {
                refuse("measured", {model_.model_type, " counts no word \"", word.name, "\""});
            }
            tally counted{sum.masks()};
            counted.add_measured(word.name, word.useful, word.padded);
            add_counted(counted, sum);
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
        for (const model_input::counted_rows& rows : batch_.rows) {
            add_counted(rows.real, rows.mock, sum);
        }
        if (const auto& rows = batch_.attention_mask) {
            rows->flags.visit([&](const auto& flags) { sum.add_attention_mask(flags, rows->rows, rows->columns); });
        }
        if (batch_.boundaries) {
            batch_.boundaries->add_to(sum);
        }
        add_sequences(sum);
        sum.add(listed_samples(grids_of(batch_, model_, words_)));
        if (batch_.images != 0 && texts_of_grids(model_.cost) == 0) {
            sum.add(equal_samples(fixed_image(model_, words_), batch_.images));
        }
        if (batch_.audio_frames) {
            batch_.audio_frames->visit([&](const auto& frames) { sum.add_audio_frames(frames); });
        }
    }

  private:
    /// Adds a part that was counted before, as real and as mock sequences.
    template <class Receiver>
    static void add_counted(const tally& real, const tally& mock, Receiver& sum) {
        if constexpr (std::is_same_v<Receiver, tally>) {
            (sum += real) += mock;
        } else if constexpr (std::is_constructible_v<Receiver, const tally&, const tally&>) {
            sum += Receiver(real, mock);
        } else {
            refuse_counted("the sequences of it are no longer known");
        }
    }
    /// Adds a part that was counted before, whose mock sequences are no longer known: without padding there are none.
    template <class Receiver>
    static void add_counted(const tally& counted, Receiver& sum) {
        if constexpr (std::is_same_v<Receiver, tally>) {
            sum += counted;
        } else if (is_padded(counted)) {
            refuse_counted("its real sequences cannot be told from its mock sequences");
        } else {
            add_counted(counted, tally{counted.masks()}, sum);
        }
    }
    [[noreturn]] static void refuse_counted(const char* why) { detail::refuse("tally", {"was counted before: ", why}); }
    [[noreturn]] void refuse(std::string_view name, std::initializer_list<piece> problem) const {
        detail::refuse(words_.field(name), problem);
    }
    [[nodiscard]] std::string option(std::string_view name) const { return words_.option(name); }
    [[nodiscard]] const mask_set& masks() const { return model_.cost.masks(); }

    void require_towers() const {
        const auto require = [&](bool given, modality which, std::string_view name) {
            if (given && !masks().has(which)) {
                refuse(name, {model_.model_type, " has no ", name_of(which), " tower"});
            }
        };
        require(!batch_.grids.empty(), modality::vision, "grid_thw");
        require(!batch_.condition_grids.empty(), modality::vision, "condition_grid_thw");
        require(!batch_.pixels.empty(), modality::vision, "pixels");
        require(batch_.images != 0, modality::vision, "images");
        require(batch_.audio_frames.has_value(), modality::audio, "audio_frames");
    }

    void require_text() const {
        if (masks().has(modality::text)) {
            return;
        }
        const auto require_absent = [&](bool given, std::string_view name) {
            if (given) {
                detail::refuse(name, {model_.model_type, " has no text; use ", option("grid_thw"), ", ",
                                      option("images"), " or ", option("audio_frames")});
            }
        };
        for (const model_input::list& list : batch_.lengths) {
            require_absent(true, list.field);
        }
        require_absent(batch_.boundaries.has_value(), words_.field("cu_seqlens"));
        require_absent(batch_.attention_mask.has_value(), words_.field("attention_mask"));
        require_absent(!batch_.new_tokens.empty(), words_.field("new_tokens"));
        require_absent(!batch_.requests.empty(), words_.field("requests"));
        require_absent(!batch_.sequences.empty(), words_.field("sequences"));
    }

    /// An encoder-decoder needs both sides, and no other model has a second one.
    void require_sides() const {
        const bool needed = has_encoder(model_.cost);
        const bool given = batch_.encoder_lengths.has_value();
        if (const std::size_t texts = texts_of_grids(model_.cost); texts != 0) {
            if (texts_of(batch_, model_) == nullptr) {
                refuse("encoder_lengths", {"is missing; ", model_.model_type, " attends ", texts == 1 ? "a text, " : "",
                                           texts == 1 ? "" : std::to_string(texts) + " texts, ",
                                           "whose tokens are given for each ", option("grid_thw")});
            }
            return;
        }
        if (batch_.encoder_lengths_padded) {
            refuse("encoder_lengths_padded", {model_.model_type, " has no grids with a text"});
        }
        const std::string decoder = text_of({option("lengths"), " are its decoder's"});
        if (encodes_sound(model_)) {
            if (given) {
                refuse("encoder_lengths",
                       {"follow from ", option("audio_frames"), "; ", model_.model_type, " has an encoder of sound"});
            }
            if (!batch_.audio_frames) {
                refuse("audio_frames", {"is missing; ", model_.model_type, " has an encoder of sound, and ", decoder});
            }
        } else if (needed && !given) {
            refuse("encoder_lengths", {"is missing; ", model_.model_type, " has an encoder, and ", decoder});
        }
        if (!needed && given) {
            refuse("encoder_lengths", {model_.model_type, " has no encoder beside its decoder"});
        }
        if (needed && batch_.lengths.size() != 1) {
            refuse("encoder_lengths", {"needs ", words_.one_list_of_lengths});
        }
        const auto require_absent = [&](bool is_given, std::string_view name) {
            if (needed && is_given) {
                refuse(name, {"has no tokens on the encoder's side; use ", option("lengths")});
            }
        };
        require_absent(batch_.boundaries.has_value(), "cu_seqlens");
        require_absent(batch_.attention_mask.has_value(), "attention_mask");
        require_absent(!batch_.new_tokens.empty(), "new_tokens");
        require_absent(!batch_.requests.empty(), "requests");
        require_absent(!batch_.sequences.empty(), "sequences");
        for (const model_input::counted_rows& rows : batch_.rows) {
            require_absent(true, rows.field);
        }
    }

    /// Adds lengths, each with its tokens on the encoder's side or its clip of sound where the model has an encoder.
    template <class Receiver>
    void add_lengths(const model_input::list& list, Receiver& sum) const {
        if (list.row_length && has_encoder(model_.cost)) {
            refuse("row_length", {model_.model_type, " has an encoder, whose rows would need a length too; use ",
                                  option("lengths"), " alone"});
        }
        list.lengths.visit([&](const auto& lengths) {
            if (encodes_sound(model_)) {
                sum.add_encoder_decoder(lengths, keys_of_clips(list), list.field);
            } else if (batch_.encoder_lengths && texts_of_grids(model_.cost) == 0) {
                batch_.encoder_lengths->visit(
                    [&](const auto& other) { sum.add_encoder_decoder(lengths, other, list.field); });
            } else if (list.row_length) {
                sum.add_padded(lengths, *list.row_length, list.field);
            } else {
                sum.add_lengths(lengths, list.field);
            }
        });
    }

    [[nodiscard]] std::vector<std::uint32_t> keys_of_clips(const model_input::list& list) const {
        return batch_.audio_frames->visit([&](const auto& frames) {
            if (frames.size() != list.lengths.size()) {
                refuse("audio_frames", {"must be one clip for each of ", list.field, " (", list.lengths.size(),
                                        "), got ", frames.size()});
            }
            std::vector<std::uint32_t> keys;
            for (std::size_t i = 0; i < frames.size(); ++i) {
                if (std::cmp_less(frames[i], 0) || std::cmp_greater(frames[i], max_sequence_length)) {
                    detail::refuse(indexed("audio_frames", i), {"must be from 0 to 4294967295, got ", frames[i]});
                }
                keys.push_back(keys_of(model_, audio_clip{static_cast<std::uint32_t>(frames[i])}));
            }
            return keys;
        });
    }

    template <class Receiver>
    void add_sequences(Receiver& sum) const {
        if (!batch_.sequences.empty() && std::none_of(masks().begin(), masks().end(), [](const rule& mask) {
                return mask.is<mask_rules::hstu>() || mask.is<unit_rules::hstu_part>();
            })) {
            refuse("sequences", {model_.model_type, " has no HSTU mask, which sees contextual tokens and targets; use ",
                                 option("lengths")});
        }
        for (const std::vector<sequence>* list : {&batch_.sequences, &batch_.new_tokens}) {
            sum.add(listed_samples(*list));
        }
        if (!batch_.requests.empty()) {
            sum.add(request_passes(batch_.requests, batch_.prefill_chunk, words_.field("requests")));
        }
    }

    const model_input& batch_;
    const model_config& model_;
    const input_spelling& words_;
};

}  // namespace detail

/// Adds a batch to a tally with the masks of the model, or to another receiver (`split_tally`, `masked_tiles`). A batch
/// that the model cannot take is an error and adds nothing.
template <class Receiver>
void add_input(const model_input& batch, const model_config& model, Receiver& sum,
               const input_spelling& words = plain_spelling) {
    Receiver added = sum;
    added.clear();
    detail::input_adder(batch, model, words).add_to(added);
    if (batch.names_any()) {
        if constexpr (std::is_same_v<Receiver, tally>) {
            require_placeholders(model, added);
        } else {
            require_placeholders(model, added.total());
        }
    }
    sum += added;
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `add_input`: checks that a `model_input` fits a model, and adds it to a tally.

namespace floptally::inline v0_3 {

/// Returns the grid of latent patches into which a model's autoencoder and patching convert an image or clip. `pixels`
/// has the image's number of frames, and its height and width in pixels. Throws `error` for a model whose spec does not
/// say how pixels become patches. `instead` is the name of the input that the error suggests.
[[nodiscard]] inline grid cells_of(const grid& pixels, const model_config& model, std::string_view field = "pixels",
                                   std::string_view instead = "grid_thw") {
    const auto known = std::find_if(model.towers.begin(), model.towers.end(),
                                    [](const tower_input& tower) { return tower.pixels != 0; });
    if (known == model.towers.end()) {
        detail::refuse(field, {"must be absent: the spec of ", model.model_type,
                               " does not say how pixels become a grid; use ", instead});
    }
    if (pixels.h % known->pixels != 0 || pixels.w % known->pixels != 0 || pixels.h == 0 || pixels.w == 0) {
        detail::refuse(field, {"the height and width must be multiples of ", known->pixels, " for ", model.model_type,
                               ", got ", pixels.h, " x ", pixels.w});
    }
    if (pixels.t == 0 || (pixels.t - 1) % known->pixel_frames != 0) {
        detail::refuse(field, {"the number of frames must be one more than a multiple of ", known->pixel_frames,
                               " for ", model.model_type, ", got ", pixels.t});
    }
    return {(pixels.t - 1) / known->pixel_frames + 1, pixels.h / known->pixels, pixels.w / known->pixels};
}

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Returns a number as it stands in an error's text: "one" for 1, else the digits.
[[nodiscard]] inline std::string counted(std::size_t each) { return each == 1 ? "one" : std::to_string(each); }

/// Checks the size of a list that has numbers for images or clips (`grids` of them). The list must have `each` numbers
/// for every image, or only `each` numbers that hold for all images. Throws `error` for any other size.
inline void require_one_for_each(std::size_t size, std::size_t grids, std::string_view name,
                                 const input_spelling& spelling, std::size_t each = 1) {
    if (size != each && size != each * grids) {
        refuse(spelling.field(name),
               {"must have ", counted(each), each == 1 ? " number" : " numbers", ", or ", counted(each), " for each ",
                spelling.option("grid_thw"), " (", grids, "), got ", size});
    }
}

/// Sets the text lengths of all images or clips (grids of patches). `side` chooses the lengths without or with padding.
/// Each image has `each` texts. `texts` lists their lengths image by image, or once for all images.
inline void set_texts(std::vector<slotted<grid>>& all, const integer_view& texts, std::string_view name,
                      grid slotted<grid>::*side, const input_spelling& spelling, std::size_t each) {
    constexpr std::uint32_t grid::*streams[] = {&grid::keys, &grid::second, &grid::third, &grid::fourth};
    texts.visit([&](const auto& lengths) {
        for (std::size_t i = 0; i < each * all.size(); ++i) {
            const std::size_t at = lengths.size() == each ? i % each : i;
            if (std::cmp_less(lengths[at], 0) || std::cmp_greater(lengths[at], max_sequence_length)) {
                refuse(indexed(spelling.field(name), at), {"must be from 0 to 4294967295, got ", lengths[at]});
            }
            all[i / each].*side.*streams[i % each] = static_cast<std::uint32_t>(lengths[at]);
        }
    });
}

/// Stores in the grid of each generated image the number of patches of all its condition images (the input images of
/// image editing).
inline void set_conditions(std::vector<slotted<grid>>& all, const model_input& batch, const model_config& model,
                           const input_spelling& spelling) {
    const std::size_t count = batch.condition_grids.size();
    if (count == 0) {
        return;
    }
    const std::string field = spelling.field("condition_grid_thw");
    if (!takes_conditions(model.cost)) {
        refuse(field, {"must be absent: ", model.model_type, " takes no condition grids"});
    }
    if (all.empty() || count % all.size() != 0) {
        refuse(field, {"the number of grids must be a multiple of the number of ", spelling.option("grid_thw"), " (",
                       all.size(), "), got ", count});
    }
    const std::size_t each = count / all.size();
    for (std::size_t i = 0; i < count; ++i) {
        const grid& condition = batch.condition_grids[i];
        const uint128 cells = uint128{condition.t} * condition.frame_patches() + all[i / each].real.condition;
        if (cells > max_sequence_length) {
            refuse(field, {"the condition grids of one image must have at most ", max_sequence_length,
                           " cells together: use smaller or fewer grids"});
        }
        all[i / each].real.condition = static_cast<std::uint32_t>(cells);
        all[i / each].slot.condition = all[i / each].real.condition;
    }
}

/// Returns the grids of patches of a batch's images and clips, each with its padded size. If the model attends to a
/// text, each grid also gets the length of its text.
[[nodiscard]] inline std::vector<slotted<grid>> grids_of(const model_input& batch, const model_config& model,
                                                         const input_spelling& spelling) {
    std::vector<grid> grids = batch.grids;
    const integer_view* const texts = texts_of(batch, model);
    const std::size_t each = texts == nullptr ? 0 : texts_of_grids(model.cost);
    if (each != 0 && batch.images != 0) {
        if (batch.images > texts->size()) {
            refuse(spelling.field("images"),
                   {"must be at most the number of texts (", texts->size(), "), got ", batch.images});
        }
        grids.insert(grids.end(), batch.images, fixed_image(model, spelling));
    }
    for (const grid& pixels : batch.pixels) {
        grids.push_back(cells_of(pixels, model, spelling.field("pixels"), spelling.option("grid_thw")));
    }
    const std::size_t count = grids.size();
    const std::vector<grid>& slots = batch.grids_padded;
    if (!slots.empty()) {
        require_one_for_each(slots.size(), count, "grid_thw_padded", spelling);
    }
    std::vector<slotted<grid>> all;
    for (std::size_t i = 0; i < count; ++i) {
        const grid& real = grids[i];
        all.push_back({real, slots.empty() ? real : slots[slots.size() == 1 ? 0 : i]});
    }
    set_conditions(all, batch, model, spelling);
    if (each == 0) {
        return all;
    }
    if (texts->size() != each * count) {
        refuse(batch.encoder_lengths ? spelling.field("encoder_lengths") : batch.lengths.front().field,
               {"must have ", counted(each), each == 1 ? " number" : " numbers", " for each ",
                spelling.option("grid_thw"), " (", count, "), got ", texts->size()});
    }
    set_texts(all, *texts, "encoder_lengths", &slotted<grid>::real, spelling, each);
    std::optional<integer_view> padded = batch.encoder_lengths_padded;
    std::vector<std::uint64_t> row;
    if (!padded && !batch.encoder_lengths && batch.lengths.front().row_length) {
        row.push_back(*batch.lengths.front().row_length);
        padded = row;
    }
    if (padded) {
        require_one_for_each(padded->size(), count, "encoder_lengths_padded", spelling, each);
    }
    set_texts(all, padded.value_or(*texts), padded ? "encoder_lengths_padded" : "encoder_lengths", &slotted<grid>::slot,
              spelling, each);
    return all;
}

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Returns how many text tokens of a batch stand for its images and sound (placeholder tokens). Returns 0 for a model
/// without text.
[[nodiscard]] inline std::uint64_t placeholder_tokens(const model_config& model, const tally& batch) {
    checked sum(0, "placeholders");
    if (!model.cost.masks().has(modality::text)) {
        return sum;
    }
    for (const tower_input& tower : model.towers) {
        const std::uint64_t frames = batch.get(view::useful, accumulator::count, tower.in);
        sum += checked(tower.per_frame, "placeholders") * frames;
        const std::uint64_t tokens = batch.get(view::useful, accumulator::tokens, tower.in);
        sum += checked(tower.per_token, "placeholders") * tokens;
        if (tower.per_unit != 0 && !tower.are_keys) {
            const std::uint64_t units = batch.pairs(view::useful, tower.units);
            sum += checked(tower.per_unit, "placeholders") * units;
        }
    }
    return sum;
}

/// Throws `error` if the sequences of a batch have fewer tokens than its images and sound need as placeholders.
inline void require_placeholders(const model_config& model, const tally& batch) {
    const std::uint64_t placeholders = placeholder_tokens(model, batch);
    const std::uint64_t tokens = batch.get(view::useful, accumulator::tokens);
    if (tokens < placeholders) {
        detail::refuse("lengths", {"must include the ", placeholders, " placeholder tokens of images and sound, got ",
                                   tokens, " tokens"});
    }
}

/// Returns true if the padded view of a batch differs from the useful view.
[[nodiscard]] inline bool is_padded(const tally& batch) {
    const std::span<const std::uint64_t> accumulators = batch.accumulators();
    const auto padded = accumulators.begin() + static_cast<std::ptrdiff_t>(accumulators.size() / 2);
    return !std::equal(accumulators.begin(), padded, padded);
}

namespace detail {

/// Checks a batch against a model and adds it to a tally.
class input_adder {
  public:
    input_adder(const model_input& batch, const model_config& model, const input_spelling& spelling)
        : batch_(batch), model_(model), spelling_(spelling) {}

    /// Adds the batch to a tally with the model's masks, or to another receiver of batches (`split_tally`,
    /// `masked_tiles`).
    template <class Receiver>
    void add_to(Receiver& sum) const {
        for (const tally& counted : batch_.tallies) {
            add_counted(counted, sum);
        }
        for (const model_input::measured_amount& amount : batch_.measured) {
            const statistic named = measured(amount.name);
            if (!named.is_polynomial() && sum.masks().find(named) == sum.masks().size()) {
                refuse("measured",
                       {"\"", amount.name, "\" is not an amount that ", model_.model_type, " counts; remove it"});
            }
            tally counted{sum.masks()};
            counted.add_measured(amount.name, {.useful = amount.useful, .padded = amount.padded});
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
            visit_for<Receiver>(rows->flags, [&](const auto& flags) {
                sum.add_attention_mask(flags, {.rows = rows->rows, .columns = rows->columns});
            });
        }
        if (batch_.boundaries) {
            batch_.boundaries->add_to(sum);
        }
        add_sequences(sum);
        sum.add(listed_samples(grids_of(batch_, model_, spelling_)));
        if (batch_.images != 0 && texts_of_grids(model_.cost) == 0) {
            sum.add(equal_samples(fixed_image(model_, spelling_), batch_.images));
        }
        if (batch_.audio_frames) {
            visit_for<Receiver>(*batch_.audio_frames, [&](const auto& frames) { sum.add_audio_frames(frames); });
        }
    }

  private:
    /// Adds sequences that were counted before, as two tallies: one of real sequences, one of mock sequences (slots
    /// with only padding).
    template <class Receiver>
    static void add_counted(const tally& real, const tally& mock, Receiver& sum) {
        if constexpr (std::is_same_v<Receiver, tally>) {
            (sum += real) += mock;
        } else if constexpr (std::is_constructible_v<Receiver, const tally&, const tally&>) {
            sum += Receiver(real, mock);
        } else {
            refuse_counted("its sequences are no longer known");
        }
    }
    /// Adds sequences that were counted before, real and mock sequences in one tally. A receiver that needs real and
    /// mock sequences in separate tallies throws if the tally has padding, because the tally cannot be split.
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
    [[noreturn]] static void refuse_counted(const char* why) {
        detail::refuse("tally", {"is counted already, so that ", why, ": pass the batch itself"});
    }
    [[noreturn]] void refuse(std::string_view name, std::initializer_list<piece> problem) const {
        detail::refuse(spelling_.field(name), problem);
    }
    [[nodiscard]] std::string option(std::string_view name) const { return spelling_.option(name); }
    [[nodiscard]] const mask_set& masks() const { return model_.cost.masks(); }

    void require_towers() const {
        const auto require = [&](bool is_present, modality which, std::string_view name) {
            if (is_present && !masks().has(which)) {
                refuse(name, {"must be absent: ", model_.model_type, " has no ", name_of(which), " tower"});
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
        const auto require_absent = [&](bool is_present, std::string_view name) {
            if (is_present) {
                detail::refuse(name, {model_.model_type, " has no text; use ", option("grid_thw"), ", ",
                                      option("images"), " or ", option("audio_frames")});
            }
        };
        for (const model_input::list& list : batch_.lengths) {
            require_absent(true, list.field);
        }
        require_absent(batch_.boundaries.has_value(), spelling_.field("cu_seqlens"));
        require_absent(batch_.attention_mask.has_value(), spelling_.field("attention_mask"));
        require_absent(!batch_.new_tokens.empty(), spelling_.field("new_tokens"));
        require_absent(!batch_.requests.empty(), spelling_.field("requests"));
        require_absent(!batch_.sequences.empty(), spelling_.field("sequences"));
    }

    /// Throws `error` if an encoder-decoder lacks the input of its encoder or decoder, or if another model gets encoder
    /// input.
    void require_sides() const {
        const bool needed = has_encoder(model_.cost);
        const bool has_lengths = batch_.encoder_lengths.has_value();
        if (const std::size_t texts = texts_of_grids(model_.cost); texts != 0) {
            if (texts_of(batch_, model_) == nullptr) {
                refuse("encoder_lengths",
                       {"is missing; ", model_.model_type, " attends to ",
                        texts == 1 ? "a text" : std::to_string(texts) + " texts", "; give ",
                        texts == 1 ? "its number" : "their numbers", " of tokens for each ", option("grid_thw")});
            }
            if (batch_.encoder_row_length) {
                refuse("encoder_row_length", {"must be absent: texts of ", model_.model_type, " are padded to ",
                                              option("encoder_lengths_padded")});
            }
            return;
        }
        if (batch_.encoder_lengths_padded) {
            refuse(
                "encoder_lengths_padded",
                {"must be absent: the grids of ", model_.model_type, " have no text",
                 needed ? text_of({"; pass the padded length of its encoder's rows by ", option("encoder_row_length")})
                        : std::string()});
        }
        if (batch_.encoder_row_length && (!needed || encodes_sound(model_))) {
            refuse("encoder_row_length", {"must be absent: ", model_.model_type, " has no encoder of text"});
        }
        const auto decoder = [&] { return text_of({option("lengths"), " are those of its decoder"}); };
        if (encodes_sound(model_)) {
            if (has_lengths) {
                refuse("encoder_lengths", {"must be absent: they follow from ", option("audio_frames"),
                                           ", since the encoder of ", model_.model_type, " takes sound"});
            }
            if (!batch_.audio_frames) {
                refuse("audio_frames",
                       {"must be passed: the encoder of ", model_.model_type, " takes sound, and ", decoder()});
            }
        } else if (needed && !has_lengths) {
            refuse("encoder_lengths", {"must be passed: ", model_.model_type, " has an encoder, and ", decoder()});
        }
        if (!needed && has_lengths) {
            refuse("encoder_lengths", {"must be absent: ", model_.model_type, " has no encoder"});
        }
        if (needed && batch_.lengths.size() != 1) {
            refuse("encoder_lengths", {"needs ", spelling_.one_list_of_lengths});
        }
        const auto require_absent = [&](bool is_present, std::string_view name) {
            if (needed && is_present) {
                refuse(
                    name,
                    {"cannot be used for a model with an encoder, because the encoder's lengths would be missing; use ",
                     option("lengths"), " and ", option("encoder_lengths")});
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

    /// Adds sequences by their lengths. If the model has an encoder, each sequence also gets its encoder length or its
    /// sound clip.
    template <class Receiver>
    void add_lengths(const model_input::list& list, Receiver& sum) const {
        if (encodes_sound(model_)) {
            add_both_sides(list, keys_of_clips(list), sum);
        } else if (batch_.encoder_lengths && texts_of_grids(model_.cost) == 0) {
            add_both_sides(list, *batch_.encoder_lengths, sum);
        } else {
            with_renamed_field("lengths", list.field, [&] {
                visit_for<Receiver>(list.lengths, [&](const auto& lengths) {
                    list.row_length ? sum.add_padded(lengths, *list.row_length) : sum.add_lengths(lengths);
                });
            });
        }
    }

    template <class Receiver>
    void add_both_sides(const model_input::list& list, const integer_view& keys, Receiver& sum) const {
        require_as_many(list.lengths.size(), list.field, keys.size(), "encoder_lengths");
        with_renamed_field("lengths", list.field, [&] {
            visit_both(list.lengths, keys, [&](const auto& lengths, const auto& other) {
                if (list.row_length || batch_.encoder_row_length) {
                    sum.add_encoder_decoder(lengths, other, {list.row_length, batch_.encoder_row_length});
                } else {
                    sum.add_encoder_decoder(lengths, other);
                }
            });
        });
    }

    [[nodiscard]] std::vector<std::uint32_t> keys_of_clips(const model_input::list& list) const {
        return batch_.audio_frames->visit([&](const auto& frames) {
            if (frames.size() != list.lengths.size()) {
                refuse("audio_frames", {"must have one clip for each of ", list.field, " (", list.lengths.size(),
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
        if (!batch_.sequences.empty() && std::none_of(masks().begin(), masks().end(), [](const statistic& mask) {
                return mask.is<mask_statistics::hstu>() || mask.is<unit_statistics::hstu_part>();
            })) {
            refuse("sequences", {"must be absent: ", model_.model_type,
                                 " has no HSTU mask of contextual tokens and targets; use ", option("lengths")});
        }
        for (const std::vector<sequence>* list : {&batch_.sequences, &batch_.new_tokens}) {
            sum.add(listed_samples(*list));
        }
        if (!batch_.requests.empty()) {
            with_renamed_field("requests", spelling_.field("requests"),
                               [&] { sum.add(request_passes(batch_.requests, batch_.prefill_chunk)); });
        }
    }

    const model_input& batch_;
    const model_config& model_;
    const input_spelling& spelling_;
};

/// Adds a batch like `add_input`, but requires an empty receiver. After an error the receiver may contain a part of the
/// batch.
template <class Receiver>
void fill_with_input(const model_input& batch, const model_config& model, Receiver& empty,
                     const input_spelling& spelling = plain_spelling) {
    input_adder(batch, model, spelling).add_to(empty);
    if (batch.names_any()) {
        if constexpr (std::is_same_v<Receiver, tally>) {
            require_placeholders(model, empty);
        } else {
            require_placeholders(model, empty.total());
        }
    }
}

}  // namespace detail

/// Adds a batch to a tally with the masks of the model, or to another receiver (`split_tally`, `masked_tiles`). If the
/// batch does not fit the model, throws `error` and adds nothing.
template <class Receiver>
void add_input(const model_input& batch, const model_config& model, Receiver& sum,
               const input_spelling& spelling = plain_spelling) {
    Receiver result = sum;
    result.clear();
    detail::fill_with_input(batch, model, result, spelling);
    sum += result;
}

}  // namespace floptally

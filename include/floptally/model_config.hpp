// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/parts_of.hpp>  // IWYU pragma: export
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>

namespace floptally {

/// How the core of multi-head latent attention is computed: with keys and values of every head, as in training, or over
/// the latent itself, as a decoder with a cache does.
enum class mla_core : std::uint8_t { expanded, absorbed };
inline constexpr const char* mla_core_names[] = {"expanded", "absorbed"};

/// What a config leaves open.
struct read_options {
    mla_core mla = mla_core::expanded;
    std::uint64_t mtp_layers = 0;  ///< layers of multi-token prediction that are trained
    std::uint64_t padded_vocab_size =
        0;  ///< of the lm_head as kernels run it, in the padded view; 0: as the config says
    /// Texts of pages (docs/pages.md) that come before those of the library. The config's `model_type` chooses among
    /// all; one without a type is read by the first page of the first text.
    std::vector<std::string> pages{};
    bool strict = false;  ///< a key that looks like structure and that nothing reads is an error, not a note
};

/// What a tower of a model takes, and what the text has of it.
struct tower_input {
    modality in = modality::vision;
    std::optional<grid> image{};       ///< the image (or clip) of fixed size that the config states, in patches
    std::optional<audio_clip> clip{};  ///< the clip of sound that every other is padded to, where the config states it
    /// Tokens of the text that stand for what the tower makes: `per_unit` for each unit of a mask, `per_frame` for each
    /// frame (or clip of sound).
    mask units = mask::bidirectional();
    std::uint64_t per_unit = 0;
    std::uint64_t per_frame = 0;
    std::uint64_t per_token = 0;  ///< for each patch, or frame of sound
    bool are_keys = false;        ///< no token stands for the units: a decoder attends them, `keys` of its sequences
};

/// Has a model's tallies keep the units that its tokens stand for. No row may be over these: where patches are pooled,
/// nothing need be multiplied.
inline void keep_units(const tower_input& of, cost& model) {
    if (of.per_unit != 0 && !of.are_keys) {
        model.keep(of.units);
    }
}

/// A model as a config describes it.
struct model_config {
    std::string model_type;
    floptally::cost cost;
    std::vector<std::string> notes;   ///< what the reader decided where the config is silent
    std::vector<model_part> parts;    ///< the same cost in forward order, for plans that treat layers differently
    std::vector<tower_input> towers;  ///< besides the text
};

/// Tokens of the text that stand for the images and the sound of a batch: none where the model has no text.
[[nodiscard]] inline std::uint64_t placeholder_tokens(const model_config& model, const tally& batch) {
    std::uint64_t sum = 0;
    if (!model.cost.masks().has(modality::text)) {
        return sum;
    }
    for (const tower_input& one : model.towers) {
        const std::uint64_t frames = batch.get(view::useful, statistic::count, one.in);
        sum = checked_add(sum, checked_multiply(one.per_frame, frames, "placeholders"), "placeholders");
        const std::uint64_t tokens = batch.get(view::useful, statistic::tokens, one.in);
        sum = checked_add(sum, checked_multiply(one.per_token, tokens, "placeholders"), "placeholders");
        if (one.per_unit != 0 && !one.are_keys) {
            const std::uint64_t units = batch.pairs(view::useful, one.units);
            sum = checked_add(sum, checked_multiply(one.per_unit, units, "placeholders"), "placeholders");
        }
    }
    return sum;
}

/// What a decoder attends of a clip of sound, `keys` of its sequence: what the encoder leaves of the frames, where the
/// encoder is an audio tower, as Whisper's. 0 where it is not.
[[nodiscard]] inline std::uint32_t keys_of(const model_config& model, const audio_clip& clip) {
    for (const tower_input& one : model.towers) {
        if (one.are_keys) {
            return static_cast<std::uint32_t>(one.units.pairs(clip));
        }
    }
    return 0;
}

/// Throws where the sequences of a batch are shorter than what stands in them for its images and sound.
inline void require_placeholders(const model_config& model, const tally& batch) {
    const std::uint64_t placeholders = placeholder_tokens(model, batch);
    const std::uint64_t tokens = batch.get(view::useful, statistic::tokens);
    if (tokens < placeholders) {
        throw error("lengths", "must count the placeholders of images and sound too, which are " +
                                   std::to_string(placeholders) + " tokens; got " + std::to_string(tokens));
    }
}

/// A model's text, or one of its towers with its projector, as a module of its own: the parts of the others stay in
/// the list, marked `elsewhere`, so that a plan sees the whole graph. Modules are disjoint and add up to the model.
[[nodiscard]] inline std::vector<model_part> parts_of(std::span<const model_part> model, modality which) {
    std::vector<model_part> module(model.begin(), model.end());
    for (model_part& one : module) {
        one.elsewhere = one.elsewhere || one.in() != which;
    }
    return module;
}

}  // namespace floptally

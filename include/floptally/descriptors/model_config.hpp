// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>  // IWYU pragma: export
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// `model_config`: a model as a config describes it; and `read_options`: the choices that a config leaves open.

namespace floptally::inline v0_3 {

/// The two ways to compute the core of multi-head latent attention. `expanded`: with keys and values for each head, as
/// in training. `absorbed`: over the latent itself, as in a decoder with a cache.
enum class mla_core : std::uint8_t { expanded, absorbed };
/// The names of the values of `mla_core`, in the same order.
inline constexpr const char* mla_core_names[] = {"expanded", "absorbed"};

/// A text of model specs (docs/specs.md), and the file that it was read from. An error in the text shows the name of
/// the spec that contains the error. For an error before the first spec it shows the name of the file.
struct spec_text {
    std::string text;
    std::string file{};
    spec_text(std::string specs, std::string read_from = {})  // NOLINT(google-explicit-constructor): any text will do
        : text(std::move(specs)), file(std::move(read_from)) {}
    spec_text(const char* specs) : text(specs) {}  // NOLINT(google-explicit-constructor)
};

/// The choices that a config leaves open.
struct read_options {
    mla_core mla = mla_core::expanded;
    std::uint64_t mtp_layers = 0;  ///< number of layers of multi-token prediction that train
    /// Padded size of the vocabulary in the kernels of the lm_head. It counts in the padded view. 0: as the config
    /// says.
    std::uint64_t padded_vocab_size = 0;
    /// Your own specs. They take precedence over the library's specs. The config's `model_type` chooses the spec. For a
    /// config without `model_type`, the first spec of the first text is used.
    std::vector<spec_text> specs{};
    /// Folder names of the models that are read from a diffusers pipeline. The first model trains. The others run
    /// before it, frozen and forward only. If the list is empty, only the denoiser is read: the pipeline's transformer
    /// or UNet.
    std::vector<std::string> parts{};
    /// The treatment of a key that the model's class neither reads nor ignores. By default, reading throws an `error`
    /// if the key looks like a size ("num_recurrent_steps": 3), and adds a note for any other such key. False: all such
    /// keys are notes. True: all are errors. With true, it is also an error if the config has no key for a size, so
    /// that the default of the class would be used.
    std::optional<bool> strict{};
};

namespace detail {

inline constexpr std::string_view class_sizes_note = "config does not say all sizes";
inline constexpr std::string_view names_note = "config has two names of one size that differ: ";
inline constexpr std::string_view head_note = "config names no architectures";
inline constexpr std::string_view unread_size_note = "config has a size that is not read: ";
inline constexpr std::string_view unread_note = "config has a key that is not read: ";
/// The end of an `unread_note` whose key is nearly a key that is read and that the config lacks: "windwo (3); window is
/// read".
inline constexpr std::string_view nearest_is_read = " is read";

}  // namespace detail

/// Returns true if a note of `model_config::notes` assumes a size of the model. Examples are a default of the model's
/// class, a size under two names that differ, a head that the config does not name, and a key that looks like a size
/// but is not read (with `read_options::strict` false). Another example is an unread key that looks like a misspelt
/// key.
[[nodiscard]] inline bool is_assumption(std::string_view note) {
    const auto begins_with = [note](std::string_view start) {
        // In the notes of a pipeline, the name of the model comes first: "text_encoder: config ...".
        const std::size_t at = note.find(start);
        return at == 0 || (at != std::string_view::npos && at >= 2 && note.substr(at - 2, 2) == ": ");
    };
    return begins_with(detail::class_sizes_note) || begins_with(detail::names_note) || begins_with(detail::head_note) ||
           begins_with(detail::unread_size_note) ||
           (begins_with(detail::unread_note) && note.ends_with(detail::nearest_is_read));
}

/// The input of a model's tower, and the number of text tokens that stand for its output.
struct tower_input {
    modality in = modality::vision;
    std::optional<grid> image{};       ///< the fixed size of an image (or clip) in patches, if the config states one
    std::optional<audio_clip> clip{};  ///< the length that all audio clips are padded to, if the config states it
    /// The statistic that counts the tower's output units (merged patches, output frames, …). The text has `per_unit`
    /// placeholder tokens for each of these units, plus `per_frame` for each frame or audio clip.
    mask units = mask::bidirectional();
    std::uint64_t per_unit = 0;
    std::uint64_t per_frame = 0;
    std::uint64_t per_token = 0;     ///< number of text tokens for each patch or audio frame
    std::uint32_t pixels = 0;        ///< side of a grid cell in pixels; 0: unknown
    std::uint32_t pixel_frames = 1;  ///< video frames in a grid cell; the first cell of a clip always has one frame
    bool are_keys = false;           ///< true: a decoder attends to the output (`keys`); no text tokens stand for it
    /// True: the tower's layers also read a text. The number of its tokens is `grid::keys`.
    bool meets_text = false;
};

/// Makes the tallies of a model count the tower's output units. The number of placeholder tokens follows from them. No
/// cost entry needs the number of units, because pooling has no matrix product.
inline void keep_units(const tower_input& tower, cost& model) {
    if (tower.per_unit != 0 && !tower.are_keys) {
        model.keep(tower.units);
    }
}

/// A model as a config describes it: cost, parts and towers.
struct model_config {
    std::string model_type{};
    floptally::cost cost{};
    std::vector<std::string> notes{};   ///< what the config reader assumed where the config says nothing
    std::vector<model_part> parts{};    ///< the parts of `cost` in forward order, for plans that freeze or recompute
                                        ///< only some layers
    std::vector<tower_input> towers{};  ///< vision and audio towers
};

/// Returns the notes that say which sizes of a model the config reader assumed.
[[nodiscard]] inline std::vector<std::string> assumptions_of(const model_config& model) {
    std::vector<std::string> assumptions;
    for (const std::string& note : model.notes) {
        if (is_assumption(note)) {
            assumptions.push_back(note);
        }
    }
    return assumptions;
}

/// Returns the number of encoder tokens (`keys`) that a decoder attends to for an audio clip: the output frames of an
/// audio encoder such as Whisper's. Returns 0 for a model without an audio encoder.
[[nodiscard]] inline std::uint32_t keys_of(const model_config& model, const audio_clip& clip) {
    for (const tower_input& tower : model.towers) {
        if (tower.are_keys) {
            return static_cast<std::uint32_t>(tower.units.pairs(clip));
        }
    }
    return 0;
}

}  // namespace floptally

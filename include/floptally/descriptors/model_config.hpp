// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>  // IWYU pragma: export
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// A model as a config describes it, and the choices that a config leaves open.

namespace floptally {

/// How the core of multi-head latent attention is computed: with keys and values of every head, as in training, or over
/// the latent itself, as a decoder with a cache does.
enum class mla_core : std::uint8_t { expanded, absorbed };
/// The names of `mla_core`, in its order.
inline constexpr const char* mla_core_names[] = {"expanded", "absorbed"};

/// A text of pages (docs/pages.md), and the file that it was read from, which an error names where the text has no name
/// of a page yet.
struct page_text {
    std::string text;
    std::string file{};
    page_text(std::string pages, std::string read_from = {})  // NOLINT(google-explicit-constructor): a text is one
        : text(std::move(pages)), file(std::move(read_from)) {}
    page_text(const char* pages) : text(pages) {}  // NOLINT(google-explicit-constructor)
};

/// Choices that a config leaves open.
struct read_options {
    mla_core mla = mla_core::expanded;
    std::uint64_t mtp_layers = 0;  ///< layers of multi-token prediction that are trained
    std::uint64_t padded_vocab_size =
        0;  ///< of the lm_head as kernels run it, in the padded view; 0: as the config says
    /// Pages that come before those of the library. The config's `model_type` chooses among
    /// all; one without a type is read by the first page of the first text.
    std::vector<page_text> pages{};
    /// The models of a pipeline that are read, by the names of their folders: the first trains, and the others run
    /// before it, frozen and forward only. Without a name it is what denoises: its transformer or UNet.
    std::vector<std::string> parts{};
    /// A key that nothing reads and that its class does not ignore, and a size that the config leaves to its class, are
    /// errors, not notes.
    bool strict = false;
};

/// The input of a tower of a model, and the tokens of the text that stand for it.
struct tower_input {
    modality in = modality::vision;
    std::optional<grid> image{};       ///< the image (or clip) of fixed size that the config states, in patches
    std::optional<audio_clip> clip{};  ///< the clip of sound that every other is padded to, where the config states it
    /// Tokens of the text that stand for what the tower makes: `per_unit` for each unit of a mask, `per_frame` for each
    /// frame (or clip of sound).
    mask units = mask::bidirectional();
    std::uint64_t per_unit = 0;
    std::uint64_t per_frame = 0;
    std::uint64_t per_token = 0;     ///< for each patch, or frame of sound
    std::uint32_t pixels = 0;        ///< of a side of a cell of its grids; 0: what makes cells is not known
    std::uint32_t pixel_frames = 1;  ///< of a cell of its grids, but for the first, which has one
    bool are_keys = false;           ///< no token stands for the units: a decoder attends them, `keys` of its sequences
    bool meets_text = false;         ///< it stands beside a text: that of a grid, if it has one, is the sequence there
};

/// Makes a model's tallies count the units that its tokens stand for, which need no row: pooling multiplies nothing.
inline void keep_units(const tower_input& tower, cost& model) {
    if (tower.per_unit != 0 && !tower.are_keys) {
        model.keep(tower.units);
    }
}

/// A model as a config describes it: its cost, its parts, its towers.
struct model_config {
    std::string model_type;
    floptally::cost cost;
    std::vector<std::string> notes;   ///< what the reader decided where the config is silent
    std::vector<model_part> parts;    ///< the same cost in forward order, for plans that treat layers differently
    std::vector<tower_input> towers;  ///< besides the text
};

/// The `keys` of a decoder's sequence that a clip of sound makes: the frames that its encoder leaves, where that is an
/// audio tower, as Whisper's; else 0.
[[nodiscard]] inline std::uint32_t keys_of(const model_config& model, const audio_clip& clip) {
    for (const tower_input& tower : model.towers) {
        if (tower.are_keys) {
            return static_cast<std::uint32_t>(tower.units.pairs(clip));
        }
    }
    return 0;
}

}  // namespace floptally

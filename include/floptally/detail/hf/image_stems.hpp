// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/model/vision.hpp>
#include <floptally/model_config.hpp>

/// @file
/// What makes tokens of pixels in a vision transformer: a convolution over patches, tables of positions, class tokens.

namespace floptally::detail {

/// Height and width of an image or a patch.
struct hf_area {
    std::uint64_t height = 0;
    std::uint64_t width = 0;
};

/// The stem of a family, as data.
struct image_stem {
    hf_size image{{"image_size"}, 224};
    hf_size patch{{"patch_size"}, 16};
    hf_size channels{{"num_channels"}, 3};
    bool bias = true;
    bool pairs = false;            ///< the class reads [height, width] too
    presence positions = always;   ///< a learned row for each patch
    std::uint64_t class_rows = 2;  ///< other learned rows: a class token and its position
    hf_width more_rows = nullptr;  ///< those that depend on the config
    hf_size frames{};              ///< of a clip; without a name images
    hf_size tubelet{};             ///< frames that make one patch
    hf_width width = hidden_width;
    bool norm = false;  ///< after the convolution
};

/// A size that may be a pair: one number stands for both sides.
[[nodiscard]] inline hf_area read_area(const hf_model& model, const hf_size& size, bool pairs) {
    const std::string_view key = model.config.spelling(size.keys);
    const json* given = model.config.find(key);
    if (!pairs || given == nullptr || !given->is_array()) {
        const std::uint64_t side = model.read(size);
        return {side, side};
    }
    if (given->size() != 2) {
        throw error(model.config.field(key), "must be an integer or [height, width], got " + shown(*given));
    }
    const auto at = [&](std::size_t i) {
        return config_fields::as_integer((*given)[i], indexed(model.config.field(key), i), 1, max_dimension);
    };
    return {at(0), at(1)};
}

/// Cells along one side. A rest at the border is cut off, as a convolution does.
[[nodiscard]] inline std::uint32_t cells_of(const hf_model& model, const hf_size& whole, std::uint64_t size,
                                            std::string_view of, std::uint64_t part) {
    if (size < part || size / part > 0xFFFF) {
        throw error(model.config.field(model.config.spelling(whole.keys)),
                    "must be from 1 to 65535 times " + std::string(of) + " (" + std::to_string(part) + "), got " +
                        std::to_string(size));
    }
    return static_cast<std::uint32_t>(size / part);
}

/// The patches of the image (or clip) that a config states.
[[nodiscard]] inline grid image_grid(const hf_model& model, const image_stem& stem) {
    const hf_area image = read_area(model, stem.image, stem.pairs);
    const hf_area patch = read_area(model, stem.patch, stem.pairs);
    const std::string_view of = model.config.spelling(stem.patch.keys);
    std::uint32_t frames = 1;
    if (!stem.frames.keys.empty()) {
        frames = cells_of(model, stem.frames, model.read(stem.frames), model.config.spelling(stem.tubelet.keys),
                          model.read(stem.tubelet));
    }
    return {frames, cells_of(model, stem.image, image.height, of, patch.height),
            cells_of(model, stem.image, image.width, of, patch.width)};
}

template <const image_stem& Stem>
[[nodiscard]] tower_input fixed_images(const hf_model& model) {
    return {.image = image_grid(model, Stem)};
}

/// A convolution over patches, and learned rows.
template <const image_stem& Stem>
[[nodiscard]] cost stem_of(const hf_model& model) {
    const std::uint64_t h = Stem.width(model);
    const hf_area patch = read_area(model, Stem.patch, Stem.pairs);
    cost sum = patch_embedding{.in_channels = model.read(Stem.channels),
                               .patch_size = patch.height,
                               .patch_width = patch.width,
                               .temporal_patch_size = Stem.tubelet.keys.empty() ? 1 : model.read(Stem.tubelet),
                               .bias = Stem.bias}
                   .cost(h);
    const grid image = image_grid(model, Stem);
    const std::uint64_t rows = (model.has(Stem.positions) ? image.t * image.frame_patches() : 0) + Stem.class_rows +
                               (Stem.more_rows == nullptr ? 0 : Stem.more_rows(model));
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(rows, h, "embedding"));
    sum.add_parameters("norm", term::norm, Stem.norm ? 2 * h : 0);
    return sum;
}

template <std::uint64_t Tokens>
[[nodiscard]] std::uint64_t class_tokens(const hf_model&) {
    return Tokens;
}

/// `count` more tokens or rows, as an integer of the config says; 0: none.
template <std::uint64_t Always, const hf_size& Registers>
[[nodiscard]] std::uint64_t class_tokens_and(const hf_model& model) {
    return Always + model.read_or_none(Registers);
}

}  // namespace floptally::detail

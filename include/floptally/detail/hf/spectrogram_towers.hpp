// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// The Audio Spectrogram Transformer (arXiv:2104.01778): a vision transformer, whose images are spectrograms of one
/// size in patches that overlap. Its clips are grids of the vision tower.

namespace floptally::detail {

/// Positions of a patch on an axis.
[[nodiscard]] inline std::uint32_t spectrogram_cells(const hf_model& model, std::string_view length_key,
                                                     std::uint64_t length_otherwise, std::string_view stride_key) {
    const std::uint64_t side = model.config.dimension({"patch_size"}, 16);
    const std::uint64_t length = model.config.dimension({length_key}, length_otherwise);
    const std::uint64_t stride = model.config.dimension({stride_key}, 10);
    if (length < side || (length - side) / stride >= 0xFFFF) {
        throw error(model.config.field(length_key), "must be at least patch_size (" + std::to_string(side) +
                                                        ") and at most 65534 strides more, got " +
                                                        std::to_string(length));
    }
    return static_cast<std::uint32_t>((length - side) / stride + 1);
}
[[nodiscard]] inline grid spectrogram_grid(const hf_model& model) {
    return {1, spectrogram_cells(model, "num_mel_bins", 128, "frequency_stride"),
            spectrogram_cells(model, "max_length", 1024, "time_stride")};
}
[[nodiscard]] inline tower_input spectrograms(const hf_model& model) { return {.image = spectrogram_grid(model)}; }

/// A class token and one for distillation.
[[nodiscard]] inline std::uint64_t two_class_tokens(const hf_model&) { return 2; }

[[nodiscard]] inline cost spectrogram_stem(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    cost sum =
        patch_embedding{.in_channels = 1, .patch_size = model.config.dimension({"patch_size"}, 16), .bias = true}.cost(
            h);
    const std::uint64_t positions = spectrogram_grid(model).frame_patches() + 2;
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(positions + 2, h, "embedding"));
    return sum;
}

/// The norm before the classifier.
[[nodiscard]] inline cost classifier_norm(const hf_model& model) {
    const json* named = model.config.array("architectures");
    const bool bare = named != nullptr && !named->empty() && named->front() == "ASTModel";
    cost sum;
    sum.add_parameters("norm", term::norm, bare ? 0 : 2 * model.sizes.hidden_size);
    return sum;
}

inline constexpr std::array spectrogram_heads{
    head{"ForAudioClassification", {{labels_width, per_sequence, true}}},
    head{"Model", {}},
};

inline constexpr std::array spectrogram_towers{
    vit_like({.model_type = "audio-spectrogram-transformer",
              .class_prefix = "AST",
              .heads = spectrogram_heads,
              .qkv_bias = if_qkv_bias,
              .once = classifier_norm,
              .stem = spectrogram_stem,
              .prefix_tokens = two_class_tokens,
              .input = spectrograms}),
};

}  // namespace floptally::detail

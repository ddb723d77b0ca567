// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// Parts of vision towers over patches of images of any size: Qwen2-VL (arXiv:2409.12191) and its descendants.

namespace floptally::detail {

inline constexpr hf_size in_channels_3{{"in_channels"}, 3};
inline constexpr hf_size patch_size_14{{"patch_size"}, 14};
inline constexpr hf_size patch_size_of_16{{"patch_size"}, 16};
inline constexpr hf_size two_frames{{"temporal_patch_size"}, 2};
inline constexpr hf_size merge_size_2{{"spatial_merge_size"}, 2};

/// What stands before the blocks.
struct patch_stem {
    hf_size channels = in_channels_3;
    hf_size patch = patch_size_14;
    hf_size frames{};  ///< that make one patch; without a name it is one
    bool bias = true;
};

[[nodiscard]] inline cost patches_of(const hf_model& model, const patch_stem& stem, std::uint64_t positions = 0) {
    const std::uint64_t h = model.sizes.hidden_size;
    cost sum = patch_embedding{.in_channels = stem.channels.keys.empty() ? 3 : model.read(stem.channels),
                               .patch_size = model.read(stem.patch),
                               .temporal_patch_size = stem.frames.keys.empty() ? 1 : model.read(stem.frames),
                               .bias = stem.bias}
                   .cost(h);
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(positions, h, "embedding"));
    return sum;
}

/// Attention within windows in the layers of the letter W: `window_size` pixels, rounded down to whole merged cells.
[[nodiscard]] inline cost windowed_attention(const hf_model& model, const hf_layer& at) {
    if (at.mixer != 'W') {
        return fused_gqa_part(model, at);
    }
    const std::uint64_t merge = model.read(merge_size_2);
    const std::uint64_t patch = model.read(patch_size_14);
    const std::uint64_t pixels = model.config.dimension({"window_size"}, 112);
    const std::uint64_t cells = pixels / merge / patch;
    if (cells == 0) {
        throw error(model.config.field("window_size"), "must be at least spatial_merge_size x patch_size (" +
                                                           std::to_string(merge) + " x " + std::to_string(patch) +
                                                           "), got " + std::to_string(pixels));
    }
    hf_layer within = at;
    within.where.attends = mask::grid_windows(static_cast<std::int64_t>(cells * merge));
    return fused_gqa_part(model, within);
}

/// Full attention in the layers that `fullatt_block_indexes` lists, windows in the others.
[[nodiscard]] inline std::string windows_but_listed(const hf_model& model) {
    constexpr std::uint64_t usual[] = {7, 15, 23, 31};
    if (!model.config.contains("fullatt_block_indexes")) {
        return where(model, 'F', 'W', [&usual](std::uint64_t i) {
            return std::find(std::begin(usual), std::end(usual), i) != std::end(usual);
        });
    }
    return marked(model, every_layer(model, 'W'), "fullatt_block_indexes", 'F');
}

/// The merger of Qwen's towers, with a norm of so many parameters before it and two biases.
[[nodiscard]] inline patch_merger merger_of(const hf_model& model, std::uint64_t out_features, std::uint64_t norm) {
    const std::uint64_t side = model.read(merge_size_2);
    const std::uint64_t merged =
        checked_multiply(checked_multiply(side, side, "merger"), model.sizes.hidden_size, "merger");
    return {.spatial_merge_size = side,
            .hidden_size = model.sizes.hidden_size,
            .out_features = out_features,
            .elementwise = {.norm = norm, .bias = merged + out_features}};
}

inline constexpr hf_size out_hidden_3584{{"out_hidden_size"}, 3584};

/// How many layers hand their patches to DeepStack (arXiv:2406.04334).
[[nodiscard]] inline std::uint64_t deepstack_layers(const hf_model& model) {
    const std::string_view key = "deepstack_visual_indexes";
    const json usual = {8, 16, 24};
    const json& listed = model.config.contains(key) ? *model.config.find(key) : usual;
    if (!listed.is_array()) {
        throw error(model.config.field(key), "must be a list, got " + shown(listed));
    }
    std::vector<std::uint64_t> seen;
    for (std::size_t i = 0; i < listed.size(); ++i) {
        const std::string field = indexed(model.config.field(key), i);
        if (!model.config.contains(key) && i == 0 && model.sizes.num_layers < 25) {
            throw error(model.config.field(key), "is missing, and its default [8,16,24] is not of " +
                                                     std::to_string(model.sizes.num_layers) + " layers");
        }
        const std::uint64_t index = config_fields::as_integer(listed[i], field, 0, model.sizes.num_layers - 1);
        if (std::find(seen.begin(), seen.end(), index) != seen.end()) {
            throw error(field, "is listed twice: " + std::to_string(index));
        }
        seen.push_back(index);
    }
    return seen.size();
}

/// The units of patches after merging are tokens of the text.
[[nodiscard]] inline tower_input merged_images(const hf_model& model) {
    return {.units = mask::merged_patches(static_cast<std::int64_t>(model.read(merge_size_2))), .per_unit = 1};
}

/// A square table of positions, as many as patches of an image of `image_size`.
[[nodiscard]] inline std::uint64_t square_positions(const hf_model& model, std::uint64_t pixels,
                                                    const hf_size& patch_size) {
    const std::uint64_t side = pixels / model.read(patch_size);
    return side * side;
}

}  // namespace floptally::detail

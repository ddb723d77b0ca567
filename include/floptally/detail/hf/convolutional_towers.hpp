// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/levels.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// ConvNeXt and kin: depthwise convolutions and MLPs, with a convolution of stride 2 between levels. A convolution is a
/// matrix at each of its outputs, at the border too.

namespace floptally::detail {

[[nodiscard]] inline hf_list convnext_widths(const hf_model& model) {
    return read_levels(model, "hidden_sizes", {96, 192, 384, 768});
}
[[nodiscard]] inline hf_list convnext_depths(const hf_model& model) {
    return read_levels(model, "depths", {3, 3, 9, 3});
}
[[nodiscard]] inline std::uint64_t first_width(const hf_model& model) { return convnext_widths(model).front(); }

inline constexpr image_stem convnext_stem{
    .patch = {{"patch_size"}, 4}, .pairs = true, .positions = {}, .class_rows = 0, .width = first_width, .norm = true};

inline void adjust_convnext(hf_model& model) {
    const bool fixed = model.family.model_type == "dinov3_convnext";
    if (fixed && model.config.has_value("patch_size") && model.config.dimension({"patch_size"}) != 4) {
        throw error(model.config.field("patch_size"), model.refusal("4", *model.config.find("patch_size")));
    }
    const hf_list widths = convnext_widths(model);
    const hf_list depths = convnext_depths(model);
    require_levels(model, "hidden_sizes", widths,
                   static_cast<std::size_t>(model.read({{"num_stages", "num_hidden_layers"}, depths.size()})));
    require_levels(model, "depths", depths, widths.size());
    model.sizes.num_layers = layers_of(model, depths);
    model.sizes.hidden_size = widths.back();
}

/// The cells that halvings leave, a rest cut off.
[[nodiscard]] inline cost of_halved_cells(const cost& tokens, std::uint64_t level) {
    const std::int64_t stride = std::int64_t{1} << level;
    return level == 0 ? tokens : tokens.over(mask::strided_cells(stride, stride));
}

/// A convolution over 7 x 7 cells of each channel by itself, and before the first of a level one of all channels over
/// 2 x 2 cells.
[[nodiscard]] inline cost convnext_mixer(const hf_model& model, const hf_layer& at) {
    const hf_level one = level_of(convnext_depths(model), at.where.index);
    const hf_list widths = convnext_widths(model);
    const std::uint64_t width = widths[static_cast<std::size_t>(one.level)];
    cost sum;
    if (one.level != 0 && one.index == 0) {
        const std::uint64_t before = widths[static_cast<std::size_t>(one.level - 1)];
        sum.add("downsampling", linear{.in_features = 4 * before,
                                       .out_features = width,
                                       .reads = value::stream,
                                       .writes = value::made(0),
                                       .adaptable = false});
        sum.add_parameters("norm", term::norm, 2 * before);
        sum.add_parameters("bias", term::bias, width);
    }
    sum.add("convolution", linear{.in_features = 49,
                                  .out_features = width,
                                  .reads = value::stream,
                                  .writes = value::made(1),
                                  .adaptable = false});
    sum.add_parameters("bias", term::bias, width);
    return of_halved_cells(sum, one.level);
}

/// An MLP of four times the width. The first version scales what it adds, the second norms inside.
[[nodiscard]] inline cost convnext_dense(const hf_model& model, const hf_layer& at) {
    const hf_level one = level_of(convnext_depths(model), at.where.index);
    const std::uint64_t width = convnext_widths(model)[static_cast<std::size_t>(one.level)];
    const bool response_norm = model.family.model_type == "convnextv2";
    const bool scales = model.family.model_type == "dinov3_convnext" ||
                        (!response_norm && read_number(model, "layer_scale_init_value", 1e-6) > 0);
    const std::uint64_t norms = 2 * width + (response_norm ? 8 * width : scales ? width : 0);
    return of_halved_cells(mlp{4 * width, {.norm = norms, .bias = 5 * width}}.cost({at.where.index, width, {}}),
                           one.level);
}

inline constexpr std::array convnext_heads{
    head{"ForImageClassification", {image_classifier}},
    head{"Model", {}},
};
inline constexpr std::array dinov3_convnext_heads{
    head{"Model", {}},
};

[[nodiscard]] constexpr hf_family convnext_like(std::string_view model_type, std::string_view prefix,
                                                std::span<const head> heads = convnext_heads) {
    hf_family family = of_levels({.model_type = model_type, .class_prefix = prefix, .heads = heads});
    family.attention = convnext_mixer;
    family.dense = convnext_dense;
    family.resolve = adjust_convnext;
    family.stem = stem_of<convnext_stem>;
    family.input = fixed_images<convnext_stem>;
    return family;
}

inline constexpr std::array convolutional_towers{
    convnext_like("convnext", "ConvNext"),
    convnext_like("convnextv2", "ConvNextV2"),
    convnext_like("dinov3_convnext", "DINOv3ConvNext", dinov3_convnext_heads),
};

}  // namespace floptally::detail

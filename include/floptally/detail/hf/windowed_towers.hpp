// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/levels.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// Swin and Swin 2: attention within windows of a grid that is merged, two by two cells, between levels.

namespace floptally::detail {

[[nodiscard]] inline std::uint64_t swin_embedding_width(const hf_model& model) {
    return model.read({{"embed_dim"}, 96});
}
inline constexpr image_stem swin_stem{.patch = {{"patch_size"}, 4},
                                      .pairs = true,
                                      .positions = {"use_absolute_embeddings", false},
                                      .class_rows = 0,
                                      .width = swin_embedding_width,
                                      .norm = true};

[[nodiscard]] inline hf_list swin_depths(const hf_model& model) { return read_levels(model, "depths", {2, 2, 6, 2}); }

inline void adjust_swin(hf_model& model) {
    const hf_list depths = swin_depths(model);
    require_levels(model, "num_heads", read_levels(model, "num_heads", {3, 6, 12, 24}), depths.size());
    model.sizes.num_layers = layers_of(model, depths);
    model.sizes.hidden_size = checked_multiply(swin_embedding_width(model), std::uint64_t{1} << (depths.size() - 1),
                                               model.config.field("embed_dim"));
}

/// The cells of a level. The first is the grid itself.
[[nodiscard]] inline cost of_cells(const cost& tokens, std::uint64_t level) {
    return level == 0 ? tokens : tokens.over(mask::strided_cells(1, std::int64_t{1} << level));
}

/// A layer: its level, width and heads.
struct swin_layer {
    hf_level at;
    std::uint64_t width = 0;
    std::uint64_t num_heads = 0;
};

[[nodiscard]] inline swin_layer swin_layer_of(const hf_model& model, const hf_layer& at) {
    const hf_level level = level_of(swin_depths(model), at.where.index);
    const std::uint64_t heads = read_levels(model, "num_heads", {3, 6, 12, 24})[static_cast<std::size_t>(level.level)];
    const std::uint64_t width = swin_embedding_width(model) << level.level;
    if (width % heads != 0) {
        throw error(indexed(model.config.field("num_heads"), static_cast<std::size_t>(level.level)),
                    "must divide the width of its level (" + std::to_string(width) + "), got " + std::to_string(heads));
    }
    return {level, width, heads};
}

/// Its windows, which every second layer shifts.
[[nodiscard]] inline mask swin_windows(const hf_model& model, const hf_level& at) {
    const std::uint64_t window = model.read({{"window_size"}, 7});
    const bool second = at.index % 2 == 1;
    const auto level = static_cast<std::int64_t>(at.level);
    if (model.family.model_type == "swin") {
        return mask::level_windows(static_cast<std::int64_t>(window), level, second, true);
    }
    // Swin 2 fixes them where it is made, for the image of its config.
    const std::uint64_t cells = std::uint64_t{image_grid(model, swin_stem).h} >> at.level;
    return mask::level_windows(static_cast<std::int64_t>(cells < window ? cells : window), level,
                               second && cells > window, false);
}

[[nodiscard]] inline cost swin_attention(const hf_model& model, const hf_layer& at) {
    const swin_layer one = swin_layer_of(model, at);
    const bool first = model.family.model_type == "swin";
    const std::uint64_t window = model.read({{"window_size"}, 7});
    const std::uint64_t biases = model.has(if_qkv_bias) ? (first ? 3 : 2) : 0;  // Swin 2: keys have none
    cost sum = gqa{.num_heads = one.num_heads,
                   .num_kv_heads = one.num_heads,
                   .head_dim = one.width / one.num_heads,
                   .elementwise = {.norm = 4 * one.width, .bias = (biases + 1) * one.width}}
                   .cost({at.where.index, one.width, swin_windows(model, one.at)});
    // Biases of the scores: a table, or two small matrices that make one (and a scale), once for all windows.
    sum.add_parameters(
        "embedding", term::position_embedding,
        first ? (2 * window - 1) * (2 * window - 1) * one.num_heads : 3 * 512 + 512 * one.num_heads + one.num_heads);
    return of_cells(sum, one.at.level);
}

[[nodiscard]] inline cost swin_dense(const hf_model& model, const hf_layer& at) {
    const swin_layer one = swin_layer_of(model, at);
    const std::uint64_t width = truncated(read_factor(model, "mlp_ratio", 4.0), one.width);
    return of_cells(mlp{width, {.bias = width + one.width}}.cost({at.where.index, one.width, {}}), one.at.level);
}

/// After the last layer of a level: four cells become one of twice the width.
[[nodiscard]] inline cost swin_merging(const hf_model& model, const hf_layer& at) {
    const swin_layer one = swin_layer_of(model, at);
    if (!one.at.last || at.where.index + 1 == model.sizes.num_layers) {
        return {};
    }
    cost sum;
    sum.add("merger", linear{.in_features = 4 * one.width,
                             .out_features = 2 * one.width,
                             .weight = "reduction",
                             .reads = value::stream});
    sum.add_parameters("norm", term::norm, 2 * (model.family.model_type == "swin" ? 4 : 2) * one.width);
    return of_cells(sum, one.at.level + 1);
}

inline constexpr std::array swin_heads{
    head{"ForImageClassification", {image_classifier}},
    head{"Model", {}},
};

[[nodiscard]] constexpr hf_family swin_like(std::string_view model_type, std::string_view prefix) {
    hf_family family = of_levels({.model_type = model_type, .class_prefix = prefix, .heads = swin_heads});
    family.attention = swin_attention;
    family.dense = swin_dense;
    family.more = swin_merging;
    family.resolve = adjust_swin;
    family.stem = stem_of<swin_stem>;
    family.input = fixed_images<swin_stem>;
    return family;
}

inline constexpr std::array windowed_towers{
    swin_like("swin", "Swin"),
    swin_like("swinv2", "Swinv2"),
};

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>

/// @file
/// BEiT and data2vec-vision, whose positions are biases of the scores, and YOLOS, whose last tokens detect objects.

namespace floptally::detail {

// ---- BEiT ----

inline constexpr presence if_absolute_positions{"use_absolute_position_embeddings", false};

[[nodiscard]] inline std::uint64_t beit_rows(const hf_model& model) {
    return (model.config.flag("use_mask_token", false) ? 1 : 0) + (model.has(if_absolute_positions) ? 1 : 0);
}
inline constexpr image_stem beit_stem{
    .pairs = true, .positions = if_absolute_positions, .class_rows = 1, .more_rows = beit_rows};

/// A number per head and offset in the image, and three of the class token.
[[nodiscard]] inline cost relative_biases(const hf_model& model, const char* key) {
    const grid image = image_grid(model, beit_stem);
    const std::uint64_t offsets = (2 * std::uint64_t{image.h} - 1) * (2 * std::uint64_t{image.w} - 1) + 3;
    cost sum;
    sum.add_parameters("embedding", term::position_embedding,
                       model.config.flag(key, false) ? offsets * model.sizes.num_heads : 0);
    return sum;
}
[[nodiscard]] inline cost beit_shared_biases(const hf_model& model) {
    return relative_biases(model, "use_shared_relative_position_bias");
}

/// Keys have no bias.
[[nodiscard]] inline cost beit_attention(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.elementwise.bias = 2 * part.num_heads * part.head_dim + at.where.hidden_size;
    return part.cost(at.where) + relative_biases(model, "use_relative_position_bias");
}

/// A factor per channel on what each half of a layer adds, unless it starts at 0.
[[nodiscard]] inline cost beit_scales(const hf_model& model, const hf_layer& at) {
    cost sum;
    const bool scales = read_number(model, "layer_scale_init_value", 0.1) > 0;
    sum.add_parameters("norm", term::norm, scales ? 2 * at.where.hidden_size : 0);
    return sum;
}

template <std::uint64_t WithMean, std::uint64_t WithClassToken>
[[nodiscard]] cost beit_norms(const hf_model& model) {
    const std::array<std::uint64_t, 2> norms{WithClassToken, WithMean};
    const bool of_mean = model.config.flag("use_mean_pooling", true);
    cost sum;
    sum.add_parameters("norm", term::norm, norms[of_mean ? 1 : 0] * 2 * model.sizes.hidden_size);
    return sum;
}

/// The visual words that hidden patches are to be.
[[nodiscard]] inline std::uint64_t codebook_width(const hf_model& model) {
    return model.config.integer({"vocab_size"}, 8192, 1, max_vocabulary);
}

/// The norm stands before the mean, or after it.
inline constexpr std::array beit_heads{
    head{.suffix = "ForImageClassification", .linears = {image_classifier}, .more = beit_norms<1, 1>},
    head{.suffix = "Model", .linears = {}, .more = beit_norms<1, 1>},
    head{.suffix = "ForMaskedImageModeling", .linears = {{codebook_width, per_token, true}}, .more = beit_norms<1, 2>},
};
inline constexpr std::array data2vec_vision_heads{
    beit_heads[0],
    head{.suffix = "Model", .linears = {}, .more = beit_norms<0, 1>},
};

[[nodiscard]] constexpr hf_family beit_like(hf_family family) {
    family = vit_like(family);
    family.final_norm = false;
    family.attention = beit_attention;
    family.more = beit_scales;
    family.once = beit_shared_biases;
    family.stem = stem_of<beit_stem>;
    family.prefix_tokens = class_tokens<1>;
    family.input = fixed_images<beit_stem>;
    return family;
}

// ---- YOLOS ----

inline constexpr hf_size detection_tokens{{"num_detection_tokens"}, 100};

[[nodiscard]] inline std::uint64_t yolos_rows(const hf_model& model) { return 2 * model.read(detection_tokens); }
[[nodiscard]] inline std::uint64_t yolos_tokens(const hf_model& model) { return 1 + model.read(detection_tokens); }

inline constexpr image_stem yolos_stem{.image = {{"image_size"}, derived}, .pairs = true, .more_rows = yolos_rows};

/// Height and width of the image; the class needs both.
[[nodiscard]] inline hf_area yolos_image(const hf_model& model) {
    return model.config.contains("image_size") ? read_area(model, yolos_stem.image, true) : hf_area{512, 864};
}
[[nodiscard]] inline grid yolos_grid(const hf_model& model) {
    const hf_area image = yolos_image(model);
    const std::uint64_t patch = model.read(yolos_stem.patch);
    return {1, cells_of(model, yolos_stem.image, image.height, "patch_size", patch),
            cells_of(model, yolos_stem.image, image.width, "patch_size", patch)};
}
[[nodiscard]] inline tower_input yolos_input(const hf_model& model) { return {.image = yolos_grid(model)}; }

[[nodiscard]] inline cost yolos_stem_cost(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t side = model.read(yolos_stem.patch);
    cost sum =
        patch_embedding{.in_channels = model.read(yolos_stem.channels), .patch_size = side, .bias = true}.cost(h);
    const std::uint64_t tokens = yolos_tokens(model);
    std::uint64_t rows = yolos_grid(model).frame_patches() + 2 * tokens;
    if (model.config.flag("use_mid_position_embeddings", true)) {  // between the layers, patches by area
        const hf_area image = yolos_image(model);
        rows += (model.sizes.num_layers - 1) * (tokens + image.height * image.width / (side * side));
    }
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(rows, h, "embedding"));
    return sum;
}

/// Two MLPs of three matrices over the detection tokens: classes (and none), and boxes.
[[nodiscard]] inline cost yolos_detectors(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t tokens = model.read(detection_tokens);
    cost sum;
    for (const std::uint64_t out : {labels_width(model) + 1, std::uint64_t{4}}) {
        for (const std::uint64_t width : {h, h, out}) {
            sum.add("lm_head", linear{.in_features = h,
                                      .out_features = width,
                                      .applied = tokens,
                                      .stored = 1,
                                      .rows = statistic::count,
                                      .kind = term::lm_head,
                                      .dealt = dealing::replicated()});
        }
        sum.add_parameters("bias", term::bias, 2 * h + out);
    }
    return sum;
}

inline constexpr std::array yolos_heads{
    head{.suffix = "ForObjectDetection", .linears = {}, .more = yolos_detectors},
    head{"Model", {detached_pooler}},
};

inline constexpr std::array uncommon_towers{
    with_head_dim(beit_like({.model_type = "beit", .class_prefix = "Beit", .heads = beit_heads})),
    beit_like({.model_type = "data2vec-vision", .class_prefix = "Data2VecVision", .heads = data2vec_vision_heads}),
    vit_like({.model_type = "yolos",
              .class_prefix = "Yolos",
              .heads = yolos_heads,
              .qkv_bias = if_qkv_bias,
              .stem = yolos_stem_cost,
              .prefix_tokens = yolos_tokens,
              .input = yolos_input}),
};

}  // namespace floptally::detail

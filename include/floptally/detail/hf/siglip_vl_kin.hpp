// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/llava_parts.hpp>
#include <floptally/detail/hf/patch_tower_parts.hpp>
#include <floptally/detail/hf/qwen_vl_kin.hpp>
#include <floptally/detail/hf/siglip_towers.hpp>
#include <floptally/detail/hf/vision_language_texts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// Models whose towers descend from SigLIP and see images of any size, with the merger outside of the tower.

namespace floptally::detail {

/// Two linears over merged patches, after a norm: PaddleOCR-VL.
[[nodiscard]] inline cost outer_merger(const hf_joined& model) {
    return merger_of(model.tower, model.text.sizes.hidden_size, 2 * model.tower.sizes.hidden_size).cost();
}

/// Two linears with an activation between them, of every patch.
[[nodiscard]] inline cost patch_projector(const hf_joined& model) { return llava_linears(model, -1, true).of(nullptr); }

/// HunYuan-VL: two convolutions to twice and four times the width, and a linear over their output and one learned row
/// at the end of each line.
[[nodiscard]] inline cost hunyuan_merger(const hf_joined& model) {
    const std::uint64_t h = model.tower.sizes.hidden_size;
    const std::uint64_t text = model.text.sizes.hidden_size;
    const std::uint64_t side = model.tower.read(merge_size_2);
    const mask merged = mask::merged_patches(static_cast<std::int64_t>(side));
    const mask with_ends = mask::merged_patches(static_cast<std::int64_t>(side), 1);
    cost sum;
    sum.add("merger",
            linear{.in_features = checked_multiply(side * side, h, "merger"),
                   .out_features = 2 * h,
                   .weight = "proj_conv",
                   .reads = value::stream,
                   .writes = value::made(0),
                   .adaptable = false},
            merged);
    sum.add("merger",
            linear{.in_features = 2 * h,
                   .out_features = 4 * h,
                   .weight = "proj_out",
                   .reads = value::made(0),
                   .writes = value::made(1),
                   .adaptable = false},
            merged);
    sum.add("merger",
            linear{.in_features = 4 * h,
                   .out_features = text,
                   .weight = "mlp",
                   .reads = value::made(1),
                   .writes = value::made(2)},
            with_ends);
    sum.add_parameters("bias", term::bias, 2 * h + 4 * h + text);
    sum.add_parameters("norm", term::norm, h + text);
    // Learned rows: at the end of a line, and before, after and between images.
    sum.add_parameters("embedding", term::position_embedding, 4 * h + 3 * text);
    return sum;
}

/// A norm of each patch, and two linears over merged ones.
[[nodiscard]] inline cost kimi_merger(const hf_joined& model, bool pooled_frames) {
    const std::uint64_t h = model.tower.sizes.hidden_size;
    const std::uint64_t side = kimi_merge_size(model.tower);
    const std::uint64_t text = model.text.sizes.hidden_size;
    return patch_merger{.spatial_merge_size = side,
                        .hidden_size = h,
                        .out_features = text,
                        .elementwise = {.norm = 2 * h, .bias = side * side * h + text},
                        .pooled_frames = pooled_frames}
        .cost();
}
[[nodiscard]] inline cost kimi_vl_projector(const hf_joined& model) { return kimi_merger(model, false); }

[[nodiscard]] inline cost kimi_k25_projector(const hf_joined& model) {
    require_width(model.config, "projection_hidden_size", model.config.dimension({"projection_hidden_size"}, 1152),
                  model.tower.sizes.hidden_size, "the vision tower's hidden_size");
    return kimi_merger(model, true);
}

inline constexpr std::array siglip_vl_kin{
    hf_composite{.model_type = "paddleocr_vl",
                 .class_prefix = "PaddleOCRVL",
                 .heads = vision_language_heads,
                 .text_family = &paddleocr_vl_text,
                 .flat_text = true,
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionModel",
                                    .projector = outer_merger,
                                    .family = &paddleocr_vl_vision}},
                 .tie_word_embeddings = true,
                 .tie = tie_flag::either},
    hf_composite{.model_type = "video_llama_3",
                 .class_prefix = "VideoLlama3",
                 .heads = outer_heads,
                 .text_type = "qwen2",
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionModel",
                                    .projector = patch_projector,
                                    .family = &video_llama_3_vision}},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "hunyuan_vl",
                 .class_prefix = "HunYuanVL",
                 .heads = vision_language_heads,
                 .text_family = text_named("hunyuan_vl_text"),
                 .flat_text = true,
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionModel",
                                    .projector = hunyuan_merger,
                                    .family = &hunyuan_vl_vision}},
                 .tie_word_embeddings = true,
                 .tie = tie_flag::either},
    hf_composite{.model_type = "kimi_k25",
                 .class_prefix = "Kimi_K25",
                 .heads = outer_heads,
                 .text_type = "deepseek_v3",
                 .towers = {hf_slot{.key = "vision_config",
                                    .suffix = "VisionModel",
                                    .projector = kimi_k25_projector,
                                    .family = &kimi_k25_vision}},
                 .tie_word_embeddings = true},
    hf_composite{
        .model_type = "kimi_vl",
        .class_prefix = "KimiVL",
        .heads = std::span(outer_heads).first(1),
        .text_type = "deepseek_v3",
        .towers = {hf_slot{
            .key = "vision_config", .suffix = "VisionModel", .projector = kimi_vl_projector, .family = &moonvit}},
        .tie = tie_flag::text},
};

}  // namespace floptally::detail

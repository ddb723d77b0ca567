// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/patch_tower_parts.hpp>
#include <floptally/detail/hf/patch_towers.hpp>
#include <floptally/detail/hf/vision_language_texts.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// Qwen2-VL and its descendants: images of any size, whose patches are merged into tokens of the text.

namespace floptally::detail {

inline constexpr std::array vision_language_heads{
    hf_outer_class{"ForConditionalGeneration", "ForConditionalGeneration"},
    hf_outer_class{"Model", "TextModel"},
};

/// The tower of a model whose merger is the tower's own.
[[nodiscard]] constexpr hf_slot merging(const hf_family& tower) {
    hf_slot slot{};
    slot.key = "vision_config";
    slot.suffix = tower.heads.front().suffix;
    slot.family = &tower;
    return slot;
}

[[nodiscard]] constexpr const hf_family* text_named(std::string_view model_type) {
    for (const hf_family& family : vision_language_texts) {
        if (family.model_type == model_type) {
            return &family;
        }
    }
    return nullptr;
}

inline constexpr std::array qwen_vl_kin{
    hf_composite{.model_type = "qwen2_vl",
                 .class_prefix = "Qwen2VL",
                 .heads = vision_language_heads,
                 .text_family = text_named("qwen2_vl_text"),
                 .flat_text = true,
                 .towers = {merging(qwen2_vl_vision)},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "qwen2_5_vl",
                 .class_prefix = "Qwen2_5_VL",
                 .heads = vision_language_heads,
                 .text_family = text_named("qwen2_5_vl_text"),
                 .flat_text = true,
                 .towers = {merging(qwen2_5_vl_vision)},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "qwen3_vl",
                 .class_prefix = "Qwen3VL",
                 .heads = vision_language_heads,
                 .text_family = text_named("qwen3_vl_text"),
                 .towers = {merging(qwen3_vl_vision)}},
    hf_composite{.model_type = "qwen3_vl_moe",
                 .class_prefix = "Qwen3VLMoe",
                 .heads = vision_language_heads,
                 .text_family = text_named("qwen3_vl_moe_text"),
                 .towers = {merging(qwen3_vl_vision)}},
    hf_composite{.model_type = "qwen3_5",
                 .class_prefix = "Qwen3_5",
                 .heads = outer_heads_of_text_model,
                 .text_type = "qwen3_5_text",
                 .towers = {merging(qwen3_5_vision)}},
    hf_composite{.model_type = "qwen3_5_moe",
                 .class_prefix = "Qwen3_5Moe",
                 .heads = outer_heads_of_text_model,
                 .text_type = "qwen3_5_moe_text",
                 .towers = {merging(qwen3_5_vision)}},
    hf_composite{.model_type = "glm4v",
                 .class_prefix = "Glm4v",
                 .heads = vision_language_heads,
                 .text_family = text_named("glm4v_text"),
                 .towers = {merging(glm4v_vision)},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "glm4v_moe",
                 .class_prefix = "Glm4vMoe",
                 .heads = vision_language_heads,
                 .text_family = text_named("glm4v_moe_text"),
                 .towers = {merging(glm4v_vision)},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "glm46v",
                 .class_prefix = "Glm46V",
                 .heads = vision_language_heads,
                 .text_type = "glm4v_text",
                 .towers = {hf_slot{.key = "vision_config", .model_type = "glm4v_vision", .suffix = "VisionModel"}}},
    hf_composite{.model_type = "glm_ocr",
                 .class_prefix = "GlmOcr",
                 .heads = vision_language_heads,
                 .text_family = text_named("glm_ocr_text"),
                 .towers = {merging(glm_ocr_vision)},
                 .tie = tie_flag::either},
    hf_composite{.model_type = "exaone4_5",
                 .class_prefix = "Exaone4_5_",
                 .heads = outer_heads,
                 .text_type = "exaone4",
                 .older_text_type = "exaone4_5_text",
                 .towers = {merging(exaone4_5_vision)}},
};

}  // namespace floptally::detail

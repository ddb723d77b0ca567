// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>

/// @file
/// The text models of vision-language models whose images have any size. Alone each is a model without a head; the
/// lm_head is that of the class around it.

namespace floptally::detail {

inline constexpr std::array vision_language_text_heads{
    head{"ForConditionalGeneration", {{vocabulary_width}}},
    head{"TextModel", {}},
};

/// Qwen2-VL: as Qwen-2, but windows from the 81st layer on unless `max_window_layers` says it.
[[nodiscard]] inline std::string sliding_from_layer_80(const hf_model& model) {
    if (window_is_off(model) || window_is_null(model)) {
        return all_full(model);
    }
    const std::uint64_t first = model.config.integer({"max_window_layers"}, 80, 0, max_layers);
    return where(model, 'S', 'F', [first](std::uint64_t i) { return i >= first; });
}

inline constexpr hf_family qwen2_vl_text{.model_type = "qwen2_vl_text",
                                         .class_prefix = "Qwen2VL",
                                         .heads = vision_language_text_heads,
                                         .vocab_size = 152064,
                                         .hidden_size = 8192,
                                         .intermediate_size = 29568,
                                         .num_hidden_layers = 80,
                                         .num_attention_heads = 64,
                                         .num_key_value_heads = 8,
                                         .kv_heads_may_be_null = true,
                                         .has_head_dim = false,
                                         .heads_divide_hidden = true,
                                         .qkv_bias = always,
                                         .mixers = sliding_from_layer_80,
                                         .layer_types = "FS",
                                         .sliding_window = 4096,
                                         .window_switch = true};

inline constexpr hf_family glm4v_text{.model_type = "glm4v_text",
                                      .class_prefix = "Glm4v",
                                      .heads = vision_language_text_heads,
                                      .vocab_size = 151552,
                                      .hidden_size = 4096,
                                      .intermediate_size = 13696,
                                      .num_hidden_layers = 40,
                                      .num_attention_heads = 32,
                                      .num_key_value_heads = 2,
                                      .kv_heads_may_be_null = true,
                                      .has_head_dim = false,
                                      .qkv_bias = always,
                                      .norms_per_layer = 4};

inline constexpr std::array vision_language_texts{
    qwen2_vl_text,
    renamed(qwen2_vl_text, "qwen2_5_vl_text", "Qwen2_5_VL"),
    hf_family{.model_type = "qwen3_vl_text",
              .class_prefix = "Qwen3VL",
              .heads = vision_language_text_heads,
              .vocab_size = 151936,
              .hidden_size = 4096,
              .intermediate_size = 22016,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .num_key_value_heads = 32,
              .kv_heads_may_be_null = true,
              .head_dim = 128,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .query_key_norm = qk_norm::per_head},
    hf_family{.model_type = "qwen3_vl_moe_text",
              .class_prefix = "Qwen3VLMoe",
              .heads = vision_language_text_heads,
              .vocab_size = 151936,
              .hidden_size = 2048,
              .intermediate_size = 5632,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .num_key_value_heads = 16,
              .kv_heads_may_be_null = true,
              .head_dim_may_be_null = true,
              .tie_word_embeddings = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .query_key_norm = qk_norm::per_head,
              .feeds = qwen_feeds,
              .experts = {.count = {{"num_local_experts", "num_experts"}, 60},
                          .per_token = {{"num_experts_per_tok"}, 4},
                          .width = {{"moe_intermediate_size"}, 1408}}},
    glm4v_text,
    hf_family{.model_type = "glm4v_moe_text",
              .class_prefix = "Glm4vMoe",
              .heads = vision_language_text_heads,
              .vocab_size = 151424,
              .hidden_size = 4096,
              .intermediate_size = 10944,
              .num_hidden_layers = 46,
              .num_attention_heads = 96,
              .num_key_value_heads = 8,
              .qkv_bias = {"attention_bias", true},
              .feeds = dense_first_feeds,
              .experts = {.count = {{"num_local_experts", "n_routed_experts"}, 128},
                          .per_token = {{"num_experts_per_tok"}, 8},
                          .width = {{"moe_intermediate_size"}, 1408},
                          .shared_are = shared_experts::of_count,
                          .shared = {{"n_shared_experts"}, 1},
                          .first_dense = {{"first_k_dense_replace"}, 1}}},
    hf_family{.model_type = "glm_ocr_text",
              .class_prefix = "GlmOcr",
              .heads = vision_language_text_heads,
              .vocab_size = 59392,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 16,
              .num_attention_heads = 16,
              .num_key_value_heads = 8,
              .kv_heads_may_be_null = true,
              .norms_per_layer = 4},
    hf_family{.model_type = "hunyuan_vl_text",
              .class_prefix = "HunYuanVL",
              .heads = vision_language_text_heads,
              .also = {.head_dim = "attention_head_dim", .vocab_size = "org_vocab_size"},
              .vocab_size = 290943,
              .hidden_size = 4096,
              .intermediate_size = 11008,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .kv_heads_may_be_null = true,
              .tie_word_embeddings = true,
              .qkv_bias = if_attention_bias,
              .output_bias = if_attention_bias,
              .query_key_norm = qk_norm::per_head,
              .resolve =
                  [](hf_model& model) {
                      // The class has null by default, with which it cannot be built.
                      model.sizes.head_dim = model.config.dimension({"head_dim", "attention_head_dim"});
                  }},
};

/// PaddleOCR-VL: ERNIE 4.5, whose class has no name of its own in `AutoModel`.
inline constexpr hf_family paddleocr_vl_text{.model_type = "paddleocr_vl_text",
                                             .class_prefix = "PaddleOCR",
                                             .heads = vision_language_text_heads,
                                             .vocab_size = 103424,
                                             .hidden_size = 1024,
                                             .intermediate_size = 3072,
                                             .num_hidden_layers = 18,
                                             .num_attention_heads = 16,
                                             .num_key_value_heads = 2,
                                             .kv_heads_may_be_null = true,
                                             .head_dim = 128,
                                             .head_dim_may_be_null = true,
                                             .tie_word_embeddings = true,
                                             .qkv_bias = {"use_bias", false, true},
                                             .output_bias = {"use_bias", false, true},
                                             .mlp_bias = {"use_bias", false, true}};

}  // namespace floptally::detail

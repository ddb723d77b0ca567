// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>

/// @file
/// Decoders that descend from GPT and GPT-2.

namespace floptally::detail {

/// One key and value head, or as many as query heads; `num_key_value_heads` follows from it.
inline void resolve_gpt_bigcode(hf_model& model) {
    if (model.config.flag("multi_query", true)) {
        model.sizes.num_kv_heads = 1;
    }
}

[[nodiscard]] inline char letter_of_gpt_neo(const json& kind, const std::string& field) {
    if (kind != "global" && kind != "local") {
        throw error(field, R"(must name "global" or "local", got )" + shown(kind));
    }
    return kind == "global" ? 'F' : 'L';
}

/// GPT-Neo's `attention_layers`, a name for each layer: what a saved config has, and what its class then reads.
[[nodiscard]] inline std::string by_attention_layers(const hf_model& model, const json& layers) {
    const std::string key = model.config.field("attention_layers");
    if (layers.size() != model.sizes.num_layers) {
        throw error(key, "must name the " + std::to_string(model.sizes.num_layers) + " layers, got " +
                             std::to_string(layers.size()));
    }
    std::string letters;
    for (std::size_t index = 0; index < layers.size(); ++index) {
        letters += letter_of_gpt_neo(layers[index], indexed(key, index));
    }
    return letters;
}

/// Without it, `attention_types`, a list of [[kind, ...], repetitions]: F where the kind is "global", L where "local".
[[nodiscard]] inline std::string by_attention_types(const hf_model& model) {
    if (const json* layers = model.config.array("attention_layers")) {
        return by_attention_layers(model, *layers);
    }
    const std::string key = model.config.field("attention_types");
    const json fallback = json::array({json::array({json::array({"global", "local"}), 12})});
    const json* given = model.config.array("attention_types");
    std::string letters;
    std::uint64_t listed = 0;
    for (const json& group : given == nullptr ? fallback : *given) {
        if (!group.is_array() || group.size() != 2 || !group[0].is_array()) {
            throw error(key, R"(must be a list of [["global" or "local", ...], repetitions], got )" + shown(*given));
        }
        std::string kinds;
        for (const json& kind : group[0]) {
            kinds += letter_of_gpt_neo(kind, key);
        }
        const std::uint64_t times = config_fields::as_integer(group[1], key, 0, max_layers);
        listed += times * kinds.size();
        for (std::uint64_t i = 0; i < times && letters.size() < model.sizes.num_layers; ++i) {
            letters += kinds;
        }
    }
    if (listed != model.sizes.num_layers) {
        throw error(key, std::string(given == nullptr ? "is missing, and its default is for " : "is for ")
                             .append(std::to_string(listed))
                             .append(" layers, the model has ")
                             .append(std::to_string(model.sizes.num_layers)));
    }
    return letters;
}

/// The local layers see the last `window_size` tokens.
[[nodiscard]] inline cost gpt_neo_attention(const hf_model& model, const hf_layer& at) {
    hf_layer seen = at;
    if (at.mixer == 'L') {
        seen.where.attends =
            mask::sliding_window(static_cast<std::int64_t>(model.config.integer({"window_size"}, 256, 1, 0x7FFF'FFFF)));
    }
    return gqa_part(model, seen);
}

inline void resolve_gpt_neox_japanese(hf_model& model) {
    model.sizes.intermediate_size = checked_multiply(
        model.sizes.hidden_size, model.read({{"intermediate_multiple_size"}, 4}), "intermediate_multiple_size");
}

/// The attention's output has a bias in the last layer.
[[nodiscard]] inline cost gpt_neox_japanese_bias(const hf_model& model) {
    cost sum;
    sum.add_parameters("bias", term::bias, model.sizes.hidden_size);
    return sum;
}

inline constexpr std::array gpt_kin{
    hf_family{.model_type = "gptj",
              .class_prefix = "GPTJ",
              .heads = gptj_heads,
              .also = {.hidden_size = "n_embd", .num_hidden_layers = "n_layer", .num_attention_heads = "n_head"},
              .vocab_size = 50400,
              .hidden_size = 4096,
              .intermediate_keys = {"n_inner"},
              .num_hidden_layers = 28,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .norms_per_layer = 1},
    hf_family{.model_type = "codegen",
              .class_prefix = "CodeGen",
              .heads = codegen_heads,
              .also = {.hidden_size = "n_embd", .num_hidden_layers = "n_layer", .num_attention_heads = "n_head"},
              .vocab_size = 50400,
              .hidden_size = 4096,
              .intermediate_keys = {"n_inner"},
              .num_hidden_layers = 28,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .norms_per_layer = 1},
    hf_family{.model_type = "gpt_bigcode",
              .class_prefix = "GPTBigCode",
              .heads = all_gpt_neox_heads.first(4),
              .also = {.hidden_size = "n_embd",
                       .num_hidden_layers = "n_layer",
                       .num_attention_heads = "n_head",
                       .max_position_embeddings = "n_positions"},
              .vocab_size = 50257,
              .hidden_size = 768,
              .intermediate_keys = {"n_inner"},
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .positions = 1024,
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .resolve = resolve_gpt_bigcode},
    hf_family{.model_type = "gpt_neo",
              .class_prefix = "GPTNeo",
              .heads = gpt_neox_heads,
              .also = {.num_hidden_layers = "num_layers", .num_attention_heads = "num_heads"},
              .vocab_size = 50257,
              .hidden_size = 2048,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .positions = 2048,
              .tie_word_embeddings = true,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .mixers = by_attention_types,
              .attention = gpt_neo_attention},
    hf_family{.model_type = "openai-gpt",
              .class_prefix = "OpenAIGPT",
              .heads = openai_gpt_heads,
              .also = {.hidden_size = "n_embd",
                       .num_hidden_layers = "n_layer",
                       .num_attention_heads = "n_head",
                       .max_position_embeddings = "n_positions"},
              .vocab_size = 40478,
              .hidden_size = 768,
              .intermediate_keys = {},
              .num_hidden_layers = 12,
              .num_attention_heads = 12,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .positions = 512,
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .final_norm = false},
    hf_family{.model_type = "ctrl",
              .class_prefix = "CTRL",
              .heads = ctrl_heads,
              .also = {.hidden_size = "n_embd", .num_hidden_layers = "n_layer", .num_attention_heads = "n_head"},
              .vocab_size = 246534,
              .hidden_size = 1280,
              .intermediate_size = 8192,
              .intermediate_keys = {"dff"},
              .num_hidden_layers = 48,
              .num_attention_heads = 16,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .qkv_bias = always,
              .output_bias = always,
              .mlp_bias = always,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer},
    hf_family{.model_type = "gpt_neox_japanese",
              .class_prefix = "GPTNeoXJapanese",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 32000,
              .hidden_size = 2560,
              .intermediate_keys = {},
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .has_kv_heads = false,
              .has_head_dim = false,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .mlp = mlp_kind::plain,
              .norm = norm_kind::layer,
              .once = gpt_neox_japanese_bias,
              .resolve = resolve_gpt_neox_japanese},
};

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/latent_parts.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/linear_attention.hpp>

/// @file
/// Parts and layer rules of the families with linear attention.

namespace floptally::detail {

// ---- gated delta net: Qwen3-Next, Qwen3.5, Olmo Hybrid ----

/// With its norm of the output, and decay and bias of the step for each value head.
[[nodiscard]] inline cost gated_delta_of(const hf_model& model, const hf_layer& at, gated_delta_net part) {
    if (part.num_value_heads % part.num_key_heads != 0) {
        throw error(model.config.field("linear_num_value_heads"), "must be a multiple of linear_num_key_heads (" +
                                                                      std::to_string(part.num_key_heads) + "), got " +
                                                                      std::to_string(part.num_value_heads));
    }
    part.conv_kernel = model.read({{"linear_conv_kernel_dim"}, 4});
    part.elementwise = {.norm = part.value_head_dim, .bias = 2 * part.num_value_heads};
    return part.cost(at.where);
}

[[nodiscard]] inline cost qwen_delta_part(const hf_model& model, const hf_layer& at) {
    return gated_delta_of(model, at,
                          {.num_key_heads = model.read({{"linear_num_key_heads"}, 16}),
                           .num_value_heads = model.read({{"linear_num_value_heads"}, 32}),
                           .key_head_dim = model.read({{"linear_key_head_dim"}, 128}),
                           .value_head_dim = model.read({{"linear_value_head_dim"}, 128})});
}

/// Olmo Hybrid: by default as many heads as the attention, keys of 3/4 of hidden_size together, values twice as wide.
[[nodiscard]] inline cost olmo_delta_part(const hf_model& model, const hf_layer& at) {
    const auto size = [&](std::string_view key, std::uint64_t otherwise) {
        return model.config.has_value(key) ? model.config.dimension({key}) : otherwise;
    };
    const std::uint64_t key_heads = size("linear_num_key_heads", model.sizes.num_heads);
    const std::uint64_t key_head_dim = size("linear_key_head_dim", 3 * model.sizes.hidden_size / (4 * key_heads));
    return gated_delta_of(model, at,
                          {.num_key_heads = key_heads,
                           .num_value_heads = size("linear_num_value_heads", model.sizes.num_heads),
                           .key_head_dim = key_head_dim,
                           .value_head_dim = size("linear_value_head_dim", 2 * key_head_dim)});
}

/// Qwen: an output gate as wide as the queries, in one linear with them.
[[nodiscard]] inline cost output_gated_part(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.gate_size = checked_multiply(part.num_heads, part.head_dim, "attention.gate");
    part.elementwise.bias += model.has(model.family.qkv_bias) ? part.gate_size : 0;
    return part.cost(at.where);
}

/// Full attention in the last of each `key` layers.
[[nodiscard]] inline std::string full_last_of(const hf_model& model, std::string_view key, std::uint64_t otherwise) {
    const std::uint64_t period = model.config.integer({key}, otherwise, 1, max_layers);
    return where(model, 'F', 'R', [period](std::uint64_t i) { return (i + 1) % period == 0; });
}
[[nodiscard]] inline std::string by_full_attention_interval(const hf_model& model) {
    return full_last_of(model, "full_attention_interval", 4);
}
[[nodiscard]] inline std::string by_layer_group_size(const hf_model& model) {
    return full_last_of(model, "layer_group_size", 6);
}

/// The class gates the attention and the shared expert whatever these say.
inline void require_qwen_gates(hf_model& model) {
    model.refuse_flag("attn_output_gate", false);
    model.refuse_flag("shared_expert_gate", false);
}

/// Olmo Hybrid: full attention in every fourth layer, and in the last of less than four.
[[nodiscard]] inline std::string olmo_hybrid_mixers(const hf_model& model) {
    std::string letters = by_period(model);
    if (letters.find('F') == std::string::npos) {
        letters.back() = 'F';
    }
    return letters;
}

inline void require_both_mixers(hf_model& model) {
    const std::string letters = mixer_letters(model);
    if (letters.find('F') == std::string::npos || letters.find('R') == std::string::npos) {
        const bool listed = model.config.has_value("layer_types");
        throw error(model.config.field(listed ? "layer_types" : "num_hidden_layers"),
                    "must give at least one layer of full and one of linear attention");
    }
}

// ---- lightning attention: MiniMax ----

[[nodiscard]] inline cost lightning_part(const hf_model& model, const hf_layer& at) {
    const hf_dimensions& sizes = model.sizes;
    return lightning_attention{.num_heads = sizes.num_heads,
                               .head_dim = sizes.head_dim,
                               .elementwise = {.norm = checked_multiply(sizes.num_heads, sizes.head_dim, "norm")}}
        .cost(at.where);
}

/// MiniMax: `sliding_window` is of every full attention.
[[nodiscard]] inline cost windowed_gqa_part(const hf_model& model, const hf_layer& at) {
    hf_layer windowed = at;
    windowed.where.attends = mask_of_letter(model, window_is_null(model) ? 'F' : 'S');
    return gqa_part(model, windowed);
}

// ---- Kimi delta attention: Kimi Linear, Ling 3.0 ----

[[nodiscard]] inline cost kda_of(const hf_layer& at, kda part) {
    const std::uint64_t width = checked_multiply(part.num_heads, part.head_dim, "mixer.input");
    part.elementwise = {.norm = part.head_dim, .bias = width + part.num_heads};
    return part.cost(at.where);
}

/// Kimi Linear's checkpoints have these sizes in an object of their own, which wins.
[[nodiscard]] inline cost kimi_delta_part(const hf_model& model, const hf_layer& at) {
    const json none = json::object();
    const json* own = model.config.find("linear_attn_config");
    const config_fields inner(own == nullptr ? none : *own, model.config.field("linear_attn_config"));
    const auto size = [&](std::string_view in_object, std::string_view key, std::uint64_t otherwise) {
        return inner.contains(in_object) ? inner.dimension({in_object}) : model.read({{key}, otherwise});
    };
    return kda_of(at, {.num_heads = size("num_heads", "linear_num_heads", 32),
                       .head_dim = size("head_dim", "linear_head_dim", 128),
                       .conv_kernel = size("short_conv_kernel_size", "linear_conv_kernel_dim", 4)});
}

/// Ling 3.0: gates of full rank.
[[nodiscard]] inline cost bailing_delta_part(const hf_model& model, const hf_layer& at) {
    return kda_of(at, {.num_heads = model.read({{"linear_num_heads"}, model.sizes.num_heads}),
                       .head_dim = model.read({{"linear_head_dim", "head_dim"}, 128}),
                       .conv_kernel = model.read({{"linear_conv_kernel_dim", "short_conv_kernel_size"}, 4}),
                       .full_output_gate = true,
                       .full_forget_gate = true});
}

/// Ling 3.0: latent attention, one number a head gates its output.
[[nodiscard]] inline cost gated_latent_part(const hf_model& model, const hf_layer& at) {
    cost sum = latent_part(model, at);
    sum.add("attention.gate", linear{.in_features = at.where.hidden_size,
                                     .out_features = model.sizes.num_heads,
                                     .dealt = dealing::heads(model.sizes.num_heads)});
    return sum;
}

/// Marks layers by a list that counts from 1.
inline void mark_from_one(const config_fields& lists, std::string_view key, char letter, std::string& letters) {
    const json& listed = *lists.array(key);
    for (std::size_t i = 0; i < listed.size(); ++i) {
        const std::uint64_t layer =
            config_fields::as_integer(listed[i], indexed(lists.field(key), i), 1, letters.size());
        letters[static_cast<std::size_t>(layer - 1)] = letter;
    }
}

/// Kimi Linear: the lists of `linear_attn_config`, else full attention in every fourth layer after the first.
[[nodiscard]] inline std::string kimi_mixers(const hf_model& model) {
    if (model.config.contains("linear_attn_config")) {
        const config_fields lists(*model.config.find("linear_attn_config"), model.config.field("linear_attn_config"));
        if (lists.array("full_attn_layers") != nullptr && lists.array("kda_layers") != nullptr) {
            std::string letters = every_layer(model, '?');
            mark_from_one(lists, "full_attn_layers", 'F', letters);
            mark_from_one(lists, "kda_layers", 'R', letters);
            if (const std::size_t missing = letters.find('?'); missing != std::string::npos) {
                throw error(lists.field("kda_layers"), "must name, with full_attn_layers, every layer; " +
                                                           std::to_string(missing + 1) + " is in neither");
            }
            return letters;
        }
    }
    return where(model, 'F', 'R', [](std::uint64_t i) { return i != 0 && i % 4 == 0; });
}

/// Latent attention has as many key heads as heads, these classes by default 32. They untie their embeddings silently.
inline void resolve_latent_hybrid(hf_model& model) {
    model.refuse_flag("tie_word_embeddings", true);
    refuse_moe_layer_freq(model);
    if (!model.config.contains("num_key_value_heads") && model.sizes.num_heads != 32) {
        throw error(
            model.config.field("num_key_value_heads"),
            "is missing, and its default 32 is not " + std::to_string(model.sizes.num_heads) + ", num_attention_heads");
    }
}

/// Ling 3.0 has queries of full rank only.
inline void resolve_bailing(hf_model& model) {
    resolve_latent_hybrid(model);
    if (model.config.has_value("q_lora_rank")) {
        throw error(model.config.field("q_lora_rank"), model.refusal("null", *model.config.find("q_lora_rank")));
    }
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/state_space_layers.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/linear_attention.hpp>
#include <floptally/model/state_space.hpp>

/// @file
/// Decoders with short convolutions (LFM2), a linear recurrence (RecurrentGemma, RWKV) or a matrix memory (xLSTM).

namespace floptally::detail {

// ---- LFM2 ----

[[nodiscard]] inline cost short_convolution_part(const hf_model& model, const hf_layer& at) {
    // Of the convolution, of the linear before it and of the one after it.
    const std::uint64_t bias = model.config.flag("conv_bias", false) ? 5 * at.where.hidden_size : 0;
    return short_convolution{.conv_kernel = model.read({{"conv_L_cache"}, 3}), .elementwise = {.bias = bias}}.cost(
        at.where);
}

/// LFM2: full attention in the layers of `full_attn_idxs`, without the list in all.
[[nodiscard]] inline std::string lfm2_mixers(const hf_model& model) {
    return model.config.has_value("full_attn_idxs") ? marked(model, every_layer(model, 'R'), "full_attn_idxs", 'F')
                                                    : all_full(model);
}

/// LFM2: two thirds of the stated width, times a factor, rounded up.
inline void adjust_lfm2_width(hf_model& model) {
    const config_fields& config = model.config;
    if (!config.flag("block_auto_adjust_ff_dim", true)) {
        return;
    }
    std::uint64_t& width = model.sizes.intermediate_size;
    width = 2 * width / 3;
    const std::uint64_t multiple = config.dimension({"block_multiple_of"}, 256);
    width = truncated(read_factor(model, "block_ffn_dim_multiplier", 1.0), width);
    width = (width + multiple - 1) / multiple * multiple;
}

/// LFM2-MoE has no rule of its own for its layers.
[[nodiscard]] inline std::string only_layer_types(const hf_model& model) {
    throw error(model.config.field("layer_types"),
                "is missing; must name the " + std::to_string(model.sizes.num_layers) + " layers");
}

// ---- RecurrentGemma ----

[[nodiscard]] inline cost rg_lru_part(const hf_model& model, const hf_layer& at) {
    const std::uint64_t hidden = at.where.hidden_size;
    const std::uint64_t width = model.config.has_value("lru_width") ? model.config.dimension({"lru_width"}) : hidden;
    return rg_lru{.lru_width = width,
                  .num_blocks = model.sizes.num_heads,
                  .conv_kernel = model.read({{"conv1d_width"}, 4}),
                  // The decay, and the biases of two gates, two branches, the convolution and the output.
                  .elementwise = {.bias = 6 * width + hidden}}
        .cost(at.where);
}

/// RecurrentGemma: `block_types`, repeated; its attention has a window.
[[nodiscard]] inline std::string by_block_types(const hf_model& model) {
    std::string period;
    if (const json* types = model.config.array("block_types")) {
        for (std::size_t index = 0; index < types->size(); ++index) {
            const json& type = (*types)[index];
            if (type != "recurrent" && type != "attention") {
                throw error(indexed(model.config.field("block_types"), index),
                            R"(must be "recurrent" or "attention", got )" + shown(type));
            }
            period += type == "recurrent" ? 'R' : 'S';
        }
    } else {
        period = "RRS";
    }
    if (period.empty()) {
        throw error(model.config.field("block_types"), "must name at least one layer, got []");
    }
    std::string letters = every_layer(model, 'R');
    for (std::size_t index = 0; index < letters.size(); ++index) {
        letters[index] = period[index % period.size()];
    }
    return letters;
}

/// RecurrentGemma states the width of both halves of its gated MLP together.
inline void resolve_recurrent_gemma(hf_model& model) {
    refuse_layer_lists(model);
    model.sizes.intermediate_size /= 2;
}

// ---- RWKV ----

[[nodiscard]] inline cost rwkv_time_part(const hf_model& model, const hf_layer& at) {
    const std::uint64_t width = model.config.has_value("attention_hidden_size")
                                    ? model.config.dimension({"attention_hidden_size"})
                                    : at.where.hidden_size;
    // Decay and bonus; how much of the token before is in key, value and receptance.
    return rwkv_time_mix{.attention_size = width, .elementwise = {.bias = 2 * width + 3 * at.where.hidden_size}}.cost(
        at.where);
}

[[nodiscard]] inline cost rwkv_channel_part(const hf_model& model, const hf_layer& at) {
    return rwkv_channel_mix{.intermediate_size = model.sizes.intermediate_size,
                            .elementwise = {.bias = 2 * at.where.hidden_size}}
        .cost(at.where);
}

// ---- xLSTM ----

/// One head's part of a width that `key` states as a factor of hidden_size.
[[nodiscard]] inline std::uint64_t xlstm_head_dim(const hf_model& model, std::string_view key, double otherwise) {
    const std::uint64_t width = truncated(read_factor(model, key, otherwise), model.sizes.hidden_size);
    if (width == 0 || width % model.sizes.num_heads != 0) {
        throw error(model.config.field(key), "must give a multiple of num_heads (" +
                                                 std::to_string(model.sizes.num_heads) + "), gives " +
                                                 std::to_string(width));
    }
    return width / model.sizes.num_heads;
}

[[nodiscard]] inline cost mlstm_part(const hf_model& model, const hf_layer& at) {
    mlstm part{.num_heads = model.sizes.num_heads,
               .key_head_dim = xlstm_head_dim(model, "qk_dim_factor", 0.5),
               .value_head_dim = xlstm_head_dim(model, "v_dim_factor", 1.0)};
    const std::uint64_t keys = part.num_heads * part.key_head_dim;
    const std::uint64_t values = part.num_heads * part.value_head_dim;
    part.elementwise = {.norm = values, .bias = 2 * part.num_heads};  // of the input and forget gates
    if (model.config.flag("use_bias", false)) {
        part.elementwise.norm += values + 2 * at.where.hidden_size;  // and of the layer's two other norms
        part.elementwise.bias += 2 * keys + 2 * values + at.where.hidden_size;
    }
    return part.cost(at.where);
}

inline void resolve_xlstm(hf_model& model) {
    const config_fields& config = model.config;
    const std::uint64_t hidden = model.sizes.hidden_size;
    if (config.has_value("embedding_dim") && config.dimension({"embedding_dim"}) != hidden) {
        throw error(config.field("embedding_dim"), "must be hidden_size (" + std::to_string(hidden) +
                                                       ") or absent, got " + shown(*config.find("embedding_dim")));
    }
    if (config.has_value("num_blocks")) {
        model.sizes.num_layers = config.integer({"num_blocks"}, required, 1, max_layers);
    }
    const double multiple = static_cast<double>(config.dimension({"ffn_round_up_to_multiple_of"}, 64));
    const double least = read_factor(model, "ffn_proj_factor", 2.667) * static_cast<double>(hidden) + multiple - 1;
    model.sizes.intermediate_size = static_cast<std::uint64_t>(least - std::fmod(least, multiple));
    model.refuse_flag("tie_word_embeddings", true);  // The class unties them silently.
}

inline constexpr std::array recurrent_decoders{
    hf_family{.model_type = "lfm2",
              .class_prefix = "Lfm2",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 65536,
              .hidden_size = 2560,
              .intermediate_size = 12288,
              .intermediate_keys = {"block_ff_dim", "intermediate_size"},
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .num_key_value_heads = 8,
              .tie_word_embeddings = true,
              .tie_key = "tie_embedding",
              .query_key_norm = qk_norm::per_head,
              .mixers = lfm2_mixers,
              .layer_types = "FV",
              .recurrent = short_convolution_part,
              .resolve = adjust_lfm2_width},
    hf_family{.model_type = "lfm2_moe",
              .class_prefix = "Lfm2Moe",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 65536,
              .hidden_size = 2048,
              .intermediate_size = 7168,
              .num_hidden_layers = 32,
              .num_attention_heads = 32,
              .num_key_value_heads = 8,
              .tie_word_embeddings = true,
              .tie_key = "tie_embedding",
              .query_key_norm = qk_norm::per_head,
              .mixers = only_layer_types,
              .layer_types = "FV",
              .recurrent = short_convolution_part,
              .feeds = dense_first_feeds,
              .experts = {.count = {{"num_experts"}, 32},
                          .per_token = {{"num_experts_per_tok"}, 4},
                          .width = {{"moe_intermediate_size"}, 1792},
                          .first_dense = {{"num_dense_layers"}, 2}}},
    hf_family{.model_type = "recurrent_gemma",
              .class_prefix = "RecurrentGemma",
              .heads = all_decoder_heads.first(2),
              .also = {.sliding_window = "attention_window_size"},
              .vocab_size = 256000,
              .hidden_size = 2560,
              .intermediate_size = 7680,
              .num_hidden_layers = 26,
              .num_attention_heads = 10,
              .kv_heads_may_be_null = true,
              .tie_word_embeddings = true,
              .qkv_bias = if_attention_bias,
              .output_bias = always,
              .mlp_bias = always,
              .mixers = by_block_types,
              .sliding_window = 2048,
              .recurrent = rg_lru_part,
              .resolve = resolve_recurrent_gemma},
    hf_family{.model_type = "rwkv",
              .class_prefix = "Rwkv",
              .heads = all_decoder_heads.first(2),
              .vocab_size = 50277,
              .hidden_size = 4096,
              .num_hidden_layers = 32,
              .num_attention_heads = 1,  // it has none
              .has_kv_heads = false,
              .has_head_dim = false,
              .embedding_norm = always,
              .norm = norm_kind::layer,
              .mixers = all_recurrent,
              .recurrent = rwkv_time_part,
              .dense = rwkv_channel_part},
    hf_family{.model_type = "xlstm",
              .class_prefix = "xLSTM",
              .heads = all_decoder_heads.first(2),
              .also = {.num_attention_heads = "num_heads"},
              .vocab_size = 50304,
              .hidden_size = 4096,
              .num_hidden_layers = 32,
              .num_attention_heads = 8,
              .has_kv_heads = false,
              .has_head_dim = false,
              .mlp_bias = {"use_bias", false},
              .mixers = all_recurrent,
              .recurrent = mlstm_part,
              .resolve = resolve_xlstm},
};

}  // namespace floptally::detail

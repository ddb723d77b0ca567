// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// Gemmas whose last layers reuse keys and values of earlier ones, with an input of its own for each layer: Gemma-3n
/// (with AltUp, arXiv:2301.13310, and LAuReL, arXiv:2411.07501) and Gemma-4.

namespace floptally::detail {

[[nodiscard]] inline std::uint64_t kv_shared_layers(const hf_model& model) {
    return model.config.integer({"num_kv_shared_layers"}, model.family.model_type == "gemma3n_text" ? 15 : 0, 0,
                                max_layers);
}
[[nodiscard]] inline bool shares_kv(const hf_model& model, std::uint64_t index) {
    return index + kv_shared_layers(model) >= model.sizes.num_layers;
}

/// Each kind of layer that reuses keys and values needs one before it that has them.
inline void require_kv_producers(hf_model& model) {
    const std::uint64_t shared = kv_shared_layers(model);
    const std::string mixers = mixer_letters(model);
    const std::string producers = mixers.substr(0, mixers.size() - std::min<std::uint64_t>(mixers.size(), shared));
    if (shared != 0 && mixers.find_first_not_of(producers) != std::string::npos) {
        const bool given = model.config.contains("num_kv_shared_layers");
        throw error(model.config.field("num_kv_shared_layers"),
                    std::string(given ? "must leave"
                                      : "is missing, and its default " + std::to_string(shared) + " does not leave")
                        .append(" a layer of each kind with keys and values of its own among the ")
                        .append(std::to_string(mixers.size()))
                        .append(given ? ", got " + std::to_string(shared) : ""));
    }
}

/// The head dim and the number of key and value heads of one layer.
struct layer_heads {
    std::uint64_t head_dim = 0;
    std::uint64_t num_kv_heads = 0;
};

/// `shares`: q and output only. `one_projection`: keys serve as values.
[[nodiscard]] inline cost kv_sharing_attention(const hf_model& model, const hf_layer& at, const layer_heads& heads,
                                               bool one_projection) {
    const std::uint64_t num_heads = model.sizes.num_heads;
    const std::uint64_t h = at.where.hidden_size;
    require_heads(num_heads, heads.num_kv_heads, heads.head_dim);
    const std::uint64_t query_width = checked_multiply(num_heads, heads.head_dim, "attention.qkv");
    const std::uint64_t kv_width = checked_multiply(heads.num_kv_heads, heads.head_dim, "attention.qkv");
    const std::uint64_t projections = shares_kv(model, at.where.index) ? 0 : one_projection ? 1 : 2;
    cost sum;
    sum.add("attention.qkv", linear{.in_features = h, .out_features = query_width, .dealt = dealing::heads(num_heads)});
    if (projections != 0) {
        sum.add("attention.qkv", linear{.in_features = h,
                                        .out_features = kv_width,
                                        .applied = projections,
                                        .dealt = dealing::kv_heads(heads.num_kv_heads)});
    }
    sum.add("attention.core", attention_core{num_heads, heads.head_dim, heads.head_dim}, at.where.attends);
    sum.add("attention.output",
            linear{.in_features = query_width, .out_features = h, .dealt = dealing::heads(num_heads)});
    sum.add_parameters("norm", term::norm, (projections != 0 ? 2 : 1) * heads.head_dim);
    sum.add_parameters("bias", term::bias, model.has(if_attention_bias) ? query_width + projections * kv_width + h : 0);
    return sum;
}

// ---- the input of each layer ----

[[nodiscard]] inline std::uint64_t per_layer_width(const hf_model& model) {
    return model.read_or_none({{"hidden_size_per_layer_input"}, 256});
}

/// A gate and a projection around the product with the layer's input.
[[nodiscard]] inline cost per_layer_input(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    cost sum;
    if (const std::uint64_t width = per_layer_width(model)) {
        sum.add("per_layer_input", linear{.in_features = h, .out_features = width, .applied = 2});
        sum.add_parameters("norm", term::norm, h);
    }
    return sum;
}

/// The table of all layers' inputs, and their projection from the embedding.
[[nodiscard]] inline cost per_layer_tables(const hf_model& model) {
    cost sum;
    if (const std::uint64_t width = per_layer_width(model)) {
        const std::uint64_t all = checked_multiply(width, model.sizes.num_layers, "per_layer_input");
        const std::uint64_t rows = model.config.integer({"vocab_size_per_layer_input"}, 262144, 1, max_vocabulary);
        sum.add("per_layer_input", linear{.in_features = model.sizes.hidden_size, .out_features = all});
        sum.add_parameters("embedding", term::embedding, checked_multiply(rows, all, "embedding"));
        sum.add_parameters("norm", term::norm, width);
    }
    return sum;
}

// ---- Gemma-3n ----

[[nodiscard]] inline cost gemma3n_attention(const hf_model& model, const hf_layer& at) {
    return kv_sharing_attention(model, at, {model.sizes.head_dim, model.sizes.num_kv_heads}, false);
}

/// `intermediate_size` may list the width of each layer.
[[nodiscard]] inline cost gemma3n_mlp(const hf_model& model, const hf_layer& at) {
    const config_fields& config = model.config;
    const json* value = config.find("intermediate_size");
    if (value == nullptr || !value->is_array()) {
        return dense_of(model, at, config.dimension({"intermediate_size"}, 16384));
    }
    const std::string field = config.field("intermediate_size");
    if (value->size() != model.sizes.num_layers) {
        throw error(field, "must be one width or one for each of the " + std::to_string(model.sizes.num_layers) +
                               " layers, got " + std::to_string(value->size()));
    }
    const auto index = static_cast<std::size_t>(at.where.index);
    return dense_of(model, at, config_fields::as_integer((*value)[index], indexed(field, index), 1, max_dimension));
}

[[nodiscard]] inline std::uint64_t altup_inputs(const hf_model& model) {
    return model.config.integer({"altup_num_inputs"}, 4, 2, max_dimension);
}

/// AltUp keeps n streams of the hidden state, of which a layer computes one: it predicts all n from a map n x n of each
/// token, and corrects them after. The router runs before and after. LAuReL: a low-rank residual.
[[nodiscard]] inline cost gemma3n_streams(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t n = altup_inputs(model);
    const std::uint64_t maps = checked_multiply(n, n, "altup");
    cost sum = per_layer_input(model, at);
    sum.add("altup", linear{.in_features = h, .out_features = n, .applied = 2, .stored = 1});
    sum.add("altup", linear{.in_features = n, .out_features = maps});
    sum.add("altup", linear{.in_features = n, .out_features = n});
    sum.add_state("altup", checked_multiply(h, maps, "altup"));
    sum.add("laurel", linear{.in_features = h, .out_features = model.read({{"laurel_rank"}, 64}), .applied = 2});
    // The router's and LAuReL's norm, and a scale of the corrected stream.
    sum.add_parameters("norm", term::norm, 3 * h);
    return sum;
}

/// Streams are made from the embedding, and one is made from them at the end.
[[nodiscard]] inline cost gemma3n_once(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    return per_layer_tables(model).add(
        "altup", linear{.in_features = h, .out_features = h, .applied = 2 * (altup_inputs(model) - 1)});
}

// ---- Gemma-4 ----

/// Windows by the family's period; the last layer is full in any case.
[[nodiscard]] inline std::string by_period_last_full(const hf_model& model) {
    std::string letters = by_period(model);
    letters.back() = 'F';
    return letters;
}

inline void check_gemma4(hf_model& model) {
    const std::string mixers = mixer_letters(model);
    if (mixers.back() != 'F') {
        throw error(indexed(model.config.field("layer_types"), mixers.size() - 1),
                    R"(must be "full_attention", as the last layer is, got "sliding_attention")");
    }
    require_kv_producers(model);
}

/// Full layers have heads of another size. A saved config lists the sizes of each layer in `per_layer_config`, under
/// its index with or without zeros before it.
[[nodiscard]] inline layer_heads gemma4_heads(const hf_model& model, const hf_layer& at) {
    const config_fields& config = model.config;
    const layer_heads usual{model.sizes.head_dim, model.sizes.num_kv_heads};
    if (!config.has_value("per_layer_config")) {
        const bool own_kv_heads =
            config.flag("attention_k_eq_v", false) && config.has_value("num_global_key_value_heads");
        return at.mixer != 'F'
                   ? usual
                   : layer_heads{config.dimension({"global_head_dim"}, 512),
                                 own_kv_heads ? config.dimension({"num_global_key_value_heads"}) : usual.num_kv_heads};
    }
    const config_fields layers(*config.find("per_layer_config"), config.field("per_layer_config"));
    for (const auto& [name, value] : config.find("per_layer_config")->items()) {
        std::uint64_t index = 0;
        const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), index);
        if (failure != std::errc{} || end != name.data() + name.size()) {
            throw error(layers.field(name), "must be named by the index of a layer");
        }
        if (index == at.where.index) {
            const config_fields one(value, layers.field(name));
            one.allow_only({"head_dim", "num_key_value_heads"});
            return {one.dimension({"head_dim"}, usual.head_dim),
                    one.dimension({"num_key_value_heads"}, usual.num_kv_heads)};
        }
    }
    return usual;
}

[[nodiscard]] inline cost gemma4_attention(const hf_model& model, const hf_layer& at) {
    return kv_sharing_attention(model, at, gemma4_heads(model, at),
                                at.mixer == 'F' && model.config.flag("attention_k_eq_v", false));
}

/// A dense MLP, and experts beside it where `enable_moe_block`.
[[nodiscard]] inline cost gemma4_mlp(const hf_model& model, const hf_layer& at) {
    const bool wide = model.config.flag("use_double_wide_mlp", false) && shares_kv(model, at.where.index);
    cost sum = dense_of(model, at, (wide ? 2 : 1) * model.sizes.intermediate_size);
    if (model.config.flag("enable_moe_block", false)) {
        const moe experts = read_experts(model);
        sum += experts.cost(at.where);
        // Three norms, the router's scale of each channel and of each expert.
        sum.add_parameters("norm", term::norm, 4 * at.where.hidden_size + experts.num_experts);
    }
    return sum;
}

inline constexpr std::array kv_sharing_decoders{
    hf_family{.model_type = "gemma3n_text",
              .class_prefix = "Gemma3n",
              .heads = std::span<const head>{text_model_heads}.first(2),
              .vocab_size = 262400,
              .hidden_size = 2048,
              .intermediate_size = 16384,
              .intermediate_keys = {},
              .num_hidden_layers = 35,
              .num_attention_heads = 8,
              .num_key_value_heads = 2,
              .head_dim = 256,
              .heads_divide_hidden = true,
              .tie_word_embeddings = true,
              .norms_per_layer = 4,
              .mixers = by_period,
              .period = "SSSSF",
              .layer_types = "FS",
              .sliding_window = 512,
              .attention = gemma3n_attention,
              .dense = gemma3n_mlp,
              .more = gemma3n_streams,
              .once = gemma3n_once,
              .resolve = require_kv_producers},
    hf_family{
        .model_type = "gemma4_text",
        .class_prefix = "Gemma4",
        .heads = std::span<const head>{text_model_heads}.first(2),
        .vocab_size = 262144,
        .hidden_size = 2304,
        .intermediate_size = 9216,
        .num_hidden_layers = 30,
        .num_attention_heads = 8,
        .num_key_value_heads = 4,
        .head_dim = 256,
        .tie_word_embeddings = true,
        .norms_per_layer = 4,
        .mixers = by_period_last_full,
        .period = "SSSSSF",
        .layer_types = "FS",
        .sliding_window = 512,
        .per_layer_config = true,
        .attention = gemma4_attention,
        .dense = gemma4_mlp,
        .experts = {.count = {{"num_experts"}}, .per_token = {{"top_k_experts"}}, .width = {{"moe_intermediate_size"}}},
        .more = per_layer_input,
        .once = per_layer_tables,
        .resolve = check_gemma4},
};

}  // namespace floptally::detail

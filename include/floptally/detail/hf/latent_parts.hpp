// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/latent_attention.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// Parts and rules of the families with latent attention.

namespace floptally::detail {

/// All heads are expanded from one latent: a number of key heads of its own runs in no implementation.
inline void refuse_kv_heads(const hf_model& model) {
    const std::uint64_t heads = model.sizes.num_heads;
    constexpr const char* key = "num_key_value_heads";
    if (model.config.has_value(key) && model.config.dimension({key}) != heads) {
        throw error(model.config.field(key), "must be num_attention_heads (" + std::to_string(heads) +
                                                 ") or absent: latent attention has as many, got " +
                                                 shown(*model.config.find(key)));
    }
}

[[nodiscard]] inline mla read_mla(const hf_model& model) {
    refuse_kv_heads(model);
    const config_fields& config = model.config;
    const hf_latent& otherwise = model.family.latent;
    mla part{.num_heads = model.sizes.num_heads, .absorbed = model.options.mla == mla_core::absorbed};
    const bool null_rank =
        config.contains("q_lora_rank") ? !config.has_value("q_lora_rank") : otherwise.q_lora_rank == derived;
    const bool full_rank = otherwise.q_lora_rank_may_be_null && null_rank;
    part.q_lora_rank = full_rank ? 0 : config.dimension({"q_lora_rank"}, otherwise.q_lora_rank);
    part.kv_lora_rank = config.dimension({"kv_lora_rank"}, otherwise.kv_lora_rank);
    part.qk_nope_head_dim = config.dimension({"qk_nope_head_dim"}, otherwise.qk_nope_head_dim);
    part.qk_rope_head_dim =
        config.dimension({otherwise.also_qk_rope_head_dim, "qk_rope_head_dim"}, otherwise.qk_rope_head_dim);
    const bool derived_value_dim = otherwise.v_head_dim == derived && !config.has_value("v_head_dim");
    part.v_head_dim = derived_value_dim ? model.sizes.head_dim : config.dimension({"v_head_dim"}, otherwise.v_head_dim);
    part.elementwise.norm = part.q_lora_rank + part.kv_lora_rank;
    if (model.has(if_attention_bias)) {
        part.elementwise.bias = part.q_lora_rank + part.kv_lora_rank + part.qk_rope_head_dim + model.sizes.hidden_size;
    }
    return part;
}

[[nodiscard]] inline lightning_indexer read_indexer(const hf_model& model, std::uint64_t query_size) {
    const hf_latent& otherwise = model.family.latent;
    lightning_indexer part{.num_heads = model.config.dimension({"index_n_heads"}, otherwise.index_n_heads),
                           .head_dim = model.config.dimension({"index_head_dim"}, otherwise.index_head_dim),
                           .query_size = query_size,
                           .head_sum_is_product = true};
    part.elementwise.norm = 2 * part.head_dim;  // of the keys, with a bias
    return part;
}

/// Latent attention; with an indexer over the keys that it chooses. A layer of the letter T takes the keys that the
/// layer before it has chosen and has no indexer.
[[nodiscard]] inline cost latent_part(const hf_model& model, const hf_layer& at) {
    const mla part = read_mla(model);
    layer where = at.where;
    if (model.family.latent.index_topk == 0) {
        return part.cost(where);
    }
    where.attends = mask::top_k(static_cast<std::int64_t>(
        model.config.integer({"index_topk"}, model.family.latent.index_topk, 1, 0x7FFF'FFFF)));
    cost sum = part.cost(where);
    if (at.mixer != 'T') {
        sum += read_indexer(model, part.q_lora_rank).cost(where);
    }
    return sum;
}

/// GLM-5: `indexer_types`, else `index_topk_pattern`, else every `index_topk_freq`-th layer from
/// `index_skip_topk_offset` - 1 on, and all before it, has an indexer (F); the others are T.
[[nodiscard]] inline std::string indexer_letters(const hf_model& model) {
    const config_fields& config = model.config;
    const std::string_view key = config.has_value("indexer_types")        ? "indexer_types"
                                 : config.has_value("index_topk_pattern") ? "index_topk_pattern"
                                                                          : "index_skip_topk_offset";
    std::string letters;
    if (key == "index_skip_topk_offset") {
        const std::uint64_t period = config.integer({"index_topk_freq"}, 1, 0, max_layers);
        const std::uint64_t offset = config.integer({"index_skip_topk_offset"}, 2, 0, max_layers);
        letters = where(model, 'F', 'T', [&](std::uint64_t i) {
            const std::uint64_t steps = i + 1 > offset ? i + 1 - offset : 0;
            return period < 2 || steps % period == 0;
        });
    } else if (config.find(key)->is_string() && key == "index_topk_pattern") {
        for (const char letter : config.text(key)) {
            if (letter != 'F' && letter != 'S') {
                throw error(config.field(key), "must be letters F and S, got " + shown(*config.find(key)));
            }
            letters += letter == 'F' ? 'F' : 'T';
        }
    } else {
        const json& types = *config.array(key);
        for (std::size_t index = 0; index < types.size(); ++index) {
            if (types[index] != "full" && types[index] != "shared") {
                throw error(indexed(config.field(key), index),
                            R"(must be "full" or "shared", got )" + shown(types[index]));
            }
            letters += types[index] == "full" ? 'F' : 'T';
        }
    }
    if (letters.size() < model.sizes.num_layers) {
        throw error(config.field(key), "must name the " + std::to_string(model.sizes.num_layers) + " layers, got " +
                                           std::to_string(letters.size()));
    }
    if (letters.front() == 'T') {
        throw error(config.field(key), "must give the first layer an indexer");
    }
    letters.resize(static_cast<std::size_t>(model.sizes.num_layers));
    return letters;
}

inline void refuse_unless(const hf_model& model, const char* key, std::uint64_t accepted) {
    const json* value = model.config.has_value(key) ? model.config.find(key) : nullptr;
    if (value != nullptr && *value != accepted) {
        throw error(model.config.field(key), model.refusal(std::to_string(accepted), *value));
    }
}

/// The classes of these types have experts in every layer after the dense ones and do not read `moe_layer_freq`, which
/// the checkpoints' own code does.
inline void refuse_moe_layer_freq(hf_model& model) { refuse_unless(model, "moe_layer_freq", 1); }

/// GLM-4.7-Flash: the same of `first_k_dense_replace`; `mlp_layer_types` says it where it is given.
inline void refuse_other_dense_layers(hf_model& model) {
    refuse_moe_layer_freq(model);
    if (!model.config.has_value("mlp_layer_types")) {
        refuse_unless(model, "first_k_dense_replace", 1);
    }
}

[[nodiscard]] inline std::string mlp_types_or_dense_first(const hf_model& model) {
    return by_mlp_layer_types(model, dense_first_feeds);
}

/// A.X-K1: a norm after the experts, in the layers that have them.
[[nodiscard]] inline cost normed_experts_part(const hf_model& model, const hf_layer& at) {
    moe part = read_experts(model);
    part.elementwise.norm += at.where.hidden_size;
    return part.cost(at.where);
}

/// A.X-K1: `first_k_dense_replace` and `moe_layer_freq`, where `mlp_layer_types` does not say it.
[[nodiscard]] inline std::string axk1_feeds(const hf_model& model) {
    return by_mlp_layer_types(model, [](const hf_model& m) {
        const std::uint64_t dense = m.read_or_none(m.family.experts.first_dense);
        const std::uint64_t period = m.config.integer({"moe_layer_freq"}, 1, 1, max_layers);
        return where(m, 'e', 'd', [&](std::uint64_t i) { return i >= dense && i % period == 0; });
    });
}

// ---- LongCat-Flash (arXiv:2509.01322): each layer is two attentions and two dense MLPs, with experts beside them ----

[[nodiscard]] inline cost longcat_attention_part(const hf_model& model, const hf_layer& at) {
    return 2 * latent_part(model, at);
}

[[nodiscard]] inline std::uint64_t zero_experts(const hf_model& model) {
    return model.read_or_none({{"zero_expert_num"}, 256});
}

[[nodiscard]] inline cost longcat_feed_part(const hf_model& model, const hf_layer& at) {
    moe experts = read_experts(model);
    experts.zero_experts = zero_experts(model);
    if (model.config.is_on("router_bias")) {
        experts.elementwise.bias += experts.num_experts + experts.zero_experts;
    }
    return experts.cost(at.where) + 2 * dense_part(model, at);
}

inline void resolve_longcat(hf_model& model) {
    const config_fields& config = model.config;
    // `num_hidden_layers` counts the attentions.
    model.sizes.num_layers = config.contains("num_hidden_layers")
                                 ? config.integer({"num_hidden_layers"}, required, 2, max_layers) / 2
                                 : config.integer({"num_layers"}, model.family.num_hidden_layers, 1, max_layers);
    const mla part = read_mla(model);
    refuse_unless(model, "qk_head_dim", part.qk_nope_head_dim + part.qk_rope_head_dim);
    if (model.options.mtp_layers != 0) {
        throw error("mtp",
                    "is not supported for model_type longcat_flash: its layer of multi-token prediction is none "
                    "of the kinds that the model has");
    }
    if (const std::uint64_t identity = zero_experts(model)) {
        model.notes.push_back("tokens choose among " + std::to_string(identity) +
                              " identity experts too: counted as if all their choices were real experts, an upper "
                              "bound that the data stay below");
    }
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>

/// The models of peers.json as costs. A config has the field names of its framework; what two frameworks name
/// differently is read under both names.
namespace peer_models {

using floptally::accumulator;
using floptally::attention_core;
using floptally::cost;
using floptally::layer;
using floptally::linear;
using floptally::mask;
using floptally::term;
using nlohmann::json;

inline std::uint64_t number(const json& model, std::initializer_list<const char*> names, std::uint64_t otherwise = 0) {
    for (const char* name : names) {
        if (const auto field = model.find(name); field != model.end() && field->is_number()) {
            return field->get<std::uint64_t>();
        }
    }
    return otherwise;
}

inline bool flag(const json& model, std::initializer_list<const char*> names, bool otherwise = false) {
    for (const char* name : names) {
        if (model.contains(name)) {
            return model[name].get<bool>();
        }
    }
    return otherwise;
}

inline std::uint64_t heads(const json& model) {
    return number(model, {"num_attention_heads", "num_query_heads"}, model["hidden_size"].get<std::uint64_t>() / 128);
}

// ---- attention and mixers ----

inline mask mask_of(const json& model, std::uint64_t index) {
    const auto window = [&] { return mask::sliding_window(model["sliding_window"].get<std::int64_t>()); };
    if (flag(model, {"bidirectional"}) || model.value("model_type", "") == "esm") {
        return mask::bidirectional();
    }
    if (const std::uint64_t keys = number(model, {"index_topk", "dsa_indexer_topk"}); keys != 0) {
        return mask::top_k(static_cast<std::int64_t>(keys));
    }
    if (model.contains("layer_types")) {
        return model["layer_types"][index] == "sliding_attention" ? window() : mask::causal();
    }
    if (const std::uint64_t every = number(model, {"full_attention_every"}); every != 0) {
        return index % every == 0 ? mask::causal() : window();
    }
    return mask::causal();
}

inline cost gqa(const json& model, const layer& where) {
    const std::uint64_t num_heads = heads(model);
    const std::uint64_t head_dim = number(model, {"head_dim", "kv_channels"}, where.hidden_size / num_heads);
    const bool gated = flag(model, {"attention_output_gate", "attn_output_gate"});
    return floptally::gqa{
        .num_heads = num_heads,
        .num_kv_heads = number(model, {"num_key_value_heads", "num_query_groups", "num_attention_groups"}, num_heads),
        .head_dim = head_dim,
        .gate_size = gated ? num_heads * head_dim : 0}
        .cost(where);
}

/// DeepSeek's latent attention and, where there is one, its indexer, whose heads are added up by a product: with a loss
/// of its own beside absorbed attention (Megatron-Core), or trained as any layer (Automodel).
inline cost mla(const json& model, const layer& where) {
    const std::uint64_t query_rank = number(model, {"q_lora_rank"});
    const std::uint64_t latent = number(model, {"kv_lora_rank"});
    const bool own_loss = model.contains("dsa_indexer_loss_coeff") || flag(model, {"absorbed"});
    cost sum = floptally::mla{.num_heads = heads(model),
                              .q_lora_rank = query_rank,
                              .kv_lora_rank = latent,
                              .qk_nope_head_dim = number(model, {"qk_nope_head_dim", "qk_head_dim"}),
                              .qk_rope_head_dim = number(model, {"qk_rope_head_dim", "qk_pos_emb_head_dim"}),
                              .v_head_dim = number(model, {"v_head_dim"}),
                              .absorbed = own_loss,
                              .elementwise = {.norm = query_rank + latent}}
                   .cost(where);
    const std::uint64_t indexers = number(model, {"index_n_heads", "dsa_indexer_n_heads"});
    // Layers between take the choice of the last one that has an indexer.
    const std::uint64_t every = number(model, {"dsa_indexer_topk_freq"}, 1);
    const std::uint64_t offset = std::max(number(model, {"dsa_indexer_skip_topk_offset"}), std::uint64_t{1});
    const std::uint64_t behind = where.index + 1 > offset ? where.index + 1 - offset : 0;
    if (indexers != 0 && behind % every == 0) {
        const std::uint64_t width = number(model, {"index_head_dim", "dsa_indexer_head_dim"});
        sum += floptally::lightning_indexer{.num_heads = indexers,
                                            .head_dim = width,
                                            .query_size = query_rank,
                                            .detached = own_loss,
                                            .head_sum_is_product = !flag(model, {"heads_added_up"})}
                   .cost(where);
    }
    return sum;
}

inline cost gated_delta_net(const json& model, const layer& where) {
    return floptally::gated_delta_net{.num_key_heads = number(model, {"linear_num_key_heads"}),
                                      .num_value_heads = number(model, {"linear_num_value_heads"}),
                                      .key_head_dim = number(model, {"linear_key_head_dim"}),
                                      .value_head_dim = number(model, {"linear_value_head_dim"}),
                                      .conv_kernel = number(model, {"linear_conv_kernel_dim"})}
        .cost(where);
}

inline cost kimi_delta_attention(const json& model, const layer& where) {
    return floptally::kda{.num_heads = number(model, {"kimi_linear_num_heads"}),
                          .head_dim = number(model, {"kimi_linear_head_dim"}),
                          .conv_kernel = number(model, {"kimi_linear_conv_kernel_size"}),
                          .full_output_gate = !flag(model, {"delta_rule_layer"})}
        .cost(where);
}

inline cost mamba2(const json& model, const layer& where) {
    return floptally::mamba2{.num_heads = number(model, {"mamba_num_heads"}),
                             .head_dim = number(model, {"mamba_head_dim"}),
                             .n_groups = number(model, {"n_groups", "mamba_num_groups"}),
                             .state_size = number(model, {"ssm_state_size", "mamba_state_dim"}),
                             .conv_kernel = number(model, {"conv_kernel"}, 4)}
        .cost(where);
}

/// DeepSeek-V4's compressed attention without its pairs: queries through a latent, one key-value head of v_head_dim, an
/// output in groups, compressors of keys and values, and where a block has 4 tokens an indexer with one of its own.
inline cost compressed_attention(const json& model, const layer& where) {
    const std::uint64_t h = where.hidden_size;
    const std::uint64_t v = number(model, {"v_head_dim"});
    const std::uint64_t query_rank = number(model, {"q_lora_rank"});
    const std::uint64_t output_rank = number(model, {"o_lora_rank"});
    const std::uint64_t query_width =
        heads(model) * (number(model, {"qk_head_dim"}) + number(model, {"qk_pos_emb_head_dim"}));
    cost sum;
    sum.add("attention.qkv", linear{.in_features = h, .out_features = query_rank});
    sum.add("attention.qkv", linear{.in_features = query_rank, .out_features = query_width});
    sum.add("attention.qkv", linear{.in_features = h, .out_features = v});
    sum.add("attention.output", linear{.in_features = heads(model) * v, .out_features = output_rank});
    sum.add("attention.output", linear{.in_features = number(model, {"o_groups"}) * output_rank, .out_features = h});
    sum.add_parameters("norm", term::latent_norm, query_rank + v);
    const std::uint64_t ratio = model["csa_compress_ratios"][where.index];
    if (ratio != 0) {
        sum.add(
            "attention.qkv",
            linear{.in_features = h, .out_features = (ratio == 4 ? 2 : 1) * v, .applied = 2});  // values and weights
    }
    if (ratio == 4) {
        const std::uint64_t indexers = number(model, {"dsa_indexer_n_heads"});
        const std::uint64_t width = number(model, {"dsa_indexer_head_dim"});
        sum.add("attention.indexer", linear{.in_features = h, .out_features = 2 * width, .applied = 2});
        sum.add("attention.indexer", linear{.in_features = query_rank, .out_features = indexers * width});
        sum.add("attention.indexer", linear{.in_features = h, .out_features = indexers});
    }
    return sum;
}

inline bool is_linear_attention(const json& model, std::uint64_t index) {
    if (model.contains("layer_types")) {
        return model["layer_types"][index] == "linear_attention";
    }
    const std::uint64_t interval = number(model, {"linear_attention_freq", "full_attention_interval"});
    return interval != 0 && (index + 1) % interval != 0;
}

inline cost mixer(const json& model, const layer& where) {
    if (model.contains("csa_compress_ratios")) {
        return compressed_attention(model, where);
    }
    if (model.contains("kimi_kda_layers")) {
        for (const json& entry : model["kimi_kda_layers"]) {
            if (entry.get<std::uint64_t>() == where.index + 1) {
                return kimi_delta_attention(model, where);
            }
        }
    }
    if (is_linear_attention(model, where.index)) {
        return gated_delta_net(model, where);
    }
    return model.contains("kv_lora_rank") ? mla(model, where) : gqa(model, where);
}

// ---- feed-forward ----

inline std::uint64_t chosen_experts(const json& model) {
    return number(model, {"num_experts_per_tok", "moe_router_topk", "moe_top_k"});
}

inline std::uint64_t all_experts(const json& model) {
    return number(model, {"num_experts", "n_routed_experts", "num_local_experts", "num_moe_experts"});
}

inline bool is_gated(const json& model) {
    const std::string type = model.value("model_type", "");
    return flag(model, {"gated_mlp"}, type != "nemotron_h" && type != "apertus" && type != "esm");
}

inline cost mlp(const json& model, const layer& where) {
    const std::uint64_t size = number(model, {"intermediate_size", "ffn_hidden_size"});
    return size == 0         ? cost{}
           : is_gated(model) ? floptally::gated_mlp{.intermediate_size = size}.cost(where)
                             : floptally::mlp{.intermediate_size = size}.cost(where);
}

/// The cost of a mixture of experts. Where a config gives no number of experts, there are as many as are chosen, and
/// the router is left out.
inline cost moe(const json& model, const layer& where) {
    const std::uint64_t size = number(model, {"moe_intermediate_size", "moe_ffn_hidden_size", "intermediate_size"});
    const std::uint64_t shared =
        number(model, {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "share_expert_dim"},
               number(model, {"n_shared_experts"}) * size);
    return floptally::moe{.num_experts = all_experts(model) == 0 ? chosen_experts(model) : all_experts(model),
                          .num_experts_per_tok = chosen_experts(model),
                          .intermediate_size = size,
                          .shared_intermediate_size = shared,
                          .shared_expert_gate = flag(model, {"shared_expert_gate"}),
                          .gated = flag(model, {"gated_experts"}, is_gated(model)),
                          .latent_size = number(model, {"moe_latent_size"})}
        .cost(where);
}

inline bool is_sparse(const json& model, std::uint64_t index) {
    if (chosen_experts(model) == 0) {
        return false;
    }
    if (model.contains("moe_layer_freq") && model["moe_layer_freq"].is_array()) {
        return model["moe_layer_freq"][index] == 1;
    }
    if (model.contains("moe_layers_enum")) {  // "3,4,5": one digit each
        return model["moe_layers_enum"].get<std::string>().find(std::to_string(index)) != std::string::npos;
    }
    return index >= number(model, {"first_k_dense_replace"});
}

// ---- whole models ----

inline cost decoder(const json& model) {
    const std::uint64_t h = model["hidden_size"];
    const std::string pattern = model.value("hybrid_layer_pattern", model.value("hybrid_override_pattern", ""));
    const std::uint64_t layers =
        pattern.empty() ? number(model, {"num_hidden_layers", "num_layers"}) : std::uint64_t{pattern.size()};
    cost sum;
    for (std::uint64_t index = 0; index < layers; ++index) {
        const layer where{index, h, mask_of(model, index)};
        switch (pattern.empty() ? ' ' : pattern[static_cast<std::size_t>(index)]) {
            case 'M':
                sum += mamba2(model, where);
                break;
            case 'G':
                sum += gated_delta_net(model, where);
                break;
            case '*':
                sum += gqa(model, where);
                break;
            case '-':
                sum += mlp(model, where);
                break;
            case 'E':
                sum += moe(model, where);
                break;
            default:
                sum += mixer(model, where);
                sum += is_sparse(model, index) ? moe(model, where) : mlp(model, where);
                sum.add_parameters("norm", term::norm, 2 * h);
        }
    }
    sum.add_parameters("norm", term::norm, h);
    if (const std::uint64_t vocabulary = number(model, {"vocab_size"}); vocabulary != 0) {
        const floptally::vocabulary vocab{.size = vocabulary, .tied = flag(model, {"tie_word_embeddings"})};
        sum += vocab.head_cost(h);
        sum += vocab.embedding_cost(h);
    }
    if (model.value("model_type", "") == "esm") {  // a dense layer stands before its lm_head
        sum.add("lm_head", linear{.in_features = h, .out_features = h, .kind = term::lm_head});
    }
    return sum;
}

/// One layer of a multi-token-prediction head, or all of it: [depths, kinds of layers, whether each depth has all].
inline cost nemotron_prediction_head(const json& model, const json& mtp) {
    const layer where{0, model["hidden_size"]};
    if (mtp.empty()) {
        return chosen_experts(model) == 0 ? mlp(model, where) : moe(model, where);
    }
    cost one_depth;
    const std::size_t per_depth = mtp[2].get<bool>() ? mtp[1].size() : mtp[1].size() / mtp[0].get<std::size_t>();
    for (std::size_t i = 0; i < per_depth; ++i) {
        one_depth += mtp[1][i] == "mlp" ? mlp(model, where) : moe(model, where);
    }
    return floptally::multi_token_prediction{.num_layers = mtp[0]}.cost(
        one_depth, where.hidden_size, floptally::vocabulary{.size = model["vocab_size"]});
}

/// Wan's diffusion transformer over latent patches, each layer with cross attention to the encoded prompt.
inline cost wan(const json& model) {
    const std::uint64_t h = model["hidden_size"];
    const std::uint64_t num_heads = heads(model);
    const std::uint64_t context = model["crossattn_emb_size"];
    const std::uint64_t patch =
        number(model, {"patch_spatial"}) * number(model, {"patch_spatial"}) * number(model, {"patch_temporal"});
    const layer where{0, h, mask::bidirectional()};
    cost copy = floptally::mha{.num_heads = num_heads, .head_dim = h / num_heads}.cost(where);
    copy +=
        floptally::cross_attention{
            .num_heads = num_heads, .num_kv_heads = num_heads, .head_dim = h / num_heads, .context_size = context}
            .cost(where);
    copy += floptally::mlp{.intermediate_size = model["ffn_hidden_size"]}.cost(where);
    cost sum = model["num_layers"].get<std::uint64_t>() * copy;
    sum.add("patch_embedding", linear{.in_features = number(model, {"in_channels"}) * patch, .out_features = h});
    sum.add("head", linear{.in_features = h, .out_features = number(model, {"out_channels"}) * patch});
    sum.add("text_embedding",
            linear{.in_features = number(model, {"text_dim"}), .out_features = context, .rows = accumulator::keys});
    sum.add("text_embedding", linear{.in_features = context, .out_features = context, .rows = accumulator::keys});
    return sum;
}

/// Qwen-Image's transformer: two streams, of latents and of text, each with matrices of its own, that meet in
/// attention; modulation is once a sample. The text is the other side.
inline cost qwen_image(const json& model) {
    const std::uint64_t num_heads = model["num_attention_heads"];
    const std::uint64_t head_dim = model["attention_head_dim"];
    const std::uint64_t h = num_heads * head_dim;
    const std::uint64_t patch = number(model, {"patch_size"}) * number(model, {"patch_size"});
    cost sum_of_costs;
    for (const accumulator rows : {accumulator::tokens, accumulator::keys}) {
        sum_of_costs.add("attention.qkv", linear{.in_features = h, .out_features = 3 * h, .rows = rows});
        sum_of_costs.add("attention.output", linear{.in_features = h, .out_features = h, .rows = rows});
        sum_of_costs.add("mlp", linear{.in_features = h, .out_features = 4 * h, .rows = rows});
        sum_of_costs.add("mlp", linear{.in_features = 4 * h, .out_features = h, .rows = rows});
        sum_of_costs.add("modulation", linear{.in_features = h, .out_features = 6 * h, .rows = accumulator::count});
    }
    for (const mask& pairs :
         {mask::bidirectional(), mask::cross_attention(), mask::cross_attention(), mask::encoder()}) {
        sum_of_costs.add("attention.core", attention_core{num_heads, head_dim, head_dim}, pairs);
    }
    cost sum = model["num_layers"].get<std::uint64_t>() * sum_of_costs;
    sum.add("img_in", linear{.in_features = model["in_channels"], .out_features = h});
    sum.add("txt_in",
            linear{.in_features = model["joint_attention_dim"], .out_features = h, .rows = accumulator::keys});
    sum.add("proj_out", linear{.in_features = h, .out_features = patch * number(model, {"out_channels"})});
    return model["passes"].get<std::uint64_t>() * sum;
}

/// Linears one after the other, each a component: "linear.0" …
/// A vision tower by itself, with its patch embedding where the patch is known. Of windows in most blocks where there
/// are any.
inline cost vision_tower(const json& model) {
    const std::uint64_t h = model["hidden_size"];
    const std::uint64_t merge = model["spatial_merge_size"];
    const std::uint64_t full_heads = model["num_heads"];
    const auto full = model.value("fullatt_block_indexes", std::vector<std::uint64_t>{});
    const std::uint64_t pixels = number(model, {"window_size"});
    cost sum;
    for (std::uint64_t index = 0; index < model["depth"].get<std::uint64_t>(); ++index) {
        layer where{index, h, mask::bidirectional()};
        if (pixels != 0 && std::find(full.begin(), full.end(), index) == full.end()) {
            const std::uint64_t cells = pixels / merge / model["patch_size"].get<std::uint64_t>();
            where.attends = mask::grid_windows(static_cast<std::int64_t>(cells * merge));
        }
        sum += floptally::mha{.num_heads = full_heads, .head_dim = h / full_heads}.cost(where);
        sum += mlp(model, where);
    }
    if (model.contains("patch_size")) {
        sum += floptally::patch_embedding{.in_channels = model["in_channels"],
                                          .patch_size = model["patch_size"],
                                          .temporal_patch_size = model["temporal_patch_size"]}
                   .cost(h);
    }
    const cost merger =
        floptally::patch_merger{.spatial_merge_size = merge, .hidden_size = h, .out_features = model["out_hidden_size"]}
            .cost();
    sum += (1 + model.value("deepstack_visual_indexes", json::array()).size()) * merger;
    return sum.in(floptally::modality::vision);
}

inline cost linears(const json& model) {
    cost sum;
    for (std::size_t i = 0; i < model["linears"].size(); ++i) {
        sum.add(std::string("linear.").append(std::to_string(i)),
                linear{.in_features = model["linears"][i][0], .out_features = model["linears"][i][1]});
    }
    return sum;
}

// ---- MaxText's functions of single components ----

/// Attention of a layer with global or local attention, and its projections.
inline cost maxtext_layer(const json& model, bool global, std::uint64_t index) {
    const std::uint64_t h = number(model, {"emb_dim"});
    const std::uint64_t head_dim =
        global ? number(model, {"global_head_dim"}, number(model, {"head_dim"})) : number(model, {"head_dim"});
    const std::uint64_t kv_heads = global && number(model, {"global_num_kv_heads"}) != 0
                                       ? number(model, {"global_num_kv_heads"})
                                       : number(model, {"num_kv_heads"});
    const std::uint64_t layers = number(model, {"num_decoder_layers"});
    const bool borrows_kv = index + number(model, {"num_kv_shared_layers"}) >= layers;
    const std::uint64_t kv = borrows_kv ? 0 : global && flag(model, {"share_kv_projections"}) ? 1 : 2;
    const std::uint64_t query_width = number(model, {"num_query_heads"}) * head_dim;
    const mask limited = model.contains("chunk_attn_window_size")
                             ? mask::chunked(model["chunk_attn_window_size"].get<std::int64_t>())
                             : mask::sliding_window(model["sliding_window_size"].get<std::int64_t>());
    cost sum;
    sum.add("attention.core", attention_core{number(model, {"num_query_heads"}), head_dim, head_dim},
            global ? mask::causal() : limited);
    if (model["maxtext"].get<std::string>().find("gemma4") == std::string::npos) {
        return sum;  // the others are told the FLOPs of their projections
    }
    sum.add("attention.qkv", linear{.in_features = h, .out_features = query_width, .applied = 2});
    sum.add("attention.qkv", linear{.in_features = h, .out_features = kv_heads * head_dim, .applied = kv, .stored = 1});
    return sum;
}

/// The part of a model that a test of one function covers. For Gemma 2 that function calls a pair of a local and a
/// global layer one layer.
inline cost maxtext_part(const json& model, bool attention) {
    const std::string function = model["maxtext"];
    const std::uint64_t layers = number(model, {"num_decoder_layers"});
    cost sum;
    if (function == "calculate_routed_and_shared_ffn_tflops_per_device") {
        const std::uint64_t h = model["emb_dim"];
        for (std::uint64_t index = 0; index < layers; ++index) {
            sum += index < number(model, {"first_num_dense_layers"})
                       ? floptally::gated_mlp{.intermediate_size = model["mlp_dim"]}.cost(layer{index, h})
                       : floptally::moe{.num_experts = model["num_experts"],
                                        .num_experts_per_tok = model["num_experts_per_tok"],
                                        .intermediate_size = model["moe_mlp_dim"],
                                        .shared_intermediate_size =
                                            number(model, {"shared_experts"}) * number(model, {"moe_mlp_dim"})}
                             .cost(layer{index, h});
        }
        return sum;
    }
    const bool pairs = function == "calculate_gemma2_tflops_training_per_device";
    const std::uint64_t every = pairs ? 2 : number(model, {"full_attention_every"});
    for (std::uint64_t index = 0; index < (pairs ? 2 * layers : layers); ++index) {
        const cost layer_cost = maxtext_layer(model, (index + 1) % every == 0, index);
        const bool per_layer_inputs = number(model, {"hidden_size_per_layer_input"}) != 0;
        sum += layer_cost;
        if (attention || !per_layer_inputs) {
            continue;
        }
        const std::uint64_t h = model["emb_dim"];
        const std::uint64_t input = model["hidden_size_per_layer_input"];
        const bool wide =
            flag(model, {"use_double_wide_mlp"}) && index + number(model, {"num_kv_shared_layers"}) >= layers;
        sum += floptally::gated_mlp{.intermediate_size = (wide ? 2 : 1) * number(model, {"mlp_dim"})}.cost({index, h});
        // Every layer's share of the projection of the embedding, and its gate in and out.
        sum.add("per_layer_input", linear{.in_features = h, .out_features = input, .applied = 3});
    }
    return sum;
}

/// FLOPs that a test hands to a function as they are, in a training step.
inline std::int64_t maxtext_arguments(const json& entry) {
    if (entry.value("scope", "") != "component: learnable_weights") {
        return 0;
    }
    const json& report = entry["batch"]["arguments"];
    const auto value = [&report](std::size_t i) { return report[i].get<std::int64_t>(); };
    const std::string function = entry["model"]["maxtext"];
    const std::int64_t layers = entry["model"]["num_decoder_layers"];
    if (function == "calculate_gemma2_tflops_training_per_device") {  // feed-forward, qkv and output of a layer; head
        return 3 * (2 * layers * (value(0) + value(1) + value(2)) + value(3));
    }
    if (function == "calculate_mixed_attention_model_tflops_training_per_device") {  // only the first is a total
        return 3 * (value(0) + layers * (value(1) + value(2)) + value(3));
    }
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < report.size(); ++i) {
        sum += 3 * value(i);
    }
    return sum;
}

}  // namespace peer_models

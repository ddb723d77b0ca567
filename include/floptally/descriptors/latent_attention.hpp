// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/statistics/sequence_units.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Multi-head latent attention (`mla`) and the indexer of sparse attention (`lightning_indexer`).

namespace floptally::inline v0_3 {

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1). Keys and values are expanded from a latent
/// of `kv_lora_rank`, queries from one of `q_lora_rank`. The part of a key with rotary positions is shared by all
/// heads.
///
/// Forward FLOPs with h = hidden_size, H heads, n = qk_nope_head_dim, r = qk_rope_head_dim, v = v_head_dim and c =
/// kv_lora_rank: a token takes 2·h·q_lora_rank + 2·q_lora_rank·H·(n + r) for q, or 2·h·H·(n + r) at full rank. It takes
/// 2·h·(c + r) + 2·c·H·(n + v) for keys and values, and 2·H·v·h for the output. An attended pair takes 2·H·(n + r) for
/// QKᵀ and 2·H·v for PV.
///
/// With `absorbed`, the matrix kv_b is not applied to the latent. One part of kv_b is applied to the query (2·H·n·c
/// FLOPs per token), the other part to the output of the core (2·H·c·v). A pair then costs 2·H·(c + r) for QKᵀ and
/// 2·H·c for PV. Here H is the number of heads, n = qk_nope_head_dim, r = qk_rope_head_dim, v = v_head_dim and c =
/// kv_lora_rank. Weights and FLOPs per token are the same as without `absorbed`. `absorbed` is cheaper only if few
/// queries attend to many cached keys.
struct mla {
    std::uint64_t num_heads = 0;
    std::uint64_t q_lora_rank = 0;  ///< width of the queries' latent; 0: queries of full rank
    std::uint64_t kv_lora_rank = 0;
    std::uint64_t qk_nope_head_dim = 0;
    std::uint64_t qk_rope_head_dim = 0;  ///< width of the part of a head with rotary positions; 0: no RoPE
    std::uint64_t v_head_dim = 0;
    bool absorbed = false;
    elementwise_parameters elementwise{};  ///< norms and biases; `norm` includes the norms of the two latents
    /// Number of outputs of a gate on the attended values. It costs 2·hidden_size·gate_size FLOPs per token. 0: no
    /// gate.
    std::uint64_t gate_size = 0;
    bool shares_latent = false;  ///< true: keys and values are expanded from the latent of an earlier layer

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_attention_heads");
        require_positive(kv_lora_rank, "kv_lora_rank");
        require_positive(qk_nope_head_dim, "qk_nope_head_dim");
        require_positive(v_head_dim, "v_head_dim");
        const std::uint64_t h = where.hidden_size;
        const checked nope_head_dim(qk_nope_head_dim, "attention.qkv");
        const checked qk_head_dim = nope_head_dim + qk_rope_head_dim;
        const std::uint64_t query_width = num_heads * qk_head_dim;
        const std::uint64_t latent_key = checked(kv_lora_rank, "attention.qkv") + qk_rope_head_dim;
        floptally::cost sum;
        constexpr value::set q_latent = value::local(0);
        constexpr value::set q = value::local(1);
        const value::set latent =
            shares_latent ? value::stream : value::local(2);  // with `shares_latent`, the latent of an earlier layer
                                                              // arrives together with the hidden states
        constexpr value::set kv = value::local(3);
        constexpr value::set out = value::local(4);
        constexpr value::set absorbed_out = value::local(5);
        constexpr value::set gate = value::local(6);
        const auto add_weight = [&sum](std::uint64_t in, std::uint64_t width, std::string_view name, value::set reads,
                                       value::set writes, const tensor_sharding& sharding) {
            sum.add("attention.qkv", linear{.in_features = in,
                                            .out_features = width,
                                            .weight = name,
                                            .reads = reads,
                                            .writes = writes,
                                            .sharding = sharding});
        };
        // Every rank has the complete matrices that project to the latents ("duplicated" in Megatron-Core).
        const tensor_sharding heads = tensor_sharding::heads(num_heads);
        const tensor_sharding whole = tensor_sharding::replicated();
        if (q_lora_rank == 0) {
            add_weight(h, query_width, "q_proj", value::stream, q, heads);
        } else {
            add_weight(h, q_lora_rank, "q_a_proj", value::stream, q_latent, whole);
            add_weight(q_lora_rank, query_width, "q_b_proj", q_latent, q, heads);
        }
        if (!shares_latent) {
            add_weight(h, latent_key, "kv_a_proj", value::stream, latent, whole);
        }
        if (gate_size != 0) {
            add_weight(h, gate_size, "gate_proj", value::stream, gate, heads);
        }
        if (absorbed) {
            add_absorbed(sum, where, q, latent, out, absorbed_out);
        } else {
            const auto keys = static_cast<value::set>(
                latent | kv);  // the RoPE part of the keys is taken from the latent without kv_b
            const std::uint64_t kv_width = num_heads * (nope_head_dim + v_head_dim);
            add_weight(kv_lora_rank, kv_width, "kv_b_proj", latent, kv, heads);
            sum.add("attention.core", attention_core{num_heads, qk_head_dim, v_head_dim, q, keys, kv, out},
                    where.attends);
        }
        sum.add("attention.output", linear{.in_features = checked(num_heads, "attention.output") * v_head_dim,
                                           .out_features = h,
                                           .weight = "o_proj",
                                           .reads = static_cast<value::set>(out | absorbed_out | gate),
                                           .sharding = heads});
        sum.add_parameters("norm", term::latent_norm, elementwise.norm);
        sum.add_parameters("bias", term::bias, elementwise.bias);
        return sum;
    }

    /// Returns true if the attention core of any layer runs over the latent (`absorbed`). In such a layer the part of
    /// kv_b for values is applied after the core.
    [[nodiscard]] static constexpr bool is_absorbed_in(const floptally::cost& model) {
        for (const cost_entry& entry : model.entries()) {
            if (model.components()[entry.component].is("attention.output") && model.weight_name(entry) == "kv_b_proj") {
                return true;
            }
        }
        return false;
    }

  private:
    /// Adds an attention core that runs over the latent. Each head's part of kv_b for keys is applied to the query, the
    /// part for values to the output of the core. LoRA cannot adapt a weight that is split in this way.
    constexpr void add_absorbed(floptally::cost& sum, const layer& where, value::set q, value::set latent,
                                value::set out, value::set absorbed_out) const {
        constexpr value::set absorbed_q = value::local(3);
        const auto add_part = [&](const char* component, std::uint64_t width, value::set reads, value::set writes) {
            sum.add(component, linear{.in_features = kv_lora_rank,
                                      .out_features = width,
                                      .applied = num_heads,
                                      .weight = "kv_b_proj",
                                      .reads = reads,
                                      .writes = writes,
                                      .adaptable = false,
                                      .sharding = tensor_sharding::heads(num_heads)});
        };
        add_part("attention.qkv", qk_nope_head_dim, q, absorbed_q);
        add_part("attention.output", v_head_dim, out, absorbed_out);
        sum.add("attention.core",
                attention_core{num_heads, checked(kv_lora_rank, "attention.qkv") + qk_rope_head_dim, kv_lora_rank,
                               static_cast<value::set>(q | absorbed_q), latent, latent, out},
                where.attends);
    }
};

/// The lightning indexer of DeepSeek sparse attention (DeepSeek-V3.2, arXiv:2512.02556, section 2.1). It scores every
/// earlier token cheaply, so that the main attention needs only the `mask::top_k` best.
///
/// Forward FLOPs with h = hidden_size and H heads of width d: a token takes 2·query_size·H·d for queries, 2·h·d for one
/// key, and 2·h·H for one weight per head. The queries are computed from the latent of the attention's queries. The
/// scores QKᵀ take 2·H·d for each pair of a causal mask, even if the layer has another mask. The scores of the heads
/// are then summed with the head weights. With `head_sum_is_product` this sum counts as a product [1, H]·[H, keys] of
/// 2·H per pair, as in Hugging Face's implementation. A fused kernel computes it without a product.
///
/// With a `compress_ratio` the indexer scores blocks instead of tokens: a pair is a query and a complete block before
/// it. A matrix with `key_width` columns computes the key of a block. With `key_gate` another matrix weighs the block's
/// tokens (DeepSeek-V4, GLM-5). Without `head_weights` each head chooses keys separately (MiniMax-M3).
///
/// No gradient passes through the choice of keys. `training_plan::indexer` says whether a separate loss trains the
/// indexer. Set `lightning_indexer::detached` to false if gradients flow from the indexer to its inputs, as in an
/// ordinary layer.
struct lightning_indexer {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t query_size = 0;  ///< width of the latent from which the queries are projected: q_lora_rank
    bool detached = true;
    elementwise_parameters elementwise{};
    bool head_sum_is_product = false;
    std::uint64_t compress_ratio = 0;  ///< number of tokens in a block that gets one score; 0: each token gets a score
    std::uint64_t key_width = 0;       ///< number of columns of the matrix that computes the keys; 0: head_dim
    bool key_gate = false;
    bool head_weights = true;
    std::uint64_t key_input = 0;  ///< width of the compressed key from which a block's key is computed; 0: the key is
                                  ///< computed from the block's tokens
    bool shares_keys = false;     ///< true: the keys come from the indexer of an earlier layer

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "index_n_heads");
        require_positive(head_dim, "index_head_dim");
        require_positive(query_size, "q_lora_rank");
        const checked width = checked(num_heads, "attention.indexer") * head_dim;
        floptally::cost sum;
        // The queries are computed from a value inside the main attention. The entry of the queries declares no input,
        // because the indexer does not know the number of that value.
        constexpr value::set q = value::local(0);
        constexpr value::set k = value::local(1);
        constexpr value::set head_sums = value::local(2);
        constexpr value::set scores = value::local(3);
        const term weight_term = detached ? term::index_linear : term::linear;
        // Megatron-Core gathers the indexer's inputs, so every rank runs the indexer on all tokens.
        const tensor_sharding sharding = tensor_sharding::repeated();
        sum.add("attention.indexer", linear{.in_features = query_size,
                                            .out_features = width,
                                            .kind = weight_term,
                                            .weight = "wq_b",
                                            .writes = q,
                                            .sharding = sharding});
        const auto add_from_stream = [&](std::uint64_t columns, std::string_view name, value::set writes) {
            sum.add("attention.indexer", linear{.in_features = where.hidden_size,
                                                .out_features = columns,
                                                .kind = weight_term,
                                                .weight = name,
                                                .reads = value::stream,
                                                .writes = writes,
                                                .sharding = sharding});
        };
        const std::uint64_t key_columns = key_width == 0 ? head_dim : key_width;
        if (key_input != 0 && compress_ratio == 0) {
            throw error("compress_ratio", "must be at least 1 if keys are made from compressed keys, got 0");
        }
        if (key_input != 0 && !shares_keys) {
            // The compressed keys come from the main attention, like the queries' latent.
            floptally::cost keys;
            keys.add("attention.indexer", linear{.in_features = key_input,
                                                 .out_features = key_columns,
                                                 .kind = weight_term,
                                                 .weight = "wk",
                                                 .writes = k,
                                                 .sharding = sharding});
            sum += keys.over(unit::whole_blocks(ratio()));
        } else if (!shares_keys) {
            add_from_stream(key_columns, "wk", k);
        }
        if (key_gate && !shares_keys) {
            add_from_stream(key_columns, "gate_proj", k);
        }
        if (head_weights) {
            add_from_stream(num_heads, "weights_proj", head_sums);
        }
        const mask scored = compress_ratio == 0 ? mask::causal() : mask::compressed_keys(ratio());
        if (detached) {
            sum.add_pairs("attention.indexer", term::index_scores, width, scored,
                          {.reads = q, .also_reads = k, .writes = scores}, sharding);
            if (head_sum_is_product) {
                sum.add_pairs("attention.indexer", term::index_scores, num_heads, scored,
                              {.reads = scores, .also_reads = head_sums}, sharding);
            }
        } else {
            sum.add_scores("attention.indexer", head_sum_is_product ? width + num_heads : width, scored,
                           {.reads = q, .also_reads = k, .fused_with = head_weights ? head_sums : value::set{}},
                           sharding);
        }
        elementwise.add_to(sum);
        return sum;
    }

  private:
    [[nodiscard]] constexpr std::int64_t ratio() const {
        if (compress_ratio > 0x7FFF'FFFF) {
            detail::refuse("compress_ratio", {"must be at most 2147483647, got ", compress_ratio});
        }
        return static_cast<std::int64_t>(compress_ratio);
    }
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Multi-head latent attention (`mla`) and the indexer of sparse attention.

namespace floptally {

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): keys and values are expanded from a latent
/// of `kv_lora_rank`, queries from one of `q_lora_rank`; a part of each key that carries positions is shared by all
/// heads.
///
/// Forward, per token, with H heads, n = qk_nope_head_dim, r = qk_rope_head_dim, v = v_head_dim, c = kv_lora_rank:
/// q 2·h·q_lora_rank + 2·q_lora_rank·H·(n + r), or 2·h·H·(n + r) at full rank; kv 2·h·(c + r) + 2·c·H·(n + v); output
/// 2·H·v·h; per attended pair 2·H·(n + r) for QKᵀ and 2·H·v for PV.
///
/// `absorbed`: kv_b is not applied to the latent but, in two parts, to the query (2·H·n·c a token) and to the output of
/// the core (2·H·c·v), so that a pair is 2·H·(c + r) and 2·H·c. Equal weights and equal work per token; cheaper only
/// where few queries meet many cached keys.
struct mla {
    std::uint64_t num_heads = 0;
    std::uint64_t q_lora_rank = 0;  ///< 0: queries of full rank
    std::uint64_t kv_lora_rank = 0;
    std::uint64_t qk_nope_head_dim = 0;
    std::uint64_t qk_rope_head_dim = 0;  ///< 0: no positions
    std::uint64_t v_head_dim = 0;
    bool absorbed = false;
    elementwise_parameters elementwise{};  ///< norm: those on the two latents
    std::uint64_t gate_size = 0;           ///< above 0: a gate of so many outputs on what was attended, 2·h·gate_size
    bool shares_latent = false;            ///< keys and values are expanded from an earlier layer's latent

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
        constexpr value::set q_latent = value::made(0);
        constexpr value::set q = value::made(1);
        const value::set latent = shares_latent ? value::stream : value::made(2);  // an earlier layer's came before
        constexpr value::set kv = value::made(3);
        constexpr value::set out = value::made(4);
        constexpr value::set absorbed_out = value::made(5);
        constexpr value::set gate = value::made(6);
        const auto weight = [&sum](std::uint64_t in, std::uint64_t width, std::string_view name, value::set reads,
                                   value::set writes, const dealing& dealt) {
            sum.add("attention.qkv", linear{.in_features = in,
                                            .out_features = width,
                                            .weight = name,
                                            .reads = reads,
                                            .writes = writes,
                                            .dealt = dealt});
        };
        // The projections to the latents are whole on every rank ("duplicated" in Megatron-Core).
        const dealing heads = dealing::heads(num_heads);
        const dealing whole = dealing::replicated();
        if (q_lora_rank == 0) {
            weight(h, query_width, "q_proj", value::stream, q, heads);
        } else {
            weight(h, q_lora_rank, "q_a_proj", value::stream, q_latent, whole);
            weight(q_lora_rank, query_width, "q_b_proj", q_latent, q, heads);
        }
        if (!shares_latent) {
            weight(h, latent_key, "kv_a_proj", value::stream, latent, whole);
        }
        if (gate_size != 0) {
            weight(h, gate_size, "gate_proj", value::stream, gate, heads);
        }
        if (absorbed) {
            add_absorbed(sum, where, q, latent, out, absorbed_out);
        } else {
            const auto keys = static_cast<value::set>(latent | kv);  // the part with positions skips kv_b
            const std::uint64_t kv_width = num_heads * (nope_head_dim + v_head_dim);
            weight(kv_lora_rank, kv_width, "kv_b_proj", latent, kv, heads);
            sum.add("attention.core", attention_core{num_heads, qk_head_dim, v_head_dim, q, keys, kv, out},
                    where.attends);
        }
        sum.add("attention.output", linear{.in_features = checked(num_heads, "attention.output") * v_head_dim,
                                           .out_features = h,
                                           .weight = "o_proj",
                                           .reads = static_cast<value::set>(out | absorbed_out | gate),
                                           .dealt = heads});
        sum.add_parameters("norm", term::latent_norm, elementwise.norm);
        sum.add_parameters("bias", term::bias, elementwise.bias);
        return sum;
    }

    /// True where any layer's core runs over the latent: the values' part of kv_b then comes after it.
    [[nodiscard]] static constexpr bool is_absorbed_in(const floptally::cost& model) {
        for (const cost_row& row : model.rows()) {
            if (model.components()[row.component].is("attention.output") && model.weight_name(row) == "kv_b_proj") {
                return true;
            }
        }
        return false;
    }

  private:
    /// One head's part of kv_b for keys is applied to the query, the one for values to the output of the core. No
    /// adapter stands beside a weight that is taken apart.
    constexpr void add_absorbed(floptally::cost& sum, const layer& where, value::set q, value::set latent,
                                value::set out, value::set absorbed_out) const {
        constexpr value::set absorbed_q = value::made(3);
        const auto part = [&](const char* component, std::uint64_t width, value::set reads, value::set writes) {
            sum.add(component, linear{.in_features = kv_lora_rank,
                                      .out_features = width,
                                      .applied = num_heads,
                                      .weight = "kv_b_proj",
                                      .reads = reads,
                                      .writes = writes,
                                      .adaptable = false,
                                      .dealt = dealing::heads(num_heads)});
        };
        part("attention.qkv", qk_nope_head_dim, q, absorbed_q);
        part("attention.output", v_head_dim, out, absorbed_out);
        sum.add("attention.core",
                attention_core{num_heads, checked(kv_lora_rank, "attention.qkv") + qk_rope_head_dim, kv_lora_rank,
                               static_cast<value::set>(q | absorbed_q), latent, latent, out},
                where.attends);
    }
};

/// The lightning indexer of DeepSeek sparse attention (DeepSeek-V3.2, arXiv:2512.02556, section 2.1): scores every
/// earlier token cheaply, so that the attention beside it needs only the `mask::top_k` best.
///
/// Forward, per token, with H heads of d: queries 2·query_size·H·d from the latent that the attention's queries come
/// from, one key 2·h·d, a weight a head 2·h·H; per causal pair, whatever the layer's mask is, 2·H·d for QKᵀ. The heads'
/// scores are then added up by those weights: `head_sum_is_product` counts that as the product [1, H]·[H, keys] that it
/// is in Hugging Face's implementation, 2·H a pair; a fused kernel has it in its epilogue.
///
/// Where it scores blocks of `compress_ratio` tokens, a pair is a whole block before the query, and the key of a block
/// comes out of a matrix of `key_width` columns and, with `key_gate`, another that weighs its tokens (DeepSeek-V4,
/// GLM-5). Without `head_weights` nothing adds the heads up: each chooses for itself (MiniMax-M3).
///
/// The choice of keys passes no gradient. A loss of the indexer's own is a matter of the plan
/// (`training_plan::indexer`); `detached` is false where its gradients reach what it reads, as those of any layer.
struct lightning_indexer {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t query_size = 0;  ///< width of what the queries are projected from: q_lora_rank
    bool detached = true;
    elementwise_parameters elementwise{};
    bool head_sum_is_product = false;
    std::uint64_t compress_ratio = 0;  ///< tokens of a block that has one score; 0: every token has one
    std::uint64_t key_width = 0;       ///< of the matrix that the keys come from; 0: head_dim
    bool key_gate = false;
    bool head_weights = true;

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "index_n_heads");
        require_positive(head_dim, "index_head_dim");
        require_positive(query_size, "q_lora_rank");
        const checked width = checked(num_heads, "attention.indexer") * head_dim;
        floptally::cost sum;
        // The queries come from a value of the attention's: here it may be any.
        constexpr value::set q = value::made(0);
        constexpr value::set k = value::made(1);
        constexpr value::set head_sums = value::made(2);
        constexpr value::set scores = value::made(3);
        const term of_weights = detached ? term::index_linear : term::linear;
        // Megatron-Core gathers its inputs, so that every rank runs it on all tokens.
        const dealing dealt = dealing::repeated();
        sum.add("attention.indexer", linear{.in_features = query_size,
                                            .out_features = width,
                                            .kind = of_weights,
                                            .weight = "wq_b",
                                            .writes = q,
                                            .dealt = dealt});
        const auto of_stream = [&](std::uint64_t columns, std::string_view name, value::set writes) {
            sum.add("attention.indexer", linear{.in_features = where.hidden_size,
                                                .out_features = columns,
                                                .kind = of_weights,
                                                .weight = name,
                                                .reads = value::stream,
                                                .writes = writes,
                                                .dealt = dealt});
        };
        const std::uint64_t key_columns = key_width == 0 ? head_dim : key_width;
        of_stream(key_columns, "wk", k);
        if (key_gate) {
            of_stream(key_columns, "gate_proj", k);
        }
        if (head_weights) {
            of_stream(num_heads, "weights_proj", head_sums);
        }
        const mask scored = compress_ratio == 0 ? mask::causal() : mask::compressed_keys(ratio());
        if (detached) {
            sum.add_pairs("attention.indexer", term::index_scores, width, scored,
                          {.reads = q, .also_reads = k, .writes = scores}, dealt);
            if (head_sum_is_product) {
                sum.add_pairs("attention.indexer", term::index_scores, num_heads, scored,
                              {.reads = scores, .also_reads = head_sums}, dealt);
            }
        } else {
            sum.add_scores("attention.indexer", head_sum_is_product ? width + num_heads : width, scored,
                           {.reads = q, .also_reads = k, .fused_with = head_weights ? head_sums : value::set{}}, dealt);
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

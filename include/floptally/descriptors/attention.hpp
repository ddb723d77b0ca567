// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Multi-head attention: `gqa`, `mha`, `mqa` and cross attention.

namespace floptally::inline v0_3 {

/// Throws `error` if a number of heads or `head_dim` is 0, or if `num_kv_heads` does not divide `num_heads`.
constexpr void require_heads(std::uint64_t num_heads, std::uint64_t num_kv_heads, std::uint64_t head_dim) {
    require_positive(num_heads, "num_attention_heads");
    require_positive(num_kv_heads, "num_key_value_heads");
    require_positive(head_dim, "head_dim");
    if (num_heads % num_kv_heads != 0) {
        detail::refuse("num_key_value_heads",
                       {"must divide num_attention_heads (", num_heads, "), got ", num_kv_heads});
    }
}

/// Grouped-query attention (arXiv:2305.13245): `num_kv_heads` key and value heads serve `num_heads` query heads.
///
/// Forward FLOPs with h = hidden_size, d = head_dim, H = num_heads and K = num_kv_heads: a token takes 2·h·H·d for q,
/// 2·h·K·d each for k and v, and 2·H·d·h for the output. An attended pair takes 2·H·d for QKᵀ and 2·H·d for PV.
/// `head_dim` need not be hidden_size / num_heads.
///
/// An output gate is one more linear layer from hidden_size to `gate_size`. Its sigmoid scales the attended values
/// (arXiv:2505.06708). `gate_size` is num_heads·head_dim for an element-wise gate, and num_heads for one number per
/// head.
struct gqa {
    std::uint64_t num_heads = 0;
    std::uint64_t num_kv_heads = 0;
    std::uint64_t head_dim = 0;
    elementwise_parameters elementwise{};
    std::uint64_t gate_size = 0;  ///< output features of the gate; 0: no gate
    bool fused_qkv = false;       ///< true: q, k and v are one matrix, "qkv_proj", with one LoRA adapter

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_heads(num_heads, num_kv_heads, head_dim);
        const checked query_width = checked(num_heads, "attention.qkv") * head_dim;
        const checked kv_width = checked(num_kv_heads, "attention.qkv") * head_dim;
        constexpr value::set q = value::local(0);
        const value::set k = fused_qkv ? q : value::local(1);
        const value::set v = fused_qkv ? q : value::local(2);
        constexpr value::set out = value::local(3);
        constexpr value::set gate = value::local(4);
        const auto from_hidden = [&](std::uint64_t width, std::string_view weight, value::set writes,
                                     const tensor_sharding& sharding) {
            return linear{.in_features = where.hidden_size,
                          .out_features = width,
                          .weight = weight,
                          .reads = value::stream,
                          .writes = writes,
                          .sharding = sharding};
        };
        const tensor_sharding heads = tensor_sharding::heads(num_heads);
        const tensor_sharding kv_heads = tensor_sharding::kv_heads(num_kv_heads);
        floptally::cost sum;
        if (fused_qkv) {
            sum.add("attention.qkv", from_hidden(query_width + 2 * kv_width, "qkv_proj", q,
                                                 tensor_sharding::fused_qkv(num_heads, num_kv_heads)));
        } else {
            sum.add("attention.qkv", from_hidden(query_width, "q_proj", q, heads));
            sum.add("attention.qkv", from_hidden(kv_width, "k_proj", k, kv_heads));
            sum.add("attention.qkv", from_hidden(kv_width, "v_proj", v, kv_heads));
        }
        sum.add("attention.core", attention_core{num_heads, head_dim, head_dim, q, k, v, out}, where.attends);
        sum.add("attention.output", linear{.in_features = query_width,
                                           .out_features = where.hidden_size,
                                           .weight = "o_proj",
                                           .reads = static_cast<value::set>(out | gate),
                                           .sharding = heads});
        if (gate_size != 0) {
            sum.add("attention.gate", from_hidden(gate_size, "gate_proj", gate, heads));
        }
        elementwise.add_to(sum);
        return sum;
    }
};

/// Multi-head attention: every query head has its own keys and values.
struct mha {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        return gqa{.num_heads = num_heads, .num_kv_heads = num_heads, .head_dim = head_dim, .elementwise = elementwise}
            .cost(where);
    }
};

/// Multi-query attention (arXiv:1911.02150): all query heads share one key head and one value head.
struct mqa {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        return gqa{.num_heads = num_heads, .num_kv_heads = 1, .head_dim = head_dim, .elementwise = elementwise}.cost(
            where);
    }
};

/// Cross attention. Queries come from the decoder's tokens. Keys and values come from the encoder's tokens. A tally
/// counts encoder tokens in the accumulator `keys`. An encoder token has the width `context_size` (0: hidden_size).
/// Every query attends to every key: n·k pairs for n decoder tokens and k encoder tokens.
struct cross_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t num_kv_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t context_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_heads(num_heads, num_kv_heads, head_dim);
        const std::uint64_t query_width = checked(num_heads, "cross_attention.qkv") * head_dim;
        const std::uint64_t kv_width = checked(num_kv_heads, "cross_attention.qkv") * head_dim;
        constexpr value::set q = value::local(0);
        constexpr value::set k = value::local(1);
        constexpr value::set v = value::local(2);
        constexpr value::set out = value::local(3);
        const auto from_context = [&](std::string_view weight, value::set writes) {
            return linear{.in_features = context_size == 0 ? where.hidden_size : context_size,
                          .out_features = kv_width,
                          .rows = accumulator::keys,
                          .weight = weight,
                          .reads = value::context,
                          .writes = writes,
                          .sharding = tensor_sharding::kv_heads(num_kv_heads)};
        };
        floptally::cost sum;
        sum.add("cross_attention.qkv", linear{.in_features = where.hidden_size,
                                              .out_features = query_width,
                                              .weight = "q_proj",
                                              .reads = value::stream,
                                              .writes = q,
                                              .sharding = tensor_sharding::heads(num_heads)});
        sum.add("cross_attention.qkv", from_context("k_proj", k));
        sum.add("cross_attention.qkv", from_context("v_proj", v));
        sum.add("cross_attention.core", attention_core{num_heads, head_dim, head_dim, q, k, v, out},
                mask::cross_attention());
        sum.add("cross_attention.output", linear{.in_features = query_width,
                                                 .out_features = where.hidden_size,
                                                 .weight = "o_proj",
                                                 .reads = out,
                                                 .sharding = tensor_sharding::heads(num_heads)});
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Attention over a window plus compressed keys (DeepSeek-V4).

namespace floptally::inline v0_3 {

/// Attention over a window of tokens and over compressed keys (DeepSeek-V4). Each compressed key stands for a block of
/// tokens. One vector of `head_dim` is both key and value for all query heads. Queries come from a low-rank latent. The
/// output is first projected within groups of heads, and then a second matrix mixes the groups.
///
/// Forward FLOPs with h = hidden_size, H heads of width d, g = o_groups and o = o_lora_rank: a token takes
/// 2·h·q_lora_rank + 2·q_lora_rank·H·d for q, 2·h·d for kv, and 2·H·d·o + 2·g·o·h for the output. The compressed keys
/// and the gate that weighs the tokens of a block take 2·2·h·d per token, or twice that if blocks `overlap`. An
/// attended pair takes 2·H·2d. With `compress_ratio` 0 a query attends only to the `window` tokens. Otherwise it also
/// attends to all complete blocks before it, or to the `best_keys` best ones.
///
/// `compressed_attention` does not choose the best blocks itself: a separate `lightning_indexer` with the same
/// `compress_ratio` does.
struct compressed_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t q_lora_rank = 0;
    std::uint64_t window = 0;
    std::uint64_t compress_ratio = 0;  ///< number of tokens that get one compressed key; 0: no compressed keys
    bool overlap = false;              ///< true: a compressed key covers its block and the previous one, and its two
                                       ///< matrices are twice as wide
    std::uint64_t best_keys = 0;       ///< largest number of compressed keys to which a query attends; 0: all
    std::uint64_t o_groups = 1;
    std::uint64_t o_lora_rank = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_attention_heads");
        require_positive(head_dim, "head_dim");
        require_positive(q_lora_rank, "q_lora_rank");
        require_positive(window, "sliding_window");
        require_positive(o_groups, "o_groups");
        require_positive(o_lora_rank, "o_lora_rank");
        if (compress_ratio == 0 && (overlap || best_keys != 0)) {
            throw error("compress_ratio",
                        "must be at least 1 where compressed keys overlap or a top-k of them is chosen, got 0");
        }
        const std::uint64_t h = where.hidden_size;
        const std::uint64_t width = checked(num_heads, "attention.qkv") * head_dim;
        if (width % o_groups != 0) {
            detail::refuse("o_groups", {"must divide num_attention_heads x head_dim (", width, "), got ", o_groups});
        }
        constexpr value::set q_latent = value::local(0);
        constexpr value::set q = value::local(1);
        constexpr value::set kv = value::local(2);
        constexpr value::set compressed = value::local(3);  // the compressed keys; unused if compress_ratio is 0
        constexpr value::set out = value::local(4);
        constexpr value::set grouped = value::local(5);
        floptally::cost sum;
        const auto add_weight = [&sum](std::string_view component, const linear& matrix) {
            sum.add(component, matrix);
        };
        const auto add_from_stream = [&](std::string_view component, std::uint64_t columns, std::string_view name,
                                         value::set writes) {
            // All heads share one key, so every rank has the whole matrix.
            add_weight(component, {.in_features = h,
                                   .out_features = columns,
                                   .weight = name,
                                   .reads = value::stream,
                                   .writes = writes,
                                   .sharding = tensor_sharding::replicated()});
        };
        add_from_stream("attention.qkv", q_lora_rank, "q_a_proj", q_latent);
        add_weight("attention.qkv", {.in_features = q_lora_rank,
                                     .out_features = width,
                                     .weight = "q_b_proj",
                                     .reads = q_latent,
                                     .writes = q,
                                     .sharding = tensor_sharding::heads(num_heads)});
        add_from_stream("attention.qkv", head_dim, "kv_proj", kv);
        if (compress_ratio != 0) {
            const std::uint64_t columns = (overlap ? 2 : 1) * checked(head_dim, "attention.compress");
            add_from_stream("attention.compress", columns, "kv_proj", compressed);
            add_from_stream("attention.compress", columns, "gate_proj", compressed);
        }
        // One softmax covers window keys and compressed keys: each probability depends on all these keys.
        constexpr auto all = static_cast<value::set>(q | kv | compressed);
        add_core(sum, mask::sliding_window(signed_size(window, "sliding_window")), q, kv, all, out);
        if (compress_ratio != 0) {
            const std::int64_t ratio = signed_size(compress_ratio, "compress_ratio");
            const mask blocks = best_keys == 0
                                    ? mask::compressed_keys(ratio)
                                    : mask::best_compressed_keys(ratio, signed_size(best_keys, "index_topk"));
            add_core(sum, blocks, q, compressed, all, out);
        }
        add_weight("attention.output", {.in_features = width / o_groups,
                                        .out_features = o_lora_rank,
                                        .applied = o_groups,
                                        .weight = "o_a_proj",
                                        .reads = out,
                                        .writes = grouped,
                                        .adaptable = false,  // LoRA cannot adapt a block-diagonal matrix
                                        .sharding = tensor_sharding::heads(o_groups)});
        add_weight("attention.output", {.in_features = checked(o_groups, "attention.output") * o_lora_rank,
                                        .out_features = h,
                                        .weight = "o_b_proj",
                                        .reads = grouped,
                                        .sharding = tensor_sharding::heads(o_groups)});
        elementwise.add_to(sum);
        return sum;
    }

  private:
    /// Returns a size as a signed number, as masks need it. If the size does not fit 31 bits, throws an `error` that
    /// names `name`.
    [[nodiscard]] static constexpr std::int64_t signed_size(std::uint64_t size, const char* name) {
        if (size > 0x7FFF'FFFF) {
            detail::refuse(name, {"must be at most 2147483647, got ", size});
        }
        return static_cast<std::int64_t>(size);
    }

    constexpr void add_core(floptally::cost& sum, const mask& attends, value::set q, value::set keys, value::set all,
                            value::set out) const {
        const tensor_sharding heads = tensor_sharding::heads(num_heads);
        const std::uint64_t width = checked(num_heads, "attention.core") * head_dim;
        sum.add_pairs("attention.core", term::scores, width, attends,
                      {.reads = q, .also_reads = keys, .fused_with = all}, heads);
        sum.add_pairs("attention.core", term::values, width, attends, {.reads = all, .also_reads = keys, .writes = out},
                      heads);
        const std::uint64_t softmax = 3 * checked(num_heads, "attention.core");
        sum.add_entry("attention.core", {},
                      cost_entry{.what = accumulator::pairs,
                                 .kind = term::softmax,
                                 .useful = softmax,
                                 .padded = softmax,
                                 .flow = {.reads = all},
                                 .sharding = heads},
                      attends);
    }
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/state_space_layers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>

/// @file
/// Zamba and Zamba-2: an attention block that some of the layers run before their Mamba, with shared weights.

namespace floptally::detail {

/// What else runs in one use of the shared block.
struct shared_block_adapters {
    std::uint64_t rank = 0;  ///< 0: none
    bool on_attention = false;
    std::uint64_t stored = 1;  ///< how many are there for the one that runs
};

/// The class ties the uses of a block by what ties the lm_head to the embedding: without that, each has weights.
[[nodiscard]] inline bool blocks_are_tied(const hf_model& model) {
    return model.config.flag("tie_word_embeddings", model.family.tie_word_embeddings);
}

/// An attention over the hidden state beside the embedding (2·hidden wide), an MLP, and a linear of its own for each
/// use (arXiv:2405.16712, figure 2); adapters of low rank are a use's own too (arXiv:2411.15242).
///
/// `stored`: the first use of these weights, which counts them.
[[nodiscard]] inline cost shared_block(const hf_model& model, bool stored, const shared_block_adapters& adapters) {
    const hf_dimensions& sizes = model.sizes;
    const std::uint64_t h = sizes.hidden_size;
    const std::uint64_t query_width = checked_multiply(sizes.num_heads, sizes.head_dim, "attention.qkv");
    const std::uint64_t kv_width = checked_multiply(sizes.num_kv_heads, sizes.head_dim, "attention.qkv");
    cost sum;
    const auto add = [&](const char* component, std::uint64_t in, std::uint64_t out, std::uint64_t times,
                         const dealing& dealt) {
        sum.add(component,
                linear{.in_features = in, .out_features = out, .applied = times, .shared = !stored, .dealt = dealt});
    };
    add("attention.qkv", 2 * h, query_width, 1, dealing::heads(sizes.num_heads));
    add("attention.qkv", 2 * h, kv_width, 2, dealing::kv_heads(sizes.num_kv_heads));
    sum.add("attention.core", attention_core{sizes.num_heads, sizes.head_dim, sizes.head_dim}, mask::causal());
    add("attention.output", query_width, h, 1, dealing::heads(sizes.num_heads));
    add("mlp", h, sizes.intermediate_size, 3, dealing::even());
    sum.add("attention.to_mixer", linear{.in_features = h, .out_features = h});
    const auto adapt = [&](const char* component, std::uint64_t in, std::uint64_t out, std::uint64_t times) {
        sum.add(
            component,
            linear{
                .in_features = in, .out_features = adapters.rank, .applied = times, .stored = times * adapters.stored});
        sum.add(component, linear{.in_features = adapters.rank,
                                  .out_features = out,
                                  .applied = times,
                                  .stored = times * adapters.stored});
    };
    if (adapters.rank != 0) {
        adapt("mlp.adapter", h, 2 * sizes.intermediate_size, 1);
    }
    if (adapters.on_attention) {
        adapt("attention.adapter", 2 * h, 2 * h, 3);
    }
    if (stored) {
        sum.add_parameters("norm", term::norm, 3 * h);
        sum.add_parameters("bias", term::bias, model.has(model.family.mlp_bias) ? 2 * sizes.intermediate_size + h : 0);
    }
    return sum;
}

/// R: Mamba alone, H: the shared block before it.
[[nodiscard]] inline std::string zamba_letters(const hf_model& model, config_fields::names keys,
                                               const std::string& usual) {
    constexpr block_type types[] = {{"linear_attention", 'R'}, {"hybrid", 'H'}};
    std::string letters = layer_letters(model, keys, types);
    if (!letters.empty()) {
        return letters;
    }
    if (usual.size() != model.sizes.num_layers) {
        throw error(model.config.field("layers_block_type"), "is missing, and its default has " +
                                                                 std::to_string(usual.size()) + " layers, not " +
                                                                 std::to_string(model.sizes.num_layers));
    }
    return usual;
}

/// The attention reads the hidden state beside the embedding, so that its width is not free.
inline void zamba_sizes(hf_model& model) {
    hf_dimensions& sizes = model.sizes;
    const config_fields& config = model.config;
    const std::uint64_t width = 2 * sizes.hidden_size;
    if (config.has_value("attention_hidden_size") && config.dimension({"attention_hidden_size"}) != width) {
        throw error(config.field("attention_hidden_size"), "must be twice hidden_size (" + std::to_string(width) +
                                                               "), got " +
                                                               shown(*config.find("attention_hidden_size")));
    }
    if (!config.has_value(config.spelling({"head_dim", "attention_head_dim"}))) {
        sizes.head_dim = width / sizes.num_heads;
    }
}

[[nodiscard]] inline cost zamba_shared_block(const hf_model& model) {
    const std::uint64_t period = model.config.integer({"attn_layer_period"}, 6, 1, max_layers);
    const std::uint64_t offset = model.config.integer({"attn_layer_offset"}, 4, 0, max_layers);
    std::string usual = "RRH";
    for (std::uint64_t i = 0; i + 3 < model.sizes.num_layers; ++i) {
        usual += i % period == offset ? 'H' : 'R';
    }
    const std::string letters = zamba_letters(model, {"layer_types", "layers_block_type"}, usual);
    cost sum;
    bool stored = true;
    for (const char letter : letters) {
        if (letter == 'H') {
            sum += shared_block(model, stored, {});
            stored = !blocks_are_tied(model);
        }
    }
    return sum;
}

/// `num_mem_blocks` blocks take turns.
[[nodiscard]] inline cost zamba2_shared_blocks(const hf_model& model) {
    const config_fields& config = model.config;
    if (config.has_value("layer_types")) {
        throw error(config.field("layer_types"),
                    model.refusal("null beside layers_block_type", *config.find("layer_types")));
    }
    // The default list of the class, that of Zamba2-2.7B.
    const std::string usual = "RRRRRRHRRRRRHRRRRRHRRRRRHRRRRRHRRRRRHRRRRRHRRRRHRRRHRR";
    const std::string letters = zamba_letters(model, {"layers_block_type"}, usual);
    json hybrids = json::array();
    for (std::size_t i = 0; i < letters.size(); ++i) {
        if (letters[i] == 'H') {
            hybrids.push_back(i);
        }
    }
    if (config.has_value("hybrid_layer_ids") && *config.find("hybrid_layer_ids") != hybrids) {
        throw error(config.field("hybrid_layer_ids"), "must be the layers that are \"hybrid\", " + shown(hybrids) +
                                                          ", got " + shown(*config.find("hybrid_layer_ids")));
    }
    shared_block_adapters adapters{.rank = config.dimension({"adapter_rank"}, 128),
                                   .on_attention = config.flag("use_shared_attention_adapter", false)};
    const hf_dimensions& sizes = model.sizes;
    const std::uint64_t width = 2 * sizes.hidden_size;
    if (adapters.on_attention && (sizes.num_heads * sizes.head_dim != width || sizes.num_kv_heads != sizes.num_heads)) {
        throw error(config.field("use_shared_attention_adapter"),
                    "must be false where queries, keys and values are not all twice hidden_size wide (" +
                        std::to_string(width) + "), got true");
    }
    const std::uint64_t blocks = config.dimension({"num_mem_blocks"}, 1);
    cost sum;
    for (std::uint64_t use = 0; use < hybrids.size(); ++use) {
        if (!blocks_are_tied(model)) {
            // Each holds the adapters of all uses of its turn.
            adapters.stored = (hybrids.size() - 1 - use % blocks) / blocks + 1;
        }
        sum += shared_block(model, use < blocks || !blocks_are_tied(model), adapters);
    }
    return sum;
}

}  // namespace floptally::detail

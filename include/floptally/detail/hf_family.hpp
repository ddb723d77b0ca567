// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <floptally/statistic.hpp>

/// @file
/// What a Hugging Face `model_type` is made of, as data. A new one is an entry in `hf_decoders.hpp` or beside it; new
/// code only where its matmuls follow a rule that no family had.

namespace floptally::detail {

/// The width of a linear of a head.
enum class head_width : std::uint8_t {
    none,
    hidden,
    vocabulary,
    labels,
    one,
    two,
    summary  ///< GPT-2's: by `summary_use_proj` and `summary_proj_to_labels` none, one or hidden
};

/// One linear after the last layer; its input is the hidden state.
struct head_linear {
    head_width out = head_width::none;
    statistic rows = statistic::tokens;  ///< every token, or `count`: one token per sequence
    bool bias = false;
    bool detached = false;         ///< its result does not reach the loss
    std::uint64_t norm_after = 0;  ///< norm parameters per channel of the norm that follows
    bool second_bias = false;      ///< untied, the class keeps the bias twice
    std::string_view bias_key{};   ///< a key that turns the bias off
};

/// A class of the implementation: prefix + suffix is its name in `architectures`.
struct head {
    std::string_view suffix;
    head_linear linears[4];
};

/// Whether a bias (or a norm) is there: a key of the config with its default, or (without a key) always or never.
struct presence {
    std::string_view key;
    bool otherwise = false;
    bool null_is_false = false;
};

inline constexpr presence always{"", true};
inline constexpr presence if_attention_bias{"attention_bias", false};

/// Short names that the class reads too; where both are given the long one wins.
struct short_names {
    std::string_view hidden_size, num_hidden_layers, num_attention_heads, max_position_embeddings;
};

enum class norm_kind : std::uint64_t { rms = 1, layer = 2 };  ///< parameters per channel
enum class qk_norm : std::uint8_t { none, per_head, full_width };
enum class mlp_kind : std::uint8_t { plain, gated };

/// Which layers have a window where `layer_types` does not say so.
enum class window_rule : std::uint8_t {
    never,
    every_layer,             ///< all, where `sliding_window` is not null
    with_switch,             ///< all, where `use_sliding_window`
    from_max_window_layers,  ///< layers from `max_window_layers` on, where `use_sliding_window`
    even_below_max_window_layers,
    even,            ///< 0, 2, 4, …
    all_but_pattern  ///< all but every `sliding_window_pattern`-th
};

enum class moe_rule : std::uint8_t {
    never,
    every_layer,
    qwen  ///< every `decoder_sparse_step`-th, without `mlp_only_layers`; none where there are 0 experts
};

/// Defaults that stand for null, or for "derived".
inline constexpr std::uint64_t derived = ~std::uint64_t{0};

/// One `model_type`. Numbers are the defaults of its configuration class in transformers 5.23.
struct hf_family {
    std::string_view model_type;
    std::string_view class_prefix;
    std::span<const head> heads;  ///< the first is the usual one for training
    bool encoder = false;         ///< bidirectional unless `is_decoder`
    short_names also{};

    std::uint64_t vocab_size = derived;  ///< derived: must be given
    std::uint64_t hidden_size = derived;
    std::uint64_t intermediate_size = derived;  ///< derived: 4 x hidden_size
    std::string_view intermediate_key = "intermediate_size";
    std::uint64_t num_hidden_layers = derived;
    std::uint64_t num_attention_heads = derived;
    bool has_kv_heads = true;                     ///< false: the key is not read
    std::uint64_t num_key_value_heads = derived;  ///< derived: as many as heads
    bool kv_heads_may_be_null = false;            ///< null is "as many as heads"
    bool has_head_dim = true;                     ///< false: the key is not read
    std::uint64_t head_dim = derived;             ///< derived: hidden_size / num_attention_heads
    bool head_dim_may_be_null = false;
    bool heads_divide_hidden = false;  ///< the class refuses a remainder, also where head_dim is given
    std::uint64_t positions = 0;       ///< default of `max_position_embeddings` where they are a table
    bool positions_by_type = false;    ///< they are one only where `position_embedding_type` is "absolute"
    std::uint64_t segments = 0;        ///< default of `type_vocab_size` where it is one
    presence embedding_norm{};         ///< a norm between embedding and layers
    bool contact_head = false;         ///< ESM: layers x heads + 1 parameters that training never runs
    bool tie_word_embeddings = false;

    presence qkv_bias{};
    presence output_bias{};
    presence mlp_bias{};
    mlp_kind mlp = mlp_kind::gated;
    norm_kind norm = norm_kind::rms;
    std::uint64_t norms_per_layer = 2;
    qk_norm query_key_norm = qk_norm::none;
    bool final_norm = true;
    bool attention_sinks = false;  ///< one more parameter per head

    window_rule windows = window_rule::never;
    std::uint64_t sliding_window = derived;  ///< derived: null
    bool reads_layer_types = false;
    bool bidirectional_switch = false;  ///< `use_bidirectional_attention` is honoured

    moe_rule experts = moe_rule::never;
    std::string_view experts_key = "num_experts";  ///< wins where both are given
    std::string_view experts_alias = "num_local_experts";
    std::uint64_t num_experts = derived;
    std::uint64_t num_experts_per_tok = derived;
    std::uint64_t moe_intermediate_size = derived;  ///< derived: `intermediate_size` is the expert's width
    bool shared_expert = false;  ///< gated, of `shared_expert_intermediate_size`, always with its gate h → 1
    std::uint64_t shared_expert_intermediate_size = 0;
    bool router_bias = false;
    bool expert_bias = false;
};

}  // namespace floptally::detail

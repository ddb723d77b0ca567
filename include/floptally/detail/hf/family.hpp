// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model_config.hpp>
#include <floptally/statistic.hpp>

/// @file
/// What a Hugging Face `model_type` is made of, as data: names, defaults, and which part, layer rule and head it takes
/// from those that are there. A new type is an entry in one of the tables; new code (a part, a rule) only where its
/// matmuls follow one that no family had.

namespace floptally::detail {

struct hf_model;
struct hf_family;

/// A width that depends on the config; 0: the linear is not there.
using hf_width = std::uint64_t (*)(const hf_model&);
[[nodiscard]] std::uint64_t hidden_width(const hf_model&);

/// One linear after the last layer.
struct head_linear {
    hf_width out = nullptr;
    statistic rows = statistic::tokens;  ///< every token, or `count`: one token per sequence
    bool bias = false;
    bool detached = false;         ///< its result does not reach the loss
    std::uint64_t norm_after = 0;  ///< norm parameters per channel of the norm that follows
    bool second_bias = false;      ///< untied, the class keeps the bias twice
    std::string_view bias_key{};   ///< a key that turns the bias on or off
    hf_width in = hidden_width;
    bool bias_otherwise = true;        ///< where `bias_key` is absent
    std::string_view norm_bias_key{};  ///< a key that gives the norm that follows a bias
};

/// A class of the implementation: prefix + suffix is its name in `architectures`.
struct head {
    std::string_view suffix;
    head_linear linears[4];
    const hf_family* of = nullptr;  ///< the class is one side of an encoder-decoder: a row that has this suffix too
    cost (*more)(const hf_model&) = nullptr;  ///< what else stands after the last layer: attention that pools
    bool more_detached = false;               ///< it does not reach the loss
};

/// Whether a bias (or a norm) is there: a key of the config with its default, or (without a key) always or never.
struct presence {
    std::string_view key;
    bool otherwise = false;
    bool null_is_false = false;
    std::string_view also{};  ///< another name of the key
};

inline constexpr presence always{"", true};
inline constexpr presence if_attention_bias{"attention_bias", false};

/// A size that a config states: its names (the first that is given wins) and the default of the class.
struct hf_size {
    config_fields::names keys{};
    std::uint64_t otherwise = required;
};

/// Short names that the class reads too; where both are given the long one wins.
struct short_names {
    std::string_view hidden_size{}, num_hidden_layers{}, num_attention_heads{}, num_key_value_heads{}, head_dim{};
    std::string_view max_position_embeddings{}, vocab_size{}, sliding_window{};
};

enum class norm_kind : std::uint64_t { rms = 1, layer = 2, none = 0 };  ///< parameters per channel
enum class qk_norm : std::uint8_t { none, per_head, full_width };
enum class mlp_kind : std::uint8_t { plain, gated };

/// One layer of a model that is being read: where it stands, and the letters of its mixer and its feed-forward.
struct hf_layer {
    layer where{};
    char mixer = 'F';
    char feed = 'd';
};

/// Reads one part of a layer: an attention, a recurrent mixer, a feed-forward.
using hf_part = cost (*)(const hf_model&, const hf_layer&);
/// What stands once in a model, outside the layers.
using hf_extra = cost (*)(const hf_model&);
/// One letter per layer.
///
/// Mixers: F full attention, S sliding window, C chunked, R the family's recurrent mixer, - none; any other letter is
/// the family's own and comes to its `attention`. Feed-forwards: d dense, e experts, - none.
using hf_letters = std::string (*)(const hf_model&);
/// What a tower takes: the images of fixed size that its config states.
using hf_input = tower_input (*)(const hf_model&);
/// What the layers of a tower run over, where it is not what enters: their units, and what attends what.
struct hf_stream {
    mask units;
    mask attends;
};
using hf_units = hf_stream (*)(const hf_model&);
/// Corrects the sizes that were read by the common rules; notes what a count leaves out.
using hf_resolve = void (*)(hf_model&);

// The parts and rules that most families take; defined in parts.hpp and layers.hpp.
[[nodiscard]] cost gqa_part(const hf_model&, const hf_layer&);
[[nodiscard]] cost dense_part(const hf_model&, const hf_layer&);
[[nodiscard]] cost experts_part(const hf_model&, const hf_layer&);
[[nodiscard]] std::string all_full(const hf_model&);
[[nodiscard]] std::string all_dense(const hf_model&);

/// Experts that all tokens share.
enum class shared_experts : std::uint8_t {
    none,
    of_width,          ///< one MLP of the width `shared`
    of_width_or_none,  ///< the same; 0: none
    of_count,          ///< `shared` experts of the routed experts' width, run as one MLP
    of_default         ///< one MLP of `intermediate_size`
};

/// Defaults that stand for null, or for "derived".
inline constexpr std::uint64_t derived = ~std::uint64_t{0};

/// The names and defaults of a mixture of experts.
struct hf_experts {
    hf_size count{};                             ///< routed experts
    hf_size per_token{{"num_experts_per_tok"}};  ///< of these a token visits
    hf_size width{};                             ///< of one expert; without a name it is `intermediate_size`
    shared_experts shared_are = shared_experts::none;
    hf_size shared{};
    bool shared_gate = false;  ///< a linear h → 1 beside the shared experts
    mlp_kind kind = mlp_kind::gated;
    bool router_bias = false;
    bool bias = false;      ///< of the experts themselves
    hf_size first_dense{};  ///< how many layers at the start have no experts, for `dense_first_feeds`
};

/// The defaults of multi-head latent attention, and of the lightning indexer beside it.
struct hf_latent {
    std::uint64_t q_lora_rank = derived;  ///< derived: null
    bool q_lora_rank_may_be_null = true;  ///< null: queries of full rank
    std::uint64_t kv_lora_rank = derived;
    std::uint64_t qk_nope_head_dim = derived;
    std::uint64_t qk_rope_head_dim = derived;
    std::string_view also_qk_rope_head_dim{};
    std::uint64_t v_head_dim = derived;  ///< derived: hidden_size / num_attention_heads, where it is absent or null
    std::uint64_t index_n_heads = 0;
    std::uint64_t index_head_dim = 0;
    std::uint64_t index_topk = 0;  ///< 0: no indexer
};

/// The names and defaults of a state space mixer, Mamba-1 or Mamba-2.
struct hf_state_space {
    hf_size channels{};    ///< null, or absent without a default: expand x hidden_size
    hf_size expand{};      ///< without a name the channels are those of the heads
    hf_size state_size{};  ///< per channel
    hf_size conv_kernel{};
    hf_size dt_rank{};    ///< Mamba-1; "auto", or absent without a default: hidden_size / 16, rounded up
    hf_size num_heads{};  ///< Mamba-2, and Zamba's Mamba-1
    hf_size head_dim{};   ///< Mamba-2; "auto", or absent without a default: channels / heads
    hf_size n_groups{};   ///< Mamba-2: heads that share B and C
    presence input_bias{};
    presence output_bias{};
    presence conv_bias = always;
    presence norms{};  ///< Mamba-1: of dt, B and C; Mamba-2: of the gated output
};

/// One `model_type`. Numbers are the defaults of its configuration class in transformers 5.23.
struct hf_family {
    std::string_view model_type;
    std::string_view class_prefix;
    std::span<const head> heads;  ///< the first is the usual one for training
    bool encoder = false;         ///< bidirectional unless `is_decoder`
    short_names also{};

    std::uint64_t vocab_size = derived;  ///< derived: must be given
    hf_width embedding_width = hidden_width;
    std::uint64_t hidden_size = derived;
    std::uint64_t intermediate_size = derived;  ///< derived: 4 x hidden_size
    config_fields::names intermediate_keys{"intermediate_size"};
    std::uint64_t num_hidden_layers = derived;
    std::uint64_t num_attention_heads = derived;
    bool has_kv_heads = true;                     ///< false: the key is not read
    std::uint64_t num_key_value_heads = derived;  ///< derived: as many as heads
    bool kv_heads_may_be_null = false;            ///< null is "as many as heads"
    bool has_head_dim = true;                     ///< false: the key is not read
    std::uint64_t head_dim = derived;             ///< derived: hidden_size / num_attention_heads
    bool head_dim_may_be_null = false;
    bool heads_divide_hidden = false;   ///< the class refuses a remainder, also where head_dim is given
    std::uint64_t positions = 0;        ///< default of `max_position_embeddings` where they are a table
    std::uint64_t position_offset = 0;  ///< rows of that table before the first position
    bool positions_by_type = false;     ///< they are one only where `position_embedding_type` is "absolute"
    std::uint64_t segments = 0;         ///< default of `type_vocab_size` where it is one
    presence embedding_norm{};          ///< a norm between embedding and layers
    bool tie_word_embeddings = false;
    std::string_view tie_key{};  ///< a key that wins over `tie_word_embeddings`
    bool always_tied = false;    ///< whatever `tie_word_embeddings` says

    presence qkv_bias{};
    presence output_bias{};
    presence mlp_bias{};
    mlp_kind mlp = mlp_kind::gated;
    norm_kind norm = norm_kind::rms;
    std::uint64_t norms_per_layer = 2;
    qk_norm query_key_norm = qk_norm::none;
    bool final_norm = true;
    bool attention_sinks = false;  ///< one more parameter per head

    hf_letters mixers = all_full;    ///< where `layer_types` does not say it
    std::string_view period{};       ///< letters of the first layers, repeated: for the rule `by_period`
    std::string_view layer_types{};  ///< what `layer_types` may name: F S C H, R linear_attention, V conv (which
                                     ///< is R in the letters); empty: the key is not read
    std::uint64_t sliding_window = derived;  ///< derived: null
    bool window_switch = false;              ///< windows only where `use_sliding_window`
    bool bidirectional_switch = false;       ///< `use_bidirectional_attention` is honoured
    bool per_layer_config = false;           ///< read by the family's parts

    hf_part attention = gqa_part;
    hf_part recurrent = nullptr;
    hf_part cross = nullptr;  ///< attention over the encoder's output
    hf_letters feeds = all_dense;
    hf_part dense = dense_part;
    hf_part experts_layer = experts_part;
    hf_experts experts{};
    hf_latent latent{};  ///< for `latent_part`
    hf_state_space ssm{};
    hf_part more = nullptr;   ///< besides mixer and feed-forward, in every layer
    hf_extra once = nullptr;  ///< besides the layers
    hf_resolve resolve = nullptr;
    const hf_family* encoder_side = nullptr;  ///< of an encoder-decoder; this family is the decoder
    hf_size mtp{};                            ///< declared layers of multi-token prediction

    hf_extra stem = nullptr;                ///< what makes tokens of pixels or sound, in place of an embedding table
    modality stands_in = modality::vision;  ///< where it has a stem
    hf_width prefix_tokens = nullptr;       ///< class tokens and registers, which each image has besides its patches
    hf_extra after = nullptr;               ///< what stands after the layers, in every class: a merger
    hf_input input = nullptr;               ///< what the stem takes
    hf_units units = nullptr;               ///< of the layers, where the stem makes fewer of what enters
    hf_units units_after = nullptr;         ///< of the head, where they are others
};

/// The same model under another name.
[[nodiscard]] constexpr hf_family renamed(hf_family family, std::string_view model_type) {
    family.model_type = model_type;
    return family;
}
/// Of a class with another name too.
[[nodiscard]] constexpr hf_family renamed(hf_family family, std::string_view model_type, std::string_view prefix) {
    family.class_prefix = prefix;
    return renamed(family, model_type);
}

}  // namespace floptally::detail

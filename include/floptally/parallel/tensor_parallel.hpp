// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/model/component_name.hpp>

namespace floptally {

/// How tensor parallelism splits the work of a weight or of a product of activations.
enum class tensor_split : std::uint8_t {
    columns,     ///< its outputs: an MLP's gate and up
    rows,        ///< its inputs: an MLP's down
    heads,       ///< the heads of the attention that it belongs to
    kv_heads,    ///< the key and value heads; where tp exceeds them, by `tensor_options::kv`
    fused_qkv,   ///< one matrix of query heads and key and value heads
    vocabulary,  ///< slices of a vocabulary, padded to a multiple
    experts,     ///< chosen experts, which all ranks run equally many of, on average
    even,        ///< tp does not say how, but equally; FLOPs that do not divide are an error
    replicated,  ///< all of it on every rank; with sequence parallelism each for its part of the tokens
    repeated     ///< all of it on every rank, for all tokens
};

/// How the matrices of a component, or of one weight in it, are split. Patterns are those of `plan_rule::weights`.
struct tensor_rule {
    component_name weights;
    tensor_split split = tensor_split::even;
};

/// What the ranks do whose share of the key and value heads is less than one.
enum class few_kv_heads : std::uint8_t {
    replicated,  ///< each computes the head that it needs: k and v run tp / heads times
    gathered     ///< each computes a part of a head, and the parts are gathered: nothing runs twice
};

/// How a framework splits layers; what is not said is as in Megatron-Core.
struct tensor_options {
    bool sequence_parallel = false;  ///< what every rank stores whole runs on 1 / tp of the tokens
    few_kv_heads kv = few_kv_heads::replicated;
    /// The vocabulary is padded to a multiple of this times tp (Megatron's default is 128).
    std::uint64_t make_vocab_size_divisible_by = 1;
    /// They come after those below, so that they hold. Towers are named in full: "vision.*" replicated is a tower
    /// without tensor parallelism.
    std::vector<tensor_rule> rules{};
};

namespace detail {

/// Of rules that name the same weight the last one holds. A row that none names needs one of the caller's.
///
/// Megatron-Core: linear_qkv, linear_fc1 and linear_q/kv_up_proj are column parallel, linear_proj and linear_fc2 row
/// parallel; MLA's down projections, the indexer of sparse attention, the projections to a latent of experts and the
/// router are stored whole ("duplicated"). The indexer gathers its inputs, so that all ranks run it on all tokens.
/// Towers are layers like any other, behind convolutions that every rank has whole; the two linears of a projector are
/// an MLP. recsys-examples splits HSTU layers by heads, and leaves the MLPs around them whole.
inline constexpr tensor_rule tensor_rules[] = {
    {"embedding", tensor_split::vocabulary},
    {"embedding.projection", tensor_split::replicated},
    {"norm", tensor_split::replicated},
    {"bias", tensor_split::replicated},
    {"attention.core", tensor_split::heads},
    {"attention.gate", tensor_split::heads},
    {"attention.output", tensor_split::heads},
    {"attention.qkv", tensor_split::fused_qkv},
    {"attention.qkv/q_proj", tensor_split::heads},
    {"attention.qkv/q_b_proj", tensor_split::heads},
    {"attention.qkv/kv_b_proj", tensor_split::heads},
    {"attention.qkv/k_proj", tensor_split::kv_heads},
    {"attention.qkv/v_proj", tensor_split::kv_heads},
    {"attention.qkv/q_a_proj", tensor_split::replicated},
    {"attention.qkv/kv_a_proj", tensor_split::replicated},
    {"attention.indexer", tensor_split::repeated},
    {"attention.router", tensor_split::replicated},
    {"cross_attention.core", tensor_split::heads},
    {"cross_attention.output", tensor_split::heads},
    {"cross_attention.qkv", tensor_split::fused_qkv},
    {"cross_attention.qkv/q_proj", tensor_split::heads},
    {"cross_attention.qkv/k_proj", tensor_split::kv_heads},
    {"cross_attention.qkv/v_proj", tensor_split::kv_heads},
    {"mlp", tensor_split::even},
    {"mlp/up_proj", tensor_split::columns},
    {"mlp/gate_proj", tensor_split::columns},
    {"mlp/gate_up_proj", tensor_split::columns},
    {"mlp/down_proj", tensor_split::rows},
    {"moe.router", tensor_split::replicated},
    {"moe.experts", tensor_split::experts},
    {"moe.latent", tensor_split::replicated},
    {"moe.shared", tensor_split::even},
    {"moe.shared/up_proj", tensor_split::columns},
    {"moe.shared/gate_proj", tensor_split::columns},
    {"moe.shared/down_proj", tensor_split::rows},
    {"moe.shared/shared_expert_gate", tensor_split::replicated},
    {"mixer.*", tensor_split::even},
    {"mixer.input/f_a_proj", tensor_split::replicated},
    {"mixer.input/g_a_proj", tensor_split::replicated},
    {"hstu.uvqk", tensor_split::heads},
    {"hstu.qk", tensor_split::heads},
    {"hstu.pv", tensor_split::heads},
    {"hstu.elementwise", tensor_split::heads},
    {"hstu.output", tensor_split::rows},
    {"hstu.preprocessing", tensor_split::repeated},
    {"hstu.prediction", tensor_split::repeated},
    {"patch_embedding", tensor_split::repeated},
    {"stem", tensor_split::repeated},
    {"projector/linear_1", tensor_split::columns},
    {"projector/linear_2", tensor_split::rows},
    {"projector/up_proj", tensor_split::columns},
    {"projector/down_proj", tensor_split::rows},
    {"merger/up_proj", tensor_split::columns},
    {"merger/gate_proj", tensor_split::columns},
    {"merger/down_proj", tensor_split::rows},
    {"lm_head", tensor_split::vocabulary},
    {"mtp/eh_proj", tensor_split::columns},
};

}  // namespace detail

}  // namespace floptally

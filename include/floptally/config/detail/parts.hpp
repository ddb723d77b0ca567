// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/config/detail/part_call.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/audio.hpp>
#include <floptally/descriptors/compressed_attention.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/hyper_connections.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/linear_attention.hpp>
#include <floptally/descriptors/state_space.hpp>
#include <floptally/descriptors/vision.hpp>
#include <floptally/lists/vector.hpp>

/// @file
/// Parts that a page may call, each a descriptor that C++ programs have too. One table for each gives its words, the
/// keys of floptally's own format and the members of the descriptor.

namespace floptally::detail::pages {

/// A tag: the number is 0 where the word is not given.
struct zero_if_absent_tag {};
inline constexpr zero_if_absent_tag zero_if_absent;
/// A tag: the flag is the opposite of the word.
struct inverse_tag {};
inline constexpr inverse_tag inverse;

/// A word that sets a member of a descriptor: a number or a flag.
template <class Part>
struct member_word : part_word {
    using number = std::uint64_t Part::*;
    using flag = bool Part::*;

    std::uint64_t Part::*number_member = nullptr;
    std::uint64_t Part::*other_member = nullptr;  ///< member whose number it takes where it is not given
    bool Part::*flag_member = nullptr;

    constexpr member_word(const char* name) : part_word{name} {}  // NOLINT(google-explicit-constructor): in a table
    constexpr member_word(const char* name, const char* own_key, number member)
        : part_word{name, own_key, true}, number_member(member) {}
    constexpr member_word(const char* name, const char* own_key, number member, zero_if_absent_tag)
        : part_word{name, own_key}, number_member(member) {}
    constexpr member_word(const char* name, const char* own_key, number member, number other)
        : part_word{name, own_key}, number_member(member), other_member(other) {}
    constexpr member_word(const char* name, const char* own_key, flag member)
        : part_word{name, own_key}, flag_member(member) {}
    constexpr member_word(const char* name, const char* own_key, flag member, inverse_tag)
        : part_word{name, own_key, false, true}, flag_member(member) {}

    void set(Part& part, const part_call& call) const {
        if (flag_member != nullptr) {
            part.*flag_member = call.on(word) != is_inverse;
        } else if (number_member != nullptr) {
            const std::uint64_t absent = other_member != nullptr ? part.*other_member : 0;
            part.*number_member = is_needed ? call.required(word) : call.number(word, absent);
        }
    }
};

inline constexpr member_word<gqa> gqa_words[] = {
    {"heads", "num_heads number", &gqa::num_heads},
    {"kv", "num_kv_heads number absent", &gqa::num_kv_heads, &gqa::num_heads},
    {"dim", "head_dim number absent", &gqa::head_dim},
    {"gate", "", &gqa::gate_size, zero_if_absent},
    {"fused", "", &gqa::fused_qkv}};
inline constexpr member_word<cross_attention> cross_words[] = {
    {"heads", "num_heads number", &cross_attention::num_heads},
    {"kv", "num_kv_heads number absent", &cross_attention::num_kv_heads, &cross_attention::num_heads},
    {"dim", "head_dim number absent", &cross_attention::head_dim},
    {"context", "context_size number absent", &cross_attention::context_size, zero_if_absent}};
inline constexpr member_word<mla> mla_words[] = {{"heads", "num_heads number", &mla::num_heads},
                                                 {"q", "q_lora_rank 0", &mla::q_lora_rank, zero_if_absent},
                                                 {"c", "kv_lora_rank number", &mla::kv_lora_rank},
                                                 {"nope", "qk_nope_head_dim number", &mla::qk_nope_head_dim},
                                                 {"rope", "qk_rope_head_dim 0", &mla::qk_rope_head_dim, zero_if_absent},
                                                 {"dim", "v_head_dim number", &mla::v_head_dim},
                                                 {"absorbed", "absorbed flag absent", &mla::absorbed},
                                                 {"gate", "gate_size 0", &mla::gate_size, zero_if_absent},
                                                 {"shares_latent", "shares_latent no", &mla::shares_latent}};
inline constexpr member_word<lightning_indexer> indexer_words[] = {
    {"heads", "num_heads number", &lightning_indexer::num_heads},
    {"dim", "head_dim number", &lightning_indexer::head_dim},
    {"q", "query_size number absent", &lightning_indexer::query_size},
    {"trained", "detached yes", &lightning_indexer::detached, inverse},
    {"fused_sum", "", &lightning_indexer::head_sum_is_product, inverse},
    {"ratio", "compress_ratio 0", &lightning_indexer::compress_ratio, zero_if_absent},
    {"key_width", "key_width 0", &lightning_indexer::key_width, zero_if_absent},
    {"key_gate", "key_gate no", &lightning_indexer::key_gate},
    {"no_weights", "head_weights yes", &lightning_indexer::head_weights, inverse}};
inline constexpr member_word<compressed_attention> compressed_attention_words[] = {
    {"heads", "num_heads number", &compressed_attention::num_heads},
    {"dim", "head_dim number", &compressed_attention::head_dim},
    {"q", "q_lora_rank number", &compressed_attention::q_lora_rank},
    {"window", "window number", &compressed_attention::window},
    {"ratio", "compress_ratio 0", &compressed_attention::compress_ratio, zero_if_absent},
    {"overlap", "overlap no", &compressed_attention::overlap},
    {"best", "best_keys 0", &compressed_attention::best_keys, zero_if_absent},
    {"groups", "o_groups 1", &compressed_attention::o_groups},
    {"o", "o_lora_rank number", &compressed_attention::o_lora_rank}};
inline constexpr member_word<hyper_connections> hyper_connections_words[] = {
    {"streams", "streams number", &hyper_connections::streams},
    {"unmixed", "mixes yes", &hyper_connections::mixes, inverse}};
inline constexpr member_word<stream_head> stream_head_words[] = {{"streams", "streams number", &stream_head::streams}};
inline constexpr member_word<gated_streams> gated_streams_words[] = {
    {"streams", "streams number", &gated_streams::streams},
    {"rank", "rank number", &gated_streams::rank},
    {"last", "injects yes", &gated_streams::injects, inverse}};
inline constexpr member_word<mlp> mlp_words[] = {{"inner", "intermediate_size number", &mlp::intermediate_size}};
inline constexpr member_word<gated_mlp> gated_words[] = {{"inner", "", &gated_mlp::intermediate_size},
                                                         {"fused", "", &gated_mlp::fused_gate_up}};
inline constexpr member_word<moe> experts_words[] = {
    {"of", "num_experts number", &moe::num_experts},
    {"top", "num_experts_per_tok number", &moe::num_experts_per_tok},
    {"inner", "intermediate_size number", &moe::intermediate_size},
    {"shared", "shared_intermediate_size 0", &moe::shared_intermediate_size, zero_if_absent},
    {"shared_gate", "shared_expert_gate no", &moe::shared_expert_gate},
    {"plain", "gated yes", &moe::gated, inverse},
    {"latent", "latent_size 0", &moe::latent_size, zero_if_absent},
    {"zero", "zero_experts 0", &moe::zero_experts, zero_if_absent},
    {"measured", "", &moe::routed_is_measured},
    {"visits"},
    {"expert_bias", "", &moe::expert_bias, zero_if_absent}};
inline constexpr member_word<mamba> mamba_words[] = {{"inner", "inner_size number", &mamba::inner_size},
                                                     {"state", "state_size number", &mamba::state_size},
                                                     {"dt", "dt_rank number", &mamba::dt_rank},
                                                     {"kernel", "conv_kernel number", &mamba::conv_kernel}};
inline constexpr member_word<mamba2> mamba2_words[] = {{"heads", "num_heads number", &mamba2::num_heads},
                                                       {"dim", "head_dim number", &mamba2::head_dim},
                                                       {"groups", "n_groups 1", &mamba2::n_groups},
                                                       {"state", "state_size number", &mamba2::state_size},
                                                       {"kernel", "conv_kernel number", &mamba2::conv_kernel}};
inline constexpr member_word<gated_delta_net> delta_net_words[] = {
    {"keys", "num_key_heads number", &gated_delta_net::num_key_heads},
    {"values", "num_value_heads number", &gated_delta_net::num_value_heads},
    {"key_dim", "key_head_dim number", &gated_delta_net::key_head_dim},
    {"value_dim", "value_head_dim number", &gated_delta_net::value_head_dim},
    {"kernel", "conv_kernel number", &gated_delta_net::conv_kernel},
    {"no_gate", "output_gate yes", &gated_delta_net::output_gate, inverse}};
inline constexpr member_word<kda> kda_words[] = {{"heads", "num_heads number", &kda::num_heads},
                                                 {"dim", "head_dim number", &kda::head_dim},
                                                 {"kernel", "conv_kernel number", &kda::conv_kernel},
                                                 {"full_output_gate", "", &kda::full_output_gate},
                                                 {"full_forget_gate", "", &kda::full_forget_gate}};
inline constexpr member_word<lightning_attention> lightning_words[] = {
    {"heads", "num_heads number", &lightning_attention::num_heads},
    {"dim", "head_dim number", &lightning_attention::head_dim}};
inline constexpr member_word<mlstm> mlstm_words[] = {{"heads", "num_heads number", &mlstm::num_heads},
                                                     {"key_dim", "key_head_dim number", &mlstm::key_head_dim},
                                                     {"value_dim", "value_head_dim number", &mlstm::value_head_dim}};
inline constexpr member_word<rg_lru> rg_lru_words[] = {{"width_of", "lru_width number", &rg_lru::lru_width},
                                                       {"blocks", "num_blocks number", &rg_lru::num_blocks},
                                                       {"kernel", "conv_kernel number", &rg_lru::conv_kernel}};
inline constexpr member_word<short_convolution> short_convolution_words[] = {
    {"kernel", "conv_kernel number", &short_convolution::conv_kernel}};
inline constexpr member_word<rwkv_time_mix> time_mix_words[] = {
    {"inner", "attention_size number absent", &rwkv_time_mix::attention_size}};
inline constexpr member_word<rwkv_channel_mix> channel_mix_words[] = {
    {"inner", "intermediate_size number", &rwkv_channel_mix::intermediate_size}};
inline constexpr member_word<patch_merger> merger_words[] = {
    {"side", "", &patch_merger::spatial_merge_size},
    {"inner", "", &patch_merger::intermediate_size, zero_if_absent},
    {"out", "", &patch_merger::out_features},
    {"pooled", "", &patch_merger::pooled_frames}};
inline constexpr member_word<gated_patch_merger> gated_merger_words[] = {
    {"side", "", &gated_patch_merger::spatial_merge_size},
    {"inner", "", &gated_patch_merger::intermediate_size},
    {"out", "", &gated_patch_merger::out_features}};
inline constexpr member_word<attention_pooling> pooling_words[] = {
    {"heads", "", &attention_pooling::num_heads},
    {"inner", "", &attention_pooling::intermediate_size},
    {"learned", "", &attention_pooling::learned, zero_if_absent}};

/// The cost of a descriptor whose members are set.
template <class Part>
[[nodiscard]] cost cost_of(Part& part, const part_call& p) {
    if constexpr (requires { part.cost(p.place()); }) {
        return part.cost(p.place());
    } else {
        part.hidden_size = p.place().hidden_size;
        return part.cost();
    }
}
[[gnu::cold]] inline cost cost_of(mla& part, const part_call& p) {
    part.absorbed = p.is_absorbed();
    part.elementwise = p.elementwise();
    return part.cost(p.place());
}
[[gnu::cold]] inline cost cost_of(moe& part, const part_call& p) {
    const mask visits = p.attends("visits", measured("routed"));
    if (!visits.is<unit_rules::measured>()) {
        p.fail({"visits must be measured(\"WORD\")"});
    }
    part.shared_expert_gate = part.shared_expert_gate && part.shared_intermediate_size != 0;
    part.routed_is_measured = part.routed_is_measured || p.on("visits");
    const auto counted = visits.as<unit_rules::measured>();  // which owns the letters of its word
    part.visits = counted.word();
    return part.cost(p.place());
}

/// The cost of a part that a table describes.
template <class Part, const member_word<Part>* Words, std::size_t Count>
[[nodiscard, gnu::cold]] cost part_of_words(const part_call& p) {
    Part part;
    for (std::size_t k = 0; k < Count; ++k) {
        Words[k].set(part, p);
    }
    return cost_of(part, p);
}

inline constexpr part_word patches_words[] = {{"channels"}, {"side"}, {"frames"}};
[[gnu::cold]] inline cost patches_of(const part_call& p) {
    const vector<std::int64_t> area = p.numbers("side", 2, 1);
    return patch_embedding{.in_channels = p.required("channels"),
                           .patch_size = static_cast<std::uint64_t>(area[0]),
                           .patch_width = static_cast<std::uint64_t>(area[1]),
                           .temporal_patch_size = p.number("frames", 1)}
        .cost(p.place().hidden_size);
}

inline constexpr part_word convolutions_words[] = {
    {"channels"},    {"out"},    {"kernels"}, {"strides"}, {"paddings"}, {"groups"}, {"dilations"}, {"bins"},
    {"bin_kernels"}, {"biased"}, {"gated"},   {"inside"},  {"field"},    {"stride"}, {"chunk"},     {"as"}};
/// The cost of convolutions along time, one after the other: each size is a number for each, or one for all.
[[gnu::cold]] inline cost convolutions_of(const part_call& p) {
    const vector<std::int64_t> kernels = p.numbers("kernels", 0, 1);
    const std::size_t size = kernels.size();
    if (size == 0 || size > 16) {
        p.fail({"needs from 1 to 16 kernels, got ", size});
    }
    const vector<std::int64_t> out = p.numbers("out", size, 1);
    const vector<std::int64_t> strides = p.numbers("strides", size, 1);
    const vector<std::int64_t> paddings = p.numbers("paddings", size, 0);
    const vector<std::int64_t> groups = p.numbers("groups", size, 1);
    const vector<std::int64_t> dilations = p.numbers("dilations", size, 1);
    const vector<std::int64_t> bins = p.numbers("bins", size, 1);
    const vector<std::int64_t> bin_kernels = p.numbers("bin_kernels", size, 1);
    convolution_stem stem{.in_channels = p.required("channels"), .at_input = !p.on("inside")};
    if (p.find("field") != nullptr) {
        stem.before = {.field = static_cast<std::int64_t>(p.required("field")),
                       .stride = static_cast<std::int64_t>(p.required("stride")),
                       .chunk = static_cast<std::int64_t>(p.number("chunk"))};
    }
    stem.before.chunk = static_cast<std::int64_t>(p.number("chunk"));
    for (std::size_t k = 0; k < size; ++k) {
        for (const std::int64_t number : {out[k], groups[k], bins[k], bin_kernels[k]}) {
            if (number < 1) {
                p.fail({"has a number below 1: ", number});
            }
        }
        stem.convolutions.push_back(convolution{.out_channels = static_cast<std::uint64_t>(out[k]),
                                                .kernel_size = kernels[k],
                                                .stride = strides[k],
                                                .padding = paddings[k],
                                                .dilation = dilations[k],
                                                .groups = static_cast<std::uint64_t>(groups[k]),
                                                .bias = p.on("biased"),
                                                .gated = p.on("gated"),
                                                .bins = static_cast<std::uint64_t>(bins[k]),
                                                .bin_kernel = static_cast<std::uint64_t>(bin_kernels[k])},
                                    "kernels");
    }
    const std::string_view name = p.words("as");
    return name.empty() ? stem.cost() : stem.cost(name);
}

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/floptally_masks.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/written_split.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/compressed_attention.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/hyper_connections.hpp>
#include <floptally/model/latent_attention.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/linear_attention.hpp>
#include <floptally/model/state_space.hpp>
#include <floptally/model_config.hpp>
#include <floptally/statistics/rule_text.hpp>

/// @file
/// The parts of a layer in floptally's own format: each key is read or refused.

namespace floptally::detail {

/// A part as it is written, and where it stands.
struct written_part {
    const config_fields& part;
    std::uint64_t hidden_size = 0;
    mla_core mla = mla_core::expanded;

    [[nodiscard]] std::uint64_t size(std::string_view key) const { return part.dimension({key}); }
    [[nodiscard]] std::uint64_t size_or(std::string_view key, std::uint64_t otherwise) const {
        return part.dimension({key}, otherwise);
    }
    /// 0, and so absent: not there.
    [[nodiscard]] std::uint64_t size_or_none(std::string_view key) const {
        return part.integer({key}, 0, 0, max_dimension);
    }
    [[nodiscard]] layer where() const { return {.hidden_size = hidden_size}; }
    [[nodiscard]] layer under(const rule& attends) const { return {.hidden_size = hidden_size, .attends = attends}; }
};

// ---- attention ----

/// The heads of an attention; `head_dim` defaults to hidden_size / num_heads where that has no remainder.
[[nodiscard]] inline gqa read_heads(const written_part& of) {
    const config_fields& part = of.part;
    gqa heads;
    heads.num_heads = part.dimension({"num_heads"});
    heads.num_kv_heads = part.dimension({"num_kv_heads"}, heads.num_heads);
    if (heads.num_heads % heads.num_kv_heads != 0) {
        refuse(part.field("num_kv_heads"), {"must divide num_heads (", heads.num_heads, "), got ", heads.num_kv_heads});
    }
    if (!part.contains("head_dim") && of.hidden_size % heads.num_heads != 0) {
        refuse(part.field("head_dim"), {"is missing, and num_heads (", heads.num_heads,
                                        ") does not divide hidden_size (", of.hidden_size, ")"});
    }
    heads.head_dim = part.dimension({"head_dim"}, of.hidden_size / heads.num_heads);
    return heads;
}

[[nodiscard]] inline cost attention_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "num_kv_heads", "head_dim", "mask"});
    return read_heads(of).cost(of.under(read_mask(of.part)));
}

[[nodiscard]] inline cost cross_attention_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "num_kv_heads", "head_dim", "context_size"});
    const gqa heads = read_heads(of);
    return cross_attention{
        heads.num_heads, heads.num_kv_heads, heads.head_dim, of.size_or("context_size", of.hidden_size), {}}
        .cost(of.where());
}

[[nodiscard]] inline cost mla_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                        "v_head_dim", "absorbed", "gate_size", "shares_latent", "mask"});
    return mla{.num_heads = of.size("num_heads"),
               .q_lora_rank = of.size_or_none("q_lora_rank"),
               .kv_lora_rank = of.size("kv_lora_rank"),
               .qk_nope_head_dim = of.size("qk_nope_head_dim"),
               .qk_rope_head_dim = of.size_or_none("qk_rope_head_dim"),
               .v_head_dim = of.size("v_head_dim"),
               .absorbed = of.part.flag("absorbed", of.mla == mla_core::absorbed),
               .gate_size = of.size_or_none("gate_size"),
               .shares_latent = of.part.flag("shares_latent", false)}
        .cost(of.under(read_mask(of.part)));
}

[[nodiscard]] inline cost lightning_indexer_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "head_dim", "query_size", "detached", "compress_ratio", "key_width",
                        "key_gate", "head_weights"});
    return lightning_indexer{.num_heads = of.size("num_heads"),
                             .head_dim = of.size("head_dim"),
                             .query_size = of.size_or("query_size", of.hidden_size),
                             .detached = of.part.flag("detached", true),
                             .compress_ratio = of.size_or_none("compress_ratio"),
                             .key_width = of.size_or_none("key_width"),
                             .key_gate = of.part.flag("key_gate", false),
                             .head_weights = of.part.flag("head_weights", true)}
        .cost(of.where());
}

[[nodiscard]] inline cost compressed_attention_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "head_dim", "q_lora_rank", "window", "compress_ratio", "overlap",
                        "best_keys", "o_groups", "o_lora_rank"});
    const compressed_attention made{.num_heads = of.size("num_heads"),
                                    .head_dim = of.size("head_dim"),
                                    .q_lora_rank = of.size("q_lora_rank"),
                                    .window = of.size("window"),
                                    .compress_ratio = of.size_or_none("compress_ratio"),
                                    .overlap = of.part.flag("overlap", false),
                                    .best_keys = of.size_or_none("best_keys"),
                                    .o_groups = of.size_or("o_groups", 1),
                                    .o_lora_rank = of.size("o_lora_rank")};
    if (made.compress_ratio == 0 && (made.overlap || made.best_keys != 0)) {
        refuse(of.part.field("compress_ratio"),
               {"must be at least 1 where compressed keys overlap or the best are chosen, got 0"});
    }
    if (made.num_heads * made.head_dim % made.o_groups != 0) {
        refuse(of.part.field("o_groups"),
               {"must divide num_heads x head_dim (", made.num_heads * made.head_dim, "), got ", made.o_groups});
    }
    return made.cost(of.where());
}

[[nodiscard]] inline cost hyper_connections_cost(const written_part& of) {
    of.part.allow_only({"type", "streams", "mixes"});
    return hyper_connections{.streams = of.size("streams"), .mixes = of.part.flag("mixes", true)}.cost(of.where());
}

[[nodiscard]] inline cost stream_head_cost(const written_part& of) {
    of.part.allow_only({"type", "streams"});
    return stream_head{of.size("streams")}.cost(of.where());
}

[[nodiscard]] inline cost gated_streams_cost(const written_part& of) {
    of.part.allow_only({"type", "streams", "rank", "injects"});
    return gated_streams{
        .streams = of.size("streams"), .rank = of.size("rank"), .injects = of.part.flag("injects", true)}
        .cost(of.where());
}

// ---- feed-forwards ----

[[nodiscard]] inline cost mlp_cost(const written_part& of) {
    of.part.allow_only({"type", "intermediate_size", "gated"});
    const std::uint64_t width = of.size("intermediate_size");
    return of.part.flag("gated", true) ? gated_mlp{width, {}}.cost(of.where()) : mlp{width, {}}.cost(of.where());
}

[[nodiscard]] inline cost moe_cost(const written_part& of) {
    const config_fields& part = of.part;
    part.allow_only({"type", "num_experts", "num_experts_per_tok", "intermediate_size", "shared_intermediate_size",
                     "shared_expert_gate", "gated", "latent_size", "zero_experts"});
    moe experts;
    experts.num_experts = of.size("num_experts");
    experts.zero_experts = of.size_or_none("zero_experts");
    experts.num_experts_per_tok =
        part.integer({"num_experts_per_tok"}, required, 1, experts.num_experts + experts.zero_experts);
    experts.intermediate_size = of.size("intermediate_size");
    experts.shared_intermediate_size = of.size_or_none("shared_intermediate_size");
    experts.shared_expert_gate = part.flag("shared_expert_gate", false);
    if (experts.shared_expert_gate && experts.shared_intermediate_size == 0) {
        refuse(part.field("shared_expert_gate"), {"must be false without shared_intermediate_size"});
    }
    experts.gated = part.flag("gated", true);
    experts.latent_size = of.size_or_none("latent_size");
    return experts.cost(of.where());
}

[[nodiscard]] inline cost rwkv_channel_mix_cost(const written_part& of) {
    of.part.allow_only({"type", "intermediate_size"});
    return rwkv_channel_mix{of.size("intermediate_size"), {}}.cost(of.where());
}

// ---- recurrent mixers ----

[[nodiscard]] inline cost mamba_cost(const written_part& of) {
    of.part.allow_only({"type", "inner_size", "state_size", "dt_rank", "conv_kernel"});
    return mamba{of.size("inner_size"), of.size("state_size"), of.size("dt_rank"), of.size("conv_kernel"), {}}.cost(
        of.where());
}

[[nodiscard]] inline cost mamba2_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "head_dim", "n_groups", "state_size", "conv_kernel"});
    return mamba2{of.size("num_heads"),  of.size("head_dim"),    of.size_or("n_groups", 1),
                  of.size("state_size"), of.size("conv_kernel"), {}}
        .cost(of.where());
}

[[nodiscard]] inline cost gated_delta_net_cost(const written_part& of) {
    of.part.allow_only(
        {"type", "num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim", "conv_kernel", "output_gate"});
    return gated_delta_net{.num_key_heads = of.size("num_key_heads"),
                           .num_value_heads = of.size("num_value_heads"),
                           .key_head_dim = of.size("key_head_dim"),
                           .value_head_dim = of.size("value_head_dim"),
                           .conv_kernel = of.size("conv_kernel"),
                           .output_gate = of.part.flag("output_gate", true)}
        .cost(of.where());
}

[[nodiscard]] inline cost kda_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "head_dim", "conv_kernel"});
    return kda{of.size("num_heads"), of.size("head_dim"), of.size("conv_kernel"), {}}.cost(of.where());
}

[[nodiscard]] inline cost lightning_attention_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "head_dim"});
    return lightning_attention{of.size("num_heads"), of.size("head_dim"), {}}.cost(of.where());
}

[[nodiscard]] inline cost mlstm_cost(const written_part& of) {
    of.part.allow_only({"type", "num_heads", "key_head_dim", "value_head_dim"});
    return mlstm{of.size("num_heads"), of.size("key_head_dim"), of.size("value_head_dim"), {}}.cost(of.where());
}

[[nodiscard]] inline cost rg_lru_cost(const written_part& of) {
    of.part.allow_only({"type", "lru_width", "num_blocks", "conv_kernel"});
    const rg_lru block{of.size("lru_width"), of.size("num_blocks"), of.size("conv_kernel"), {}};
    if (block.lru_width % block.num_blocks != 0) {
        refuse(of.part.field("num_blocks"), {"must divide lru_width (", block.lru_width, "), got ", block.num_blocks});
    }
    return block.cost(of.where());
}

[[nodiscard]] inline cost short_convolution_cost(const written_part& of) {
    of.part.allow_only({"type", "conv_kernel"});
    return short_convolution{of.size("conv_kernel"), {}}.cost(of.where());
}

[[nodiscard]] inline cost rwkv_time_mix_cost(const written_part& of) {
    of.part.allow_only({"type", "attention_size"});
    return rwkv_time_mix{of.size_or("attention_size", of.hidden_size), {}}.cost(of.where());
}

// ---- what no part describes ----

[[nodiscard]] inline component_name read_component(const config_fields& part) {
    const std::string name = part.text("component");
    if (name.empty() || name.size() > component_name::capacity) {
        refuse(part.field("component"),
               {"must have 1 to ", component_name::capacity, " characters, got \"", name, "\""});
    }
    return component_name(std::string_view(name));
}

[[nodiscard]] inline cost linear_cost(const written_part& of) {
    of.part.allow_only({"type", "component", "in_features", "out_features", "rows", "split"});
    const std::string rows = of.part.text("rows", "tokens");
    if (rows != "tokens" && rows != "keys" && rows != "count") {
        refuse(of.part.field("rows"), {R"(must be "tokens", "keys" or "count", got ")", rows, "\""});
    }
    cost sum;
    sum.add(read_component(of.part), linear{.in_features = of.size("in_features"),
                                            .out_features = of.size("out_features"),
                                            .rows = rows == "tokens" ? statistic::tokens
                                                    : rows == "keys" ? statistic::keys
                                                                     : statistic::count,
                                            .dealt = read_split(of.part, true)});
    return sum;
}

[[nodiscard]] inline cost state_cost(const written_part& of) {
    of.part.allow_only({"type", "component", "multiply_adds", "split"});
    cost sum;
    sum.add_state(read_component(of.part), of.part.integer({"multiply_adds"}, required, 1, std::uint64_t{1} << 48),
                  term::state, 0, 0, read_split(of.part, false));
    return sum;
}

}  // namespace floptally::detail

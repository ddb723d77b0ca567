// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/part_call.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/audio.hpp>
#include <floptally/model/compressed_attention.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/hyper_connections.hpp>
#include <floptally/model/latent_attention.hpp>
#include <floptally/model/linear_attention.hpp>
#include <floptally/model/state_space.hpp>
#include <floptally/model/vision.hpp>

/// @file
/// The parts that a page may call: each is a descriptor that a C++ program has too.

namespace floptally::detail::pages {

[[gnu::cold]] inline cost gqa_of(const part_call& p) {
    return gqa{.num_heads = p.must("heads"),
               .num_kv_heads = p.number("kv", p.must("heads")),
               .head_dim = p.must("dim"),
               .gate_size = p.number("gate"),
               .fused_qkv = p.on("fused")}
        .cost(p.place());
}
[[gnu::cold]] inline cost cross_of(const part_call& p) {
    return cross_attention{.num_heads = p.must("heads"),
                           .num_kv_heads = p.number("kv", p.must("heads")),
                           .head_dim = p.must("dim"),
                           .context_size = p.number("context")}
        .cost(p.place());
}
[[gnu::cold]] inline cost mla_of(const part_call& p) {
    return mla{.num_heads = p.must("heads"),
               .q_lora_rank = p.number("q"),
               .kv_lora_rank = p.must("c"),
               .qk_nope_head_dim = p.must("nope"),
               .qk_rope_head_dim = p.number("rope"),
               .v_head_dim = p.must("dim"),
               .absorbed = p.is_absorbed(),
               .elementwise = p.elementwise(),
               .gate_size = p.number("gate"),
               .shares_latent = p.on("shares_latent")}
        .cost(p.place());
}
[[gnu::cold]] inline cost indexer_of(const part_call& p) {
    return lightning_indexer{.num_heads = p.must("heads"),
                             .head_dim = p.must("dim"),
                             .query_size = p.must("q"),
                             .detached = !p.on("trained"),
                             .head_sum_is_product = !p.on("fused_sum"),
                             .compress_ratio = p.number("ratio"),
                             .key_width = p.number("key_width"),
                             .key_gate = p.on("key_gate"),
                             .head_weights = !p.on("no_weights")}
        .cost(p.place());
}
[[gnu::cold]] inline cost compressed_attention_of(const part_call& p) {
    return compressed_attention{.num_heads = p.must("heads"),
                                .head_dim = p.must("dim"),
                                .q_lora_rank = p.must("q"),
                                .window = p.must("window"),
                                .compress_ratio = p.number("ratio"),
                                .overlap = p.on("overlap"),
                                .best_keys = p.number("best"),
                                .o_groups = p.must("groups"),
                                .o_lora_rank = p.must("o")}
        .cost(p.place());
}
[[gnu::cold]] inline cost hyper_connections_of(const part_call& p) {
    return hyper_connections{.streams = p.must("streams"), .mixes = !p.on("unmixed")}.cost(p.place());
}
[[gnu::cold]] inline cost stream_head_of(const part_call& p) { return stream_head{p.must("streams")}.cost(p.place()); }
[[gnu::cold]] inline cost gated_streams_of(const part_call& p) {
    return gated_streams{.streams = p.must("streams"), .rank = p.must("rank"), .injects = !p.on("last")}.cost(
        p.place());
}
[[gnu::cold]] inline cost mlp_of(const part_call& p) { return mlp{p.must("inner")}.cost(p.place()); }
[[gnu::cold]] inline cost gated_of(const part_call& p) {
    return gated_mlp{.intermediate_size = p.must("inner"), .fused_gate_up = p.on("fused")}.cost(p.place());
}
[[gnu::cold]] inline cost experts_of(const part_call& p) {
    const mask visits = p.attends("visits", measured("routed"));
    if (!visits.is<unit_rules::measured>()) {
        p.fail({"visits must be measured(\"WORD\")"});
    }
    return moe{.num_experts = p.must("of"),
               .num_experts_per_tok = p.must("top"),
               .intermediate_size = p.must("inner"),
               .shared_intermediate_size = p.number("shared"),
               .shared_expert_gate = p.on("shared_gate") && p.number("shared") != 0,
               .gated = !p.on("plain"),
               .latent_size = p.number("latent"),
               .zero_experts = p.number("zero"),
               .routed_is_measured = p.on("measured") || p.on("visits"),
               .visits = visits.as<unit_rules::measured>().word(),
               .expert_bias = p.number("expert_bias")}
        .cost(p.place());
}
[[gnu::cold]] inline cost mamba_of(const part_call& p) {
    return mamba{.inner_size = p.must("inner"),
                 .state_size = p.must("state"),
                 .dt_rank = p.must("dt"),
                 .conv_kernel = p.must("kernel")}
        .cost(p.place());
}
[[gnu::cold]] inline cost mamba2_of(const part_call& p) {
    return mamba2{.num_heads = p.must("heads"),
                  .head_dim = p.must("dim"),
                  .n_groups = p.must("groups"),
                  .state_size = p.must("state"),
                  .conv_kernel = p.must("kernel")}
        .cost(p.place());
}
[[gnu::cold]] inline cost delta_net_of(const part_call& p) {
    return gated_delta_net{.num_key_heads = p.must("keys"),
                           .num_value_heads = p.must("values"),
                           .key_head_dim = p.must("key_dim"),
                           .value_head_dim = p.must("value_dim"),
                           .conv_kernel = p.must("kernel"),
                           .output_gate = !p.on("no_gate")}
        .cost(p.place());
}
[[gnu::cold]] inline cost kda_of(const part_call& p) {
    return kda{.num_heads = p.must("heads"),
               .head_dim = p.must("dim"),
               .conv_kernel = p.must("kernel"),
               .full_output_gate = p.on("full_output_gate"),
               .full_forget_gate = p.on("full_forget_gate")}
        .cost(p.place());
}
[[gnu::cold]] inline cost lightning_of(const part_call& p) {
    return lightning_attention{p.must("heads"), p.must("dim")}.cost(p.place());
}
[[gnu::cold]] inline cost mlstm_of(const part_call& p) {
    return mlstm{p.must("heads"), p.must("key_dim"), p.must("value_dim")}.cost(p.place());
}
[[gnu::cold]] inline cost rg_lru_of(const part_call& p) {
    return rg_lru{p.must("width_of"), p.must("blocks"), p.must("kernel")}.cost(p.place());
}
[[gnu::cold]] inline cost short_convolution_of(const part_call& p) {
    return short_convolution{p.must("kernel")}.cost(p.place());
}
[[gnu::cold]] inline cost time_mix_of(const part_call& p) { return rwkv_time_mix{p.must("inner")}.cost(p.place()); }
[[gnu::cold]] inline cost channel_mix_of(const part_call& p) {
    return rwkv_channel_mix{p.must("inner")}.cost(p.place());
}

// ---- towers ----

[[gnu::cold]] inline cost patches_of(const part_call& p) {
    const array_of<std::int64_t> area = p.numbers("side", 2, 1);
    return patch_embedding{.in_channels = p.must("channels"),
                           .patch_size = static_cast<std::uint64_t>(area[0]),
                           .patch_width = static_cast<std::uint64_t>(area[1]),
                           .temporal_patch_size = p.number("frames", 1)}
        .cost(p.place().hidden_size);
}
[[gnu::cold]] inline cost merger_of(const part_call& p) {
    return patch_merger{.spatial_merge_size = p.must("side"),
                        .hidden_size = p.place().hidden_size,
                        .intermediate_size = p.number("inner"),
                        .out_features = p.must("out"),
                        .pooled_frames = p.on("pooled")}
        .cost();
}
[[gnu::cold]] inline cost gated_merger_of(const part_call& p) {
    return gated_patch_merger{.spatial_merge_size = p.must("side"),
                              .hidden_size = p.place().hidden_size,
                              .intermediate_size = p.must("inner"),
                              .out_features = p.must("out")}
        .cost();
}
[[gnu::cold]] inline cost pooling_of(const part_call& p) {
    return attention_pooling{.num_heads = p.must("heads"),
                             .hidden_size = p.place().hidden_size,
                             .intermediate_size = p.must("inner"),
                             .learned = p.number("learned")}
        .cost();
}
/// Convolutions along time, one after the other: a number for each, or one for all.
[[gnu::cold]] inline cost convolutions_of(const part_call& p) {
    const array_of<std::int64_t> kernels = p.numbers("kernels", 0, 1);
    const std::size_t size = kernels.size();
    if (size == 0 || size > 16) {
        p.fail({"needs from 1 to 16 kernels, got ", size});
    }
    const array_of<std::int64_t> out = p.numbers("out", size, 1);
    const array_of<std::int64_t> strides = p.numbers("strides", size, 1);
    const array_of<std::int64_t> paddings = p.numbers("paddings", size, 0);
    const array_of<std::int64_t> groups = p.numbers("groups", size, 1);
    const array_of<std::int64_t> dilations = p.numbers("dilations", size, 1);
    const array_of<std::int64_t> bins = p.numbers("bins", size, 1);
    const array_of<std::int64_t> bin_kernels = p.numbers("bin_kernels", size, 1);
    convolution_stem stem{.in_channels = p.must("channels"), .at_input = !p.on("inside")};
    if (p.find("field") != nullptr) {
        stem.before = {.field = static_cast<std::int64_t>(p.must("field")),
                       .stride = static_cast<std::int64_t>(p.must("stride")),
                       .chunk = static_cast<std::int64_t>(p.number("chunk"))};
    }
    stem.before.chunk = static_cast<std::int64_t>(p.number("chunk"));
    for (std::size_t k = 0; k < size; ++k) {
        for (const std::int64_t one : {out[k], groups[k], bins[k], bin_kernels[k]}) {
            if (one < 1) {
                p.fail({"has a number below 1: ", one});
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

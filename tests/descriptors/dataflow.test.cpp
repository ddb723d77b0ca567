// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/floptally.hpp>

#include "catch2.hpp"

namespace dataflow_test {
namespace {

using namespace floptally;

constexpr layer where{.index = 0, .hidden_size = 8, .attends = mask::causal()};

/// The rows that make some values, by their places from 1, and the values that enter the part, by their names.
std::string makers_of(const cost& part, value::set values) {
    std::string text;
    const auto append = [&text](const std::string& next) { text += (text.empty() ? "" : " ") + next; };
    if ((values & value::stream) != 0) {
        append("stream");
    }
    if ((values & value::context) != 0) {
        append("context");
    }
    for (std::size_t i = 0; i < part.entries().size(); ++i) {
        if ((part.entries()[i].flow.writes & values) != 0) {
            append(std::to_string(i + 1));
        }
    }
    return text;
}

/// What each entry reads: "1 q_proj(stream), 2 k_proj(stream), 3 scores(1 x 2 + 3)", where 3 is read in the same
/// kernel.
std::string flow_of(const cost& part) {
    std::string text;
    std::size_t place = 0;
    for (const cost_entry& entry : part.entries()) {
        const std::string name(entry.weight == 0 ? meaning_of(entry.kind).name : part.weight_name(entry));
        text += (place == 0 ? "" : ", ") + std::to_string(place + 1) + " " + name;
        text += "(" + makers_of(part, entry.flow.reads);
        text += entry.flow.also_reads == 0 ? "" : " x " + makers_of(part, entry.flow.also_reads);
        text += (entry.flow.fused_with == 0 ? "" : " + " + makers_of(part, entry.flow.fused_with)) + ")";
        ++place;
    }
    return text;
}

}  // namespace

TEST_CASE("attention cost entries declare that they read the outputs of the projections", "[dataflow]") {
    constexpr gqa heads{.num_heads = 4, .num_kv_heads = 2, .head_dim = 2};
    CHECK(flow_of(heads.cost(where)) ==
          "1 q_proj(stream), 2 k_proj(stream), 3 v_proj(stream), "
          "4 scores(1 x 2 + 3), 5 values(1 2 x 3), 6 softmax(1 2), 7 o_proj(5)");
    gqa other = heads;
    other.gate_size = 8;
    CHECK(flow_of(other.cost(where)) ==
          "1 q_proj(stream), 2 k_proj(stream), 3 v_proj(stream), "
          "4 scores(1 x 2 + 3), 5 values(1 2 x 3), 6 softmax(1 2), 7 o_proj(5 8), 8 gate_proj(stream)");
    other = heads;
    other.fused_qkv = true;
    CHECK(flow_of(other.cost(where)) ==
          "1 qkv_proj(stream), 2 scores(1 x 1 + 1), 3 values(1 x 1), 4 softmax(1), 5 o_proj(3)");
    CHECK(flow_of(cross_attention{.num_heads = 4, .num_kv_heads = 2, .head_dim = 2}.cost(where)) ==
          "1 q_proj(stream), 2 k_proj(context), 3 v_proj(context), "
          "4 scores(1 x 2 + 3), 5 values(1 2 x 3), 6 softmax(1 2), 7 o_proj(5)");
}

TEST_CASE("latent attention cost entries declare that they read the latents and the expanded keys and values",
          "[dataflow]") {
    constexpr mla full{
        .num_heads = 4, .kv_lora_rank = 5, .qk_nope_head_dim = 3, .qk_rope_head_dim = 2, .v_head_dim = 2};
    CHECK(flow_of(full.cost(where)) ==
          "1 q_proj(stream), 2 kv_a_proj(stream), 3 kv_b_proj(2), "
          "4 scores(1 x 2 3 + 3), 5 values(1 2 3 x 3), 6 softmax(1 2 3), 7 o_proj(5)");
    mla other = full;
    other.q_lora_rank = 6;
    other.gate_size = 8;
    CHECK(flow_of(other.cost(where)) ==
          "1 q_a_proj(stream), 2 q_b_proj(1), 3 kv_a_proj(stream), 4 gate_proj(stream), 5 kv_b_proj(3), "
          "6 scores(2 x 3 5 + 5), 7 values(2 3 5 x 5), 8 softmax(2 3 5), 9 o_proj(4 7)");
    other = full;
    other.shares_latent = true;
    CHECK(flow_of(other.cost(where)) ==
          "1 q_proj(stream), 2 kv_b_proj(stream), "
          "3 scores(1 x stream 2 + 2), 4 values(stream 1 2 x 2), 5 softmax(stream 1 2), 6 o_proj(4)");
    other = full;
    other.absorbed = true;  // a part of kv_b before the core, a part after it
    CHECK(flow_of(other.cost(where)) ==
          "1 q_proj(stream), 2 kv_a_proj(stream), 3 kv_b_proj(1), 4 kv_b_proj(6), "
          "5 scores(1 3 x 2 + 2), 6 values(1 2 3 x 2), 7 softmax(1 2 3), 8 o_proj(4 6)");
}

TEST_CASE("cost entries of an indexer declare that they read the indexer's own queries, keys and weights",
          "[dataflow]") {
    constexpr lightning_indexer chosen{.num_heads = 4, .head_dim = 2, .query_size = 6};
    CHECK(flow_of(chosen.cost(where)) == "1 wq_b(), 2 wk(stream), 3 weights_proj(stream), 4 index_scores(1 x 2)");
    lightning_indexer other = chosen;
    other.head_sum_is_product = true;
    other.key_gate = true;
    CHECK(flow_of(other.cost(where)) ==
          "1 wq_b(), 2 wk(stream), 3 gate_proj(stream), 4 weights_proj(stream), "
          "5 index_scores(1 x 2 3), 6 index_scores(5 x 4)");
    other = chosen;
    other.detached = false;
    CHECK(flow_of(other.cost(where)) == "1 wq_b(), 2 wk(stream), 3 weights_proj(stream), 4 scores(1 x 2 + 3)");
    other.head_weights = false;
    CHECK(flow_of(other.cost(where)) == "1 wq_b(), 2 wk(stream), 3 scores(1 x 2)");
}

TEST_CASE("compressed attention cost entries declare that they read tokens and compressed blocks under one softmax",
          "[dataflow]") {
    compressed_attention part{
        .num_heads = 4, .head_dim = 2, .q_lora_rank = 6, .window = 3, .o_groups = 2, .o_lora_rank = 5};
    CHECK(flow_of(part.cost(where)) ==
          "1 q_a_proj(stream), 2 q_b_proj(1), 3 kv_proj(stream), "
          "4 scores(2 x 3 + 2 3), 5 values(2 3 x 3), 6 softmax(2 3), 7 o_a_proj(5), 8 o_b_proj(7)");
    part.compress_ratio = 4;
    CHECK(flow_of(part.cost(where)) ==
          "1 q_a_proj(stream), 2 q_b_proj(1), 3 kv_proj(stream), 4 kv_proj(stream), 5 gate_proj(stream), "
          "6 scores(2 x 3 + 2 3 4 5), 7 values(2 3 4 5 x 3), 8 softmax(2 3 4 5), "
          "9 scores(2 x 4 5 + 2 3 4 5), 10 values(2 3 4 5 x 4 5), 11 softmax(2 3 4 5), "
          "12 o_a_proj(7 10), 13 o_b_proj(12)");
}

TEST_CASE("cost entries of a feed-forward block declare that they read the layer input or earlier results of the block",
          "[dataflow]") {
    CHECK(flow_of(mlp{.intermediate_size = 9}.cost(where)) == "1 up_proj(stream), 2 down_proj(1)");
    CHECK(flow_of(gated_mlp{.intermediate_size = 9}.cost(where)) ==
          "1 gate_proj(stream), 2 up_proj(stream), 3 down_proj(1 2)");
    CHECK(flow_of(gated_mlp{.intermediate_size = 9, .fused_gate_up = true}.cost(where)) ==
          "1 gate_up_proj(stream), 2 down_proj(1)");
    moe part{.num_experts = 4, .num_experts_per_tok = 2, .intermediate_size = 9};
    CHECK(flow_of(part.cost(where)) == "1 gate(stream), 2 gate_proj(stream), 3 up_proj(stream), 4 down_proj(2 3)");
    part.latent_size = 5;
    part.shared_intermediate_size = 7;
    part.shared_expert_gate = true;
    CHECK(flow_of(part.cost(where)) ==
          "1 gate(stream), 2 gate_proj(5), 3 up_proj(5), 4 down_proj(2 3), "
          "5 down_proj(stream), 6 up_proj(1 2 3 4), "
          "7 gate_proj(stream), 8 up_proj(stream), 9 down_proj(7 8), 10 shared_expert_gate(stream)");
}

TEST_CASE("recurrent state cost entries declare that they read projected and convolved inputs", "[dataflow]") {
    CHECK(flow_of(gated_delta_net{
              .num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 3, .value_head_dim = 5, .conv_kernel = 4}
                      .cost(where)) ==
          "1 in_proj_qkvz(stream), 2 in_proj_ba(stream), 3 conv1d(1), 4 delta_rule(2 3 x 2 3), 5 out_proj(1 4)");
    kda part{.num_heads = 2, .head_dim = 3, .conv_kernel = 4};
    CHECK(flow_of(part.cost(where)) ==
          "1 q_proj(stream), 2 q_conv1d(1), 3 k_proj(stream), 4 k_conv1d(3), 5 v_proj(stream), 6 v_conv1d(5), "
          "7 f_a_proj(stream), 8 f_b_proj(7), 9 g_a_proj(stream), 10 g_b_proj(9), 11 b_proj(stream), "
          "12 delta_rule(2 4 6 8 11 x 2 4 6 8 11), 13 o_proj(10 12)");
    part.full_forget_gate = part.full_output_gate = true;
    CHECK(flow_of(part.cost(where)) ==
          "1 q_proj(stream), 2 q_conv1d(1), 3 k_proj(stream), 4 k_conv1d(3), 5 v_proj(stream), 6 v_conv1d(5), "
          "7 f_proj(stream), 8 g_proj(stream), 9 b_proj(stream), "
          "10 delta_rule(2 4 6 7 9 x 2 4 6 7 9), 11 o_proj(8 10)");
    CHECK(flow_of(lightning_attention{.num_heads = 2, .head_dim = 3}.cost(where)) ==
          "1 qkv_proj(stream), 2 output_gate(stream), 3 state(1 x 1), 4 out_proj(2 3)");
    CHECK(flow_of(mlstm{.num_heads = 2, .key_head_dim = 3, .value_head_dim = 5}.cost(where)) ==
          "1 q(stream), 2 k(stream), 3 v(stream), 4 ogate_preact(stream), 5 igate_preact(stream), "
          "6 fgate_preact(stream), 7 state(1 2 3 5 6 x 1 2 3 5 6), 8 out_proj(4 7)");
    CHECK(flow_of(rwkv_time_mix{.attention_size = 9}.cost(where)) ==
          "1 receptance(stream), 2 key(stream), 3 value(stream), 4 output(1 2 3)");
    CHECK(flow_of(rwkv_channel_mix{.intermediate_size = 9}.cost(where)) ==
          "1 key(stream), 2 value(1), 3 receptance(stream)");
    CHECK(flow_of(mamba{.inner_size = 9, .state_size = 3, .dt_rank = 2, .conv_kernel = 4}.cost(where)) ==
          "1 in_proj(stream), 2 conv1d(1), 3 x_proj(2), 4 dt_proj(3), 5 scan(2 3 4 x 2 3 4), 6 out_proj(1 5)");
    CHECK(flow_of(mamba2{.num_heads = 2, .head_dim = 3, .state_size = 4, .conv_kernel = 4}.cost(where)) ==
          "1 in_proj(stream), 2 conv1d(1), 3 scan(1 2 x 1 2), 4 out_proj(1 3)");
    CHECK(flow_of(rg_lru{.lru_width = 6, .num_blocks = 2, .conv_kernel = 4}.cost(where)) ==
          "1 linear_y(stream), 2 linear_x(stream), 3 conv1d(2), 4 rg_lru(3), 5 linear_out(1 3 4)");
    CHECK(flow_of(short_convolution{.conv_kernel = 3}.cost(where)) ==
          "1 in_proj(stream), 2 conv1d(1), 3 out_proj(1 2)");
}

TEST_CASE("the scores, values and gate of an HSTU layer read the output of one fused projection", "[dataflow]") {
    CHECK(flow_of(hstu_layer{.num_heads = 2, .attention_dim = 3, .linear_dim = 4}.cost(where)) ==
          "1 uvqk_proj(stream), 2 scores(1 x 1 + 1), 3 values(1 x 1), 4 gating(1 x 3), 5 o_proj(4), 6 residual()");
    CHECK(flow_of(hstu_mlp{.layer_sizes = {3, 4}}.cost("hstu.prediction", term::lm_head, 8)) ==
          "1 lm_head(stream), 2 lm_head(1), 3 bias()");
}

TEST_CASE("hyper-connection cost entries declare that they read all residual streams", "[dataflow]") {
    CHECK(flow_of(hyper_connections{.streams = 2}.cost(where)) == "1 hc_fn(stream), 2 state(1 x stream)");
    CHECK(flow_of(gated_streams{.streams = 2, .rank = 3}.cost(where)) ==
          "1 input_mix_weight_down(stream), 2 input_mix_weight_up(1), 3 block_inject_weight(stream)");
}

TEST_CASE("cost entries of a vision tower declare that they read patches or earlier results of the tower",
          "[dataflow]") {
    CHECK(flow_of(patch_embedding{.patch_size = 4}.cost(8)) == "1 input_linear(stream)");
    CHECK(flow_of(patch_merger{.hidden_size = 5, .out_features = 3}.cost()) == "1 up_proj(stream), 2 down_proj(1)");
    CHECK(flow_of(gated_patch_merger{.hidden_size = 5, .intermediate_size = 7, .out_features = 3}.cost()) ==
          "1 downsample(stream), 2 proj(1), 3 gate_proj(2), 4 up_proj(2), 5 down_proj(3 4)");
    CHECK(flow_of(attention_pooling{.num_heads = 2, .hidden_size = 6, .intermediate_size = 9}.cost()) ==
          "1 q_proj(), 2 k_proj(stream), 3 v_proj(stream), 4 scores(1 x 2 + 3), 5 values(1 2 x 3), 6 softmax(1 2), "
          "7 out_proj(5), 8 up_proj(7), 9 down_proj(8)");
}

}  // namespace dataflow_test

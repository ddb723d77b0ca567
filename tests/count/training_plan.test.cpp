// SPDX-License-Identifier: Apache-2.0
//
// The work of a training plan, against a tape that autograd's rule walks back (autograd_trace.hpp).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>

#include "autograd_trace.hpp"
#include "catch2.hpp"
#include "error_of.hpp"
#include "matmul_trace.hpp"
#include "sanitized.hpp"

namespace training_plan_test {
namespace {

using namespace floptally;
using autograd_trace::sequence_list;
using autograd_trace::state;
using autograd_trace::tape;
using autograd_trace::tensor;

constexpr std::uint64_t h = 12;

/// Σ tokens, Σ causal pairs and so on of what is walked.
struct batch_sums {
    std::uint64_t tokens = 0, keys = 0, causal = 0, square_keys = 0, crossed = 0, window = 0, blocks = 0;
    bool padded = false;

    batch_sums(const sequence_list& sequences, bool is_padded) : padded(is_padded) {
        for (const auto& s : sequences) {
            tokens += s.length;
            for (std::uint64_t query = 0; query < s.length; ++query) {
                causal += query + 1;
                window += query + 1 < 3 ? query + 1 : 3;  // of three tokens
                blocks += (query + 1) / 2;                // of two tokens each
                crossed += s.keys;
            }
            if (s.length != 0) {
                keys += s.keys;
                square_keys += s.keys * s.keys;
            }
        }
    }
};

using model_walk = std::function<void(tape&, const batch_sums&)>;

struct test_model {
    std::string name;
    std::vector<model_part> parts;
    model_walk walk;
    std::vector<std::pair<std::string, std::string>> weights;  ///< component and weight
};

// ---- the same parts, as an implementation runs them ----

tensor self_attention(tape& t, std::uint64_t rows, std::uint64_t pairs, tensor x, std::uint64_t heads, std::uint64_t kv,
                      std::uint64_t d, const std::string& prefix = "") {
    const tensor q = t.linear(prefix + "attention.qkv", "q_proj", rows, h, heads * d, x);
    const tensor k = t.linear(prefix + "attention.qkv", "k_proj", rows, h, kv * d, x);
    const tensor v = t.linear(prefix + "attention.qkv", "v_proj", rows, h, kv * d, x);
    const tensor o = t.core(prefix + "attention.core", pairs, heads, d, d, q, k, v);
    return t.linear(prefix + "attention.output", "o_proj", rows, heads * d, h, o);
}

tensor swiglu(tape& t, const std::string& component, std::uint64_t rows, std::uint64_t times, std::uint64_t in,
              std::uint64_t width, tensor x) {
    const tensor gate = t.linear(component, "gate_proj", rows * times, in, width, x);
    const tensor up = t.linear(component, "up_proj", rows * times, in, width, x);
    return t.linear(component, "down_proj", rows * times, width, in, t.mix({gate, up}));
}

tensor head(tape& t, const batch_sums& b, tensor x) {
    t.enter_layer(-1, false);
    const tensor normed = t.mix({x}, "norm");
    return t.linear("lm_head", "", b.tokens, h, b.padded ? 64 : 50, normed);
}

/// A pre-norm decoder of `layers`, each made of a mixer and a feed-forward.
void decoder(tape& t, const batch_sums& b, int layers, const std::function<tensor(int, tensor)>& mixer,
             const std::function<tensor(int, tensor)>& feed) {
    tensor x = t.mix({t.input(), t.table("embedding")});
    for (int i = 0; i < layers; ++i) {
        t.enter_layer(i);
        x = t.mix({x, mixer(i, t.mix({x}, "norm"))});
        x = t.mix({x, feed(i, t.mix({x}, "norm"))});
    }
    t.loss(head(t, b, x));
}

constexpr vocabulary accumulators{.size = 50, .padded_size = 64};

const std::vector<std::pair<std::string, std::string>> gqa_weights{{"attention.qkv", "q_proj"},
                                                                   {"attention.qkv", "k_proj"},
                                                                   {"attention.qkv", "v_proj"},
                                                                   {"attention.output", "o_proj"}};
const std::vector<std::pair<std::string, std::string>> mlp_weights{
    {"mlp", "gate_proj"}, {"mlp", "up_proj"}, {"mlp", "down_proj"}};
const std::vector<std::pair<std::string, std::string>> outer_weights{{"embedding", ""}, {"norm", ""}, {"lm_head", ""}};

std::vector<std::pair<std::string, std::string>> all_of(
    const std::vector<std::vector<std::pair<std::string, std::string>>>& lists) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& list : lists) {
        all.insert(all.end(), list.begin(), list.end());
    }
    return all;
}

test_model llama() {
    constexpr transformer<gqa, gated_mlp> model{.hidden_size = h,
                                                .num_layers = 4,
                                                .attention = {4, 2, 3},
                                                .feed_forward = {20},
                                                .vocab = accumulators,
                                                .layer_elementwise = {.norm = 2 * h},
                                                .final_elementwise = {.norm = h}};
    return {"llama", parts_of(model),
            [](tape& t, const batch_sums& b) {
                decoder(
                    t, b, 4, [&](int, tensor x) { return self_attention(t, b.tokens, b.causal, x, 4, 2, 3); },
                    [&](int, tensor x) { return swiglu(t, "mlp", b.tokens, 1, h, 20, x); });
            },
            all_of({gqa_weights, mlp_weights, outer_weights})};
}

/// Attention and feed-forward side by side: both read what entered the layer.
test_model side_by_side() {
    constexpr transformer<gqa, gated_mlp> model{.hidden_size = h,
                                                .num_layers = 4,
                                                .attention = {4, 2, 3},
                                                .feed_forward = {20},
                                                .vocab = accumulators,
                                                .layer_elementwise = {.norm = h},
                                                .final_elementwise = {.norm = h}};
    std::vector<model_part> parts = parts_of(model);
    for (model_part& one : parts) {
        one.beside = one.cost.components().find("mlp") < one.cost.components().size();
    }
    return {"side by side", parts,
            [](tape& t, const batch_sums& b) {
                tensor x = t.mix({t.input(), t.table("embedding")});
                for (int i = 0; i < 4; ++i) {
                    t.enter_layer(i);
                    const tensor normed = t.mix({x}, "norm");
                    const tensor attended = self_attention(t, b.tokens, b.causal, normed, 4, 2, 3);
                    x = t.mix({x, attended, swiglu(t, "mlp", b.tokens, 1, h, 20, normed)});
                }
                t.loss(head(t, b, x));
            },
            all_of({gqa_weights, mlp_weights, outer_weights})};
}

test_model experts() {
    constexpr transformer<gqa, dense_first<gated_mlp, moe>> model{
        .hidden_size = h,
        .num_layers = 4,
        .attention = {4, 2, 3, {}, 5},
        .feed_forward = {.num_dense_layers = 1,
                         .dense = {20},
                         .sparse = {.num_experts = 6,
                                    .num_experts_per_tok = 2,
                                    .intermediate_size = 7,
                                    .shared_intermediate_size = 8,
                                    .shared_expert_gate = true,
                                    .latent_size = 9}},
        .vocab = accumulators,
        .layer_elementwise = {.norm = 2 * h},
        .final_elementwise = {.norm = h}};
    return {
        "experts", parts_of(model),
        [](tape& t, const batch_sums& b) {
            decoder(
                t, b, 4,
                [&](int, tensor x) {
                    const tensor q = t.linear("attention.qkv", "q_proj", b.tokens, h, 12, x);
                    const tensor k = t.linear("attention.qkv", "k_proj", b.tokens, h, 6, x);
                    const tensor v = t.linear("attention.qkv", "v_proj", b.tokens, h, 6, x);
                    const tensor gate = t.linear("attention.gate", "gate_proj", b.tokens, h, 5, x);
                    const tensor o = t.core("attention.core", b.causal, 4, 3, 3, q, k, v);
                    return t.linear("attention.output", "o_proj", b.tokens, 12, h, t.mix({o, gate}));
                },
                [&](int i, tensor x) {
                    if (i == 0) {
                        return swiglu(t, "mlp", b.tokens, 1, h, 20, x);
                    }
                    const tensor scores = t.linear("moe.router", "gate", b.tokens, h, 6, x);
                    const tensor latent = t.linear("moe.latent", "down_proj", b.tokens, h, 9, x);
                    const tensor routed = swiglu(t, "moe.experts", b.tokens, 2, 9, 7, latent);
                    const tensor chosen = t.linear("moe.latent", "up_proj", b.tokens, 9, h, t.mix({routed, scores}));
                    const tensor shared = swiglu(t, "moe.shared", b.tokens, 1, h, 8, x);
                    const tensor scale = t.linear("moe.shared", "shared_expert_gate", b.tokens, h, 1, x);
                    return t.mix({chosen, shared, scale});
                });
        },
        all_of({gqa_weights,
                mlp_weights,
                {{"attention.gate", "gate_proj"},
                 {"moe.router", "gate"},
                 {"moe.latent", "down_proj"},
                 {"moe.latent", "up_proj"},
                 {"moe.experts", "gate_proj"},
                 {"moe.experts", "up_proj"},
                 {"moe.experts", "down_proj"},
                 {"moe.shared", "gate_proj"},
                 {"moe.shared", "up_proj"},
                 {"moe.shared", "down_proj"},
                 {"moe.shared", "shared_expert_gate"}},
                outer_weights})};
}

test_model latent() {
    constexpr transformer<mla, mlp> model{.hidden_size = h,
                                          .num_layers = 3,
                                          .attention = {.num_heads = 2,
                                                        .q_lora_rank = 5,
                                                        .kv_lora_rank = 4,
                                                        .qk_nope_head_dim = 6,
                                                        .qk_rope_head_dim = 2,
                                                        .v_head_dim = 7},
                                          .feed_forward = {20},
                                          .vocab = accumulators,
                                          .layer_elementwise = {.norm = 2 * h},
                                          .final_elementwise = {.norm = h}};
    return {"latent", parts_of(model),
            [](tape& t, const batch_sums& b) {
                decoder(
                    t, b, 3,
                    [&](int, tensor x) {
                        const tensor q_latent = t.linear("attention.qkv", "q_a_proj", b.tokens, h, 5, x);
                        const tensor q = t.linear("attention.qkv", "q_b_proj", b.tokens, 5, 16, q_latent);
                        const tensor kv_latent = t.linear("attention.qkv", "kv_a_proj", b.tokens, h, 6, x);
                        const tensor kv = t.linear("attention.qkv", "kv_b_proj", b.tokens, 4, 26, kv_latent);
                        const tensor o = t.core("attention.core", b.causal, 2, 8, 7, q, t.mix({kv, kv_latent}), kv);
                        return t.linear("attention.output", "o_proj", b.tokens, 14, h, o);
                    },
                    [&](int, tensor x) {
                        const tensor up = t.linear("mlp", "up_proj", b.tokens, h, 20, x);
                        return t.linear("mlp", "down_proj", b.tokens, 20, h, up);
                    });
            },
            all_of({{{"attention.qkv", "q_a_proj"},
                     {"attention.qkv", "q_b_proj"},
                     {"attention.qkv", "kv_a_proj"},
                     {"attention.qkv", "kv_b_proj"},
                     {"attention.output", "o_proj"},
                     {"mlp", "up_proj"},
                     {"mlp", "down_proj"}},
                    outer_weights})};
}

/// Every other layer is a Mamba-2.
struct alternating {
    mamba2 state{.num_heads = 3, .head_dim = 4, .n_groups = 1, .state_size = 5, .conv_kernel = 4};
    gqa attention{4, 2, 3};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        return where.index % 2 == 0 ? state.cost(where) : attention.cost(where);
    }
};

test_model hybrid() {
    constexpr transformer<alternating, gated_mlp> model{.hidden_size = h,
                                                        .num_layers = 4,
                                                        .attention = {},
                                                        .feed_forward = {20},
                                                        .vocab = accumulators,
                                                        .layer_elementwise = {.norm = 2 * h},
                                                        .final_elementwise = {.norm = h}};
    return {"hybrid", parts_of(model),
            [](tape& t, const batch_sums& b) {
                decoder(
                    t, b, 4,
                    [&](int i, tensor x) {
                        if (i % 2 != 0) {
                            return self_attention(t, b.tokens, b.causal, x, 4, 2, 3);
                        }
                        const tensor all = t.linear("mixer.input", "in_proj", b.tokens, h, 12 + 22 + 3, x);
                        const tensor convolved = t.linear("mixer.convolution", "conv1d", b.tokens, 4, 22, all, false);
                        // B ⊗ x into the state, C out of it: 12 channels of 5 numbers.
                        const tensor memory =
                            t.activations("mixer.state", 2 * b.tokens * 12 * 5, t.mix({convolved, all}), convolved);
                        const tensor y = t.activations("mixer.state", 2 * b.tokens * 12 * 5, memory, convolved);
                        return t.linear("mixer.output", "out_proj", b.tokens, 12, h, t.mix({y, all}));
                    },
                    [&](int, tensor x) { return swiglu(t, "mlp", b.tokens, 1, h, 20, x); });
            },
            all_of({gqa_weights,
                    mlp_weights,
                    {{"mixer.input", "in_proj"}, {"mixer.convolution", "conv1d"}, {"mixer.output", "out_proj"}},
                    outer_weights})};
}

test_model encoder_decoder() {
    const layer both_ways{.hidden_size = h, .attends = mask::bidirectional()};
    const layer causal{.hidden_size = h, .attends = mask::causal()};
    const gqa attention{4, 2, 3};
    const mlp feed{20};
    std::vector<model_part> stages{
        {.name = "embedding", .role = part_role::input, .cost = accumulators.embedding_cost(h)},
        {"encoder", part_role::encoder, attention.cost(both_ways).on_encoder(), 0, 3},
        {"encoder", part_role::encoder, feed.cost(both_ways).on_encoder(), 0, 3},
        {"layer", part_role::layer, attention.cost(causal), 0, 2},
        {"layer", part_role::layer, cross_attention{4, 2, 3}.cost(causal), 0, 2},
        {"layer", part_role::layer, feed.cost(causal), 0, 2},
        {.name = "lm_head", .role = part_role::head, .cost = accumulators.head_cost(h)},
    };
    const auto two = [](tape& t, const std::string& name, std::uint64_t rows, tensor x) {
        return t.linear(name, "down_proj", rows, 20, h, t.linear(name, "up_proj", rows, h, 20, x));
    };
    return {"encoder-decoder", std::move(stages),
            [two](tape& t, const batch_sums& b) {
                const tensor embedding = t.table("embedding");
                tensor context = t.mix({t.input(), embedding});
                for (int i = 0; i < 3; ++i) {
                    t.enter_layer(i);
                    context = t.mix({context, self_attention(t, b.keys, b.square_keys, context, 4, 2, 3, "encoder.")});
                    context = t.mix({context, two(t, "encoder.mlp", b.keys, context)});
                }
                tensor x = t.mix({t.input(), embedding});
                for (int i = 0; i < 2; ++i) {
                    t.enter_layer(i);
                    x = t.mix({x, self_attention(t, b.tokens, b.causal, x, 4, 2, 3)});
                    const tensor q = t.linear("cross_attention.qkv", "q_proj", b.tokens, h, 12, x);
                    const tensor k = t.linear("cross_attention.qkv", "k_proj", b.keys, h, 6, context);
                    const tensor v = t.linear("cross_attention.qkv", "v_proj", b.keys, h, 6, context);
                    const tensor o = t.core("cross_attention.core", b.crossed, 4, 3, 3, q, k, v);
                    x = t.mix({x, t.linear("cross_attention.output", "o_proj", b.tokens, 12, h, o)});
                    x = t.mix({x, two(t, "mlp", b.tokens, x)});
                }
                t.enter_layer(-1, false);
                t.loss(t.linear("lm_head", "", b.tokens, h, b.padded ? 64 : 50, x));
            },
            all_of({gqa_weights,
                    {{"mlp", "up_proj"},
                     {"mlp", "down_proj"},
                     {"encoder.attention.qkv", "q_proj"},
                     {"encoder.attention.qkv", "k_proj"},
                     {"encoder.attention.qkv", "v_proj"},
                     {"encoder.attention.output", "o_proj"},
                     {"encoder.mlp", "up_proj"},
                     {"encoder.mlp", "down_proj"},
                     {"cross_attention.qkv", "q_proj"},
                     {"cross_attention.qkv", "k_proj"},
                     {"cross_attention.qkv", "v_proj"},
                     {"cross_attention.output", "o_proj"},
                     {"embedding", ""},
                     {"lm_head", ""}}})};
}

/// Two layers of attention and MLP, then two depths of multi-token prediction.
test_model multi_token() {
    const transformer<gqa, gated_mlp> model{
        .hidden_size = h, .num_layers = 2, .attention = {4, 2, 3}, .feed_forward = {20}, .vocab = accumulators};
    std::vector<model_part> stages = parts_of(model);
    const layer causal{.hidden_size = h, .attends = mask::causal()};
    const cost parts[] = {model.attention.cost(causal), model.feed_forward.cost(causal)};
    multi_token_prediction{.num_layers = 2, .elementwise = {.norm = 2 * h}}.for_each_part(
        parts, h, accumulators, [&stages](const model_part& next) { stages.push_back(next); });
    return {"multi-token", std::move(stages),
            [](tape& t, const batch_sums& b) {
                tensor x = t.mix({t.input(), t.table("embedding")});
                for (int i = 0; i < 2; ++i) {
                    t.enter_layer(i);
                    x = t.mix({x, self_attention(t, b.tokens, b.causal, x, 4, 2, 3)});
                    x = t.mix({x, swiglu(t, "mlp", b.tokens, 1, h, 20, x)});
                }
                t.enter_layer(-1, false);
                t.loss(t.linear("lm_head", "", b.tokens, h, b.padded ? 64 : 50, x));
                for (int depth = 0; depth < 2; ++depth) {
                    t.enter_layer(-1);
                    x = t.linear("mtp", "eh_proj", b.tokens, 2 * h, h, t.mix({x}, "mtp"));
                    const tensor q = t.linear("mtp", "q_proj", b.tokens, h, 12, x);
                    const tensor k = t.linear("mtp", "k_proj", b.tokens, h, 6, x);
                    const tensor v = t.linear("mtp", "v_proj", b.tokens, h, 6, x);
                    const tensor o = t.core("mtp", b.causal, 4, 3, 3, q, k, v);
                    x = t.mix({x, t.linear("mtp", "o_proj", b.tokens, 12, h, o)});
                    x = t.mix({x, swiglu(t, "mtp", b.tokens, 1, h, 20, x)});
                    t.enter_layer(-1, false);
                    t.loss(t.linear("mtp", "", b.tokens, h, b.padded ? 64 : 50, x));
                }
            },
            all_of({gqa_weights,
                    mlp_weights,
                    {{"mtp", "eh_proj"}, {"mtp", "q_proj"}, {"mtp", "o_proj"}, {"mtp", "down_proj"}},
                    {{"embedding", ""}, {"lm_head", ""}}})};
}

/// Three streams, in layers of compressed attention and MLP; one stream before the lm_head.
test_model streams() {
    const layer where{.hidden_size = h, .attends = mask::causal()};
    const cost mix = hyper_connections{3}.cost(where);
    const compressed_attention attention{.num_heads = 4,
                                         .head_dim = 6,
                                         .q_lora_rank = 5,
                                         .window = 3,
                                         .compress_ratio = 2,
                                         .o_groups = 2,
                                         .o_lora_rank = 7};
    cost norm;
    norm.add_parameters("norm", term::norm, h);
    std::vector<model_part> stages{
        {.name = "embedding", .role = part_role::input, .cost = accumulators.embedding_cost(h)}};
    for (std::uint64_t i = 0; i < 2; ++i) {
        for (const cost& part : {mix, norm, attention.cost(where), mix, norm, gated_mlp{20}.cost(where)}) {
            stages.push_back({"layer", part_role::layer, part, i, 1});
        }
    }
    stages.push_back({.name = "after", .role = part_role::layer, .cost = stream_head{3}.cost(where)});
    stages.push_back({.name = "lm_head", .role = part_role::head, .cost = accumulators.head_cost(h)});
    const auto mixed = [](tape& t, const batch_sums& b, tensor x, const std::function<tensor(tensor)>& part) {
        const tensor weights = t.linear("residual.mix", "hc_fn", b.tokens, 3 * h, 15, x, false);
        const tensor out = part(t.mix({x, weights}));
        return t.mix({out, weights, t.activations("residual.mix", 2 * b.tokens * 3 * 3 * h, weights, x)});
    };
    return {"streams", std::move(stages),
            [mixed](tape& t, const batch_sums& b) {
                tensor x = t.mix({t.input(), t.table("embedding")});
                for (int i = 0; i < 2; ++i) {
                    t.enter_layer(i);
                    x = mixed(t, b, x, [&](tensor one) {
                        one = t.mix({one}, "norm");
                        const tensor latent = t.linear("attention.qkv", "q_a_proj", b.tokens, h, 5, one);
                        const tensor q = t.linear("attention.qkv", "q_b_proj", b.tokens, 5, 24, latent);
                        const tensor kv = t.linear("attention.qkv", "kv_proj", b.tokens, h, 6, one);
                        const tensor key = t.linear("attention.compress", "kv_proj", b.tokens, h, 6, one);
                        const tensor gate = t.linear("attention.compress", "gate_proj", b.tokens, h, 6, one);
                        const tensor out =
                            t.joint_core("attention.core", 4, 6, q, {{kv, b.window}, {t.mix({key, gate}), b.blocks}});
                        const tensor low = t.linear("attention.output", "o_a_proj", 2 * b.tokens, 12, 7, out, false);
                        return t.linear("attention.output", "o_b_proj", b.tokens, 14, h, low);
                    });
                    x = mixed(t, b, x, [&](tensor operand) {
                        return swiglu(t, "mlp", b.tokens, 1, h, 20, t.mix({operand}, "norm"));
                    });
                }
                t.enter_layer(-1);
                const tensor weights = t.linear("residual.head", "hc_head", b.tokens, 3 * h, 3, x, false);
                t.enter_layer(-1, false);
                t.loss(t.linear("lm_head", "", b.tokens, h, b.padded ? 64 : 50, t.mix({x, weights})));
            },
            all_of({mlp_weights,
                    {{"residual.mix", "hc_fn"},
                     {"attention.qkv", "q_a_proj"},
                     {"attention.qkv", "q_b_proj"},
                     {"attention.qkv", "kv_proj"},
                     {"attention.compress", "kv_proj"},
                     {"attention.compress", "gate_proj"},
                     {"attention.output", "o_b_proj"},
                     {"residual.head", "hc_head"}},
                    {{"embedding", ""}, {"norm", ""}, {"lm_head", ""}}})};
}

/// A linear of a mixer.
tensor mixed(tape& t, std::uint64_t rows, const std::string& weight, std::uint64_t in, std::uint64_t out, tensor x) {
    return t.linear("mixer.input", weight, rows, in, out, x);
}
tensor convolved(tape& t, std::uint64_t rows, const std::string& weight, std::uint64_t channels, tensor x) {
    return t.linear("mixer.convolution", weight, rows, 4, channels, x, false);
}
/// A recurrence of so many multiply-adds an entry in one kernel, whose backward gives a gradient to all that it reads.
tensor recurrence(tape& t, std::uint64_t rows, std::uint64_t multiply_adds, const std::vector<tensor>& reads) {
    const tensor all = t.mix(reads);
    return t.activations("mixer.state", 2 * rows * multiply_adds, all, all);
}
tensor mixer_output(tape& t, std::uint64_t rows, const std::string& weight, std::uint64_t in, tensor x) {
    return t.linear("mixer.output", weight, rows, in, h, x);
}

using mixer_walk = std::function<tensor(tape&, std::uint64_t rows, tensor)>;

/// Two layers of a mixer and of RWKV's channel mix.
template <class Mixer>
test_model of_mixer(const std::string& name, const Mixer& mixer,
                    std::vector<std::pair<std::string, std::string>> weights, const mixer_walk& walk) {
    const transformer<Mixer, rwkv_channel_mix> model{.hidden_size = h,
                                                     .num_layers = 2,
                                                     .attention = mixer,
                                                     .feed_forward = {20},
                                                     .vocab = accumulators,
                                                     .layer_elementwise = {.norm = 2 * h},
                                                     .final_elementwise = {.norm = h}};
    return {name, parts_of(model),
            [walk](tape& t, const batch_sums& b) {
                decoder(
                    t, b, 2, [&](int, tensor x) { return walk(t, b.tokens, x); },
                    [&](int, tensor x) {
                        const tensor key = t.linear("mlp", "key", b.tokens, h, 20, x);
                        const tensor value = t.linear("mlp", "value", b.tokens, 20, h, key);
                        return t.mix({value, t.linear("mlp", "receptance", b.tokens, h, h, x)});
                    });
            },
            all_of({std::move(weights), {{"mlp", "key"}, {"mlp", "value"}, {"mlp", "receptance"}}, outer_weights})};
}

std::vector<test_model> mixers() {
    std::vector<test_model> all;
    const auto weights = [](const std::vector<std::string>& inputs, const std::vector<std::string>& convolutions,
                            const std::string& output) {
        std::vector<std::pair<std::string, std::string>> list{{"mixer.output", output}};
        for (const std::string& input : inputs) {
            list.emplace_back("mixer.input", input);
        }
        for (const std::string& convolution : convolutions) {
            list.emplace_back("mixer.convolution", convolution);
        }
        return list;
    };
    for (const bool full : {false, true}) {
        std::vector<std::string> inputs{"q_proj", "k_proj", "v_proj", "b_proj"};
        for (const char* gate : {"f", "g"}) {
            for (const char* matrix : {"_a_proj", "_b_proj"}) {
                inputs.push_back(full ? std::string(gate) + "_proj" : std::string(gate) + matrix);
            }
        }
        all.push_back(of_mixer(
            full ? "kda, full gates" : "kda",
            kda{.num_heads = 3, .head_dim = 4, .conv_kernel = 4, .full_output_gate = full, .full_forget_gate = full},
            weights(inputs, {"q_conv1d", "k_conv1d", "v_conv1d"}, "o_proj"),
            [full](tape& t, std::uint64_t rows, tensor x) {
                std::vector<tensor> reads{mixed(t, rows, "b_proj", h, 3, x)};
                for (const std::string one : {"q", "k", "v"}) {
                    reads.push_back(convolved(t, rows, one + "_conv1d", 12, mixed(t, rows, one + "_proj", h, 12, x)));
                }
                const auto gate = [&](const std::string& element) {
                    return full ? mixed(t, rows, element + "_proj", h, 12, x)
                                : mixed(t, rows, element + "_b_proj", 4, 12,
                                        mixed(t, rows, element + "_a_proj", h, 4, x));
                };
                reads.push_back(gate("f"));
                const tensor read = recurrence(t, rows, 3 * 3 * 4 * 4, reads);
                return mixer_output(t, rows, "o_proj", 12, t.mix({read, gate("g")}));
            }));
    }
    all.push_back(of_mixer(
        "gated delta net",
        gated_delta_net{
            .num_key_heads = 1, .num_value_heads = 2, .key_head_dim = 3, .value_head_dim = 5, .conv_kernel = 4},
        weights({"in_proj_qkvz", "in_proj_ba"}, {"conv1d"}, "out_proj"), [](tape& t, std::uint64_t rows, tensor x) {
            const tensor qkvz = mixed(t, rows, "in_proj_qkvz", h, 3 + 3 + 10 + 10, x);
            const tensor gates = mixed(t, rows, "in_proj_ba", h, 2 + 2, x);
            const tensor read = recurrence(t, rows, 3 * 2 * 3 * 5, {convolved(t, rows, "conv1d", 16, qkvz), gates});
            return mixer_output(t, rows, "out_proj", 10, t.mix({read, qkvz}));
        }));
    all.push_back(of_mixer(
        "lightning attention", lightning_attention{.num_heads = 3, .head_dim = 4},
        weights({"qkv_proj", "output_gate"}, {}, "out_proj"), [](tape& t, std::uint64_t rows, tensor x) {
            const tensor read = recurrence(t, rows, 2 * 3 * 4 * 4, {mixed(t, rows, "qkv_proj", h, 36, x)});
            return mixer_output(t, rows, "out_proj", 12, t.mix({read, mixed(t, rows, "output_gate", h, 12, x)}));
        }));
    all.push_back(of_mixer("mlstm", mlstm{.num_heads = 3, .key_head_dim = 2, .value_head_dim = 4},
                           weights({"q", "k", "v", "ogate_preact", "igate_preact", "fgate_preact"}, {}, "out_proj"),
                           [](tape& t, std::uint64_t rows, tensor x) {
                               const tensor read =
                                   recurrence(t, rows, 2 * 3 * 2 * 4 + 3 * 2,
                                              {mixed(t, rows, "q", h, 6, x), mixed(t, rows, "k", h, 6, x),
                                               mixed(t, rows, "v", h, 12, x), mixed(t, rows, "igate_preact", h, 3, x),
                                               mixed(t, rows, "fgate_preact", h, 3, x)});
                               const tensor gate = mixed(t, rows, "ogate_preact", h, 12, x);
                               return mixer_output(t, rows, "out_proj", 12, t.mix({read, gate}));
                           }));
    all.push_back(of_mixer(
        "rwkv", rwkv_time_mix{.attention_size = 10},
        {{"mixer.input", "receptance"}, {"mixer.input", "key"}, {"mixer.input", "value"}, {"mixer.output", "output"}},
        [](tape& t, std::uint64_t rows, tensor x) {
            const tensor read = t.mix({mixed(t, rows, "receptance", h, 10, x), mixed(t, rows, "key", h, 10, x),
                                       mixed(t, rows, "value", h, 10, x)});
            return mixer_output(t, rows, "output", 10, read);
        }));
    all.push_back(of_mixer("mamba", mamba{.inner_size = 10, .state_size = 3, .dt_rank = 2, .conv_kernel = 4},
                           weights({"in_proj", "x_proj", "dt_proj"}, {"conv1d"}, "out_proj"),
                           [](tape& t, std::uint64_t rows, tensor x) {
                               const tensor both = mixed(t, rows, "in_proj", h, 20, x);
                               const tensor branch = convolved(t, rows, "conv1d", 10, both);
                               const tensor selected = mixed(t, rows, "x_proj", 10, 2 + 2 * 3, branch);
                               const tensor dt = mixed(t, rows, "dt_proj", 2, 10, selected);
                               const tensor read = recurrence(t, rows, 2 * 10 * 3, {branch, selected, dt});
                               return mixer_output(t, rows, "out_proj", 10, t.mix({read, both}));
                           }));
    all.push_back(of_mixer("rg-lru", rg_lru{.lru_width = 6, .num_blocks = 3, .conv_kernel = 4},
                           weights({"linear_y", "linear_x", "rg_lru"}, {"conv1d"}, "linear_out"),
                           [](tape& t, std::uint64_t rows, tensor x) {
                               const tensor y = mixed(t, rows, "linear_y", h, 6, x);
                               const tensor branch =
                                   convolved(t, rows, "conv1d", 6, mixed(t, rows, "linear_x", h, 6, x));
                               // Two gates, each of three blocks 2 x 2.
                               const tensor gates = t.linear("mixer.input", "rg_lru", rows, 2 * 2, 6, branch, false);
                               return mixer_output(t, rows, "linear_out", 6, t.mix({y, branch, gates}));
                           }));
    all.push_back(of_mixer(
        "short convolution", short_convolution{.conv_kernel = 4}, weights({"in_proj"}, {"conv1d"}, "out_proj"),
        [](tape& t, std::uint64_t rows, tensor x) {
            const tensor three = mixed(t, rows, "in_proj", h, 3 * h, x);
            return mixer_output(t, rows, "out_proj", h, t.mix({three, convolved(t, rows, "conv1d", h, three)}));
        }));
    return all;
}

/// A denoiser: parts before its layers embed patches, the time and a caption, which the layers read beside the stream.
test_model denoiser() {
    const layer where{.hidden_size = h, .attends = mask::causal()};
    const value::set inner = value::local(0);
    const auto pass = [](std::uint64_t in, std::uint64_t out, std::string_view name, value::set writes) {
        return linear{
            .in_features = in, .out_features = out, .kind = term::input_linear, .weight = name, .writes = writes};
    };
    const auto from = [](value::set reads, std::uint64_t in, std::uint64_t out, std::string_view name,
                         value::set writes) {
        return linear{.in_features = in, .out_features = out, .weight = name, .reads = reads, .writes = writes};
    };
    cost patches;
    patches.add("patches", pass(6, 8, "in", inner));
    patches.add("patches", from(inner, 8, h, "out", 0));
    cost time;
    time.add("time", pass(4, 5, "in", inner));
    time.add("time", from(inner, 5, 7, "out", value::time));
    cost caption;
    linear accumulators_in = pass(3, 9, "in", inner);
    linear accumulators_out = from(inner, 9, h, "out", value::context);
    accumulators_in.rows = accumulators_out.rows = accumulator::keys;
    caption.add("caption", accumulators_in);
    caption.add("caption", accumulators_out);
    cost feed;
    feed.add("modulation", from(value::time, 7, h, "shift", value::local(1)));
    feed.add("mlp", from(static_cast<value::set>(value::stream | value::local(1)), h, 20, "up_proj", value::local(2)));
    feed.add("mlp", from(value::local(2), 20, h, "down_proj", 0));
    std::vector<model_part> stages;
    for (const auto& [name, part] : {std::pair{"patches", patches}, {"time", time}, {"caption", caption}}) {
        stages.push_back({.name = name, .role = part_role::input, .cost = part});
    }
    stages.push_back({"layer", part_role::layer, cross_attention{4, 2, 3}.cost(where), 0, 2});
    stages.push_back({"layer", part_role::layer, feed, 0, 2});
    stages.push_back({.name = "lm_head", .role = part_role::head, .cost = accumulators.head_cost(h)});
    return {"denoiser",
            std::move(stages),
            [](tape& t, const batch_sums& b) {
                const auto embedded = [&](const std::string& name, std::uint64_t rows, std::uint64_t in,
                                          std::uint64_t width, std::uint64_t out) {
                    return t.linear(name, "out", rows, width, out, t.linear(name, "in", rows, in, width, t.input()));
                };
                tensor x = embedded("patches", b.tokens, 6, 8, h);
                const tensor of_sample = embedded("time", b.tokens, 4, 5, 7);
                const tensor context = embedded("caption", b.keys, 3, 9, h);
                for (int i = 0; i < 2; ++i) {
                    t.enter_layer(i);
                    const tensor q = t.linear("cross_attention.qkv", "q_proj", b.tokens, h, 12, x);
                    const tensor k = t.linear("cross_attention.qkv", "k_proj", b.keys, h, 6, context);
                    const tensor v = t.linear("cross_attention.qkv", "v_proj", b.keys, h, 6, context);
                    const tensor o = t.core("cross_attention.core", b.crossed, 4, 3, 3, q, k, v);
                    x = t.mix({x, t.linear("cross_attention.output", "o_proj", b.tokens, 12, h, o)});
                    const tensor shift = t.linear("modulation", "shift", b.tokens, 7, h, of_sample);
                    const tensor up = t.linear("mlp", "up_proj", b.tokens, h, 20, t.mix({x, shift}));
                    x = t.mix({x, t.linear("mlp", "down_proj", b.tokens, 20, h, up)});
                }
                t.enter_layer(-1, false);
                t.loss(t.linear("lm_head", "", b.tokens, h, b.padded ? 64 : 50, x));
            },
            {{"patches", "in"},
             {"patches", "out"},
             {"time", "in"},
             {"time", "out"},
             {"caption", "in"},
             {"caption", "out"},
             {"cross_attention.qkv", "q_proj"},
             {"cross_attention.qkv", "k_proj"},
             {"cross_attention.qkv", "v_proj"},
             {"cross_attention.output", "o_proj"},
             {"modulation", "shift"},
             {"mlp", "up_proj"},
             {"mlp", "down_proj"},
             {"lm_head", ""}}};
}

const std::vector<test_model>& models() {
    static const std::vector<test_model> all{llama(),  side_by_side(),    experts(),     latent(),
                                             hybrid(), encoder_decoder(), multi_token(), streams()};
    return all;
}

// ---- a plan, for the library and for the tape ----

/// The component and weight that a setting names; "*" for all, and a weight of "*" for a component as a whole.
struct named_state {
    std::string component = "*";
    std::string weight = "*";
    state is = state::trainable;
    std::uint64_t rank = 0;
    int first = -1;
    int last = -1;
};

weight_setting for_library(const named_state& r) {
    weight_setting out;
    const std::string name = r.weight == "*" ? r.component : r.component + "/" + r.weight;
    out.weights = std::string_view(name);
    out.state = static_cast<weight_state>(r.is);
    out.rank = r.rank;
    if (r.first >= 0) {
        out.first_layer = static_cast<std::uint64_t>(r.first);
        out.last_layer = static_cast<std::uint64_t>(r.last);
    }
    return out;
}

autograd_trace::rule_of for_tape(const std::vector<named_state>& states) {
    return [states](const std::string& component, const std::string& weight, int at) {
        autograd_trace::weight_rule found;
        for (const named_state& r : states) {
            const bool named = (r.component == "*" || r.component == component) &&
                               (r.weight == "*" || (!weight.empty() && r.weight == weight));
            if (named && (r.first < 0 || (at >= r.first && at <= r.last))) {
                found = {r.is, r.rank};
            }
        }
        return found;
    };
}

struct options {
    counted_passes counted = counted_passes::train;
    recompute again = recompute::none;
    bool flash = true;
    std::vector<std::string> named{};
    std::uint64_t every = 1;
};

/// Component by component, phase by phase and view by view.
std::string mismatches(const test_model& model, const std::vector<named_state>& states, const options& with) {
    training_plan plan{with.counted, with.again, with.flash};
    for (const std::string& name : with.named) {
        plan.recomputed_components.push_back(component_name(name), "recomputed_components");
    }
    for (const named_state& r : states) {
        plan.weights.push_back(for_library(r), "weights");
    }
    plan.recompute_every = with.every;
    tape::plan same;
    same.forward = with.counted != counted_passes::backward;
    same.backward = with.counted != counted_passes::forward;
    same.recompute_layers = with.again == recompute::full;
    same.recompute_cores = with.again == recompute::attention;
    same.recomputed.insert(with.named.begin(), with.named.end());
    same.every = static_cast<int>(with.every);

    const matmul_trace::padded_batch batch{{{5, 0, 4}, {3, 0, 2}, {0, 0, 0}}, {{6, 0, 4}, {4, 0, 3}, {2, 0, 1}}};
    tape real(for_tape(states));
    tape slots(for_tape(states));
    model.walk(real, batch_sums(batch.real, false));
    model.walk(slots, batch_sums(batch.slots, true));
    const auto useful = real.run(same);
    const auto padded = slots.run(same);

    const flop_counter folded(model.parts, conventions::exact, plan);
    const tally seen = matmul_trace::tally_of(folded.masks(), batch);
    const breakdown work = folded.evaluate(seen);
    std::string text;
    for (const auto& [name, sum] : useful) {
        const auto compare = [&, component = name](const char* what, flops counted, std::uint64_t traced) {
            if (counted != flops{traced}) {
                text.append(model.name).append(" ").append(component).append(" ").append(what);
                text.append(": counted ").append(to_string(counted)).append(", traced ");
                text.append(std::to_string(traced)).append("\n");
            }
        };
        const auto& of_slots = padded.at(name);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto during = static_cast<phase>(i);
            compare("useful", work[name].get(view::useful, during), i < 3 ? sum.phase[i] : 0);
            compare("padded", work[name].get(view::padded, during), i < 3 ? of_slots.phase[i] : 0);
            compare("executed", work[name].get(view::executed, during),
                    of_slots.phase[i] + (i == 1 && with.flash ? of_slots.fused : 0));
        }
    }
    for (const component_flops& component : work.components()) {
        if (useful.count(std::string(component.name.view())) == 0) {
            text.append(component.name.view()).append(" is not traced\n");
        }
    }
    for (const view v : {view::useful, view::padded, view::executed}) {
        if (folded.total_flops(seen, v) != work.total(v)) {
            text.append("total is not the sum\n");
        }
    }
    if (folded.is_upper_bound() || work.is_upper_bound()) {
        text.append("marked as an upper bound\n");
    }
    return text;
}

std::vector<options> every_option() {
    std::vector<options> all;
    for (const recompute again : {recompute::none, recompute::full, recompute::attention}) {
        for (const bool flash : {true, false}) {
            all.push_back({counted_passes::train, again, flash});
            all.push_back({counted_passes::train, again, flash, {}, 2});
        }
    }
    all.push_back(
        {counted_passes::train, recompute::none, true, {"mlp", "attention.core", "attention.qkv", "lm_head"}});
    all.push_back({counted_passes::train, recompute::attention, true, {"mlp", "mtp", "encoder.mlp"}, 3});
    all.push_back({counted_passes::forward, recompute::full, true});
    all.push_back({counted_passes::backward, recompute::full, true});
    return all;
}

void check(const test_model& model, const std::vector<named_state>& states) {
    for (const options& with : every_option()) {
        INFO(model.name);
        REQUIRE(mismatches(model, states, with) == "");
    }
}

bool has(const test_model& model, const std::string& component, const std::string& weight) {
    for (const auto& [c, w] : model.weights) {
        if ((component == "*" || c == component) && (weight == "*" || w == weight)) {
            return true;
        }
    }
    return false;
}

const named_state freeze_all{"*", "*", state::frozen};

}  // namespace

TEST_CASE("without weight settings the FLOPs of a model's parts add up to the FLOPs of the model's cost",
          "[training_plan]") {
    for (const test_model& model : models()) {
        check(model, {});
        const cost whole = cost_of(model.parts);
        for (const options& with : every_option()) {
            if (with.every != 1) {
                continue;
            }
            training_plan plan{with.counted, with.again, with.flash};
            for (const std::string& name : with.named) {
                plan.recomputed_components.push_back(component_name(name), "recomputed_components");
            }
            for (const convention* how : conventions::all) {
                const flop_counter model_counter(whole, *how, plan);
                const flop_counter staged(model.parts, *how, plan);
                tally batch{model_counter.masks()};
                tally batch_of_stages{staged.masks()};
                for (const std::uint32_t length : {5U, 3U, 11U}) {
                    batch.add(sequence{.length = length, .keys = 4}, sequence{.length = length + 1, .keys = 5});
                    batch_of_stages.add(sequence{.length = length, .keys = 4},
                                        sequence{.length = length + 1, .keys = 5});
                }
                for (const view seen : {view::useful, view::padded, view::executed}) {
                    REQUIRE(model_counter.total_flops(batch, seen) == staged.total_flops(batch_of_stages, seen));
                }
            }
        }
    }
}

TEST_CASE("LoRA adapters run their own matmuls, and no gradient is computed below the first adapter",
          "[training_plan]") {
    std::size_t number = 0;
    for (const test_model& model : models()) {
        if (skipped_when_sanitized(number++, 3)) {
            continue;
        }
        for (const char* target : {"q_proj", "k_proj", "v_proj", "o_proj", "kv_b_proj", "q_a_proj", "down_proj",
                                   "gate_proj", "up_proj", "in_proj", "out_proj"}) {
            if (has(model, "*", target)) {
                check(model, {freeze_all, {"*", target, state::lora, 3}});
                check(model, {freeze_all, {"*", target, state::lora, 3, 1, 2}});
            }
        }
        // Query and value, as in the paper (arXiv:2106.09685), and every linear.
        if (has(model, "*", "q_proj")) {
            check(model, {freeze_all, {"*", "q_proj", state::lora, 8}, {"*", "v_proj", state::lora, 2}});
        }
        check(model, {{"*", "*", state::lora, 4}});
        check(model, {{"*", "*", state::lora, 4}, {"lm_head", "*", state::frozen}});
        if (has(model, "moe.experts", "*")) {
            check(model, {freeze_all, {"moe.experts", "*", state::lora, 5}});
            check(model, {freeze_all, {"moe.router", "*", state::trainable}});
        }
    }
}

TEST_CASE("a fused backward computes key gradients of layer 0 that nothing needs, counted as executed but not useful",
          "[training_plan]") {
    // Two layers of width 64 with 4 heads of 16 (2 of keys and values), an MLP of 128 and 97 accumulators; LoRA of rank
    // 4 on q and v, one sequence of 100 tokens: 5050 pairs.
    const transformer<gqa, gated_mlp> model{.hidden_size = 64,
                                            .num_layers = 2,
                                            .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 16},
                                            .feed_forward = {.intermediate_size = 128},
                                            .vocab = {.size = 97}};
    const auto total = [&](bool fused, view seen) {
        const training_plan lora{
            .flash_attention = fused,
            .weights = {
                {"*", weight_state::frozen}, {"*/q_proj", weight_state::lora, 4}, {"*/v_proj", weight_state::lora, 4}}};
        const flop_counter step(model, conventions::exact, lora);
        tally batch{step.masks()};
        batch.add(sequence{.length = 100});
        return step.total_flops(batch, seen);
    };
    const std::uint64_t product = 2 * 64 * 5050;  // QK^T, PV and each of their gradients
    // Forward and dX of W; of layer 0 q, k and v have no dX. LoRA: A and B with both gradients, A of layer 0 without
    // dX.
    std::uint64_t per_token = 2 * 2 * 64 * 97;
    for (const std::uint64_t dx : {0U, 1U}) {
        per_token += (1 + dx) * 2 * 64 * (64 + 32 + 32) + 2 * 2 * 64 * (64 + 3 * 128);
        per_token += (2 + dx) * 2 * (2 * 64 * 4) + 3 * 2 * (4 * 64 + 4 * 32);
    }
    const std::uint64_t needed = 100 * per_token + 4 * product + 8 * product - product;
    CHECK(needed == 38'419'200);
    CHECK(total(true, view::useful) == flops{needed});
    CHECK(total(false, view::executed) == flops{needed});
    CHECK(needed + product == 39'065'600);
    CHECK(total(true, view::executed) == flops{needed + product + 2 * product});  // and each layer's QK^T once more
}

TEST_CASE("the counted backward stops where autograd stops if weights are frozen", "[training_plan]") {
    std::size_t number = 0;
    for (const test_model& model : models()) {
        if (skipped_when_sanitized(number++, 3)) {
            continue;
        }
        check(model, {freeze_all});
        check(model, {{"embedding", "*", state::frozen}});
        check(model, {freeze_all, {"lm_head", "*", state::trainable}});
        if (has(model, "norm", "")) {
            check(model, {freeze_all, {"norm", "*", state::trainable}});
            check(model, {freeze_all, {"norm", "*", state::trainable, 0, 1, 9}});
        }
        for (int frozen = 0; frozen < 2; ++frozen) {
            check(model, {{"embedding", "*", state::frozen}, {"*", "*", state::frozen, 0, 0, frozen}});
        }
        for (const auto& [component, weight] : model.weights) {
            const std::string named = weight.empty() ? "*" : weight;
            check(model, {freeze_all, {component, named, state::trainable}});
            check(model, {{component, named, state::frozen}});
        }
    }
    // Towers of an encoder-decoder, one frozen and one trained.
    const test_model towers = encoder_decoder();
    std::vector<named_state> encoder_only{freeze_all};
    std::vector<named_state> decoder_only{{"embedding", "*", state::frozen}};
    for (const char* name : {"encoder.attention.qkv", "encoder.attention.output", "encoder.mlp"}) {
        encoder_only.push_back({name, "*", state::trainable});
        decoder_only.push_back({name, "*", state::frozen});
    }
    check(towers, encoder_only);
    check(towers, decoder_only);
}

TEST_CASE("training any single weight of any layer type counts the backward that autograd runs", "[training_plan]") {
    std::vector<test_model> all = mixers();
    all.push_back(denoiser());
    for (const test_model& model : all) {
        for (const recompute again : {recompute::none, recompute::full}) {
            if (again == recompute::full && model.name == "denoiser") {
                continue;  // what stands before its layers is in no region of the tape
            }
            const options with{counted_passes::train, again, true};
            const auto check_one = [&](const std::vector<named_state>& states) {
                INFO(states.back().component << "/" << states.back().weight);
                REQUIRE(mismatches(model, states, with) == "");
            };
            REQUIRE(mismatches(model, {}, with) == "");
            check_one({{"*", "*", state::lora, 4}});
            for (const auto& [component, weight] : model.weights) {
                const std::string named = weight.empty() ? "*" : weight;
                check_one({freeze_all, {component, named, state::trainable}});
                check_one({{component, named, state::frozen}});
                const bool in_layers =
                    !weight.empty() && component != "patches" && component != "time" && component != "caption";
                if (in_layers) {
                    check_one({freeze_all, {component, named, state::trainable, 0, 0, 0}});
                }
            }
        }
    }
}

TEST_CASE("training a model part at an unspecified position makes the first layer compute its input gradient",
          "[training_plan]") {
    std::vector<model_part> parts = llama().parts;
    const auto layers_backward = [&parts](weight_state side) {
        const flop_counter counted(
            parts, conventions::exact,
            {.weights = {{"*", weight_state::frozen}, {"mlp", weight_state::trainable}, {"side", side}}});
        tally batch{counted.masks()};
        batch.add(sequence{.length = 7});
        return counted.evaluate(batch)["attention.qkv"].get(view::useful, phase::backward_data);
    };
    model_part side{.name = "side", .role = part_role::anywhere};
    side.cost.add("side", linear{.in_features = h, .out_features = h, .weight = "w"});
    parts.insert(parts.begin() + 1, side);
    // q, k and v of four layers: with a frozen side the first layer needs no gradient of its input.
    const std::uint64_t one_layer = 2 * 7 * h * (12 + 6 + 6);
    CHECK(layers_backward(weight_state::frozen) == flops{3 * one_layer});
    CHECK(layers_backward(weight_state::trainable) == flops{4 * one_layer});
}

TEST_CASE("random plans that freeze or adapt weights count the products that autograd runs", "[training_plan]") {
    std::mt19937 random(20260117);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int round = 0; round < 150; ++round) {
        const test_model& model = models()[below(models().size())];
        std::vector<named_state> states;
        const std::size_t base = below(4);
        if (base != 0) {
            states.push_back(base == 1 ? named_state{"*", "*", state::lora, 1 + below(4)} : freeze_all);
        }
        for (std::size_t i = below(6); i > 0; --i) {
            const auto& [component, weight] = model.weights[below(model.weights.size())];
            named_state next{component, weight.empty() || below(4) == 0 ? "*" : weight, static_cast<state>(below(3))};
            const bool adapts = component != "norm" && component != "embedding" && component != "mixer.convolution" &&
                                !component.starts_with("residual");
            next.is = next.is == state::lora && !adapts ? state::frozen : next.is;
            next.rank = next.is == state::lora ? 1 + below(5) : 0;
            const bool in_layers = component != "embedding" && component != "lm_head" && component != "mtp" &&
                                   component != "residual.head";
            if (in_layers && below(2) == 0) {
                next.first = component == "mlp" ? 0 : static_cast<int>(below(2));
                next.last = next.first + 1 + static_cast<int>(below(2));
            }
            states.push_back(next);
        }
        const options with{
            static_cast<counted_passes>(below(3)), static_cast<recompute>(below(3)), below(2) == 0,
            below(2) == 0 ? std::vector<std::string>{"mlp", "attention.output"} : std::vector<std::string>{},
            1 + below(3)};
        std::string said = model.name;
        for (const named_state& r : states) {
            said.append("; ").append(r.component).append("/").append(r.weight).append(" ");
            said.append(std::to_string(static_cast<int>(r.is))).append(" in ").append(std::to_string(r.first));
        }
        INFO(said);
        REQUIRE(mismatches(model, states, with) == "");
    }
}

TEST_CASE("exact attention counts 3 QK and 3 PV products as useful, and a fused kernel executes 4 QK and 3 PV",
          "[training_plan]") {
    constexpr std::uint64_t heads = 3;
    constexpr std::uint64_t qk = 5;
    constexpr std::uint64_t v = 11;
    constexpr std::uint64_t pairs = 7 * 8 / 2;
    cost model;
    model.add("core", attention_core{heads, qk, v}, mask::causal());
    model.add("mlp", linear{.in_features = h, .out_features = 20});
    tally batch;
    batch.add(sequence{.length = 7});
    const auto work = [&](const training_plan& plan) { return evaluate(model, batch, conventions::exact, plan); };
    const flops core{2 * heads * pairs * (qk + v)};
    const flops matrix{2 * 7 * h * 20};
    const flops hardware{2 * heads * pairs * (4 * qk + 3 * v)};
    CHECK(work({})["core"].total(view::useful) == 3 * core);
    CHECK(work({})["mlp"].total(view::useful) == 3 * matrix);
    CHECK(work({})["core"].total(view::executed) == hardware);
    CHECK(work({})["mlp"].total(view::executed) == 3 * matrix);
    const training_plan again{.recomputed = recompute::full};
    CHECK(work(again)["core"].total(view::executed) == hardware + core);
    CHECK(work(again)["mlp"].total(view::executed) == 4 * matrix);
    CHECK(work(again).total(view::useful) == work({}).total(view::useful));
}

TEST_CASE("a plan for a cost without parts assumes that the gradient reaches the first layer", "[training_plan]") {
    const test_model model = llama();
    const cost whole = cost_of(model.parts);
    training_plan plan{.weights = {{"*", weight_state::frozen}, {"*/q_proj", weight_state::lora, 3}}};
    tally batch;
    batch.add(sequence{.length = 7});
    const breakdown alone = evaluate(whole, batch, conventions::exact, plan);
    const breakdown staged = evaluate(model.parts, batch, conventions::exact, plan);
    for (const phase during : {phase::forward, phase::backward_weights, phase::recompute}) {
        CHECK(alone.get(view::executed, during) == staged.get(view::executed, during));
    }
    CHECK(alone.is_upper_bound());
    CHECK_FALSE(staged.is_upper_bound());
    // In the first layer q, k and v need no gradient of their input, and with a frozen k and v neither do they.
    const std::uint64_t first_layer = 2 * 7 * h * (12 + 6 + 6 + 3) + 2 * 28 * 4 * 3 * 2;
    CHECK(alone.get(view::useful, phase::backward_data) ==
          staged.get(view::useful, phase::backward_data) + flops{first_layer});

    static constexpr transformer<gqa, gated_mlp> small{
        .hidden_size = h, .num_layers = 2, .attention = {4, 2, 3}, .feed_forward = {20}, .vocab = accumulators};
    static_assert([] {  // a plan with settings is a constant expression too
        tally sums;
        sums.add(sequence{.length = 3});
        return evaluate(small.cost(), sums, conventions::exact, {.weights = {{"*", weight_state::frozen}}}).total() ==
               evaluate(small.cost(), sums, conventions::exact, {.counted = counted_passes::forward}).total();
    }());
}

TEST_CASE("a trained norm inside a model part needs the same gradients as a norm at the start of the part",
          "[training_plan]") {
    const layer where{.hidden_size = h};
    const model_part item{.name = "layer", .cost = gqa{4, 2, 3, {.norm = 6}}.cost(where), .first_layer = 0};
    tally batch;
    batch.add(sequence{.length = 7});
    const breakdown work = evaluate(std::span(&item, 1), batch, conventions::exact,
                                    {.weights = {{"*", weight_state::frozen}, {"norm", weight_state::trainable}}});
    CHECK(work["attention.qkv"].get(view::useful, phase::backward_data) == flops{2 * 7 * h * (12 + 6 + 6)});
    CHECK(work["attention.core"].get(view::useful, phase::backward_data) == flops{2 * 2 * 28 * 4 * (3 + 3)});
    CHECK(work.get(view::useful, phase::backward_weights) == flops{});
    CHECK(work.is_upper_bound());
}

TEST_CASE("a plan for model parts that declare no data flow counts an upper bound and adds a note", "[training_plan]") {
    std::mt19937 random(5);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::size_t marked = 0;
    std::size_t unmarked = 0;
    for (int round = 0; round < 400; ++round) {
        const test_model& model = models()[below(models().size())];
        std::vector<model_part> silent = model.parts;
        for (model_part& part : silent) {
            const bool says_nothing = below(2) == 0;
            part.cost = part.cost.with_entries([says_nothing](cost_entry entry) {
                entry.flow = says_nothing ? dataflow{} : entry.flow;
                return entry;
            });
        }
        training_plan plan{.recomputed = static_cast<recompute>(below(3)), .flash_attention = below(2) == 0};
        if (below(3) != 0) {
            plan.weights.push_back({"*", weight_state::frozen}, "weights");
        }
        for (std::size_t i = 1 + below(3); i > 0; --i) {
            const auto& [component, weight] = model.weights[below(model.weights.size())];
            weight_setting setting{
                weight.empty() ? component_name(component) : component_name(component + "/" + weight),
                below(2) == 0 ? weight_state::frozen : weight_state::trainable};
            if (below(3) == 0 && component == "mlp") {
                setting.first_layer = 0;
                setting.last_layer = 1 + below(2);
            }
            plan.weights.push_back(setting, "weights");
        }
        const flop_counter exact(model.parts, conventions::exact, plan);
        const flop_counter counted(silent, conventions::exact, plan);
        tally batch{counted.masks()};
        batch.add(sequence{.length = 7, .keys = 4}, sequence{.length = 8, .keys = 5});
        REQUIRE_FALSE(exact.is_upper_bound());
        (counted.is_upper_bound() ? marked : unmarked) += 1;
        INFO(model.name << ", round " << round);
        const breakdown most = counted.evaluate(batch);
        const breakdown least = exact.evaluate(batch);
        REQUIRE(most.is_upper_bound() == counted.is_upper_bound());
        for (const view seen : {view::useful, view::padded, view::executed}) {
            for (const phase during :
                 {phase::forward, phase::backward_data, phase::backward_weights, phase::recompute}) {
                const uint128 more = most.get(seen, during).value();
                const uint128 less = least.get(seen, during).value();
                REQUIRE((seen == view::executed || more >= less));
                REQUIRE((counted.is_upper_bound() || more == less));
            }
            REQUIRE(most.total(seen).value() >= least.total(seen).value());
        }
    }
    CHECK(marked > 50);
    CHECK(unmarked > 50);
}

TEST_CASE(
    "a cost entry without declared data flow reads the main residual stream unless the model is an encoder-decoder",
    "[training_plan]") {
    const auto silenced = [](std::vector<model_part> parts) {
        for (model_part& part : parts) {
            part.cost = part.cost.with_entries([](cost_entry entry) {
                entry.flow = {};
                return entry;
            });
        }
        return parts;
    };
    tally batch;
    batch.add(sequence{.length = 7});
    // The embedding trains, so that every entry of a decoder reads a stream with a gradient: nothing is assumed.
    const std::vector<model_part> decoder = llama().parts;
    const training_plan table{.weights = {{"*", weight_state::frozen}, {"embedding", weight_state::trainable}}};
    const breakdown silent = evaluate(silenced(decoder), batch, conventions::exact, table);
    CHECK_FALSE(silent.is_upper_bound());
    CHECK(silent.total() == evaluate(decoder, batch, conventions::exact, table).total());
    // Whatever a model that has no other side is said to be given of one: with all of its weights frozen none goes
    // back.
    training_plan nothing;
    for (const char* weights : {"embedding", "attention.*", "mlp", "norm", "lm_head"}) {
        nothing.weights.push_back({weights, weight_state::frozen}, "weights");
    }
    CHECK(evaluate(silenced(decoder), batch, conventions::exact, nothing).backward(view::useful) == flops{});
    // A decoder beside another side that has a gradient, whose encoder is elsewhere: keys and values may need dX.
    std::vector<model_part> crossed = encoder_decoder().parts;
    const std::vector<model_part> whole = crossed;
    std::erase_if(crossed, [](const model_part& part) { return part.role == part_role::encoder; });
    const training_plan trained_plan{.weights = {{"*", weight_state::frozen}, {"context", weight_state::trainable}}};
    const training_plan encoder{.weights = {{"*", weight_state::frozen}, {"encoder.mlp", weight_state::trainable}}};
    for (const auto& [parts, plan] : {std::pair{crossed, trained_plan}, {whole, encoder}}) {
        const flop_counter exact(parts, conventions::exact, plan);
        const flop_counter most(silenced(parts), conventions::exact, plan);
        tally pair{most.masks()};
        pair.add(sequence{.length = 7, .keys = 4}, sequence{.length = 8, .keys = 5});
        CHECK(exact.total_flops(pair) >
              flop_counter(parts, conventions::exact, {.counted = counted_passes::forward}).total_flops(pair));
        CHECK(most.total_flops(pair) >= exact.total_flops(pair));
        CHECK(most.is_upper_bound());
    }
    // One entry that says so is enough, as of a second stream whose rows are tokens of the text.
    for (model_part& part : crossed) {
        part.cost = part.cost.with_entries([](cost_entry entry) {
            entry.what = entry.what == accumulator::keys ? accumulator::tokens : entry.what;
            return entry;
        });
    }
    std::vector<model_part> said_once = crossed;
    for (model_part& part : said_once) {
        part.cost = part.cost.with_entries([&part](cost_entry entry) {
            entry.flow = part.cost.weight_name(entry) == "k_proj" ? entry.flow : dataflow{};
            return entry;
        });
    }
    const flop_counter exact(crossed, conventions::exact, trained_plan);
    const flop_counter most(said_once, conventions::exact, trained_plan);
    tally pair{most.masks()};
    pair.add(sequence{.length = 7, .keys = 4}, sequence{.length = 8, .keys = 5});
    CHECK(most.total_flops(pair) >= exact.total_flops(pair));
    CHECK(most.is_upper_bound());
}

TEST_CASE("training only the lm_head of a cost without parts counts an upper bound of the backward and adds a note",
          "[training_plan]") {
    const test_model model = llama();
    const cost whole = cost_of(model.parts);
    const training_plan head_alone{.weights = {{"*", weight_state::frozen}, {"lm_head", weight_state::trainable}}};
    tally batch;
    batch.add(sequence{.length = 7});
    const flop_counter alone(whole, conventions::exact, head_alone);
    CHECK(alone.is_upper_bound());
    CHECK(alone.evaluate(batch).is_upper_bound());
    breakdown again = alone.evaluate(batch);
    flop_counter(whole).evaluate(batch, again);
    CHECK_FALSE(again.is_upper_bound());
    CHECK_FALSE(evaluate(model.parts, batch, conventions::exact, head_alone).is_upper_bound());
    // One frozen weight is enough: it may stand before all others.
    CHECK(flop_counter(whole, conventions::exact, {.weights = {{"mlp", weight_state::frozen}}}).is_upper_bound());
    // Without settings, or where nothing or everything trains, there is nothing to assume.
    CHECK_FALSE(flop_counter(whole).is_upper_bound());
    CHECK_FALSE(flop_counter(whole, conventions::exact, {.recomputed = recompute::full}).is_upper_bound());
    for (const weight_state all : {weight_state::frozen, weight_state::trainable}) {
        CHECK_FALSE(flop_counter(whole, conventions::exact, {.weights = {{"*", all}}}).is_upper_bound());
    }
    // Sums of breakdowns keep it, and so do those under other names.
    breakdown sum = evaluate(whole, batch);
    sum += alone.evaluate(batch).with_prefix("actor");
    CHECK(sum.is_upper_bound());
    // A forward alone asks for no gradient, and a rank whose parts say all counts exactly.
    const training_plan forward{.counted = counted_passes::forward, .weights = head_alone.weights};
    CHECK_FALSE(flop_counter(whole, conventions::exact, forward).is_upper_bound());
}

TEST_CASE("training only the text embedding needs no gradient in layers that read only the image stream",
          "[training_plan]") {
    cost input;
    input.add("text", linear{.in_features = 3, .out_features = 5, .weight = "w", .writes = value::context});
    input.add_parameters("norm", term::norm, 5);
    input.add("image", linear{.in_features = 3, .out_features = 5, .kind = term::input_linear, .weight = "w"});
    cost layer;
    layer.add("mlp", linear{.in_features = 5, .out_features = 5, .weight = "w", .reads = value::stream});
    layer.add("cross", linear{.in_features = 5, .out_features = 5, .weight = "w", .reads = value::context});
    const std::vector<model_part> parts{{.name = "input", .role = part_role::input, .cost = input},
                                        {.name = "layer", .cost = layer, .first_layer = 0}};
    tally batch;
    batch.add(sequence{.length = 10});
    // The text's embedding trains, and no part of what makes the pictures' stream.
    const breakdown work =
        evaluate(parts, batch, conventions::exact, {.weights = {{"*", weight_state::frozen}, {"text"}}});
    CHECK(work["cross"].backward(view::useful) == flops{10 * 2 * 5 * 5});
    CHECK(work["mlp"].backward(view::useful) == flops{});
}

TEST_CASE("weight settings that name layers also apply to a model made of one repeated part", "[training_plan]") {
    const model_part model_piece{
        .name = "layer", .cost = gqa{4, 2, 3}.cost(layer{.hidden_size = h}), .first_layer = 0, .repeat = 3};
    const auto problem = [&](const training_plan& plan) {
        return error_of([&] { return flop_counter(std::span(&model_piece, 1), conventions::exact, plan); });
    };
    CHECK(problem({.weights = {{"*", weight_state::frozen, 0, 1, 2}}}) == "no error");
    CHECK(problem({.recompute_every = 2}) == "no error");
    CHECK(problem({.weights = {{.state = weight_state::frozen, .part = "layer"}}}) == "no error");
}

TEST_CASE("counting a model with measured expert visits is an error if the tally has no measured visits",
          "[training_plan]") {
    const cost model =
        moe{.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 5, .routed_is_measured = true}.cost(
            {.hidden_size = h});
    const flop_counter counter(model);
    const std::string missing =
        "routed: this cost counts experts by measured visits, and the tally has none: call add_routed with the visits "
        "of the batch";
    for (const std::uint32_t length : {1U, 7U}) {
        tally batch{counter.masks()};
        batch.add(sequence{.length = length});
        CHECK(error_of([&] { return counter.total_flops(batch); }) == missing);
        CHECK(error_of([&] { return counter.evaluate(batch).total(); }) == missing);
        CHECK(error_of([&] { return counter.total_flops(sequence{.length = length}); }) == missing);
    }
    CHECK(counter.total_flops(tally{counter.masks()}) == flops{});
    CHECK(counter.total_flops(sequence{}) == flops{});
}

TEST_CASE("a redundant-work setting must name an existing weight and no more ranks than exist", "[training_plan]") {
    const auto problem = [](const char* weights, std::uint64_t ranks) {
        training_plan plan;
        plan.repeated.push_back({"mlp", 2}, "repeated");
        plan.repeated.push_back({weights, ranks}, "repeated");
        return error_of([&] { return flop_counter(cost_of(llama().parts), conventions::exact, plan); });
    };
    training_plan all;
    all.repeated.push_back({"*", 3}, "repeated");
    const flop_counter thrice(cost_of(llama().parts), conventions::exact, all);
    tally batch{thrice.masks()};
    batch.add(sequence{.length = 7});
    CHECK(thrice.total_flops(batch, view::executed) == thrice.evaluate(batch).total(view::executed));
    CHECK(problem("*", 1) == "no error");
    CHECK(problem("*/q_proj", 16777216) == "no error");
    CHECK(problem("*", 0) == "plan.repeated[1]: ranks must be from 1 to 16777216, got 0");
    CHECK(problem("*", 16777217) == "plan.repeated[1]: ranks must be from 1 to 16777216, got 16777217");
    CHECK(problem("*/qq_proj", 2) ==
          "plan.repeated[1]: no component or weight is named \"*/qq_proj\"; use the names that the breakdown shows");
}

TEST_CASE("parameter counts include LoRA adapters in addition to frozen weights", "[training_plan]") {
    cost model;
    model.add("mlp", linear{.in_features = 4, .out_features = 6, .weight = "w"});
    const training_plan plan{.weights = {{"*", weight_state::frozen}, {"mlp", weight_state::lora, 2}}};
    tally batch;
    batch.add(sequence{.length = 10});
    convention as_planned = conventions::hf_6nd;
    as_planned.training = counted_training::as_planned;
    const breakdown work = flop_counter(model, as_planned, plan).evaluate(batch);
    CHECK(work.get(view::useful, phase::forward) == flops{10 * 2 * (4 * 6 + 2 * (4 + 6))});
    CHECK(work.get(view::useful, phase::backward_weights) == flops{10 * 2 * 2 * (4 + 6)});
    // The Trainer's 6ND knows neither frozen weights nor adapters: all parameters that are there train.
    CHECK(flop_counter(model, conventions::hf_6nd, plan).total_flops(batch) == flops{10 * 6 * (4 * 6 + 2 * (4 + 6))});
}

TEST_CASE("the number of trained parameters follows the weight settings of a plan", "[training_plan]") {
    const test_model model = llama();
    const std::uint64_t attention = h * (12 + 6 + 6) + 12 * h;
    const std::uint64_t all = 4 * (attention + 3 * h * 20 + 2 * h) + h + 2 * 50 * h;
    CHECK(trained_parameters(model.parts, {}) == parameter_counts{all, all, 0});
    CHECK(trained_parameters(model.parts, {.weights = {{"*", weight_state::frozen}}}) == parameter_counts{all, 0, 0});
    const std::uint64_t adapters = 4 * 3 * (h + 12) + 4 * 5 * (h + 6);
    CHECK(trained_parameters(model.parts, {.weights = {{"*", weight_state::frozen},
                                                       {"*/q_proj", weight_state::lora, 3},
                                                       {"*/v_proj", weight_state::lora, 5}}}) ==
          parameter_counts{all + adapters, adapters, adapters});
    CHECK(trained_parameters(model.parts, {.weights = {{"mlp", weight_state::frozen, 0, 1, 2}}}).trainable ==
          all - 2 * 3 * h * 20);
    const test_model sparse = experts();
    // Every expert has adapters of its own, visited or not.
    CHECK(trained_parameters(sparse.parts,
                             {.weights = {{"*", weight_state::frozen}, {"moe.experts", weight_state::lora, 2}}})
              .adapters == 3 * 6 * 3 * 2 * (9 + 7));
}

TEST_CASE("LoRA on weights that are fused into one matrix uses one adapter", "[training_plan]") {
    const layer where{.hidden_size = h};
    const auto adapters = [&](const cost& part) {
        const model_part each_part{.name = "layer", .cost = part, .first_layer = 0};
        return trained_parameters({&each_part, 1}, {.weights = {{"*", weight_state::lora, 1}}}).adapters;
    };
    CHECK(adapters(gqa{.num_heads = 4, .num_kv_heads = 2, .head_dim = 3}.cost(where)) ==
          (h + 12) + 2 * (h + 6) + (12 + h));
    CHECK(adapters(gqa{.num_heads = 4, .num_kv_heads = 2, .head_dim = 3, .fused_qkv = true}.cost(where)) ==
          (h + 24) + (12 + h));
    CHECK(adapters(gated_mlp{.intermediate_size = 20}.cost(where)) == 3 * (h + 20));
    CHECK(adapters(gated_mlp{.intermediate_size = 20, .fused_gate_up = true}.cost(where)) == (h + 40) + (20 + h));
    tally batch;
    batch.add(sequence{.length = 7});
    CHECK(evaluate(gqa{4, 2, 3, {}, 0, true}.cost(where), batch).total() ==
          evaluate(gqa{4, 2, 3}.cost(where), batch).total());
}

TEST_CASE("tallies of microbatches add up, and so do breakdowns of policy, reference and reward models",
          "[training_plan]") {
    const test_model policy = llama();
    const test_model reward = latent();
    const training_plan lora{.weights = {{"*", weight_state::frozen}, {"*/q_proj", weight_state::lora, 4}}};
    const training_plan forward_only{.counted = counted_passes::forward};
    const auto batch_of = [](std::initializer_list<std::uint32_t> lengths) {
        tally batch;
        for (const std::uint32_t length : lengths) {
            batch.add(sequence{.length = length}, sequence{.length = length + 1});
        }
        return batch;
    };
    const tally first = batch_of({5, 3});
    const tally second = batch_of({8});
    const flop_counter trained(policy.parts, conventions::exact, lora);
    tally accumulated = first;
    accumulated += second;
    breakdown steps = trained.evaluate(first);
    steps += trained.evaluate(second);
    for (const view seen : {view::useful, view::padded, view::executed}) {
        CHECK(steps.total(seen) == trained.total_flops(accumulated, seen));
        for (const component_flops& component : steps.components()) {
            CHECK(component.total(seen) == trained.evaluate(accumulated)[component.name.view()].total(seen));
        }
    }

    // One step of RL: rollout and log-probabilities of the policy, the reference, a reward model, and the update.
    const breakdown rollout = evaluate(policy.parts, second, conventions::exact, forward_only);
    const breakdown scored = evaluate(reward.parts, second, conventions::exact, forward_only);
    breakdown step = trained.evaluate(second);
    step += rollout;
    step += rollout.with_prefix("reference.");
    step += scored.with_prefix("reward.");
    for (const view seen : {view::useful, view::padded, view::executed}) {
        CHECK(step.total(seen) ==
              trained.total_flops(second, seen) + rollout.total(seen) + rollout.total(seen) + scored.total(seen));
        CHECK(step.backward(seen) == trained.evaluate(second).backward(seen));
    }
    CHECK(step["reference.mlp"].total(view::useful) == rollout["mlp"].total(view::useful));
    CHECK(step["reward.attention.core"].total(view::useful) == scored["attention.core"].total(view::useful));
    CHECK((rollout + rollout).total() == 2 * rollout.total());
    // Breakdowns of any number of models add up.
    const breakdown before = step;
    for (int model = 0; model < 30; ++model) {
        step += rollout.with_prefix(std::to_string(model) + ".");
    }
    CHECK(step.components().size() == before.components().size() + 30 * rollout.components().size());
    CHECK(step.total() == before.total() + 30 * rollout.total());
    CHECK(step["29.mlp"].total(view::useful) == rollout["mlp"].total(view::useful));
}

TEST_CASE("a weight setting that matches no weight of the model is an error that names the setting",
          "[training_plan][errors]") {
    const test_model model = llama();
    const auto problem = [&](const training_plan& plan) {
        return error_of([&] { return flop_counter(model.parts, conventions::exact, plan).total_flops(tally{}); });
    };
    const auto weights = [&](std::initializer_list<weight_setting> list) { return problem({.weights = list}); };
    CHECK(weights({{"*", weight_state::frozen}, {"moe.experts", weight_state::frozen}}) ==
          "plan.weights[1]: no weight is named \"moe.experts\"; known: embedding, norm, attention.qkv/q_proj, "
          "attention.qkv/k_proj, attention.qkv/v_proj, attention.output/o_proj, mlp/gate_proj, mlp/up_proj, "
          "mlp/down_proj, lm_head");
    CHECK(weights({{"mlp/q_proj", weight_state::frozen}}).substr(0, 55) ==
          "plan.weights[0]: no weight is named \"mlp/q_proj\"; known");
    CHECK(weights({{"mlp", weight_state::frozen, 0, any_layer, any_layer, "lm_head"}}) ==
          "plan.weights[0]: no weight is named \"mlp\" in part \"lm_head\"; known: lm_head");
    CHECK(weights({{"attention.core", weight_state::frozen}}).substr(0, 52) ==
          "plan.weights[0]: no weight is named \"attention.core\"");
    CHECK(weights({{"mlp", weight_state::frozen, 0, 4, 9}}) ==
          "plan.weights[0]: no layer in this range has \"mlp\": correct the range, which counts layers from 0");
    CHECK(weights({{"lm_head", weight_state::frozen, 0, 0, 3}}) ==
          "plan.weights[0]: no layer in this range has \"lm_head\": correct the range, which counts layers from 0");
    CHECK(weights({{"mlp", weight_state::lora}}) == "plan.weights[0]: LoRA needs a rank of at least 1");
    CHECK(weights({{"mlp", weight_state::frozen, 8}}) ==
          "plan.weights[0]: only LoRA adapters have a rank: set the rank to 0, or the state to lora");
    CHECK(weights({{"norm", weight_state::lora, 8}}) ==
          "plan.weights[0]: LoRA needs a weight matrix, and \"norm\" has none that an adapter can be added to: name "
          "linear layers, such as \"*/q_proj\"");
    CHECK(error_of([&] {
              return trained_parameters(model.parts, {.weights = {{"router", weight_state::frozen}}});
          }).rfind("plan.weights[0]: no weight is named \"router\"", 0) == 0);
    CHECK(problem({.recompute_every = 0}) == "plan.recompute_every: must be at least 1, got 0");

    const cost whole = cost_of(model.parts);
    const auto alone = [&](const training_plan& plan) {
        return error_of([&] { return flop_counter(whole, conventions::exact, plan).total_flops(tally{}); });
    };
    CHECK(alone({.weights = {{"mlp", weight_state::frozen, 0, 0, 1}}}) ==
          "plan.weights[0]: a cost alone does not know its layers: give flop_counter the model, or its parts");
    CHECK(alone({.recompute_every = 2}) ==
          "plan.recompute_every: a cost alone does not know its layers: give flop_counter the model, or its parts");

    constexpr transformer<gqa, mlp> tied{.hidden_size = h,
                                         .num_layers = 1,
                                         .attention = {4, 2, 3},
                                         .feed_forward = {20},
                                         .vocab = {.size = 50, .tied = true}};
    const std::vector<model_part> one_table = parts_of(tied);
    CHECK(error_of([&] {
              return flop_counter(one_table, conventions::exact, {.weights = {{"embedding", weight_state::frozen}}});
          }) ==
          "plan.weights: the lm_head shares its weights with the embedding: train both \"embedding\" and \"lm_head\", "
          "or neither");
    CHECK(error_of([&] {
              return flop_counter(
                  one_table, conventions::exact,
                  {.weights = {{"embedding", weight_state::frozen}, {"lm_head", weight_state::lora, 2}}});
          }) == "no error");
}

TEST_CASE("a tied lm_head must be frozen or trained like the embedding, and an untied lm_head may differ",
          "[training_plan]") {
    // An MLP has more parameters than the table, and a head of its own has fewer.
    const transformer<gqa, gated_mlp> tied{.hidden_size = h,
                                           .num_layers = 1,
                                           .attention = {4, 2, 3},
                                           .feed_forward = {100},
                                           .vocab = {.size = 50, .tied = true}};
    std::vector<model_part> parts = parts_of(tied);
    parts.push_back({.name = "small head", .role = part_role::head, .cost = vocabulary{.size = 40}.head_cost(h)});
    const auto problem = [&parts](std::initializer_list<weight_setting> weights) {
        return error_of(
            [&] { return flop_counter(parts, conventions::exact, {.weights = weights}).total_flops(tally{}); });
    };
    const weight_setting no_table{"embedding", weight_state::frozen};
    const auto frozen_in = [](const char* part) {
        return weight_setting{"lm_head", weight_state::frozen, 0, any_layer, any_layer, part};
    };
    CHECK(problem({no_table, frozen_in("lm_head")}) == "no error");
    CHECK(problem({frozen_in("small head")}) == "no error");
    CHECK(problem({no_table, frozen_in("small head")}) ==
          "plan.weights: the lm_head shares its weights with the embedding: train both \"embedding\" and \"lm_head\", "
          "or neither");
}

TEST_CASE("experts whose visits are measured as one count must be frozen or trained alike in all layers",
          "[training_plan]") {
    constexpr transformer<gqa, moe> model{.hidden_size = h,
                                          .num_layers = 3,
                                          .attention = {4, 2, 3},
                                          .feed_forward = {.num_experts = 6,
                                                           .num_experts_per_tok = 2,
                                                           .intermediate_size = 7,
                                                           .routed_is_measured = true},
                                          .vocab = accumulators};
    const std::vector<model_part> stages = parts_of(model);
    tally batch;
    batch.add(sequence{.length = 10});
    batch.add_routed({.useful = 60});
    const auto work = [&](const training_plan& plan) {
        return evaluate(stages, batch, conventions::exact, plan)["moe.experts"];
    };
    const std::uint64_t visit = 2 * 3 * h * 7;
    CHECK(work({}).total(view::useful) == flops{3 * 60 * visit});
    const component_flops adapted =
        work({.weights = {{"*", weight_state::frozen}, {"moe.experts", weight_state::lora, 2}}});
    CHECK(adapted.get(view::useful, phase::forward) == flops{60 * (visit + 2 * 3 * 2 * (h + 7))});
    CHECK(adapted.get(view::useful, phase::backward_weights) == flops{60 * 2 * 3 * 2 * (h + 7)});
    CHECK(error_of([&] {
              return work({.weights = {{"moe.experts", weight_state::frozen, 0, 0, 0}}});
          }) ==
          "plan: experts that share one measured number of visits must train alike in all layers: name them in "
          "plan.weights without a range of layers");
}

}  // namespace training_plan_test

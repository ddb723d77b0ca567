// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "recurrence.hpp"
#include "traced.hpp"

namespace linear_attention_test {
namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using traced::component_names;

constexpr layer where{.index = 0, .hidden_size = 15};

const std::set<std::string> convolved{"mixer.input", "mixer.convolution", "mixer.state", "mixer.output"};
const std::set<std::string> unconvolved{"mixer.input", "mixer.state", "mixer.output"};

constexpr gated_delta_net delta_net{
    .num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 3, .value_head_dim = 5, .conv_kernel = 4};

static_assert(layer_part<gated_delta_net> && layer_part<kda> && layer_part<lightning_attention> && layer_part<mlstm>);
static_assert(layer_part<rwkv_time_mix> && layer_part<rwkv_channel_mix>);
// Qwen3-Next-80B-A3B: 16 key and 32 value heads of 128 on 2048: 2048·(2·2048 + 2·4096) + 2048·64 + 4·8192 + 4096·2048.
static_assert(
    gated_delta_net{
        .num_key_heads = 16, .num_value_heads = 32, .key_head_dim = 128, .value_head_dim = 128, .conv_kernel = 4}
        .cost({.hidden_size = 2048})
        .parameters() == 25'165'824 + 131'072 + 32'768 + 8'388'608);
// Kimi-Linear-48B-A3B: 32 heads of 128 on 2304: 3·2304·4096 + 2·(2304·128 + 128·4096) + 2304·32 + 4·12288 + 4096·2304.
static_assert(kda{.num_heads = 32, .head_dim = 128, .conv_kernel = 4}.cost({.hidden_size = 2304}).parameters() ==
              28'311'552 + 1'638'400 + 73'728 + 49'152 + 9'437'184);
// MiniMax-Text-01: 64 heads of 128 on 6144: (3 + 1 + 1)·6144·8192.
static_assert(lightning_attention{.num_heads = 64, .head_dim = 128}.cost({.hidden_size = 6144}).parameters() ==
              251'658'240);
// xLSTM-7B: 8 heads, keys of 256 and values of 512 on 4096: 2·4096·2048 + 2·4096·4096 + 2·4096·8 + 4096·4096.
static_assert(
    mlstm{.num_heads = 8, .key_head_dim = 256, .value_head_dim = 512}.cost({.hidden_size = 4096}).parameters() ==
    16'777'216 + 33'554'432 + 65'536 + 16'777'216);
// RWKV-4-169M: 768 throughout, channel mix 3072: 4·768² and 2·768·3072 + 768².
static_assert(rwkv_time_mix{.attention_size = 768}.cost({.hidden_size = 768}).parameters() == 2'359'296);
static_assert(rwkv_channel_mix{.intermediate_size = 3072}.cost({.hidden_size = 768}).parameters() ==
              4'718'592 + 589'824);

std::uint64_t state_flops(const cost& model, std::uint32_t tokens) {
    tally batch;
    batch.add({.length = tokens});
    return static_cast<std::uint64_t>(evaluate(model, batch)["mixer.state"].get(view::useful, phase::forward).value());
}

}  // namespace

TEST_CASE("a gated delta net counts its projections, its convolution and three state products", "[linear_attention]") {
    for (const bool gate : {true, false}) {
        CAPTURE(gate);
        gated_delta_net part = delta_net;
        part.output_gate = gate;
        const cost model = part.cost(where);
        CHECK(component_names(model) == convolved);
        check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            for (int head = 0; head < 2; ++head) {
                trace.weight("mixer.input", tokens, 15, 3);  // q
                trace.weight("mixer.input", tokens, 15, 3);  // k
                matmul_trace::depthwise_convolution(trace, tokens, 4, 2 * 3);
            }
            for (int head = 0; head < 4; ++head) {
                trace.weight("mixer.input", tokens, 15, 5);  // v
                if (gate) {
                    trace.weight("mixer.input", tokens, 15, 5);  // z
                }
                trace.weight("mixer.input", tokens, 15, 1);  // b
                trace.weight("mixer.input", tokens, 15, 1);  // a
                matmul_trace::depthwise_convolution(trace, tokens, 4, 5);
                trace.state_read("mixer.state", tokens, 3, 5);  // what the key has stored
                trace.outer_product("mixer.state", tokens, 3, 5);
                trace.state_read("mixer.state", tokens, 3, 5);
                trace.weight("mixer.output", tokens, 5, 15);
            }
        });
    }
}

TEST_CASE(
    "a loop implementation of the delta rule runs the counted multiply-adds and reads back the values that it stored",
    "[linear_attention]") {
    recurrence::counted work;
    for (int head = 0; head < 4; ++head) {
        recurrence::matrix_state state(3, 5);
        for (int token = 0; token < 7; ++token) {
            const double t = token + 1;
            const recurrence::vector key{0.6, 0.8 * (token % 2), 0.8 * ((token + 1) % 2)};  // of length 1
            const recurrence::vector value{t, -t, 2 * t, 1, 0};
            state.forget(0.9);
            const recurrence::vector known = state.read(work, key);
            recurrence::vector correction(5);
            for (std::size_t i = 0; i < 5; ++i) {
                correction[i] = value[i] - known[i];
            }
            state.store(work, key, correction);
            const recurrence::vector read = state.read(work, key);
            for (std::size_t i = 0; i < 5; ++i) {
                // Written in full, a key of length 1 gives back what was written last.
                REQUIRE(read[i] > value[i] - 1e-9);
                REQUIRE(read[i] < value[i] + 1e-9);
            }
        }
    }
    CHECK(state_flops(delta_net.cost(where), 7) == 2 * work.multiply_adds());
}

TEST_CASE("kimi delta attention computes gates through low-rank projections", "[linear_attention]") {
    const cost model = kda{.num_heads = 3, .head_dim = 4, .conv_kernel = 5}.cost(where);
    CHECK(component_names(model) == convolved);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("mixer.input", tokens, 15, 4);  // f_a
        trace.weight("mixer.input", tokens, 15, 4);  // g_a
        for (int head = 0; head < 3; ++head) {
            for (int each_of_qkv = 0; each_of_qkv < 3; ++each_of_qkv) {
                trace.weight("mixer.input", tokens, 15, 4);
                matmul_trace::depthwise_convolution(trace, tokens, 5, 4);
            }
            trace.weight("mixer.input", tokens, 4, 4);   // f_b
            trace.weight("mixer.input", tokens, 4, 4);   // g_b
            trace.weight("mixer.input", tokens, 15, 1);  // b
            trace.state_read("mixer.state", tokens, 4, 4);
            trace.outer_product("mixer.state", tokens, 4, 4);
            trace.state_read("mixer.state", tokens, 4, 4);
        }
        trace.weight("mixer.output", tokens, 3 * 4, 15);
    });
}

TEST_CASE("each gate of kimi delta attention may have a full-rank projection", "[linear_attention]") {
    for (const bool output : {false, true}) {
        for (const bool forget : {false, true}) {
            const cost model = kda{.num_heads = 3,
                                   .head_dim = 4,
                                   .conv_kernel = 5,
                                   .full_output_gate = output,
                                   .full_forget_gate = forget}
                                   .cost(where);
            CHECK(component_names(model) == convolved);
            check_against_trace(model, [=](step& trace, const sequence_list& sequences, bool) {
                const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
                for (const bool full_rank : {output, forget}) {
                    if (full_rank) {
                        trace.weight("mixer.input", tokens, 15, 3 * 4);
                    } else {
                        trace.weight("mixer.input", tokens, 15, 4);
                        trace.weight("mixer.input", tokens, 4, 3 * 4);
                    }
                }
                trace.weight("mixer.input", tokens, 15, 3 * 3 * 4 + 3);  // q, k, v and b
                matmul_trace::depthwise_convolution(trace, tokens, 5, 3 * 3 * 4);
                for (int head = 0; head < 3; ++head) {
                    trace.state_read("mixer.state", tokens, 4, 4);
                    trace.outer_product("mixer.state", tokens, 4, 4);
                    trace.state_read("mixer.state", tokens, 4, 4);
                }
                trace.weight("mixer.output", tokens, 3 * 4, 15);
            });
        }
    }
}

TEST_CASE("lightning attention writes and reads one state for each head", "[linear_attention]") {
    const cost model = lightning_attention{.num_heads = 3, .head_dim = 4}.cost(where);
    CHECK(component_names(model) == unconvolved);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        for (int head = 0; head < 3; ++head) {
            trace.weight("mixer.input", tokens, 15, 3 * 4);
            trace.weight("mixer.input", tokens, 15, 4);  // gate
            trace.outer_product("mixer.state", tokens, 4, 4);
            trace.state_read("mixer.state", tokens, 4, 4);
        }
        trace.weight("mixer.output", tokens, 3 * 4, 15);
    });

    recurrence::counted work;
    for (int head = 0; head < 3; ++head) {
        recurrence::matrix_state state(4, 4);
        for (int token = 0; token < 7; ++token) {
            state.forget(0.9);
            state.store(work, {1, 2, 3, 4}, {4, 3, 2, 1});
            static_cast<void>(state.read(work, {1, 0, 1, 0}));
        }
    }
    CHECK(state_flops(model, 7) == 2 * work.multiply_adds());
}

TEST_CASE("mlstm counts a matrix memory and a normaliser", "[linear_attention]") {
    const cost model = mlstm{.num_heads = 3, .key_head_dim = 4, .value_head_dim = 7}.cost(where);
    CHECK(component_names(model) == unconvolved);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        for (int head = 0; head < 3; ++head) {
            trace.weight("mixer.input", tokens, 15, 4);  // q
            trace.weight("mixer.input", tokens, 15, 4);  // k
            trace.weight("mixer.input", tokens, 15, 7);  // v
            trace.weight("mixer.input", tokens, 15, 7);  // output gate
            trace.weight("mixer.input", tokens, 15, 1);  // input gate
            trace.weight("mixer.input", tokens, 15, 1);  // forget gate
            trace.outer_product("mixer.state", tokens, 4, 7);
            trace.state_read("mixer.state", tokens, 4, 7);
            trace.state_read("mixer.state", tokens, 4, 1);  // the normaliser
        }
        trace.weight("mixer.output", tokens, 3 * 7, 15);
    });

    recurrence::counted work;
    for (int head = 0; head < 3; ++head) {
        recurrence::matrix_state memory(4, 7);
        recurrence::vector normaliser(4, 0);
        for (int token = 0; token < 7; ++token) {
            const recurrence::vector key{1, 2, 3, 4};
            memory.forget(0.9);
            memory.store(work, key, {1, 1, 2, 3, 5, 8, 13});
            recurrence::decay(normaliser, 0.9);
            for (std::size_t i = 0; i < key.size(); ++i) {
                normaliser[i] += key[i];  // element-wise
            }
            static_cast<void>(memory.read(work, key));
            static_cast<void>(work.dot(normaliser, key));
        }
    }
    CHECK(state_flops(model, 7) == 2 * work.multiply_adds());
}

TEST_CASE("rwkv counts four matrices for time mixing and three for channel mixing", "[linear_attention]") {
    const cost time = rwkv_time_mix{.attention_size = 11}.cost(where);
    CHECK(component_names(time) == std::set<std::string>{"mixer.input", "mixer.output"});
    check_against_trace(time, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("mixer.input", tokens, 15, 11);  // receptance
        trace.weight("mixer.input", tokens, 15, 11);  // key
        trace.weight("mixer.input", tokens, 15, 11);  // value
        trace.weight("mixer.output", tokens, 11, 15);
    });
    const cost channels = rwkv_channel_mix{.intermediate_size = 37}.cost(where);
    CHECK(component_names(channels) == std::set<std::string>{"mlp"});
    check_against_trace(channels, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("mlp", tokens, 15, 37);
        trace.weight("mlp", tokens, 37, 15);
        trace.weight("mlp", tokens, 15, 15);  // receptance
    });
}

TEST_CASE("linear attention counts elementwise parameters, and a zero dimension is an error",
          "[linear_attention][errors]") {
    const auto extra_of = [](auto part) {
        const std::uint64_t without = part.cost(where).parameters();
        part.elementwise = {.norm = 4, .bias = 3};
        return part.cost(where).parameters() - without;
    };
    CHECK(extra_of(delta_net) == 7);
    CHECK(extra_of(kda{.num_heads = 3, .head_dim = 4, .conv_kernel = 5}) == 7);
    CHECK(extra_of(lightning_attention{.num_heads = 3, .head_dim = 4}) == 7);
    CHECK(extra_of(mlstm{.num_heads = 3, .key_head_dim = 4, .value_head_dim = 7}) == 7);
    CHECK(extra_of(rwkv_time_mix{.attention_size = 11}) == 7);
    CHECK(extra_of(rwkv_channel_mix{.intermediate_size = 11}) == 7);

    const auto problem = [](const auto& part) { return error_of([&] { return part.cost(where); }); };
    const auto without = [&](auto change) {
        gated_delta_net copy = delta_net;
        change(copy);
        return problem(copy);
    };
    CHECK(without([](auto& m) { m.num_key_heads = 0; }) == "linear_num_key_heads: must be at least 1, got 0");
    CHECK(without([](auto& m) { m.num_value_heads = 0; }) == "linear_num_value_heads: must be at least 1, got 0");
    CHECK(without([](auto& m) { m.key_head_dim = 0; }) == "linear_key_head_dim: must be at least 1, got 0");
    CHECK(without([](auto& m) { m.value_head_dim = 0; }) == "linear_value_head_dim: must be at least 1, got 0");
    CHECK(without([](auto& m) { m.conv_kernel = 0; }) == "linear_conv_kernel_dim: must be at least 1, got 0");
    CHECK(problem(kda{.head_dim = 4, .conv_kernel = 5}) == "linear_num_heads: must be at least 1, got 0");
    CHECK(problem(kda{.num_heads = 3, .conv_kernel = 5}) == "linear_head_dim: must be at least 1, got 0");
    CHECK(problem(kda{.num_heads = 3, .head_dim = 4}) == "linear_conv_kernel_dim: must be at least 1, got 0");
    CHECK(problem(lightning_attention{.head_dim = 4}) == "num_attention_heads: must be at least 1, got 0");
    CHECK(problem(lightning_attention{.num_heads = 3}) == "head_dim: must be at least 1, got 0");
    CHECK(problem(mlstm{.key_head_dim = 4, .value_head_dim = 7}) == "num_heads: must be at least 1, got 0");
    CHECK(problem(mlstm{.num_heads = 3, .value_head_dim = 7}) == "qk_head_dim: must be at least 1, got 0");
    CHECK(problem(mlstm{.num_heads = 3, .key_head_dim = 4}) == "v_head_dim: must be at least 1, got 0");
    CHECK(problem(rwkv_time_mix{}) == "attention_hidden_size: must be at least 1, got 0");
    CHECK(problem(rwkv_channel_mix{}) == "intermediate_size: must be at least 1, got 0");
}

}  // namespace linear_attention_test

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "recurrence.hpp"
#include "traced.hpp"

namespace state_space_test {
namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using traced::component_names;

constexpr layer where{.index = 0, .hidden_size = 15};

const std::set<std::string> recurrent{"mixer.input", "mixer.convolution", "mixer.state", "mixer.output"};
const std::set<std::string> element_wise{"mixer.input", "mixer.convolution", "mixer.output"};

static_assert(layer_part<mamba> && layer_part<mamba2> && layer_part<rg_lru> && layer_part<short_convolution>);
// state-spaces/mamba-130m: h 768, inner 1536, state 16, rank 48: 768·3072 + 4·1536 + 1536·80 + 48·1536 + 1536·768.
static_assert(mamba{.inner_size = 1536, .state_size = 16, .dt_rank = 48, .conv_kernel = 4}
                  .cost({.hidden_size = 768})
                  .parameters() == 2'359'296 + 6'144 + 122'880 + 73'728 + 1'179'648);
// Nemotron-H-8B: 128 heads of 64, 8 groups, state 128: 4096·(2·8192 + 2·8·128 + 128) + 4·10240 + 8192·4096.
static_assert(mamba2{.num_heads = 128, .head_dim = 64, .n_groups = 8, .state_size = 128, .conv_kernel = 4}
                  .cost({.hidden_size = 4096})
                  .parameters() == 76'021'760 + 40'960 + 33'554'432);
// RecurrentGemma-2B: h and width 2560, 10 blocks of 256: 2·2560² + 4·2560 + 2·10·256² + 2560².
static_assert(rg_lru{.lru_width = 2560, .num_blocks = 10, .conv_kernel = 4}.cost({.hidden_size = 2560}).parameters() ==
              13'107'200 + 10'240 + 1'310'720 + 6'553'600);
// LFM2-1.2B: h 2048, kernel 3: 3·2048² + 3·2048 + 2048².
static_assert(short_convolution{.conv_kernel = 3}.cost({.hidden_size = 2048}).parameters() ==
              12'582'912 + 6'144 + 4'194'304);

std::uint64_t state_flops(const cost& model, std::uint32_t tokens) {
    tally batch;
    batch.add({.length = tokens});
    return static_cast<std::uint64_t>(evaluate(model, batch)["mixer.state"].get(view::useful, phase::forward).value());
}

}  // namespace

TEST_CASE("mamba counts its projections, its convolution and one state for each channel", "[state_space]") {
    const cost model = mamba{.inner_size = 14, .state_size = 3, .dt_rank = 5, .conv_kernel = 4}.cost(where);
    CHECK(component_names(model) == recurrent);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("mixer.input", tokens, 15, 14);  // x
        trace.weight("mixer.input", tokens, 15, 14);  // z
        matmul_trace::depthwise_convolution(trace, tokens, 4, 14);
        trace.weight("mixer.input", tokens, 14, 5);  // dt
        trace.weight("mixer.input", tokens, 14, 3);  // B
        trace.weight("mixer.input", tokens, 14, 3);  // C
        trace.weight("mixer.input", tokens, 5, 14);
        for (int channel = 0; channel < 14; ++channel) {
            trace.outer_product("mixer.state", tokens, 3, 1);
            trace.state_read("mixer.state", tokens, 3, 1);
        }
        trace.weight("mixer.output", tokens, 14, 15);
    });
}

TEST_CASE("mamba2 counts its projections, a convolution over x, B and C, and one state for each head",
          "[state_space]") {
    const mamba2 part{.num_heads = 6, .head_dim = 4, .n_groups = 2, .state_size = 3, .conv_kernel = 5};
    const cost model = part.cost(where);
    CHECK(component_names(model) == recurrent);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        for (int head = 0; head < 6; ++head) {
            trace.weight("mixer.input", tokens, 15, 4);  // x
            trace.weight("mixer.input", tokens, 15, 4);  // z
            trace.weight("mixer.input", tokens, 15, 1);  // dt
            matmul_trace::depthwise_convolution(trace, tokens, 5, 4);
            trace.outer_product("mixer.state", tokens, 4, 3);
            trace.state_read("mixer.state", tokens, 3, 4);
        }
        for (int group = 0; group < 2; ++group) {
            trace.weight("mixer.input", tokens, 15, 3);  // B
            trace.weight("mixer.input", tokens, 15, 3);  // C
            matmul_trace::depthwise_convolution(trace, tokens, 5, 2 * 3);
        }
        trace.weight("mixer.output", tokens, 6 * 4, 15);
    });
}

TEST_CASE("a selective scan written as loops runs the counted multiply-adds", "[state_space]") {
    // S6: each channel has a state of its own; SSD: a head's channels share the decay, which changes no product.
    recurrence::counted s6;
    std::vector<std::vector<double>> states(14, std::vector<double>(3, 0));
    for (int token = 0; token < 7; ++token) {
        for (std::vector<double>& state : states) {
            recurrence::decay(state, 0.5);
            s6.add_scaled(state, 1.0 / (token + 1), {1, 2, 3});
            static_cast<void>(s6.dot(state, {1, -1, 1}));
        }
    }
    const cost model = mamba{.inner_size = 14, .state_size = 3, .dt_rank = 5, .conv_kernel = 4}.cost(where);
    CHECK(state_flops(model, 7) == 2 * s6.multiply_adds());
    const mamba2 heads{.num_heads = 2, .head_dim = 7, .n_groups = 1, .state_size = 3, .conv_kernel = 4};
    CHECK(state_flops(heads.cost(where), 7) == 2 * s6.multiply_adds());
}

TEST_CASE("a Griffin recurrent block counts block-diagonal gates and an element-wise scan", "[state_space]") {
    const cost model = rg_lru{.lru_width = 12, .num_blocks = 3, .conv_kernel = 4}.cost(where);
    CHECK(component_names(model) == element_wise);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("mixer.input", tokens, 15, 12);  // linear_x
        trace.weight("mixer.input", tokens, 15, 12);  // linear_y
        matmul_trace::depthwise_convolution(trace, tokens, 4, 12);
        for (int block = 0; block < 3; ++block) {
            trace.weight("mixer.input", tokens, 4, 4);  // input gate
            trace.weight("mixer.input", tokens, 4, 4);  // recurrence gate
        }
        trace.weight("mixer.output", tokens, 12, 15);
    });
}

TEST_CASE("a gated short convolution counts two projections and the taps of its kernel", "[state_space]") {
    const cost model = short_convolution{.conv_kernel = 3}.cost(where);
    CHECK(component_names(model) == element_wise);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("mixer.input", tokens, 15, 3 * 15);
        matmul_trace::depthwise_convolution(trace, tokens, 3, 15);
        trace.weight("mixer.output", tokens, 15, 15);
    });
}

TEST_CASE("state-space layers count elementwise parameters, and a zero dimension is an error",
          "[state_space][errors]") {
    const auto problem = [](const auto& part) { return error_of([&] { return part.cost(where); }); };
    const elementwise_parameters extra{.norm = 4, .bias = 3};
    const auto extra_of = [&](auto part) {
        const std::uint64_t without = part.cost(where).parameters();
        part.elementwise = extra;
        return part.cost(where).parameters() - without;
    };
    constexpr mamba s6{.inner_size = 14, .state_size = 3, .dt_rank = 5, .conv_kernel = 4};
    constexpr mamba2 ssd{.num_heads = 6, .head_dim = 4, .n_groups = 2, .state_size = 3, .conv_kernel = 5};
    constexpr rg_lru lru{.lru_width = 12, .num_blocks = 3, .conv_kernel = 4};
    CHECK(extra_of(s6) == 7);
    CHECK(extra_of(ssd) == 7);
    CHECK(extra_of(lru) == 7);
    CHECK(extra_of(short_convolution{.conv_kernel = 3}) == 7);

    CHECK(problem(mamba{.state_size = 3, .dt_rank = 5, .conv_kernel = 4}) ==
          "intermediate_size: must be at least 1, got 0");
    CHECK(problem(mamba{.inner_size = 14, .dt_rank = 5, .conv_kernel = 4}) == "state_size: must be at least 1, got 0");
    CHECK(problem(mamba{.inner_size = 14, .state_size = 3, .conv_kernel = 4}) ==
          "time_step_rank: must be at least 1, got 0");
    CHECK(problem(mamba{.inner_size = 14, .state_size = 3, .dt_rank = 5}) == "conv_kernel: must be at least 1, got 0");
    const auto ssd_without = [&](auto change) {
        mamba2 copy = ssd;
        change(copy);
        return problem(copy);
    };
    CHECK(ssd_without([](mamba2& m) { m.num_heads = 0; }) == "num_heads: must be at least 1, got 0");
    CHECK(ssd_without([](mamba2& m) { m.head_dim = 0; }) == "head_dim: must be at least 1, got 0");
    CHECK(ssd_without([](mamba2& m) { m.n_groups = 0; }) == "n_groups: must be at least 1, got 0");
    CHECK(ssd_without([](mamba2& m) { m.state_size = 0; }) == "state_size: must be at least 1, got 0");
    CHECK(ssd_without([](mamba2& m) { m.conv_kernel = 0; }) == "conv_kernel: must be at least 1, got 0");
    CHECK(problem(rg_lru{.num_blocks = 3, .conv_kernel = 4}) == "lru_width: must be at least 1, got 0");
    CHECK(problem(rg_lru{.lru_width = 12, .conv_kernel = 4}) == "num_attention_heads: must be at least 1, got 0");
    CHECK(problem(rg_lru{.lru_width = 12, .num_blocks = 3}) == "conv1d_width: must be at least 1, got 0");
    CHECK(problem(rg_lru{.lru_width = 13, .num_blocks = 3, .conv_kernel = 4}) ==
          "lru_width: must be a multiple of the number of blocks (3), got 13");
    CHECK(problem(short_convolution{}) == "conv_L_cache: must be at least 1, got 0");
}

}  // namespace state_space_test

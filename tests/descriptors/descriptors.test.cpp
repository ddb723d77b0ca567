// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "traced.hpp"

namespace descriptors_test {

// Dimensions are odd or prime, and all different, so that no two of them can be taken for each other.

namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using traced::component_names;
using traced::walk;

template <class F>
std::string field_of(F f) {
    try {
        static_cast<void>(f());
    } catch (const error& e) {
        return std::string(e.field());
    }
    return "no error";
}

constexpr layer causal_layer{.index = 0, .hidden_size = 15, .attends = mask::causal()};

}  // namespace

// ---- attention ----

TEST_CASE("gqa counts the projections of every head and the attention core of every query",
          "[descriptors][attention]") {
    // head_dim is no quotient of the hidden size: 6 heads of 7 on a width of 15.
    const cost model = gqa{.num_heads = 6, .num_kv_heads = 2, .head_dim = 7}.cost(causal_layer);
    CHECK(component_names(model) == std::set<std::string>{"attention.qkv", "attention.core", "attention.output"});
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        matmul_trace::attention(trace, sequences, 15, 6, 2, 7, matmul_trace::causal());
    });
}

TEST_CASE("gqa counts the attended pairs of every mask that a layer may use", "[descriptors][attention]") {
    struct masked {
        mask attends;
        matmul_trace::pair_statistic pairs;
    };
    const std::vector<masked> all{
        {mask::causal(), matmul_trace::causal()},
        {mask::bidirectional(), matmul_trace::bidirectional()},
        {mask::sliding_window(1), matmul_trace::sliding_window(1)},
        {mask::sliding_window(5), matmul_trace::sliding_window(5)},
        {mask::window(3, 2), matmul_trace::window(3, 2)},
        {mask::window(0, 4), matmul_trace::window(0, 4)},
        {mask::chunked(4), matmul_trace::chunked(4)},
        {mask::top_k(3), matmul_trace::top_k(3)},
        {mask::compressed_keys(3), matmul_trace::compressed_keys(3)},
    };
    for (const masked& layer : all) {
        CAPTURE(layer.attends.name());
        const cost model = gqa{.num_heads = 3, .num_kv_heads = 1, .head_dim = 5}.cost(
            {.index = 2, .hidden_size = 11, .attends = layer.attends});
        check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
            matmul_trace::attention(trace, sequences, 11, 3, 1, 5, layer.pairs);
        });
    }
}

TEST_CASE("mha counts keys and values for every head and mqa for one head", "[descriptors][attention]") {
    check_against_trace(mha{.num_heads = 5, .head_dim = 9}.cost(causal_layer),
                        [](step& trace, const sequence_list& sequences, bool) {
                            matmul_trace::attention(trace, sequences, 15, 5, 5, 9, matmul_trace::causal());
                        });
    check_against_trace(mqa{.num_heads = 5, .head_dim = 9}.cost(causal_layer),
                        [](step& trace, const sequence_list& sequences, bool) {
                            matmul_trace::attention(trace, sequences, 15, 5, 1, 9, matmul_trace::causal());
                        });
}

TEST_CASE("cross attention projects the encoder's tokens at the encoder's width", "[descriptors][attention]") {
    constexpr cross_attention own_width{.num_heads = 6, .num_kv_heads = 3, .head_dim = 7};
    constexpr cross_attention other_width{.num_heads = 6, .num_kv_heads = 3, .head_dim = 7, .context_size = 13};
    CHECK(component_names(other_width.cost(causal_layer)) ==
          std::set<std::string>{"cross_attention.qkv", "cross_attention.core", "cross_attention.output"});
    check_against_trace(other_width.cost(causal_layer), [](step& trace, const sequence_list& sequences, bool) {
        matmul_trace::cross_attention(trace, sequences, 15, 13, 6, 3, 7);
    });
    check_against_trace(own_width.cost(causal_layer), [](step& trace, const sequence_list& sequences, bool) {
        matmul_trace::cross_attention(trace, sequences, 15, 15, 6, 3, 7);
    });
}

TEST_CASE("cross attention ignores the causal mask of its layer", "[descriptors][attention]") {
    constexpr cross_attention part{.num_heads = 6, .num_kv_heads = 3, .head_dim = 7, .context_size = 13};
    CHECK(part.cost({.hidden_size = 15, .attends = mask::sliding_window(3)}) == part.cost(causal_layer));
    CHECK(tally{part.cost(causal_layer).masks()}.masks().empty());
}

TEST_CASE("an attention output gate counts as one more linear layer", "[descriptors][attention]") {
    const cost model = gqa{.num_heads = 6, .num_kv_heads = 2, .head_dim = 7, .gate_size = 42}.cost(causal_layer);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        matmul_trace::attention(trace, sequences, 15, 6, 2, 7, matmul_trace::causal());
        for (int head = 0; head < 6; ++head) {
            trace.weight("attention.gate", matmul_trace::tokens_of(sequences), 15, 7);
        }
    });
}

// ---- feed-forward ----

TEST_CASE("mlp counts two matrices and gated_mlp counts three", "[descriptors][feed_forward]") {
    check_against_trace(mlp{.intermediate_size = 37}.cost(causal_layer),
                        [](step& trace, const sequence_list& sequences, bool) {
                            matmul_trace::mlp(trace, "mlp", matmul_trace::tokens_of(sequences), 15, 37, false);
                        });
    check_against_trace(gated_mlp{.intermediate_size = 37}.cost(causal_layer),
                        [](step& trace, const sequence_list& sequences, bool) {
                            matmul_trace::mlp(trace, "mlp", matmul_trace::tokens_of(sequences), 15, 37, true);
                        });
}

TEST_CASE("moe counts top-k experts per token whatever the routing", "[descriptors][feed_forward]") {
    for (const bool gated : {true, false}) {
        for (const std::uint64_t top_k : {1U, 3U, 7U}) {
            CAPTURE(gated, top_k);
            const moe part{.num_experts = 7, .num_experts_per_tok = top_k, .intermediate_size = 11, .gated = gated};
            CHECK(component_names(part.cost(causal_layer)) == std::set<std::string>{"moe.router", "moe.experts"});
            check_against_trace(part.cost(causal_layer), [&](step& trace, const sequence_list& sequences, bool) {
                matmul_trace::experts(trace, matmul_trace::tokens_of(sequences), 15, 7, top_k, 11, gated);
            });
        }
    }
}

TEST_CASE("moe sends every token through the shared experts and their gate", "[descriptors][feed_forward]") {
    for (const bool gated : {true, false}) {
        for (const bool shared_gate : {true, false}) {
            CAPTURE(gated, shared_gate);
            const moe part{.num_experts = 7,
                           .num_experts_per_tok = 2,
                           .intermediate_size = 11,
                           .shared_intermediate_size = 23,
                           .shared_expert_gate = shared_gate,
                           .gated = gated};
            check_against_trace(part.cost(causal_layer), [&](step& trace, const sequence_list& sequences, bool) {
                const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
                matmul_trace::experts(trace, tokens, 15, 7, 2, 11, gated);
                matmul_trace::mlp(trace, "moe.shared", tokens, 15, 23, gated);
                if (shared_gate) {
                    trace.weight("moe.shared", tokens, 15, 1);
                }
            });
        }
    }
}

TEST_CASE("moe stores all experts and runs only the chosen ones", "[descriptors][feed_forward]") {
    // 7 experts of 3 matrices 15 x 11, the router 15 x 7, a shared expert of 3 matrices 15 x 23, its gate 15 x 1.
    constexpr moe part{.num_experts = 7,
                       .num_experts_per_tok = 2,
                       .intermediate_size = 11,
                       .shared_intermediate_size = 23,
                       .shared_expert_gate = true};
    CHECK(part.cost(causal_layer).parameters() == 7 * 3 * 15 * 11 + 15 * 7 + 3 * 15 * 23 + 15);
}

TEST_CASE("moe with a latent width counts shared projections into and out of the latent width",
          "[descriptors][feed_forward]") {
    for (const bool gated : {true, false}) {
        CAPTURE(gated);
        const moe part{.num_experts = 7,
                       .num_experts_per_tok = 2,
                       .intermediate_size = 11,
                       .shared_intermediate_size = 23,
                       .gated = gated,
                       .latent_size = 5};
        const cost model = part.cost(causal_layer);
        CHECK(component_names(model) == std::set<std::string>{"moe.router", "moe.latent", "moe.experts", "moe.shared"});
        const std::uint64_t matrices = gated ? 3 : 2;
        CHECK(model.parameters() == 15 * 7 + 2 * 15 * 5 + 7 * matrices * 5 * 11 + matrices * 15 * 23);
        check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            step routed;
            matmul_trace::experts(routed, tokens, 5, 7, 2, 11, gated);
            trace.append(routed,
                         [](const matmul_trace::matmul& product) { return product.component == "moe.experts"; });
            trace.weight("moe.router", tokens, 15, 7);
            trace.weight("moe.latent", tokens, 15, 5);
            trace.weight("moe.latent", tokens, 5, 15);
            matmul_trace::mlp(trace, "moe.shared", tokens, 15, 23, gated);
        });
    }
}

TEST_CASE("identity experts count their router outputs and no other FLOPs", "[descriptors][feed_forward]") {
    moe part{.num_experts = 7, .num_experts_per_tok = 3, .intermediate_size = 11, .zero_experts = 4};
    const auto forward = [](std::uint64_t real_choices) {
        return [=](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            trace.weight("moe.router", tokens, 15, 7 + 4);
            for (std::uint64_t choice = 0; choice < real_choices; ++choice) {
                matmul_trace::mlp(trace, "moe.experts", tokens, 15, 11, true);
            }
        };
    };
    check_against_trace(part.cost(causal_layer), forward(3));
    CHECK(part.cost(causal_layer).parameters() == 15 * (7 + 4) + 7 * 3 * 15 * 11);
    part.num_experts_per_tok = 9;  // more than there are real ones
    check_against_trace(part.cost(causal_layer), forward(7));
    part.num_experts_per_tok = 12;
    CHECK(error_of([&] { return part.cost(causal_layer); }) ==
          "num_experts_per_tok: must be at most the 11 experts, got 12");
}

TEST_CASE("each token adds the biases of its chosen experts, and the biases of all experts are stored",
          "[descriptors][feed_forward]") {
    const cost model =
        moe{.num_experts = 7, .num_experts_per_tok = 3, .intermediate_size = 11, .expert_bias = 13}.cost(causal_layer);
    CHECK(model.parameters() == 15 * 7 + 7 * 3 * 15 * 11 + 7 * 13);
    convention with_biases = conventions::exact;  // 2 a bias, as if it were a matrix
    with_biases.counted = term_set(term::bias);
    tally batch;
    batch.add(sequence{.length = 5});
    std::uint64_t passed = 0;
    for (int token = 0; token < 5; ++token) {
        for (int choice = 0; choice < 3; ++choice) {
            passed += 13;
        }
    }
    CHECK(evaluate(model, batch, with_biases).get(view::useful, phase::forward) == flops{2 * passed});
    CHECK(evaluate(model, batch, with_biases).get(view::padded, phase::forward) == flops{2 * passed});
}

TEST_CASE("dense_first sets how many of the first layers are dense", "[descriptors][feed_forward]") {
    using part = dense_first<gated_mlp, moe>;
    constexpr part two{.num_dense_layers = 2,
                       .dense = {.intermediate_size = 41},
                       .sparse = {.num_experts = 5, .num_experts_per_tok = 2, .intermediate_size = 11}};
    const auto dense = [](step& trace, const sequence_list& sequences, bool) {
        matmul_trace::mlp(trace, "mlp", matmul_trace::tokens_of(sequences), 15, 41, true);
    };
    const auto sparse = [](step& trace, const sequence_list& sequences, bool) {
        matmul_trace::experts(trace, matmul_trace::tokens_of(sequences), 15, 5, 2, 11, true);
    };
    for (const std::uint64_t index : {0U, 1U, 2U, 3U}) {
        CAPTURE(index);
        check_against_trace(two.cost({.index = index, .hidden_size = 15}), index < 2 ? walk(dense) : walk(sparse));
    }
}

// ---- vocabulary ----

TEST_CASE("the lm_head has the padded vocabulary only in the padded and executed views", "[descriptors][vocabulary]") {
    const auto head = [](std::uint64_t size, std::uint64_t padded_size) {
        return [=](step& trace, const sequence_list& sequences, bool padded) {
            matmul_trace::lm_head(trace, matmul_trace::tokens_of(sequences), 15, padded ? padded_size : size);
        };
    };
    check_against_trace(vocabulary{.size = 101}.head_cost(15), head(101, 101));
    check_against_trace(vocabulary{.size = 101, .padded_size = 128}.head_cost(15), head(101, 128));
    check_against_trace(vocabulary{.size = 101, .padded_size = 101}.head_cost(15), head(101, 101));
    check_against_trace(vocabulary{.size = 101, .tied = true}.head_cost(15), head(101, 101));
}

TEST_CASE("an embedding lookup costs nothing and a tied embedding table is stored once", "[descriptors][vocabulary]") {
    constexpr vocabulary untied{.size = 101, .padded_size = 128, .positions = 17};
    constexpr vocabulary tied{.size = 101, .padded_size = 128, .tied = true, .positions = 17};
    for (const vocabulary& vocab : {untied, tied}) {
        check_against_trace(vocab.embedding_cost(15), [](step&, const sequence_list&, bool) {});
    }
    CHECK(untied.embedding_cost(15).parameters() == 101 * 15 + 17 * 15);
    CHECK(tied.embedding_cost(15).parameters() == 17 * 15);
    CHECK((tied.embedding_cost(15) + tied.head_cost(15)).parameters() == 101 * 15 + 17 * 15);
    CHECK((untied.embedding_cost(15) + untied.head_cost(15)).parameters() == 2 * 101 * 15 + 17 * 15);
}

// ---- transformer ----

TEST_CASE("the cost of a dense transformer is the sum of its layers and its lm_head", "[descriptors][transformer]") {
    constexpr transformer<gqa, gated_mlp> model{
        .hidden_size = 15,
        .num_layers = 3,
        .attention = {.num_heads = 6, .num_kv_heads = 2, .head_dim = 7, .elementwise = {.norm = 14, .bias = 5}},
        .feed_forward = {.intermediate_size = 37, .elementwise = {.bias = 3}},
        .vocab = {.size = 101, .padded_size = 128, .positions = 17},
        .layer_elementwise = {.norm = 30},
        .final_elementwise = {.norm = 15}};
    CHECK(component_names(model.cost()) == std::set<std::string>{"attention.qkv", "attention.core", "attention.output",
                                                                 "mlp", "lm_head", "embedding", "norm", "bias"});
    check_against_trace(model.cost(), [](step& trace, const sequence_list& sequences, bool padded) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        for (int index = 0; index < 3; ++index) {
            matmul_trace::attention(trace, sequences, 15, 6, 2, 7, matmul_trace::causal());
            matmul_trace::mlp(trace, "mlp", tokens, 15, 37, true);
        }
        matmul_trace::lm_head(trace, tokens, 15, padded ? 128 : 101);
    });
}

TEST_CASE("a short mask list repeats over the layers, and a full list has one mask per layer",
          "[descriptors][transformer]") {
    const mask masks[] = {mask::sliding_window(4), mask::chunked(6), mask::sliding_window(4), mask::causal(),
                          mask::chunked(6)};
    const auto model = [](const layer_masks& attends) {
        return transformer<mqa, mlp>{.hidden_size = 9,
                                     .num_layers = 5,
                                     .attention = {.num_heads = 2, .head_dim = 3},
                                     .feed_forward = {.intermediate_size = 7},
                                     .vocab = {.size = 23, .tied = true},
                                     .masks = attends}
            .cost();
    };
    const auto forward = [](const std::vector<matmul_trace::pair_statistic>& attends) {
        return [=](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            for (const matmul_trace::pair_statistic& pairs : attends) {
                matmul_trace::attention(trace, sequences, 9, 2, 1, 3, pairs);
                matmul_trace::mlp(trace, "mlp", tokens, 9, 7, false);
            }
            matmul_trace::lm_head(trace, tokens, 9, 23);
        };
    };
    const matmul_trace::pair_statistic window = matmul_trace::sliding_window(4);
    const matmul_trace::pair_statistic chunk = matmul_trace::chunked(6);
    const matmul_trace::pair_statistic full = matmul_trace::causal();
    check_against_trace(model(layer_masks::list(masks)), forward({window, chunk, window, full, chunk}));
    // Five layers of a period of three: the second round is cut short.
    check_against_trace(model(layer_masks::period({mask::sliding_window(4), mask::causal(), mask::chunked(6)})),
                        forward({window, full, chunk, window, full}));
    check_against_trace(model(mask::sliding_window(4)), forward({window, window, window, window, window}));
    check_against_trace(model({}), forward({full, full, full, full, full}));
}

TEST_CASE("the cost of a mixture of experts with dense first layers is the sum of its layers and its lm_head",
          "[descriptors][transformer]") {
    using feed_forward = dense_first<gated_mlp, moe>;
    constexpr transformer<gqa, feed_forward> model{
        .hidden_size = 15,
        .num_layers = 4,
        .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 3},
        .feed_forward = {.num_dense_layers = 1,
                         .dense = {.intermediate_size = 41},
                         .sparse = {.num_experts = 5,
                                    .num_experts_per_tok = 2,
                                    .intermediate_size = 11,
                                    .shared_intermediate_size = 13,
                                    .shared_expert_gate = true}},
        .vocab = {.size = 101},
        .masks = layer_masks::period({mask::sliding_window(3), mask::causal()})};
    check_against_trace(model.cost(), [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        for (std::uint64_t index = 0; index < 4; ++index) {
            matmul_trace::attention(trace, sequences, 15, 4, 2, 3,
                                    index % 2 == 0 ? matmul_trace::sliding_window(3) : matmul_trace::causal());
            if (index == 0) {
                matmul_trace::mlp(trace, "mlp", tokens, 15, 41, true);
            } else {
                matmul_trace::experts(trace, tokens, 15, 5, 2, 11, true);
                matmul_trace::mlp(trace, "moe.shared", tokens, 15, 13, true);
                trace.weight("moe.shared", tokens, 15, 1);
            }
        }
        matmul_trace::lm_head(trace, tokens, 15, 101);
    });
}

TEST_CASE("multi-token prediction adds a projection, a layer and the logits at each depth",
          "[descriptors][transformer]") {
    constexpr vocabulary vocab{.size = 101, .padded_size = 128};
    const cost last = gqa{.num_heads = 6, .num_kv_heads = 2, .head_dim = 7}.cost(
                          {.index = 3, .hidden_size = 15, .attends = mask::sliding_window(4)}) +
                      gated_mlp{.intermediate_size = 37}.cost(causal_layer);
    multi_token_prediction part{.num_layers = 2, .elementwise = {.norm = 45}};
    const cost model = part.cost(last, 15, vocab);
    CHECK(component_names(model) == std::set<std::string>{"mtp"});
    CHECK(model.parameters() == 2 * (2 * 15 * 15 + last.parameters() + 45));
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool padded) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        step depth;
        depth.weight("mtp", tokens, 2 * 15, 15);
        matmul_trace::attention(depth, sequences, 15, 6, 2, 7, matmul_trace::sliding_window(4));
        matmul_trace::mlp(depth, "mlp", tokens, 15, 37, true);
        matmul_trace::lm_head(depth, tokens, 15, padded ? 128 : 101);
        for (int index = 0; index < 2; ++index) {
            trace.append_as("mtp", depth);
        }
    });
    part.shared_head = false;
    CHECK(part.cost(last, 15, vocab).parameters() == model.parameters() + 2 * 15 * 101);
    CHECK(error_of([&] { return multi_token_prediction{}.cost(last, 15, vocab); }) ==
          "num_nextn_predict_layers: must be at least 1, got 0");
    CHECK(error_of([&] { return part.cost(last, 0, vocab); }) == "hidden_size: must be at least 1, got 0");
}

// ---- a user's own layer ----

namespace {

/// As in examples/own_layer.cpp: a gated MLP with a low-rank adapter beside it.
struct adapted_mlp {
    std::uint64_t intermediate_size = 0;
    std::uint64_t rank = 0;

    constexpr floptally::cost cost(const layer& where) const {
        floptally::cost sum = gated_mlp{intermediate_size, {}}.cost(where);
        const value::set narrow = value::local(12);  // any value that the MLP does not produce
        sum.add("adapter", linear{.in_features = where.hidden_size,
                                  .out_features = rank,
                                  .weight = "down",
                                  .reads = value::stream,
                                  .writes = narrow,
                                  .sharding = tensor_sharding::columns()});
        sum.add("adapter", linear{.in_features = rank,
                                  .out_features = where.hidden_size,
                                  .weight = "up",
                                  .reads = narrow,
                                  .sharding = tensor_sharding::rows()});
        return sum;
    }
};

/// Self and cross attention in one layer, the second in every other layer: made of parts, and of the layer's index.
struct decoder_attention {
    gqa self{};
    cross_attention cross{};

    constexpr floptally::cost cost(const layer& where) const {
        floptally::cost sum = self.cost(where);
        if (where.index % 2 == 1) {
            sum += cross.cost(where);
        }
        return sum;
    }
};

/// Nothing that a transformer could ask for a cost.
struct no_layer {
    std::uint64_t cost = 0;
};

static_assert(layer_part<adapted_mlp> && layer_part<decoder_attention>);
static_assert(layer_part<gqa> && layer_part<mha> && layer_part<mqa> && layer_part<cross_attention>);
static_assert(layer_part<mlp> && layer_part<gated_mlp> && layer_part<moe> && layer_part<dense_first<mlp, moe>>);
static_assert(!layer_part<no_layer> && !layer_part<vocabulary> && !layer_part<int>);

}  // namespace

TEST_CASE("a user-defined layer is counted without a change to the library", "[descriptors][own]") {
    constexpr transformer<decoder_attention, adapted_mlp> model{
        .hidden_size = 15,
        .num_layers = 3,
        .attention = {.self = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 3},
                      .cross = {.num_heads = 2, .num_kv_heads = 1, .head_dim = 5, .context_size = 13}},
        .feed_forward = {.intermediate_size = 37, .rank = 2},
        .vocab = {.size = 101, .tied = true}};
    check_against_trace(model.cost(), [](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        for (std::uint64_t index = 0; index < 3; ++index) {
            matmul_trace::attention(trace, sequences, 15, 4, 2, 3, matmul_trace::causal());
            if (index == 1) {
                matmul_trace::cross_attention(trace, sequences, 15, 13, 2, 1, 5);
            }
            matmul_trace::mlp(trace, "mlp", tokens, 15, 37, true);
            trace.weight("adapter", tokens, 15, 2);
            trace.weight("adapter", tokens, 2, 15);
        }
        matmul_trace::lm_head(trace, tokens, 15, 101);
    });
}

// ---- compile time ----

namespace {

template <class Vocabulary>
constexpr auto small_model(std::uint64_t hidden_size, const Vocabulary& vocab) {
    return transformer<gqa, moe>{.hidden_size = hidden_size,
                                 .num_layers = 4,
                                 .attention = {.num_heads = 6, .num_kv_heads = 2, .head_dim = 7},
                                 .feed_forward = {.num_experts = 5, .num_experts_per_tok = 2, .intermediate_size = 11},
                                 .vocab = vocab,
                                 .masks = layer_masks::period({mask::sliding_window(3), mask::causal()}),
                                 .layer_elementwise = {.norm = 30}};
}

constexpr constant_cost compiled_model = small_model(15, vocabulary{.size = 101, .padded_size = 128}).cost();
constexpr flops compiled_total = [] {
    tally batch{compiled_model.masks()};
    batch.add(floptally::sequence{.length = 13}, floptally::sequence{.length = 16});
    return evaluate(compiled_model, batch).total(view::executed);
}();

}  // namespace

TEST_CASE("a descriptor gives the same cost at compile time and at run time", "[descriptors][constexpr]") {
    const std::string fifteen = "15";  // Read at run time, so that nothing can be folded.
    const cost run_time = small_model(std::stoull(fifteen), vocabulary{.size = 101, .padded_size = 128}).cost();
    CHECK(run_time == compiled_model);

    tally batch{run_time.masks()};
    batch.add(floptally::sequence{.length = 13}, floptally::sequence{.length = 16});
    CHECK(evaluate(run_time, batch).total(view::executed) == compiled_total);
}

// ---- errors ----

TEST_CASE("a dimension of 0 is an error that names the field", "[descriptors][errors]") {
    const auto problem = [](const auto& part) { return error_of([&] { return part.cost(causal_layer); }); };
    const auto field = [](const auto& part) { return field_of([&] { return part.cost(causal_layer); }); };
    CHECK(problem(gqa{0, 1, 7, {}}) == "num_attention_heads: must be at least 1, got 0");
    CHECK(problem(gqa{6, 0, 7, {}}) == "num_key_value_heads: must be at least 1, got 0");
    CHECK(problem(gqa{6, 2, 0, {}}) == "head_dim: must be at least 1, got 0");
    CHECK(field(gqa{6, 2, 0, {}}) == "head_dim");
    CHECK(problem(mha{0, 7, {}}) == "num_attention_heads: must be at least 1, got 0");
    CHECK(problem(mha{6, 0, {}}) == "head_dim: must be at least 1, got 0");
    CHECK(problem(mqa{0, 7, {}}) == "num_attention_heads: must be at least 1, got 0");
    CHECK(problem(mqa{6, 0, {}}) == "head_dim: must be at least 1, got 0");
    CHECK(problem(cross_attention{0, 1, 7, 13, {}}) == "num_attention_heads: must be at least 1, got 0");
    CHECK(problem(cross_attention{6, 0, 7, 13, {}}) == "num_key_value_heads: must be at least 1, got 0");
    CHECK(problem(cross_attention{6, 1, 0, 13, {}}) == "head_dim: must be at least 1, got 0");
    CHECK(problem(mlp{0, {}}) == "intermediate_size: must be at least 1, got 0");
    CHECK(problem(gated_mlp{0, {}}) == "intermediate_size: must be at least 1, got 0");
    CHECK(problem(moe{.num_experts_per_tok = 2, .intermediate_size = 11}) == "num_experts: must be at least 1, got 0");
    CHECK(problem(moe{.num_experts = 7, .intermediate_size = 11}) == "num_experts_per_tok: must be at least 1, got 0");
    CHECK(problem(moe{.num_experts = 7, .num_experts_per_tok = 2}) ==
          "moe_intermediate_size: must be at least 1, got 0");
    CHECK(error_of([] { return vocabulary{}.embedding_cost(15); }) == "vocab_size: must be at least 1, got 0");

    transformer<mqa, mlp> model{.hidden_size = 9,
                                .num_layers = 5,
                                .attention = {.num_heads = 2, .head_dim = 3},
                                .feed_forward = {.intermediate_size = 7},
                                .vocab = {.size = 23}};
    const auto changed = [model](auto change) {
        auto copy = model;
        change(copy);
        return error_of([&] { return copy.cost(); });
    };
    CHECK(changed([](auto&) {}) == "no error");
    CHECK(changed([](auto& m) { m.hidden_size = 0; }) == "hidden_size: must be at least 1, got 0");
    CHECK(changed([](auto& m) { m.num_layers = 0; }) == "num_hidden_layers: must be at least 1, got 0");
    CHECK(changed([](auto& m) { m.vocab.size = 0; }) == "vocab_size: must be at least 1, got 0");
    CHECK(changed([](auto& m) { m.attention.head_dim = 0; }) == "head_dim: must be at least 1, got 0");
    CHECK(changed([](auto& m) { m.feed_forward.intermediate_size = 0; }) ==
          "intermediate_size: must be at least 1, got 0");
}

TEST_CASE("dimensions that contradict each other are an error with both values", "[descriptors][errors]") {
    CHECK(error_of([] {
              return gqa{32, 5, 128, {}}.cost(causal_layer);
          }) == "num_key_value_heads: must divide num_attention_heads (32), got 5");
    CHECK(error_of([] {
              return gqa{4, 8, 128, {}}.cost(causal_layer);
          }) == "num_key_value_heads: must divide num_attention_heads (4), got 8");
    CHECK(error_of([] {
              return moe{.num_experts = 7, .num_experts_per_tok = 8, .intermediate_size = 11}.cost(causal_layer);
          }) == "num_experts_per_tok: must be at most the 7 experts, got 8");
    CHECK(error_of([] { return vocabulary{.size = 101, .padded_size = 100}.head_cost(15); }) ==
          "padded_vocab_size: must be at least vocab_size (101), got 100");
}

TEST_CASE("the query heads of cross attention must be a multiple of the key-value heads", "[descriptors][errors]") {
    CHECK(error_of([] {
              return cross_attention{6, 4, 7, 13, {}}.cost(causal_layer);
          }) == "num_key_value_heads: must divide num_attention_heads (6), got 4");
}

TEST_CASE("a list of layer masks must have one mask per layer", "[descriptors][errors]") {
    const std::vector<mask> three(3, mask::causal());
    const auto deep = [&](std::uint64_t num_layers) {
        const transformer<mqa, mlp> model{.hidden_size = 9,
                                          .num_layers = num_layers,
                                          .attention = {.num_heads = 2, .head_dim = 3},
                                          .feed_forward = {.intermediate_size = 7},
                                          .vocab = {.size = 23},
                                          .masks = layer_masks::list(three)};
        const std::string problem = error_of([&] { return model.cost(); });
        CHECK(error_of([&] { model.for_each_part([](const auto& /*part*/) {}); }) == problem);
        return problem;
    };
    CHECK(deep(3) == "no error");
    CHECK(deep(2) == "layer_types: lists 3 layers, but the model has 2: list one for each layer");
    CHECK(deep(4) == "layer_types: lists 3 layers, but the model has 4: list one for each layer");
    CHECK(error_of([] { return layer_masks::list({}); }) == "layer_types: must name at least one layer, got none");
    CHECK(error_of([] { return layer_masks::period({}); }) == "layer_types: must name at least one layer, got none");

    const std::vector<mask> longest(layer_masks::max_entries, mask::causal());
    CHECK(error_of([&] { return layer_masks::list(longest); }) == "no error");
    const std::vector<mask> too_long(layer_masks::max_entries + 1, mask::causal());
    CHECK(error_of([&] { return layer_masks::list(too_long); }) == "layer_types: must list at most 512 layers");

    std::vector<mask> different;
    for (std::int64_t tokens = 1; tokens <= 17; ++tokens) {
        different.push_back(mask::sliding_window(tokens));
    }
    CHECK(error_of([&] { return layer_masks::list(different); }) ==
          "masks: has more than the 16 elements that fit; use fewer");
}

TEST_CASE("an overflowing product of dimensions is an error that names the component", "[descriptors][errors]") {
    constexpr std::uint64_t huge = std::uint64_t{1} << 33;
    const layer wide{.index = 0, .hidden_size = huge};
    CHECK(field_of([&] { return gqa{huge, 1, huge, {}}.cost(wide); }) == "attention.qkv");
    CHECK(field_of([&] { return gqa{1, 1, huge, {}}.cost(wide); }) == "attention.qkv");
    CHECK(field_of([&] { return gqa{huge, 1, huge / 8, {}}.cost(causal_layer); }) == "attention.qkv");
    CHECK(field_of([&] { return cross_attention{huge, 1, huge, 1, {}}.cost(wide); }) == "cross_attention.qkv");
    CHECK(field_of([&] { return mlp{huge, {}}.cost(wide); }) == "mlp");
    CHECK(field_of([&] { return moe{huge, 1, 11}.cost(wide); }) == "moe.router");
    CHECK(field_of([&] { return moe{7, 2, huge}.cost(wide); }) == "moe.experts");
    CHECK(field_of([&] { return vocabulary{.size = huge}.head_cost(huge); }) == "lm_head");
    CHECK(field_of([&] { return vocabulary{.size = huge}.embedding_cost(huge); }) == "embedding");
    CHECK(field_of([&] { return vocabulary{.size = 1, .positions = huge}.embedding_cost(huge); }) == "embedding");
    CHECK_THROWS_AS((mlp{huge, {}}.cost(wide)), overflow);
}

// ---- the parts of a transformer that are not named ----

TEST_CASE("transformer<> without template arguments has grouped-query attention and a gated MLP", "[descriptors]") {
    static_assert(std::is_same_v<transformer<>, transformer<gqa, gated_mlp>>);
    const transformer<> stack{.hidden_size = 64,
                              .num_layers = 2,
                              .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 16},
                              .feed_forward = {.intermediate_size = 96},
                              .vocab = {.size = 97}};
    CHECK(component_names(stack.cost()).contains("mlp"));
#if !defined(__clang__) || __clang_major__ >= 17
    constexpr transformer deduced{.hidden_size = 64, .num_layers = 32};
    static_assert(std::is_same_v<decltype(deduced), const transformer<gqa, gated_mlp>>);
    constexpr transformer named{
        .hidden_size = 64, .num_layers = 32, .attention = mha{.num_heads = 4}, .feed_forward = mlp{96}};
    static_assert(std::is_same_v<decltype(named), const transformer<mha, mlp>>);
    CHECK(deduced.num_layers == named.num_layers);
    CHECK(error_of([&] { return deduced.cost(); }).starts_with("num_attention_heads: must be at least 1"));
#endif
}

}  // namespace descriptors_test

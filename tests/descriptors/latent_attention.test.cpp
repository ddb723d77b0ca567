// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "traced.hpp"

namespace latent_attention_test {
namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using traced::component_names;

constexpr layer causal_layer{.index = 0, .hidden_size = 15, .attends = mask::causal()};
constexpr mla part{.num_heads = 3,
                   .q_lora_rank = 11,
                   .kv_lora_rank = 13,
                   .qk_nope_head_dim = 5,
                   .qk_rope_head_dim = 2,
                   .v_head_dim = 7};

mla changed(bool low_rank, bool absorbed) {
    mla copy = part;
    copy.q_lora_rank = low_rank ? 11 : 0;
    copy.absorbed = absorbed;
    return copy;
}

// DeepSeek-V3: 7168·1536 + 1536·128·192 + 7168·576 + 512·128·256 + 128·128·7168 weights in an attention.
constexpr mla deepseek_v3{.num_heads = 128,
                          .q_lora_rank = 1536,
                          .kv_lora_rank = 512,
                          .qk_nope_head_dim = 128,
                          .qk_rope_head_dim = 64,
                          .v_head_dim = 128};
static_assert(layer_part<mla> && layer_part<lightning_indexer>);
static_assert(deepseek_v3.cost({.hidden_size = 7168}).parameters() ==
              11'010'048 + 37'748'736 + 4'128'768 + 16'777'216 + 117'440'512);
// DeepSeek-V3.2's indexer: 64 heads of 128, 1536·8192 + 7168·128 + 7168·64 weights.
static_assert(
    lightning_indexer{.num_heads = 64, .head_dim = 128, .query_size = 1536}.cost({.hidden_size = 7168}).parameters() ==
    12'582'912 + 917'504 + 458'752);

}  // namespace

TEST_CASE("mla counts its projections head by head and the attention core of every query", "[latent_attention]") {
    for (const bool low_rank : {true, false}) {
        CAPTURE(low_rank);
        const cost model = changed(low_rank, false).cost(causal_layer);
        CHECK(component_names(model) == std::set<std::string>{"attention.qkv", "attention.core", "attention.output"});
        check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            if (low_rank) {
                trace.weight("attention.qkv", tokens, 15, 11);
            }
            trace.weight("attention.qkv", tokens, 15, 13);  // the latent
            trace.weight("attention.qkv", tokens, 15, 2);   // the key's shared positions
            for (int head = 0; head < 3; ++head) {
                trace.weight("attention.qkv", tokens, low_rank ? 11 : 15, 5);
                trace.weight("attention.qkv", tokens, low_rank ? 11 : 15, 2);
                trace.weight("attention.qkv", tokens, 13, 5);
                trace.weight("attention.qkv", tokens, 13, 7);
                trace.weight("attention.output", tokens, 7, 15);
            }
            matmul_trace::attention_core(trace, "attention.core", sequences, 3, 5 + 2, 7, matmul_trace::causal());
        });
    }
}

TEST_CASE("absorbed mla attends the latent and projects queries and outputs through kv_b", "[latent_attention]") {
    mla absorbed = changed(true, true);
    const layer sparse{.hidden_size = 15, .attends = mask::top_k(4)};
    check_against_trace(absorbed.cost(sparse), [&](step& trace, const sequence_list& sequences, bool) {
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        trace.weight("attention.qkv", tokens, 15, 11);
        trace.weight("attention.qkv", tokens, 15, 13 + 2);
        for (int head = 0; head < 3; ++head) {
            trace.weight("attention.qkv", tokens, 11, 5 + 2);
            trace.weight("attention.qkv", tokens, 5, 13);
            trace.weight("attention.output", tokens, 13, 7);
            trace.weight("attention.output", tokens, 7, 15);
        }
        matmul_trace::attention_core(trace, "attention.core", sequences, 3, 13 + 2, 13, matmul_trace::top_k(4));
    });
}

TEST_CASE("a cost tells whether it contains absorbed latent attention", "[latent_attention]") {
    for (const bool low_rank : {true, false}) {
        const cost absorbed = changed(low_rank, true).cost(causal_layer);
        const cost expanded = changed(low_rank, false).cost(causal_layer);
        CHECK(mla::is_absorbed_in(absorbed));
        CHECK_FALSE(mla::is_absorbed_in(expanded));
        CHECK(mla::is_absorbed_in(4 * expanded + absorbed));
    }
    CHECK_FALSE(mla::is_absorbed_in(cost{}));
}

TEST_CASE("absorbed and expanded mla store the same weights", "[latent_attention]") {
    for (const bool low_rank : {true, false}) {
        CHECK(changed(low_rank, true).cost(causal_layer).parameters() ==
              changed(low_rank, false).cost(causal_layer).parameters());
    }
    // q_a, q_b, kv_a, kv_b, o
    CHECK(part.cost(causal_layer).parameters() == 15 * 11 + 11 * 3 * 7 + 15 * (13 + 2) + 13 * 3 * (5 + 7) + 3 * 7 * 15);
    mla normed = part;
    normed.elementwise = {.norm = 24, .bias = 2};
    CHECK(normed.cost(causal_layer).parameters() == part.cost(causal_layer).parameters() + 26);
}

TEST_CASE("the indexer of sparse attention scores every earlier token, in forward passes only", "[latent_attention]") {
    for (const bool detached : {true, false}) {
        for (const bool product : {true, false}) {
            CAPTURE(detached, product);
            const lightning_indexer indexer{
                .num_heads = 4, .head_dim = 3, .query_size = 11, .detached = detached, .head_sum_is_product = product};
            const cost model = indexer.cost({.hidden_size = 15, .attends = mask::top_k(2)});
            CHECK(component_names(model) == std::set<std::string>{"attention.indexer"});
            CHECK(model.parameters() == 11 * 12 + 15 * 3 + 15 * 4);
            check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
                const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
                const auto weight = [&](std::uint64_t in, std::uint64_t out) {
                    if (detached) {
                        trace.detached("attention.indexer", tokens, in, out);
                    } else {
                        trace.weight("attention.indexer", tokens, in, out);
                    }
                };
                weight(11, 4 * 3);
                weight(15, 3);
                weight(15, 4);
                for (const matmul_trace::sequence& s : sequences) {
                    for (std::uint64_t query = s.past; query < s.past + s.length; ++query) {
                        const auto row = [&](std::uint64_t dim) {
                            if (detached) {
                                trace.detached_row("attention.indexer", query + 1, dim);
                            } else {
                                trace.scores_row("attention.indexer", query + 1, dim);
                            }
                        };
                        for (int head = 0; head < 4; ++head) {
                            row(3);
                        }
                        if (product) {
                            row(4);  // the heads' weights times their scores
                        }
                    }
                }
            });
        }
    }
}

TEST_CASE("a block indexer scores whole blocks with wider and gated key projections", "[latent_attention]") {
    for (const std::uint64_t ratio : {0U, 1U, 3U}) {
        for (const std::uint64_t width : {0U, 6U}) {
            for (const bool gate : {true, false}) {
                for (const bool weights : {true, false}) {
                    CAPTURE(ratio, width, gate, weights);
                    const lightning_indexer indexer{.num_heads = 4,
                                                    .head_dim = 3,
                                                    .query_size = 11,
                                                    .compress_ratio = ratio,
                                                    .key_width = width,
                                                    .key_gate = gate,
                                                    .head_weights = weights};
                    check_against_trace(
                        indexer.cost(causal_layer), [&](step& trace, const sequence_list& sequences, bool) {
                            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
                            trace.detached("attention.indexer", tokens, 11, 4 * 3);
                            for (int matrix = 0; matrix < (gate ? 2 : 1); ++matrix) {
                                trace.detached("attention.indexer", tokens, 15, width == 0 ? 3 : 6);
                            }
                            if (weights) {
                                trace.detached("attention.indexer", tokens, 15, 4);
                            }
                            const matmul_trace::pair_statistic pairs =
                                ratio == 0 ? matmul_trace::causal() : matmul_trace::compressed_keys(ratio);
                            for (const matmul_trace::sequence& s : sequences) {
                                for (std::uint64_t query = s.past; query < s.past + s.length; ++query) {
                                    std::uint64_t keys = 0;
                                    for (std::uint64_t key = 0; key <= query; ++key) {
                                        keys += pairs(s, query, key) / 2;
                                    }
                                    for (int head = 0; head < 4; ++head) {
                                        trace.detached_row("attention.indexer", keys, 3);
                                    }
                                }
                            }
                        });
                }
            }
        }
    }
}

TEST_CASE("mla may gate its output and reuse another layer's latent", "[latent_attention]") {
    for (const bool absorbed : {true, false}) {
        mla other = changed(true, absorbed);
        other.gate_size = 21;
        other.shares_latent = true;
        const cost model = other.cost(causal_layer);
        CHECK(model.parameters() == part.cost(causal_layer).parameters() - 15 * 15 + 15 * 21);
        check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            trace.weight("attention.qkv", tokens, 15, 11);
            for (int head = 0; head < 3; ++head) {
                trace.weight("attention.qkv", tokens, 15, 7);  // the gate
                trace.weight("attention.qkv", tokens, 11, 7);
                trace.weight("attention.qkv", tokens, 13, 5);
                trace.weight(absorbed ? "attention.output" : "attention.qkv", tokens, 13, 7);
                trace.weight("attention.output", tokens, 7, 15);
            }
            matmul_trace::attention_core(trace, "attention.core", sequences, 3, absorbed ? 15 : 7, absorbed ? 13 : 7,
                                         matmul_trace::causal());
        });
    }
}

TEST_CASE("a zero dimension of latent attention is an error that names the dimension", "[latent_attention][errors]") {
    const auto without = [](auto change) {
        mla copy = part;
        change(copy);
        return error_of([&] { return copy.cost(causal_layer); });
    };
    CHECK(without([](mla& m) { m.num_heads = 0; }) == "num_attention_heads: must be at least 1, got 0");
    CHECK(without([](mla& m) { m.kv_lora_rank = 0; }) == "kv_lora_rank: must be at least 1, got 0");
    CHECK(without([](mla& m) { m.qk_nope_head_dim = 0; }) == "qk_nope_head_dim: must be at least 1, got 0");
    CHECK(without([](mla& m) { m.v_head_dim = 0; }) == "v_head_dim: must be at least 1, got 0");
    CHECK(without([](mla& m) { m.qk_rope_head_dim = 0; }) == "no error");
    const auto indexer = [](std::uint64_t heads, std::uint64_t dim, std::uint64_t query) {
        return error_of([=] {
            return lightning_indexer{.num_heads = heads, .head_dim = dim, .query_size = query}.cost(causal_layer);
        });
    };
    CHECK(indexer(0, 3, 11) == "index_n_heads: must be at least 1, got 0");
    CHECK(indexer(4, 0, 11) == "index_head_dim: must be at least 1, got 0");
    CHECK(indexer(4, 3, 0) == "q_lora_rank: must be at least 1, got 0");
    CHECK(error_of([] {
              return lightning_indexer{.num_heads = 4, .head_dim = 3, .query_size = 11, .compress_ratio = 1ULL << 31}
                  .cost(causal_layer);
          }) == "compress_ratio: must be at most 2147483647, got 2147483648");
}

}  // namespace latent_attention_test

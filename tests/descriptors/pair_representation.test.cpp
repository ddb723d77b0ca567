// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <floptally/descriptors/pair_representation.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "traced.hpp"

namespace pair_representation_test {
namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using u64 = std::uint64_t;

constexpr u64 z = 7;  // width of a pair
constexpr u64 m = 5;  // of a token of the alignment
constexpr u64 h = 9;  // of a token

/// Calls with the new tokens, all tokens and the rows of the alignment of each sequence. New tokens have pairs with
/// all.
template <class Each>
void each_of(const sequence_list& sequences, Each each) {
    for (const matmul_trace::sequence& s : sequences) {
        each(s.length, s.past + s.length, s.keys);
    }
}

}  // namespace

static_assert(layer_part<triangle_multiplication> && layer_part<triangle_attention> && layer_part<outer_product_mean>);
static_assert(layer_part<pair_weighted_average> && layer_part<alignment_attention>);
static_assert(layer_part<pair_biased_attention>);

TEST_CASE("triangle multiplication of a protein model multiplies two token pairs for each third token",
          "[pair_representation]") {
    const cost model = triangle_multiplication{.width = 3}.cost({.hidden_size = z});
    CHECK(model.parameters() == 4 * z * 3 + 3 * z + z * z);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        each_of(sequences, [&](u64 rows, u64 all, u64) {
            for (int value = 0; value < 4; ++value) {  // of both sides, and a gate each
                trace.weight("triangles.in", rows * all, z, 3);
            }
            for (u64 third = 0; third < all; ++third) {
                trace.state_read("triangles.core", rows * all, 1, 3);
            }
            trace.weight("triangles.out", rows * all, 3, z);
            trace.weight("triangles.gate", rows * all, z, z);
        });
    });
}

TEST_CASE("triangle attention counts the attended pairs once for each token of the pair matrix",
          "[pair_representation]") {
    const cost model = triangle_attention{.num_heads = 2, .head_dim = 3}.cost({.hidden_size = z});
    CHECK(model.parameters() == z * 2 + 4 * z * 6 + 6 * z);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        each_of(sequences, [&](u64 rows, u64 all, u64) {
            trace.weight("pairs.bias", rows * all, z, 2);
            for (int value = 0; value < 4; ++value) {
                trace.weight("pairs.qkv", rows * all, z, 6);
            }
            for (u64 pair = 0; pair < rows * all; ++pair) {
                trace.core_row("pairs.core", 2 * all, 3, 3);
                trace.core_row("pairs.core", 2 * all, 3, 3);
            }
            trace.weight("pairs.output", rows * all, 6, z);
        });
    });
}

TEST_CASE("an outer product mean multiplies two alignment columns for each pair of tokens", "[pair_representation]") {
    const cost model = outer_product_mean{.width = 3, .pair_size = z}.cost({.hidden_size = m});
    CHECK(model.parameters() == 2 * m * 3 + 9 * z);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        each_of(sequences, [&](u64 rows, u64 all, u64 aligned) {
            trace.weight("msa.outer", rows * aligned, m, 3);
            trace.weight("msa.outer", rows * aligned, m, 3);
            trace.outer_product("msa.outer", rows * all * aligned, 3, 3);
            trace.weight("msa.outer", rows * all, 9, z);
        });
    });
}

TEST_CASE("a pair-weighted average sums over the tokens of each row of a sequence alignment", "[pair_representation]") {
    const cost model = pair_weighted_average{.num_heads = 2, .head_dim = 3, .pair_size = z}.cost({.hidden_size = m});
    CHECK(model.parameters() == 3 * m * 6 + z * 2);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        each_of(sequences, [&](u64 rows, u64 all, u64 aligned) {
            trace.weight("msa.qkv", rows * aligned, m, 6);
            trace.weight("msa.qkv", rows * aligned, m, 6);
            trace.weight("msa.bias", rows * all, z, 2);
            for (int head = 0; head < 2; ++head) {
                trace.state_read("msa.core", rows * aligned, all, 3);
            }
            trace.weight("msa.output", rows * aligned, 6, m);
        });
    });
}

TEST_CASE("attention over a sequence alignment attends within rows or within columns", "[pair_representation]") {
    for (const bool columns : {false, true}) {
        CAPTURE(columns);
        const cost model =
            alignment_attention{.num_heads = 2, .head_dim = 3, .pair_size = columns ? 0 : z, .columns = columns}.cost(
                {.hidden_size = m});
        CHECK(model.parameters() == 5 * m * 6 + (columns ? 0 : z * 2));
        check_against_trace(model, [columns](step& trace, const sequence_list& sequences, bool) {
            each_of(sequences, [&](u64 rows, u64 all, u64 aligned) {
                for (int value = 0; value < 4; ++value) {
                    trace.weight("msa.qkv", rows * aligned, m, 6);
                }
                if (!columns) {
                    trace.weight("msa.bias", rows * all, z, 2);
                }
                for (u64 query = 0; query < 2 * rows * aligned; ++query) {  // of both heads
                    trace.core_row("msa.core", 2 * (columns ? aligned : all), 3, 3);
                }
                trace.weight("msa.output", rows * aligned, 6, m);
            });
        });
    }
}

TEST_CASE("attention with a pair bias adds one projection per pair of tokens", "[pair_representation]") {
    const cost model = pair_biased_attention{.num_heads = 2, .head_dim = 3, .pair_size = z}.cost({.hidden_size = h});
    CHECK(model.parameters() == 5 * h * 6 + z * 2);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        each_of(sequences, [&](u64 rows, u64 all, u64) {
            for (int value = 0; value < 4; ++value) {
                trace.weight("tokens.qkv", rows, h, 6);
            }
            trace.weight("tokens.bias", rows * all, z, 2);
            for (u64 query = 0; query < 2 * rows; ++query) {
                trace.core_row("tokens.core", 2 * all, 3, 3);
            }
            trace.weight("tokens.output", rows, 6, h);
        });
    });
}

TEST_CASE("layers over pairs of tokens include norms and biases in their parameters", "[pair_representation]") {
    const auto more = [](auto part) {
        const u64 matrices = part.cost({.hidden_size = m}).parameters();
        part.elementwise = {.norm = 20, .bias = 3};
        return part.cost({.hidden_size = m}).parameters() - matrices;
    };
    CHECK(more(triangle_multiplication{.width = 3}) == 23);
    CHECK(more(triangle_attention{.num_heads = 2, .head_dim = 3}) == 23);
    CHECK(more(outer_product_mean{.width = 3, .pair_size = z}) == 23);
    CHECK(more(pair_weighted_average{.num_heads = 2, .head_dim = 3, .pair_size = z}) == 23);
    CHECK(more(alignment_attention{.num_heads = 2, .head_dim = 3, .pair_size = z}) == 23);
    CHECK(more(pair_biased_attention{.num_heads = 2, .head_dim = 3, .pair_size = z}) == 23);
}

}  // namespace pair_representation_test

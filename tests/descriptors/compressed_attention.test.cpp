// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "sanitized.hpp"
#include "traced.hpp"

namespace compressed_attention_test {
namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using traced::component_names;

constexpr layer place{.index = 0, .hidden_size = 15, .attends = mask::causal()};
constexpr compressed_attention window_only{
    .num_heads = 6, .head_dim = 5, .q_lora_rank = 11, .window = 4, .o_groups = 3, .o_lora_rank = 7};

compressed_attention compressed(std::uint64_t ratio, bool overlap, std::uint64_t best) {
    compressed_attention copy = window_only;
    copy.compress_ratio = ratio;
    copy.overlap = overlap;
    copy.best_keys = best;
    return copy;
}

void add_common(step& trace, const sequence_list& sequences) {
    const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
    trace.weight("attention.qkv", tokens, 15, 11);
    for (int head = 0; head < 6; ++head) {
        trace.weight("attention.qkv", tokens, 11, 5);
    }
    trace.weight("attention.qkv", tokens, 15, 5);  // the one key, which is the value too
    matmul_trace::attention_core(trace, "attention.core", sequences, 6, 5, 5, matmul_trace::sliding_window(4));
    for (int group = 0; group < 3; ++group) {
        trace.weight("attention.output", tokens, 2 * 5, 7);  // two heads
    }
    trace.weight("attention.output", tokens, 3 * 7, 15);
}

void add_compressed(step& trace, const sequence_list& sequences, std::uint64_t width,
                    const matmul_trace::pair_statistic& pairs) {
    const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
    trace.weight("attention.compress", tokens, 15, width);
    trace.weight("attention.compress", tokens, 15, width);
    matmul_trace::attention_core(trace, "attention.core", sequences, 6, 5, 5, pairs);
}

// DeepSeek-V4-Flash: h 4096, 64 heads of 512, 8 groups of 1024, indexers of 64 heads of 128.
constexpr compressed_attention flash{
    .num_heads = 64, .head_dim = 512, .q_lora_rank = 1024, .window = 128, .o_groups = 8, .o_lora_rank = 1024};
static_assert(layer_part<compressed_attention>);
static_assert(flash.cost({.hidden_size = 4096}).parameters() ==
              4096ULL * 1024 + 1024 * 64 * 512 + 4096 * 512 + 8 * 4096 * 1024 + 8 * 1024 * 4096);

}  // namespace

TEST_CASE("compressed attention counts its projections, a window of tokens and grouped outputs",
          "[compressed_attention]") {
    const cost model = window_only.cost(place);
    CHECK(component_names(model) == std::set<std::string>{"attention.qkv", "attention.core", "attention.output"});
    CHECK(model.parameters() == 15 * 11 + 11 * 30 + 15 * 5 + 3 * 10 * 7 + 21 * 15);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) { add_common(trace, sequences); });
}

TEST_CASE("compressed attention attends a window of tokens plus either all or the best-scoring compressed keys",
          "[compressed_attention]") {
    std::size_t number = 0;
    for (const std::uint64_t ratio : {1U, 2U, 3U, 5U}) {
        for (const bool overlap : {true, false}) {
            for (const std::uint64_t best : {0U, 1U, 2U, 30U}) {
                if (skipped_when_sanitized(number++, 3)) {
                    continue;
                }
                CAPTURE(ratio, overlap, best);
                const cost model = compressed(ratio, overlap, best).cost(place);
                CHECK(model.parameters() == window_only.cost(place).parameters() + (overlap ? 4 : 2) * 15 * 5);
                check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
                    add_common(trace, sequences);
                    add_compressed(trace, sequences, overlap ? 10 : 5,
                                   best == 0 ? matmul_trace::compressed_keys(ratio)
                                             : matmul_trace::best_compressed_keys(ratio, best));
                });
            }
        }
    }
}

TEST_CASE("tensor parallelism shards heads and groups of compressed attention and replicates its single key head",
          "[compressed_attention]") {
    compressed_attention sharding = compressed(2, true, 2);
    sharding.elementwise = {.norm = 21, .bias = 26};
    const cost model = sharding.cost(place);
    CHECK(model.parameters() == compressed(2, true, 2).cost(place).parameters() + 47);
    for (const cost_entry& row : model.entries()) {
        const std::string weight(model.weight_name(row));
        const bool whole =
            weight == "q_a_proj" || weight == "kv_proj" || weight == "gate_proj" || is_elementwise_weight(row.kind);
        INFO(weight);
        CHECK(row.sharding.by == (whole ? sharding_kind::replicated : sharding_kind::heads));
        if (weight == "o_a_proj" || weight == "o_b_proj") {
            CHECK(row.sharding.units == 3);
        }
    }
}

TEST_CASE("an invalid dimension of compressed attention is an error that names the dimension",
          "[compressed_attention][errors]") {
    const auto with = [](auto change) {
        compressed_attention copy = compressed(2, true, 2);
        change(copy);
        return error_of([&] { return copy.cost(place); });
    };
    CHECK(with([](compressed_attention& a) { a.num_heads = 0; }) == "num_attention_heads: must be at least 1, got 0");
    CHECK(with([](compressed_attention& a) { a.head_dim = 0; }) == "head_dim: must be at least 1, got 0");
    CHECK(with([](compressed_attention& a) { a.q_lora_rank = 0; }) == "q_lora_rank: must be at least 1, got 0");
    CHECK(with([](compressed_attention& a) { a.window = 0; }) == "sliding_window: must be at least 1, got 0");
    CHECK(with([](compressed_attention& a) { a.o_groups = 0; }) == "o_groups: must be at least 1, got 0");
    CHECK(with([](compressed_attention& a) { a.o_lora_rank = 0; }) == "o_lora_rank: must be at least 1, got 0");
    CHECK(with([](compressed_attention& a) { a.compress_ratio = 0; }) ==
          "compress_ratio: must be at least 1 where compressed keys overlap or a top-k of them is chosen, got 0");
    CHECK(with([](compressed_attention& a) { a.o_groups = 4; }) ==
          "o_groups: must divide num_attention_heads x head_dim (30), got 4");
    CHECK(with([](compressed_attention& a) { a.window = 1ULL << 31; }) ==
          "sliding_window: must be at most 2147483647, got 2147483648");
    CHECK(with([](compressed_attention& a) { a.compress_ratio = 1ULL << 31; }) ==
          "compress_ratio: must be at most 2147483647, got 2147483648");
    CHECK(with([](compressed_attention& a) { a.best_keys = 1ULL << 31; }) ==
          "index_topk: must be at most 2147483647, got 2147483648");
    compressed_attention largest = compressed(2, true, 2);
    largest.window = (1ULL << 31) - 1;
    CHECK_NOTHROW(largest.cost(place));
}

}  // namespace compressed_attention_test

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>

#include <floptally/step/memory.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace memory_test {
namespace {

using floptally::gathered_logits_bytes;
using floptally::local_logits_bytes;
using floptally::logits_shape;
using floptally::memory_plan;
using floptally::parameter_bytes;
using floptally::state_bytes;
using floptally::state_bytes_of;
using floptally::zero_stage;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

}  // namespace

TEST_CASE("bf16 logits of 128K tokens take 37 GiB per rank when gathered, and half without the gathered copy",
          "[memory]") {
    // areal-project/AReaL, pull request 1223: Qwen3-30B-A3B, vocabulary 151 936, CP = 2, "about 37 GiB per rank".
    constexpr logits_shape qwen3{.tokens = 128 * 1024, .vocabulary = 151'936, .context_parallel = 2};
    static_assert(gathered_logits_bytes(qwen3) == 39'829'110'784);
    CHECK(static_cast<int>(static_cast<double>(gathered_logits_bytes(qwen3)) / gib) == 37);
    CHECK(2 * local_logits_bytes(qwen3) == gathered_logits_bytes(qwen3));

    // One byte for each element of a matrix, counted.
    const logits_shape small{
        .tokens = 24, .vocabulary = 10, .bytes_per_element = 4, .context_parallel = 3, .tensor_parallel = 2};
    std::uint64_t local = 0;
    std::uint64_t gathered = 0;
    for (std::uint64_t token = 0; token < 24; ++token) {
        for (std::uint64_t word = 0; word < 10; ++word) {
            const bool own_word = word / 5 == 0;
            gathered += own_word ? 4U : 0U;
            local += own_word && token / 8 == 0 ? 4U : 0U;
        }
    }
    CHECK(local_logits_bytes(small) == local);
    CHECK(gathered_logits_bytes(small) == gathered);
    CHECK(gathered_logits_bytes({.tokens = 7, .vocabulary = 3}) == local_logits_bytes({.tokens = 7, .vocabulary = 3}));
}

TEST_CASE("bf16 logits of 16K tokens at cp 4 and tp 2 take 5 GB with the gathered copy", "[memory]") {
    // AReaL's figure for Qwen3's vocabulary in bf16: its gather holds the parts of the ranks and the whole at once.
    constexpr logits_shape qwen3{
        .tokens = 16 * 1024, .vocabulary = 151'936, .context_parallel = 4, .tensor_parallel = 2};
    static_assert(floptally::gathering_logits_bytes(qwen3) == 4'978'638'848);
    CHECK(static_cast<double>(floptally::gathering_logits_bytes(qwen3)) / 1e9 < 5);
    CHECK(local_logits_bytes(qwen3) == 4'978'638'848 / 8);

    // The tensors of that gather on one of 3 x 2 ranks, byte by byte: 24 tokens, 10 words, fp32.
    const logits_shape small{
        .tokens = 24, .vocabulary = 10, .bytes_per_element = 4, .context_parallel = 3, .tensor_parallel = 2};
    std::uint64_t bytes = 0;
    for (int part = 0; part < 3; ++part) {
        for (int token = 0; token < 8; ++token) {
            for (int word = 0; word < 5; ++word) {
                bytes += 4;  // in the list, as the rank `part` sent it
                bytes += 4;  // in the whole, in its place
            }
        }
    }
    CHECK(floptally::gathering_logits_bytes(small) == bytes);
    const logits_shape alone{.tokens = 24, .vocabulary = 10};
    CHECK(floptally::gathering_logits_bytes(alone) == local_logits_bytes(alone));
    CHECK(error_of([] {
              return floptally::gathering_logits_bytes({.tokens = 7, .vocabulary = 4, .context_parallel = 2});
          }) == "tokens: must be a multiple of context_parallel (2), got 7");
    CHECK(error_of([] {
              return floptally::gathering_logits_bytes(
                  {.tokens = std::uint64_t{1} << 62U, .vocabulary = 1, .context_parallel = 2});
          }).rfind("logits: ", 0) == 0);
}

TEST_CASE("logits that do not divide over ranks or exceed 64 bits are an error", "[memory]") {
    const auto problem = [](const logits_shape& logits) {
        return error_of([&] { return local_logits_bytes(logits); });
    };
    CHECK(problem({.tokens = 7, .vocabulary = 4, .context_parallel = 2}) ==
          "tokens: must be a multiple of context_parallel (2), got 7");
    CHECK(problem({.tokens = 8, .vocabulary = 33, .tensor_parallel = 2}) ==
          "vocabulary: must be a multiple of tensor_parallel (2), got 33");
    CHECK(problem({.tokens = 8, .vocabulary = 4, .context_parallel = 0}) ==
          "context_parallel: must be at least 1, got 0");
    CHECK(problem({.tokens = 8, .vocabulary = 4, .tensor_parallel = 0}) ==
          "tensor_parallel: must be at least 1, got 0");
    CHECK(problem({.tokens = std::uint64_t{1} << 40, .vocabulary = std::uint64_t{1} << 30}).starts_with("logits: "));
    CHECK(error_of([] { return gathered_logits_bytes({.tokens = 7, .vocabulary = 4, .context_parallel = 2}); }) ==
          "tokens: must be a multiple of context_parallel (2), got 7");
}

TEST_CASE("the memory of model states equals the numbers of the ZeRO paper", "[memory]") {
    // arXiv:1910.02054, figure 1: 7.5 billion parameters, 64 ranks, K = 12: 120, 31.4, 16.6 and 1.9 GB.
    const auto gigabytes = [](zero_stage sharded) {
        const memory_plan plan{.sharded = sharded, .data_parallel = 64};
        return static_cast<double>(state_bytes_of(7'500'000'000, plan).total()) / 1e9;
    };
    CHECK(gigabytes(zero_stage::none) == 120.0);
    CHECK(gigabytes(zero_stage::optimizer) == 31.40625);
    CHECK(gigabytes(zero_stage::gradients) == 16.640625);
    CHECK(gigabytes(zero_stage::weights) == 1.875);
    // Each stage splits one more of the three.
    const memory_plan sharding_plan{.sharded = zero_stage::gradients, .data_parallel = 4};
    CHECK(state_bytes_of(1000, sharding_plan) == state_bytes{.weights = 2000, .gradients = 500, .optimizer = 3000});
}

TEST_CASE("the memory of model states equals Megatron-LM's table for the distributed optimizer", "[memory]") {
    // Megatron Core developer guide, "Distributed Optimizer": bytes of a parameter, d data-parallel ranks.
    const auto bytes = [](const parameter_bytes& sizes, zero_stage sharded, std::uint64_t d) {
        return state_bytes_of(1'000'000 * d, {.sharded = sharded, .data_parallel = d, .bytes = sizes}).total();
    };
    namespace optimizers = floptally::optimizers;
    for (const std::uint64_t d : {std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{64}}) {
        const std::uint64_t n = 1'000'000 * d;
        CHECK(bytes(optimizers::megatron_fp16, zero_stage::none, d) == 20 * n);
        CHECK(bytes(optimizers::megatron_fp16, zero_stage::optimizer, d) == 4 * n + 16 * n / d);
        CHECK(bytes(optimizers::megatron_bf16, zero_stage::none, d) == 18 * n);
        CHECK(bytes(optimizers::megatron_bf16, zero_stage::optimizer, d) == 6 * n + 12 * n / d);
        CHECK(bytes(optimizers::fp32_adam, zero_stage::none, d) == 16 * n);
        CHECK(bytes(optimizers::fp32_adam, zero_stage::optimizer, d) == 8 * n + 8 * n / d);
    }
}

TEST_CASE("frozen weights have no gradients and no optimizer state", "[memory]") {
    CHECK(state_bytes_of(1000, 10) == state_bytes{.weights = 2000, .gradients = 20, .optimizer = 120});
    CHECK(state_bytes_of(1000, 0).total() == 2000);
    CHECK(error_of([] { return state_bytes_of(10, 11); }) == "trainable: must be at most the parameters (10), got 11");
    CHECK(error_of([] { return state_bytes_of(10, memory_plan{.data_parallel = 0}); }) ==
          "data_parallel: must be at least 1, got 0");
    CHECK(error_of([] { return state_bytes_of(std::numeric_limits<std::uint64_t>::max()); }).starts_with("memory: "));
    CHECK(error_of([] {
              return state_bytes_of(std::numeric_limits<std::uint64_t>::max() / 3,
                                    {.bytes = {.weight = 2, .gradient = 2, .optimizer = 2}})
                  .total();
          }).starts_with("memory: "));
}

TEST_CASE("uneven ZeRO shards are rounded up, and all shards together have every parameter", "[memory]") {
    for (std::uint64_t ranks = 1; ranks <= 9; ++ranks) {
        for (std::uint64_t count = 0; count <= 40; ++count) {
            const memory_plan plan{.sharded = zero_stage::weights, .data_parallel = ranks};
            std::uint64_t padded = count;  // the flat buffer, to a multiple of the ranks
            while (padded % ranks != 0) {
                ++padded;
            }
            CHECK(state_bytes_of(count, plan).weights * ranks == 2 * padded);
            CHECK(state_bytes_of(count, plan).gradients * ranks == 2 * padded);
            CHECK(state_bytes_of(count, plan).optimizer * ranks == 12 * padded);
        }
    }
}

}  // namespace memory_test

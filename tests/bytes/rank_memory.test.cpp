// SPDX-License-Identifier: Apache-2.0
//
// What a rank holds, against published formulas and numbers. tests/python/test_rank_memory.py has a real run's tensors.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/bytes/optimizer_state.hpp>
#include <floptally/bytes/rank_memory.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/presets.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace rank_memory_test {
namespace {

using floptally::memory_of;
using floptally::memory_options;
using floptally::model_part;
using floptally::parallel_layout;
using floptally::rank_memory;
using floptally::tally;
using floptally::training_plan;
using floptally::transformer;
using floptally::zero_stage;

constexpr std::uint64_t h = 96;
constexpr std::uint64_t a = 8;
constexpr std::uint64_t layers = 6;
constexpr std::uint64_t vocabulary = 128;

/// A layer of Korthikanti et al.: heads as wide as the hidden size together, a feed-forward four times as wide.
transformer<floptally::mha, floptally::mlp> gpt() {
    return {.hidden_size = h,
            .num_layers = layers,
            .attention = {.num_heads = a, .head_dim = h / a},
            .feed_forward = {.intermediate_size = 4 * h},
            .vocab = {.size = vocabulary},
            .layer_elementwise = {.norm = 2 * h},
            .final_elementwise = {.norm = h}};
}

std::vector<model_part> parts_of(const auto& model) {
    std::vector<model_part> parts;
    model.for_each_part([&](const model_part& part) { parts.push_back(part); });
    return parts;
}

rank_memory held(const auto& model, std::uint64_t s, std::uint64_t b, const floptally::parallel_sizes& sizes,
                 const memory_options& how = {}, const training_plan& plan = {}, std::uint64_t rank = 0) {
    tally own(model.cost().masks());
    own.add_lengths(std::vector<std::uint64_t>(b, s));
    return memory_of(parts_of(model), own, parallel_layout(sizes, sizes.dp * sizes.cp * sizes.tp * sizes.pp, rank),
                     plan, how);
}

memory_options as_published(bool sequence_parallel) {
    return {.ranks = {.tensor = {.sequence_parallel = sequence_parallel}},
            .kernels = {.flash_attention = false, .hidden_dropout = true, .attention_dropout = true}};
}

TEST_CASE("activations of a layer are those of Korthikanti et al., arXiv:2205.05198, table 2", "[bytes]") {
    for (const std::uint64_t s : {16U, 64U}) {
        for (const std::uint64_t b : {1U, 4U}) {
            for (const std::uint64_t t : {1U, 2U, 4U}) {
                CAPTURE(s, b, t);
                const std::uint64_t sbh = s * b * h;
                const std::uint64_t scores = 5 * a * s * s * b;
                // What stands after the layers: the last norm's input and the lm_head's.
                const std::uint64_t after = 2 * sbh + 2 * sbh;
                CHECK(held(gpt(), s, b, {.tp = t}, as_published(false)).activations ==
                      layers * (10 * sbh + 24 * sbh / t + scores / t) + after);
                CHECK(held(gpt(), s, b, {.tp = t}, as_published(true)).activations ==
                      (layers * (34 * sbh + scores) + after) / t);
                const training_plan selective{.recomputed = floptally::recompute::attention};
                CHECK(held(gpt(), s, b, {.tp = t}, as_published(true), selective).activations ==
                      (layers * 34 * sbh + after) / t);
                const training_plan full{.recomputed = floptally::recompute::full};
                CHECK(held(gpt(), s, b, {.tp = t}, as_published(false), full).activations == layers * 2 * sbh + after);
            }
        }
    }
}

TEST_CASE("a fused attention keeps its operands, its result and a number a head and token", "[bytes]") {
    const std::uint64_t sbh = 32 * 2 * h;
    const memory_options how{};
    // Input, q, k, v and the output of attention, of the MLP its input, 4h before and after the activation, two norms.
    CHECK(held(gpt(), 32, 2, {}).activations == layers * (2 * sbh * (1 + 4 + 1 + 8 + 2) + 4 * a * 32 * 2) + 4 * sbh);
    // Frozen weights keep no operand of theirs, and what norms, the activation and attention need for the gradients.
    const training_plan norms{.weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                                          {.weights = "norm", .state = floptally::weight_state::trainable}}};
    CHECK(held(gpt(), 32, 2, {}, how, norms).activations ==
          layers * (2 * sbh * (4 + 4 + 2) + 4 * a * 32 * 2) + 2 * sbh);
    // LoRA's A keeps the operand again, and B what A made of it.
    const training_plan adapted{
        .weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                    {.weights = "norm", .state = floptally::weight_state::trainable},
                    {.weights = "*/q_proj", .state = floptally::weight_state::lora, .rank = 4}}};
    CHECK(held(gpt(), 32, 2, {}, how, adapted).activations ==
          held(gpt(), 32, 2, {}, how, norms).activations + layers * 2 * (sbh + 32 * 2 * 4));
    CHECK(held(gpt(), 32, 2, {}, how, {.counted = floptally::counted_passes::forward}).activations == 0);
}

TEST_CASE("logits are held of the tokens whose logits are computed", "[bytes]") {
    const std::uint64_t all = held(gpt(), 32, 2, {}).logits;
    CHECK(all == 32 * 2 * vocabulary * 2);
    const rank_memory last = held(gpt(), 32, 2, {}, {}, {.logits = floptally::logit_tokens::last});
    CHECK(last.logits == 2 * vocabulary * 2);
    CHECK(last.weights == held(gpt(), 32, 2, {}).weights);
}

TEST_CASE("the first stages of a pipeline hold the activations of the microbatches that are under way", "[bytes]") {
    const std::uint64_t layer = held(gpt(), 16, 1, {.pp = 6}, {}, {}, 1).activations;
    REQUIRE(layer != 0);
    for (const std::uint64_t microbatches : {1U, 2U, 3U, 12U}) {
        for (std::uint64_t rank = 0; rank < 3; ++rank) {
            const rank_memory of_rank = held(gpt(), 16, 1, {.pp = 3}, {.microbatches = microbatches}, {}, rank);
            const std::uint64_t under_way = std::min<std::uint64_t>(3 - rank, microbatches);  // 1F1B
            const std::uint64_t after = rank == 2 ? 4 * 16 * h : 0;
            CHECK(of_rank.activations == under_way * (2 * layer + after));
            CHECK(of_rank.logits == (rank == 2 ? 16 * vocabulary * 2 : 0));
        }
    }
}

TEST_CASE("states are ZeRO's sixteen bytes a parameter, and what its stages leave of them", "[bytes]") {
    const std::uint64_t parameters = gpt().cost().parameters();
    const rank_memory whole = held(gpt(), 16, 1, {});
    CHECK(whole.parameters == parameters);
    CHECK(whole.weights + whole.gradients + whole.optimizer == 16 * parameters);  // arXiv:1910.02054, section 3.1
    for (const zero_stage stage : {zero_stage::optimizer, zero_stage::gradients, zero_stage::weights}) {
        const rank_memory part = held(gpt(), 16, 1, {.dp = 4, .cp = 2}, {.sharded = stage});
        CHECK(part.optimizer == 12 * parameters / 8);
        CHECK(part.gradients == 2 * parameters / (stage >= zero_stage::gradients ? 8 : 1));
        CHECK(part.weights == 2 * parameters / (stage >= zero_stage::weights ? 8 : 1));
    }
    // Stages of a pipeline and ranks of tensor parallelism add up to the model.
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 0; rank < 6; ++rank) {
        sum += held(gpt(), 16, 1, {.tp = 2, .pp = 3}, {}, {}, rank).parameters;
    }
    CHECK(sum == parameters + layers * 2 * h + h);  // norms are whole on both
    // Experts are split over ep, and their states over what is left of dp.
    const transformer<floptally::mha, floptally::moe> sparse{
        .hidden_size = h,
        .num_layers = 1,
        .attention = {.num_heads = a, .head_dim = h / a},
        .feed_forward = {.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 32},
        .vocab = {.size = vocabulary}};
    const std::uint64_t experts = 8 * 3 * h * 32;
    const std::uint64_t others = sparse.cost().parameters() - experts;
    const rank_memory of_experts = held(sparse, 16, 1, {.dp = 4, .ep = 2}, {.sharded = zero_stage::optimizer});
    CHECK(of_experts.parameters == others + experts / 2);
    CHECK(of_experts.optimizer == 12 * (others / 4 + experts / 2 / 2));
}

TEST_CASE("optimizers store and move what they are known for", "[bytes]") {
    namespace states = floptally::optimizer_states;
    constexpr std::uint64_t n = 1'000'000;
    CHECK(states::adamw.bits_of(n, true) == 96 * n);
    CHECK(states::adamw_without_master.bits_of(n, true) == 64 * n);
    CHECK(states::sgd.bits_of(n, true) == 0);
    CHECK(states::sgd_momentum.bits_of(n, false) == 32 * n);
    CHECK(states::muon.bits_of(n, true) == 64 * n);
    CHECK(states::muon.bits_of(n, false) == 96 * n);
    CHECK(states::adamw_8bit.bits_of(n, true) == 2 * (8 * n + 32 * 3907));  // 3906.25 blocks
    CHECK(states::adamw_8bit.bits_of(4095, true) == 2 * 32 * 4095);
    // A step, element by element: read the gradient, the copy and two moments, write these three and the weight.
    std::uint64_t bits = 0;
    for (std::uint64_t element = 0; element < 1000; ++element) {
        bits += 32 + 3 * 32 + 3 * 32 + 16;
    }
    CHECK(states::adamw.moved_bits(1000, true, 16, 32) == bits);
    CHECK(states::sgd.moved_bits(1000, true, 32, 32) == 1000 * (32 + 32 + 32));
    // Each microbatch writes a gradient; each but the first reads what was there.
    for (const zero_stage stage : {zero_stage::none, zero_stage::gradients}) {
        std::uint64_t moved = 0;
        for (std::uint64_t microbatch = 0; microbatch < 3; ++microbatch) {
            moved += 4 * gpt().cost().parameters();
            const std::uint64_t share = gpt().cost().parameters() / 4;
            moved += microbatch == 0 ? 0 : stage == zero_stage::none ? 4 * gpt().cost().parameters() : 2 * 4 * share;
        }
        CHECK(held(gpt(), 16, 1, {.dp = 4}, {.sharded = stage, .bits = {.gradients = 32}, .microbatches = 3})
                  .gradients_moved == moved);
    }
    // Gradients and states of what does not train are nobody's.
    const training_plan adapted{
        .weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                    {.weights = "*/q_proj", .state = floptally::weight_state::lora, .rank = 4}}};
    const rank_memory lora = held(gpt(), 16, 1, {}, {}, adapted);
    CHECK(lora.trainable == layers * 4 * 2 * h);
    CHECK(lora.parameters == gpt().cost().parameters() + lora.trainable);
    CHECK(lora.optimizer == 12 * lora.trainable);
    CHECK(lora.optimizer_moved == lora.trainable * (2 + 24 + 2));
}

TEST_CASE("the cache holds keys and values of each layer, and a layout shares them", "[bytes]") {
    const training_plan forward{.counted = floptally::counted_passes::forward};
    CHECK(held(gpt(), 1, 1, {}, {.cached_tokens = 1000}, forward).cache == 1000 * layers * 2 * h * 2);
    CHECK(held(gpt(), 1, 1, {.tp = 2, .pp = 3}, {.cached_tokens = 1000}, forward).cache == 1000 * layers / 3 * 2 * h);
    // More ranks than key and value heads keep a head each; a latent is whole on every rank.
    const transformer<floptally::gqa, floptally::mlp> grouped{
        .hidden_size = h,
        .num_layers = 1,
        .attention = {.num_heads = a, .num_kv_heads = 2, .head_dim = 12},
        .feed_forward = {.intermediate_size = h},
        .vocab = {.size = vocabulary}};
    CHECK(held(grouped, 1, 1, {.tp = 4}, {.cached_tokens = 10}, forward).cache == 10 * 2 * 12 * 2);
    const floptally::mla heads{.num_heads = a,
                               .q_lora_rank = 20,
                               .kv_lora_rank = 16,
                               .qk_nope_head_dim = 8,
                               .qk_rope_head_dim = 4,
                               .v_head_dim = 8};
    const transformer<floptally::mla, floptally::mlp> latent{.hidden_size = h,
                                                             .num_layers = 1,
                                                             .attention = heads,
                                                             .feed_forward = {.intermediate_size = h},
                                                             .vocab = {.size = vocabulary}};
    CHECK(held(latent, 1, 1, {.tp = 4}, {.cached_tokens = 10}, forward).cache == 10 * (16 + 4) * 2);
    CHECK(error_of([&] { static_cast<void>(held(gpt(), 16, 1, {}, {}, {.recomputed_components = {"mlp"}})); }) ==
          "recomputed_components: are not told apart by what they keep");
}

}  // namespace
}  // namespace rank_memory_test

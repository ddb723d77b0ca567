// SPDX-License-Identifier: Apache-2.0
//
// What a rank holds, against published formulas and numbers. tests/python/test_rank_memory.py has a real run's tensors.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

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

TEST_CASE("activation bytes of a layer equal table 2 of arXiv:2205.05198", "[bytes]") {
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
                memory_options core = as_published(true);
                core.kernels.recomputed = {floptally::layer_module::core_attn};
                CHECK(held(gpt(), s, b, {.tp = t}, core).activations == (layers * 34 * sbh + after) / t);
                const training_plan full{.recomputed = floptally::recompute::full};
                CHECK(held(gpt(), s, b, {.tp = t}, as_published(false), full).activations == layers * 2 * sbh + after);
            }
        }
    }
}

TEST_CASE("fused attention stores inputs, output and one number per head and token for the backward pass", "[bytes]") {
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

TEST_CASE("memory of logits counts only the tokens whose logits are computed", "[bytes]") {
    const std::uint64_t all = held(gpt(), 32, 2, {}).logits;
    CHECK(all == 32 * 2 * vocabulary * 2);
    const rank_memory last = held(gpt(), 32, 2, {}, {}, {.logits = floptally::logit_tokens::last});
    CHECK(last.logits == 2 * vocabulary * 2);
    CHECK(last.weights == held(gpt(), 32, 2, {}).weights);
}

TEST_CASE("a pipeline stage stores the activations of every microbatch in flight", "[bytes]") {
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

TEST_CASE("model states take 16 bytes per parameter, less what each ZeRO stage shards", "[bytes]") {
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

TEST_CASE("each optimizer stores and moves its documented number of bytes", "[bytes]") {
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

TEST_CASE("the KV cache stores keys and values of each layer, sharded by the parallel layout", "[bytes]") {
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
          "recomputed_components: are not supported by memory counts: pass recompute_modules instead "
          "(in C++ `kernels.recomputed`), or recompute whole layers");
}

TEST_CASE("keys and values with fewer heads than ranks are replicated on each rank that uses them", "[bytes]") {
    // Eight query heads and one key-value head, all of width 12: each of eight ranks keeps one query head, the one key
    // and value head, its part of the output and one number a token.
    const transformer<floptally::gqa, floptally::mlp> one_head{
        .hidden_size = h,
        .num_layers = layers,
        .attention = {.num_heads = a, .num_kv_heads = 1, .head_dim = h / a},
        .feed_forward = {.intermediate_size = 4 * h},
        .vocab = {.size = vocabulary}};
    const std::uint64_t n = 64;
    const auto core = [&](std::uint64_t tp) {
        memory_options how{.ranks = {.tensor = {.sequence_parallel = true}}};
        const std::uint64_t all = held(one_head, n, 1, {.tp = tp}, how).activations;
        how.kernels.offloaded = {floptally::layer_module::core_attn};
        return all - held(one_head, n, 1, {.tp = tp}, how).activations;
    };
    for (const std::uint64_t tp : {1U, 2U, 8U}) {
        const std::uint64_t queries = n * h / tp;
        const std::uint64_t keys_and_values = 2 * n * h / a;
        CHECK(core(tp) == layers * (2 * (queries + keys_and_values + queries) + 4 * n * a / tp));
    }
}

TEST_CASE("under full recompute the input of the first layer is stored if the adapters of this layer train",
          "[bytes]") {
    const training_plan lora{.recomputed = floptally::recompute::full,
                             .weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                                         {.weights = "*/v_proj", .state = floptally::weight_state::lora, .rank = 4}}};
    for (std::uint64_t stage = 0; stage + 1 < 6; ++stage) {
        const std::uint64_t under_way = 1;
        CHECK(held(gpt(), 32, 2, {.pp = 6}, {}, lora, stage).activations == under_way * 2 * 32 * 2 * h);
    }
}

TEST_CASE("a block input that both router and shared experts read is stored once", "[bytes]") {
    const auto model = [](std::uint64_t shared) {
        return transformer<floptally::mha, floptally::moe>{.hidden_size = h,
                                                           .num_layers = layers,
                                                           .attention = {.num_heads = a, .head_dim = h / a},
                                                           .feed_forward = {.num_experts = 8,
                                                                            .num_experts_per_tok = 2,
                                                                            .intermediate_size = 32,
                                                                            .shared_intermediate_size = shared},
                                                           .vocab = {.size = vocabulary}};
    };
    // Shared experts add gate, up and their product, and nothing of the hidden size.
    CHECK(held(model(64), 32, 2, {}).activations - held(model(0), 32, 2, {}).activations ==
          layers * 2 * 3 * 32 * 2 * 64);
}

TEST_CASE("stored inputs of 8-bit and 4-bit matrix products take 8 or 4 bits per value plus scales", "[bytes]") {
    const std::uint64_t sbh = 32 * 2 * h;
    const std::uint64_t usual = held(gpt(), 32, 2, {}).activations;
    // A layer's matrices read the two norms' outputs, the activation's output (4h); attention's output stays as it is.
    const std::uint64_t inputs = layers * 6 * sbh;
    const auto with = [&](const floptally::block_format& format) {
        memory_options how;
        how.kernels.matrix_inputs = format;
        return held(gpt(), 32, 2, {}, how).activations;
    };
    CHECK(usual - with(floptally::block_formats::fp8) == inputs * 2 - inputs);
    CHECK(usual - with(floptally::block_formats::mxfp8) == inputs * 2 - inputs - inputs / 32);
    CHECK(usual - with(floptally::block_formats::nvfp4) == inputs * 2 - inputs / 2 - inputs / 16);
    CHECK(floptally::block_formats::nf4_double.bits_of(1U << 20U, 16) ==
          (4U << 20U) + (1U << 20U) / 64 * 8 + (1U << 20U) / 16'384 * 32);  // 4.127 bits: arXiv:2305.14314
    CHECK(error_of([] { static_cast<void>(floptally::block_format_named("int3", "matrix_inputs")); }) ==
          "matrix_inputs: must be one of none, fp8, fp8_blocks, mxfp8, nvfp4, nf4, nf4_double, got \"int3\"");
}

TEST_CASE("recomputed or offloaded modules store no activations on the device", "[bytes]") {
    using floptally::layer_module;
    const std::uint64_t sbh = 32 * 2 * h;
    const std::uint64_t usual = held(gpt(), 32, 2, {}).activations;
    for (const bool on_host : {false, true}) {
        const auto without = [&](floptally::layer_modules modules) {
            memory_options how;
            (on_host ? how.kernels.offloaded : how.kernels.recomputed) = modules;
            return usual - held(gpt(), 32, 2, {}, how).activations;
        };
        CHECK(without({layer_module::layernorm}) == layers * 2 * 2 * sbh);
        CHECK(without({layer_module::mlp}) == layers * 2 * 8 * sbh);
        CHECK(without({layer_module::attn_proj}) == layers * 2 * sbh);
        // A recompute keeps q, k, v and the result. It computes only the softmax's sums again.
        CHECK(without({layer_module::core_attn}) == layers * ((on_host ? 2 * 4 * sbh : 0) + 4 * a * 32 * 2));
        CHECK(without({layer_module::layernorm, layer_module::mlp}) == layers * 2 * 10 * sbh);
        CHECK(without({layer_module::moe_act, layer_module::mla_up_proj, layer_module::shared_experts}) == 0);
    }
    // Latents stay, what matrices make of them goes: q, k and v.
    const transformer<floptally::mla, floptally::mlp> latent{.hidden_size = h,
                                                             .num_layers = layers,
                                                             .attention = {.num_heads = a,
                                                                           .q_lora_rank = 24,
                                                                           .kv_lora_rank = 16,
                                                                           .qk_nope_head_dim = 8,
                                                                           .qk_rope_head_dim = 4,
                                                                           .v_head_dim = 8},
                                                             .feed_forward = {.intermediate_size = 4 * h},
                                                             .vocab = {.size = vocabulary}};
    memory_options how;
    const std::uint64_t all = held(latent, 32, 2, {}).activations;
    how.kernels.recomputed = {layer_module::mla_up_proj};
    CHECK(all - held(latent, 32, 2, {}, how).activations == layers * 2 * 32 * 2 * a * (12 + 12 + 8));
    // Experts: the activation's output, then the copies of tokens too.
    const transformer<floptally::mha, floptally::moe> sparse{
        .hidden_size = h,
        .num_layers = layers,
        .attention = {.num_heads = a, .head_dim = h / a},
        .feed_forward = {.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 32},
        .vocab = {.size = vocabulary}};
    const std::uint64_t experts = held(sparse, 32, 2, {}).activations;
    const auto fewer = [&](floptally::layer_modules modules) {
        memory_options changed;
        changed.kernels.recomputed = modules;
        return experts - held(sparse, 32, 2, {}, changed).activations;
    };
    const std::uint64_t copies = 32 * 2 * 2;
    CHECK(fewer({layer_module::moe_act}) == layers * 2 * copies * 32);
    CHECK(fewer({layer_module::expert_fc1}) == layers * 2 * copies * h);
    CHECK(fewer({layer_module::moe}) == layers * 2 * copies * (h + 3 * 32 + h));
    memory_options inside;
    inside.kernels.weights_inside_experts = true;
    CHECK(experts - held(sparse, 32, 2, {}, inside).activations == layers * 2 * copies * h);
    CHECK(error_of([] { static_cast<void>(floptally::layer_modules_named("mlp,norms", "recompute_modules")); }) ==
          "recompute_modules: must list some of core_attn, attn_proj, mla_up_proj, layernorm, mlp, shared_experts, "
          "moe_act, expert_fc1, moe, got \"norms\"");
}

TEST_CASE("8-bit weights are stored twice, for forward and backward, and frozen 4-bit weights once", "[bytes]") {
    const std::uint64_t matrices = layers * 12 * h * h;
    const std::uint64_t others = gpt().cost().parameters() - matrices;
    memory_options how;
    how.matrix_weights = floptally::block_formats::mxfp8;
    CHECK(held(gpt(), 16, 1, {}, how).weights == 2 * others + 2 * (matrices + matrices / 32));
    how.stores_both_ways = false;
    CHECK(held(gpt(), 16, 1, {}, how).weights == 2 * others + matrices + matrices / 32);
    memory_options qlora;
    qlora.frozen_weights = floptally::block_formats::nf4;
    const training_plan lora{.weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                                         {.weights = "mlp", .state = floptally::weight_state::lora, .rank = 4}}};
    const std::uint64_t based = layers * 8 * h * h;
    const std::uint64_t adapters = layers * 2 * 4 * (h + 4 * h);
    CHECK(held(gpt(), 16, 1, {}, qlora, lora).weights ==
          2 * (gpt().cost().parameters() - based) + based / 2 + based / 64 * 4 + 2 * adapters);
}

TEST_CASE("offloaded optimizer states and layers take no device memory", "[bytes]") {
    const rank_memory usual = held(gpt(), 16, 1, {});
    memory_options how;
    how.host_optimizer = 0.25;
    const rank_memory moved = held(gpt(), 16, 1, {}, how);
    CHECK(moved.host == usual.optimizer / 4);
    CHECK(moved.optimizer == usual.optimizer - usual.optimizer / 4);
    how.host_optimizer = 1.5;
    CHECK(error_of([&] { static_cast<void>(held(gpt(), 16, 1, {}, how)); }) ==
          "optimizer_offload: must be from 0 to 1: the fraction of the optimizer state that is kept on the host");
    memory_options offloaded;
    offloaded.offloaded_layers = 4;
    CHECK(held(gpt(), 16, 1, {}, offloaded).activations == usual.activations - usual.activations / layers * 2);
    offloaded.offloaded_layers = 6;
    CHECK(error_of([&] { static_cast<void>(held(gpt(), 16, 1, {}, offloaded)); }) ==
          "offload_layers: must be below the 6 layers of the rank, and works only with pp 1; got 6 with pp 1");
}

TEST_CASE("rank memory includes buffers for the gathered weights of two layers and for copies of routed tokens",
          "[bytes]") {
    CHECK(held(gpt(), 16, 1, {.dp = 4}, {.sharded = zero_stage::gradients}).buffers == 0);
    const std::uint64_t layer = 12 * h * h + 2 * h;
    const std::uint64_t table = vocabulary * h;
    CHECK(held(gpt(), 16, 1, {.dp = 4}, {.sharded = zero_stage::weights}).buffers ==
          std::max(layer, table) * (2 * 2 + 2));
    CHECK(held(gpt(), 16, 1, {}, {.sharded = zero_stage::weights}).buffers == 0);
    const transformer<floptally::mha, floptally::moe> sparse{
        .hidden_size = h,
        .num_layers = layers,
        .attention = {.num_heads = a, .head_dim = h / a},
        .feed_forward = {.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 32},
        .vocab = {.size = vocabulary}};
    // Sent and received: two copies of each of 16 tokens, 2 bytes an element.
    CHECK(held(sparse, 16, 1, {.dp = 4, .ep = 4}).buffers == 2 * 2 * 16 * 2 * h);
    CHECK(held(sparse, 16, 1, {.dp = 4}).buffers == 0);
}

}  // namespace
TEST_CASE("full recompute stores the recomputed activations of one layer at a time", "[bytes]") {
    const std::uint64_t sbh = 16 * 2 * h;
    const std::uint64_t scores = 5 * a * 16 * 16 * 2;
    const training_plan full{.recomputed = floptally::recompute::full};
    const training_plan selective{.recomputed = floptally::recompute::attention};
    // A layer keeps 34 sbh and its scores; its input of 2 sbh is kept already. Selective recompute makes the scores
    // again.
    CHECK(held(gpt(), 16, 2, {}, as_published(false), full).buffers == 34 * sbh + scores - 2 * sbh);
    CHECK(held(gpt(), 16, 2, {}, as_published(false), selective).buffers == scores);
    CHECK(held(gpt(), 16, 2, {}, as_published(false)).buffers == 0);
    CHECK(held(gpt(), 16, 2, {.pp = 3}, as_published(false), full).buffers == 34 * sbh + scores - 2 * sbh);
}

TEST_CASE("buffers of gathered weights may have their own number format, and gradient buckets add buffer memory",
          "[bytes]") {
    const std::uint64_t largest = std::max<std::uint64_t>(12 * h * h + 2 * h, vocabulary * h);
    memory_options mixed{.sharded = zero_stage::weights, .bits = {.weights = 32, .gradients = 32}};
    CHECK(held(gpt(), 16, 1, {.dp = 4}, mixed).buffers == largest * (2 * 4 + 4));
    mixed.gathered_bits = 16;
    // Two layers in 16 bits, the gradient of one in 16 and, to be added over the ranks, in 32.
    CHECK(held(gpt(), 16, 1, {.dp = 4}, mixed).buffers == largest * (2 * 2 + 2 + 4));
    const std::uint64_t parameters = gpt().cost().parameters();
    CHECK(held(gpt(), 16, 1, {.dp = 4}, {.bucket_elements = 1000}).buffers == 1000 * 2);
    CHECK(held(gpt(), 16, 1, {.dp = 4}, {.bucket_elements = std::uint64_t{1} << 50U}).buffers == parameters * 2);
}

TEST_CASE("stages that keep messages hold the states and gradients of every microbatch at both ends", "[bytes]") {
    constexpr std::uint64_t s = 32;
    constexpr std::uint64_t b = 3;
    for (const std::uint64_t vpp : {1U, 3U}) {
        const floptally::parallel_sizes sizes{.tp = 4, .pp = 2, .vpp = vpp};
        memory_options frees;
        frees.microbatches = 4;
        frees.ranks.tensor.sequence_parallel = true;
        memory_options keeps = frees;
        keeps.keeps_messages = true;

        const std::uint64_t states = s * b * h / sizes.tp;  // elements of one message of one rank
        std::vector<std::uint64_t> elements(sizes.pp, 0);
        const std::uint64_t chunks = sizes.pp * vpp;
        for (std::uint64_t microbatch = 0; microbatch < frees.microbatches; ++microbatch) {
            for (std::uint64_t chunk = 0; chunk + 1 < chunks; ++chunk) {
                elements[chunk % sizes.pp] += states;        // the states that the stage has sent
                elements[(chunk + 1) % sizes.pp] += states;  // and the next one has received
                elements[chunk % sizes.pp] += states;        // their gradients
            }
            elements[(chunks - 1) % sizes.pp] += s * b * vocabulary / sizes.tp;  // logits
        }
        for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
            const std::uint64_t rank = stage * sizes.tp;
            CHECK(held(gpt(), s, b, sizes, keeps, {}, rank).buffers -
                      held(gpt(), s, b, sizes, frees, {}, rank).buffers ==
                  2 * elements[stage]);
        }
    }
    memory_options alone;
    alone.keeps_messages = true;
    CHECK(held(gpt(), s, b, {}, alone).buffers == held(gpt(), s, b, {}).buffers);  // one stage sends nothing
}

}  // namespace rank_memory_test

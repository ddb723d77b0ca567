// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <floptally/floptally.hpp>
#include <floptally/input.hpp>

/// @file
/// The examples of the docs and each part of a model as constants.

namespace {

using namespace floptally;

constexpr tally batch_of(const mask_set& masks, std::uint32_t length) {
    tally batch{masks};
    batch.add(sequence{.length = length});
    return batch;
}

// README.md
constexpr flops three_documents() {
    tally step{presets::mistral_7b.cost().masks()};
    step.add_cu_seqlens({0, 700, 6000, 8100});
    return evaluate(presets::mistral_7b.cost(), step).total();
}
static_assert(three_documents() == 370'374'931'906'560);

// docs/tutorial_cpp.md
static_assert(presets::mistral_7b.cost().parameters() == 7'241'732'096);

// docs/cpp.md
constexpr bool counts_llama() {
    const flop_counter model(presets::llama_3_8b);
    const tally batch = batch_of(model.masks(), 8192);
    const breakdown work = model.evaluate(batch);
    const breakdown swapped = evaluate(presets::llama_3_8b, batch);
    return work.total() == 421'651'971'833'856 && work.total(view::executed) == 430'449'138'597'888 &&
           work["mlp"].total(view::useful) == 277'076'930'199'552 && model.total_flops(batch) == work.total() &&
           swapped.total() == work.total() && to_double(work.total()) / 1e12 > 421.65;
}
static_assert(counts_llama());
constexpr transformer<> flat{.hidden_size = 4096,
                             .num_layers = 32,
                             .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
                             .feed_forward = {.intermediate_size = 100},
                             .vocab = {.size = 50}};
static_assert(flat.cost().parameters() == 32 * (2 * 4096 * 4096 + 2 * 1024 * 4096 + 3 * 4096 * 100) + 2 * 50 * 4096);
constexpr constant_cost rows = presets::llama_3_8b.cost();
static_assert(rows.parameters() == 8'030'261'248);

// docs/plans.md
constexpr bool counts_plans() {
    const training_plan lora{
        .recomputed = recompute::full,
        .weights = {
            {"*", weight_state::frozen}, {"*/q_proj", weight_state::lora, 16}, {"*/v_proj", weight_state::lora, 16}}};
    transformer<> model = flat;
    model.num_layers = 2;  // clang takes at most 2^20 steps for a constant
    const flop_counter step(model, conventions::exact, lora);
    const flop_counter full(model);
    const tally batch = batch_of(step.masks(), 4096);
    const training_plan forward_only{.counted = counted_passes::forward};
    breakdown work = step.evaluate(batch);
    work += evaluate(model, batch, conventions::exact, forward_only).with_prefix("reference.");
    return step.total_flops(batch) < full.total_flops(batch) && work.total() > step.total_flops(batch);
}
static_assert(counts_plans());
constexpr bool adds_an_adapter() {
    cost sum;
    const value::set narrow = value::local(0);
    sum.add("adapter",
            linear{.in_features = 64, .out_features = 8, .weight = "down", .reads = value::stream, .writes = narrow});
    sum.add("adapter", linear{.in_features = 8, .out_features = 64, .weight = "up", .reads = narrow});
    return sum.parameters() == 2 * 64 * 8;
}
static_assert(adds_an_adapter());

// docs/counting.md
constexpr bool counts_grids() {
    tally images{mask_set{mask::grid_windows(8), mask::joint_pairs({.side = 2})}};
    images.add(grid{1, 32, 48, 77}, grid{1, 64, 64, 512});
    return images.pairs(view::useful, mask::grid_windows(8)) == std::uint64_t{32} * 48 * 64;
}
static_assert(counts_grids());

// Each part of docs/extending.md's table, with the fewest fields and with those that change its cost.
constexpr layer third{.index = 2, .hidden_size = 64};
template <class... Parts>
constexpr bool are_constants(const Parts&... parts) {
    return ((parts.cost(third).parameters() > 0) && ...);
}
static_assert(are_constants(gqa{.num_heads = 4, .num_kv_heads = 2, .head_dim = 16},
                            gqa{.num_heads = 4, .num_kv_heads = 2, .head_dim = 16, .gate_size = 4, .fused_qkv = true},
                            mha{.num_heads = 4, .head_dim = 16}, mqa{.num_heads = 4, .head_dim = 16},
                            cross_attention{.num_heads = 4, .num_kv_heads = 2, .head_dim = 16, .context_size = 32}));
constexpr mla latent{
    .num_heads = 4, .q_lora_rank = 8, .kv_lora_rank = 8, .qk_nope_head_dim = 8, .qk_rope_head_dim = 4, .v_head_dim = 8};
constexpr mla absorbed{
    .num_heads = 4, .kv_lora_rank = 8, .qk_nope_head_dim = 8, .v_head_dim = 8, .absorbed = true, .gate_size = 2};
static_assert(
    are_constants(latent, absorbed, lightning_indexer{.num_heads = 4, .head_dim = 8, .query_size = 8},
                  lightning_indexer{.num_heads = 4, .head_dim = 8, .query_size = 8, .compress_ratio = 4},
                  compressed_attention{
                      .num_heads = 4, .head_dim = 8, .q_lora_rank = 8, .window = 16, .o_groups = 2, .o_lora_rank = 4},
                  compressed_attention{.num_heads = 4,
                                       .head_dim = 8,
                                       .q_lora_rank = 8,
                                       .window = 16,
                                       .compress_ratio = 4,
                                       .best_keys = 3,
                                       .o_groups = 2,
                                       .o_lora_rank = 4}));
static_assert(are_constants(hyper_connections{.streams = 4}, stream_head{.streams = 4},
                            gated_streams{.streams = 4, .rank = 2}));
static_assert(are_constants(
    gated_delta_net{.num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 8, .value_head_dim = 8, .conv_kernel = 4},
    kda{.num_heads = 4, .head_dim = 8, .conv_kernel = 4}, lightning_attention{.num_heads = 4, .head_dim = 8},
    mlstm{.num_heads = 4, .key_head_dim = 8, .value_head_dim = 8}, rwkv_time_mix{.attention_size = 64},
    rwkv_channel_mix{.intermediate_size = 8}));
static_assert(are_constants(mamba{.inner_size = 64, .state_size = 8, .dt_rank = 4, .conv_kernel = 4},
                            mamba2{.num_heads = 4, .head_dim = 8, .n_groups = 2, .state_size = 8, .conv_kernel = 4},
                            rg_lru{.lru_width = 64, .num_blocks = 4, .conv_kernel = 4},
                            short_convolution{.conv_kernel = 4}));
constexpr moe experts{.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 16};
constexpr moe all_of_moe{.num_experts = 8,
                         .num_experts_per_tok = 2,
                         .intermediate_size = 16,
                         .shared_intermediate_size = 8,
                         .shared_expert_gate = true,
                         .latent_size = 32,
                         .zero_experts = 2};
static_assert(are_constants(
    mlp{.intermediate_size = 8}, gated_mlp{.intermediate_size = 8}, experts, all_of_moe,
    dense_first<gated_mlp, moe>{.num_dense_layers = 3, .dense = {.intermediate_size = 8}, .sparse = experts},
    dense_first<gated_mlp, moe>{.num_dense_layers = 1, .dense = {.intermediate_size = 8}, .sparse = experts}));
static_assert(are_constants(triangle_multiplication{.width = 16}, triangle_attention{.num_heads = 4, .head_dim = 8},
                            outer_product_mean{.width = 8, .pair_size = 16},
                            pair_weighted_average{.num_heads = 4, .head_dim = 8, .pair_size = 16},
                            alignment_attention{.num_heads = 4, .head_dim = 8, .pair_size = 16},
                            pair_biased_attention{.num_heads = 4, .head_dim = 8, .pair_size = 16}));
constexpr vocabulary words{.size = 50, .padded_size = 64, .tied = true, .positions = 16};
static_assert(words.embedding_cost(64).parameters() > 0 && !words.head_cost(64).entries().empty());
constexpr cost depths(bool projects) {
    const multi_token_prediction predicted{.num_layers = 2, .projects = projects};
    return predicted.cost(gated_mlp{.intermediate_size = 8}.cost(third), 64, words);
}
static_assert(depths(true).parameters() > depths(false).parameters());
static_assert(presets::gpt_oss_20b.cost().parameters() > 20'000'000'000 &&
              presets::mixtral_8x7b.cost().parameters() == 46'702'792'704);

}  // namespace

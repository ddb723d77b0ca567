// SPDX-License-Identifier: Apache-2.0
//
// The work of each rank of a model, against the matmuls that it would run, listed by their split shapes; and all ranks
// together against the whole model.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/trained_parameters.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/parallel/rank_work.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "matmul_trace.hpp"
#include "sanitized.hpp"
#include "traced.hpp"

namespace rank_work_test {
namespace {

using namespace floptally;
using matmul_trace::place;
using matmul_trace::sequence_list;
using matmul_trace::step;

// ---- the matmuls of one rank ----

/// A rank of tensor parallelism that walks its part of a step: of what all ranks run alike, `useful` is its part.
struct walker {
    step& trace;
    const sequence_list& sequences;
    std::uint64_t tp;
    std::uint64_t tp_rank;
    bool useful;
    bool sequence_parallel = false;

    [[nodiscard]] std::uint64_t tokens() const { return matmul_trace::tokens_of(sequences); }

    /// Y = X·W with a whole W on every rank. Its part of the tokens is written as a part of the width.
    void replicated(std::string_view component, std::uint64_t in, std::uint64_t out) const {
        trace.weight(component, tokens(), useful || sequence_parallel ? in / tp : in, out);
    }
    void column_parallel(std::string_view component, std::uint64_t in, std::uint64_t out) const {
        trace.weight(component, tokens(), in, out / tp);
    }
    void row_parallel(std::string_view component, std::uint64_t in, std::uint64_t out) const {
        trace.weight(component, tokens(), in / tp, out);
    }

    void attention(std::uint64_t hidden, std::uint64_t heads, std::uint64_t kv_heads, std::uint64_t head_dim,
                   const matmul_trace::pair_statistic& pairs, bool gathered = false) const {
        column_parallel("attention.qkv", hidden, heads * head_dim);
        const bool replicas = kv_heads < tp && !useful && !gathered;
        const std::uint64_t columns = replicas ? head_dim : kv_heads * head_dim / tp;
        trace.weight("attention.qkv", tokens(), hidden, columns);
        trace.weight("attention.qkv", tokens(), hidden, columns);
        matmul_trace::attention_core(trace, "attention.core", sequences, heads / tp, head_dim, head_dim, pairs);
        row_parallel("attention.output", heads * head_dim, hidden);
    }

    void mlp(std::string_view component, std::uint64_t hidden, std::uint64_t intermediate, bool gated) const {
        column_parallel(component, hidden, intermediate);
        if (gated) {
            column_parallel(component, hidden, intermediate);
        }
        row_parallel(component, intermediate, hidden);
    }

    /// Entries rank·slice … of a vocabulary, the last of which may not be real.
    void lm_head(std::uint64_t hidden, std::uint64_t vocabulary, std::uint64_t padded) const {
        std::uint64_t rows = 0;
        for (std::uint64_t entry = padded / tp * tp_rank; entry < padded / tp * (tp_rank + 1); ++entry) {
            rows += !useful || entry < vocabulary ? 1 : 0;
        }
        trace.weight("lm_head", tokens(), hidden, rows, place::after_layers);
    }
};

struct rank_at {
    std::uint64_t pp;
    std::uint64_t tp;
};

/// Every rank's breakdown against `walk(walker, pp rank)`, in every view and phase, under every plan, on every batch.
template <class Walk>
void check_ranks(const std::vector<model_part>& model, const parallel_sizes& sizes, const rank_options& options,
                 Walk walk) {
    const std::uint64_t world = sizes.dp * sizes.cp * sizes.tp * sizes.pp;
    const mask_set masks = cost_of(model).masks();
    for (std::uint64_t rank = 0; rank < world; ++rank) {
        const parallel_layout layout(sizes, world, rank);
        const parallel_coordinates where = layout.coordinates();
        const std::vector<model_part> stages = rank_parts(model, layout, options);
        INFO("tp " << where.tp << " of " << sizes.tp << ", pp " << where.pp << " of " << sizes.pp);
        for (const matmul_trace::padded_batch& sequences : matmul_trace::mixed_batches()) {
            step real;
            step slots;
            const bool parallel = options.tensor.sequence_parallel;
            walk(walker{real, sequences.real, sizes.tp, where.tp, true, parallel}, where.pp);
            walk(walker{slots, sequences.slots, sizes.tp, where.tp, false, parallel}, where.pp);
            const tally batch = matmul_trace::tally_of(masks, sequences);
            for (const training_plan& plan : traced::every_plan()) {
                const breakdown counted = evaluate(stages, batch, conventions::exact, plan);
                REQUIRE(matmul_trace::mismatches(counted, real, slots, plan) == "");
            }
        }
    }
}

// ---- models ----

constexpr std::uint64_t hidden = 16;

transformer<gqa, gated_mlp> dense_model(std::uint64_t kv_heads, std::uint64_t padded_vocab_size = 0) {
    return {.hidden_size = hidden,
            .num_layers = 6,
            .attention = {.num_heads = 8, .num_kv_heads = kv_heads, .head_dim = 8, .elementwise = {.norm = 16}},
            .feed_forward = {.intermediate_size = 24},
            .vocab = {.size = 37, .padded_size = padded_vocab_size, .tied = true},
            .masks = layer_masks::period({mask::sliding_window(4), mask::sliding_window(4), mask::causal()}),
            .layer_elementwise = {.norm = 2 * hidden},
            .final_elementwise = {.norm = hidden}};
}

void walk_dense(const walker& rank, const std::vector<std::uint64_t>& layers, bool last, std::uint64_t kv_heads,
                std::uint64_t padded, bool gathered = false) {
    for (const std::uint64_t layer : layers) {
        const auto pairs = layer % 3 == 2 ? matmul_trace::causal() : matmul_trace::sliding_window(4);
        rank.attention(hidden, 8, kv_heads, 8, pairs, gathered);
        rank.mlp("mlp", hidden, 24, true);
    }
    if (last) {
        rank.lm_head(hidden, 37, padded);
    }
}

using latent_model = transformer<mla, dense_first<gated_mlp, moe>>;

latent_model sparse_model() {
    return {.hidden_size = hidden,
            .num_layers = 4,
            .attention = {.num_heads = 4,
                          .q_lora_rank = 12,
                          .kv_lora_rank = 8,
                          .qk_nope_head_dim = 4,
                          .qk_rope_head_dim = 2,
                          .v_head_dim = 4,
                          .elementwise = {.norm = 20}},
            .feed_forward = {.num_dense_layers = 1,
                             .dense = {.intermediate_size = 20},
                             .sparse = {.num_experts = 8,
                                        .num_experts_per_tok = 2,
                                        .intermediate_size = 8,
                                        .shared_intermediate_size = 12,
                                        .shared_expert_gate = true}},
            .vocab = {.size = 50},
            .layer_elementwise = {.norm = 2 * hidden},
            .final_elementwise = {.norm = hidden}};
}

/// The model with one depth of multi-token prediction after its head.
std::vector<model_part> with_mtp(const latent_model& model) {
    std::vector<model_part> stages = parts_of(model);
    const layer last{model.num_layers - 1, hidden, mask::causal()};
    const cost parts[] = {model.attention.cost(last), model.feed_forward.cost(last)};
    multi_token_prediction{.num_layers = 1}.for_each_part(
        parts, hidden, model.vocab, [&](const model_part& model_piece) { stages.push_back(model_piece); });
    return stages;
}

void walk_latent_layer(const walker& rank, bool dense) {
    rank.replicated("attention.qkv", hidden, 12);
    rank.column_parallel("attention.qkv", 12, 4 * 6);
    rank.replicated("attention.qkv", hidden, 8 + 2);
    rank.column_parallel("attention.qkv", 8, 4 * (4 + 4));
    matmul_trace::attention_core(rank.trace, "attention.core", rank.sequences, 4 / rank.tp, 6, 4,
                                 matmul_trace::causal());
    rank.row_parallel("attention.output", 4 * 4, hidden);
    if (dense) {
        rank.mlp("mlp", hidden, 20, true);
        return;
    }
    rank.replicated("moe.router", hidden, 8);
    for (int choice = 0; choice < 2; ++choice) {
        rank.mlp("moe.experts", hidden, 8, true);
    }
    rank.mlp("moe.shared", hidden, 12, true);
    rank.replicated("moe.shared", hidden, 1);
}

void walk_sparse(const walker& rank, const std::vector<std::uint64_t>& layers, bool last, std::uint64_t padded) {
    for (const std::uint64_t layer : layers) {
        walk_latent_layer(rank, layer == 0);
    }
    if (last) {
        rank.lm_head(hidden, 50, padded);
        step depth;
        const walker inside{depth, rank.sequences, rank.tp, rank.tp_rank, rank.useful, rank.sequence_parallel};
        inside.column_parallel("mtp", 2 * hidden, hidden);
        walk_latent_layer(inside, false);
        inside.lm_head(hidden, 50, padded);
        rank.trace.append_as("mtp", depth);
    }
}

// ---- all ranks together ----

tally mixed_tally(const mask_set& masks, std::size_t which) {
    const auto& batches = matmul_trace::mixed_batches();
    return matmul_trace::tally_of(masks, batches[which % batches.size()]);
}

/// Over all ranks, those of dp x cp with batches of their own, against the model over all batches.
void check_sum(const std::vector<model_part>& model, const parallel_sizes& sizes, const rank_options& options,
               const convention& how, const training_plan& plan) {
    const std::uint64_t world = sizes.dp * sizes.cp * sizes.tp * sizes.pp;
    const flop_counter whole(model, how, plan);
    breakdown all_ranks;
    tally all{whole.masks()};
    for (std::uint64_t rank = 0; rank < world; ++rank) {
        const parallel_layout layout(sizes, world, rank);
        const parallel_coordinates where = layout.coordinates();
        const tally own = mixed_tally(whole.masks(), where.dp * sizes.cp + where.cp);
        all_ranks += flop_counter(rank_parts(model, layout, options), how, plan).evaluate(own);
        if (where.tp == 0 && where.pp == 0) {
            all += own;
        }
    }
    const breakdown expected = whole.evaluate(all);
    INFO(how.name << ": dp " << sizes.dp << " cp " << sizes.cp << " tp " << sizes.tp << " pp " << sizes.pp << " vpp "
                  << sizes.vpp << " ep " << sizes.ep);
    for (const component_flops& component : expected.components()) {
        INFO(component.name.view());
        for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
            REQUIRE(all_ranks[component.name.view()].get(view::useful, during) == component.get(view::useful, during));
        }
    }
    REQUIRE(all_ranks.total() == expected.total());
    REQUIRE(all_ranks.components().size() == expected.components().size());
}

}  // namespace

TEST_CASE("tp and pp ranks of a dense model run the matmuls of their sharded shapes") {
    const std::vector<std::vector<std::uint64_t>> thirds{{0, 1}, {2, 3}, {4, 5}};
    const std::vector<std::vector<std::uint64_t>> interleaved{{0, 3}, {1, 4}, {2, 5}};
    std::size_t number = 0;
    for (const std::uint64_t tp : {1U, 2U, 4U, 8U}) {
        for (const std::uint64_t kv_heads : {8U, 2U}) {
            if (skipped_when_sanitized(number++, 5)) {
                continue;
            }
            const std::vector<model_part> model = parts_of(dense_model(kv_heads));
            const std::uint64_t padded = tp == 8 ? 40 : tp == 4 ? 40 : tp == 2 ? 38 : 37;
            check_ranks(model, {.tp = tp, .pp = 3}, {}, [&](const walker& rank, std::uint64_t pp) {
                walk_dense(rank, thirds[pp], pp == 2, kv_heads, padded);
            });
            check_ranks(model, {.tp = tp, .pp = 3, .vpp = 2}, {.tensor = {.kv = few_kv_heads::gathered}},
                        [&](const walker& rank, std::uint64_t pp) {
                            walk_dense(rank, interleaved[pp], pp == 2, kv_heads, padded, true);
                        });
        }
    }
}

TEST_CASE("FLOPs of ranks are counted for uneven pipelines, empty model chunks and a vocabulary padded for tp") {
    const std::vector<std::vector<std::uint64_t>> layers{{0, 4, 5}, {}, {1, 2, 3}};
    const rank_options options{.layers_of_chunks = {1, 0, 3, 2, 0, 0}, .tensor = {.make_vocab_size_divisible_by = 16}};
    std::size_t number = 0;
    for (const std::uint64_t tp : {1U, 2U, 4U}) {
        if (skipped_when_sanitized(++number, 3)) {
            continue;
        }
        const std::uint64_t padded = tp == 4 ? 64 : tp == 2 ? 64 : 48;
        check_ranks(parts_of(dense_model(2)), {.tp = tp, .pp = 3, .vpp = 2}, options,
                    [&](const walker& rank, std::uint64_t pp) { walk_dense(rank, layers[pp], pp == 2, 2, padded); });
    }
}

TEST_CASE("ranks of a model with latent attention, experts and MTP run the matmuls of their sharded shapes") {
    const std::vector<model_part> model = with_mtp(sparse_model());
    std::size_t number = 0;
    for (const bool sequence_parallel : {false, true}) {
        for (const std::uint64_t tp : {1U, 2U, 4U}) {
            if (skipped_when_sanitized(number++, 4)) {
                continue;
            }
            const std::uint64_t padded = tp == 4 ? 52 : 50;
            check_ranks(model, {.tp = tp, .pp = 2}, {.layers_of_chunks = {3, 1}, .tensor = {sequence_parallel}},
                        [&](const walker& rank, std::uint64_t pp) {
                            walk_sparse(rank,
                                        pp == 0 ? std::vector<std::uint64_t>{0, 1, 2} : std::vector<std::uint64_t>{3},
                                        pp == 1, padded);
                        });
        }
    }
}

TEST_CASE("tensor parallelism shards a fused qkv matrix by heads") {
    transformer<gqa, gated_mlp> model = dense_model(2);
    model.attention.fused_qkv = true;
    model.feed_forward.fused_gate_up = true;
    std::size_t number = 0;
    for (const std::uint64_t tp : {1U, 2U, 4U, 8U}) {
        if (skipped_when_sanitized(++number, 4)) {
            continue;
        }
        check_ranks(parts_of(model), {.tp = tp}, {}, [&](const walker& rank, std::uint64_t) {
            walk_dense(rank, {0, 1, 2, 3, 4, 5}, true, 2, tp == 1 ? 37 : tp == 2 ? 38 : 40);
        });
    }
}

TEST_CASE("a fused qkv matrix can be sharded for every tp size that separate matrices allow") {
    const auto of_ranks = [](bool fused) {
        const gqa attention{.num_heads = 4, .num_kv_heads = 1, .head_dim = 1, .fused_qkv = fused};
        const std::vector<model_part> whole{{.name = "layer", .cost = attention.cost({.hidden_size = 5})}};
        cost all;
        for (std::uint64_t rank = 0; rank < 4; ++rank) {
            const std::vector<model_part> own = tensor_parts(whole, 4, rank);
            all += cost_of({own.data(), own.size()});
        }
        return all;
    };
    const cost fused = of_ranks(true);
    const cost separate = of_ranks(false);
    tally batch(fused.masks());
    batch.add_lengths(std::vector<int>{7});
    CHECK(fused.parameters() == separate.parameters());
    CHECK(evaluate(fused, batch).total(view::padded) == evaluate(separate, batch).total(view::padded));
    CHECK(evaluate(fused, batch).total(view::useful) == evaluate(separate, batch).total(view::useful));
}

TEST_CASE("useful FLOPs of all ranks add up to those of the model in every phase and convention") {
    const std::vector<model_part> dense = parts_of(dense_model(2));
    const std::vector<model_part> sparse = with_mtp(sparse_model());
    const std::vector<parallel_sizes> layouts{{.dp = 2, .tp = 2},
                                              {.cp = 2, .tp = 4, .pp = 2},
                                              {.dp = 2, .cp = 2, .tp = 2, .pp = 2, .ep = 4},
                                              {.dp = 4, .pp = 2, .ep = 2},
                                              {.pp = 1, .vpp = 2}};
    for (const convention* how : conventions::all) {
        if (how->parameters == counted_weights::stored) {
            continue;  // counts what is stored, and every rank stores its norms
        }
        for (const parallel_sizes& sizes : layouts) {
            check_sum(dense, sizes, {.tensor = {.make_vocab_size_divisible_by = 8}}, *how, {});
            check_sum(sparse, sizes, {}, *how, {});
        }
    }
    // A pipeline alone stores everything once, so that this holds for stored weights too.
    check_sum(dense, {.pp = 3}, {}, conventions::hf_6nd, {});
    check_sum(sparse, {.pp = 4}, {}, conventions::hf_6nd, {});
}

TEST_CASE("the gradient for a trained weight on an earlier pipeline rank passes through all ranks in between") {
    const std::vector<model_part> dense = parts_of(dense_model(2));
    const std::vector<model_part> sparse = with_mtp(sparse_model());
    const auto frozen = [](const char* weights, std::uint64_t first, std::uint64_t last) {
        return weight_setting{
            .weights = weights, .state = weight_state::frozen, .first_layer = first, .last_layer = last};
    };
    const weight_setting adapters{.weights = "*", .state = weight_state::lora, .rank = 4};
    const weight_setting no_tables{.weights = "embedding", .state = weight_state::frozen};
    const weight_setting no_head{.weights = "lm_head", .state = weight_state::frozen};
    const std::vector<training_plan> plans{
        {.weights = {frozen("*", 2, 5)}},
        {.weights = {frozen("*", 0, 1), no_tables, no_head}},
        {.weights = {adapters}},
        {.weights = {{.weights = "*", .state = weight_state::frozen},
                     {.weights = "attention.output", .state = weight_state::lora, .rank = 2, .first_layer = 1}}},
        {.recomputed = recompute::full, .recompute_every = 2},
    };
    for (const training_plan& plan : plans) {
        for (const parallel_sizes& sizes :
             {parallel_sizes{.pp = 2}, parallel_sizes{.tp = 2, .pp = 2, .vpp = 1}, parallel_sizes{.dp = 2, .tp = 4}}) {
            check_sum(dense, sizes, {}, conventions::exact, plan);
            check_sum(sparse, sizes, {}, conventions::exact, plan);
        }
    }
    // Layers 4 and 5 are frozen, on the last rank, and what is below them trains: their gradient to data is there.
    const training_plan plan{.weights = {frozen("*", 2, 5), no_head, no_tables}};
    const std::vector<model_part> last = rank_parts(dense, {{.pp = 3}, 3, 2}, {});
    const breakdown work = evaluate(last, mixed_tally(cost_of(dense).masks(), 2), conventions::exact, plan);
    CHECK(work["mlp"].get(view::useful, phase::backward_data) == work["mlp"].get(view::useful, phase::forward));
    CHECK(work["mlp"].get(view::useful, phase::backward_weights) == flops{});
}

TEST_CASE("executed FLOPs of all ranks add up to those of the model plus redundant work") {
    const auto executed = [](const std::vector<model_part>& model, const parallel_sizes& sizes,
                             const tensor_options& tensor) {
        breakdown sum;
        for (std::uint64_t rank = 0; rank < sizes.tp * sizes.pp; ++rank) {
            const parallel_layout layout(sizes, sizes.tp * sizes.pp, rank);
            sum += evaluate(rank_parts(model, layout, {.tensor = tensor}), mixed_tally(cost_of(model).masks(), 3));
        }
        return sum;
    };
    // Nothing is computed twice where heads divide and the vocabulary is padded alike: equal to the integer.
    const std::vector<model_part> dense = parts_of(dense_model(4, 40));
    const breakdown whole = evaluate(dense, mixed_tally(cost_of(dense).masks(), 3));
    CHECK(executed(dense, {.tp = 4, .pp = 2, .vpp = 3}, {}).total(view::executed) == whole.total(view::executed));
    // With 4 key and value heads on 8 ranks k and v run twice.
    const breakdown eight = executed(dense, {.tp = 8, .pp = 2}, {});
    const flops kv = evaluate(cost{}.add("kv", linear{.in_features = hidden, .out_features = 2 * 4 * 8, .applied = 6}),
                              mixed_tally({}, 3))
                         .total(view::executed);
    CHECK(eight.total(view::executed) == whole.total(view::executed) + kv);
    CHECK(eight.total(view::useful) == whole.total(view::useful));
    CHECK(executed(dense, {.tp = 8}, {.kv = few_kv_heads::gathered}).total(view::executed) ==
          whole.total(view::executed));
    // The router and MLA's down projections run on every rank, and with sequence parallelism once.
    const std::vector<model_part> sparse = parts_of(sparse_model());
    const breakdown once = evaluate(sparse, mixed_tally(cost_of(sparse).masks(), 3));
    CHECK(executed(sparse, {.tp = 2}, {.sequence_parallel = true}).total(view::executed) == once.total(view::executed));
    CHECK(executed(sparse, {.tp = 2}, {})["moe.router"].total(view::executed) ==
          2 * once["moe.router"].total(view::executed));
    CHECK(executed(sparse, {.tp = 2}, {})["moe.experts"].total(view::executed) ==
          once["moe.experts"].total(view::executed));
}

TEST_CASE("the indexer of sparse attention runs on all tokens on every tp rank") {
    const layer where{0, hidden, mask::top_k(4)};
    const mla attention{.num_heads = 4, .kv_lora_rank = 8, .qk_nope_head_dim = 4, .v_head_dim = 4};
    const lightning_indexer indexer{.num_heads = 2, .head_dim = 4, .query_size = hidden};
    const std::vector<model_part> model{
        {.name = "layer", .cost = attention.cost(where) + indexer.cost(where), .first_layer = 0}};
    const mask_set masks = cost_of(model).masks();
    const breakdown whole = evaluate(model, mixed_tally(masks, 2));
    breakdown useful;
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
        const std::vector<model_part> stages = tensor_parts(model, 2, rank, 1, {.sequence_parallel = true});
        const breakdown work = evaluate(stages, mixed_tally(masks, 2));
        CHECK(work["attention.indexer"].total(view::padded) == whole["attention.indexer"].total(view::padded));
        CHECK(2 * work["attention.core"].total(view::padded) == whole["attention.core"].total(view::padded));
        useful += work;
    }
    CHECK(useful["attention.indexer"].total(view::useful) == whole["attention.indexer"].total(view::useful));
}

TEST_CASE("latent projections of experts are replicated on every tp rank") {
    const moe experts{.num_experts = 8,
                      .num_experts_per_tok = 2,
                      .intermediate_size = 12,
                      .shared_intermediate_size = 8,
                      .latent_size = 4};
    const transformer<gqa, moe> described{.hidden_size = hidden,
                                          .num_layers = 1,
                                          .attention = {.num_heads = 4, .num_kv_heads = 4, .head_dim = 4},
                                          .feed_forward = experts,
                                          .vocab = {.size = 40}};
    std::vector<model_part> model = parts_of(described);
    const layer where{0, hidden, mask::causal()};
    const cost parts[] = {described.attention.cost(where), experts.cost(where)};
    multi_token_prediction{.num_layers = 1}.for_each_part(
        parts, hidden, described.vocab, [&](const model_part& each_part) { model.push_back(each_part); });
    const auto walk_layer = [](const walker& rank) {
        rank.attention(hidden, 4, 4, 4, matmul_trace::causal());
        rank.replicated("moe.router", hidden, 8);
        rank.replicated("moe.latent", hidden, 4);
        for (int choice = 0; choice < 2; ++choice) {
            rank.mlp("moe.experts", 4, 12, true);
        }
        rank.trace.weight("moe.latent", rank.tokens(), 4,
                          rank.useful || rank.sequence_parallel ? hidden / rank.tp : hidden);
        rank.mlp("moe.shared", hidden, 8, true);
    };
    for (const bool sequence_parallel : {false, true}) {
        for (const std::uint64_t tp : {1U, 2U, 4U}) {
            check_ranks(model, {.tp = tp}, {.tensor = {sequence_parallel}}, [&](const walker& rank, std::uint64_t) {
                walk_layer(rank);
                rank.lm_head(hidden, 40, 40);
                step depth;
                const walker inside{depth, rank.sequences, tp, rank.tp_rank, rank.useful, sequence_parallel};
                inside.column_parallel("mtp", 2 * hidden, hidden);
                walk_layer(inside);
                inside.lm_head(hidden, 40, 40);
                rank.trace.append_as("mtp", depth);
            });
        }
    }
}

TEST_CASE("recurrent states are sharded by whole heads, and the FLOPs of every convention add up over tp ranks") {
    const layer where{0, hidden, mask::causal()};
    const mamba2 scan{.num_heads = 4, .head_dim = 6, .n_groups = 2, .state_size = 3, .conv_kernel = 4};
    const gated_delta_net delta{
        .num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 3, .value_head_dim = 5, .conv_kernel = 4};
    const std::vector<model_part> model{{.name = "layer", .cost = scan.cost(where), .first_layer = 0, .repeat = 3},
                                        {.name = "layer", .cost = delta.cost(where), .first_layer = 3, .repeat = 1}};
    for (const convention* how : conventions::all) {
        if (how->parameters != counted_weights::stored) {
            check_sum(model, {.tp = 2, .pp = 2}, {}, *how, {});
        }
    }
    // Two value heads have no third part: 6 FLOPs of each element of a state stay together.
    const gated_delta_net two{
        .num_key_heads = 3, .num_value_heads = 2, .key_head_dim = 4, .value_head_dim = 2, .conv_kernel = 3};
    cost state;
    const cost of_two = two.cost(where);
    for (const cost_entry& entry : of_two.entries()) {
        if (entry.kind == term::delta_rule) {
            state.add_state("mixer.state", entry.useful / 2, term::delta_rule, 0, 0, tensor_sharding::even());
        }
    }
    const std::vector<model_part> alone{{.name = "layer", .cost = state, .first_layer = 0}};
    CHECK(error_of([&] { return tensor_parts(alone, 3, 0); }) ==
          "mixer.state: must be a multiple of tp (3), got 16 products a token");
}

TEST_CASE("a classifier head is replicated on every tp rank, and a small vocabulary is sharded") {
    const auto executed = [](const std::vector<model_part>& model, std::uint64_t rank) {
        return evaluate(tensor_parts(model, 2, rank), mixed_tally(cost_of(model).masks(), 2))["lm_head"].total(
            view::padded);
    };
    const auto head = [](const tensor_sharding& sharding) {
        cost classes;
        classes.add("lm_head",
                    linear{.in_features = hidden, .out_features = 6, .kind = term::lm_head, .sharding = sharding});
        return std::vector<model_part>{{.name = "lm_head", .role = part_role::head, .cost = classes}};
    };
    const flops whole = evaluate(head({}), mixed_tally({}, 2))["lm_head"].total(view::padded);
    const std::vector<model_part> classifier = head(tensor_sharding::replicated());
    CHECK(executed(classifier, 0) == whole);
    CHECK(executed(classifier, 1) == whole);
    const std::vector<model_part> small = head(tensor_sharding::vocabulary());
    CHECK(2 * executed(small, 0) == whole);
    CHECK(2 * executed(small, 1) == whole);
    CHECK(small[0].cost == vocabulary{.size = 6}.head_cost(hidden).with_entries([](cost_entry entry) {
        entry.flow = {};
        return entry;
    }));
    CHECK(error_of([&] { return tensor_parts(head({}), 2, 0); }) ==
          "lm_head: it is unknown how tensor parallelism splits this weight: set linear::sharding of the weight, or "
          "name the weight in tensor_options::splits");
    CHECK(error_of([&] { return tensor_parts(head(tensor_sharding::vocabulary(5)), 2, 0); }) ==
          "lm_head: the FLOPs of this entry must be a multiple of 2 x 5 (its vocabulary), got 192");
    // A table of integers is cut like the matrix to them, with or without one.
    const model_part table{
        .name = "embedding", .role = part_role::input, .cost = vocabulary{.size = 6}.embedding_cost(hidden)};
    CHECK(2 * trained_parameters(tensor_parts({&table, 1}, 2, 0), {}).stored == 6 * hidden);
}

TEST_CASE("each rank counts its shard of the weights as stored") {
    const std::vector<model_part> sparse = parts_of(sparse_model());
    const auto stored = [&sparse](const parallel_sizes& sizes, std::uint64_t rank) {
        const std::uint64_t world = sizes.dp * sizes.tp * sizes.pp;
        return trained_parameters(rank_parts(sparse, {sizes, world, rank}), {}).stored;
    };
    const std::uint64_t all = cost_of(sparse).parameters();
    CHECK(stored({}, 0) == all);
    CHECK(stored({.pp = 2}, 0) + stored({.pp = 2}, 1) == all);
    // Three layers of 8 experts, three matrices each: 1 / ep of them.
    const std::uint64_t experts = 3 * 8 * 3 * hidden * 8;
    CHECK(stored({.dp = 4, .ep = 4}, 0) == all - experts + experts / 4);
    latent_model measured = sparse_model();
    measured.feed_forward.sparse.routed_is_measured = true;
    CHECK(trained_parameters(tensor_parts(parts_of(measured), 2, 0, 4), {}).stored ==
          trained_parameters(tensor_parts(sparse, 2, 0, 4), {}).stored);
    const std::vector<model_part> deeper = with_mtp(sparse_model());
    CHECK(trained_parameters(tensor_parts(deeper, 1, 0, 4), {}).stored ==
          cost_of(deeper).parameters() - 4 * (experts / 3 - experts / 12));
    // An adapter of each expert's three matrices goes with its expert, and is split by tp.
    const training_plan lora{.weights = {{"*", weight_state::frozen}, {"moe.experts", weight_state::lora, 3}}};
    const auto adapters = [&](const parallel_sizes& sizes, std::uint64_t rank) {
        return trained_parameters(rank_parts(sparse, {sizes, sizes.dp * sizes.tp, rank}), lora).adapters;
    };
    const std::uint64_t all_adapters = 3 * 8 * 3 * 3 * (hidden + 8);
    CHECK(adapters({}, 0) == all_adapters);
    CHECK(adapters({.dp = 4, .ep = 4}, 1) == all_adapters / 4);
    CHECK(adapters({.tp = 2}, 0) + adapters({.tp = 2}, 1) == all_adapters);
    // Whole on both ranks: norms, the router, the shared expert's gate, MLA's down projections.
    const std::uint64_t twice = hidden + 4 * (2 * hidden + 20) + 3 * (hidden * 8 + hidden) + 4 * hidden * (12 + 10);
    CHECK(stored({.tp = 2}, 0) + stored({.tp = 2}, 1) == all + twice);
}

TEST_CASE("measured expert visits are counted once, by the ranks that have the experts") {
    latent_model described = sparse_model();
    described.feed_forward.sparse.routed_is_measured = true;
    const std::vector<model_part> model = parts_of(described);
    const mask_set masks = cost_of(model).masks();
    // Rank 0 runs layers 0 (dense) and 1, rank 1 layers 2 and 3: each knows the visits to its own experts only.
    const std::uint64_t visits[] = {31, 57};
    tally tokens{masks};
    tokens.add_lengths(std::vector<std::uint32_t>{7, 12, 1});
    breakdown all_ranks;
    tally all = tokens;
    for (std::uint64_t pp = 0; pp < 2; ++pp) {
        tally own = tokens;
        own.add_routed({.useful = visits[pp]});
        all.add_routed({.useful = visits[pp]});
        for (std::uint64_t tp = 0; tp < 2; ++tp) {
            const parallel_sizes sizes{.tp = 2, .pp = 2};
            const breakdown work = evaluate(rank_parts(model, {sizes, 4, 2 * pp + tp}), own);
            // Three matrices, of which a tensor parallel rank has half.
            CHECK(work["moe.experts"].get(view::useful, phase::forward) ==
                  flops{visits[pp] * 2 * 3 * hidden * (8 / 2)});
            all_ranks += work;
        }
    }
    CHECK(all_ranks["moe.experts"].total(view::useful) == evaluate(model, all)["moe.experts"].total(view::useful));
    CHECK(all_ranks.total() == evaluate(model, all).total());
    // A rank without experts needs no visits, and the statistics of the head are the last rank's alone.
    const std::vector<model_part> first = rank_parts(model, {{.pp = 4}, 4, 0});
    CHECK_FALSE(evaluate(first, tokens).total() == flops{});
    const breakdown of_first = evaluate(first, tokens);
    for (const component_flops& component : of_first.components()) {
        CHECK(component.name.view() != "lm_head");
        CHECK(component.name.view() != "moe.experts");
    }
}

TEST_CASE("MFU divides totals reduced over the data-parallel group by the peak of all ranks") {
    const std::vector<model_part> model = parts_of(dense_model(2));
    const parallel_sizes sizes{.dp = 2, .cp = 2, .tp = 2, .pp = 3};
    const std::uint64_t world = 24;
    const flop_counter whole(model);
    tally over_data{whole.masks()};
    tally over_all{whole.masks()};
    flops by_ranks;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
        const parallel_layout layout(sizes, world, rank);
        const parallel_coordinates where = layout.coordinates();
        const tally own = mixed_tally(whole.masks(), where.dp * 2 + where.cp);
        over_all += own;
        by_ranks += evaluate(rank_parts(model, layout), own).total();
    }
    const parallel_layout first(sizes, world, 0);
    for (const std::uint64_t rank : first.group(parallel_axis::dp | parallel_axis::cp)) {
        const parallel_coordinates where = first.at(rank).coordinates();
        over_data += mixed_tally(whole.masks(), where.dp * 2 + where.cp);
    }
    // The ranks' own work is that of the model over the data parallel group: all ranks' tallies are tp·pp times it.
    CHECK(by_ranks == whole.total_flops(over_data));
    CHECK(whole.total_flops(over_all) == 6 * by_ranks);
    const measurement step{.seconds = 0.5, .gpus = world, .peak_tflops = 1e-6};
    const double mfu = utilize(whole.evaluate(over_data), over_data, step).mfu;
    CHECK(mfu == Approx(to_double(by_ranks) / (0.5 * 24 * 1e6)).epsilon(1e-15));
}

TEST_CASE("a size that tensor parallelism cannot divide is an error that names the size") {
    const auto split = [](const std::vector<model_part>& model, std::uint64_t tp, const tensor_options& how = {}) {
        return error_of([&] { return tensor_parts(model, tp, 0, 1, how); });
    };
    CHECK(split(parts_of(dense_model(2)), 3) ==
          "num_attention_heads: must be a multiple of tp (3), got 8 (attention.qkv/q_proj)");
    CHECK(split(parts_of(dense_model(8)), 16) ==
          "num_attention_heads: must be a multiple of tp (16), got 8 (attention.qkv/q_proj)");
    transformer<gqa, gated_mlp> odd = dense_model(2);
    odd.attention.num_heads = 12;
    odd.attention.num_kv_heads = 3;
    CHECK(split(parts_of(odd), 2) ==
          "num_key_value_heads: must be a multiple or a divisor of tp (2), got 3 (attention.qkv/k_proj)");
    CHECK(split(parts_of(odd), 6) == "no error");
    odd.attention.fused_qkv = true;
    CHECK(split(parts_of(odd), 2) ==
          "num_key_value_heads: must be a multiple or a divisor of tp (2), got 3 (attention.qkv/qkv_proj)");
    // Three heads beside one: of a model with several kinds of attention the error says which it is.
    odd.attention.num_heads = 3;
    odd.attention.num_kv_heads = 1;
    CHECK(split(parts_of(odd), 2) ==
          "num_attention_heads: must be a multiple of tp (2), got 3 (attention.qkv/qkv_proj)");
    transformer<gqa, gated_mlp> narrow = dense_model(8);
    narrow.feed_forward.intermediate_size = 18;
    CHECK(split(parts_of(narrow), 4) == "intermediate_size: must be a multiple of tp (4), got 18 (mlp/gate_proj)");
    latent_model experts = sparse_model();
    experts.feed_forward.sparse.num_experts = 6;
    CHECK(error_of([&] { return tensor_parts(parts_of(experts), 1, 0, 4); }) ==
          "num_experts: must be a multiple of ep (4), got 6 (moe.experts/gate_proj)");
    experts = sparse_model();
    experts.feed_forward.sparse.shared_intermediate_size = 10;
    CHECK(split(parts_of(experts), 4) ==
          "shared_expert_intermediate_size: must be a multiple of tp (4), got 10 (moe.shared/gate_proj)");
    CHECK(split(parts_of(dense_model(2)), 0) == "tp: must be at least 1, got 0");
    CHECK(split(parts_of(dense_model(2)), 1, {.make_vocab_size_divisible_by = 0}) ==
          "make_vocab_size_divisible_by: must be at least 1, got 0");
    CHECK(error_of([] { return tensor_parts({}, 2, 2); }) == "tp_rank: must be below tp, 2, got 2");
    CHECK(error_of([] { return tensor_parts({}, 2, 1, 0); }) == "ep: must be at least 1, got 0");
    CHECK(error_of([] {
              return rank_parts(parts_of(dense_model(2)), {{.pp = 2, .vpp = 2}, 2, 0}, {.layers_of_chunks = {3, 3}});
          }) == "layers_of_chunks: must have pp x vpp numbers, 4, got 2");
}

TEST_CASE("each rank runs a whole number of multiply-adds even if matrix or adapter sizes are not multiples of tp") {
    for (const tensor_sharding& sharding : {tensor_sharding::replicated(), tensor_sharding::experts(2, 3)}) {
        cost whole;
        whole.add("mlp",
                  linear{.in_features = 5, .out_features = 3, .stored = 2, .weight = "up_proj", .sharding = sharding});
        const std::vector<model_part> parts{{.name = "layer", .cost = whole}};
        adapter sum{};
        std::uint64_t useful = 0;
        for (const std::uint64_t rank : {0U, 1U}) {
            const std::vector<model_part> own = tensor_parts(parts, 2, rank, 1, {.sequence_parallel = true});
            const cost_entry entry = own.at(0).cost.entries()[0];
            for (const std::uint64_t flops : {entry.useful, entry.padded, entry.per_rank.in, entry.per_rank.out}) {
                CHECK(flops % 2 == 0);
            }
            CHECK(entry.padded == entry.useful);
            CHECK(entry.per_rank.padded_out == entry.per_rank.out);
            useful += entry.useful;
            sum.in += entry.per_rank.in;
            sum.out += entry.per_rank.out;
        }
        CHECK(useful == 2 * 5 * 3);
        CHECK(sum.in == 2 * 5);
        CHECK(sum.out == 2 * 3);
    }
}

namespace {

/// A user's own attention with names of its own: queries and keys from one matrix, values from another, and an output.
/// As many products as `gqa` has.
struct own_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t num_kv_heads = 0;
    std::uint64_t head_dim = 0;
    bool says_how = true;

    [[nodiscard]] floptally::cost cost(const layer& where) const {
        const auto said = [this](const tensor_sharding& sharding) { return says_how ? sharding : tensor_sharding{}; };
        const value::set q = value::local(0);
        const value::set k = value::local(1);
        const value::set v = value::local(2);
        const value::set seen = value::local(3);
        const auto from_stream = [&](std::uint64_t heads, const char* weight, value::set writes,
                                     const tensor_sharding& sharding) {
            return linear{.in_features = where.hidden_size,
                          .out_features = heads * head_dim,
                          .weight = weight,
                          .reads = value::stream,
                          .writes = writes,
                          .sharding = said(sharding)};
        };
        floptally::cost sum;
        sum.add("mine", from_stream(num_heads, "look", q, tensor_sharding::heads(num_heads)));
        sum.add("mine", from_stream(num_kv_heads, "offer", k, tensor_sharding::kv_heads(num_kv_heads)));
        sum.add("mine", from_stream(num_kv_heads, "give", v, tensor_sharding::kv_heads(num_kv_heads)));
        sum.add("mine", attention_core{num_heads, head_dim, head_dim, q, k, v, seen}, where.attends);
        sum.add("mine", linear{.in_features = num_heads * head_dim,
                               .out_features = where.hidden_size,
                               .weight = "join",
                               .reads = seen,
                               .sharding = said(tensor_sharding::heads(num_heads))});
        return sum;
    }
};

/// A user's own experts, under names of their own.
struct own_experts {
    bool says_how = true;

    [[nodiscard]] floptally::cost cost(const layer& where) const {
        const tensor_sharding sharding = says_how ? tensor_sharding::experts(8, 24) : tensor_sharding{};
        floptally::cost sum;
        sum.add("choice", linear{.in_features = where.hidden_size,
                                 .out_features = 8,
                                 .kind = term::router,
                                 .weight = "gate",
                                 .reads = value::stream,
                                 .writes = value::local(0),
                                 .sharding = tensor_sharding::replicated()});
        add_matrices(sum, "chosen",
                     linear{.in_features = where.hidden_size,
                            .out_features = 24,
                            .applied = 2,
                            .stored = 8,
                            .reads = value::stream,
                            .writes = value::local(1),
                            .sharding = sharding},
                     true);
        return sum;
    }
};

}  // namespace

TEST_CASE("a user's attention and experts are sharded like the library's if they declare their sharding") {
    const auto split = [](const auto& model, std::uint64_t tp, std::uint64_t rank, std::uint64_t ep,
                          const tensor_options& how) {
        const std::vector<model_part> parts = tensor_parts(parts_of(model), tp, rank, ep, how);
        return std::pair(evaluate(parts, mixed_tally(cost_of(parts).masks(), 2)), trained_parameters(parts, {}).stored);
    };
    for (const std::uint64_t kv_heads : {8U, 2U, 1U}) {
        const transformer<gqa, moe> known{
            .hidden_size = hidden,
            .num_layers = 2,
            .attention = {.num_heads = 8, .num_kv_heads = kv_heads, .head_dim = 8},
            .feed_forward = {.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 24},
            .vocab = {.size = 37}};
        const transformer<own_attention, own_experts> own{
            .hidden_size = hidden, .num_layers = 2, .attention = {8, kv_heads, 8}, .vocab = {.size = 37}};
        for (const few_kv_heads kv : {few_kv_heads::replicated, few_kv_heads::gathered}) {
            for (const std::uint64_t tp : {1U, 2U, 4U, 8U}) {
                for (const std::uint64_t ep : {1U, 4U}) {
                    const tensor_options how{.kv = kv};
                    for (std::uint64_t rank = 0; rank < tp; ++rank) {
                        const auto [expected, stored] = split(known, tp, rank, ep, how);
                        const auto [counted, own_stored] = split(own, tp, rank, ep, how);
                        for (const view seen : {view::useful, view::padded, view::executed}) {
                            REQUIRE(counted["mine"].total(seen) == expected["attention.qkv"].total(seen) +
                                                                       expected["attention.core"].total(seen) +
                                                                       expected["attention.output"].total(seen));
                            REQUIRE(counted["chosen"].total(seen) == expected["moe.experts"].total(seen));
                            REQUIRE(counted.total(seen) == expected.total(seen));
                        }
                        REQUIRE(own_stored == stored);
                    }
                }
            }
        }
    }
    const auto problem = [](const own_attention& attention, const own_experts& experts, std::uint64_t tp,
                            std::uint64_t ep) {
        const transformer<own_attention, own_experts> model{.hidden_size = hidden,
                                                            .num_layers = 1,
                                                            .attention = attention,
                                                            .feed_forward = experts,
                                                            .vocab = {.size = 48}};
        return error_of([&] { return tensor_parts(parts_of(model), tp, 0, ep); });
    };
    const std::string no_split =
        ": it is unknown how tensor parallelism splits this weight: set linear::sharding of the weight, or "
        "name the weight in tensor_options::splits";
    CHECK(problem({8, 8, 8}, {}, 3, 1) == "num_attention_heads: must be a multiple of tp (3), got 8 (mine/look)");
    CHECK(problem({8, 8, 8}, {}, 1, 3) == "num_experts: must be a multiple of ep (3), got 8 (chosen/gate_proj)");
    CHECK(problem({8, 8, 8, false}, {}, 2, 1) == "mine/look" + no_split);
    CHECK(problem({8, 8, 8, false}, {}, 1, 1) == "no error");
    CHECK(problem({8, 8, 8}, {false}, 2, 1) == "chosen/gate_proj" + no_split);
    CHECK(problem({8, 8, 8}, {false}, 1, 1) == "no error");
    CHECK(problem({8, 8, 8}, {false}, 1, 2) == "chosen/gate_proj" + no_split);
    CHECK(problem({6, 4, 8}, {}, 2, 1) == "no error");
}

TEST_CASE("a wrong or contradictory sharding of a cost entry is an error that names the entry") {
    const auto split = [](const linear& item, const linear& other, const tensor_options& how = {}) {
        cost own;
        own.add("mine", item);
        own.add("mine", other);
        const model_part part{.name = "layer", .cost = own, .first_layer = 0};
        return error_of([&] { return tensor_parts({&part, 1}, 2, 0, 1, how); });
    };
    const auto matrix = [](const tensor_sharding& sharding) {
        return linear{.in_features = 6, .out_features = 12, .sharding = sharding};
    };
    const std::string several =
        "mine: this cost entry holds several matrices that are split differently: name each matrix (linear::weight), "
        "or "
        "name one split for all in tensor_options::splits";
    CHECK(split(matrix(tensor_sharding::columns()), matrix(tensor_sharding::replicated())) == several);
    CHECK(split(matrix(tensor_sharding::columns()), matrix(tensor_sharding::replicated()),
                {.splits = {{"mine", sharding_kind::even}}}) == "no error");
    CHECK(split(matrix(tensor_sharding::columns()), matrix(tensor_sharding::rows())) == "no error");
    CHECK(split(matrix(tensor_sharding::columns()), matrix(tensor_sharding::heads(3))) ==
          "mine: must be a multiple of tp (2), got 3");
    CHECK(split(matrix(tensor_sharding::kv_heads(0)), matrix(tensor_sharding::kv_heads(0))) ==
          "mine: the number of key and value heads of this entry is unknown: set its sharding to "
          "tensor_sharding::kv_heads(number)");
    CHECK(split(matrix(tensor_sharding::fused_qkv(3, 0)), matrix(tensor_sharding::fused_qkv(3, 0))) ==
          "mine: the numbers of heads in this fused q, k and v entry are unknown: set its sharding to "
          "tensor_sharding::fused_qkv(num_heads, num_kv_heads)");
    CHECK(split(matrix({}), matrix({}), {.splits = {{"mine", sharding_kind::unsaid}}}) ==
          "tensor_options::splits: each entry must name one way to split weights, such as columns or rows, got none or "
          "several");
}

TEST_CASE("a user's cost entry without a sharding or with too small a matrix is an error that names the entry") {
    const auto split = [](const cost_entry& entry, std::uint64_t tp, std::uint64_t ep = 1) {
        cost own;
        own.add_entry("mine", {}, entry);
        const model_part part{.name = "layer", .cost = own, .first_layer = 0};
        return error_of([&] { return tensor_parts({&part, 1}, tp, 0, ep); });
    };
    const auto entry = [](const tensor_sharding& sharding) {
        return cost_entry{.useful = 60, .padded = 60, .sharding = sharding};
    };
    CHECK(split(entry({sharding_kind::kv_heads, 2, 0}), 2).starts_with("mine: the number of key"));
    CHECK(split(entry(tensor_sharding::fused_qkv(0, 2)), 2)
              .starts_with("mine: the numbers of heads in this fused q, k and v entry are unknown"));
    CHECK(split(entry(tensor_sharding::fused_qkv(1, 1)), 2) ==
          "num_attention_heads: must be a multiple of tp (2), got 1 (mine)");
    CHECK(split(entry(tensor_sharding::vocabulary()), 2) ==
          "mine: the size of the vocabulary of this entry is unknown: set its sharding to "
          "tensor_sharding::vocabulary(size)");
    CHECK(split(entry(tensor_sharding::vocabulary(1)), 2) == "no error");
    CHECK(split(entry(tensor_sharding::vocabulary(7)), 2) ==
          "mine: the FLOPs of this entry must be a multiple of 2 x 7 (its vocabulary), got 60");
    // Without tensor parallelism it matters where experts are split alone: what is stored and not run, and visits.
    const std::string unsaid = "mine: it is unknown how tensor parallelism splits this weight";
    cost_entry stored{.useful = 60, .padded = 60, .parameters = 30};
    CHECK(split(stored, 1, 2) == "no error");
    stored.parameters = 31;
    CHECK(split(stored, 1, 2).starts_with(unsaid));
    CHECK(split(stored, 1, 1) == "no error");
    stored.sharding = tensor_sharding::experts(2, 5);
    CHECK(split(stored, 1, 2) ==
          "moe_intermediate_size: the number of weights of the experts, 31, must be a multiple of ep x etp = 2 x 1");
    CHECK(split({.what = accumulator::routed, .useful = 60, .padded = 60}, 1, 2).starts_with(unsaid));
}

TEST_CASE("FLOPs of tensor-parallel ranks add up even for a weight narrower than the number of ranks, also with LoRA") {
    const model_part narrow{
        .name = "layer",
        .cost =
            cost().add("mine", linear{.in_features = 1, .out_features = 4, .sharding = tensor_sharding::replicated()}),
        .first_layer = 0};
    tally batch{narrow.cost.masks()};
    batch.add_lengths({5, 9});
    const training_plan adapted{.weights = {{"*", weight_state::lora, 3}}};
    for (const training_plan& plan : {training_plan{}, adapted}) {
        const auto total = [&](const std::vector<model_part>& parts) {
            return evaluate(parts, batch, conventions::exact, plan).total(view::useful);
        };
        const flops whole = total({narrow});
        CHECK(total(tensor_parts({&narrow, 1}, 2, 0)) + total(tensor_parts({&narrow, 1}, 2, 1)) == whole);
        // The gradient to the weight's input counts too, since nothing says what it reads.
        CHECK(whole == (plan.weights.empty() ? 3 * 2 * 4 * 14 : 2 * 2 * 4 * 14 + 3 * 2 * 3 * (1 + 4) * 14));
    }
}

TEST_CASE(
    "an lm_head with one input feature is sharded by rows, and a replicated gate may have an odd number of elements") {
    cost whole;
    whole.add(
        "lm_head",
        linear{.in_features = 1, .out_features = 4, .adaptable = false, .sharding = tensor_sharding::vocabulary()});
    whole.add_elementwise("gate", term::gating, 5, {}, tensor_sharding::replicated());
    const model_part part{.name = "layer", .cost = whole, .first_layer = 0};
    const auto useful = [&](std::uint64_t rank, std::size_t entry) {
        const tensor_options how{.sequence_parallel = true, .make_vocab_size_divisible_by = 1};
        return tensor_parts({&part, 1}, 2, rank, 1, how).at(0).cost.entries()[entry].useful;
    };
    CHECK((useful(0, 0) == 2 * 2 && useful(1, 0) == 2 * 2));
    CHECK((useful(0, 1) == 3 && useful(1, 1) == 2));
}

TEST_CASE("under tensor parallelism a user's layer must declare its sharding, and a missing declaration is an error") {
    cost own;
    own.add("memory", linear{.in_features = hidden, .out_features = 12, .weight = "table"});
    const std::vector<model_part> model{{.name = "layer", .cost = own, .first_layer = 0}};
    const auto forward = [&model](std::uint64_t tp, sharding_kind split) {
        const tensor_options how{.splits = {{"memory/table", split}}};
        return evaluate(tensor_parts(model, tp, 0, 1, how), mixed_tally({}, 1))["memory"].total(view::padded);
    };
    CHECK(error_of([&] { return tensor_parts(model, 2, 0); }) ==
          "memory/table: it is unknown how tensor parallelism splits this weight: set linear::sharding of the weight, "
          "or name the weight in tensor_options::splits");
    CHECK(error_of([&] { return tensor_parts(model, 1, 0); }) == "no error");
    CHECK(2 * forward(2, sharding_kind::columns) == forward(1, sharding_kind::columns));
    CHECK(forward(2, sharding_kind::replicated) == forward(1, sharding_kind::columns));
    CHECK(error_of([&] { return forward(8, sharding_kind::columns); }) ==
          "memory: must be a multiple of tp (8), got 12");
    // A split by rows is one of inputs, and a name may be that of a weight in any component.
    CHECK(2 * forward(2, sharding_kind::rows) == forward(1, sharding_kind::columns));
    CHECK(error_of([&] { return forward(hidden / 2 + 1, sharding_kind::rows); }) ==
          "memory: must be a multiple of tp (" + std::to_string(hidden / 2 + 1) + "), got " + std::to_string(hidden));
    // An encoder's layer is named in full, or as it is called in a layer.
    const model_part encoder{.name = "layer", .cost = own.on_encoder(), .first_layer = 0};
    for (const char* name : {"memory", "encoder.memory"}) {
        const tensor_options how{.splits = {{name, sharding_kind::columns}}};
        CHECK(error_of([&] { return tensor_parts({&encoder, 1}, 2, 0, 1, how); }) == "no error");
    }
    // The last split that names a weight holds, over the library's own too.
    const std::vector<model_part> dense = parts_of(dense_model(2));
    const mask_set masks = cost_of(dense).masks();
    const tensor_options whole_mlp{.splits = {{"mlp", sharding_kind::even}, {"mlp", sharding_kind::replicated}}};
    CHECK(evaluate(tensor_parts(dense, 2, 1, 1, whole_mlp), mixed_tally(masks, 1))["mlp"].total(view::padded) ==
          evaluate(dense, mixed_tally(masks, 1))["mlp"].total(view::padded));
}

TEST_CASE("the cost of a rank is the sum of the parts on that rank") {
    const std::vector<model_part> model = parts_of(dense_model(2));
    CHECK(num_layers(model) == 6);
    const std::vector<model_part> last = rank_parts(model, {{.pp = 3}, 3, 2});
    const tally batch = mixed_tally(cost_of(model).masks(), 2);
    CHECK(evaluate(cost_on_rank(last), batch).total() == evaluate(last, batch).total());
    CHECK(even_share(8, 4, 3, "num_experts") == index_range{6, 8});
    CHECK(error_of([] { return even_share(8, 3, 0, "num_experts"); }) ==
          "num_experts: must be a multiple of the 3 ranks that share it, got 8");
    CHECK(error_of([] { return even_share(8, 4, 4, "num_experts"); }) == "rank: must be below 4, got 4");
}

}  // namespace rank_work_test

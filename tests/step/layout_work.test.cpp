// SPDX-License-Identifier: Apache-2.0
//
// The work of tensor and context parallel ranks, query by query and head by head.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include <floptally/descriptors/presets.hpp>
#include <floptally/json.hpp>
#include <floptally/step/layout_work.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace layout_work_test {
namespace {

using floptally::context_shards;
using floptally::context_split;
using floptally::mask;
using floptally::mask_set;
using floptally::model_part;
using floptally::tally;

constexpr double peak = 100;

/// A layer of 4 heads of 4, 2 of them for keys and values, and a norm's worth of nothing.
std::vector<model_part> small_model(std::uint64_t window) {
    floptally::cost layer;
    layer.add("attention.core", floptally::attention_core{.num_heads = 4, .qk_head_dim = 4, .v_head_dim = 4},
              window == 0 ? mask::causal() : mask::sliding_window(static_cast<std::uint32_t>(window)));
    layer.add("mlp", floptally::linear{.in_features = 16, .out_features = 32});
    return {{.name = "layer", .cost = layer, .first_layer = 0, .repeat = 3}};
}

const floptally::training_plan forward{.counted = floptally::counted_passes::forward, .flash_attention = false};

/// The rank that holds token `at` of a slot, under each of the three splits. The slot begins at `start` of its row.
std::uint64_t owner(context_split how, std::uint64_t cp, std::uint64_t at, std::uint64_t slot, std::uint64_t start,
                    std::uint64_t row) {
    if (how == context_split::contiguous) {
        return (start + at) / (row / cp);
    }
    const std::uint64_t place = how == context_split::zigzag ? at : start + at;
    const std::uint64_t length = how == context_split::zigzag ? slot : row;
    const std::uint64_t chunk = place / (length / (2 * cp));
    return std::min(chunk, 2 * cp - 1 - chunk);
}

}  // namespace

TEST_CASE("context-parallel ranks count the pairs of their own queries") {
    std::mt19937_64 random(44);
    for (int repeat = 0; repeat < 120; ++repeat) {
        const auto how = static_cast<context_split>(repeat % 3);
        const std::uint64_t cp = 1 + random() % 4;
        const std::uint64_t window = random() % 2 * (1 + random() % 9);
        const std::vector<model_part> model = small_model(window);
        std::vector<std::uint64_t> slots;
        std::uint64_t row = 0;
        for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
            slots.push_back(2 * cp * (1 + random() % 5));
            row += slots.back();
        }
        context_shards sharded(floptally::cost_of(model).masks(), cp, how);
        sharded.add_lengths(slots);
        std::vector<double> expected(cp, 0);
        std::uint64_t start = 0;
        for (const std::uint64_t slot : slots) {
            for (std::uint64_t query = 0; query < slot; ++query) {
                double& own = expected[owner(how, cp, query, slot, start, row)];
                own += 3 * 2 * 16 * 32;
                for (std::uint64_t key = 0; key <= query; ++key) {
                    own += window == 0 || query - key < window ? 3 * 2 * 4 * (4 + 4) : 0;
                }
            }
            start += slot;
        }
        const floptally::layout_work result = floptally::layout_work_of(model, forward, 1, sharded.shards(), peak);
        CAPTURE(repeat, cp, window);
        REQUIRE(result.loads.size() == cp);
        double whole = 0;
        for (std::uint64_t rank = 0; rank < cp; ++rank) {
            REQUIRE(std::abs(static_cast<double>(result.loads[rank]) - expected[rank] / peak * 1e3) <= 1);
            whole += expected[rank];
        }
        floptally::flops run;
        for (const floptally::work_at_peak& piece : result.run) {
            run += piece.work.total(floptally::view::executed);
        }
        REQUIRE(to_double(run) == whole);
    }
}

TEST_CASE("tensor-parallel ranks count their own heads and replicate what cannot be split") {
    // Llama 3 8B: 32 heads of 128, 8 of them for keys and values; on 16 ranks each computes a whole one.
    const floptally::listed_parts parts = floptally::parts_of(floptally::presets::llama_3_8b);
    const std::vector<model_part> model(parts.begin(), parts.end());
    tally batch{floptally::cost_of(model).masks()};
    batch.add_lengths(std::vector<std::uint64_t>{100});
    const std::vector<tally> shares{batch};
    const auto executed = [&](std::uint64_t tp) {
        floptally::flops sum;
        const floptally::layout_work rank_loads = floptally::layout_work_of(model, forward, tp, shares, peak);
        REQUIRE(rank_loads.loads_of_ranks.size() == tp);
        for (const floptally::work_at_peak& piece : rank_loads.run) {
            sum += piece.work.total(floptally::view::executed);
        }
        return to_double(sum);
    };
    CHECK(executed(8) == executed(1));
    // Eight key and eight value heads of 128 over a width of 4096 run a second time, for 100 tokens in 32 layers.
    CHECK(executed(16) - executed(1) == 32.0 * 100 * 2 * 4096 * (8 + 8) * 128);
}

TEST_CASE("the work of experts is the same however many tensor-parallel ranks share each expert") {
    // Experts of 100 columns, which 8 ranks cannot share equally: without measured visits each has an 8th of the work.
    const floptally::model_config experts = floptally::read_config({{"model_type", "mixtral"},
                                                                    {"hidden_size", 64},
                                                                    {"intermediate_size", 100},
                                                                    {"num_attention_heads", 8},
                                                                    {"num_key_value_heads", 8},
                                                                    {"num_hidden_layers", 2},
                                                                    {"num_local_experts", 4},
                                                                    {"num_experts_per_tok", 2},
                                                                    {"vocab_size", 1024}});
    tally batch{experts.cost.masks()};
    batch.add_lengths(std::vector<std::uint64_t>{100});
    const auto executed = [&](std::uint64_t tp, std::uint64_t etp) {
        floptally::flops sum;
        const floptally::layout_work ranks = floptally::layout_work_of(
            experts.parts, forward, tp, std::vector<tally>{batch}, peak, {}, {.sequence_parallel = true}, etp);
        for (const floptally::work_at_peak& piece : ranks.run) {
            sum += piece.work.total(floptally::view::executed);
        }
        return to_double(sum);
    };
    CHECK(executed(8, 1) == executed(1, 1));
    CHECK(executed(8, 8) == executed(1, 1));
    CHECK(executed(8, 0) == executed(8, 8));
}

TEST_CASE("tensor parallelism divides the time of a pipeline by the number of tp ranks") {
    const floptally::listed_parts parts = floptally::parts_of(floptally::presets::llama_3_8b);
    const std::vector<model_part> model(parts.begin(), parts.end());
    tally batch{floptally::cost_of(model).masks()};
    batch.add_lengths(std::vector<std::uint64_t>{100});
    const auto run = [&](std::uint64_t tp) {
        const floptally::layout_work layout =
            floptally::layout_work_of(model, forward, tp, std::vector<tally>{batch}, peak);
        const floptally::step_ranks ranks = floptally::run_ranks(
            floptally::pipeline_choices{.pp = 4, .microbatches = 4}, layout, model, forward, batch, peak, {}, 4 * tp);
        REQUIRE(ranks.times);
        CHECK(ranks.times->ranks == 4);
        CHECK(ranks.microbatches == 4);
        return *ranks.times->makespan;
    };
    CHECK(8 * run(8) == run(1));
}

TEST_CASE("context parallelism simulates one pipeline per cp rank, each with its own load") {
    const std::vector<model_part> model = small_model(0);
    context_shards sharded(floptally::cost_of(model).masks(), 2, context_split::contiguous);
    sharded.add_lengths(std::vector<std::uint64_t>{40});  // the second half of it attends the first
    const floptally::layout_work layout = floptally::layout_work_of(model, forward, 1, sharded.shards(), peak);
    REQUIRE(layout.loads.size() == 2);
    REQUIRE(layout.loads[0] < layout.loads[1]);
    for (const std::uint64_t replicas : {1U, 2U}) {
        const floptally::step_ranks step_ranks_result =
            floptally::run_ranks(floptally::pipeline_choices{.pp = 3, .replicas = replicas, .microbatches = 4}, layout,
                                 model, forward, sharded.total(), peak, {}, 6 * replicas);
        CHECK(step_ranks_result.microbatches == replicas * 2 * 4);
        REQUIRE(step_ranks_result.times);
        CHECK(step_ranks_result.times->ranks == replicas * 2 * 3);
        // Three equal stages of four microbatches: 6 times one of them, in which a rank works 4.
        const auto load = [&](std::size_t rank) { return static_cast<double>(layout.loads[rank]); };
        const auto end = static_cast<double>(step_ranks_result.times->makespan.value_or(0));
        const double busy = static_cast<double>(step_ranks_result.times->sum) /
                            static_cast<double>(step_ranks_result.times->ranks) / end;
        CHECK(std::abs(busy - 4.0 / 6 * (load(0) + load(1)) / 2 / load(1)) < 1e-9);
    }
    // Without a pipeline they are those of the layout; without either there is nothing to say.
    const floptally::step_ranks ranks = floptally::run_ranks({}, layout, model, forward, sharded.total(), peak, {}, 2);
    REQUIRE(ranks.times);
    CHECK(ranks.times->ranks == 2);
    CHECK(ranks.microbatches == 0);
    CHECK_FALSE(floptally::run_ranks({}, {}, model, forward, sharded.total(), peak, {}, 2).times);
    const auto refused = [&](const floptally::pipeline_choices& choices, std::uint64_t gpus) {
        return error_of([&] {
            static_cast<void>(floptally::run_ranks(choices, layout, model, forward, sharded.total(), peak, {}, gpus));
        });
    };
    CHECK(refused({.pp = 3, .microbatches = 4}, 5) ==
          "gpus: gpus - idle_gpus must be a multiple of tp x cp = 2, got 5");
    CHECK(refused({.pp = 3, .microbatches = 4, .loads = {1, 2}}, 6) ==
          "cp: cannot be passed with the work of each replica or microbatch, because cp splits the whole batch: leave "
          "out one of the two");
    CHECK(refused({.pp = 3, .batches = {{sharded.total()}}}, 6) ==
          "cp: cannot be passed with the work of each replica or microbatch, because cp splits the whole batch: leave "
          "out one of the two");
}

TEST_CASE("context-parallel work of two batches adds up and can be cleared") {
    const mask_set masks = floptally::cost_of(small_model(3)).masks();
    context_shards sharded_batch(masks, 2, context_split::zigzag);
    context_shards other = sharded_batch;
    context_shards both = sharded_batch;
    sharded_batch.add_lengths(std::vector<std::uint64_t>{8, 4});
    other.add_lengths(std::vector<std::uint64_t>{12});
    both.add_lengths(std::vector<std::uint64_t>{8, 4});
    both.add_lengths(std::vector<std::uint64_t>{12});
    sharded_batch += other;
    CHECK(sharded_batch.total() == both.total());
    for (std::size_t rank = 0; rank < 2; ++rank) {
        CHECK(sharded_batch.shards()[rank] == both.shards()[rank]);
    }
    sharded_batch.clear();
    CHECK(sharded_batch.total() == tally{masks});
    CHECK(sharded_batch.shards()[0] == tally{masks});
    CHECK(sharded_batch.shards()[1] == tally{masks});
}

TEST_CASE("a batch that cannot be split over ranks is an error that names the field") {
    const std::vector<model_part> model = small_model(0);
    context_shards sharded(floptally::cost_of(model).masks(), 4, context_split::zigzag);
    CHECK(error_of([&] { sharded.add_lengths(std::vector<std::uint64_t>{12}); }).starts_with("cu_seqlens_padded[1]"));
    CHECK(sharded.total() == tally{floptally::cost_of(model).masks()});
    CHECK(error_of([&] { context_shards({}, 0, context_split::zigzag); }) == "cp: must be at least 1, got 0");
    CHECK(error_of([&] {
              sharded.add(floptally::listed_samples(std::vector<floptally::grid>{{1, 2, 2}}));
          }) == "cp: splits only text over ranks, and this batch also has images or sound: leave cp at 1");
    floptally::training_plan repeats;
    repeats.repeated.push_back({.weights = "mlp", .ranks = 2}, "repeated");
    CHECK(error_of([&] { static_cast<void>(floptally::layout_work_of(model, repeats, 2, sharded.shards(), peak)); }) ==
          "repeated: cannot be passed with tp or cp, which already determine what each rank runs: leave out repeated, "
          "or tp and cp");
    CHECK(error_of([&] { static_cast<void>(floptally::layout_work_of(model, {}, 0, sharded.shards(), peak)); }) ==
          "tp: must be at least 1, got 0");
    sharded.add_lengths(std::vector<std::uint64_t>{});  // nothing is cut, and nothing added
    CHECK(sharded.total() == tally{floptally::cost_of(model).masks()});
    sharded.add_lengths(std::vector<std::uint64_t>{8});
    // A token of one rank is 3 · (2·16·32 + 2·4·8) FLOPs and a pair 3 · 64: 2 · 3264 + 7 · 192 on the last of them.
    const auto load_at = [&](double tflops) {
        return error_of(
            [&] { return floptally::layout_work_of(model, forward, 1, sharded.shards(), tflops).loads.size(); });
    };
    CHECK(load_at(1e-12) == "no error");
    CHECK(load_at(1e-13) == "peak_tflops: is so low that a step takes more than 10 000 s: pass it in TFLOP/s");
    CHECK(error_of([&] { static_cast<void>(floptally::layout_work_of({}, {}, 1, sharded.shards(), peak)); }) ==
          "tp: needs the layers of a model, but a cost alone has none: pass a model that was read from its config");
}

}  // namespace layout_work_test

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/pipelines.hpp>

#include "catch2.hpp"

namespace visit_shares_test {
namespace {

using floptally::chunk_work;
using floptally::flops;
using floptally::model_part;
using floptally::pipeline_split;
using floptally::tally;

constexpr std::uint64_t tokens = 96;
constexpr std::uint64_t chosen = 2;
constexpr std::uint64_t layers = 6;

/// One dense layer, then layers with experts.
std::vector<model_part> sparse(bool measured) {
    const floptally::transformer<floptally::gqa, floptally::dense_first<floptally::gated_mlp, floptally::moe>> model{
        .hidden_size = 16,
        .num_layers = layers,
        .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 4},
        .feed_forward = {.num_dense_layers = 1,
                         .dense = {.intermediate_size = 32},
                         .sparse = {.num_experts = 8,
                                    .num_experts_per_tok = chosen,
                                    .intermediate_size = 24,
                                    .routed_is_measured = measured}},
        .vocab = {.size = 64}};
    std::vector<model_part> parts;
    model.for_each_part([&](const model_part& part) { parts.push_back(part); });
    return parts;
}

tally batch_of(const std::vector<model_part>& model, std::uint64_t visits) {
    tally batch(floptally::cost_of(model).masks());
    batch.add_lengths(std::vector<std::uint64_t>{tokens / 2, tokens / 2});
    if (visits != 0) {
        batch.add_routed({.useful = visits});
    }
    return batch;
}

std::uint64_t sum_of(const std::vector<chunk_work>& chunks) {
    std::uint64_t sum = 0;
    for (const chunk_work& chunk : chunks) {
        sum += chunk.forward + chunk.backward_data + chunk.backward_weights;
    }
    return sum;
}

}  // namespace

TEST_CASE(
    "pipeline stages with measured expert visits do the same work as stages with visits computed from the config") {
    const std::vector<model_part> counted = sparse(false);
    const std::vector<model_part> measured = sparse(true);
    const std::uint64_t visits = tokens * chosen * (layers - 1);
    for (const std::uint64_t pp : {1U, 2U, 3U, 6U}) {
        const pipeline_split split = pipeline_split::even(layers, pp);
        const auto times = [&](const std::vector<model_part>& model, std::uint64_t of_batch) {
            return floptally::pipeline_times(model, split, {}, 100).of(batch_of(model, of_batch), 1);
        };
        const std::vector<chunk_work> expected = times(counted, 0);
        const std::vector<chunk_work> found = times(measured, visits);
        REQUIRE(found.size() == expected.size());
        for (std::size_t chunk = 0; chunk < found.size(); ++chunk) {
            CHECK(found[chunk].forward == expected[chunk].forward);
            CHECK(found[chunk].backward_data == expected[chunk].backward_data);
            CHECK(found[chunk].backward_weights == expected[chunk].backward_weights);
        }
        // Visits that layers do not divide: the stages still add up to the step.
        const floptally::breakdown whole = evaluate(measured, batch_of(measured, visits + 7));
        CHECK(flops{sum_of(times(measured, visits + 7))} == whole.total(floptally::view::executed));
    }
}

TEST_CASE("measured expert visits are split over layers of different precisions") {
    const std::vector<model_part> measured = sparse(true);
    const tally batch = batch_of(measured, 1001);
    const floptally::mixed_precision by_peak(
        floptally::flop_counter(measured, floptally::conventions::exact, {}), measured, {},
        {{.layers = floptally::index_range{1, 4}, .peak_tflops = 200, .precision = "fp8"}}, 100);
    flops sum;
    for (const floptally::work_at_peak& piece : by_peak.by_peak(batch)) {  // throws unless it adds up
        sum += piece.work.total(floptally::view::useful);
    }
    CHECK(sum == evaluate(measured, batch).total());
}

}  // namespace visit_shares_test

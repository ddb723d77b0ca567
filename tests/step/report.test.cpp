// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/step/report.hpp>

#include "catch2.hpp"

namespace report_test {
namespace {

using namespace floptally;

/// Two of eight experts of 3·4·16 weights for each token, or as many as are measured.
cost experts(bool are_measured) {
    return moe{.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 16, .routed_is_measured = are_measured}
        .cost({.hidden_size = 4});
}

}  // namespace

TEST_CASE("active parameters are all weights except those of experts that a token does not choose", "[report]") {
    cost dense;
    dense.add("mlp", linear{.in_features = 3, .out_features = 5});
    dense.add("attention.core", attention_core{.num_heads = 2, .qk_head_dim = 4, .v_head_dim = 4}, mask::causal());
    CHECK(weights_of(dense) == weight_counts{.total = 15, .active = 15});
    CHECK(weights_of(experts(false)) ==
          weight_counts{.total = 4 * 8 + 8 * 3 * 4 * 16, .active = 4 * 8 + 2 * 3 * 4 * 16});
    // What is passed once a sequence counts as it is stored, used or not.
    cost pooled;
    pooled.add("pooling", linear{.in_features = 3, .out_features = 5, .stored = 4, .rows = accumulator::count});
    CHECK(weights_of(pooled) == weight_counts{.total = 4 * 15, .active = 4 * 15});
    // Visits that are measured say nothing of one token.
    CHECK(weights_of(experts(true)) == weight_counts{.total = 4 * 8 + 8 * 3 * 4 * 16});
}

TEST_CASE("a batch report names its sequences and its settings", "[report]") {
    model_config model;
    model.model_type = "small";
    model.notes = {"a note"};
    model.cost.add("mlp", linear{.in_features = 3, .out_features = 5, .weight = "w"});
    const training_plan all{.recomputed = recompute::full};
    const flop_counter counter(model, conventions::exact, all);
    tally batch{counter.masks()};
    batch.add(sequence{.length = 7});
    const report result = report_of(model, counter, all, batch, model.cost.masks());
    CHECK(result.model_type == "small");
    CHECK(result.notes == model.notes);
    CHECK(result.counted_as.name == "exact");
    CHECK(result.plan == all);
    CHECK(result.batch == batch);
    CHECK(result.masks == model.cost.masks());
    CHECK(result.work.total() == flops{7 * 3 * 2 * 15});
    CHECK(result.parameters == weight_counts{.total = 15, .active = 15});
    // Where a plan says what trains, it is counted in the parts.
    model.parts.push_back({.name = "layer", .cost = model.cost, .first_layer = 0});
    const training_plan lora{.weights = {{"*", weight_state::frozen}, {"mlp", weight_state::lora, 2}}};
    CHECK(report_of(model, counter, lora, batch, model.cost.masks()).parameters.trainable == 2 * (3 + 5));
    CHECK_FALSE(report_of(model, counter, all, batch, model.cost.masks()).parameters.trainable);
}

TEST_CASE("an MFU above 1 or far too low causes a warning", "[report]") {
    for (const counted_passes counted : {counted_passes::train, counted_passes::forward}) {
        const double least = counted == counted_passes::forward ? 1e-5 : 1e-3;
        for (const double fine : {0.0, least, 0.4, 1.0}) {
            CHECK(doubt_of(fine, counted).empty());
        }
        CHECK(doubt_of(1.001, counted).starts_with("more FLOPs than the peak allows"));
    }
    CHECK(doubt_of(0.0009, counted_passes::train) ==
          "an MFU of 0.09 % is below 0.1 %: seconds, gpus or the peak may be in another unit");
    CHECK(doubt_of(9e-6, counted_passes::forward) ==
          "an MFU of 0.0009 % is below 0.001 %: seconds, gpus or the peak may be in another unit");
}

}  // namespace report_test

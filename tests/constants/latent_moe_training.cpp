// SPDX-License-Identifier: Apache-2.0
#define main example
#include "../../examples/latent_moe_training.cpp"
#undef main

/// @file
/// The model of examples/latent_moe_training.cpp as a constant.

namespace {

constexpr tally batch_of(const mask_set& masks, std::uint32_t length) {
    tally batch{masks};
    batch.add(sequence{.length = length});
    return batch;
}

static_assert(model.cost().parameters() == 671'026'404'352);
constexpr bool counts_a_mixture() {
    auto smaller = model;
    smaller.num_layers = 4;
    const training_plan lora{.weights = {{"*", weight_state::frozen}, {"attention.*", weight_state::lora, 16}}};
    const flop_counter counter(smaller);
    const flop_counter adapted(smaller, conventions::exact, lora);
    const tally batch = batch_of(counter.masks(), 512);
    return counter.total_flops(batch) == evaluate(smaller.cost(), batch).total() &&
           adapted.total_flops(batch) < counter.total_flops(batch);
}
static_assert(counts_a_mixture());

}  // namespace

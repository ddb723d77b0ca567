// SPDX-License-Identifier: Apache-2.0
#define main example
#include "../../examples/own_attention.cpp"
#undef main

/// @file
/// The model of examples/own_attention.cpp as a constant.

namespace {

constexpr tally batch_of(const mask_set& masks, std::uint32_t length) {
    tally batch{masks};
    batch.add(sequence{.length = length});
    return batch;
}

constexpr dilated_window every_fourth{3, 4};
static_assert(statistic(every_fourth)(sequence{.length = 12}) == 4 * (1 + 2 + 3));
constexpr bool counts_an_own_layer() {
    transformer<two_window_attention, gated_mlp> model{
        .hidden_size = 64,
        .num_layers = 3,
        .attention = {.num_heads = 4, .dilated_heads = 1, .head_dim = 16, .dilated = every_fourth},
        .feed_forward = {.intermediate_size = 8},
        .vocab = {.size = 50}};
    const flop_counter exact(model);
    const flop_counter counter(model, boxes);
    return counter.total_flops(batch_of(counter.masks(), 40)) > exact.total_flops(batch_of(exact.masks(), 40));
}
static_assert(counts_an_own_layer());

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#define main example
#include "../../examples/own_layer.cpp"
#undef main

/// @file
/// The model of examples/own_layer.cpp as a constant.

namespace {

constexpr transformer<gqa, adapted_mlp> adapted{.hidden_size = 64,
                                                .num_layers = 3,
                                                .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 16},
                                                .feed_forward = {.intermediate_size = 8, .rank = 4},
                                                .vocab = {.size = 50}};
static_assert(adapted.cost().parameters() > 0);

}  // namespace

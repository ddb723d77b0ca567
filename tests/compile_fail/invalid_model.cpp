// SPDX-License-Identifier: Apache-2.0
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/transformer.hpp>

// 32 heads cannot share 5 key and value heads.
#ifdef INVALID
constexpr std::uint64_t kv_heads = 5;
#else
constexpr std::uint64_t kv_heads = 8;
#endif
constexpr floptally::transformer<floptally::gqa, floptally::gated_mlp> model{
    .hidden_size = 4096,
    .num_layers = 2,
    .attention = {.num_heads = 32, .num_kv_heads = kv_heads, .head_dim = 128},
    .feed_forward = {.intermediate_size = 14336},
    .vocab = {.size = 128256}};
constexpr floptally::constant_cost sum = model.cost();

int main() { return sum.entries().empty() ? 1 : 0; }

// SPDX-License-Identifier: Apache-2.0
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/state_space.hpp>

// A state space without a state.
#ifdef INVALID
constexpr std::uint64_t state_size = 0;
#else
constexpr std::uint64_t state_size = 128;
#endif
constexpr floptally::mamba2 part{
    .num_heads = 128, .head_dim = 64, .n_groups = 8, .state_size = state_size, .conv_kernel = 4};
constexpr floptally::constant_cost sum = part.cost({.hidden_size = 4096});

int main() { return sum.entries().empty() ? 1 : 0; }

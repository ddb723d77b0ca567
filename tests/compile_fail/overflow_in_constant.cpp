// SPDX-License-Identifier: Apache-2.0
#include <floptally/descriptors/constant_cost.hpp>

// 2 · in · out must fit 64 bits.
#ifdef INVALID
constexpr std::uint64_t width = std::uint64_t{1} << 32;
#else
constexpr std::uint64_t width = std::uint64_t{1} << 31;
#endif
constexpr floptally::constant_cost sum =
    floptally::cost{}.add("mlp", floptally::linear{.in_features = width, .out_features = width});

int main() { return sum.entries().size() == 1 ? 0 : 1; }

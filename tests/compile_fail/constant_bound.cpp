// SPDX-License-Identifier: Apache-2.0
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/presets.hpp>

// A constant keeps the bound that it states: this model has more rows than 12.
#ifdef INVALID
constexpr floptally::constant_cost<48, 12> sum = floptally::presets::llama_3_8b.cost();
#else
constexpr floptally::constant_cost<48, 13> sum = floptally::presets::llama_3_8b.cost();
#endif

int main() { return sum.entries().empty() ? 1 : 0; }

// SPDX-License-Identifier: Apache-2.0
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/presets.hpp>

// A cost is allocated: what a constant keeps of it is a constant_cost, and the compiler's text says so.
#ifdef INVALID
constexpr floptally::cost sum = floptally::presets::llama_3_8b.cost();
#else
constexpr floptally::constant_cost sum = floptally::presets::llama_3_8b.cost();
#endif

int main() { return sum.entries().empty() ? 1 : 0; }

// SPDX-License-Identifier: Apache-2.0
// Counts the FLOPs of a published model in a constant expression. A changed dimension is then a compile error.

#include <cstdio>
#include <string>

#include <floptally/floptally.hpp>

using namespace floptally;

constexpr constant_cost llama = presets::llama_3_8b.cost();
static_assert(llama.parameters() == 8'030'261'248);

// A tally allocates an accumulator for each mask of its model. A constant expression must free it too.
constexpr tally one_sequence() {
    tally batch{llama.masks()};
    batch.add(sequence{.length = 8192});
    return batch;
}
constexpr flops exact = evaluate(llama, one_sequence()).total();
static_assert(exact == flops{421'651'971'833'856});

int main() {
    for (const convention* counted_by : conventions::all) {
        std::printf("%-26s %s\n", std::string(counted_by->name).c_str(),
                    to_string(evaluate(llama, one_sequence(), *counted_by).total()).c_str());
    }
}

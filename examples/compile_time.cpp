// SPDX-License-Identifier: Apache-2.0
//
// FLOPs of a published model as a constant expression: a changed dimension is a compile error, not a new number.

#include <cstdio>
#include <string>

#include <floptally/floptally.hpp>

using namespace floptally;

constexpr constant_cost llama = presets::llama_3_8b.cost();
static_assert(llama.parameters() == 8'030'261'248);

// A tally allocates as many words as its model has masks, so that a constant expression must also end its life.
constexpr tally one_sequence() {
    tally batch{llama.masks()};
    batch.add(sequence{.length = 8192});
    return batch;
}
constexpr flops exact = evaluate(llama, one_sequence()).total();
static_assert(exact == flops{421'651'971'833'856});

int main() {
    for (const convention* how : conventions::all) {
        std::printf("%-26s %s\n", std::string(how->name).c_str(),
                    to_string(evaluate(llama, one_sequence(), *how).total()).c_str());
    }
}

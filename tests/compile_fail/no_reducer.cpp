// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <span>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/reduction.hpp>

// A reducer of one's own without a maximum.
struct one_rank {
    void sum(std::span<std::uint64_t>) {}
#ifndef INVALID
    void max(std::span<std::uint64_t>) {}
#endif
};

int main() {
    const floptally::flop_counter model(floptally::presets::mistral_7b);
    one_rank over;
    const floptally::parallel_layout layout({}, 0, 1, "");
    const floptally::tally_reduction reduction(model, floptally::scopes::microbatch, layout, over);
}

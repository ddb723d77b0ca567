// SPDX-License-Identifier: Apache-2.0
//
// A library that counts with the floptally that it was built with. COUNT is the name of its one function.

#include <cstdint>
#include <vector>

#include <floptally/floptally.hpp>

extern "C" std::uint64_t COUNT(const std::int64_t* lengths, int count);

extern "C" std::uint64_t COUNT(const std::int64_t* lengths, int count) {
    const floptally::flop_counter model(floptally::presets::mistral_7b);
    std::vector<floptally::tally> microbatches;  // its elements move, by the size that this version has
    for (int i = 0; i < count; ++i) {
        microbatches.emplace_back(model.masks());
        microbatches.back().add_lengths(std::vector<std::int64_t>(4, lengths[i]));
    }
    floptally::tally step{model.masks()};
    for (const floptally::tally& microbatch : microbatches) {
        step += microbatch;
    }
    try {
        step.add_lengths(std::vector<std::int64_t>{-1});
    } catch (const floptally::error&) {  // this version's own
        return model.evaluate(step).total().low();
    }
    return 0;
}

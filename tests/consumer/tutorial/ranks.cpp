// SPDX-License-Identifier: Apache-2.0
// ranks.cpp
#include <iostream>
#include <thread>
#include <vector>

#include <floptally/floptally.hpp>

int main() {
    using namespace floptally;
    const flop_counter model(presets::mistral_7b);

    // Each rank counts its own documents in its own tally.
    std::vector<tally> mine(4, tally{model.masks()});
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&mine, rank] {
            mine[rank].add_cu_seqlens({0, 700, 6000, 8100});
            mine[rank].add_lengths({1000 * (rank + 1)});
        });
    }
    for (std::thread& rank : ranks) {
        rank.join();
    }

    tally all{model.masks()};
    for (const tally& one : mine) {
        all += one;  // exact, in any order
    }
    const breakdown work = model.evaluate(all);
    std::cout << work.total() << " FLOPs\n";
    std::cout << utilize(work, all, {.seconds = 1.2, .gpus = 4, .peak_tflops = 989}) << '\n';
}

// SPDX-License-Identifier: Apache-2.0
// count.cpp
#include <iostream>

#include <floptally/floptally.hpp>

int main() {
    using namespace floptally;
    const flop_counter model(presets::mistral_7b);

    tally step{model.masks()};
    step.add_cu_seqlens({0, 700, 6000, 8100});  // three documents of 700, 5300 and 2100 tokens in one pack

    const breakdown work = model.evaluate(step);
    std::cout << work.total() << " FLOPs\n";
    for (const component_flops& part : work.components()) {
        std::cout << part.name << " " << part.total(view::useful) << '\n';
    }
    std::cout << utilize(work, step, {.seconds = 0.9, .gpus = 1, .peak_tflops = 989}) << '\n';
}

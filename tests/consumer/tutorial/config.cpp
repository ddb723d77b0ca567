// SPDX-License-Identifier: Apache-2.0
// config.cpp
#include <exception>
#include <iostream>

#include <floptally/core.hpp>
#include <floptally/json.hpp>

int main(int argc, char** argv) {
    using namespace floptally;
    try {
        const model_config config = load_config(argc > 1 ? argv[1] : "config.json");
        const flop_counter model(config);
        tally step{model.masks()};
        step.add_cu_seqlens({0, 700, 6000, 8100});
        std::cout << config.cost.parameters() << " parameters\n" << model.total_flops(step) << " FLOPs\n";
    } catch (const std::exception& problem) {
        std::cout << "error: " << problem.what() << '\n';
        return 1;
    }
}

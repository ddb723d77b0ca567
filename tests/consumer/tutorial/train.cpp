// SPDX-License-Identifier: Apache-2.0
// train.cpp
#include <cstdint>
#include <cstdio>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>

int main() {
    using namespace floptally;
    meter steps(presets::mistral_7b, {.recomputed = recompute::none}, accelerator_named("NVIDIA H100 80GB HBM3"));
    const std::vector<std::int32_t> cu_seqlens{0, 700, 6000, 8100, 8192};  // the last of four sequences is padding

    for (int step = 0; step < 30; ++step) {
        steps.begin_step();
        steps.microbatch().add_cu_seqlens(cu_seqlens, cu_seqlens, 3);  // and train on it
        steps.end_step(0.9 + step % 3 / 10.0);  // seconds; without an argument the meter reads the clock

        if (step % 10 == 9) {
            const step_rates log = rates(steps.interval().totals);
            std::printf("step %d  MFU %.2f %%  padded MFU %.2f %%  HFU %.2f %%  %.0f tokens/s\n", step + 1,
                        100 * log.mfu, 100 * log.padded_mfu, 100 * log.hfu, log.tokens_per_second);
            steps.reset_interval();
        }
    }
}

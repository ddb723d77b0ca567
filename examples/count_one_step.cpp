// SPDX-License-Identifier: Apache-2.0
// Counts one training step: one tally for the step, one line for each microbatch, one MFU at the end.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

int main() {
    using namespace floptally;

    // Once: the model, and the peak of the GPU as its driver calls it.
    const flop_counter model(presets::mistral_7b);
    const double peak_tflops = accelerator_named("NVIDIA H100 80GB HBM3").peak_tflops(precision::bf16);

    // Every step: the boundaries of each packed microbatch, as flash-attention takes them.
    tally step{model.masks()};
    const std::vector<std::vector<std::int32_t>> microbatches{{0, 700, 6000, 8192}, {0, 8192}, {0, 4096, 8000, 8192}};
    for (const auto& cu_seqlens : microbatches) {
        step.add_cu_seqlens(cu_seqlens);
    }

    const breakdown work = model.evaluate(step);
    const utilization rates = utilize(work, step, {.seconds = 2.9, .gpus = 1, .peak_tflops = peak_tflops});
    std::printf("useful FLOPs     %s\n", to_string(work.total(view::useful)).c_str());
    std::printf("attention.core   %s\n", to_string(work["attention.core"].total(view::useful)).c_str());
    std::printf("MFU              %.2f %%\n", 100 * rates.mfu);
    std::printf("TFLOP/s per GPU  %.2f\n", rates.tflops_per_gpu);
}

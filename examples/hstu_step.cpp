// SPDX-License-Identifier: Apache-2.0
// Counts one training step of an HSTU recommender: useful and executed FLOPs, MFU, and a table of its terms with times.

#include <cstdint>
#include <cstdio>
#include <string>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>
#include <floptally/report.hpp>
#include <floptally/throughput_log.hpp>

int main() {
    using namespace floptally;

    // Eight layers of 4 heads x 256 on a width of 1024, and a head for two tasks over the targets.
    hstu model{.hidden_size = 1024, .num_layers = 8};
    model.layer = {.num_heads = 4, .attention_dim = 256, .linear_dim = 256};
    model.prediction[0] = {.layer_sizes = {512, 2}, .rows = hstu_rows::targets};
    const flop_counter counted(model.cost());

    // Every microbatch: contextual tokens, history and targets of each user. The tally has a fixed size for any number
    // of users and runs on the host: nothing waits for the device.
    tally step{counted.masks()};
    sequence longest;
    for (std::uint32_t user = 0; user < 32; ++user) {
        const std::uint32_t context = 3;
        const std::uint32_t history = 256 + 120 * user;
        const std::uint32_t targets = 100;
        longest = {.length = context + history + targets, .context = context, .targets = targets, .target_group = 1};
        step.add(longest);
    }

    const breakdown work = counted.evaluate(step);
    const double peak_tflops = accelerator_named("NVIDIA H100 80GB HBM3").peak_tflops(precision::bf16);
    const measurement on{.seconds = 0.125, .gpus = 1, .peak_tflops = peak_tflops};
    const utilization rates = utilize(work, step, on);
    std::printf("useful FLOPs    %s\n", to_string(work.total(view::useful)).c_str());
    std::printf("executed FLOPs  %s\n", to_string(work.total(view::executed)).c_str());
    std::printf("MFU             %.2f %%\nHFU             %.2f %%\n\n", 100 * rates.mfu, 100 * rates.hfu);

    // Times of one GPU, as a profiler gives them.
    const component_time times[] = {{.component = "hstu.uvqk", .seconds = 0.031},
                                    {.component = "hstu.output", .seconds = 0.009},
                                    {.component = "hstu.prediction", .seconds = 0.001}};
    std::printf("%s\n", to_markdown(component_rates(work, on, times)).c_str());

    // The two lines of the benchmark's log. Its scripts read them.
    meter steps(counted, {.gpus = 1, .peak_tflops = peak_tflops});
    steps.begin_step();
    steps.microbatch() += step;
    steps.end_step(on.seconds);
    const std::uint64_t tokens = step.get(view::useful, accumulator::tokens);
    const flop_counter one_layer(model.layer.cost(layer{.hidden_size = model.hidden_size}));
    const flops forward = one_layer.evaluate(step).get(view::useful, phase::forward);
    std::printf("%s\n", to_string(train_line_of(1, steps.last_step())).c_str());
    std::printf("%s\n\n", to_string(layer_line_of("train_fwd", tokens, forward, {0.005, 1, peak_tflops})).c_str());

    // The least FLOPs of a kernel that computes in tiles of 128 queries by 64 keys.
    const std::uint64_t in_tiles = executed_pairs(mask::hstu(), longest, 128, 64);
    std::printf("pairs of the longest sequence: %s attended, %s in tiles\n",
                std::to_string(mask::hstu().pairs(longest)).c_str(), std::to_string(in_tiles).c_str());
}

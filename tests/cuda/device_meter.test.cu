// SPDX-License-Identifier: Apache-2.0
//
// The objects that use the device's tally: steps that reach a meter, FLOPs, sums over ranks. Without a device the
// program exits with 77: skipped.

#include <cstdint>
#include <cuda_runtime.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/cuda/device_meter.cuh>
#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/cuda/step_timer.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>

#include "../error_of.hpp"
#include "gpu_test.hpp"

namespace {

using namespace floptally;
using gpu_test::device_copy;

const std::vector<std::int32_t> boundaries{0, 700, 6000, 8192};

void steps_reach_the_meter() {
    const flop_counter model(presets::mistral_7b.cost());
    meter totals(model, {.gpus = 1, .peak_tflops = 989});
    const gpu_test::stream stream;
    const device_copy<std::int32_t> on_device(boundaries);
    device_meter steps(totals, 4);
    constexpr std::uint64_t count = 20;
    std::uint64_t polled = 0;
    for (std::uint64_t step = 0; step < count; ++step) {
        steps.begin_step(stream);
        for (std::uint64_t microbatch = 0; microbatch <= step % 3; ++microbatch) {
            steps.microbatch().add_cu_seqlens(on_device.all(), stream);
        }
        steps.end_step(stream);
        if (steps.in_flight() == 4) {
            stream.wait();
        }
        polled += steps.poll();
    }
    polled += steps.finish(stream);
    tally all{model.masks()};
    for (std::uint64_t step = 0; step < count; ++step) {
        for (std::uint64_t microbatch = 0; microbatch <= step % 3; ++microbatch) {
            all.add_cu_seqlens(boundaries);
        }
    }
    expect(polled == count && totals.run().totals.steps == count, "every step reaches the meter");
    expect(totals.run().totals.batch == all, "with all of its sequences");
    expect(totals.run().totals.useful == model.total_flops(all), "and its FLOPs");
    expect(totals.run().totals.seconds > 0, "and its time");

    steps.begin_step(stream);
    expect(error_of([&] { steps.begin_step(stream); }).rfind("begin: a step is open", 0) == 0, "a step in a step");
    steps.microbatch().add_cu_seqlens(on_device.all(), stream);
    steps.discard_step(stream);
    expect(error_of([&] {
               static_cast<void>(steps.microbatch());
           }).rfind("microbatch: was added outside of a step", 0) == 0,
           "a microbatch outside a step");
    const std::vector<std::int32_t> wrong{0, 9, 3};
    const device_copy<std::int32_t> of_wrong(wrong);
    steps.begin_step(stream);
    steps.microbatch().add_cu_seqlens(of_wrong.all(), stream);
    steps.end_step(stream);
    steps.begin_step(stream);
    steps.microbatch().add_cu_seqlens(on_device.all(), stream);
    steps.end_step(stream);
    expect(error_of([&] { steps.finish(stream); }).rfind("cu_seqlens[2]: must be at least", 0) == 0, "a wrong step");
    expect(steps.finish(stream) == 1 && totals.run().totals.steps == count + 1, "the step behind it");
    for (int i = 0; i < 4; ++i) {
        steps.begin_step(stream);
        steps.microbatch().add_cu_seqlens(on_device.all(), stream);
        steps.end_step(stream);
    }
    expect(error_of([&] { steps.begin_step(stream); }).rfind("begin: 4 steps are not read yet", 0) == 0,
           "more steps than fit");
    expect(steps.finish(stream) == 4, "all that fit");
}

/// The group of one rank, on a device.
struct single_device {
    static void sum_async(std::span<std::uint64_t>, cudaStream_t) {}
};

void a_sum_over_ranks_is_polled() {
    const mask_set masks = presets::mistral_7b.cost().masks();
    const gpu_test::stream stream;
    const device_copy<std::int32_t> on_device(boundaries);
    single_rank alone;
    single_device over;
    const tally_reduction reduction(masks, scopes::microbatch, parallel_layout({.dp = 1}, 1, 0), alone, std::nullopt);
    device_reduction sums(reduction);
    device_tally mine(masks);
    tally host{masks};
    for (int i = 0; i < 3; ++i) {
        mine.add_cu_seqlens(on_device.all(), stream);
        host.add_cu_seqlens(boundaries);
        sums.sum_async(mine, over, stream);
        stream.wait();
        const std::optional<tally> all = sums.poll();
        expect(all && *all == host, "the tally of all ranks");
    }
    const std::vector<std::int32_t> wrong{0, 9, 3};
    const device_copy<std::int32_t> of_wrong(wrong);
    mine.add_cu_seqlens(of_wrong.all(), stream);
    sums.sum_async(mine, over, stream);
    stream.wait();
    expect(error_of([&] { static_cast<void>(sums.poll()); }) == "sum: rank 0 failed: look at the error of that rank",
           "a rank that left something out");
}

void steps_are_timed() {
    const gpu_test::stream stream;
    step_timer timer(2);
    expect(!timer.poll(), "no step");
    timer.begin(stream);
    expect(error_of([&] { timer.begin(stream); }).rfind("begin: a step is open", 0) == 0, "a begin in a step");
    timer.end(stream);
    expect(error_of([&] { timer.end(stream); }).rfind("end: no step is open", 0) == 0, "an end without a begin");
    timer.begin(stream);
    timer.end(stream);
    expect(error_of([&] { timer.begin(stream); }).rfind("begin: 2 steps are not read yet", 0) == 0, "too many steps");
    expect(timer.wait() >= 0, "seconds");
    stream.wait();
    expect(timer.poll().has_value() && !timer.poll(), "each step once");
}

}  // namespace

int main(int argc, char** argv) {
    return gpu_test::run(argc, argv, [] {
        steps_reach_the_meter();
        a_sum_over_ranks_is_polled();
        steps_are_timed();
    });
}

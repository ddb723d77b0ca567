// SPDX-License-Identifier: Apache-2.0
//
// The calls that each function makes to the CUDA runtime: launches, allocations, waits and others. They are counted on
// the host (on_host/); on a GPU the nodes of captured graphs are counted.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <floptally/cuda/device_meter.cuh>
#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/step/meter.hpp>

#include "../error_of.hpp"
#include "gpu_test.hpp"
#include "on_host/host_runtime.hpp"

namespace {

using namespace floptally;
using gpu_test::device_copy;
using on_host::call_counts;

/// A call of an owner on a stream.
struct one_call {
    std::string name;
    std::function<void(cudaStream_t)> make;
    call_counts asks;
    std::size_t nodes;  ///< of a graph that it is captured in, all of them kernels but one of a reset
};

/// The calls of one launch, with cudaGetDevice, by which an owner finds whether its own device is current.
constexpr call_counts one_launch{.launches = 1, .others = 1};

void asks_are_counted(const one_call& call, cudaStream_t stream) {
    const call_counts counted = on_host::counts_of([&] { call.make(stream); });
    if (on_host::is_here()) {
        expect(counted == call.asks, call.name + " asks for " + to_string(counted) + ", not " + to_string(call.asks));
    }
}

/// Checks that in a capture the runtime gets the same calls, and the graph has no more nodes.
void capture_is_counted(const one_call& call, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    asks_are_counted({call.name + ", captured,", call.make, call.asks, call.nodes}, stream);
    require_cuda(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    std::size_t nodes = 0;
    require_cuda(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
    expect(nodes == call.nodes, call.name + " captures " + std::to_string(nodes) + " nodes");
    require_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

/// The group of one rank, on a device.
struct single_device {
    static void sum_async(std::span<std::uint64_t>, cudaStream_t) {}
};

void calls_are_counted() {
    const flop_counter model(presets::mistral_7b.cost());
    const mask_set masks = model.masks();
    const std::vector<std::int32_t> boundaries{0, 700, 6000, 8192};
    const device_copy<std::int32_t> numbers(boundaries);
    const device_copy<std::int32_t> num_real(std::vector<std::int32_t>{2});
    const std::span<const std::int32_t> list = numbers.all();
    const std::span<const std::int32_t> none;
    const gpu_test::stream stream;
    device_tally batch(masks, {.snapshots = 4});
    single_rank alone;
    single_device over;
    const tally_reduction reduction(masks, scopes::microbatch, parallel_layout({.dp = 1}, 1, 0), alone, std::nullopt);
    device_reduction sums(reduction, 4);
    tally host{masks};
    host.add_cu_seqlens(boundaries);

    const std::vector<one_call> calls{
        {"add_cu_seqlens", [&](cudaStream_t on) { batch.add_cu_seqlens(list, on); }, one_launch, 1},
        {"add_cu_seqlens of a pack", [&](cudaStream_t on) { batch.add_cu_seqlens(list, list, 2, on); }, one_launch, 1},
        {"add_cu_seqlens with a number of the device",
         [&](cudaStream_t on) { batch.add_cu_seqlens(list, list, num_real.get(), on); }, one_launch, 1},
        {"add_packed", [&](cudaStream_t on) { batch.add_packed(list.first(3), list, on); }, one_launch, 1},
        {"add_lengths", [&](cudaStream_t on) { batch.add_lengths(list, on); }, one_launch, 1},
        {"add_padded", [&](cudaStream_t on) { batch.add_padded(list, 9000, on); }, one_launch, 1},
        {"add_attention_mask",
         [&](cudaStream_t on) { batch.add_attention_mask(list.first(1), {.rows = 1, .columns = 1}, on); }, one_launch,
         1},
        {"add_hstu", [&](cudaStream_t on) { batch.add_hstu(list, none, none, 1, on); }, one_launch, 1},
        {"add_encoder_decoder", [&](cudaStream_t on) { batch.add_encoder_decoder(list, list, on); }, one_launch, 1},
        {"add_new_tokens", [&](cudaStream_t on) { batch.add_new_tokens(list, list, on); }, one_launch, 1},
        {"add_shape", [&](cudaStream_t on) { batch.add_shape({.rows = 2, .columns = 4096}, on); }, one_launch, 1},
        {"add of a tally", [&](cudaStream_t on) { batch.add(host, on); }, one_launch, 1},
        {"snapshot_async", [&](cudaStream_t on) { batch.snapshot_async(on); }, one_launch, 1},
        {"snapshot_and_reset_async", [&](cudaStream_t on) { batch.snapshot_and_reset_async(on); }, one_launch, 1},
        {"reset_async", [&](cudaStream_t on) { batch.reset_async(on); }, {.others = 2}, 1},
        {"poll", [&](cudaStream_t) { static_cast<void>(batch.poll()); }, {}, 0},
        {"device_reduction::sum_async",
         [&](cudaStream_t on) { sums.sum_async(batch, over, on); },
         {.launches = 2, .others = 3},
         2},
        {"device_reduction::poll", [&](cudaStream_t) { static_cast<void>(sums.poll()); }, {}, 0},
    };
    // First of all in a capture: nothing is loaded or allocated where a kernel is launched for the first time.
    for (const one_call& call : calls) {
        capture_is_counted(call, stream);
    }
    for (const one_call& call : calls) {
        asks_are_counted(call, stream);
        stream.wait();
    }
    batch.reset_async(stream);  // boundaries that were taken for lengths do not all fit their rows
    asks_are_counted(
        {"read", [&](cudaStream_t on) { static_cast<void>(batch.read(on)); }, {.waits = 1, .others = 3}, 0}, stream);
}

void a_step_is_counted() {
    const flop_counter model(presets::mistral_7b.cost());
    meter totals(model, {.gpus = 1, .peak_tflops = 989});
    const gpu_test::stream stream;
    device_meter steps(totals, 4);
    asks_are_counted({"begin_step", [&](cudaStream_t on) { steps.begin_step(on); }, {.others = 3}, 0}, stream);
    asks_are_counted({"end_step", [&](cudaStream_t on) { steps.end_step(on); }, {.launches = 1, .others = 4}, 0},
                     stream);
    std::size_t handed = 0;
    const auto poll = [&] { handed = steps.poll(); };
    expect(on_host::counts_of(poll) == call_counts{} || handed == 1, "poll before a step is done calls the runtime");
    stream.wait();
    if (handed == 0) {
        // It waits for an event before the snapshot, and so not at all.
        asks_are_counted({"poll", [&](cudaStream_t) { poll(); }, {.waits = 1, .others = 4}, 0}, stream);
    }
    asks_are_counted({"finish", [&](cudaStream_t on) { steps.finish(on); }, {.waits = 1, .others = 2}, 0}, stream);
}

struct executed {
    std::uint64_t instructions = 0;
    std::uint64_t fences = 0;
};
template <class Run>
executed executed_by(const gpu_test::stream& stream, const Run& run) {
    executed before;
    executed after;
    floptally_host_executed(&before.instructions, &before.fences);
    run();
    stream.wait();
    floptally_host_executed(&after.instructions, &after.fences);
    return {after.instructions - before.instructions, after.fences - before.fences};
}

/// The cost of one more length in PTX instructions: it repeats exactly, though ptxas makes more or fewer of them.
void instructions_are_counted() {
    if (!on_host::is_here()) {
        return;
    }
    const gpu_test::stream stream;
    std::vector<std::int32_t> cu_seqlens{0};
    for (std::int32_t i = 0; i < 8192; ++i) {
        cu_seqlens.push_back(cu_seqlens.back() + 100 + i * 37 % 1900);
    }
    const device_copy<std::int32_t> on_device(cu_seqlens);
    struct bound {
        mask_set masks;
        double most;
    };
    const bound bounds[]{{mask_set{}, 13.125},
                         {mask_set{mask::sliding_window(400)}, 19.75},
                         {mask_set{mask::sliding_window(400), mask::sliding_window(800), mask::sliding_window(1200),
                                   mask::sliding_window(1600)},
                          39.25}};
    for (const bound& limit : bounds) {
        device_tally batch(limit.masks, {.max_blocks = 1});
        const auto of = [&](std::size_t count) {
            return executed_by(stream, [&] { batch.add_cu_seqlens(on_device.all().first(count + 1), stream); })
                .instructions;
        };
        const double of_one = static_cast<double>(of(8192) - of(4096)) / 4096;
        expect(of_one <= limit.most, std::to_string(of_one) + " instructions a length with " +
                                         std::to_string(limit.masks.size()) + " masks, at most " +
                                         std::to_string(limit.most));
    }
    device_tally batch(mask_set{});
    const std::uint64_t fences = executed_by(stream, [&] { batch.snapshot_async(stream); }).fences;
    expect(fences == 2, "a snapshot has " + std::to_string(fences) + " fences");
}

}  // namespace

int main(int argc, char** argv) {
    return gpu_test::run(argc, argv, [] {
        calls_are_counted();
        a_step_is_counted();
        instructions_are_counted();
    });
}

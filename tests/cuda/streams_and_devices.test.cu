// SPDX-License-Identifier: Apache-2.0
//
// The surroundings of the kernels, where errors are easy: copies that are under way, memory that is freed, captures,
// errors that remain, calls that fail half-way, and other devices. Some tests need two devices; calls fail only on the
// host (on_host/).

#include <cstdint>
#include <cuda_runtime.h>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <floptally/cuda/cuda_memory.hpp>
#include <floptally/cuda/device_meter.cuh>
#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/cuda/step_timer.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>

#include "../error_of.hpp"
#include "gpu_test.hpp"
#include "on_host/host_runtime.hpp"

namespace {

using namespace floptally;
using gpu_test::device_copy;

const std::vector<std::int32_t> boundaries{0, 700, 6000, 8192};

tally counted_on_host(const mask_set& masks, int times) {
    tally host{masks};
    for (int i = 0; i < times; ++i) {
        host.add_cu_seqlens(boundaries);
    }
    return host;
}

bool begins_with(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

struct single_device {
    static void sum_async(std::span<std::uint64_t>, cudaStream_t) {}
};

void what_a_reduction_needs_is_there_at_once() {
    const mask_set masks = presets::mistral_7b.cost().masks();
    const gpu_test::stream stream;
    const device_copy<std::int32_t> on_device(boundaries);
    device_tally mine(masks);
    single_rank alone;
    single_device over;
    const tally_reduction reduction(masks, scopes::microbatch, parallel_layout({.dp = 1}, 1, 0), alone, std::nullopt);
    device_reduction sums(reduction);  // and nothing after it waits for the device
    mine.add_cu_seqlens(on_device.all(), stream);
    sums.sum_async(mine, over, stream);
    stream.wait();
    const std::optional<tally> all = sums.poll();
    expect(all && *all == counted_on_host(masks, 1), "a sum right after its construction");
}

void memory_is_given_back_behind_its_kernels() {
    const device_copy<std::int32_t> on_device(boundaries);
    const gpu_test::stream stream;
    {
        const flop_counter model(presets::mistral_7b.cost());
        device_tally batch(model.masks());
        batch.add_cu_seqlens(on_device.all(), stream);
        batch.snapshot_async(stream);
    }
    stream.wait();
}

/// Captures what `queue` does, and expects that the capture is valid and no error remains.
void capture(const gpu_test::stream& stream, const std::function<void()>& queue) {
    cudaGraph_t graph = nullptr;
    require_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    queue();
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    expect(ended == cudaSuccess, "the capture became invalid");
    if (ended == cudaSuccess) {
        require_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    expect(cudaGetLastError() == cudaSuccess, "an error stays behind a capture");
}

void what_cannot_be_captured_is_refused() {
    const flop_counter model(presets::mistral_7b.cost());
    meter totals(model, {.gpus = 1, .peak_tflops = 989});
    const gpu_test::stream stream;
    const gpu_test::stream other;
    const device_copy<std::int32_t> on_device(boundaries);
    device_tally batch(model.masks());
    device_meter steps(totals);
    capture(stream, [&] {
        expect(begins_with(error_of([&] { static_cast<void>(batch.read(stream)); }), "read: cannot wait for a stream"),
               "a tally is read in a capture");
        expect(begins_with(error_of([&] { steps.begin_step(stream); }), "begin: the stream is being captured"),
               "a step begins in a capture");
        expect(begins_with(error_of([&] { static_cast<void>(steps.finish(stream)); }),
                           "finish: the stream is being captured"),
               "a meter waits in a capture");
    });
    steps.begin_step(stream);
    capture(stream, [&] {
        steps.microbatch().add_cu_seqlens(on_device.all(), stream);
        expect(begins_with(error_of([&] { steps.end_step(stream); }), "end: the stream is being captured"),
               "a step ends in a capture");
        expect(begins_with(error_of([&] { steps.discard_step(stream); }), "discard_step: the stream is being captured"),
               "a step is discarded in a capture");
    });
    steps.microbatch().add_cu_seqlens(on_device.all(), stream);
    steps.end_step(stream);
    stream.wait();
    std::size_t handed = 0;
    capture(other, [&] { handed = steps.poll(); });  // of another stream: steps are handed over all the same
    expect(handed == 1 && totals.run().totals.batch == counted_on_host(model.masks(), 1),
           "a step is polled while another stream is captured");
}

void no_error_stays_behind() {
    const gpu_test::stream stream;
    step_timer timer(2);
    timer.begin(stream);
    timer.end(stream);
    static_cast<void>(timer.poll());  // not ready yet, or ready
    expect(cudaGetLastError() == cudaSuccess, "an error stays behind a poll that was too early");
    if (on_host::is_here()) {
        device_tally batch(mask_set{});
        floptally_host_fail_next("cudaLaunchKernel", cudaErrorLaunchOutOfResources);
        expect(begins_with(error_of([&] { batch.snapshot_async(stream); }), "snapshot_async: "), "a failed launch");
        floptally_host_fail_next("cudaMalloc", cudaErrorMemoryAllocation);
        expect(begins_with(error_of([] { device_tally{mask_set{}}; }), "cudaMalloc: "), "no memory");
        expect(cudaGetLastError() == cudaSuccess, "an error stays behind calls that failed");
        {
            const device_tally gone(mask_set{});
            floptally_host_fail_next("cudaFree", cudaErrorInvalidValue);
        }
        expect(cudaGetLastError() == cudaSuccess, "an error stays behind a destructor");
    }
}

/// Steps after a call that failed have their own times and tallies.
void a_failed_call_shifts_nothing() {
    if (!on_host::is_here()) {
        return;
    }
    const flop_counter model(presets::mistral_7b.cost());
    const gpu_test::stream stream;
    const device_copy<std::int32_t> on_device(boundaries);
    for (const char* const call : {"cudaLaunchKernel", "cudaEventRecord"}) {
        meter totals(model, {.gpus = 1, .peak_tflops = 989});
        device_meter steps(totals);
        const auto step = [&](int microbatches, const char* fails) {
            steps.begin_step(stream);
            for (int i = 0; i < microbatches; ++i) {
                steps.microbatch().add_cu_seqlens(on_device.all(), stream);
            }
            if (fails != nullptr) {
                floptally_host_fail_next(fails, cudaErrorLaunchOutOfResources);
                expect(error_of([&] { steps.end_step(stream); }) != "no error", std::string(fails) + " does not fail");
            }
        };
        step(3, call);
        steps.end_step(stream);  // again
        expect(steps.finish(stream) == 1 && totals.run().totals.batch == counted_on_host(model.masks(), 3),
               std::string("a step that ends again after ") + call);
        step(5, call);
        steps.discard_step(stream);
        step(1, nullptr);
        steps.end_step(stream);
        expect(steps.finish(stream) == 1 && steps.in_flight() == 0 &&
                   totals.run().totals.batch == counted_on_host(model.masks(), 4),
               std::string("a step behind one that was discarded after ") + call);
    }
    meter totals(model, {.gpus = 1, .peak_tflops = 989});
    device_meter steps(totals);
    steps.begin_step(stream);
    steps.microbatch().add_cu_seqlens(on_device.all(), stream);
    floptally_host_fail_next("cudaMemsetAsync", cudaErrorInvalidValue);
    expect(begins_with(error_of([&] { steps.discard_step(stream); }), "cudaMemsetAsync"), "a discard fails");
    steps.discard_step(stream);  // again
    steps.begin_step(stream);
    steps.end_step(stream);
    expect(steps.finish(stream) == 1 && totals.run().totals.batch == counted_on_host(model.masks(), 0),
           "a step that was discarded is counted");
}

/// Makes a device current, and device 0 at the end.
class current_device {
  public:
    explicit current_device(int device) { require_cuda(cudaSetDevice(device), "cudaSetDevice"); }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device() { cudaSetDevice(0); }
};

void an_owner_works_on_its_own_device() {
    const flop_counter model(presets::mistral_7b.cost());
    meter totals(model, {.gpus = 1, .peak_tflops = 989});
    std::unique_ptr<const device_copy<std::int32_t>> on_second;
    std::unique_ptr<const gpu_test::stream> stream;
    std::unique_ptr<device_tally> batch;
    std::unique_ptr<device_meter> steps;
    {
        const current_device second(1);
        on_second = std::make_unique<const device_copy<std::int32_t>>(boundaries);
        stream = std::make_unique<const gpu_test::stream>();
        batch = std::make_unique<device_tally>(model.masks());
        steps = std::make_unique<device_meter>(totals);
    }
    const gpu_test::stream of_first;
    const tally host = counted_on_host(model.masks(), 1);
    batch->add_cu_seqlens(on_second->all(), *stream);
    batch->snapshot_async(*stream);
    expect(batch->read(*stream) == host, "a tally of another device is read");
    const std::optional<tally> polled = batch->poll();
    expect(polled && *polled == host, "a tally of another device is polled");
    steps->begin_step(*stream);
    steps->microbatch().add_cu_seqlens(on_second->all(), *stream);
    steps->end_step(*stream);
    expect(steps->finish(*stream) == 1 && totals.run().totals.batch == host, "a step of another device");

    const std::string other_stream =
        "stream: is the default stream of the current device, 0, but the memory is on device 1: pass a stream of "
        "device "
        "1";
    expect(error_of([&] { batch->add_cu_seqlens(on_second->all(), nullptr); }) == other_stream &&
               error_of([&] { batch->snapshot_async(cudaStreamLegacy); }) == other_stream &&
               error_of([&] { batch->reset_async(nullptr); }) == other_stream &&
               error_of([&] { steps->begin_step(nullptr); }) == other_stream,
           "the default stream of another device");
    expect(begins_with(error_of([&] { batch->add_cu_seqlens(on_second->all(), of_first); }), "add_cu_seqlens: "),
           "a stream of another device");
    single_rank alone;
    single_device over;
    const tally_reduction reduction(model.masks(), scopes::microbatch, parallel_layout({.dp = 1}, 1, 0), alone,
                                    std::nullopt);
    device_reduction sums(reduction);  // of the first
    expect(error_of([&] { sums.sum_async(*batch, over, of_first); }) ==
               "tally: is on device 1, but this device_reduction is on device 0: make both on one device",
           "a sum of a tally of another device");
    expect(cudaGetLastError() == cudaSuccess, "an error stays behind streams of other devices");
    int current = -1;
    require_cuda(cudaGetDevice(&current), "cudaGetDevice");
    expect(current == 0, "another device is current");
    batch->add_cu_seqlens(on_second->all(), *stream);
    batch.reset();
    stream->wait();
}

/// Every method of every owner with another device current, and from another thread: no call to the runtime is made
/// there, and no context.
void every_call_is_made_on_its_own_device() {
    if (!on_host::is_here()) {
        return;
    }
    const flop_counter model(presets::mistral_7b.cost());
    meter totals(model, {.gpus = 1, .peak_tflops = 989});
    single_rank alone;
    single_device over;
    const tally_reduction reduction(model.masks(), scopes::microbatch, parallel_layout({.dp = 1}, 1, 0), alone,
                                    std::nullopt);
    std::unique_ptr<const device_copy<std::int32_t>> numbers;
    std::unique_ptr<const gpu_test::stream> of_second;
    std::optional<device_tally> batch;
    std::optional<device_meter> steps;
    std::optional<device_reduction> sums;
    std::optional<step_timer> timer;
    std::optional<cuda_memory> memory;
    {
        const current_device second(1);
        numbers = std::make_unique<const device_copy<std::int32_t>>(boundaries);
        of_second = std::make_unique<const gpu_test::stream>();
        batch.emplace(model.masks());
        steps.emplace(totals);
        sums.emplace(reduction);
        timer.emplace(2);
        memory.emplace();
    }
    floptally_host_require_device(1);  // and 0 is current
    const cudaStream_t stream = *of_second;
    const std::span<const std::int32_t> list = numbers->all();
    const auto use_all = [&] {
        batch->add_cu_seqlens(list, stream);
        batch->add_cu_seqlens(list, list, 2, stream);
        batch->add_lengths(list.first(2), stream);
        batch->add_new_tokens(list, list, stream);
        batch->add_attention_mask(list.first(1), {.rows = 1, .columns = 1}, stream);
        batch->add_shape({.rows = 1, .columns = 5}, stream);
        batch->snapshot_async(stream);
        batch->snapshot_and_reset_async(stream);
        static_cast<void>(batch->read(stream));
        while (batch->poll()) {
        }
        batch->reset_async(stream);
        sums->sum_async(*batch, over, stream);
        static_cast<void>(sums->poll());
        timer->begin(stream);
        timer->end(stream);
        if (!timer->poll()) {
            static_cast<void>(timer->wait());
        }
        steps->begin_step(stream);
        steps->microbatch().add_lengths(list.first(2), stream);
        steps->end_step(stream);
        steps->poll();
        steps->begin_step(stream);
        steps->discard_step(stream);
        steps->finish(stream);
        memory->reset_high_marks();
        static_cast<void>(memory->sample());
    };
    use_all();
    std::thread(use_all).join();
    batch.reset();
    steps.reset();
    sums.reset();
    timer.reset();
    expect(floptally_host_on_wrong_device() == 0, "a call is made with another device current");
    floptally_host_require_device(-1);
    const current_device second(1);
    numbers.reset();
    of_second.reset();
}

/// Takes some tenths of a second on a GPU.
__global__ void count_up(volatile std::int32_t* at, std::int32_t times) {
    for (std::int32_t i = 0; i < times; ++i) {
        *at = *at + 1;
    }
}

/// An owner's end waits for what is queued, on streams that are gone too.
void an_end_waits_for_what_is_queued() {
    const device_copy<std::int32_t> numbers(boundaries);
    const device_copy<std::int32_t> counted(std::vector<std::int32_t>{0});
    std::optional<gpu_test::stream> own(std::in_place);
    std::optional<device_tally> batch(std::in_place, mask_set{});
    cudaEvent_t end = nullptr;
    require_cuda(cudaEventCreate(&end), "cudaEventCreate");
    count_up<<<1, 1, 0, *own>>>(const_cast<std::int32_t*>(counted.all().data()), gpu_test::size(200'000, 10));
    batch->add_lengths(numbers.all().first(2), *own);
    batch->snapshot_async(*own);
    require_cuda(cudaEventRecord(end, *own), "cudaEventRecord");
    if (on_host::is_here()) {
        const on_host::call_counts asked = on_host::counts_of([&] { batch.reset(); });
        expect(asked == on_host::call_counts{.allocations = 2, .others = 1},
               "the end of a tally asks for " + to_string(asked));
    } else {
        own.reset();
        // compute-sanitizer lets no kernel run on.
        expect(gpu_test::is_small || cudaEventQuery(end) == cudaErrorNotReady, "the kernel before is too fast");
        batch.reset();
    }
    expect(cudaEventQuery(end) == cudaSuccess, "the end of a tally waits for its kernels");
    require_cuda(cudaEventDestroy(end), "cudaEventDestroy");
}

/// First of all, before anything else has made one.
void a_reading_of_memory_makes_no_context_elsewhere() {
    if (!on_host::is_here()) {
        return;
    }
    const cuda_memory memory(1);
    expect(memory.sample().free > 0, "a reading");
    expect(floptally_host_has_context(1) && !floptally_host_has_context(0),
           "a reading of device 1 makes a context on device 0");
}

}  // namespace

int main(int argc, char** argv) {
    return gpu_test::run(argc, argv, [] {
        a_reading_of_memory_makes_no_context_elsewhere();
        what_a_reduction_needs_is_there_at_once();
        memory_is_given_back_behind_its_kernels();
        what_cannot_be_captured_is_refused();
        no_error_stays_behind();
        a_failed_call_shifts_nothing();
        int devices = 0;
        require_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
        an_end_waits_for_what_is_queued();
        if (devices > 1) {
            an_owner_works_on_its_own_device();
            every_call_is_made_on_its_own_device();
        }
    });
}

// SPDX-License-Identifier: Apache-2.0

// The cost of an add on the device and on the thread that queues it. "Time" is GPU microseconds of one call, `host_us`
// those of the host; the column "CPU" is of a whole batch of calls and tells nothing. A batch is queued after a kernel
// that waits until all of it is there, since the device is faster than a host queues small kernels. The counts are
// compared with a tally of the host before and after.

#include <benchmark/benchmark.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/cuda/device_tally.cuh>

#include "windows.hpp"

namespace {

using namespace floptally;

constexpr int skipped = 77;
constexpr int batch = 256;  // a stream takes about a thousand launches before queueing blocks
constexpr std::uint32_t longest = 8000;

/// Holds its stream until the host opens it, or for some seconds.
__global__ void wait_for(const volatile std::uint64_t* open) {
    const long long since = clock64();
    while (*open == 0 && clock64() - since < 8'000'000'000) {
        __nanosleep(1000);
    }
}

/// A stream, and the time of what is put on it.
class timed_stream {
  public:
    struct seconds {
        double gpu;
        double host;
    };

    timed_stream() {
        void* made = nullptr;
        require_cuda(cudaHostAlloc(&made, sizeof(std::uint64_t), cudaHostAllocMapped), "cudaHostAlloc");
        open_.reset(static_cast<std::uint64_t*>(made));
        *open_ = 0;
        require_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        require_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
        require_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    }
    timed_stream(const timed_stream&) = delete;
    timed_stream& operator=(const timed_stream&) = delete;
    ~timed_stream() {
        cudaEventDestroy(end_);
        cudaEventDestroy(begin_);
        cudaStreamDestroy(stream_);
    }

    [[nodiscard]] cudaStream_t get() const { return stream_; }
    void wait() const { require_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

    /// The seconds of one of `calls`. The kernels that they launch must have run before: loading one would wait for the
    /// gate.
    template <class Call>
    [[nodiscard]] seconds time(int calls, const Call& call) {
        volatile std::uint64_t& open = *open_;
        open = 0;
        wait_for<<<1, 1, 0, stream_>>>(open_.get());
        require_cuda(cudaGetLastError(), "wait_for");
        require_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
        const auto before = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) {
            call(stream_);
        }
        const std::chrono::duration<double> host = std::chrono::steady_clock::now() - before;
        require_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
        const cudaError_t begun = cudaEventQuery(begin_);
        forget_cuda_error(begun);  // or the next launch is taken for one that failed
        const bool all_queued = begun == cudaErrorNotReady;
        open = 1;
        wait();
        if (!all_queued) {
            throw std::runtime_error("the device began before all calls were queued: fewer calls, or a longer gate");
        }
        float milliseconds = 0;
        require_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
        return {.gpu = milliseconds * 1e-3 / calls, .host = host.count() / calls};
    }

    /// Nodes of a graph that captures one call.
    template <class Call>
    [[nodiscard]] std::size_t launches_of(const Call& call) const {
        cudaGraph_t graph = nullptr;
        std::size_t nodes = 0;
        require_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        call(stream_);
        require_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
        require_cuda(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
        require_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
        return nodes;
    }

  private:
    struct release {
        void operator()(std::uint64_t* memory) const { cudaFreeHost(memory); }
    };
    std::unique_ptr<std::uint64_t, release> open_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

struct release_on_device {
    template <class T>
    void operator()(T* memory) const {
        cudaFree(memory);
    }
};
template <class T>
std::unique_ptr<T, release_on_device> on_device(const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    T* made = nullptr;
    require_cuda(cudaMalloc(&made, bytes), "cudaMalloc");
    std::unique_ptr<T, release_on_device> copy(made);
    require_cuda(cudaMemcpy(made, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return copy;
}

std::vector<std::int32_t> lengths_of(std::size_t count) {
    std::minstd_rand random(1);
    std::vector<std::int32_t> lengths(count);
    for (std::int32_t& length : lengths) {
        length = static_cast<std::int32_t>(1 + random() % longest);
    }
    return lengths;
}

/// The boundaries of slots that are multiples of `slot`.
std::vector<std::int32_t> boundaries_of(const std::vector<std::int32_t>& lengths, std::int32_t slot) {
    std::vector<std::int32_t> boundaries{0};
    for (const std::int32_t length : lengths) {
        boundaries.push_back(boundaries.back() + (length + slot - 1) / slot * slot);
    }
    return boundaries;
}

void require_equal(const tally& counted, const tally& once, std::uint64_t times) {
    const std::span<const std::uint64_t> got = counted.accumulators();
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (got[i] != times * once.accumulators()[i]) {
            throw error(indexed("words", i), std::to_string(got[i]) + " on the device, " +
                                                 std::to_string(times * once.accumulators()[i]) + " on the host");
        }
    }
}

void show(benchmark::State& state, double host_seconds, std::size_t launches) {
    if (launches != 1) {
        throw error("launches", std::to_string(launches) + " of one call, which must be 1");
    }
    state.counters["launches"] = static_cast<double>(launches);
    state.counters["host_us"] = benchmark::Counter(host_seconds * 1e6, benchmark::Counter::kAvgIterations);
}

/// Times an add that counts `once`, the same on the host.
template <class Add>
void measure(benchmark::State& state, const device_tally& device, const tally& once, const Add& add) {
    timed_stream stream;
    add(stream.get());
    require_equal(device.read(stream.get()), once, 1);
    const std::size_t launches = stream.launches_of(add);
    double host = 0;
    for (auto _ : state) {
        const timed_stream::seconds one = stream.time(batch, add);
        state.SetIterationTime(one.gpu);
        host += one.host;
    }
    require_equal(device.read(stream.get()), once, 1 + batch * static_cast<std::uint64_t>(state.iterations()));
    show(state, host, launches);
}

void add_cu_seqlens(benchmark::State& state) {
    const mask_set masks = windows(state.range(1));
    const auto cu_seqlens = boundaries_of(lengths_of(static_cast<std::size_t>(state.range(0))), 1);
    tally once{masks};
    once.add_cu_seqlens(cu_seqlens);
    const auto boundaries = on_device(cu_seqlens);
    device_tally device{masks};
    measure(state, device, once, [&](cudaStream_t stream) {
        device.add_cu_seqlens(std::span(boundaries.get(), cu_seqlens.size()), stream);
    });
}
BENCHMARK(add_cu_seqlens)
    ->ArgNames({"sequences", "windows"})
    ->ArgsProduct({{8, 64, 512, 4096, 65536}, {0, 1, 4}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(50);

/// The benchmark of a row with slots, whose last sequence is a mock sequence. `number_on_device`: the number of real
/// ones is in device memory.
void add_padded_row(benchmark::State& state, bool number_on_device) {
    const std::vector<std::int32_t> lengths = lengths_of(static_cast<std::size_t>(state.range(0)));
    const auto cu_seqlens = boundaries_of(lengths, 1);
    const auto cu_seqlens_padded = boundaries_of(lengths, 64);
    const std::size_t real = lengths.size() - 1;
    tally once;
    once.add_cu_seqlens(cu_seqlens, cu_seqlens_padded, real);
    const auto boundaries = on_device(cu_seqlens);
    const auto slots = on_device(cu_seqlens_padded);
    const auto num_real_seqs = on_device(std::vector<std::int32_t>{static_cast<std::int32_t>(real)});
    device_tally device{mask_set{}};
    measure(state, device, once, [&](cudaStream_t stream) {
        if (number_on_device) {
            device.add_cu_seqlens(std::span(boundaries.get(), cu_seqlens.size()),
                                  std::span(slots.get(), cu_seqlens.size()), num_real_seqs.get(), stream);
        } else {
            device.add_cu_seqlens(std::span(boundaries.get(), cu_seqlens.size()),
                                  std::span(slots.get(), cu_seqlens.size()), real, stream);
        }
    });
}
BENCHMARK_CAPTURE(add_padded_row, number_on_host, false)
    ->ArgName("sequences")
    ->ArgsProduct({{8, 64, 512, 4096, 65536}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(50);
BENCHMARK_CAPTURE(add_padded_row, number_on_device, true)
    ->ArgName("sequences")
    ->ArgsProduct({{8, 64, 512, 4096, 65536}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(50);

/// The end of a step. `poll_us`: `poll` of a snapshot that is there, and its comparison.
void snapshot_and_reset(benchmark::State& state) {
    const mask_set masks = windows(state.range(0));
    const std::vector<std::int32_t> lengths = lengths_of(64);
    const auto given = on_device(lengths);
    tally once{masks};
    once.add_lengths(lengths);
    device_tally device{masks, {.snapshots = batch}};
    timed_stream stream;
    const auto take = [&](cudaStream_t on) { device.snapshot_and_reset_async(on); };
    const auto require_next = [&](std::uint64_t times) {
        const std::optional<tally> next = device.poll();
        if (!next) {
            throw error("poll", "a snapshot that the stream has passed is not there");
        }
        require_equal(*next, once, times);
    };
    const std::size_t launches = stream.launches_of(take);
    take(stream.get());
    stream.wait();
    require_next(0);
    double host = 0;
    std::chrono::duration<double> polling{};
    for (auto _ : state) {
        device.add_lengths(std::span(given.get(), lengths.size()), stream.get());
        const timed_stream::seconds one = stream.time(batch, take);
        state.SetIterationTime(one.gpu);
        host += one.host;
        require_next(1);
        const auto before = std::chrono::steady_clock::now();
        for (int i = 1; i < batch; ++i) {
            require_next(0);
        }
        polling += std::chrono::steady_clock::now() - before;
    }
    show(state, host, launches);
    state.counters["poll_us"] =
        benchmark::Counter(polling.count() * 1e6 / (batch - 1), benchmark::Counter::kAvgIterations);
}
BENCHMARK(snapshot_and_reset)
    ->ArgName("windows")
    ->Arg(0)
    ->Arg(4)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(50);

/// The benchmark of an add from memory: `of_copy` is bytes read a second, as a share of the bytes that a copy on the
/// device reads and writes a second, timed in turn.
void add_from_memory(benchmark::State& state) {
    constexpr int calls = 4;
    const mask_set masks = windows(state.range(1));
    const std::vector<std::int32_t> lengths = lengths_of(static_cast<std::size_t>(state.range(0)));
    const double bytes = static_cast<double>(lengths.size()) * sizeof(std::int32_t);
    tally once{masks};
    once.add_lengths(lengths);
    const auto given = on_device(lengths);
    const auto copied = on_device(lengths);
    device_tally device{masks};
    timed_stream stream;
    const auto add = [&](cudaStream_t on) { device.add_lengths(std::span(given.get(), lengths.size()), on); };
    const auto copy = [&](cudaStream_t on) {
        require_cuda(cudaMemcpyAsync(copied.get(), given.get(), lengths.size() * sizeof(std::int32_t),
                                     cudaMemcpyDeviceToDevice, on),
                     "cudaMemcpyAsync");
    };
    add(stream.get());
    copy(stream.get());
    require_equal(device.read(stream.get()), once, 1);
    const std::size_t launches = stream.launches_of(add);
    double host = 0;
    double adding = 0;
    double copying = 0;
    for (auto _ : state) {
        copying += stream.time(calls, copy).gpu;
        const timed_stream::seconds one = stream.time(calls, add);
        state.SetIterationTime(one.gpu);
        adding += one.gpu;
        host += one.host;
    }
    require_equal(device.read(stream.get()), once, 1 + calls * static_cast<std::uint64_t>(state.iterations()));
    show(state, host, launches);
    const auto measured = static_cast<double>(state.iterations());
    state.counters["read_GB/s"] = bytes * measured / adding * 1e-9;
    state.counters["copy_GB/s"] = 2 * bytes * measured / copying * 1e-9;
    state.counters["of_copy"] = copying / adding / 2;
}
BENCHMARK(add_from_memory)
    ->ArgNames({"lengths", "windows"})
    ->ArgsProduct({{1 << 28}, {0, 1}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20);

}  // namespace

int main(int argc, char** argv) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device\n");
        return skipped;
    }
    benchmark::Initialize(&argc, argv);
    try {
        benchmark::RunSpecifiedBenchmarks();
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "%s\n", wrong.what());
        return 1;
    }
    return 0;
}

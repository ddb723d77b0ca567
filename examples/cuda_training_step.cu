// SPDX-License-Identifier: Apache-2.0
//
// A training loop whose boundaries are on the device. Lengths are counted and steps timed on its stream, and reach the
// meter a few steps later: the loop never waits for the device.
//
//     cuda_training_step [peak_tflops [activations]]     the peak, where the table does not know the device

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <exception>
#include <random>
#include <span>
#include <vector>

#include <floptally/cuda.cuh>
#include <floptally/cuda.hpp>
#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>

namespace {

constexpr std::uint64_t steps = 20;
constexpr std::uint64_t microbatches = 4;

/// Boundaries of the documents that a collator has packed into one row of 8192 tokens.
std::vector<std::int32_t> next_row(std::mt19937& random) {
    std::vector<std::int32_t> cu_seqlens{0};
    for (std::int32_t end = 0; end <= 8192; end += static_cast<std::int32_t>(random() % 3000 + 1)) {
        cu_seqlens.push_back(end);
    }
    return cu_seqlens;
}

/// In place of the forward and the backward of a model.
__global__ void train(float* activations, std::uint32_t count) {
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        for (int pass = 0; pass < 2000; ++pass) {
            activations[i] = activations[i] * 0.999F + 0.001F;
        }
    }
}

int run(const char* peak, std::uint32_t count) {
    using namespace floptally;
    const device_identity gpu = identity_of(0);
    const double peak_tflops = peak != nullptr ? std::atof(peak) : accelerator_of(gpu).peak_tflops(precision::bf16);
    std::printf("%s\n", describe(gpu).c_str());

    const flop_counter model(presets::mistral_7b.cost());
    meter totals(model, {.gpus = 1, .peak_tflops = peak_tflops, .accelerator = gpu.name, .precision = "bf16"});
    device_meter on_device(totals);

    // The boundaries that a data loader has put on the device.
    std::mt19937 random(8);
    std::vector<std::int32_t> loaded;
    std::vector<std::size_t> first{0};
    tally expected{model.masks()};
    for (std::uint64_t i = 0; i < steps * microbatches; ++i) {
        const std::vector<std::int32_t> row = next_row(random);
        loaded.insert(loaded.end(), row.begin(), row.end());
        first.push_back(loaded.size());
        expected.add_cu_seqlens(row);  // to compare with at the end
    }
    std::int32_t* cu_seqlens = nullptr;
    float* activations = nullptr;
    require_cuda(cudaMalloc(&cu_seqlens, loaded.size() * sizeof(std::int32_t)), "cudaMalloc");
    require_cuda(cudaMemcpy(cu_seqlens, loaded.data(), loaded.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice),
                 "cudaMemcpy");
    require_cuda(cudaMalloc(&activations, count * sizeof(float)), "cudaMalloc");
    require_cuda(cudaMemset(activations, 0, count * sizeof(float)), "cudaMemset");
    cudaStream_t stream = nullptr;
    require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");

    for (std::uint64_t step = 0; step < steps; ++step) {
        on_device.begin_step(stream);
        for (std::uint64_t i = step * microbatches; i < (step + 1) * microbatches; ++i) {
            on_device.microbatch().add_cu_seqlens(std::span(cu_seqlens + first[i], first[i + 1] - first[i]),
                                                  stream);  // the one line
            train<<<264, 256, 0, stream>>>(activations, count);
            require_cuda(cudaGetLastError(), "train");
        }
        on_device.end_step(stream);
        on_device.poll();  // hands over the steps that are done
    }
    on_device.finish(stream);

    const step_totals& done = totals.run().totals;
    std::printf("%llu steps, %s FLOP in %.3f s: MFU %.2f %%\n", static_cast<unsigned long long>(done.steps),
                to_string(done.useful).c_str(), done.seconds, 100 * rates(done).mfu);
    const bool right = done.steps == steps && done.batch == expected;
    std::printf("%s\n", right ? "the same as counted on the host" : "NOT what the host counts");
    return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("skipped: no CUDA device");
        return 77;
    }
    try {
        return run(argc > 1 ? argv[1] : nullptr,
                   argc > 2 ? static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 1U << 22U);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "cuda_training_step: %s\n", problem.what());
        return 1;
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// A user's own kernel that packs documents into a row, and counts them while it has their lengths at hand: no further
// launch, and no copy of the lengths to the host.

#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <exception>
#include <vector>

#include <floptally/cuda.cuh>
#include <floptally/floptally.hpp>

namespace {

constexpr std::uint32_t documents = 1000;
constexpr std::uint32_t alignment = 16;  // of the slots, in tokens

/// Copies each document into its slot, one block for a document at a time. The block counts in words of its own and
/// merges them once.
__global__ void pack(const std::int32_t* tokens, const std::uint32_t* first, const std::uint32_t* slots,
                     std::int32_t* row, floptally::device_tally_ref counted) {
    extern __shared__ std::uint64_t accumulators[];
    const floptally::device_tally_ref of_block = counted.local(accumulators);
    of_block.clear(threadIdx.x, blockDim.x);
    __syncthreads();
    for (std::uint32_t i = blockIdx.x; i < documents; i += gridDim.x) {
        const std::uint32_t length = first[i + 1] - first[i];
        const std::uint32_t slot = slots[i + 1] - slots[i];
        for (std::uint32_t at = threadIdx.x; at < slot; at += blockDim.x) {
            row[slots[i] + at] = at < length ? tokens[first[i] + at] : 0;
        }
        if (threadIdx.x == 0) {
            of_block.add({.length = length}, {.length = slot}, i);
        }
    }
    __syncthreads();
    counted.merge(of_block, threadIdx.x, blockDim.x);
}

template <class T>
T* on_device(const std::vector<T>& values) {
    void* memory = nullptr;
    floptally::require_cuda(cudaMalloc(&memory, values.size() * sizeof(T)), "cudaMalloc");
    floptally::require_cuda(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                            "cudaMemcpy");
    return static_cast<T*>(memory);
}

int run() {
    using namespace floptally;
    const flop_counter model(presets::mistral_7b.cost());

    std::vector<std::uint32_t> first{0};
    std::vector<std::uint32_t> slots{0};
    for (std::uint32_t i = 0; i < documents; ++i) {
        const std::uint32_t length = 1 + i * i * 7 % 9000;
        first.push_back(first.back() + length);
        slots.push_back(slots.back() + (length + alignment - 1) / alignment * alignment);
    }
    const std::vector<std::int32_t> tokens(first.back(), 1);
    const std::int32_t* const device_tokens = on_device(tokens);
    const std::uint32_t* const device_first = on_device(first);
    const std::uint32_t* const device_slots = on_device(slots);
    std::int32_t* const row = on_device(std::vector<std::int32_t>(slots.back()));

    cudaStream_t stream = nullptr;
    require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
    device_tally counted(model.masks());
    pack<<<64, 256, counted.block_bytes(), stream>>>(device_tokens, device_first, device_slots, row, counted.ref());
    require_cuda(cudaGetLastError(), "pack");

    const tally batch = counted.read(stream);  // waits; a loop takes snapshots instead
    tally expected{model.masks()};
    expected.add_cu_seqlens(first, slots);
    std::printf("%llu documents, %llu tokens in %llu slots: %s FLOP useful, %s padded\n",
                static_cast<unsigned long long>(batch.get(view::useful, accumulator::count)),
                static_cast<unsigned long long>(batch.get(view::useful, accumulator::tokens)),
                static_cast<unsigned long long>(batch.get(view::padded, accumulator::tokens)),
                to_string(model.total_flops(batch)).c_str(), to_string(model.total_flops(batch, view::padded)).c_str());
    std::printf("%s\n", batch == expected ? "the same as counted on the host" : "NOT what the host counts");
    return batch == expected ? 0 : 1;
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("skipped: no CUDA device");
        return 77;
    }
    try {
        return run();
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "fused_accumulate: %s\n", problem.what());
        return 1;
    }
}

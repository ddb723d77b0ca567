// SPDX-License-Identifier: Apache-2.0
//
// The tally of all ranks, summed on each rank's stream: one rank on each GPU of this machine, or processes that share
// the GPUs (gpu_ranks.hpp). Nobody waits for a sum before the last. Exits 77 without a GPU.

#include <cstdint>
#include <cuda_runtime.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/descriptors/presets.hpp>
#include <floptally/nccl.hpp>
#include <floptally/parallel/reduction.hpp>

#include "gpu_ranks.hpp"

namespace {

using namespace floptally;

constexpr std::uint64_t steps = 5;

/// The boundaries of a rank's microbatch: other ones each step.
std::vector<std::int32_t> boundaries_of(std::uint64_t step, std::uint64_t rank) {
    std::vector<std::int32_t> boundaries{0};
    for (std::uint64_t i = 0; i < 40 + 10 * rank; ++i) {
        boundaries.push_back(boundaries.back() + static_cast<std::int32_t>((i * i * 7 + step * 1000 + rank) % 9000));
    }
    return boundaries;
}

std::string sum_on(ncclComm_t group, cudaStream_t stream, std::uint64_t rank, std::uint64_t ranks) {
    const flop_counter model(presets::mistral_7b);
    const parallel_layout layout({.dp = ranks}, ranks, rank);
    nccl_reducer waits(group, stream);  // once: do all ranks agree on masks, scopes and layout?
    device_reduction everyone(tally_reduction(model, scopes::microbatch, layout, waits));
    nccl_stream_reducer over(group);
    device_tally mine(model.masks());
    std::int32_t* memory = nullptr;
    require_cuda(cudaMalloc(&memory, steps * 200 * sizeof(std::int32_t)), "cudaMalloc");
    std::vector<tally> expected;
    tally so_far{model.masks()};
    for (std::uint64_t step = 0; step < steps; ++step) {
        const std::vector<std::int32_t> boundaries = boundaries_of(step, rank);
        std::int32_t* const at = memory + step * 200;
        require_cuda(cudaMemcpyAsync(at, boundaries.data(), boundaries.size() * sizeof(std::int32_t),
                                     cudaMemcpyHostToDevice, stream),
                     "cudaMemcpyAsync");
        mine.add_cu_seqlens(std::span<const std::int32_t>(at, boundaries.size()), stream);
        everyone.sum_async(mine, over, stream);  // every step
        for (std::uint64_t one = 0; one < ranks; ++one) {
            so_far.add_cu_seqlens(boundaries_of(step, one));
        }
        expected.push_back(so_far);
    }
    detail::finish(group, stream, "ncclAllReduce");
    require_cuda(cudaFree(memory), "cudaFree");
    for (const tally& one : expected) {
        const std::optional<tally> sum = everyone.poll();  // of all ranks, a step or two later
        if (!sum || *sum != one) {
            return sum ? "a tally of all ranks differs" : "a tally of all ranks is missing";
        }
    }
    return everyone.poll() ? "a tally too many" : "";
}

}  // namespace

int main(int argc, char** argv) { return gpu_ranks::main_of(argc, argv, sum_on); }

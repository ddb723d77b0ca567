// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @file
/// What a kernel needs of the block that it runs in. Bodies of kernels are templates over it, so that tests run the
/// same text on the host, over a block of fibers (tests/cuda/emulated_block.hpp).

/// Loops over arrays that are to lie in registers, which have no address.
#if defined(__CUDA_ARCH__)
#define FLOPTALLY_UNROLLED _Pragma("unroll")
#define FLOPTALLY_ROLLED _Pragma("unroll 1")
#else
#define FLOPTALLY_UNROLLED
#define FLOPTALLY_ROLLED
#endif

namespace floptally::detail {

inline constexpr std::uint32_t warp_size = 32;

/// Threads of a block that adds lengths, of which columns of every mask fit 48 KiB, and blocks that have registers on a
/// multiprocessor at once: 48 for each thread, and 64 where eight lengths are sixteen numbers.
[[nodiscard]] constexpr int threads_of(std::uint32_t views) { return views == 2 ? 128 : 256; }
[[nodiscard]] constexpr int blocks_of(std::uint32_t views) { return views == 2 ? 8 : 5; }

#if defined(__CUDACC__)
/// The block of a launch: of one dimension, whole warps.
class cuda_block {
  public:
    [[nodiscard]] __device__ std::uint32_t thread() const { return threadIdx.x; }
    [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }
    [[nodiscard]] __device__ std::uint32_t index() const { return blockIdx.x; }
    [[nodiscard]] __device__ std::uint32_t count() const { return gridDim.x; }
    /// The words of shared memory that the launch asked for.
    [[nodiscard]] __device__ std::uint64_t* shared() const {
        extern __shared__ std::uint64_t floptally_shared_words[];
        return floptally_shared_words;
    }
    __device__ void sync() const { __syncthreads(); }
    /// The value of the lane `delta` above this one in its warp, which all lanes call together.
    [[nodiscard]] __device__ std::uint64_t shuffle_down(std::uint64_t value, std::uint32_t delta) const {
        return __shfl_down_sync(0xFFFF'FFFFU, static_cast<unsigned long long>(value), delta);
    }
};
#endif

}  // namespace floptally::detail

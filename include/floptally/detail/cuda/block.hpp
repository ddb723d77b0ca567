// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
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

/// What a kernel that adds a list wants of its launch.
struct block_shape {
    std::uint32_t threads;   ///< so many that columns of every mask fit 48 KiB
    std::uint32_t resident;  ///< blocks that have registers on a multiprocessor at once
    std::uint32_t units;     ///< that a block takes at once
    std::uint32_t views;     ///< that have columns of shared memory (block_sum.hpp): 0 where there are none
};

/// Blocks and threads of a launch, and words of shared memory of each block.
struct launch_shape {
    std::uint32_t blocks = 1;
    std::uint32_t threads = warp_size;
    std::size_t shared_words = 0;
};

/// No more blocks than there is work, nor than are on the device at once, or than `max_blocks` says.
template <class List>
[[nodiscard]] launch_shape launch_of(const List& list, std::uint32_t columns, std::uint32_t multiprocessors,
                                     std::uint32_t max_blocks = 0) {
    constexpr block_shape block = List::shape;
    const std::size_t wanted = list.size() / block.units + (list.size() % block.units != 0 ? 1U : 0U);
    const std::size_t most = max_blocks != 0 ? max_blocks : block.resident * multiprocessors;
    return {static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted, 1, most)), block.threads,
            std::max(block.views * columns * block.threads, block.threads / warp_size)};
}

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <floptally/integer/host_device.hpp>

/// @file
/// The interface of the block that a kernel runs in, and words that several threads write. Bodies of kernels are
/// templates over the block, so that tests run the same text on the host, over a block of fibers
/// (tests/cuda/emulated_block.hpp); shared words have the same meaning there.

/// The pragma for loops over arrays that should lie in registers, which have no address.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define FLOPTALLY_ON_DEVICE
#define FLOPTALLY_UNROLLED _Pragma("unroll")
#define FLOPTALLY_ROLLED _Pragma("unroll 1")
#else
#define FLOPTALLY_UNROLLED
#define FLOPTALLY_ROLLED
#endif

namespace floptally::detail {

/// The lanes that shuffle among themselves: a warp, a wave of 32, or either half of a wave of 64.
inline constexpr std::uint32_t warp_size = 32;

/// The number of blocks and threads of a launch, and the words of shared memory of each block.
struct launch_shape {
    std::uint32_t blocks = 1;
    std::uint32_t threads = warp_size;
    std::size_t shared_words = 0;
};

/// The launch for `units` units of work, of which a block of `Body` takes so many at once: no more blocks than there is
/// work, than the device runs at once, or than `max_blocks`.
template <class Body>
[[nodiscard]] launch_shape launch_of(std::size_t units, std::size_t shared_words, std::uint32_t multiprocessors,
                                     std::uint32_t max_blocks) {
    const std::size_t wanted = units / Body::units + (units % Body::units != 0 ? 1U : 0U);
    const std::size_t most = max_blocks != 0 ? max_blocks : Body::resident * multiprocessors;
    return {static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted, 1, most)), Body::threads, shared_words};
}

#if defined(__CUDACC__) || defined(__HIP__)
/// The block of a launch on a device: of one dimension, in whole warps.
class cuda_block {
  public:
#if defined(__HIP__)  // by the compiler itself, without a library for the device
    [[nodiscard]] __device__ std::uint32_t thread() const { return __builtin_amdgcn_workitem_id_x(); }
    [[nodiscard]] __device__ std::uint32_t threads() const { return __builtin_amdgcn_workgroup_size_x(); }
    [[nodiscard]] __device__ std::uint32_t index() const { return __builtin_amdgcn_workgroup_id_x(); }
    [[nodiscard]] __device__ std::uint32_t count() const { return __builtin_amdgcn_grid_size_x() / threads(); }
    __device__ void sync() const {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
#else
    [[nodiscard]] __device__ std::uint32_t thread() const { return threadIdx.x; }
    [[nodiscard]] __device__ std::uint32_t threads() const { return blockDim.x; }
    [[nodiscard]] __device__ std::uint32_t index() const { return blockIdx.x; }
    [[nodiscard]] __device__ std::uint32_t count() const { return gridDim.x; }
    __device__ void sync() const { __syncthreads(); }
#endif
    /// The words of shared memory that the launch asked for.
    [[nodiscard]] __device__ std::uint64_t* shared() const {
        extern __shared__ std::uint64_t floptally_shared_words[];
        return floptally_shared_words;
    }
    /// The value of the lane `delta` above this one in its warp, which all lanes call together.
    [[nodiscard]] __device__ std::uint64_t shuffle_down(std::uint64_t value, std::uint32_t delta) const {
#if defined(__HIP__)
        return __shfl_down(static_cast<unsigned long long>(value), delta, warp_size);
#else
        return __shfl_down_sync(0xFFFF'FFFFU, static_cast<unsigned long long>(value), delta);
#endif
    }
};
#endif

/// Adds to a word and returns the value before.
inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_add(std::uint64_t* word, std::uint64_t amount) {
#if defined(FLOPTALLY_ON_DEVICE)
    return atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(amount));
#else
    return __atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
#endif
}

/// Sets a word to the larger of itself and `value`.
inline FLOPTALLY_HOST_DEVICE void atomic_max(std::uint64_t* word, std::uint64_t value) {
#if defined(FLOPTALLY_ON_DEVICE)
    atomicMax(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
#else
    std::uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
#endif
}

/// Sets bits of a word and returns the value before.
inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_or(std::uint64_t* word, std::uint64_t bits) {
#if defined(FLOPTALLY_ON_DEVICE)
    return atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(bits));
#else
    return __atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL);
#endif
}

/// Adds to a word and returns true where the sum no longer fits.
inline FLOPTALLY_HOST_DEVICE bool add_overflows(std::uint64_t* word, std::uint64_t amount) {
    return atomic_add(word, amount) + amount < amount;
}

/// The current value of a word that other threads write.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_load(const std::uint64_t* word) {
#if defined(FLOPTALLY_ON_DEVICE)
    return *static_cast<const volatile std::uint64_t*>(word);
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/// Writes a word that another processor may be reading.
inline FLOPTALLY_HOST_DEVICE void atomic_store(std::uint64_t* word, std::uint64_t value) {
#if defined(FLOPTALLY_ON_DEVICE)
    *static_cast<volatile std::uint64_t*>(word) = value;
#else
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

/// A fence: every processor sees the earlier writes of this thread, and those of its block before a barrier, before the
/// later writes of this thread.
inline FLOPTALLY_HOST_DEVICE void fence_for_all() {
#if defined(FLOPTALLY_ON_DEVICE) && defined(__HIP__)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
#elif defined(FLOPTALLY_ON_DEVICE)
    __threadfence_system();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace floptally::detail

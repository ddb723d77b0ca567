// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <floptally/integer/host_device.hpp>
#if defined(FLOPTALLY_HAS_KERNELS)
#include <floptally/cuda/detail/vendor.hpp>
#endif

/// @file
/// The interface of the thread block that a kernel runs in, and atomic operations on 64-bit words. The bodies of
/// kernels are templates over the block type. Tests run the same code on the host over a block of fibers
/// (tests/cuda/emulated_block.hpp).

namespace floptally::inline v0_3::detail {

/// The number of lanes that exchange values by shuffles: a warp, a wave of 32, or half of a wave of 64.
inline constexpr std::uint32_t warp_size = 32;

/// The number of blocks and threads of a launch, and the 64-bit words of shared memory of each block.
struct launch_shape {
    std::uint32_t blocks = 1;
    std::uint32_t threads = warp_size;
    std::size_t shared_words = 0;
};

/// Returns the shape of a launch for `units` items, such as samples. A thread block of the kernel `Body` handles
/// `Body::units` items at once. The launch has as many blocks as the work needs, but at most `max_blocks`. If
/// `max_blocks` is 0, the limit is the number of blocks that the device runs at once.
template <class Body>
[[nodiscard]] launch_shape launch_of(std::size_t units, std::size_t shared_words, std::uint32_t multiprocessors,
                                     std::uint32_t max_blocks) {
    const std::size_t wanted = units / Body::units + (units % Body::units != 0 ? 1U : 0U);
    const std::size_t most = max_blocks != 0 ? max_blocks : Body::resident * multiprocessors;
    return {static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted, 1, most)), Body::threads, shared_words};
}

#if defined(FLOPTALLY_HAS_KERNELS)
/// The thread block of a kernel on a device. It is one-dimensional and consists of whole warps.
struct cuda_block : vendor_block {
    /// Returns the shared memory that the launch asked for.
    [[nodiscard]] __device__ std::uint64_t* shared() const {
        extern __shared__ std::uint64_t floptally_shared_words[];
        return floptally_shared_words;
    }
};
#endif

/// Adds `amount` to a word and returns the word's former value.
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
    std::uint64_t current = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (current < value &&
           !__atomic_compare_exchange_n(word, &current, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
#endif
}

/// Sets bits of a word and returns the word's former value.
inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_or(std::uint64_t* word, std::uint64_t bits) {
#if defined(FLOPTALLY_ON_DEVICE)
    return atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(bits));
#else
    return __atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL);
#endif
}

/// Adds `amount` to a word. Returns true if the sum overflows.
inline FLOPTALLY_HOST_DEVICE bool add_overflows(std::uint64_t* word, std::uint64_t amount) {
    return atomic_add(word, amount) + amount < amount;
}

/// Returns the current value of a word that other threads write.
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

/// A memory fence: every processor sees this thread's earlier writes before its later ones. A fence after a barrier
/// covers the earlier writes of the whole block.
inline FLOPTALLY_HOST_DEVICE void fence_for_all() {
#if defined(FLOPTALLY_ON_DEVICE)
    vendor_block::fence_for_all();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace floptally::detail

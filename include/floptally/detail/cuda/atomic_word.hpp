// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/host_device.hpp>

/// @file
/// Words that several threads write: of a device, or, with the same meaning, of the host.

namespace floptally::detail {

/// Adds, and returns what was there.
inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_add(std::uint64_t* word, std::uint64_t amount) {
#if defined(__CUDA_ARCH__)
    return atomicAdd(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(amount));
#else
    return __atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
#endif
}

inline FLOPTALLY_HOST_DEVICE void atomic_or(std::uint64_t* word, std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
    atomicOr(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(bits));
#else
    __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
#endif
}

/// Writes, and returns what was there.
inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_exchange(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    return atomicExch(reinterpret_cast<unsigned long long*>(word), static_cast<unsigned long long>(value));
#else
    return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
#endif
}

/// Adds, and says whether the sum no longer fits.
inline FLOPTALLY_HOST_DEVICE bool add_overflows(std::uint64_t* word, std::uint64_t amount) {
    return atomic_add(word, amount) + amount < amount;
}

/// The word as it is now, though others write it.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint64_t atomic_load(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__)
    return *static_cast<const volatile std::uint64_t*>(word);
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/// A word that another processor reads meanwhile.
inline FLOPTALLY_HOST_DEVICE void atomic_store(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    *static_cast<volatile std::uint64_t*>(word) = value;
#else
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

/// What was written before, by this thread or by its block before a barrier, every processor sees before what this
/// thread writes after.
inline FLOPTALLY_HOST_DEVICE void fence_for_all() {
#if defined(__CUDA_ARCH__)
    __threadfence_system();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory>
#include <span>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/detail/cuda/cuda_context.hpp>

/// @file
/// Memory of the current device, and words of the host that a device writes to.

namespace floptally::detail {

/// Waits until a device has done all that is queued on it: kernels may use memory that is given back. The runtime does
/// not promise to wait itself.
inline void finish_work_of(int device) noexcept {
    try {
        if (current_cuda_device() == device) {
            forget_cuda_error(cudaDeviceSynchronize());
        } else {
            const owned_device other(device);
            const owned_device::scope on(other);
            forget_cuda_error(cudaDeviceSynchronize());
        }
    } catch (const error&) {  // the process ends, and so the driver
    }
}

struct device_free {
    int device = 0;
    void operator()(void* memory) const noexcept {
        finish_work_of(device);
        forget_cuda_error(cudaFree(memory));
    }
};
struct pinned_free {
    int device = 0;  ///< which writes to it
    void operator()(void* memory) const noexcept {
        finish_work_of(device);
        forget_cuda_error(cudaFreeHost(memory));
    }
};

template <class T>
using device_array = std::unique_ptr<T[], device_free>;
using device_words = device_array<std::uint64_t>;
using pinned_words = std::unique_ptr<std::uint64_t[], pinned_free>;

/// As cudaMalloc leaves it.
template <class T>
[[nodiscard]] device_array<T> make_device_array(std::size_t count) {
    void* memory = nullptr;
    require_cuda(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    return device_array<T>(static_cast<T*>(memory), device_free{current_cuda_device()});
}

/// What the host has, for kernels to read. It is there when this returns: from pageable memory a copy may be on its way
/// when cudaMemcpy does, and streams that do not wait for the default one would not wait for it.
template <class T>
[[nodiscard]] device_array<T> copied_to_device(std::span<const T> values) {
    device_array<T> copy = make_device_array<T>(values.size());
    require_cuda(cudaMemcpy(copy.get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return copy;
}
template <class T>
[[nodiscard]] device_array<T> copied_to_device(const T& value) {
    return copied_to_device(std::span<const T>(&value, 1));
}

/// Zeros.
[[nodiscard]] inline device_words make_device_words(std::size_t count) {
    device_words words = make_device_array<std::uint64_t>(count);
    require_cuda(cudaMemset(words.get(), 0, count * sizeof(std::uint64_t)), "cudaMemset");
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // streams that do not wait for the default one
    return words;
}

/// Zeros. Mapped, so that a kernel writes to it, and so that a captured launch can go to another place each time.
[[nodiscard]] inline pinned_words make_pinned_words(std::size_t count) {
    void* memory = nullptr;
    require_cuda(cudaHostAlloc(&memory, count * sizeof(std::uint64_t), cudaHostAllocMapped | cudaHostAllocPortable),
                 "cudaHostAlloc");
    pinned_words words(static_cast<std::uint64_t*>(memory), pinned_free{current_cuda_device()});
    for (std::size_t i = 0; i < count; ++i) {
        words[i] = 0;
    }
    return words;
}

}  // namespace floptally::detail

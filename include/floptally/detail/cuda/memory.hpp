// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory>

#include <floptally/cuda/cuda_error.hpp>

/// @file
/// Words in the memory of the current device, and words of the host that a device writes to. All are 0 at first.

namespace floptally::detail {

struct device_free {
    void operator()(void* memory) const noexcept { cudaFree(memory); }
};
struct pinned_free {
    void operator()(void* memory) const noexcept { cudaFreeHost(memory); }
};

using device_words = std::unique_ptr<std::uint64_t[], device_free>;
using pinned_words = std::unique_ptr<std::uint64_t[], pinned_free>;

[[nodiscard]] inline device_words make_device_words(std::size_t count) {
    void* memory = nullptr;
    require_cuda(cudaMalloc(&memory, count * sizeof(std::uint64_t)), "cudaMalloc");
    device_words words(static_cast<std::uint64_t*>(memory));
    require_cuda(cudaMemset(memory, 0, count * sizeof(std::uint64_t)), "cudaMemset");
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // streams that do not wait for the default one
    return words;
}

/// Mapped, so that a kernel writes to it, and so that a captured launch can go to another place each time.
[[nodiscard]] inline pinned_words make_pinned_words(std::size_t count) {
    void* memory = nullptr;
    require_cuda(cudaHostAlloc(&memory, count * sizeof(std::uint64_t), cudaHostAllocMapped | cudaHostAllocPortable),
                 "cudaHostAlloc");
    pinned_words words(static_cast<std::uint64_t*>(memory));
    for (std::size_t i = 0; i < count; ++i) {
        words[i] = 0;
    }
    return words;
}

}  // namespace floptally::detail

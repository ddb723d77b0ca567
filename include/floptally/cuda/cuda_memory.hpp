// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/detail/cuda/cuda_context.hpp>
#include <floptally/step/memory_probe.hpp>

namespace floptally {

/// Memory of one device, for a `memory_probe`. Nothing here waits for a stream.
///
/// The high marks are those of a pool of stream-ordered memory (cudaMallocAsync): the pool that the device has at each
/// call, or one's own. They see nothing of an allocator that takes its memory elsewhere, as PyTorch's does by default.
class cuda_memory {
  public:
    /// Of the current device.
    cuda_memory() : cuda_memory(detail::current_cuda_device()) {}

    /// A pool of one's own must belong to the device and outlive this. Throws where the device has no pools. It makes a
    /// context on this device, if there is none, and on no other.
    explicit cuda_memory(int device, cudaMemPool_t own_pool = nullptr)
        : own_pool_(own_pool), device_((static_cast<void>(pool_of(device)), device)) {}

    [[nodiscard]] int device() const noexcept { return device_.number(); }

    /// To what is in use and reserved now: CUDA takes no other value than 0, and means that by it.
    void reset_high_marks() const {
        const cudaMemPool_t from = pool_of(device_.number());
        for (const cudaMemPoolAttr mark : {cudaMemPoolAttrUsedMemHigh, cudaMemPoolAttrReservedMemHigh}) {
            std::uint64_t zero = 0;
            require_cuda(cudaMemPoolSetAttribute(from, mark, &zero), "cudaMemPoolSetAttribute");
        }
    }

    [[nodiscard]] memory_sample sample() const {
        const detail::owned_device::scope on(device_);
        std::size_t free = 0;
        std::size_t total = 0;
        require_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        const cudaMemPool_t from = pool_of(device_.number());
        return {.free = free,
                .total = total,
                .pool_used_high = mark_of(from, cudaMemPoolAttrUsedMemHigh),
                .pool_reserved_high = mark_of(from, cudaMemPoolAttrReservedMemHigh)};
    }

  private:
    [[nodiscard]] cudaMemPool_t pool_of(int device) const {
        if (own_pool_ != nullptr) {
            return own_pool_;
        }
        cudaMemPool_t of_device = nullptr;
        require_cuda(cudaDeviceGetMemPool(&of_device, device), "cudaDeviceGetMemPool");
        return of_device;
    }

    [[nodiscard]] static std::uint64_t mark_of(cudaMemPool_t from, cudaMemPoolAttr mark) {
        std::uint64_t bytes = 0;
        require_cuda(cudaMemPoolGetAttribute(from, mark, &bytes), "cudaMemPoolGetAttribute");
        return bytes;
    }

    cudaMemPool_t own_pool_;
    detail::owned_device device_;
};

static_assert(memory_backend<cuda_memory>);

}  // namespace floptally

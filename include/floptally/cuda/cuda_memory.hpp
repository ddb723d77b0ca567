// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/step/memory_probe.hpp>

/// @file
/// The memory of a device, for a `memory_probe`.

namespace floptally {

/// The memory of one device, for a `memory_probe`. No function here waits for a stream.
///
/// The high marks are those of a pool of stream-ordered memory (cudaMallocAsync): the pool that the device has at each
/// call, or the caller's own. They do not see an allocator that takes its memory elsewhere, as PyTorch's does by
/// default.
class cuda_memory {
  public:
    /// The memory of the device that is current in this thread.
    cuda_memory() : cuda_memory(detail::current_cuda_device()) {}

    /// The memory of `device`, with the high marks of `own_pool`, or of the device's pool where it is null. An own pool
    /// must belong to the device and outlive this object. Throws where the device has no pools. Makes a context on this
    /// device if it has none, and on no other device.
    explicit cuda_memory(int device, cudaMemPool_t own_pool = nullptr) : own_pool_(own_pool), device_(device) {
        const detail::owned_device::scope on(device_);
        static_cast<void>(pool());
    }

    [[nodiscard]] int device() const noexcept { return device_.number(); }

    /// Resets the high marks to the bytes in use and reserved now: CUDA accepts 0 as the only value, and takes it to
    /// mean that.
    void reset_high_marks() const {
        const detail::owned_device::scope on(device_);
        const cudaMemPool_t from = pool();
        for (const cudaMemPoolAttr mark : {cudaMemPoolAttrUsedMemHigh, cudaMemPoolAttrReservedMemHigh}) {
            std::uint64_t zero = 0;
            require_cuda(cudaMemPoolSetAttribute(from, mark, &zero), "cudaMemPoolSetAttribute");
        }
    }

    /// Free and total bytes of the device and the high marks of the pool, now.
    [[nodiscard]] memory_sample sample() const {
        const detail::owned_device::scope on(device_);
        std::size_t free = 0;
        std::size_t total = 0;
        require_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        const cudaMemPool_t from = pool();
        return {.free = free,
                .total = total,
                .pool_used_high = mark_of(from, cudaMemPoolAttrUsedMemHigh),
                .pool_reserved_high = mark_of(from, cudaMemPoolAttrReservedMemHigh)};
    }

  private:
    [[nodiscard]] cudaMemPool_t pool() const {
        if (own_pool_ != nullptr) {
            return own_pool_;
        }
        cudaMemPool_t of_device = nullptr;
        require_cuda(cudaDeviceGetMemPool(&of_device, device_.number()), "cudaDeviceGetMemPool");
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

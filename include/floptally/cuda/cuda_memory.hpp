// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/step/memory_probe.hpp>

/// @file
/// `cuda_memory`: reads the memory use of a device, for a `memory_probe`.

namespace floptally::inline v0_3 {

/// Reads the memory use of one device, for a `memory_probe`. No function here waits for a stream. The peak values (high
/// marks) belong to a pool of stream-ordered memory (cudaMallocAsync): the device's current pool, or a pool of the
/// caller. They do not include allocators with other memory, such as PyTorch's default allocator.
class cuda_memory {
  public:
    /// Uses the current device of this thread.
    cuda_memory() : cuda_memory(detail::current_cuda_device()) {}

    /// Uses `device` with the high marks of `own_pool`, or of the device's current pool if `own_pool` is null. The
    /// caller's pool must belong to the device and outlive this object. Throws if the device has no pools. Creates a
    /// context on this device if it has none, and on no other device.
    explicit cuda_memory(int device, cudaMemPool_t own_pool = nullptr) : own_pool_(own_pool), device_(device) {
        const detail::owned_device::scope scope(device_);
        static_cast<void>(pool());
    }

    [[nodiscard]] int device() const noexcept { return device_.number(); }

    /// Resets the high marks to the bytes that are in use and reserved now. CUDA does so when a high mark is set to 0,
    /// the only value that it accepts.
    void reset_high_marks() const {
        const detail::owned_device::scope scope(device_);
        const cudaMemPool_t memory_pool = pool();
        for (const cudaMemPoolAttr mark : {cudaMemPoolAttrUsedMemHigh, cudaMemPoolAttrReservedMemHigh}) {
            std::uint64_t zero = 0;
            require_cuda(cudaMemPoolSetAttribute(memory_pool, mark, &zero), "cudaMemPoolSetAttribute");
        }
    }

    /// Returns the free and total bytes of the device and the high marks of the pool, now.
    [[nodiscard]] memory_sample sample() const {
        const detail::owned_device::scope scope(device_);
        std::size_t free = 0;
        std::size_t total = 0;
        require_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        const cudaMemPool_t memory_pool = pool();
        return {.free = free,
                .total = total,
                .pool_used_high = mark_of(memory_pool, cudaMemPoolAttrUsedMemHigh),
                .pool_reserved_high = mark_of(memory_pool, cudaMemPoolAttrReservedMemHigh)};
    }

  private:
    [[nodiscard]] cudaMemPool_t pool() const {
        if (own_pool_ != nullptr) {
            return own_pool_;
        }
        cudaMemPool_t device_pool = nullptr;
        require_cuda(cudaDeviceGetMemPool(&device_pool, device_.number()), "cudaDeviceGetMemPool");
        return device_pool;
    }

    [[nodiscard]] static std::uint64_t mark_of(cudaMemPool_t memory_pool, cudaMemPoolAttr mark) {
        std::uint64_t bytes = 0;
        require_cuda(cudaMemPoolGetAttribute(memory_pool, mark, &bytes), "cudaMemPoolGetAttribute");
        return bytes;
    }

    cudaMemPool_t own_pool_;
    detail::owned_device device_;
};

static_assert(memory_backend<cuda_memory>);

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/step/memory_probe.hpp>

namespace floptally {

namespace detail {

/// Makes a device current, and again the one that was.
class current_device_scope {
  public:
    explicit current_device_scope(int device) {
        require_cuda(cudaGetDevice(&before_), "cudaGetDevice");
        changed_ = before_ != device;
        if (const cudaError_t status = changed_ ? cudaSetDevice(device) : cudaSuccess; status != cudaSuccess) {
            cudaSetDevice(before_);  // A device whose context cannot be made is current nevertheless.
            require_cuda(status, "cudaSetDevice");
        }
    }
    current_device_scope(const current_device_scope&) = delete;
    current_device_scope& operator=(const current_device_scope&) = delete;
    ~current_device_scope() {
        if (changed_) {
            cudaSetDevice(before_);
        }
    }

  private:
    int before_ = 0;
    bool changed_ = false;
};

}  // namespace detail

/// Memory of one device, for a `memory_probe`. Nothing here waits for a stream.
///
/// The high marks are those of a pool of stream-ordered memory (cudaMallocAsync): the pool that the device has at each
/// call, or one's own. They see nothing of an allocator that takes its memory elsewhere, as PyTorch's does by default.
class cuda_memory {
  public:
    /// Of the current device.
    cuda_memory() : cuda_memory(current_device()) {}

    /// A pool of one's own must belong to the device and outlive this. Throws where the device has no pools.
    explicit cuda_memory(int device, cudaMemPool_t own_pool = nullptr) : device_(device), own_pool_(own_pool) {
        static_cast<void>(pool());
    }

    [[nodiscard]] int device() const noexcept { return device_; }

    /// To what is in use and reserved now: CUDA takes no other value than 0, and means that by it.
    void reset_high_marks() const {
        const cudaMemPool_t from = pool();
        for (const cudaMemPoolAttr mark : {cudaMemPoolAttrUsedMemHigh, cudaMemPoolAttrReservedMemHigh}) {
            std::uint64_t zero = 0;
            require_cuda(cudaMemPoolSetAttribute(from, mark, &zero), "cudaMemPoolSetAttribute");
        }
    }

    [[nodiscard]] memory_sample sample() const {
        const detail::current_device_scope on(device_);
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
    [[nodiscard]] static int current_device() {
        int device = 0;
        require_cuda(cudaGetDevice(&device), "cudaGetDevice");
        return device;
    }

    [[nodiscard]] cudaMemPool_t pool() const {
        if (own_pool_ != nullptr) {
            return own_pool_;
        }
        cudaMemPool_t of_device = nullptr;
        require_cuda(cudaDeviceGetMemPool(&of_device, device_), "cudaDeviceGetMemPool");
        return of_device;
    }

    [[nodiscard]] static std::uint64_t mark_of(cudaMemPool_t from, cudaMemPoolAttr mark) {
        std::uint64_t bytes = 0;
        require_cuda(cudaMemPoolGetAttribute(from, mark, &bytes), "cudaMemPoolGetAttribute");
        return bytes;
    }

    int device_;
    cudaMemPool_t own_pool_;
};

static_assert(memory_backend<cuda_memory>);

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/vendor.hpp>

/// @file
/// The kernels, each of which runs a body from its header over a block, and a device by the runtime that launches them.

/// The mark of what each library of a process has for itself, as it has a runtime of its own where that is linked
/// statically: a kernel that another library registered is none of it.
#define FLOPTALLY_OF_LIBRARY [[gnu::visibility("hidden")]]

namespace floptally::detail {

/// The kernel of a body. Its arguments lie in constant memory.
template <class Body>
FLOPTALLY_OF_LIBRARY __global__ void __launch_bounds__(Body::threads, resident_blocks<Body>)
    kernel_of(const FLOPTALLY_GRID_CONSTANT typename Body::arguments given) {
    Body::run(cuda_block{}, given);
}

/// The kernels that this library launches, listed before its main begins.
FLOPTALLY_OF_LIBRARY inline std::vector<const void*>& kernels_of_library() {
    static std::vector<const void*> all;
    return all;
}
/// True once a kernel is in that list, which its mention here puts it on. Not const, which nvcc 12 keeps to a unit.
template <class Body>
FLOPTALLY_OF_LIBRARY inline bool is_listed = [] {
    kernels_of_library().push_back(reinterpret_cast<const void*>(&kernel_of<Body>));
    return true;
}();

/// A device by the runtime, for `device_words`.
class cuda_api : public owned_device {
  public:
    using stream = cudaStream_t;

    /// The device that is current. Loads the kernels there: the runtime would load one at its first launch, which may
    /// wait for the device and is not allowed in a capture.
    FLOPTALLY_OF_LIBRARY cuda_api() : owned_device(current_cuda_device()) {
        for (const void* const kernel : kernels_of_library()) {
            cudaFuncAttributes unused{};
            require_cuda(cudaFuncGetAttributes(&unused, kernel), "cudaFuncGetAttributes");
        }
        int found = 0;
        require_cuda(cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, number()),
                     "cudaDeviceGetAttribute");
        multiprocessors_ = static_cast<std::uint32_t>(found);
    }

    [[nodiscard]] std::uint32_t multiprocessors() const { return multiprocessors_; }

    [[nodiscard]] static void* allocate(std::size_t bytes) {
        void* memory = nullptr;
        require_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
        return memory;
    }
    static void release(void* memory) { require_cuda(cudaFree(memory), "cudaFree"); }
    /// Memory of the host that kernels can write to.
    [[nodiscard]] static void* allocate_pinned(std::size_t bytes) {
        void* memory = nullptr;
        require_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
        return memory;
    }
    static void release_pinned(void* memory) { require_cuda(cudaFreeHost(memory), "cudaFreeHost"); }
    static void copy_async(void* to, const void* from, std::size_t bytes, cudaStream_t on) {
        require_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on), "cudaMemcpyAsync");
    }
    static void set_to_zero_async(void* memory, std::size_t bytes, cudaStream_t on) {
        require_cuda(cudaMemsetAsync(memory, 0, bytes, on), "cudaMemsetAsync");
    }
    static void synchronize(cudaStream_t on) { require_cuda(cudaStreamSynchronize(on), "cudaStreamSynchronize"); }
    [[nodiscard]] static bool is_capturing(cudaStream_t on) { return detail::is_capturing(on); }

    template <class Body>
    FLOPTALLY_OF_LIBRARY static void launch(const launch_shape& shape, cudaStream_t on, std::string_view name,
                                            const typename Body::arguments& given) {
        static_cast<void>(&is_listed<Body>);
        void* arguments[] = {const_cast<void*>(static_cast<const void*>(&given))};
        require_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(&kernel_of<Body>), dim3(shape.blocks),
                                      dim3(shape.threads), arguments, shape.shared_words * sizeof(std::uint64_t), on),
                     name);
    }

  private:
    std::uint32_t multiprocessors_ = 0;
};

}  // namespace floptally::detail

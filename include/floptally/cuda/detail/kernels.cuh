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
/// The CUDA kernels, and `cuda_api`, the class that launches kernels through the CUDA runtime. The code that a kernel
/// runs is the function `run` of a struct in another header.

/// Hides a symbol in its library. A process may contain several libraries that each link a CUDA runtime statically.
/// Hidden symbols keep a library from launching a kernel that another library has registered.
#define FLOPTALLY_OF_LIBRARY [[gnu::visibility("hidden")]]

namespace floptally::inline v0_3::detail {

/// The kernel that runs `Body::run`. Its arguments are in constant memory.
template <class Body>
FLOPTALLY_OF_LIBRARY __global__ void __launch_bounds__(Body::threads, resident_blocks<Body>)
    kernel_of(const FLOPTALLY_GRID_CONSTANT typename Body::arguments args) {
    Body::run(cuda_block{}, args);
}

/// Returns the kernels that this library launches. The list is complete before main begins.
FLOPTALLY_OF_LIBRARY inline std::vector<const void*>& kernels_of_library() {
    static std::vector<const void*> all;
    return all;
}
/// The initializer of this variable adds the kernel of `Body` to `kernels_of_library`. It is enough to mention the
/// variable in code that launches the kernel. It is not const, because nvcc 12 gives each translation unit its own copy
/// of a const variable.
template <class Body>
FLOPTALLY_OF_LIBRARY inline bool is_listed = [] {
    kernels_of_library().push_back(reinterpret_cast<const void*>(&kernel_of<Body>));
    return true;
}();

/// The device API for `device_accumulators`. It uses the CUDA runtime.
class cuda_api : public owned_device {
  public:
    using stream = cudaStream_t;

    /// Uses the current device and loads the kernels there. Otherwise the runtime would load a kernel at its first
    /// launch. Loading may wait for the device and is not allowed during a capture.
    FLOPTALLY_OF_LIBRARY cuda_api() : owned_device(current_cuda_device()) {
        for (const void* const kernel : kernels_of_library()) {
            cudaFuncAttributes unused{};
            require_cuda(cudaFuncGetAttributes(&unused, kernel), "cudaFuncGetAttributes");
        }
        int count = 0;
        require_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, number()),
                     "cudaDeviceGetAttribute");
        multiprocessors_ = static_cast<std::uint32_t>(count);
    }

    [[nodiscard]] std::uint32_t multiprocessors() const { return multiprocessors_; }

    [[nodiscard]] static void* allocate(std::size_t bytes) {
        void* memory = nullptr;
        require_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
        return memory;
    }
    static void release(void* memory) { require_cuda(cudaFree(memory), "cudaFree"); }
    /// Returns host memory that kernels can write to.
    [[nodiscard]] static void* allocate_pinned(std::size_t bytes) {
        void* memory = nullptr;
        require_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
        return memory;
    }
    static void release_pinned(void* memory) { require_cuda(cudaFreeHost(memory), "cudaFreeHost"); }
    static void copy_async(void* to, const void* from, std::size_t bytes, cudaStream_t queue) {
        require_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue), "cudaMemcpyAsync");
    }
    static void set_to_zero_async(void* memory, std::size_t bytes, cudaStream_t queue) {
        require_cuda(cudaMemsetAsync(memory, 0, bytes, queue), "cudaMemsetAsync");
    }
    static void synchronize(cudaStream_t queue) { require_cuda(cudaStreamSynchronize(queue), "cudaStreamSynchronize"); }
    [[nodiscard]] static bool is_capturing(cudaStream_t queue) { return detail::is_capturing(queue); }

    template <class Body>
    FLOPTALLY_OF_LIBRARY static void launch(const launch_shape& shape, cudaStream_t queue, std::string_view name,
                                            const typename Body::arguments& args) {
        static_cast<void>(&is_listed<Body>);
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&args))};
        require_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(&kernel_of<Body>), dim3(shape.blocks),
                                      dim3(shape.threads), pointers, shape.shared_words * sizeof(std::uint64_t), queue),
                     name);
    }

  private:
    std::uint32_t multiprocessors_ = 0;
};

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>

#include "../expect.hpp"

/// @file
/// A program of checks that needs a GPU, or the runtime on the host (on_host/): exit status 77 without a device, 1
/// where a check fails. With the argument "small" it does less of everything, for a device whose kernels are
/// interpreted.

namespace gpu_test {

inline bool is_small = false;

/// A size: the full one on a GPU, the small one with "small".
template <class T>
[[nodiscard]] T size(T full, T small) {
    return is_small ? small : full;
}

/// A copy of the host's numbers in device memory, shifted by `offset` elements from where an allocation begins.
template <class T>
class device_copy {
  public:
    explicit device_copy(const std::vector<T>& values, std::size_t offset = 0) : size_(values.size()), offset_(offset) {
        void* memory = nullptr;
        floptally::require_cuda(cudaMalloc(&memory, (values.size() + offset + 1) * sizeof(T)), "cudaMalloc");
        memory_ = static_cast<T*>(memory);
        floptally::require_cuda(
            cudaMemcpy(memory_ + offset, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
            "cudaMemcpy");
        // From pageable memory: the copy may be on its way still, and streams that do not wait for the default one
        // would not see it.
        floptally::require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    device_copy(const device_copy&) = delete;
    device_copy& operator=(const device_copy&) = delete;
    ~device_copy() { cudaFree(memory_); }

    [[nodiscard]] const T* get() const { return memory_ + offset_; }
    [[nodiscard]] std::span<const T> all() const { return {get(), size_}; }

  private:
    T* memory_ = nullptr;
    std::size_t size_;
    std::size_t offset_;
};

class stream {
  public:
    stream() {
        floptally::require_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream() { cudaStreamDestroy(stream_); }
    operator cudaStream_t() const { return stream_; }  // as the runtime's own handle

    void wait() const { floptally::require_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  private:
    cudaStream_t stream_ = nullptr;
};

/// Runs the tests, where there is a device.
template <class Run>
int run(int argc, const char* const* argv, Run tests) {
    is_small = argc > 1 && std::string_view(argv[1]) == "small";
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("skipped: no CUDA device");
        return 77;
    }
    try {
        tests();
    } catch (const std::exception& problem) {
        expect(false, problem.what());
    }
    std::printf("%d checks failed\n", failures);
    return failures == 0 ? 0 : 1;
}

}  // namespace gpu_test

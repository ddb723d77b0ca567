// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The device that owns memory, its memory, and host memory that it writes to.

namespace floptally::detail {

/// A function of the driver, found by its name through the runtime, so that no library is linked.
template <class Function>
[[nodiscard]] Function driver_function(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    require_cuda(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
#else
    require_cuda(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result), name);
#endif
    if (result != cudaDriverEntryPointSuccess || found == nullptr) {
        throw error(name, "this driver does not have it");
    }
    return reinterpret_cast<Function>(found);
}

/// Throws where a call of the driver failed; `call` is its name.
inline void require_driver(CUresult status, const char* call) {
    if (status != CUDA_SUCCESS) {
        throw error(call, "CUresult " + std::to_string(static_cast<int>(status)));
    }
}

/// The number of the device that is current in this thread.
[[nodiscard]] inline int current_cuda_device() {
    int device = 0;
    require_cuda(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

/// The device that an object has memory on; works whichever device is current in the calling thread.
///
/// Its context is pushed and popped: to set the former device again by cudaSetDevice would make a context there, some
/// hundred MiB of GPU 0 for each rank that has never used it.
class owned_device {
  public:
    explicit owned_device(int number) : number_(number), pop_(driver_function<pop>("cuCtxPopCurrent")) {
        const auto retain = driver_function<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
        const auto release = driver_function<CUresult (*)(CUdevice)>("cuDevicePrimaryCtxRelease");
        push_ = driver_function<push>("cuCtxPushCurrent");
        CUcontext context = nullptr;
        require_driver(retain(&context, number), "cuDevicePrimaryCtxRetain");
        context_ = {context, [release, number](CUcontext) { release(number); }};
    }

    [[nodiscard]] int number() const noexcept { return number_; }

    /// A scope in which the device is current.
    class scope {
      public:
        explicit scope(const owned_device& device) : scope(device, current_cuda_device()) {}
        /// The scope of work on a stream. Throws on the default stream of another device.
        scope(const owned_device& device, cudaStream_t stream) : scope(device, require_own(device, stream)) {}
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            if (pop_ != nullptr) {
                CUcontext popped = nullptr;
                pop_(&popped);
            }
        }

      private:
        scope(const owned_device& device, int current) {
            if (current != device.number_) {
                require_driver(device.push_(device.context_.get()), "cuCtxPushCurrent");
                pop_ = device.pop_;
            }
        }
        static int require_own(const owned_device& device, cudaStream_t stream) {
            const int current = current_cuda_device();
            if (current != device.number_ &&
                (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)) {
                throw error("stream", "is the default stream of device " + std::to_string(current) +
                                          ", which is current, and the memory is on device " +
                                          std::to_string(device.number_) + ": name a stream of that device");
            }
            return current;
        }

        CUresult (*pop_)(CUcontext*) = nullptr;
    };

  private:
    using push = CUresult (*)(CUcontext);
    using pop = CUresult (*)(CUcontext*);

    int number_;
    push push_ = nullptr;
    pop pop_;
    std::shared_ptr<CUctx_st> context_;
};

/// Throws where a stream is being captured and the call could not be part of the capture.
inline void refuse_capture(cudaStream_t stream, const char* call, const char* why) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    require_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    if (status != cudaStreamCaptureStatusNone) {
        throw error(call, why);
    }
}

/// Waits until a device has done all work queued on it, since kernels may use memory that is being freed. The runtime
/// does not promise to wait itself.
inline void finish_work_of(int device) noexcept {
    try {
        const owned_device owner(device);
        const owned_device::scope on(owner);
        forget_cuda_error(cudaDeviceSynchronize());
    } catch (const error&) {  // the process ends, and so the driver
    }
}

/// A deleter that frees memory by `Free` after the device that uses it has done its work.
template <auto Free>
struct given_back {
    int device = 0;
    void operator()(void* memory) const noexcept {
        finish_work_of(device);
        forget_cuda_error(Free(memory));
    }
};

/// Owned memory of a device, of which `pinned_words` are on the host.
template <class T>
using device_array = std::unique_ptr<T[], given_back<cudaFree>>;
using device_words = device_array<std::uint64_t>;
using pinned_words = std::unique_ptr<std::uint64_t[], given_back<cudaFreeHost>>;

/// A copy of host values in device memory, for kernels to read. It is complete when this returns: a copy from pageable
/// memory may be on its way when cudaMemcpy returns, and streams that do not wait for the default one would not wait
/// for it.
template <class T>
[[nodiscard]] device_array<T> copied_to_device(std::span<const T> values) {
    void* memory = nullptr;
    require_cuda(cudaMalloc(&memory, values.size_bytes()), "cudaMalloc");
    device_array<T> copy(static_cast<T*>(memory), {current_cuda_device()});
    require_cuda(cudaMemcpy(copy.get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return copy;
}

/// Device memory of `count` words, all 0.
[[nodiscard]] inline device_words make_device_words(std::size_t count) {
    const std::vector<std::uint64_t> zeros(count);
    return copied_to_device(std::span(zeros));
}

/// Pinned host memory of `count` words, all 0. It is mapped, so that a kernel can write to it at the host's address
/// (which all devices of 64-bit programs share) and a captured launch can write to another place on each replay.
[[nodiscard]] inline pinned_words make_pinned_words(std::size_t count) {
    void* memory = nullptr;
    require_cuda(cudaHostAlloc(&memory, count * sizeof(std::uint64_t), cudaHostAllocMapped | cudaHostAllocPortable),
                 "cudaHostAlloc");
    pinned_words words(static_cast<std::uint64_t*>(memory), {current_cuda_device()});
    std::fill_n(words.get(), count, 0);
    return words;
}

}  // namespace floptally::detail

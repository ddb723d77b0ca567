// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <memory>
#include <string>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/error.hpp>

namespace floptally::detail {

/// A function of the driver, which the runtime finds by its name: nothing is linked.
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

inline void require_driver(CUresult status, const char* call) {
    if (status != CUDA_SUCCESS) {
        throw error(call, "CUresult " + std::to_string(static_cast<int>(status)));
    }
}

[[nodiscard]] inline int current_cuda_device() {
    int device = 0;
    require_cuda(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

/// A device that somebody has memory on, and works on whatever device is current in the thread that asks.
///
/// Its context is pushed and popped: cudaSetDevice back to the device that was current would make a context there,
/// some hundred MiB of GPU 0 for each rank that has never used it.
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

    /// Makes it current until its end.
    class scope {
      public:
        explicit scope(const owned_device& of) : scope(of, current_cuda_device()) {}
        /// For work on a stream. The default stream of another device is none of this one: an error.
        scope(const owned_device& of, cudaStream_t stream) : scope(of, require_own(of, stream)) {}
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            if (pop_ != nullptr) {
                CUcontext popped = nullptr;
                pop_(&popped);
            }
        }

      private:
        scope(const owned_device& of, int current) {
            if (current != of.number_) {
                require_driver(of.push_(of.context_.get()), "cuCtxPushCurrent");
                pop_ = of.pop_;
            }
        }
        static int require_own(const owned_device& of, cudaStream_t stream) {
            const int current = current_cuda_device();
            if (current != of.number_ &&
                (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)) {
                throw error("stream", "is the default stream of device " + std::to_string(current) +
                                          ", which is current, and the memory is on device " +
                                          std::to_string(of.number_) + ": name a stream of that device");
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

/// Throws where a tally that is to be read in a kernel is on another device than what is written there.
inline void require_tally_on(const owned_device& own, int tally_device) {
    if (tally_device != own.number()) {
        throw error("tally", "is on device " + std::to_string(tally_device) + ", and what is made of it on device " +
                                 std::to_string(own.number()));
    }
}

/// Throws where a stream is being captured, which the call could not be part of.
inline void refuse_capture(cudaStream_t stream, const char* call, const char* why) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    require_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    if (status != cudaStreamCaptureStatusNone) {
        throw error(call, why);
    }
}

}  // namespace floptally::detail

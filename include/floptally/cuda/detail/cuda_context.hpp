// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <memory>
#include <string>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The device that owns memory, whichever is current.

namespace floptally::detail {

/// The functions of the driver that make a context current, found by name through the runtime, so that no library is
/// linked.
struct context_functions {
    CUresult (*retain)(CUcontext*, CUdevice) = found<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
    CUresult (*release)(CUdevice) = found<CUresult (*)(CUdevice)>("cuDevicePrimaryCtxRelease");
    CUresult (*push)(CUcontext) = found<CUresult (*)(CUcontext)>("cuCtxPushCurrent");
    CUresult (*pop)(CUcontext*) = found<CUresult (*)(CUcontext*)>("cuCtxPopCurrent");

    [[nodiscard]] static const context_functions& of_driver() {
        static const context_functions all;
        return all;
    }

  private:
    template <class Function>
    [[nodiscard]] static Function found(const char* name) {
        void* function = nullptr;
        cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
        require_cuda(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result), name);
#else
        require_cuda(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result), name);
#endif
        if (result != cudaDriverEntryPointSuccess || function == nullptr) {
            throw error(name, "this driver does not have it");
        }
        return reinterpret_cast<Function>(function);
    }
};

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
    explicit owned_device(int number) : number_(number), functions_(&context_functions::of_driver()) {
        CUcontext context = nullptr;
        require_driver(functions_->retain(&context, number), "cuDevicePrimaryCtxRetain");
        context_ = {context, [release = functions_->release, number](CUcontext) { release(number); }};
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
                require_driver(device.functions_->push(device.context_.get()), "cuCtxPushCurrent");
                pop_ = device.functions_->pop;
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
    /// Throws where a call of the driver failed; `call` is its name.
    static void require_driver(CUresult status, const char* call) {
        if (status != CUDA_SUCCESS) {
            throw error(call, "CUresult " + std::to_string(static_cast<int>(status)));
        }
    }

    int number_;
    const context_functions* functions_;
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

}  // namespace floptally::detail

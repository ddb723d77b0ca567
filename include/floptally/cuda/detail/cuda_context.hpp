// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#if !defined(__HIP__)
#include <cuda.h>
#endif

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/runtime_api.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The device that owns memory, whichever is current.

namespace floptally::detail {

/// The number of the device that is current in this thread.
[[nodiscard]] inline int current_cuda_device() {
    int device = 0;
    require_cuda(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

#if defined(__HIP__)

/// The context of a device, which HIP makes current by the device's number.
class device_context {
  public:
    explicit device_context(int number) : number_(number) {}

    void enter() const { require_cuda(cudaSetDevice(number_), "hipSetDevice"); }
    void leave(int former) const noexcept { forget_cuda_error(cudaSetDevice(former)); }

  private:
    int number_;
};

#else

/// The context of a device. It is pushed and popped: to set the former device again by cudaSetDevice would make a
/// context there, some hundred MiB of GPU 0 for each rank that has never used it. The functions of the driver are found
/// by name through the runtime, so that no library is linked.
class device_context {
  public:
    explicit device_context(int number) : functions_(&functions::of_driver()) {
        CUcontext context = nullptr;
        require_driver(functions_->retain(&context, number), "cuDevicePrimaryCtxRetain");
        context_ = {context, [release = functions_->release, number](CUcontext) { release(number); }};
    }

    void enter() const { require_driver(functions_->push(context_.get()), "cuCtxPushCurrent"); }
    void leave(int /*former*/) const noexcept {
        CUcontext popped = nullptr;
        functions_->pop(&popped);
    }

  private:
    struct functions {
        CUresult (*retain)(CUcontext*,
                           CUdevice) = found<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
        CUresult (*release)(CUdevice) = found<CUresult (*)(CUdevice)>("cuDevicePrimaryCtxRelease");
        CUresult (*push)(CUcontext) = found<CUresult (*)(CUcontext)>("cuCtxPushCurrent");
        CUresult (*pop)(CUcontext*) = found<CUresult (*)(CUcontext*)>("cuCtxPopCurrent");

        [[nodiscard]] static const functions& of_driver() {
            static const functions all;
            return all;
        }
    };

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
    /// Throws where a call of the driver failed; `call` is its name.
    static void require_driver(CUresult status, const char* call) {
        if (status != CUDA_SUCCESS) {
            throw error(call, "CUresult " + std::to_string(static_cast<int>(status)));
        }
    }

    const functions* functions_;
    std::shared_ptr<CUctx_st> context_;
};

#endif

/// True for the handles by which each device has a default stream of its own.
[[nodiscard]] inline bool is_default(cudaStream_t stream) {
#if defined(__HIP__)
    return stream == nullptr || stream == cudaStreamPerThread;
#else
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
#endif
}

/// The device that an object has memory on; works whichever device is current in the calling thread.
class owned_device {
  public:
    explicit owned_device(int number) : number_(number), context_(number) {}

    [[nodiscard]] int number() const noexcept { return number_; }

    /// A scope in which the device is current.
    class scope {
      public:
        explicit scope(const owned_device& device) : device_(device), former_(current_cuda_device()) { enter(); }
        /// The scope of work on a stream. Throws on the default stream of another device.
        scope(const owned_device& device, cudaStream_t stream) : device_(device), former_(current_cuda_device()) {
            if (former_ != device.number_ && is_default(stream)) {
                throw error("stream", "is the default stream of device " + std::to_string(former_) +
                                          ", which is current, and the memory is on device " +
                                          std::to_string(device.number_) + ": name a stream of that device");
            }
            enter();
        }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            if (former_ != device_.number_) {
                device_.context_.leave(former_);
            }
        }

      private:
        void enter() const {
            if (former_ != device_.number_) {
                device_.context_.enter();
            }
        }

        const owned_device& device_;
        int former_;
    };

  private:
    int number_;
    device_context context_;
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

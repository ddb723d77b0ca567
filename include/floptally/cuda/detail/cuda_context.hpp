// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/vendor.hpp>
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

/// True for the handles by which each device has a default stream of its own.
[[nodiscard]] inline bool is_default(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/// The device that an object has memory on; works whichever device is current in the calling thread.
class owned_device {
  public:
    explicit owned_device(int number) : number_(number), context_(number) {}

    [[nodiscard]] int number() const noexcept { return number_; }

    /// A scope in which the device is current.
    class scope {
      public:
        explicit scope(const owned_device& device) : device_(device), former_(current_cuda_device()) {
            if (former_ != device.number_) {
                device.context_.enter();
            }
        }
        /// The scope of work on a stream. Throws on the default stream of another device.
        scope(const owned_device& device, cudaStream_t stream) : scope(device) {
            if (former_ != device.number_ && is_default(stream)) {
                refuse("stream",
                       {"is the default stream of device ", former_, ", which is current, and the memory is on device ",
                        device.number_, ": name a stream of that device"});
            }
        }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            if (former_ != device_.number_) {
                device_.context_.leave(former_);
            }
        }

      private:
        const owned_device& device_;
        int former_;
    };

  private:
    int number_;
    device_context context_;
};

[[nodiscard]] inline bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    require_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
}
/// Throws where a stream is being captured and the call could not be part of the capture.
inline void refuse_capture(cudaStream_t stream, const char* call, const char* why) {
    if (is_capturing(stream)) {
        throw error(call, why);
    }
}

}  // namespace floptally::detail

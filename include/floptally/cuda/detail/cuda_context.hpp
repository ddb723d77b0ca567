// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `owned_device`: the device that holds an object's memory. It may differ from the thread's current device.

namespace floptally::inline v0_3::detail {

/// Returns the number of this thread's current device.
[[nodiscard]] inline int current_cuda_device() {
    int device = 0;
    require_cuda(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

/// Returns true if a handle means a default stream. Each device has its own default streams.
[[nodiscard]] inline bool is_default(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/// The device that holds an object's memory. Its functions work even if another device is current in the calling
/// thread.
class owned_device {
  public:
    explicit owned_device(int number) : number_(number), context_(number) {}

    [[nodiscard]] int number() const noexcept { return number_; }

    /// While an object of this class exists, the owned device is the current device of the thread.
    class scope {
      public:
        explicit scope(const owned_device& device) : device_(device), former_(current_cuda_device()) {
            if (former_ != device.number_) {
                device.context_.enter();
            }
        }
        /// Makes a scope for work on a stream. Throws `error` for a default stream if another device is current.
        scope(const owned_device& device, cudaStream_t stream) : scope(device) {
            if (former_ != device.number_ && is_default(stream)) {
                refuse("stream",
                       {"is the default stream of the current device, ", former_, ", but the memory is on device ",
                        device.number_, ": pass a stream of device ", device.number_});
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
/// Throws `error` if the stream is being captured into a graph. Used for calls that cannot be part of a
/// capture.
inline void refuse_capture(cudaStream_t stream, const char* call, const char* problem) {
    if (is_capturing(stream)) {
        throw error(call, problem);
    }
}

}  // namespace floptally::detail

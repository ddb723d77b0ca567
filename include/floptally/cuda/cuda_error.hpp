// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A CUDA call that failed, as an error.

namespace floptally {

/// A CUDA call that failed: `field()` is the call; the text is the runtime's description and the place of the call.
class cuda_error : public error {
  public:
    cuda_error(cudaError_t status, std::string_view call, const char* file, int line)
        : error(call, detail::called_at(detail::text_of({cudaGetErrorName(status), ", ", cudaGetErrorString(status)}),
                                        file, line)),
          status_(status) {}

    [[nodiscard]] cudaError_t status() const noexcept { return status_; }

  private:
    cudaError_t status_;
};

/// Clears a failure that has been dealt with. The runtime would otherwise still hand it to whoever asks for its last
/// error, and PyTorch would take it for one of its own.
inline void forget_cuda_error(cudaError_t status) noexcept {
    if (status != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
    }
}

/// Throws where a CUDA call failed; `call` is its name. File and line are the caller's.
inline void require_cuda(cudaError_t status, std::string_view call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    if (status != cudaSuccess) {
        forget_cuda_error(status);
        throw cuda_error(status, call, file, line);
    }
}

}  // namespace floptally

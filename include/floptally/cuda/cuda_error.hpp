// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `cuda_error`: the error that a failed CUDA call throws.

namespace floptally::inline v0_3 {

/// The error of a failed CUDA call. `field()` is the name of the call. The text has the runtime's description, and the
/// file and line of the call.
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

/// Clears an error of CUDA that the caller has handled. Otherwise the next code that asks CUDA for the last error, such
/// as PyTorch, would report this error as its own.
inline void forget_cuda_error(cudaError_t status) noexcept {
    if (status != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
    }
}

/// Throws `cuda_error` if a CUDA call failed. `call` is the name of the call; file and line are those of the caller.
inline void require_cuda(cudaError_t status, std::string_view call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    if (status != cudaSuccess) {
        forget_cuda_error(status);
        throw cuda_error(status, call, file, line);
    }
}

}  // namespace floptally

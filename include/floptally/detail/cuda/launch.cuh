// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/detail/cuda/block.hpp>

namespace floptally::detail {

/// The kernels that this program has launches of, known before its main begins.
inline std::vector<const void*>& kernels_of_program() {
    static std::vector<const void*> all;
    return all;
}
template <auto Kernel>
inline const bool is_listed = [] {
    kernels_of_program().push_back(reinterpret_cast<const void*>(Kernel));
    return true;
}();

/// Loads them on the current device. Left alone, the runtime loads a kernel where it is first launched, which may wait
/// for the device and must not be in a capture.
inline void load_kernels() {
    for (const void* const kernel : kernels_of_program()) {
        cudaFuncAttributes unused{};
        require_cuda(cudaFuncGetAttributes(&unused, kernel), "cudaFuncGetAttributes");
    }
}

/// One launch on a stream of the current device, checked; `name` is what an error calls it.
template <auto Kernel, class... Arguments>
void launch(const launch_shape& shape, cudaStream_t stream, std::string_view name, Arguments&&... arguments) {
    static_cast<void>(&is_listed<Kernel>);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.blocks);
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared_words * sizeof(std::uint64_t);
    config.stream = stream;
    require_cuda(cudaLaunchKernelEx(&config, Kernel, std::forward<Arguments>(arguments)...), name);
}

}  // namespace floptally::detail

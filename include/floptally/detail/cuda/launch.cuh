// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string_view>
#include <utility>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/detail/cuda/block.hpp>

namespace floptally::detail {

/// Blocks and threads of a launch, and words of shared memory of each block.
struct launch_shape {
    std::uint32_t blocks = 1;
    std::uint32_t threads = warp_size;
    std::size_t shared_words = 0;
};

/// One launch on a stream, checked; `name` is what an error calls it.
template <class... Parameters, class... Arguments>
void launch(const launch_shape& shape, cudaStream_t stream, std::string_view name, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.blocks);
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared_words * sizeof(std::uint64_t);
    config.stream = stream;
    require_cuda(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

}  // namespace floptally::detail

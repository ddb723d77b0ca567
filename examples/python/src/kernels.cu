// SPDX-License-Identifier: Apache-2.0
// The kernels of floptally.DeviceTally under names that the driver finds: the bodies of detail/cuda for the integer
// types of lengths in PyTorch, JAX and CuPy. Host and device use the list in device_kernels.hpp.

#include <floptally/cuda/detail/block.hpp>

#include "device_kernels.hpp"

namespace floptally::detail {

#define FLOPTALLY_KERNEL(name, ...)                                                           \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__::threads, __VA_ARGS__::resident) \
        floptally_##name(const __grid_constant__ __VA_ARGS__::arguments args) {               \
        __VA_ARGS__::run(cuda_block{}, args);                                                 \
    }
FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_KERNEL)
#undef FLOPTALLY_KERNEL

}  // namespace floptally::detail

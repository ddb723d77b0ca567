// SPDX-License-Identifier: Apache-2.0
//
// The kernels of floptally.DeviceTally under names that the driver finds: the bodies of detail/cuda, for the integers
// that PyTorch, JAX and CuPy have lengths in. device_kernels.hpp lists them for both sides.

#include <floptally/cuda/detail/kernels.cuh>

#include "device_kernels.hpp"

namespace floptally::detail {

#define FLOPTALLY_KERNEL(name, ...)                                                                          \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__::shape.threads, __VA_ARGS__::shape.resident)    \
        floptally_##name(__VA_ARGS__ list, const __grid_constant__ word_schema schema, std::uint64_t* words, \
                         std::uint32_t call) {                                                               \
        add_list(cuda_block{}, list, tally_at<library_rules>(schema, words), call);                          \
    }
FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_KERNEL)
#undef FLOPTALLY_KERNEL

extern "C" __global__ void floptally_snapshot(std::uint64_t* words, snapshot_slots slots, bool reset) {
    take_snapshot(cuda_block{}, words, slots, reset);
}

}  // namespace floptally::detail

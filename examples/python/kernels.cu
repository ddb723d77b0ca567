// SPDX-License-Identifier: Apache-2.0
//
// The kernels of floptally.DeviceTally under names that the driver finds: the bodies of detail/cuda, for the integers
// that PyTorch, JAX and CuPy have lengths in. device_kernels.hpp lists them for both sides.

#include <floptally/detail/cuda/kernels.cuh>
#include <floptally/detail/python/device_kernels.hpp>

namespace floptally::detail {

#define FLOPTALLY_KERNEL(name, list)                                                                                \
    extern "C" __global__ void __launch_bounds__(threads_of(list::views), blocks_of(list::views)) floptally_##name( \
        list given, const __grid_constant__ word_schema schema, std::uint64_t* words, std::uint32_t call) {         \
        add_lengths(cuda_block{}, given, tally_at<library_rules>(schema, words), call);                             \
    }
FLOPTALLY_PYTHON_LENGTHS(FLOPTALLY_KERNEL)
#undef FLOPTALLY_KERNEL

#define FLOPTALLY_KERNEL(name, integer, number)                                                                  \
    extern "C" __global__ void __launch_bounds__(threads_of(2), blocks_of(2))                                    \
        floptally_##name(padded_boundaries<integer, integer> pack, real_sequences<number> num_real,              \
                         const __grid_constant__ word_schema schema, std::uint64_t* words, std::uint32_t call) { \
        add_pack(cuda_block{}, pack, num_real, tally_at<library_rules>(schema, words), call);                    \
    }
FLOPTALLY_PYTHON_PACKS(FLOPTALLY_KERNEL)
#undef FLOPTALLY_KERNEL

#define FLOPTALLY_KERNEL(name, rows)                                                                    \
    extern "C" __global__ void floptally_##name(rows given, const __grid_constant__ word_schema schema, \
                                                std::uint64_t* words, std::uint32_t call) {             \
        add_rows(cuda_block{}, given, tally_at<library_rules>(schema, words), call);                    \
    }
FLOPTALLY_PYTHON_FLAGS(FLOPTALLY_KERNEL)
#undef FLOPTALLY_KERNEL

extern "C" __global__ void floptally_snapshot(std::uint64_t* words, snapshot_slots slots, bool reset) {
    take_snapshot(cuda_block{}, words, slots, reset);
}

}  // namespace floptally::detail

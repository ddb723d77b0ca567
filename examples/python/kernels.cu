// SPDX-License-Identifier: Apache-2.0
//
// The kernels of floptally.DeviceTally, under names that the driver finds: the bodies of detail/cuda, for the integers
// that PyTorch, JAX and CuPy have lengths in. `device_kernels.hpp` lists them; `DeviceTally` launches them.

#include <floptally/detail/cuda/kernels.cuh>
#include <floptally/detail/python/device_kernels.hpp>

#define FLOPTALLY_KERNEL(name, list, body)                                                                          \
    extern "C" __global__ void floptally_##name(list given, floptally::device_tally_ref into, std::uint32_t call) { \
        floptally::detail::body(floptally::detail::cuda_block{}, given, into, call);                                \
    }
FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_KERNEL)

#define FLOPTALLY_PACK_KERNEL(name, integer, number)                                                         \
    extern "C" __global__ void floptally_##name(floptally::detail::padded_boundaries<integer, integer> pack, \
                                                floptally::detail::real_sequences<number> num_real,          \
                                                floptally::device_tally_ref into, std::uint32_t call) {      \
        floptally::detail::add_pack(floptally::detail::cuda_block{}, pack, num_real, into, call);            \
    }
FLOPTALLY_PYTHON_PACK_KERNELS(FLOPTALLY_PACK_KERNEL)

extern "C" __global__ void floptally_snapshot(std::uint64_t* words, floptally::detail::snapshot_slots slots,
                                              bool reset) {
    floptally::detail::take_snapshot(floptally::detail::cuda_block{}, words, slots, reset);
}

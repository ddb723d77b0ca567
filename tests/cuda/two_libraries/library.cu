// SPDX-License-Identifier: Apache-2.0
//
// A library of its own with kernels of floptally and a CUDA runtime linked into it, as nvcc links it: two of it are in
// one process.

#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#include <floptally/cuda/device_tally.cuh>
#include <floptally/statistics/mask.hpp>
#include <floptally/text/error.hpp>

#include "../gpu_test.hpp"

/// The tokens of a batch counted on a device; 0 where something throws.
extern "C" std::uint64_t counted_tokens() {
    try {
        const gpu_test::stream stream;
        const gpu_test::device_copy<std::int32_t> lengths(std::vector<std::int32_t>{5, 700, 37});
        floptally::device_tally batch(floptally::mask_set{floptally::mask::sliding_window(400)});
        batch.add_lengths(lengths.all(), stream);
        return batch.read(stream).get(floptally::view::useful, floptally::accumulator::tokens);
    } catch (const floptally::error& problem) {
        std::puts(problem.what());
        return 0;
    }
}

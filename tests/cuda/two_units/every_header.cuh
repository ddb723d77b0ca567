// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <floptally/cuda/cuda_device.hpp>
#include <floptally/cuda/cuda_memory.hpp>
#include <floptally/cuda/device_meter.cuh>
#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/floptally.hpp>

/// Whatever launches: so that both units have the same kernels. It is called where there is a device.
inline std::size_t accumulators_of_a_tally() {
    using namespace floptally;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        return 0;
    }
    const flop_counter model(presets::mistral_7b.cost());
    device_tally batch(model.masks());
    batch.add_shape({.rows = 1, .columns = 8192}, nullptr);
    batch.add_lengths(std::span<const std::int32_t>{}, nullptr);
    return batch.read(nullptr).accumulators().size();
}

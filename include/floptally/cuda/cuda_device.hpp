// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The accelerator that a CUDA device is, and with it its peak.

namespace floptally {

/// The properties of a CUDA device that tell which part it is, as the runtime reports them.
struct device_identity {
    std::string name{};  ///< the driver's: "NVIDIA H100 80GB HBM3"
    int multiprocessors = 0;
    double clock_ghz = 0;  ///< highest of the multiprocessors; 0 where the driver does not say
    std::uint64_t memory_bytes = 0;
    int compute_major = 0;  ///< 0: a device without compute capabilities, which are NVIDIA's
    int compute_minor = 0;
};

/// The identity of CUDA device number `device`. Throws `cuda_error`.
[[nodiscard]] inline device_identity identity_of(int device) {
    cudaDeviceProp seen{};
    require_cuda(cudaGetDeviceProperties(&seen, device), "cudaGetDeviceProperties");
    int clock_khz = 0;  // no longer among the properties since CUDA 13
    require_cuda(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device), "cudaDeviceGetAttribute");
    return {.name = seen.name,
            .multiprocessors = seen.multiProcessorCount,
            .clock_ghz = clock_khz * 1e-6,
            .memory_bytes = seen.totalGlobalMem,
            .compute_major = detail::has_compute_capability ? seen.major : 0,
            .compute_minor = detail::has_compute_capability ? seen.minor : 0};
}

/// One line that describes a device: "NVIDIA H200, 132 multiprocessors at up to 1.980 GHz, 140.0 GiB, compute
/// capability 9.0".
[[nodiscard]] inline std::string describe(const device_identity& device) {
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    std::string text = detail::text_of({device.name, ", ", device.multiprocessors, " multiprocessors"});
    if (device.clock_ghz > 0) {
        detail::append(text, {" at up to ", detail::fixed_decimal(device.clock_ghz, 3), " GHz"});
    }
    detail::append(text, {", ", detail::fixed_decimal(static_cast<double>(device.memory_bytes) / gib, 1), " GiB"});
    if (device.compute_major != 0) {
        detail::append(text, {", compute capability ", device.compute_major, ".", device.compute_minor});
    }
    return text;
}

namespace detail {

/// Dense fp16 FLOPs that one multiprocessor does per clock, from NVIDIA's whitepapers of Volta (8 tensor cores of 64
/// multiply-adds), Ampere (4 of 256; 4 of 128 in GA10x), Ada (as GA10x) and Hopper (twice Ampere); 0 for a compute
/// capability that no such document covers.
[[nodiscard]] constexpr int tensor_flops_per_clock(int compute_major, int compute_minor) {
    switch (10 * compute_major + compute_minor) {
        case 70:
            return 1024;
        case 80:
            return 2048;
        case 86:
        case 89:
            return 1024;
        case 90:
            return 4096;
        default:
            return 0;
    }
}

/// The highest fp16 rate that the device's multiprocessors can reach, in TFLOP/s; 0 where it is not known.
[[nodiscard]] constexpr double attainable_tflops(const device_identity& device) {
    return device.multiprocessors * device.clock_ghz *
           tensor_flops_per_clock(device.compute_major, device.compute_minor) * 1e-3;
}

[[noreturn]] inline void refuse_device(const device_identity& device, std::string_view problem) {
    const char* const what = contains_words(device.name, "MIG") ? "a share of a card (MIG): " : "";
    refuse("accelerator", {problem, "; the device is ", what, describe(device), "; peak_tflops can be given instead"});
}

}  // namespace detail

/// The accelerator of a device, found by the whole name that its driver gives it, as `accelerator_named` takes it.
///
/// A device under such a name whose multiprocessors cannot come near the part's peak is a share of the part (MIG, MPS)
/// and is refused. Every error has the field "accelerator" and ends with the device's description.
[[nodiscard]] inline const accelerator& accelerator_of(const device_identity& device) {
    const accelerator* part = nullptr;
    try {
        part = &accelerator_named(device.name);
    } catch (const error& unknown) {
        detail::refuse_device(device, unknown.problem());
    }
    // A whole part attains its published rate, which is for a clock at or below the highest one; a tenth is for
    // rounding.
    const double attainable = detail::attainable_tflops(device);
    const double published = part->published_tflops(precision::fp16);
    if (attainable > 0 && attainable < 0.9 * published) {
        detail::refuse_device(device, detail::text_of({part->name, " has ", detail::fixed_decimal(published, 0),
                                                       " dense fp16 TFLOP/s, of which these multiprocessors reach ",
                                                       detail::fixed_decimal(attainable, 0)}));
    }
    return *part;
}

/// The accelerator of CUDA device number `device`, as above.
[[nodiscard]] inline const accelerator& accelerator_of(int device) { return accelerator_of(identity_of(device)); }

}  // namespace floptally

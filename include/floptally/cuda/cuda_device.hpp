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
/// `accelerator_of(device)`: finds a CUDA device in the library's table of accelerators and their peaks.

namespace floptally::inline v0_3 {

/// The properties that identify a CUDA device, as the CUDA runtime reports them.
struct device_identity {
    std::string name{};  ///< the name that the driver reports: "NVIDIA H100 80GB HBM3"
    int multiprocessors = 0;
    double clock_ghz = 0;  ///< highest clock of the multiprocessors in GHz; 0: unknown
    std::uint64_t memory_bytes = 0;
    int compute_major = 0;  ///< major number of NVIDIA's compute capability; 0: a device of another vendor
    int compute_minor = 0;
};

/// Returns the identity of CUDA device number `device`. Throws `cuda_error`.
[[nodiscard]] inline device_identity identity_of(int device) {
    cudaDeviceProp properties{};
    require_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    // The clock is read as an attribute, because CUDA 13 removed it from cudaDeviceProp.
    int clock_khz = 0;
    require_cuda(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device), "cudaDeviceGetAttribute");
    return {.name = properties.name,
            .multiprocessors = properties.multiProcessorCount,
            .clock_ghz = clock_khz * 1e-6,
            .memory_bytes = properties.totalGlobalMem,
            .compute_major = detail::has_compute_capability ? properties.major : 0,
            .compute_minor = detail::has_compute_capability ? properties.minor : 0};
}

/// Returns one line that describes a device: "NVIDIA H200, 132 multiprocessors at up to 1.980 GHz, 140.0 GiB, compute
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

/// Returns the dense fp16 FLOPs of one multiprocessor per clock, or 0 if the compute capability is not in the table.
/// Sources are NVIDIA's whitepapers: Volta has 8 tensor cores of 64 multiply-adds, Ampere 4 of 256 (GA10x: 4 of 128),
/// Ada the same as GA10x, Hopper twice as many as Ampere.
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

/// Returns the highest dense fp16 rate that the device's multiprocessors can reach, in TFLOP/s. 0: unknown.
[[nodiscard]] constexpr double attainable_tflops(const device_identity& device) {
    return device.multiprocessors * device.clock_ghz *
           tensor_flops_per_clock(device.compute_major, device.compute_minor) * 1e-3;
}

[[noreturn]] inline void refuse_device(const device_identity& device, std::string_view problem) {
    const char* const kind = contains_words(device.name, "MIG") ? "a slice of a card (MIG): " : "";
    refuse("accelerator", {problem, "; the device is ", kind, describe(device), "; pass peak_tflops instead"});
}

}  // namespace detail

/// Looks up the name that the driver reports for the device in the library's table of accelerators, and returns the
/// accelerator. Throws `error` if the device is only a slice of an accelerator (MIG, MPS), because a slice cannot reach
/// the peak in the table. Every error has the field "accelerator" and ends with the device's description.
[[nodiscard]] inline const accelerator& accelerator_of(const device_identity& device) {
    const accelerator* part = nullptr;
    try {
        part = &accelerator_named(device.name);
    } catch (const error& unknown) {
        detail::refuse_device(device, unknown.problem());
    }
    // A whole accelerator reaches the published peak, because that peak is given for a clock that the device can run
    // at. The comparison allows 10 % for rounding.
    const double attainable = detail::attainable_tflops(device);
    const double published = part->published_tflops(precision::fp16);
    if (attainable > 0 && attainable < 0.9 * published) {
        detail::refuse_device(device, detail::text_of({part->name, " has ", detail::fixed_decimal(published, 0),
                                                       " dense fp16 TFLOP/s, but these multiprocessors reach only ",
                                                       detail::fixed_decimal(attainable, 0)}));
    }
    return *part;
}

/// Returns the accelerator of CUDA device number `device`. Throws `error` if the table lacks the device, or if the
/// device is only a slice of an accelerator.
[[nodiscard]] inline const accelerator& accelerator_of(int device) { return accelerator_of(identity_of(device)); }

}  // namespace floptally

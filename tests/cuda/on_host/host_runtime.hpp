// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>
#include <string>

/// @file
/// The functions by which a test inspects the CUDA runtime on the host (cuda_runtime.cpp). The same objects run on a
/// GPU, where these functions are absent: `on_host::is_here()` is false.

namespace on_host {

/// Calls to the runtime, each counted once.
struct call_counts {
    std::uint64_t launches = 0;
    std::uint64_t allocations = 0;  ///< and what gives memory back
    std::uint64_t waits = 0;        ///< calls that wait for a device
    std::uint64_t others = 0;

    [[nodiscard]] friend bool operator==(const call_counts&, const call_counts&) = default;
};

[[nodiscard]] inline std::string to_string(const call_counts& counts) {
    return std::to_string(counts.launches) + " launches, " + std::to_string(counts.allocations) + " allocations, " +
           std::to_string(counts.waits) + " waits, " + std::to_string(counts.others) + " others";
}

}  // namespace on_host

extern "C" {
/// The number of PTX instructions that kernels have executed so far, over all threads, and of fences among them.
__attribute__((weak)) void floptally_host_executed(std::uint64_t* instructions, std::uint64_t* fences);
/// All calls so far.
__attribute__((weak)) void floptally_host_counts(on_host::call_counts* counts);
/// The next call of this name fails, and does nothing.
__attribute__((weak)) void floptally_host_fail_next(const char* call, cudaError_t status);
/// Defined by a program that links several libraries, each with such a runtime.
extern __attribute__((weak)) void* floptally_host_process[3];
/// Calls with another device current fail and are counted; -1 allows all. Those that need none are let through.
__attribute__((weak)) void floptally_host_require_device(int device);
__attribute__((weak)) std::uint64_t floptally_host_on_wrong_device();
/// True where work was done on a device that needs a context there.
__attribute__((weak)) bool floptally_host_has_context(int device);
}

namespace on_host {

[[nodiscard]] inline bool is_here() { return floptally_host_counts != nullptr; }

/// The calls that a piece of code makes to the runtime; none on a GPU.
template <class Run>
[[nodiscard]] call_counts counts_of(const Run& run) {
    call_counts before;
    call_counts after;
    if (is_here()) {
        floptally_host_counts(&before);
    }
    run();
    if (is_here()) {
        floptally_host_counts(&after);
    }
    return {after.launches - before.launches, after.allocations - before.allocations, after.waits - before.waits,
            after.others - before.others};
}

}  // namespace on_host

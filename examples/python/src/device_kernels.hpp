// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/detail/add_lengths.hpp>
#include <floptally/cuda/detail/add_samples.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// The kernels that the Python package has in one file for the driver (examples/python/src/kernels.cu), and how each of
/// them is called there: one list for both sides.

// name, its body
#define FLOPTALLY_BY_SIDES(kernel, name, ...)                                                   \
    kernel(name##_0, add_lengths<__VA_ARGS__, 0>) kernel(name##_1, add_lengths<__VA_ARGS__, 1>) \
        kernel(name##_4, add_lengths<__VA_ARGS__, 4>)
#define FLOPTALLY_FLAGS(kernel, name, flag) \
    kernel(name##_windows, add_rows<window_rules, flag>) kernel(name, add_rows<library_rules, flag>)
#define FLOPTALLY_PYTHON_KERNELS(kernel)                                                                    \
    FLOPTALLY_BY_SIDES(kernel, boundaries_32, 4, true, slots_by::sequence, 4)                               \
    FLOPTALLY_BY_SIDES(kernel, boundaries_64, 8, true, slots_by::sequence, 4)                               \
    FLOPTALLY_BY_SIDES(kernel, lengths_32, 4, false, slots_by::sequence, 4)                                 \
    FLOPTALLY_BY_SIDES(kernel, lengths_64, 8, false, slots_by::sequence, 4)                                 \
    FLOPTALLY_BY_SIDES(kernel, rows_32, 4, false, slots_by::row, 4)                                         \
    FLOPTALLY_BY_SIDES(kernel, rows_64, 8, false, slots_by::row, 4)                                         \
    FLOPTALLY_BY_SIDES(kernel, pack_32, 4, true, slots_by::boundaries, 4)                                   \
    FLOPTALLY_BY_SIDES(kernel, pack_64, 8, true, slots_by::boundaries, 8)                                   \
    FLOPTALLY_FLAGS(kernel, flags_8, std::uint8_t)                                                          \
    FLOPTALLY_FLAGS(kernel, flags_16, std::uint16_t)                                                        \
    FLOPTALLY_FLAGS(kernel, flags_32, std::uint32_t)                                                        \
    FLOPTALLY_FLAGS(kernel, flags_64, std::uint64_t)                                                        \
    kernel(sequences, add_samples<library_rules, sequence>) kernel(grids, add_samples<library_rules, grid>) \
        kernel(clips, add_samples<library_rules, audio_clip>) kernel(snapshot, take_snapshot)

namespace floptally::detail::python {

/// The name of the kernel of a body.
template <class Body>
struct device_kernel;

#define FLOPTALLY_NAMED(name, ...)                                \
    template <>                                                   \
    struct device_kernel<__VA_ARGS__> {                           \
        static constexpr const char* symbol = "floptally_" #name; \
    };
FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_NAMED)
#undef FLOPTALLY_NAMED

#define FLOPTALLY_NAMED(name, ...) "floptally_" #name,
/// All of them.
inline constexpr const char* device_kernels[] = {FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_NAMED)};
#undef FLOPTALLY_NAMED

}  // namespace floptally::detail::python

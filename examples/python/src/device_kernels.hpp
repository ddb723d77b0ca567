// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cuda/basic_device_tally.hpp>

/// @file
/// The kernels that the Python package has in one file for the driver (examples/python/src/kernels.cu), and how each of
/// them is called there: one list for both sides.

// name, its body
#define FLOPTALLY_BY_SIDES(kernel, name, ...)                                                   \
    kernel(name##_0, add_lengths<__VA_ARGS__, 0>) kernel(name##_1, add_lengths<__VA_ARGS__, 1>) \
        kernel(name##_4, add_lengths<__VA_ARGS__, 4>)
#define FLOPTALLY_LISTS(kernel, bytes)                                                 \
    FLOPTALLY_BY_SIDES(kernel, boundaries_##bytes, bytes, true, slots_by::sequence, 4) \
    FLOPTALLY_BY_SIDES(kernel, lengths_##bytes, bytes, false, slots_by::sequence, 4)   \
    FLOPTALLY_BY_SIDES(kernel, rows_##bytes, bytes, false, slots_by::row, 4)           \
    FLOPTALLY_BY_SIDES(kernel, pack_##bytes, bytes, true, slots_by::boundaries, bytes)
#define FLOPTALLY_FLAGS(kernel, bytes)                              \
    kernel(windows_##bytes, add_rows<window_rules, flag_of<bytes>>) \
        kernel(flags_##bytes, add_rows<library_rules, flag_of<bytes>>)
#define FLOPTALLY_PYTHON_KERNELS(kernel)                                                                    \
    FLOPTALLY_LISTS(kernel, 4)                                                                              \
    FLOPTALLY_LISTS(kernel, 8)                                                                              \
    FLOPTALLY_FLAGS(kernel, 1)                                                                              \
    FLOPTALLY_FLAGS(kernel, 2)                                                                              \
    FLOPTALLY_FLAGS(kernel, 4)                                                                              \
    FLOPTALLY_FLAGS(kernel, 8)                                                                              \
    kernel(sequences, add_samples<library_rules, sequence>) kernel(grids, add_samples<library_rules, grid>) \
        kernel(clips, add_samples<library_rules, audio_clip>) kernel(snapshot, take_snapshot)

namespace floptally::detail::python {

/// The name of the kernel of a body.
template <class Body>
inline constexpr const char* symbol_of = nullptr;

#define FLOPTALLY_NAMED(name, ...) \
    template <>                    \
    inline constexpr const char* symbol_of<__VA_ARGS__> = "floptally_" #name;
FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_NAMED)
#undef FLOPTALLY_NAMED

#define FLOPTALLY_NAMED(name, ...) "floptally_" #name,
inline constexpr const char* device_kernels[] = {FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_NAMED)};
#undef FLOPTALLY_NAMED

}  // namespace floptally::detail::python

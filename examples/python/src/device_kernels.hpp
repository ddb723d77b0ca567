// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cuda/basic_device_tally.hpp>

/// @file
/// The kernels in the Python package's single file for the driver (examples/python/src/kernels.cu), and the name of
/// each. Both sides use this list.

// name, its body
#define FLOPTALLY_BY_SIDES(kernel, name, ...)                                                                   \
    kernel(name##_0, detail::add_lengths<__VA_ARGS__, 0>) kernel(name##_1, detail::add_lengths<__VA_ARGS__, 1>) \
        kernel(name##_4, detail::add_lengths<__VA_ARGS__, 4>)
#define FLOPTALLY_LISTS(kernel, bytes)                                                         \
    FLOPTALLY_BY_SIDES(kernel, boundaries_##bytes, bytes, true, detail::slots_by::sequence, 4) \
    FLOPTALLY_BY_SIDES(kernel, lengths_##bytes, bytes, false, detail::slots_by::sequence, 4)   \
    FLOPTALLY_BY_SIDES(kernel, rows_##bytes, bytes, false, detail::slots_by::row, 4)           \
    FLOPTALLY_BY_SIDES(kernel, pack_##bytes, bytes, true, detail::slots_by::boundaries, bytes)
#define FLOPTALLY_FLAGS(kernel, bytes)                                                   \
    kernel(windows_##bytes, detail::add_rows<window_statistics, detail::flag_of<bytes>>) \
        kernel(flags_##bytes, detail::add_rows<library_statistics, detail::flag_of<bytes>>)
#define FLOPTALLY_PYTHON_KERNELS(kernel)                                 \
    FLOPTALLY_LISTS(kernel, 4)                                           \
    FLOPTALLY_LISTS(kernel, 8)                                           \
    FLOPTALLY_FLAGS(kernel, 1)                                           \
    FLOPTALLY_FLAGS(kernel, 2)                                           \
    FLOPTALLY_FLAGS(kernel, 4)                                           \
    FLOPTALLY_FLAGS(kernel, 8)                                           \
    kernel(sequences, detail::add_samples<library_statistics, sequence>) \
        kernel(grids, detail::add_samples<library_statistics, grid>)     \
            kernel(clips, detail::add_samples<library_statistics, audio_clip>) kernel(snapshot, detail::take_snapshot)

namespace floptally::python {

/// The name of the kernel for a body.
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

}  // namespace floptally::python

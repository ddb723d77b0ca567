// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/length_lists.hpp>

/// @file
/// The kernels that the Python package has in one file for the driver (examples/python/src/kernels.cu), and how each of
/// them is launched: one list for both sides.

// name, the list that it takes
#define FLOPTALLY_PYTHON_KERNELS(kernel)                                                                            \
    kernel(boundaries_i32, listed_boundaries<std::int32_t>) kernel(boundaries_i64, listed_boundaries<std::int64_t>) \
        kernel(lengths_i32, listed_lengths<std::int32_t>) kernel(lengths_i64, listed_lengths<std::int64_t>)         \
            kernel(rows_i32, padded_rows<std::int32_t>) kernel(rows_i64, padded_rows<std::int64_t>)                 \
                kernel(flags_u8, attention_rows<std::uint8_t>) kernel(flags_u16, attention_rows<std::uint16_t>)     \
                    kernel(flags_i32, attention_rows<std::int32_t>) kernel(flags_i64, attention_rows<std::int64_t>) \
                        kernel(pack_i32_i32, padded_boundaries<std::int32_t, std::int32_t, std::int32_t>)           \
                            kernel(pack_i32_i64, padded_boundaries<std::int32_t, std::int32_t, std::int64_t>)       \
                                kernel(pack_i64_i32, padded_boundaries<std::int64_t, std::int64_t, std::int32_t>)   \
                                    kernel(pack_i64_i64, padded_boundaries<std::int64_t, std::int64_t, std::int64_t>)

namespace floptally::detail::python {

/// The kernel that takes such a list.
template <class List>
struct device_kernel;

#define FLOPTALLY_NAMED(name, ...)                                \
    template <>                                                   \
    struct device_kernel<__VA_ARGS__> {                           \
        static constexpr const char* symbol = "floptally_" #name; \
    };
FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_NAMED)
#undef FLOPTALLY_NAMED

inline constexpr const char* snapshot_kernel = "floptally_snapshot";

#define FLOPTALLY_NAMED(name, ...) "floptally_" #name,
/// All of them.
inline constexpr const char* device_kernels[] = {FLOPTALLY_PYTHON_KERNELS(FLOPTALLY_NAMED) snapshot_kernel};
#undef FLOPTALLY_NAMED

}  // namespace floptally::detail::python

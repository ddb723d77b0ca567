// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <floptally/detail/cuda/attention_rows.hpp>
#include <floptally/detail/cuda/block.hpp>
#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/cuda/padded_boundaries.hpp>
#include <floptally/detail/cuda/take_snapshot.hpp>
#include <floptally/detail/cuda/word_schema.hpp>

/// @file
/// The kernels that the Python package has in one file for the driver (examples/python/kernels.cu), and how each of
/// them is launched: one list for both sides.

// name, what it takes; of lengths, and of rows of flags
#define FLOPTALLY_PYTHON_LENGTHS(kernel)                                             \
    kernel(boundaries_i32, floptally::detail::listed_boundaries<std::int32_t>)       \
        kernel(boundaries_i64, floptally::detail::listed_boundaries<std::int64_t>)   \
            kernel(lengths_i32, floptally::detail::listed_lengths<std::int32_t>)     \
                kernel(lengths_i64, floptally::detail::listed_lengths<std::int64_t>) \
                    kernel(rows_i32, floptally::detail::padded_rows<std::int32_t>)   \
                        kernel(rows_i64, floptally::detail::padded_rows<std::int64_t>)
#define FLOPTALLY_PYTHON_FLAGS(kernel)                                         \
    kernel(flags_u8, floptally::detail::attention_rows<std::uint8_t>)          \
        kernel(flags_u16, floptally::detail::attention_rows<std::uint16_t>)    \
            kernel(flags_i32, floptally::detail::attention_rows<std::int32_t>) \
                kernel(flags_i64, floptally::detail::attention_rows<std::int64_t>)
// name, the integers of both lists of boundaries, that of num_real_seqs
#define FLOPTALLY_PYTHON_PACKS(kernel)                                                                \
    kernel(pack_i32_i32, std::int32_t, std::int32_t) kernel(pack_i32_i64, std::int32_t, std::int64_t) \
        kernel(pack_i64_i32, std::int64_t, std::int32_t) kernel(pack_i64_i64, std::int64_t, std::int64_t)

namespace floptally::detail::python {

/// The kernel that takes such a list; with `Number`, such a pack and that number of real sequences.
template <class List, class Number = void>
struct device_kernel;

#define FLOPTALLY_NAMED(name, list)                               \
    template <>                                                   \
    struct device_kernel<list> {                                  \
        static constexpr const char* symbol = "floptally_" #name; \
    };
FLOPTALLY_PYTHON_LENGTHS(FLOPTALLY_NAMED)
FLOPTALLY_PYTHON_FLAGS(FLOPTALLY_NAMED)
#undef FLOPTALLY_NAMED
#define FLOPTALLY_NAMED(name, integer, number)                          \
    template <>                                                         \
    struct device_kernel<padded_boundaries<integer, integer>, number> { \
        static constexpr const char* symbol = "floptally_" #name;       \
    };
FLOPTALLY_PYTHON_PACKS(FLOPTALLY_NAMED)
#undef FLOPTALLY_NAMED

inline constexpr const char* snapshot_kernel = "floptally_snapshot";

#define FLOPTALLY_NAMED(name, list, ...) "floptally_" #name,
/// All of them.
inline constexpr const char* device_kernels[] = {FLOPTALLY_PYTHON_LENGTHS(FLOPTALLY_NAMED) FLOPTALLY_PYTHON_FLAGS(
    FLOPTALLY_NAMED) FLOPTALLY_PYTHON_PACKS(FLOPTALLY_NAMED) snapshot_kernel};
#undef FLOPTALLY_NAMED

/// Blocks, threads of each, and bytes of shared memory.
struct device_launch {
    std::uint32_t blocks;
    std::uint32_t threads;
    std::size_t shared_bytes;
};

/// No more blocks than there is work, `of_one` a block, and than are on the device at once.
[[nodiscard]] inline std::uint32_t blocks_for(std::size_t work, std::size_t of_one, std::size_t most) {
    const std::size_t wanted = work / of_one + (work % of_one != 0 ? 1U : 0U);
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted, 1, most));
}

/// Of lengths, in columns of shared memory.
template <class List>
[[nodiscard]] device_launch launch_of(const List& list, const word_schema& schema, std::uint32_t multiprocessors) {
    constexpr auto threads = static_cast<std::uint32_t>(threads_of(List::views));
    constexpr auto resident = static_cast<std::uint32_t>(blocks_of(List::views));
    return {blocks_for(list.size(), group_size * threads, resident * multiprocessors), threads,
            sizeof(std::uint64_t) * List::views * schema.columns() * threads};
}
/// Of flags: a block for each row.
template <class T>
[[nodiscard]] device_launch launch_of(const attention_rows<T>& rows, const word_schema& /*schema*/,
                                      std::uint32_t multiprocessors) {
    constexpr std::uint32_t threads = 256;
    constexpr std::uint32_t resident = 8;
    return {blocks_for(rows.size(), 1, resident * multiprocessors), threads,
            sizeof(std::uint64_t) * threads / warp_size};
}
inline constexpr device_launch launch_of_snapshot{1, 4 * warp_size, sizeof(std::uint64_t)};

}  // namespace floptally::detail::python

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mpi.h>
#include <span>
#include <string>
#include <string_view>

#include <floptally/detail/failed_call.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel_axis.hpp>
#include <floptally/parallel_layout.hpp>

/// @file
/// Reductions through MPI (its C API, 3.0 or later).

namespace floptally {

namespace detail {

/// Throws where an MPI call failed, with its name, place and MPI's own words.
inline void require_mpi(int result, std::string_view call, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
    if (result == MPI_SUCCESS) {
        return;
    }
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(result, text, &length);
    throw_failed_call(call, {text, static_cast<std::size_t>(length)}, file, line);
}

}  // namespace detail

/// The layout of the processes of a communicator.
[[nodiscard]] inline parallel_layout layout_of(const parallel_sizes& sizes, MPI_Comm world,
                                               std::string_view order = megatron_order) {
    int rank = 0;
    int ranks = 0;
    detail::require_mpi(MPI_Comm_rank(world, &rank), "MPI_Comm_rank");
    detail::require_mpi(MPI_Comm_size(world, &ranks), "MPI_Comm_size");
    return {sizes, static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank), order};
}

/// Adds up words over a group of MPI processes, by a communicator of its own. It must be destroyed before
/// `MPI_Finalize`; constructing it is collective over `world`.
class mpi_reducer {
  public:
    /// Over all of `world`.
    explicit mpi_reducer(MPI_Comm world) {
        detail::require_mpi(MPI_Comm_dup(world, &group_), "MPI_Comm_dup");
        return_errors();
    }

    /// Over the group of `layout` that spans `axes`.
    mpi_reducer(MPI_Comm world, const parallel_layout& layout, axis_set axes) {
        const std::uint64_t first = layout.group(axes)[0];  // the same for its members, and for no others
        if (layout.world_size() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
            throw error("world_size", "must fit an int, got " + std::to_string(layout.world_size()));
        }
        detail::require_mpi(MPI_Comm_split(world, static_cast<int>(first), static_cast<int>(layout.rank()), &group_),
                            "MPI_Comm_split");
        return_errors();
    }

    mpi_reducer(const mpi_reducer&) = delete;
    mpi_reducer& operator=(const mpi_reducer&) = delete;
    ~mpi_reducer() { MPI_Comm_free(&group_); }

    void sum(std::span<std::uint64_t> words) const { all_reduce(words, MPI_SUM); }
    void max(std::span<std::uint64_t> words) const { all_reduce(words, MPI_MAX); }

    [[nodiscard]] MPI_Comm communicator() const { return group_; }

  private:
    /// A failed call is an exception here, and not the end of the program.
    void return_errors() const {
        detail::require_mpi(MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }

    void all_reduce(std::span<std::uint64_t> words, MPI_Op operation) const {
        if (words.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
            throw error("words", "must be at most 2147483647, got " + std::to_string(words.size()));
        }
        detail::require_mpi(
            MPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T, operation, group_),
            "MPI_Allreduce");
    }

    MPI_Comm group_ = MPI_COMM_NULL;
};

}  // namespace floptally

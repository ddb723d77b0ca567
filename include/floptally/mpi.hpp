// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/text/macros_begin.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mpi.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/balance/exchange_plan.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Reductions and exchanges of samples through MPI (its C API, 3.0 or later).

namespace floptally::inline v0_3 {

namespace detail {

/// Throws `error` if an MPI call failed. The error has the name of the call, its place in the source and MPI's own
/// text.
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

/// A private communicator, duplicated or split from the caller's. A failed MPI call on it throws instead of ending the
/// program.
class mpi_group {
  public:
    explicit mpi_group(MPI_Comm world) {
        require_mpi(MPI_Comm_dup(world, &group_), "MPI_Comm_dup");
        return_errors();
    }

    mpi_group(MPI_Comm world, int color, int key) {
        require_mpi(MPI_Comm_split(world, color, key, &group_), "MPI_Comm_split");
        return_errors();
    }

    mpi_group(const mpi_group&) = delete;
    mpi_group& operator=(const mpi_group&) = delete;
    ~mpi_group() { MPI_Comm_free(&group_); }

    [[nodiscard]] MPI_Comm get() const { return group_; }

  private:
    void return_errors() {
        const int result = MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN);
        if (result != MPI_SUCCESS) {
            MPI_Comm_free(&group_);
            require_mpi(result, "MPI_Comm_set_errhandler");
        }
    }

    MPI_Comm group_ = MPI_COMM_NULL;
};

}  // namespace detail

/// Returns the layout of the processes of a communicator.
[[nodiscard]] inline parallel_layout layout_of(const parallel_sizes& sizes, MPI_Comm world,
                                               std::string_view order = megatron_order) {
    int rank = 0;
    int ranks = 0;
    detail::require_mpi(MPI_Comm_rank(world, &rank), "MPI_Comm_rank");
    detail::require_mpi(MPI_Comm_size(world, &ranks), "MPI_Comm_size");
    return {sizes, static_cast<std::uint64_t>(ranks), static_cast<std::uint64_t>(rank), order};
}

/// Adds up integers over a group of MPI processes, through a communicator that it creates. Destroy the reducer before
/// `MPI_Finalize`. The constructor is collective over `world`.
class mpi_reducer {
  public:
    /// Makes a reducer over all processes of `world`.
    explicit mpi_reducer(MPI_Comm world) : group_(world) {}

    /// Makes a reducer over this process's group of `layout` along `axes`.
    mpi_reducer(MPI_Comm world, const parallel_layout& layout, axis_set axes)
        // The first rank of a group is the group's color for MPI_Comm_split.
        : group_(world, as_int(layout.group(axes)[0], layout), as_int(layout.rank(), layout)) {}

    void sum(std::span<std::uint64_t> integers) const { all_reduce(integers, MPI_SUM); }
    void max(std::span<std::uint64_t> integers) const { all_reduce(integers, MPI_MAX); }

    [[nodiscard]] MPI_Comm communicator() const { return group_.get(); }

  private:
    [[nodiscard]] static int as_int(std::uint64_t rank, const parallel_layout& layout) {
        if (layout.world_size() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
            throw error("world_size",
                        "must be at most 2147483647, the largest int, got " + std::to_string(layout.world_size()));
        }
        return static_cast<int>(rank);
    }

    void all_reduce(std::span<std::uint64_t> integers, MPI_Op operation) const {
        if (integers.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
            throw error("integers", "must have at most 2147483647 elements, got " + std::to_string(integers.size()));
        }
        detail::require_mpi(MPI_Allreduce(MPI_IN_PLACE, integers.data(), static_cast<int>(integers.size()),
                                          MPI_UINT64_T, operation, group_.get()),
                            "MPI_Allreduce");
    }

    detail::mpi_group group_;
};

/// An exchange that has started. MPI uses the buffers until `wait` returns or `done` returns true. The destructor also
/// waits and ignores errors, so that no buffer is freed while MPI uses it.
class [[nodiscard]] mpi_exchange {
  public:
    mpi_exchange(mpi_exchange&& other) noexcept
        : counts_(std::move(other.counts_)), request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}
    mpi_exchange(const mpi_exchange&) = delete;
    mpi_exchange& operator=(const mpi_exchange&) = delete;
    mpi_exchange& operator=(mpi_exchange&&) = delete;
    ~mpi_exchange() {
        if (request_ != MPI_REQUEST_NULL) {
            MPI_Wait(&request_, MPI_STATUS_IGNORE);
        }
    }

    /// Waits until this rank's samples have arrived and its sending buffer may be filled again. Later calls return at
    /// once.
    void wait() { detail::require_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

    /// Returns whether all samples have arrived, without waiting. MPI makes progress during each call, so call it
    /// repeatedly between other work.
    [[nodiscard]] bool done() {
        int has_arrived = 0;
        detail::require_mpi(MPI_Test(&request_, &has_arrived, MPI_STATUS_IGNORE), "MPI_Test");
        return has_arrived != 0;
    }

  private:
    friend class mpi_exchanger;

    /// Message sizes and offsets; MPI reads these arrays until the end of the exchange.
    struct units {
        std::vector<int> send_counts;
        std::vector<int> send_displacements;
        std::vector<int> receive_counts;
        std::vector<int> receive_displacements;
    };

    explicit mpi_exchange(units counts) : counts_(std::move(counts)) {}

    units counts_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Carries out exchanges of samples through an MPI communicator that it creates. Destroy it before `MPI_Finalize`. The
/// constructor and every exchange are collective over `world`.
///
/// Before sending anything, the ranks check that all of them can take part. If the plan or the buffers of one rank are
/// wrong, all ranks throw. A rank that could not allocate a buffer passes an empty buffer, so that all ranks throw.
class mpi_exchanger {
  public:
    explicit mpi_exchanger(MPI_Comm world) : group_(world) {
        detail::require_mpi(MPI_Comm_rank(group_.communicator(), &rank_), "MPI_Comm_rank");
        detail::require_mpi(MPI_Comm_size(group_.communicator(), &ranks_), "MPI_Comm_size");
    }

    /// Sends the buffer that `filled_buffer` made from `exchange.send`. Returns when `receive` holds the samples of
    /// `exchange.receive`.
    void run(const rank_exchange& exchange, std::span<const std::byte> send, std::span<std::byte> receive) const {
        const mpi_exchange::units counts = agreed_units(exchange, send, receive);
        detail::require_mpi(MPI_Alltoallv(send.data(), counts.send_counts.data(), counts.send_displacements.data(),
                                          MPI_UINT64_T, receive.data(), counts.receive_counts.data(),
                                          counts.receive_displacements.data(), MPI_UINT64_T, group_.communicator()),
                            "MPI_Alltoallv");
    }

    /// Starts the exchange. It overlaps with other work until `wait()`. `start` returns when all ranks have called
    /// `start` and agree that they can send. The samples may still be under way then.
    mpi_exchange start(const rank_exchange& exchange, std::span<const std::byte> send,
                       std::span<std::byte> receive) const {
        mpi_exchange under_way(agreed_units(exchange, send, receive));
        const mpi_exchange::units& counts = under_way.counts_;
        detail::require_mpi(
            MPI_Ialltoallv(send.data(), counts.send_counts.data(), counts.send_displacements.data(), MPI_UINT64_T,
                           receive.data(), counts.receive_counts.data(), counts.receive_displacements.data(),
                           MPI_UINT64_T, group_.communicator(), &under_way.request_),
            "MPI_Ialltoallv");
        return under_way;
    }

  private:
    static_assert(exchange_alignment == sizeof(std::uint64_t));  // `mpi_counts` divides bytes by 8

    [[nodiscard]] mpi_exchange::units agreed_units(const rank_exchange& exchange, std::span<const std::byte> send,
                                                   std::span<const std::byte> receive) const {
        mpi_exchange::units counts;
        prepare_together(static_cast<std::uint64_t>(rank_), group_, [&] {
            require_exchange(exchange, static_cast<std::uint64_t>(rank_), static_cast<std::uint64_t>(ranks_), send,
                             receive);
            counts = {mpi_counts(exchange.send.counts, "send.counts"),
                      mpi_counts(exchange.send.displacements, "send.displacements"),
                      mpi_counts(exchange.receive.counts, "receive.counts"),
                      mpi_counts(exchange.receive.displacements, "receive.displacements")};
        });
        return counts;
    }

    mpi_reducer group_;
    int rank_ = 0;
    int ranks_ = 0;
};

}  // namespace floptally

#include <floptally/text/macros_end.hpp>

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mpi.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/balance/exchange_agreement.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Reductions and exchanges of samples through MPI (its C API, 3.0 or later).

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

/// A communicator of our own, where a failed call is an exception and not the end of the program.
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
    explicit mpi_reducer(MPI_Comm world) : group_(world) {}

    /// Over the group of `layout` that spans `axes`.
    mpi_reducer(MPI_Comm world, const parallel_layout& layout, axis_set axes)
        // The first of the group: the same for its members, and for no others.
        : group_(world, as_int(layout.group(axes)[0], layout), as_int(layout.rank(), layout)) {}

    void sum(std::span<std::uint64_t> words) const { all_reduce(words, MPI_SUM); }
    void max(std::span<std::uint64_t> words) const { all_reduce(words, MPI_MAX); }

    [[nodiscard]] MPI_Comm communicator() const { return group_.get(); }

  private:
    [[nodiscard]] static int as_int(std::uint64_t rank, const parallel_layout& layout) {
        if (layout.world_size() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
            throw error("world_size", "must fit an int, got " + std::to_string(layout.world_size()));
        }
        return static_cast<int>(rank);
    }

    void all_reduce(std::span<std::uint64_t> words, MPI_Op operation) const {
        if (words.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
            throw error("words", "must be at most 2147483647, got " + std::to_string(words.size()));
        }
        detail::require_mpi(MPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                                          operation, group_.get()),
                            "MPI_Allreduce");
    }

    detail::mpi_group group_;
};

/// An exchange under way: the buffers belong to MPI until `wait` returns or `done` says so. Its end waits too, so that
/// no memory is freed under a message; an error is then not seen.
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

    /// Returns when this rank's samples are here and its buffer may be filled again. Nothing more once it has.
    void wait() { detail::require_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

    /// True where all have come, without waiting. Called between pieces of work it lets MPI make progress.
    [[nodiscard]] bool done() {
        int arrived = 0;
        detail::require_mpi(MPI_Test(&request_, &arrived, MPI_STATUS_IGNORE), "MPI_Test");
        return arrived != 0;
    }

  private:
    friend class mpi_exchanger;

    /// MPI reads them until the end of the exchange.
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

/// Carries out exchanges over a communicator of its own. It must be destroyed before `MPI_Finalize`; constructing it is
/// collective over `world`, and so is every exchange.
///
/// Before anything is sent the ranks agree that all of them can: what one rank alone finds wrong with its exchange or
/// its buffers, all throw. A rank that has no memory for a buffer comes with an empty one, so that the others know.
class mpi_exchanger {
  public:
    explicit mpi_exchanger(MPI_Comm world) : group_(world) {
        detail::require_mpi(MPI_Comm_rank(group_.communicator(), &rank_), "MPI_Comm_rank");
        detail::require_mpi(MPI_Comm_size(group_.communicator(), &ranks_), "MPI_Comm_size");
    }

    /// Sends what `filled` made of `how.send` and returns when `receive` has what `how.receive` says.
    void run(const rank_exchange& how, std::span<const std::byte> send, std::span<std::byte> receive) const {
        const mpi_exchange::units counts = agreed_units(how, send, receive);
        detail::require_mpi(MPI_Alltoallv(send.data(), counts.send_counts.data(), counts.send_displacements.data(),
                                          MPI_UINT64_T, receive.data(), counts.receive_counts.data(),
                                          counts.receive_displacements.data(), MPI_UINT64_T, group_.communicator()),
                            "MPI_Alltoallv");
    }

    /// Begins the exchange beside whatever runs until it is waited for. It returns when every rank has come to it and
    /// all can send; their samples are under way then.
    mpi_exchange start(const rank_exchange& how, std::span<const std::byte> send, std::span<std::byte> receive) const {
        mpi_exchange under_way(agreed_units(how, send, receive));
        const mpi_exchange::units& counts = under_way.counts_;
        detail::require_mpi(
            MPI_Ialltoallv(send.data(), counts.send_counts.data(), counts.send_displacements.data(), MPI_UINT64_T,
                           receive.data(), counts.receive_counts.data(), counts.receive_displacements.data(),
                           MPI_UINT64_T, group_.communicator(), &under_way.request_),
            "MPI_Ialltoallv");
        return under_way;
    }

  private:
    static_assert(exchange_alignment == sizeof(std::uint64_t));  // the unit that `mpi_counts` counts

    [[nodiscard]] mpi_exchange::units agreed_units(const rank_exchange& how, std::span<const std::byte> send,
                                                   std::span<const std::byte> receive) const {
        mpi_exchange::units counts;
        prepare_together(static_cast<std::uint64_t>(rank_), group_, [&] {
            require_exchange(how, static_cast<std::uint64_t>(rank_), static_cast<std::uint64_t>(ranks_), send, receive);
            counts = {mpi_counts(how.send.counts, "send.counts"),
                      mpi_counts(how.send.displacements, "send.displacements"),
                      mpi_counts(how.receive.counts, "receive.counts"),
                      mpi_counts(how.receive.displacements, "receive.displacements")};
        });
        return counts;
    }

    mpi_reducer group_;
    int rank_ = 0;
    int ranks_ = 0;
};

}  // namespace floptally

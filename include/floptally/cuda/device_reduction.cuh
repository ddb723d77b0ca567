// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/device_accumulators.hpp>
#include <floptally/cuda/detail/fill_message.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/verified_sum.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `device_reduction`: sums the tallies of all ranks on the stream. No rank waits on the host.

namespace floptally::inline v0_3 {

/// A reducer that sums integers in device memory over a group of ranks, in place and on a stream. Example:
/// `nccl_stream_reducer`.
template <class Reducer>
concept device_integer_reducer = requires(Reducer& reducer, std::span<std::uint64_t> device_integers,
                                          cudaStream_t stream) {
    reducer.sum_async(device_integers, stream);
};

/// Sums the tallies of all ranks, step after step, without waiting. It works like a `tally_reduction`, but fills, sums
/// and stores its message on the stream. If the group or scope of ranks is wrong, `poll` throws the error of
/// `tally_reduction` on every rank.
class device_reduction {
  public:
    /// Makes a device reduction from a reduction on the host. All ranks must have constructed the host's reduction
    /// together, with any reducer. At most `snapshots` sums can wait for `poll`.
    explicit device_reduction(const tally_reduction& reduction, std::uint32_t snapshots = 64)
        : reduction_(reduction),
          parts_(reduction.messages().parts()),
          accumulators_(detail::cuda_api(), static_cast<std::uint32_t>(reduction.messages().message_size()),
                        std::as_bytes(std::span(parts_)), snapshots) {}

    /// Queues the sum of the tallies that the ranks have counted so far on their streams. If this call throws on a
    /// rank, the rank still takes part and sends a refusal.
    template <class Statistics, device_integer_reducer Reducer>
    void sum_async(const basic_device_tally<Statistics>& tally_of_rank, Reducer& reducer, cudaStream_t stream,
                   const microbatch_visits& visits = {}) {
        if (tally_of_rank.device() != accumulators_.api().number()) {
            detail::refuse("tally",
                           {"is on device ", tally_of_rank.device(), ", but this device_reduction is on device ",
                            accumulators_.api().number(), ": make both on one device"});
        }
        std::optional<error> refusal;
        try {
            reduction_.require_sendable(tally_of_rank.masks(), visits);
        } catch (const error& problem) {
            refusal = problem;
        }
        accumulators_.launch<detail::fill_message>(
            detail::fill_message::shape, stream, "sum_async",
            {tally_of_rank.accumulators(), tally_of_rank.refusals(), reduction_.messages().header(false),
             reduction_.messages().header(true), accumulators_.constants<message_part>(),
             static_cast<std::uint32_t>(parts_.size()), refusal.has_value(), accumulators_.accumulators()});
        {
            const detail::owned_device::scope scope(accumulators_.api(), stream);
            reducer.sum_async({accumulators_.accumulators(), accumulators_.size()}, stream);
        }
        accumulators_.snapshot_async(false, stream, "sum_async");
        if (refusal) {
            throw error(*refusal);
        }
    }

    /// Returns the next sum that has arrived, or an empty result. Never blocks.
    [[nodiscard]] std::optional<tally> poll() {
        const auto sums = accumulators_.next();
        return sums ? std::optional(reduction_.global(*sums)) : std::nullopt;
    }

  private:
    tally_reduction reduction_;
    std::vector<message_part> parts_;
    detail::device_accumulators<detail::cuda_api> accumulators_;  // device memory with the message and its parts
};

}  // namespace floptally

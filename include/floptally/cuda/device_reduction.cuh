// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/device_words.hpp>
#include <floptally/cuda/detail/fill_message.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The tally of all ranks, summed on the stream: no rank waits on the host.

namespace floptally {

/// A reducer that adds up words of devices over a group of ranks, in place and on a stream: `nccl_stream_reducer`.
template <class Reducer>
concept device_word_reducer = requires(Reducer& over, std::span<std::uint64_t> device_words, cudaStream_t stream) {
    over.sum_async(device_words, stream);
};

/// The tally of all ranks, step after step, without waiting for a rank: a `tally_reduction` whose message is filled,
/// summed and kept on the stream. `poll` throws, on every rank, the errors of a wrong group or scope that the host's
/// reduction would throw.
class device_reduction {
  public:
    /// A device reduction from one that all ranks have constructed together, over any reducer of the host; at most
    /// `snapshots` sums wait for `poll`.
    explicit device_reduction(const tally_reduction& reduction, std::uint32_t snapshots = 64)
        : reduction_(reduction),
          parts_(reduction.messages().parts()),
          words_(detail::cuda_api(), static_cast<std::uint32_t>(reduction.messages().message_size()),
                 std::as_bytes(std::span(parts_)), snapshots) {}

    /// Queues the sum of the tallies that the ranks' streams have counted so far. A rank whose own call throws still
    /// takes part, with a refusal.
    template <class Rules, device_word_reducer Reducer>
    void sum_async(const basic_device_tally<Rules>& mine, Reducer& over, cudaStream_t stream,
                   const microbatch_visits& visits = {}) {
        if (mine.device() != words_.api().number()) {
            detail::refuse("tally", {"is on device ", mine.device(), ", and what is made of it on device ",
                                     words_.api().number()});
        }
        std::optional<error> own;
        try {
            reduction_.require_sendable(mine.masks(), visits);
        } catch (const error& problem) {
            own = problem;
        }
        words_.launch<detail::fill_message>(
            detail::fill_message::shape, stream, "sum_async",
            {mine.words(), mine.refusals(), reduction_.messages().header(false), reduction_.messages().header(true),
             words_.constants<detail::message_part>(), static_cast<std::uint32_t>(parts_.size()), own.has_value(),
             words_.words()});
        {
            const detail::owned_device::scope on(words_.api(), stream);
            over.sum_async({words_.words(), words_.size()}, stream);
        }
        words_.snapshot_async(false, stream, "sum_async");
        if (own) {
            throw error(*own);
        }
    }

    /// The next sum that has arrived, or none. Never blocks.
    [[nodiscard]] std::optional<tally> poll() {
        const auto sums = words_.next();
        return sums ? std::optional(reduction_.global(*sums)) : std::nullopt;
    }

  private:
    tally_reduction reduction_;
    std::vector<detail::message_part> parts_;
    detail::device_words<detail::cuda_api> words_;  // the message, and its parts
};

}  // namespace floptally

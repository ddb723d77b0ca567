// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <optional>
#include <span>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/fill_message.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/cuda/detail/snapshot_ring.cuh>
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
          device_(detail::current_cuda_device()),
          message_size_(static_cast<std::uint32_t>(reduction.messages().message_size())),
          words_(detail::make_device_words(message_size_)),
          ring_(snapshots, message_size_) {
        detail::load_kernels();
        const std::vector<detail::message_part> parts = reduction.messages().parts();
        parts_ = detail::copied_to_device(std::span(parts));
        message_ = {reduction.messages().header(false), reduction.messages().header(true), parts_.get(),
                    static_cast<std::uint32_t>(parts.size())};
    }

    /// Queues the sum of the tallies that the ranks' streams have counted so far. A rank whose own call throws still
    /// takes part, with a refusal.
    template <class Rules, device_word_reducer Reducer>
    void sum_async(const basic_device_tally<Rules>& mine, Reducer& over, cudaStream_t stream,
                   const microbatch_visits& visits = {}) {
        if (mine.device() != device_.number()) {
            detail::refuse("tally",
                           {"is on device ", mine.device(), ", and what is made of it on device ", device_.number()});
        }
        std::optional<error> own;
        try {
            reduction_.require_sendable(mine.masks(), visits);
        } catch (const error& problem) {
            own = problem;
        }
        const detail::owned_device::scope on(device_, stream);
        detail::launch<detail::fill_message_kernel<>>({.threads = 4 * detail::warp_size, .shared_words = 1}, stream,
                                                      "sum_async", mine.words(), mine.refusals(), message_,
                                                      own.has_value(), words_.get());
        over.sum_async({words_.get(), message_size_}, stream);
        ring_.take_async(words_.get(), false, stream);
        if (own) {
            throw error(*own);
        }
    }

    /// The next sum that has arrived, or none. Never blocks.
    [[nodiscard]] std::optional<tally> poll() {
        const auto sums = ring_.next();
        return sums ? std::optional(reduction_.global(*sums)) : std::nullopt;
    }

  private:
    tally_reduction reduction_;
    detail::owned_device device_;
    std::uint32_t message_size_;
    detail::device_words words_;
    detail::device_array<detail::message_part> parts_;
    detail::message_parts message_{};
    detail::snapshot_ring ring_;
};

}  // namespace floptally

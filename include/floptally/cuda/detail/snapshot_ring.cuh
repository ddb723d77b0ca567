// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <optional>
#include <span>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// Snapshots of `size` words of a device, taken on a stream and read without a call to the runtime; `read` reads the
/// words themselves and blocks.
class snapshot_ring {
  public:
    snapshot_ring(std::uint32_t count, std::uint32_t size)
        : taken_((require_positive(count, "snapshots"), make_device_words(1))),
          memory_(make_pinned_words(std::size_t{count} * (std::size_t{1} + size))),
          staging_(make_pinned_words(size)),
          slots_{memory_.get(), taken_.get(), count, size},
          reader_(slots_) {}

    /// Takes a snapshot in one launch. With `reset` the words are set to 0 after it.
    void take_async(std::uint64_t* words, bool reset, cudaStream_t stream) {
        launch<take_snapshot_kernel<>>(launch_of_snapshot, stream, "snapshot_async", words, slots_, reset);
    }
    /// The words of the next snapshot, or none; valid until the next call.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() { return reader_.next(); }

    /// The words after all that is queued on the stream. Blocks until the stream has done it.
    [[nodiscard]] std::span<const std::uint64_t> read(const std::uint64_t* words, cudaStream_t stream) const {
        refuse_capture(stream, "read", "waits for the stream, which is being captured: take a snapshot, and poll");
        const std::span<std::uint64_t> to(staging_.get(), slots_.size);
        require_cuda(cudaMemcpyAsync(to.data(), words, to.size_bytes(), cudaMemcpyDeviceToHost, stream),
                     "cudaMemcpyAsync");
        require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return to;
    }

  private:
    device_words taken_;
    pinned_words memory_;
    pinned_words staging_;
    snapshot_slots slots_;
    snapshot_reader reader_;
};

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <optional>

#include <floptally/cuda/device_reading.hpp>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/detail/cuda/cuda_context.hpp>
#include <floptally/detail/cuda/dot_product.hpp>
#include <floptally/detail/cuda/kernels.cuh>
#include <floptally/detail/cuda/launch.cuh>
#include <floptally/detail/cuda/memory.hpp>
#include <floptally/detail/cuda/snapshot_ring.cuh>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>

namespace floptally {

/// FLOPs of a `device_tally`, evaluated in its stream: for code that adds up FLOPs over ranks itself. `words()` are
/// unsigned 64-bit words of the device that any SUM all-reduce adds up, exactly; `flops_of_device` reads them.
class device_flops {
  public:
    static constexpr std::size_t word_count = detail::flops_words::count;

    explicit device_flops(const flop_counter& model, std::uint32_t snapshots = 64)
        : masks_(model.masks()),
          device_(detail::current_cuda_device()),
          coefficients_(detail::copied_to_device(detail::dot_coefficients(model))),
          words_(detail::make_device_words(word_count)),
          ring_(snapshots, word_count) {
        detail::load_kernels();
    }

    /// Sets `words()` to the FLOPs of what the stream has counted so far, in one launch.
    template <class Rules>
    void evaluate_async(const basic_device_tally<Rules>& batch, cudaStream_t stream) {
        if (!(batch.masks() == masks_)) {
            throw error("masks", "the tally was built with other masks than those of the cost");
        }
        detail::require_tally_on(device_, batch.device());
        const detail::owned_device::scope on(device_, stream);
        detail::launch<detail::evaluate_kernel<>>({}, stream, "evaluate_async", batch.words(), batch.refusals(),
                                                  coefficients_.get(), words());
    }

    /// Keeps the words, as the stream has them then, for `poll`.
    void snapshot_async(cudaStream_t stream) {
        const detail::owned_device::scope on(device_, stream);
        ring_.take_async(words(), false, stream);
    }
    /// The next snapshot that is there, or none. Never blocks. Throws for what the tally left out, or could not hold.
    [[nodiscard]] std::optional<flops_by_view> poll() {
        const auto words = ring_.next();
        return words ? std::optional(flops_of_device(*words)) : std::nullopt;
    }
    /// The words as they are then. Blocks until the stream has done all that is queued on it.
    [[nodiscard]] flops_by_view read(cudaStream_t stream) const {
        const detail::owned_device::scope on(device_, stream);
        return flops_of_device(ring_.read(words(), stream));
    }

    /// In device memory, `word_count` of them.
    [[nodiscard]] std::uint64_t* words() const { return words_.get(); }

  private:
    mask_set masks_;
    detail::owned_device device_;
    detail::device_array<detail::dot_coefficients> coefficients_;
    detail::device_words words_;
    detail::snapshot_ring ring_;
};

}  // namespace floptally

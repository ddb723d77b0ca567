// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <floptally/batch/tally.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/cuda/step_timer.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `device_meter`: a meter of steps whose lengths and times are on the device.

namespace floptally::inline v0_3 {

/// Meters a training loop whose lengths and times are measured on the device. A step reaches the meter a few steps
/// later, when the device has finished it. Steps arrive in order, and no step waits for another. Within a step you may
/// capture and replay graphs that contain the training and the adds to `microbatch()`. Keep `begin_step` and `end_step`
/// outside graphs, because events in a graph have no times.
///     begin_step(stream); microbatch().add_cu_seqlens(…, stream); end_step(stream); poll();
template <class Statistics>
class basic_device_meter {
  public:
    /// Makes a device meter that passes steps to `totals`, with at most `steps_in_flight` steps under way. `totals`
    /// must outlive the device meter, and nothing else may add steps to `totals`. Throws `error` if `totals` sums over
    /// ranks.
    explicit basic_device_meter(meter& totals, std::uint32_t steps_in_flight = 64)
        : totals_(totals), batch_(totals.model().masks(), {.snapshots = steps_in_flight}), timer_(steps_in_flight) {
        if (totals.reduces()) {
            throw error("meter",
                        "must not have a reduction, because device steps reach the meter of each rank at a different "
                        "time: use a device_reduction");
        }
    }

    /// Opens a step on a stream. Throws `error` if a step is open already or `steps_in_flight` steps are under way.
    void begin_step(cudaStream_t stream) { timer_.begin(stream); }

    /// Returns the tally to which the caller adds the next microbatch.
    [[nodiscard]] basic_device_tally<Statistics>& microbatch() {
        if (!timer_.in_step()) {
            throw error("microbatch", "was added outside of a step: call begin_step() first");
        }
        return batch_;
    }

    /// Closes the open step on the stream. Throws `error` if no step is open.
    void end_step(cudaStream_t stream) {
        timer_.end(stream, [&] { batch_.snapshot_and_reset_async(stream); });
    }

    /// Drops the open step, for example one that failed or will be repeated.
    void discard_step(cudaStream_t stream) {
        const detail::owned_device::scope scope(batch_.owner(), stream);
        refuse_capture(stream, "discard_step");
        batch_.reset_async(stream);
        timer_.discard();
    }

    /// Passes all finished steps to the meter and returns the number of these steps. Never blocks. If the device left
    /// out sequences of a step, the step is not counted and the call throws the error of these sequences. The next call
    /// continues after that step.
    std::size_t poll() {
        std::size_t steps = 0;
        while (timer_.in_flight() != 0 && take_one()) {
            ++steps;
        }
        return steps;
    }

    /// Passes all steps to the meter, as `poll` does, and returns the number of these steps. Blocks until the stream
    /// has done all steps.
    std::size_t finish(cudaStream_t stream) {
        const detail::owned_device::scope scope(batch_.owner(), stream);
        refuse_capture(stream, "finish");
        batch_.owner().synchronize(stream);
        return poll();
    }

    /// Returns the number of steps that the meter has not received yet.
    [[nodiscard]] std::size_t in_flight() const { return timer_.in_flight(); }

  private:
    static void refuse_capture(cudaStream_t stream, const char* call) {
        detail::refuse_capture(stream, call, "the stream is being captured: end the capture first");
    }
    bool take_one() {
        std::optional<tally> batch;
        try {
            batch = batch_.poll();
        } catch (const error&) {
            static_cast<void>(timer_.wait());
            throw;
        }
        if (!batch) {
            return false;
        }
        // The snapshot has arrived, and the step's end event comes before it in the stream. So this call does not wait.
        const double seconds = timer_.wait();
        totals_.begin_step();
        try {
            totals_.microbatch() += *batch;
            totals_.end_step(seconds);
        } catch (const error&) {
            totals_.discard_step();
            throw;
        }
        return true;
    }

    meter& totals_;
    basic_device_tally<Statistics> batch_;
    step_timer timer_;
};

/// The device meter with the library's statistics.
using device_meter = basic_device_meter<library_statistics>;

}  // namespace floptally

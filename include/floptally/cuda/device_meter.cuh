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
/// A meter of steps whose lengths and times are on the device.

namespace floptally {

/// Steps of a training loop whose lengths and times are on the device. They reach the meter when the device has done
/// them, in order, a few steps later; no step waits for one. Graphs may be captured within a step and replayed in any:
/// the adds of `microbatch()` and the training. A step's begin and end are outside: events of a graph have no times.
///
///     begin_step(stream); microbatch().add_cu_seqlens(…, stream); end_step(stream); poll();
template <class Rules>
class basic_device_meter {
  public:
    /// A device meter over `totals`, which must outlive it and must not be stepped by anybody else, with at most
    /// `steps_in_flight` steps under way. Throws where `totals` sums over ranks.
    explicit basic_device_meter(meter& totals, std::uint32_t steps_in_flight = 64)
        : totals_(totals), batch_(totals.model().masks(), {.snapshots = steps_in_flight}), timer_(steps_in_flight) {
        if (totals.reduces()) {
            throw error("meter",
                        "sums over ranks when a step ends, and steps of a device arrive on each rank at other times; "
                        "sum them on the device (device_reduction)");
        }
    }

    /// Opens a step on a stream. Throws where one is open or `steps_in_flight` steps are under way.
    void begin_step(cudaStream_t stream) { timer_.begin(stream); }

    /// The tally that the next microbatch is added to.
    [[nodiscard]] basic_device_tally<Rules>& microbatch() {
        if (!timer_.in_step()) {
            throw error("microbatch", "is outside a step: begin_step() comes first");
        }
        return batch_;
    }

    /// Closes the open step on the stream. Throws where no step is open.
    void end_step(cudaStream_t stream) {
        timer_.end(stream, [&] { batch_.snapshot_and_reset_async(stream); });
    }

    /// Forgets the open step, which failed or is to be repeated.
    void discard_step(cudaStream_t stream) {
        const detail::owned_device::scope on(batch_.owner(), stream);
        refuse_capture(stream, "discard_step");
        batch_.reset_async(stream);
        timer_.discard();
    }

    /// Hands every step that the device has done to the meter and returns their number. Never blocks. A step with
    /// sequences that were left out is not counted and raises their error; the next call continues after it.
    std::size_t poll() {
        std::size_t steps = 0;
        while (timer_.in_flight() != 0 && take_one()) {
            ++steps;
        }
        return steps;
    }

    /// Hands all steps to the meter, as `poll` does, and returns their number. Blocks until the stream has done them.
    std::size_t finish(cudaStream_t stream) {
        const detail::owned_device::scope on(batch_.owner(), stream);
        refuse_capture(stream, "finish");
        batch_.owner().synchronize(stream);
        return poll();
    }

    /// The number of steps that the meter has not received yet.
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
        // The event stands before the snapshot in the stream, so that this does not wait.
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
    basic_device_tally<Rules> batch_;
    step_timer timer_;
};

/// The device meter with the library's rules.
using device_meter = basic_device_meter<library_rules>;

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/cuda_context.hpp>
#include <floptally/cuda/detail/vendor.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `step_timer`: measures the times of steps with pairs of events on a stream.

namespace floptally::inline v0_3 {

/// Measures the times of steps with pairs of events on a stream. At most a fixed number of steps can be under way. The
/// timer belongs to the device that is current when it is constructed. Only `wait` blocks. A step cannot be part of a
/// graph, because events in a graph have no times. `poll` and `wait` may be called while a stream is being captured.
/// Use the timer from one host thread at a time.
class step_timer {
  public:
    /// Makes a timer with at most `steps_in_flight` steps under way.
    explicit step_timer(std::uint32_t steps_in_flight = 64)
        : device_(detail::current_cuda_device()),
          pairs_((require_positive(steps_in_flight, "steps_in_flight"), steps_in_flight)) {}
    step_timer(const step_timer&) = delete;
    step_timer& operator=(const step_timer&) = delete;
    ~step_timer() {
        try {
            const detail::owned_device::scope scope(device_);
            pairs_.clear();
        } catch (const error&) {  // The error is ignored, because the process may be ending, and the driver with it.
        }
    }

    /// Opens a step on the stream. Throws `error` if a step is open already or if the largest number of steps is under
    /// way.
    void begin(cudaStream_t stream) {
        if (open_) {
            throw error("begin", "a step is open: call end() or discard() first");
        }
        if (in_flight() == pairs_.size()) {
            detail::refuse("begin", {in_flight(), " steps are not read yet, and no more fit: call poll() first"});
        }
        record(at(last_).begin, "begin", stream);
        open_ = true;
    }
    /// Closes the open step and calls `queue_behind`. That function may queue work after the step's end. If
    /// `queue_behind` throws, the step stays open.
    void end(
        cudaStream_t stream, const std::function<void()>& queue_behind = [] {}) {
        if (!open_) {
            throw error("end", "no step is open: call begin() first");
        }
        record(at(last_).end, "end", stream);
        queue_behind();
        open_ = false;
        ++last_;
    }
    /// Drops the open step without measuring it.
    void discard() { open_ = false; }

    /// Returns the seconds of the oldest step under way if the device has finished it, else an empty result. Never
    /// blocks.
    [[nodiscard]] std::optional<double> poll() {
        if (in_flight() == 0) {
            return std::nullopt;
        }
        const detail::owned_device::scope scope(device_);
        const relaxed_capture_mode relaxed;
        const cudaError_t state = cudaEventQuery(at(first_).end.get());
        if (state == cudaErrorNotReady) {
            forget_cuda_error(state);
            return std::nullopt;
        }
        require_cuda(state, "cudaEventQuery");
        return take();
    }
    /// Returns the seconds of the oldest step under way. Blocks until the device has finished it.
    [[nodiscard]] double wait() {
        if (in_flight() == 0) {
            throw error("wait", "no step has ended: call begin() and end() first");
        }
        const detail::owned_device::scope scope(device_);
        const relaxed_capture_mode relaxed;
        require_cuda(cudaEventSynchronize(at(first_).end.get()), "cudaEventSynchronize");
        return take();
    }

    /// Returns the number of steps that were closed and whose time was not read yet.
    [[nodiscard]] std::size_t in_flight() const { return last_ - first_; }
    [[nodiscard]] bool in_step() const { return open_; }

  private:
    struct destroy {
        void operator()(cudaEvent_t event) const noexcept { forget_cuda_error(cudaEventDestroy(event)); }
    };
    using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy>;
    struct event_pair {
        event begin = make();
        event end = make();

        [[nodiscard]] static event make() {
            cudaEvent_t created = nullptr;
            require_cuda(cudaEventCreate(&created), "cudaEventCreate");
            return event(created);
        }
    };

    /// While an object of this class exists, this thread may query events of other streams during a capture.
    class relaxed_capture_mode {
      public:
        relaxed_capture_mode() { exchange(); }
        relaxed_capture_mode(const relaxed_capture_mode&) = delete;
        relaxed_capture_mode& operator=(const relaxed_capture_mode&) = delete;
        ~relaxed_capture_mode() { exchange(); }

      private:
        void exchange() noexcept { forget_cuda_error(cudaThreadExchangeStreamCaptureMode(&mode_)); }
        cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
    };

    void record(const event& mark, const char* call, cudaStream_t stream) {
        const detail::owned_device::scope scope(device_, stream);
        detail::refuse_capture(stream, call,
                               "the stream is being captured, and the events of a graph have no times: begin and end "
                               "steps outside, and capture what is between");
        require_cuda(cudaEventRecord(mark.get(), stream), "cudaEventRecord");
    }
    [[nodiscard]] event_pair& at(std::size_t step) { return pairs_[step % pairs_.size()]; }

    [[nodiscard]] double take() {
        float milliseconds = 0;
        const event_pair& pair = at(first_);
        require_cuda(cudaEventElapsedTime(&milliseconds, pair.begin.get(), pair.end.get()), "cudaEventElapsedTime");
        ++first_;
        return double{milliseconds} / 1000;
    }

    detail::owned_device device_;
    std::vector<event_pair> pairs_;
    std::size_t first_ = 0;
    std::size_t last_ = 0;
    bool open_ = false;
};

}  // namespace floptally

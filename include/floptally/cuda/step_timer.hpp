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
/// Times of steps, from pairs of events on their stream.

namespace floptally {

/// A timer of steps by pairs of events on their stream, a bounded number of them at once, on the device that is current
/// where it is constructed. Only `wait` blocks. A step cannot be part of a graph, whose events have no times; `poll`
/// and `wait` may be called while a stream is captured. One host thread at a time.
class step_timer {
  public:
    /// A timer in which at most `steps_in_flight` steps can be under way.
    explicit step_timer(std::uint32_t steps_in_flight = 64)
        : device_(detail::current_cuda_device()),
          pairs_((require_positive(steps_in_flight, "steps_in_flight"), steps_in_flight)) {}
    step_timer(const step_timer&) = delete;
    step_timer& operator=(const step_timer&) = delete;
    ~step_timer() {
        try {
            const detail::owned_device::scope on(device_);
            pairs_.clear();
        } catch (const error&) {  // the process ends, and so the driver
        }
    }

    /// Opens a step on the stream. Throws where one is open or no further step fits.
    void begin(cudaStream_t stream) {
        if (open_) {
            throw error("begin", "a step is open: end() or discard() comes first");
        }
        if (in_flight() == pairs_.size()) {
            detail::refuse("begin", {in_flight(), " steps are under way, which is all that fit: call poll()"});
        }
        record(at(last_).begin, "begin", stream);
        open_ = true;
    }
    /// Closes the open step and calls `queue_behind`, which may queue work after the end; where that throws, the step
    /// stays open.
    void end(
        cudaStream_t stream, const std::function<void()>& queue_behind = [] {}) {
        if (!open_) {
            throw error("end", "no step is open: begin() comes first");
        }
        record(at(last_).end, "end", stream);
        queue_behind();
        open_ = false;
        ++last_;
    }
    /// Forgets the open step.
    void discard() { open_ = false; }

    /// The seconds of the next step if it has ended on its device, or none. Never blocks.
    [[nodiscard]] std::optional<double> poll() {
        if (in_flight() == 0) {
            return std::nullopt;
        }
        const detail::owned_device::scope on(device_);
        const beside_captures asks;
        const cudaError_t state = cudaEventQuery(at(first_).end.get());
        if (state == cudaErrorNotReady) {
            forget_cuda_error(state);
            return std::nullopt;
        }
        require_cuda(state, "cudaEventQuery");
        return take();
    }
    /// The seconds of the next step. Blocks until it has ended.
    [[nodiscard]] double wait() {
        if (in_flight() == 0) {
            throw error("wait", "no step has ended");
        }
        const detail::owned_device::scope on(device_);
        const beside_captures asks;
        require_cuda(cudaEventSynchronize(at(first_).end.get()), "cudaEventSynchronize");
        return take();
    }

    /// The number of steps that have ended on the host and whose time was not read.
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
            cudaEvent_t made = nullptr;
            require_cuda(cudaEventCreate(&made), "cudaEventCreate");
            return event(made);
        }
    };

    /// A scope in which this thread may query events of uncaptured streams while another stream is captured.
    class beside_captures {
      public:
        beside_captures() { exchange(); }
        beside_captures(const beside_captures&) = delete;
        beside_captures& operator=(const beside_captures&) = delete;
        ~beside_captures() { exchange(); }

      private:
        void exchange() noexcept { forget_cuda_error(cudaThreadExchangeStreamCaptureMode(&mode_)); }
        cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
    };

    void record(const event& what, const char* call, cudaStream_t stream) {
        const detail::owned_device::scope on(device_, stream);
        detail::refuse_capture(stream, call,
                               "the stream is being captured, and the events of a graph have no times: begin and end "
                               "steps outside, and capture what is between");
        require_cuda(cudaEventRecord(what.get(), stream), "cudaEventRecord");
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

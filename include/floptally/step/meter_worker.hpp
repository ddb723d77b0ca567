// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <floptally/batch/tally.hpp>
#include <floptally/step/detail/step_gate.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A worker that counts for a meter in a thread of its own.

namespace floptally {

/// A worker that counts for a meter in a thread of its own, and must not outlive the meter. It adds to its own tally
/// without a lock and hands it in with `publish`, once a step, before the step is ended.
class meter_worker {
  public:
    explicit meter_worker(meter& parent) : gate_(parent.gate_), own_(gate_.masks()) { gate_.enter(ticket_); }
    meter_worker(const meter_worker&) = delete;
    meter_worker& operator=(const meter_worker&) = delete;
    /// Publishes what was not published; where its step is over, the meter's next `end_step` throws.
    ~meter_worker() { gate_.leave(ticket_, own_); }

    /// The tally that this thread's next microbatch is added to. Ask for it anew for each: the call checks the step.
    [[nodiscard]] tally& microbatch() {
        const std::uint64_t step = gate_.open_step();
        if (step == 0) {
            throw error("microbatch", "is outside a step: begin_step() comes first");
        }
        const std::uint64_t pending = ticket_.pending.load(std::memory_order_relaxed);
        if (pending != step) {
            if (pending != 0) {
                publish();  // throws, since that step is over
            }
            if (own_.masks() == gate_.masks()) {
                own_.clear();  // of a step that was discarded
            } else {
                own_ = tally{gate_.masks()};
            }
            ticket_.pending.store(step, std::memory_order_relaxed);
        }
        return own_;
    }

    /// Adds this thread's microbatches to the step. Those of a step that is over are dropped, with an error.
    void publish() {
        try {
            gate_.publish(ticket_, own_);
        } catch (const overflow&) {
            throw;  // the step is open: the tally can still be handed in
        } catch (const error&) {
            ticket_.pending.store(0, std::memory_order_relaxed);
            throw;
        }
    }

  private:
    detail::step_gate& gate_;
    detail::step_gate::ticket ticket_;
    tally own_;
};

}  // namespace floptally

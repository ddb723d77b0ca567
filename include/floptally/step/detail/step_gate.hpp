// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The place where the workers of a step hand in their tallies.
///
/// Its mutex is taken when a worker comes, publishes or goes, and when a step opens or closes; a worker that adds
/// lengths reads one atomic and writes one that no other thread writes.
class step_gate {
  public:
    /// A worker's open account: the step whose microbatches it has not published yet, 0 for none. The worker and
    /// `discard` write it.
    struct ticket {
        alignas(64) std::atomic<std::uint64_t> pending{0};
    };

    explicit step_gate(const mask_set& masks) : masks_(masks), published_(masks) {}

    /// Never written to, so that workers read it without a lock.
    [[nodiscard]] const mask_set& masks() const { return masks_; }
    /// The number of the open step, 0 where none is open.
    [[nodiscard]] std::uint64_t open_step() const noexcept { return open_.load(std::memory_order_acquire); }

    void enter(ticket& worker) {
        const std::lock_guard lock(mutex_);
        workers_.push_back(&worker);
    }

    /// Removes a worker. What it has not published is published where its step is still open.
    void leave(ticket& worker, const tally& counted) noexcept {
        const std::lock_guard lock(mutex_);
        workers_.erase(std::remove(workers_.begin(), workers_.end(), &worker), workers_.end());
        const std::uint64_t step = worker.pending.load(std::memory_order_relaxed);
        if (step == 0) {
            return;
        }
        try {
            add(step, counted);
        } catch (...) {
            ++lost_workers_;
        }
    }

    void publish(ticket& worker, const tally& counted) {
        const std::lock_guard lock(mutex_);
        const std::uint64_t step = worker.pending.load(std::memory_order_relaxed);
        if (step != 0) {
            add(step, counted);
            worker.pending.store(0, std::memory_order_relaxed);
        }
    }

    void open() {
        const std::lock_guard lock(mutex_);
        open_.store(++newest_, std::memory_order_release);
    }

    /// Closes the step after `commit`, which is given the sum of the published tallies; it stays open where that
    /// throws.
    template <class Commit>
    void close(Commit commit) {
        const std::lock_guard lock(mutex_);
        if (const std::size_t lost = std::exchange(lost_workers_, 0); lost != 0) {
            refuse("microbatch", {"workers that are gone (", lost,
                                  ") had microbatches that belong to no step: they are not counted"});
        }
        const auto pending = std::count_if(workers_.begin(), workers_.end(), [](const ticket* worker) {
            return worker->pending.load(std::memory_order_relaxed) != 0;
        });
        if (pending != 0) {
            refuse("microbatch",
                   {"workers (", pending, ") have not published theirs: call publish() in each, then end the step"});
        }
        commit(static_cast<const tally&>(published_));
        shut();
    }

    /// Closes the step and drops all its microbatches, published or not.
    void discard() {
        const std::lock_guard lock(mutex_);
        for (ticket* worker : workers_) {
            worker->pending.store(0, std::memory_order_relaxed);
        }
        shut();
    }

  private:
    void add(std::uint64_t step, const tally& counted) {
        if (step != open_.load(std::memory_order_relaxed)) {
            refuse("microbatch",
                   {"step ", step, " ended before this worker published: its microbatches are not counted"});
        }
        published_ += counted;
    }

    void shut() {
        open_.store(0, std::memory_order_release);
        published_.clear();
    }

    const mask_set masks_;
    std::mutex mutex_;
    std::atomic<std::uint64_t> open_{0};
    std::uint64_t newest_ = 0;
    std::size_t lost_workers_ = 0;
    tally published_;
    std::vector<ticket*> workers_;
};

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <floptally/batch/tally.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/hardware/metered_hardware.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/step/detail/step_gate.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/run_account.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The meter of a training loop: totals and rates of its last step, interval and run.

namespace floptally {

/// Seconds of the steady clock.
[[nodiscard]] inline double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The meter of a training loop, with the totals of its last step, interval and run.
///
///     begin_step(); microbatch().add_cu_seqlens(…); end_step();
///
/// One thread begins and ends steps and reads totals; others count through a `meter_worker` each. Every error leaves
/// the totals as they were, and a step that could not be ended stays open: end it again with a right time.
class meter {
  public:
    using seconds_clock = std::function<double()>;

    meter(const flop_counter& model, metered_hardware hardware, seconds_clock clock = steady_seconds)
        : meter(model, std::move(hardware), rank_sum{}, std::move(clock)) {}

    /// A meter that counts this rank's microbatches and sums them over the ranks as each step ends: all ranks end (or
    /// discard) a step together. The GPUs are the ranks of the sum.
    meter(const flop_counter& model, metered_hardware hardware, rank_sum ranks, seconds_clock clock = steady_seconds)
        : model_(model),
          ranks_(std::move(ranks)),
          hardware_(detail::with_gpus(std::move(hardware), ranks_.sum ? ranks_.ranks : 0)),
          counted_(detail::counted_text(hardware_, ranks_.sum ? ranks_.ranks : 0)),
          clock_(std::move(clock)),
          gate_(model.masks()),
          own_(model.masks()) {
        if (!clock_) {
            throw error("clock", "must be callable, got an empty function");
        }
        static_cast<void>(detail::gpu_seconds_of({1, hardware_.gpus, hardware_.peak_tflops}));
        last_.batch = next_step_.batch = own_;
        forget(interval_);
        forget(run_);
    }

    meter(const cost& model, const convention& how, const training_plan& plan, metered_hardware hardware,
          seconds_clock clock = steady_seconds)
        : meter(flop_counter(model, how, plan), std::move(hardware), std::move(clock)) {}

    meter(const meter&) = delete;  // its workers hold its address
    meter& operator=(const meter&) = delete;

    void begin_step() {
        if (in_step()) {
            throw error("step", "begins inside a step: end_step() or discard_step() comes first");
        }
        started_ = clock_();
        gate_.open();
    }

    /// The tally that this thread's next microbatch is added to. Ask for it anew for each: the call checks the step.
    [[nodiscard]] tally& microbatch() {
        if (!in_step()) {
            throw error("microbatch", "is outside a step: begin_step() comes first");
        }
        return own_;
    }

    /// Ends the step by the clock.
    void end_step() {
        require_begun();
        end_step(clock_() - started_);
    }

    /// Ends the step, which took `seconds` by a GPU's own timer. With a reduction it is a collective: where one rank
    /// cannot end its step, no rank does.
    void end_step(double seconds) {
        bool took_part = !ranks_.sum;
        try {
            close(seconds, took_part);
        } catch (...) {
            if (!took_part) {
                fail_all_ranks();
            }
            throw;
        }
    }

    /// Discards the open step, which failed or is repeated, with the microbatches of all workers.
    void discard_step() {
        require_begun();
        gate_.discard();
        own_.clear();
    }

    [[nodiscard]] bool in_step() const noexcept { return gate_.open_step() != 0; }

    /// Throws what `end_step(seconds)` would throw for this time, for callers that end the step later.
    void require_seconds(double seconds) const { static_cast<void>(gpu_seconds_in(seconds)); }

    [[nodiscard]] const step_totals& last_step() const { return last_; }
    /// The totals since the last `reset_interval`.
    [[nodiscard]] const step_series& interval() const { return interval_; }
    /// The totals since the meter was made, or since the run that it resumed began.
    [[nodiscard]] const step_series& run() const { return run_; }

    /// The wall clock of the run and what else it was spent on; nothing before its `begin`.
    [[nodiscard]] run_account& account() { return account_; }
    [[nodiscard]] const run_account& account() const { return account_; }

    /// Percentiles of the times of this process's steps after the first ones (`leave_out`).
    [[nodiscard]] duration_percentiles step_percentiles() const { return percentiles(steady_seconds_, warm_up_); }
    /// The number of steps that `step_percentiles` is of.
    [[nodiscard]] std::uint64_t steady_steps() const { return steady_seconds_.count(); }
    /// Sets how many first steps the percentiles leave out, since they compile and fill caches: 10, unless set.
    void leave_out(std::uint64_t first_steps) {
        if (in_step() || steps_here_ != 0) {
            throw error("leave_out", "must come before the first step");
        }
        warm_up_ = first_steps;
    }

    /// Begins a new interval, as after each line of a log.
    void reset_interval() { forget(interval_); }

    /// Continues from the run totals of an earlier process. They must be of this model, convention and plan: their
    /// FLOPs are counted again from their lengths.
    void resume(const step_series& earlier) {
        if (in_step() || run_.totals.steps != 0) {
            throw error("resume", "must come before the first step");
        }
        const step_totals& done = earlier.totals;
        if (!(done.batch.masks() == model_.masks())) {
            throw error("masks", "the totals to be resumed are of a model with other masks");
        }
        for (const view seen : {view::useful, view::padded, view::executed}) {
            if (model_.total(done.batch, seen) != done.total(seen)) {
                detail::refuse("flops", {"the totals to be resumed have ", to_string(done.total(seen)),
                                         ", and this model, convention and plan ",
                                         to_string(model_.total(done.batch, seen)), " for the same lengths"});
            }
        }
        if (earlier.step_seconds.count() != done.steps) {
            detail::refuse("steps", {"the totals to be resumed are of ", done.steps, " steps and ",
                                     earlier.step_seconds.count(), " durations"});
        }
        if (done.steps != 0) {
            detail::require_finite_positive(done.seconds, "seconds");
            detail::require_finite_positive(done.gpu_seconds, "gpu_seconds");
            detail::require_finite_positive(done.peak_tflop, "peak_tflop");
        }
        run_ = earlier;
    }

    [[nodiscard]] const flop_counter& model() const { return model_; }
    [[nodiscard]] const metered_hardware& hardware() const { return hardware_; }
    /// The GPUs that its FLOPs and its time are of: "summed over 16 ranks", "of 1 GPU", "of all 8 GPUs, as declared".
    [[nodiscard]] const std::string& counted() const { return counted_; }
    /// True where the meter itself sums over ranks.
    [[nodiscard]] bool reduces() const { return static_cast<bool>(ranks_.sum); }

    /// Sets the precision of each of its FLOPs: its logs then have the mixed-precision MFU and its denominator.
    void runs_in(mixed_precision precisions) {
        if (!(precisions.whole().masks() == model_.masks())) {
            throw error("masks", "the precisions are of a model with other masks");
        }
        precisions_ = std::move(precisions);
    }
    [[nodiscard]] const std::optional<mixed_precision>& precisions() const { return precisions_; }

    /// Counts every span by another convention too, as a second line of its logs. `other` is of the same model; what it
    /// needs beyond the meter's masks is to be kept in the meter's cost before (`cost::keep`).
    void shows_beside(flop_counter other) {
        for (const rule& needed : other.masks()) {
            if (model_.masks().find(needed) == model_.masks().size()) {
                detail::refuse("masks", {other.counted_as().name, " counts ", needed.name(),
                                         ", which this meter's tallies do not have: keep it in the model's cost"});
            }
        }
        beside_ = std::move(other);
    }
    [[nodiscard]] const std::optional<flop_counter>& beside() const { return beside_; }

  private:
    friend class meter_worker;

    void require_begun() const {
        if (!in_step()) {
            throw error("step", "ends without a begin: begin_step() comes first");
        }
    }

    [[nodiscard]] double gpu_seconds_in(double seconds) const {
        const double gpu_seconds = detail::gpu_seconds_of({seconds, hardware_.gpus, hardware_.peak_tflops});
        detail::require_finite_positive(gpu_seconds * hardware_.peak_tflops, "seconds");
        return gpu_seconds;
    }

    void close(double seconds, bool& took_part) {
        require_begun();
        const double gpu_seconds = gpu_seconds_in(seconds);
        gate_.close([&](const tally& published) {
            // The next totals are members, so that their memory is used again.
            step_totals& step = next_step_;
            step.steps = 1;
            step.seconds = seconds;
            step.gpu_seconds = gpu_seconds;
            step.peak_tflop = gpu_seconds * hardware_.peak_tflops;
            if (std::exchange(took_part, true)) {
                step.batch = own_;
                step.batch += published;
            } else {
                step.batch = ranks_.sum([&] {
                    tally mine = own_;
                    mine += published;
                    return mine;
                });
            }
            step.useful = model_.total(step.batch, view::useful);
            step.padded = model_.total(step.batch, view::padded);
            step.executed = model_.total(step.batch, view::executed);
            next_interval_ = interval_.totals;
            next_interval_ += step;
            next_run_ = run_.totals;
            next_run_ += step;
            // From here on nothing throws.
            std::swap(last_, next_step_);
            std::swap(interval_.totals, next_interval_);
            std::swap(run_.totals, next_run_);
            interval_.step_seconds.add(seconds);
            run_.step_seconds.add(seconds);
            if (steps_here_++ >= warm_up_) {
                steady_seconds_.add(seconds);
            }
        });
        own_.clear();
    }

    /// Takes part in the sum of a step that this rank cannot end, so that the other ranks fail too and do not wait.
    void fail_all_ranks() const noexcept {
        try {
            static_cast<void>(ranks_.sum([]() -> tally { throw error("step", "cannot end on this rank"); }));
        } catch (...) {  // that again, or a collective that failed, where the caller has the first error
        }
    }

    void forget(step_series& series) const {
        series = step_series{};
        series.totals.batch = tally{model_.masks()};
    }

    flop_counter model_;
    rank_sum ranks_;
    metered_hardware hardware_;
    std::string counted_;
    seconds_clock clock_;
    detail::step_gate gate_;
    tally own_;
    double started_ = 0;
    step_totals last_;
    step_series interval_;
    step_series run_;
    step_totals next_step_;
    step_totals next_interval_;
    step_totals next_run_;
    std::uint64_t warm_up_ = 10;
    std::uint64_t steps_here_ = 0;
    duration_histogram steady_seconds_;
    std::optional<mixed_precision> precisions_;
    std::optional<flop_counter> beside_;
    run_account account_;
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/hardware/accelerators.hpp>  // IWYU pragma: export
#include <floptally/hardware/metered_hardware.hpp>
#include <floptally/lists/any_function.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/step/clock.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The meter of a training loop: FLOPs, MFU and time of the last step, of an interval and of the run.

namespace floptally::inline v0_3 {

/// A model that a `flop_counter` can count: a descriptor, a `model_config`, a cost, or a list of parts.
template <class Model>
concept counted_model = std::constructible_from<flop_counter, const Model&, const convention&, const training_plan&>;

/// The action of a meter for a step that it cannot count. Such a step has a bad batch, a time of 0 s or NaN, or an
/// error on another rank.
enum class on_error : std::uint8_t {
    raise,     ///< the call throws `error`
    leave_out  ///< the step is left out of all totals, and counted in `meter::left_out`
};

/// The steps that a meter left out (`on_error::leave_out`).
struct left_out_steps {
    std::uint64_t interval = 0;  ///< steps left out since the last `reset_interval`
    std::uint64_t run = 0;       ///< steps left out in the whole run, including earlier processes
    std::string last{};          ///< the error of the last step that was left out; empty if this process left out no
                                 ///< step
};

/// The length of a run, in tokens or steps of the whole run; 0: not stated. If both are set, the run ends when the
/// first is reached.
struct run_budget {
    std::uint64_t tokens = 0;  ///< real tokens of all GPUs together
    std::uint64_t steps = 0;

    [[nodiscard]] friend bool operator==(const run_budget&, const run_budget&) = default;
};

/// The times of the ranks over the steps of an interval or a run, for a meter that sums over ranks.
struct rank_spread {
    /// One rank, and in how many steps it was the slowest.
    struct slow_rank {
        std::uint64_t rank = 0;
        std::uint64_t steps = 0;
    };

    std::uint64_t steps = 0;
    double slowest_seconds = 0;  ///< Σ over steps of the slowest rank's time
    double fastest_seconds = 0;  ///< Σ over steps of the fastest rank's time
    std::vector<slow_rank> slowest{};

    /// Allocates memory for one more rank, so that the next `add` needs no memory.
    void make_room() { slowest.reserve(slowest.size() + 1); }

    /// Adds a step: its slowest rank, and the seconds of its slowest and of its fastest rank.
    void add(std::uint64_t rank, double slow, double fast) {
        ++steps;
        slowest_seconds += slow;
        fastest_seconds += fast;
        for (slow_rank& known : slowest) {
            if (known.rank == rank) {
                ++known.steps;
                return;
            }
        }
        slowest.push_back({rank, 1});
    }

    /// Returns the rank that was the slowest in the most steps. If several ranks are equal, returns the first of them.
    [[nodiscard]] slow_rank slowest_rank() const {
        slow_rank most;
        for (const slow_rank& known : slowest) {
            const bool is_more = known.steps > most.steps || (known.steps == most.steps && known.rank < most.rank);
            most = is_more ? known : most;
        }
        return most;
    }
};

/// The earlier runs that a meter may continue.
enum class resume_from : std::uint8_t {
    same_counter,  ///< a run of the same model, convention and plan
    /// Any run, for example after a change of plan. The FLOPs of earlier steps stay as they were counted.
    any_counter
};

namespace detail {

/// Returns a tally with the masks `to` and the accumulators of another tally. A mask that the other tally does not have
/// gets 0. `names` are the names of the other tally's masks.
[[nodiscard]] inline tally with_masks(const mask_set& to, const std::vector<std::string>& names,
                                      array_view<std::uint64_t> accumulators) {
    const std::size_t fixed = tally_accumulators::before_masks(to);
    const std::size_t stride = accumulators.size() / 2;
    const std::size_t known = stride < names.size() ? 0 : stride - names.size();
    std::vector<std::uint64_t> sums;
    for (std::size_t seen = 0; seen < 2; ++seen) {
        for (std::size_t i = 0; i < fixed; ++i) {
            sums.push_back(i < known ? accumulators[seen * stride + i] : 0);
        }
        for (const statistic& mask : to) {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < names.size() && known != 0; ++i) {
                sum = mask.name() == names[i] ? accumulators[seen * stride + known + i] : sum;
            }
            sums.push_back(sum);
        }
    }
    return tally::from_accumulators(to, sums);
}

[[nodiscard]] inline std::vector<std::string> names_of(const mask_set& masks) {
    std::vector<std::string> names;
    for (const statistic& mask : masks) {
        names.push_back(mask.name());
    }
    return names;
}

}  // namespace detail

/// The meter of a training loop. Adds up batches, FLOPs and time of the last step, of an interval and of the run.
///
///     begin_step(); microbatch().add_cu_seqlens(…); end_step();
///
/// Only one thread may call the meter. Other threads count in their own tallies (`tally{m.model().masks()}`), and the
/// meter's thread adds these to `microbatch()`. If a call throws, the meter's totals are unchanged. If `end_step`
/// throws, the step stays open: end it again with a valid time. If your loop must survive a bad batch, call
/// `on_errors(on_error::leave_out)` and add batches with `add`.
class meter {
  public:
    /// A function that returns seconds.
    using seconds_clock = any_function<double()>;

    /// Makes a meter from a counter and the GPUs. Pass the number of GPUs that work on the batches that you add.
    meter(const flop_counter& model, metered_hardware hardware, seconds_clock clock = steady_seconds)
        : meter(model, std::move(hardware), rank_sum{}, std::move(clock)) {}

    /// Makes a meter that counts this rank's microbatches and sums them over the ranks at the end of each step. All
    /// ranks must end (or discard) each step together. The number of GPUs is the number of ranks.
    meter(const flop_counter& model, metered_hardware hardware, rank_sum ranks, seconds_clock clock = steady_seconds)
        : model_(model),
          ranks_(std::move(ranks)),
          hardware_(detail::with_gpus(std::move(hardware), ranks_.sum ? ranks_.ranks : 0)),
          counted_(detail::counted_text(hardware_, ranks_.sum ? ranks_.ranks : 0)),
          clock_(std::move(clock)),
          own_(model.masks()) {
        if (!clock_) {
            throw error("clock", "must be callable, got an empty function");
        }
        detail::require_utf8(hardware_.accelerator, "accelerator");
        detail::require_utf8(hardware_.precision, "precision");
        if (hardware_.peak_is_unknown && hardware_.peak_tflops != 0) {
            throw error("peak_is_unknown", "must be false where peak_tflops is given: set one of the two");
        }
        static_cast<void>(gpu_seconds_in(1));
        last_.batch = next_step_.batch = own_;
        forget(interval_);
        forget(run_);
    }

    /// Makes a meter from a cost, a convention and a plan.
    meter(const cost& model, const convention& counted_as, const training_plan& plan, metered_hardware hardware,
          seconds_clock clock = steady_seconds)
        : meter(flop_counter(model, counted_as, plan), std::move(hardware), std::move(clock)) {}

    /// Makes a meter from a model, its plan and the GPUs: `meter m(load_config("config.json"), {.recomputed =
    /// recompute::full}, accelerator_named("H100 SXM"))`. The model is a descriptor, a `model_config`, a cost or a
    /// list of parts. The meter counts with the convention `exact`. For another convention pass a `flop_counter`.
    template <counted_model Model>
    meter(const Model& model, const training_plan& plan, metered_hardware hardware, rank_sum ranks = {},
          seconds_clock clock = steady_seconds)
        : meter(flop_counter(model, conventions::exact, plan), std::move(hardware), std::move(ranks),
                std::move(clock)) {}
    /// Makes a meter for the accelerator `gpu` at the bf16 peak of its datasheet. The number of GPUs is the number of
    /// ranks of the reduction, or 1 without a reduction. For another precision pass `hardware_of(gpu, precision::fp8)`.
    template <counted_model Model>
    meter(const Model& model, const training_plan& plan, const accelerator& gpu, rank_sum ranks = {},
          seconds_clock clock = steady_seconds)
        : meter(flop_counter(model, conventions::exact, plan), hardware_of(gpu, precision::bf16, ranks.sum ? 0 : 1),
                ranks, std::move(clock)) {}

    meter(const meter&) = delete;  // a copy would count the open step twice
    meter& operator=(const meter&) = delete;

    /// Opens a step and starts its clock. Throws `error` if a step is open.
    void begin_step() {
        if (in_step()) {
            throw error("step", "begins inside another step: call end_step() or discard_step() first");
        }
        started_ = clock_();
        problem_.clear();
        in_step_ = true;
    }

    /// Sets what happens to a step that cannot be counted. The default is `on_error::raise`.
    void on_errors(on_error how) { on_error_ = how; }
    [[nodiscard]] on_error on_errors() const { return on_error_; }
    /// Returns how many steps were left out, and why the last one was.
    [[nodiscard]] const left_out_steps& left_out() const { return left_out_; }

    /// Adds a microbatch: `m.add([&](tally& batch) { batch.add_cu_seqlens(cu_seqlens); })`. Returns false if `count`
    /// threw `error` and the meter leaves such steps out.
    template <std::invocable<tally&> Count>
    bool add(Count count) {
        tally& batch = microbatch();
        try {
            count(batch);
        } catch (const error& problem) {
            if (on_error_ == on_error::raise) {
                throw;
            }
            leave_out_step(problem.what());
            return false;
        }
        return true;
    }

    /// Marks the open step as one that cannot be counted. `end_step` then leaves it out, on all ranks.
    void leave_out_step(std::string_view problem) {
        require_begun();
        if (problem_.empty()) {
            problem_ = problem.empty() ? std::string_view("the step cannot be counted") : problem;
        }
    }

    /// Returns the tally to which you add the next microbatch. Call it for each microbatch, because it checks that a
    /// step is open.
    [[nodiscard]] tally& microbatch() {
        if (!in_step()) {
            throw error("microbatch", "was added outside of a step: call begin_step() first");
        }
        return own_;
    }

    /// Ends the step. The meter's clock gives the step's time. Returns false if the step was left out
    /// (`on_error::leave_out`).
    bool end_step() {
        require_begun();
        return end_step(clock_() - started_);
    }

    /// Ends the step with a measured time, such as that of a GPU timer. With a reduction this is a collective: if one
    /// rank cannot end its step, no rank does. Returns false if the step was left out.
    bool end_step(double seconds) {
        bool took_part = !ranks_.sum;
        try {
            if (!problem_.empty()) {
                require_begun();
                throw error("step", problem_);
            }
            close(seconds, took_part);
        } catch (const error& problem) {
            if (!took_part) {
                fail_all_ranks();
            }
            if (on_error_ == on_error::raise || !in_step()) {
                throw;
            }
            left_out_.last = problem_.empty() ? std::string(problem.what()) : problem_;
            ++left_out_.interval;
            ++left_out_.run;
            discard_step();
            return false;
        } catch (...) {
            if (!took_part) {
                fail_all_ranks();
            }
            throw;
        }
        return true;
    }

    /// Discards the open step with its microbatches, for a step that failed or is repeated.
    void discard_step() {
        require_begun();
        shut();
    }

    /// True while a step is open.
    [[nodiscard]] bool in_step() const noexcept { return in_step_; }

    /// Throws the error that `end_step(seconds)` would throw for this time, for callers that check the time before they
    /// end the step.
    void require_seconds(double seconds) const { static_cast<void>(gpu_seconds_in(seconds)); }

    /// Returns the totals of the step that ended last. Its rates are `rates(last_step())`.
    [[nodiscard]] const step_totals& last_step() const { return last_; }
    /// Returns the totals since the last `reset_interval`.
    [[nodiscard]] const step_series& interval() const { return interval_; }
    /// Returns the totals since the meter was constructed, or since the start of the run that it resumed.
    [[nodiscard]] const step_series& run() const { return run_; }

    /// Returns the times of the ranks since the last `reset_interval`; `run_ranks()` returns those of the whole
    /// process. Both have 0 steps if the meter cannot compare ranks: its `rank_sum` has no `max`.
    [[nodiscard]] const rank_spread& interval_ranks() const { return interval_ranks_; }
    /// Returns the times of the ranks in the whole process.
    [[nodiscard]] const rank_spread& run_ranks() const { return run_ranks_; }

    /// Sets how long the run is. Logs then also show how much is left and when it ends.
    void set_budget(const run_budget& budget) { budget_ = budget; }
    /// Returns the budget that `set_budget` has set; all 0 without one.
    [[nodiscard]] const run_budget& budget() const { return budget_; }

    /// The wall clock of the run and the time spent outside steps. Call `goodput().begin()` to start it.
    [[nodiscard]] goodput_clock& goodput() { return goodput_; }
    [[nodiscard]] const goodput_clock& goodput() const { return goodput_; }

    /// Returns the percentiles of the step times of this process. Leaves out the first steps (`leave_out`).
    [[nodiscard]] duration_percentiles step_percentiles() const { return percentiles(steady_seconds_, warm_up_); }
    /// The number of steps in `step_percentiles`.
    [[nodiscard]] std::uint64_t steady_steps() const { return steady_seconds_.count(); }
    /// Sets how many steps at the start the percentiles leave out, because the first steps compile kernels and fill
    /// caches. The default is 10.
    void leave_out(std::uint64_t first_steps) {
        if (in_step() || steps_here_ != 0) {
            throw error("leave_out", "must be called before the first step: call it when the meter is created");
        }
        warm_up_ = first_steps;
    }

    /// Starts a new interval. Call it after each line of a log.
    void reset_interval() {
        forget(interval_);
        interval_ranks_ = {};
        left_out_.interval = 0;
    }

    /// Continues from the run totals of an earlier process. Throws `error` if `earlier` was counted with another model,
    /// convention or plan, because this meter would count other FLOPs for the same tally. With
    /// `resume_from::any_counter` the function accepts such totals, keeps their FLOPs, and returns false
    /// (`run_is_recounted`).
    bool resume(const step_series& earlier, resume_from which = resume_from::same_counter) {
        if (in_step() || run_.totals.steps != 0) {
            throw error("resume", "must be called before the first step: call it when the meter is created");
        }
        const step_totals& done = earlier.totals;
        const bool same_masks = done.batch.masks() == model_.masks();
        if (!same_masks && which == resume_from::same_counter) {
            throw error("masks",
                        "the saved totals are of a model with other masks: resume with the same model, or with "
                        "resume_from::any_counter");
        }
        bool same = same_masks;
        for (const view seen : {view::useful, view::padded, view::executed}) {
            if (!same || counts_as(done, seen)) {
                continue;
            }
            if (which == resume_from::same_counter) {
                detail::refuse("flops",
                               {"the saved totals have ", to_string(done.total(seen)),
                                " FLOPs, but this model, convention and plan count ",
                                to_string(model_.total_flops(done.batch, seen)),
                                " for the same lengths: resume with the model, convention and plan that saved ",
                                "them, or with resume_from::any_counter"});
            }
            same = false;
        }
        if (earlier.step_seconds.count() != done.steps) {
            detail::refuse("steps", {"the saved totals have ", done.steps, " steps but ", earlier.step_seconds.count(),
                                     " durations: the saved state is damaged, so load an earlier one"});
        }
        if (done.steps != 0) {
            detail::require_finite_positive(done.seconds, "seconds");
            detail::require_finite_positive(done.gpu_seconds, "gpu_seconds");
            if (done.has_peak()) {
                detail::require_finite_positive(done.peak_tflop, "peak_tflop");
            } else if (done.peak_tflop != 0) {
                throw error("peak_tflop", "must be a number above 0, or 0 for an unknown peak, got " +
                                              std::to_string(done.peak_tflop));
            }
        }
        run_ = earlier;
        if (!same_masks) {
            run_.totals.batch =
                detail::with_masks(model_.masks(), detail::names_of(done.batch.masks()), done.batch.accumulators());
            for (const statistic& measured : done.batch.masks()) {
                if (done.batch.has_measured(measured)) {
                    run_.totals.batch.mark_measured(measured);
                }
            }
        }
        recounted_ = recounted_ || (!same && done.steps != 0);
        return same || done.steps == 0;
    }

    /// Takes over the run of another meter between two steps: its totals, clock, percentiles and left-out steps. This
    /// meter may have another plan, convention or number of GPUs. A new interval begins. The FLOPs of earlier steps
    /// stay as the other meter counted them. Returns false if this meter would count other FLOPs for these steps.
    bool continue_from(const meter& other) {
        if (in_step() || other.in_step()) {
            throw error("step", "is open, but a meter must be resumed between two steps: end the step first");
        }
        const bool was_recounted = other.recounted_;
        const bool same = resume(other.run_, resume_from::any_counter);
        recounted_ = recounted_ || was_recounted;
        left_out_ = other.left_out_;
        left_out_.interval = 0;
        on_error_ = other.on_error_;
        warm_up_ = other.warm_up_;
        steps_here_ = other.steps_here_;
        steady_seconds_ = other.steady_seconds_;
        run_ranks_ = other.run_ranks_;
        budget_ = other.budget_;
        goodput_ = other.goodput_;
        return same;
    }

    /// Returns true if some steps of the run were counted with another model, convention or plan. Then the FLOPs of the
    /// run are the sum over the steps as they were counted, and do not follow from the run's tally.
    [[nodiscard]] bool run_is_recounted() const { return recounted_; }
    /// Sets `run_is_recounted` and the number of left-out steps of a run that is resumed from a saved state.
    void mark_resumed(bool recounted, std::uint64_t steps_left_out) {
        recounted_ = recounted;
        left_out_.run = steps_left_out;
    }

    /// Returns the counter of the model, its convention and its plan.
    [[nodiscard]] const flop_counter& model() const { return model_; }
    /// Returns the GPUs: their number, their peak in TFLOP/s and its precision.
    [[nodiscard]] const metered_hardware& hardware() const { return hardware_; }
    /// Returns a text that says which GPUs the FLOPs and the time cover: "summed over 16 ranks", "of 1 GPU", "of all 8
    /// GPUs, as declared".
    [[nodiscard]] const std::string& counted() const { return counted_; }
    /// Returns true if the meter sums over ranks.
    [[nodiscard]] bool reduces() const { return static_cast<bool>(ranks_.sum); }

    /// Sets which work runs in which precision. Logs then also have the mixed-precision MFU and the mean peak that it
    /// is relative to.
    void runs_in(mixed_precision precisions) {
        if (!(precisions.whole().masks() == model_.masks())) {
            throw error("masks", "the precisions belong to a model with other masks: make them from the meter's model");
        }
        precisions_ = std::move(precisions);
    }
    /// Returns what `runs_in` has set; empty without it.
    [[nodiscard]] const std::optional<mixed_precision>& precisions() const { return precisions_; }

    /// Makes logs also show the MFU of a second convention. `other` must count the same model. If `other` needs
    /// accumulators that the meter's model does not count, add them to the meter's cost first (`cost::keep`).
    void shows_beside(flop_counter other) {
        for (const statistic& needed : other.masks()) {
            if (model_.masks().find(needed) == model_.masks().size()) {
                detail::refuse("masks", {other.counted_as().name, " counts ", needed.name(),
                                         ", which this meter's tallies do not keep: make the meter of ",
                                         other.counted_as().name, " and show ", model_.counted_as().name,
                                         " beside it, or add the statistic to the cost by keep()"});
            }
        }
        beside_ = std::move(other);
    }
    /// Returns the counter that `shows_beside` has set; empty without it.
    [[nodiscard]] const std::optional<flop_counter>& beside() const { return beside_; }

  private:
    void require_begun() const {
        if (!in_step()) {
            throw error("step", "ends, but none has begun: call begin_step() first");
        }
    }

    [[nodiscard]] double gpu_seconds_in(double seconds) const {
        const double peak = hardware_.peak_is_unknown ? 1 : hardware_.peak_tflops;
        const double gpu_seconds = detail::gpu_seconds_of({seconds, hardware_.gpus, peak});
        detail::require_finite_positive(gpu_seconds * peak, "seconds");
        return gpu_seconds;
    }

    /// Counts the FLOPs of the tally of `done` in the view `seen` again. Returns true if the result equals the FLOPs
    /// that `done` has. Returns false also if the tally lacks a measured accumulator, because the totals were then
    /// counted with another plan.
    [[nodiscard]] bool counts_as(const step_totals& done, view seen) const {
        try {
            return model_.total_flops(done.batch, seen) == done.total(seen);
        } catch (const overflow&) {
            throw;
        } catch (const error&) {
            return false;
        }
    }

    struct rank_times_of_step {
        double slowest = 0;
        double fastest = 0;
    };

    /// Returns the slowest rank of a step, and the times of the slowest and the fastest. Returns nothing if the ranks
    /// cannot be compared. Each rank sends two integers: its time in units of 100 ns with its rank number in the lower
    /// bits, and the complement of its time. The maximum of the first gives the slowest rank, and the maximum of the
    /// second gives the fastest time. So one MAX reduction is enough.
    [[nodiscard]] std::optional<std::pair<std::uint64_t, rank_times_of_step>> compared(double seconds) const {
        constexpr std::uint64_t rank_bits = 24;
        constexpr double ticks = 1e7;
        constexpr std::uint64_t most = ~std::uint64_t{0} >> rank_bits;
        if (!ranks_.max || ranks_.ranks > std::uint64_t{1} << rank_bits) {
            return std::nullopt;
        }
        const double exact = seconds * ticks;
        const std::uint64_t time =
            exact < static_cast<double>(most) ? static_cast<std::uint64_t>(__builtin_llround(exact)) : most;
        const std::uint64_t low = (std::uint64_t{1} << rank_bits) - 1;
        std::uint64_t ends[] = {time << rank_bits | (low - ranks_.rank), most - (time < most ? time : most)};
        ranks_.max(std::span<std::uint64_t>(ends));
        return std::pair(low - (ends[0] & low),
                         rank_times_of_step{.slowest = static_cast<double>(ends[0] >> rank_bits) / ticks,
                                            .fastest = static_cast<double>(most - ends[1]) / ticks});
    }

    void close(double seconds, bool& took_part) {
        require_begun();
        const double gpu_seconds = gpu_seconds_in(seconds);
        // `next_step_`, `next_interval_` and `next_run_` are members, not local variables, so that their memory is
        // reused.
        step_totals& step = next_step_;
        step.steps = 1;
        step.seconds = seconds;
        step.gpu_seconds = gpu_seconds;
        step.peak_tflop = gpu_seconds * hardware_.peak_tflops;  // 0 if the peak is unknown
        std::optional<std::pair<std::uint64_t, rank_times_of_step>> slow;
        if (std::exchange(took_part, true)) {
            step.batch = own_;
        } else {
            step.batch = ranks_.sum([&] {
                slow = compared(seconds);
                return own_;
            });
            step.batch.mark_measured(own_);
        }
        step.useful = model_.total_flops(step.batch, view::useful);
        step.padded = model_.total_flops(step.batch, view::padded);
        step.executed = model_.total_flops(step.batch, view::executed);
        next_interval_ = interval_.totals;
        next_interval_ += step;
        next_run_ = run_.totals;
        next_run_ += step;
        interval_ranks_.make_room();
        run_ranks_.make_room();
        // From here on nothing throws, so the totals change all or not at all.
        std::swap(last_, next_step_);
        std::swap(interval_.totals, next_interval_);
        std::swap(run_.totals, next_run_);
        interval_.step_seconds.add(seconds);
        run_.step_seconds.add(seconds);
        if (slow) {
            interval_ranks_.add(slow->first, slow->second.slowest, slow->second.fastest);
            run_ranks_.add(slow->first, slow->second.slowest, slow->second.fastest);
        }
        if (steps_here_++ >= warm_up_) {
            steady_seconds_.add(seconds);
        }
        shut();
    }

    void shut() {
        in_step_ = false;
        own_.clear();
    }

    /// Takes part in the sum over ranks for a step that this rank cannot end, so that the other ranks throw instead of
    /// waiting forever.
    void fail_all_ranks() const noexcept {
        try {
            static_cast<void>(ranks_.sum([this]() -> tally {
                static_cast<void>(compared(0));  // the other ranks wait for this collective
                throw error("step", "failed on this rank: look at the error of this rank");
            }));
        } catch (...) {  // ignored, because the caller already throws the first error
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
    tally own_;
    bool in_step_ = false;
    double started_ = 0;
    step_totals last_;
    step_series interval_;
    step_series run_;
    rank_spread interval_ranks_;
    rank_spread run_ranks_;
    run_budget budget_;
    step_totals next_step_;
    step_totals next_interval_;
    step_totals next_run_;
    std::uint64_t warm_up_ = 10;
    std::uint64_t steps_here_ = 0;
    duration_histogram steady_seconds_;
    std::optional<mixed_precision> precisions_;
    std::optional<flop_counter> beside_;
    goodput_clock goodput_;
    on_error on_error_ = on_error::raise;
    left_out_steps left_out_;
    std::string problem_;  ///< why the open step cannot be counted; empty if no reason is known
    bool recounted_ = false;
};

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/inputs.hpp>
#include <floptally/detail/python/left_out_batches.hpp>
#include <floptally/detail/python/meter_arguments.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/totals.hpp>
#include <floptally/error.hpp>
#include <floptally/meter.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/precision_rules.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// How many forks made this process.
[[nodiscard]] inline std::uint64_t fork_count() {
    static std::uint64_t forks = 0;
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
    static_cast<void>(registered);
    return forks;
}

/// Python's `Meter`. Its methods hold the GIL wherever they touch a total, so that any thread may add.
///
/// A microbatch whose numbers are still on their way from a GPU is an object with `done()`, `wait()` and
/// `arguments()`, the keywords of `add` once it is done. A step that has such ones ends without them: it joins the
/// totals, in order, where somebody asks and all of them are done, or waits.
class held_meter {
  public:
    held_meter(const model_cost& measured, const py::object& gpus, const py::object& part,
               const py::object& peak_tflops, const py::object& used, const py::object& how, const py::object& trains,
               const py::object& clock, const py::object& counted, const py::object& reduce,
               const std::optional<std::string>& precisions, const std::optional<std::string>& kind,
               const py::object& clock_mhz)
        : model(measured),
          as(measured.folded(to_convention(how), to_plan(trains, measured))),
          of(as->counter, to_hardware(gpus, part, peak_tflops, used, counted, reduce, kind, clock_mhz),
             to_rank_sum(reduce, as->counter), [] { return 0.0; }),  // its steps are given their seconds
          arguments(py::make_tuple(gpus, part, peak_tflops, used, how, trains, clock, counted, reduce, precisions, kind,
                                   clock_mhz)),
          clock_(to_clock(clock)) {
        if (precisions) {
            const std::string& name = of.hardware().accelerator;
            of.runs_in(mixed_precision(of.model(), model.model().parts, as->plan,
                                       precision_rules(*precisions, name.empty() ? std::nullopt : std::optional(name),
                                                       to_clock_mhz(clock_mhz)),
                                       of.hardware().peak_tflops));
        }
    }

    void begin_step() {
        const double now = of.in_step() ? 0 : clock_();
        of.begin_step();
        started_ = now;
        ++steps_begun_;
        forks_ = fork_count();
    }

    /// Counts a microbatch. One that was counted while its step ended is an error, never part of the next.
    void add(call_arguments& batch) {
        const std::uint64_t step = open_step();
        const tally counted = counted_of(batch);
        if (step != steps_begun_ || !of.in_step()) {
            throw error("microbatch", "step " + std::to_string(step) + " ended before this microbatch was counted");
        }
        of.microbatch() += counted;
    }

    /// The same of one whose numbers are on their way.
    void add_later(const py::object& batch) {
        static_cast<void>(open_step());
        for (const char* const method : {"done", "wait", "arguments"}) {
            if (!py::hasattr(batch, method)) {
                throw error("batch", std::string("must have done(), wait() and arguments(), got ") + shown(batch));
            }
        }
        on_their_way_.push_back(batch);
    }

    /// True where the step joins the totals later.
    bool end_step(const py::object& given) {
        double seconds = given.is_none() ? 0 : to_number(given, "seconds");
        if (of.in_step() && given.is_none()) {
            seconds = clock_() - started_;
        }
        if (!of.in_step() || (on_their_way_.empty() && ended_.empty())) {
            end_now(seconds);
            return false;
        }
        of.require_seconds(seconds);
        if (of.reduces()) {  // all ranks enter the sum together, which is waited for anyway
            const std::uint64_t number = of.run().totals.steps + 1;
            wait_for(on_their_way_);
            left_out_batches left_out;
            count(std::exchange(on_their_way_, {}), number, left_out, [this]() -> tally& { return of.microbatch(); });
            end_now(seconds);
            left_out.raise();
            return false;
        }
        ended_.push_back({seconds, of.microbatch(), std::exchange(on_their_way_, {}), fork_count()});
        of.discard_step();
        settle(false);
        return true;
    }

    void discard_step() {
        of.discard_step();
        on_their_way_.clear();
    }

    /// Hands the totals every ended step whose microbatches are there, in order; with `wait`, all of them. A
    /// microbatch that cannot be counted is left out of its step, and is the error once the step has joined.
    void settle(bool wait) {
        if (ended_.empty()) {
            return;
        }
        std::unique_lock lock(settling_, std::defer_lock);
        if (wait) {
            const py::gil_scoped_release released;  // who has it may need the GIL
            lock.lock();
        } else if (!lock.try_lock()) {
            return;
        }
        if (settles_) {
            return;  // asked for by a microbatch that is being counted
        }
        const settling_scope scope(settles_);
        while (!ended_.empty()) {
            if (ended_.front().forks != fork_count()) {
                ended_.pop_front();  // of the process that this one was forked from, which counts it
                continue;
            }
            const std::vector<py::object> batches = ended_.front().on_their_way;
            if (wait) {
                wait_for(batches);
            } else {
                for (const py::object& one : batches) {
                    if (!one.attr("done")().cast<bool>()) {
                        return;
                    }
                }
            }
            const ended_step next = std::move(ended_.front());
            ended_.pop_front();
            join(next);
        }
    }

    /// Calls `visit` with the totals of "step", "interval" or "run".
    template <class Visit>
    auto visit_span(const std::string& which, Visit visit) {
        settle(false);
        switch (from_word<int>(which, "span", {"step", "interval", "run"})) {
            case 0:
                return visit(of.last_step());
            case 1:
                return visit(of.interval());
            default:
                return visit(of.run());
        }
    }
    [[nodiscard]] shown_totals span(const std::string& which) {
        return visit_span(which, [](const auto& done) { return shown_totals(done); });
    }

    model_cost model;
    std::shared_ptr<const folded_model> as;
    meter of;
    py::tuple arguments;  ///< what it was made with, for a pickle

  private:
    struct ended_step {
        double seconds;
        tally counted;
        std::vector<py::object> on_their_way;
        std::uint64_t forks;
    };

    struct settling_scope {
        explicit settling_scope(bool& flag) : settles(flag) { settles = true; }
        settling_scope(const settling_scope&) = delete;
        settling_scope& operator=(const settling_scope&) = delete;
        ~settling_scope() { settles = false; }
        bool& settles;
    };

    /// The number of the open step, in which this process may add.
    [[nodiscard]] std::uint64_t open_step() {
        static_cast<void>(of.microbatch());  // or an error: no step is open
        if (forks_ != fork_count()) {
            throw error("microbatch",
                        "is added in a forked process to a step that its parent began, which would never see it: a "
                        "DataLoader's worker gives lengths to the process that trains");
        }
        return steps_begun_;
    }

    [[nodiscard]] tally counted_of(call_arguments& batch) const {
        const mask_set& masks = as->counter.masks();
        return input_arguments(batch, masks).counted(model.model(), masks);
    }

    /// Counts microbatches that are there now, into what `into` returns.
    template <class Into>
    void count(const std::vector<py::object>& batches, std::uint64_t step, left_out_batches& left_out,
               const Into& into) const {
        for (std::size_t i = 0; i < batches.size(); ++i) {
            try {
                const py::dict named = batches[i].attr("arguments")();
                const tally counted =
                    with_keywords("add", named, [this](call_arguments& batch) { return counted_of(batch); });
                into() += counted;
            } catch (...) {
                left_out.keep(" (in microbatch " + std::to_string(i + 1) + " from a GPU of step " +
                              std::to_string(step) + ", which is counted without it)");
            }
        }
    }

    static void wait_for(const std::vector<py::object>& batches) {
        for (const py::object& one : std::vector<py::object>(batches)) {
            one.attr("wait")();
        }
    }

    void end_now(double seconds) {
        of.end_step(seconds);
        warn_above_peak(rates(of.last_step()).mfu);
    }

    /// An ended step becomes part of the totals. The step that is open meanwhile stays open.
    void join(const ended_step& step) {
        const std::uint64_t number = of.run().totals.steps + 1;
        left_out_batches left_out;
        tally batch = step.counted;
        count(step.on_their_way, number, left_out, [&batch]() -> tally& { return batch; });
        std::optional<tally> open;
        if (of.in_step()) {
            open = of.microbatch();
            of.discard_step();
        }
        of.begin_step();
        try {
            of.microbatch() += batch;
            of.end_step(step.seconds);
        } catch (...) {
            left_out.keep(" (of step " + std::to_string(number) + ", which is left out)");
            of.discard_step();
        }
        if (open) {
            of.begin_step();
            of.microbatch() += *open;
        }
        left_out.raise();
        warn_above_peak(rates(of.last_step()).mfu);
    }

    meter::seconds_clock clock_;
    double started_ = 0;
    std::uint64_t steps_begun_ = 0;
    std::uint64_t forks_ = 0;               // after how many the open step was begun
    std::vector<py::object> on_their_way_;  // of the open step
    std::deque<ended_step> ended_;          // that are not part of the totals yet
    std::recursive_mutex settling_;
    bool settles_ = false;
};

}  // namespace floptally::detail::python

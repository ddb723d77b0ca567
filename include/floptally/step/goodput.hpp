// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/integer/flops.hpp>
#include <floptally/lists/any_function.hpp>
#include <floptally/step/clock.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The wall clock of a run including restarts, the time spent outside steps, and the MFU over the whole run.

namespace floptally::inline v0_3 {

/// The time that a run spent outside steps for one reason: checkpoints, evaluation, waiting for data or restarts.
struct spent_time {
    std::string name;
    double seconds = 0;

    [[nodiscard]] friend bool operator==(const spent_time&, const spent_time&) = default;
};

/// The state of a run's `goodput_clock` as plain data, for checkpoints.
struct goodput_state {
    double wall_seconds = 0;  ///< seconds from the start of the run to the save
    double saved_at = 0;      ///< time of the save, in seconds since 1970
    std::vector<spent_time> spent{};

    [[nodiscard]] friend bool operator==(const goodput_state&, const goodput_state&) = default;
};

/// The name under which a resumed run counts the time from the last checkpoint to the restart: lost steps, downtime
/// and startup.
inline constexpr std::string_view restart = "restart";

/// Measures the wall clock of a run from `begin` on, and sums the time outside steps by names that the caller chooses.
/// Time that is neither in steps nor under a name counts as the rest (`goodput::rest_seconds`).
class goodput_clock {
  public:
    using seconds_clock = any_function<double()>;

    explicit goodput_clock(seconds_clock clock = unix_seconds) : clock_(std::move(clock)) {
        if (!clock_) {
            throw error("wall_clock", "must be callable, got an empty function");
        }
    }

    /// Starts the wall clock of the run, or that of the current process if the run is resumed. Call `begin` as early as
    /// possible.
    void begin() {
        if (started_) {
            throw error("run", "has begun already: call begin() once");
        }
        started_ = now();
    }
    /// True after `begin`.
    [[nodiscard]] bool has_begun() const noexcept { return started_.has_value(); }

    /// Adds time that was spent outside steps, under a name of your choice.
    void spend(std::string_view name, double seconds) {
        require_begun();
        require_spent(name, seconds);
        for (spent_time& known : spent_) {
            if (known.name == name) {
                known.seconds += seconds;
                return;
            }
        }
        spent_.push_back({std::string(name), seconds});
    }

    /// Returns the seconds from the start of the run to now, including earlier processes of the run and the times
    /// between processes.
    [[nodiscard]] double wall_seconds() const {
        require_begun();
        const double elapsed = now() - *started_;
        if (!(elapsed >= 0)) {
            detail::refuse("wall_clock", {"went back by ", std::to_string(-elapsed),
                                          " s since the process began: use a clock that does not go back"});
        }
        return before_ + elapsed;
    }
    /// Returns the times outside steps, in the order in which their names were first used.
    [[nodiscard]] const std::vector<spent_time>& spent() const { return spent_; }

    /// Returns the current time in seconds: `unix_seconds()`, unless another clock was passed to the constructor.
    [[nodiscard]] double time() const { return now(); }

    /// Returns the state of the clock, for a checkpoint.
    [[nodiscard]] goodput_state state() const { return {wall_seconds(), now(), spent_}; }

    /// Continues the wall clock of a saved run. The time from the save to the start of this process counts under the
    /// name "restart". If `resume` throws, the clock is unchanged.
    void resume(const goodput_state& earlier) {
        if (!spent_.empty() || before_ != 0) {
            throw error("resume", "must be called before any time is reported: call it first");
        }
        if (!(earlier.wall_seconds >= 0 && __builtin_isfinite(earlier.wall_seconds) &&
              __builtin_isfinite(earlier.saved_at))) {
            throw error("wall_seconds",
                        "must be finite and at least 0: the saved state is damaged, so load an earlier one");
        }
        const double started = started_.value_or(now());
        const double away = started - earlier.saved_at;
        if (!(away >= 0)) {
            detail::refuse("saved_at", {"is later than the start of this process by ", std::to_string(-away),
                                        " s: set the clock of this machine and of the one that saved to the same time, "
                                        "and call begin() after the save"});
        }
        for (const spent_time& span : earlier.spent) {
            require_spent(span.name, span.seconds);
        }
        goodput_clock resumed = *this;
        resumed.started_ = started;
        resumed.spent_ = earlier.spent;
        resumed.before_ = earlier.wall_seconds + away;
        resumed.spend(restart, away);
        *this = std::move(resumed);
    }

  private:
    [[nodiscard]] double now() const {
        const double seconds = clock_();
        if (!__builtin_isfinite(seconds)) {
            throw error("wall_clock", "must return a finite number of seconds: pass another clock");
        }
        return seconds;
    }
    static void require_spent(std::string_view name, double seconds) {
        if (name.empty()) {
            throw error("name", "must not be empty: say what the time was spent on");
        }
        detail::require_utf8(name, "name");
        if (!(seconds >= 0 && __builtin_isfinite(seconds))) {
            detail::refuse("seconds", {"must be finite and at least 0, got ", std::to_string(seconds)});
        }
    }
    void require_begun() const {
        if (!started_) {
            throw error("run", "has not begun: call begin() first");
        }
    }

    seconds_clock clock_;
    std::optional<double> started_{};
    double before_ = 0;  ///< seconds of the run before this process began
    std::vector<spent_time> spent_{};
};

/// The goodput of a run: the part of the wall clock that was spent in steps, and what the rest was spent on.
struct goodput {
    double wall_seconds = 0;
    double step_seconds = 0;
    std::vector<spent_time> spent{};
    double rest_seconds = 0;  ///< wall-clock time that was not in steps and was not passed to `spend`
    double step_share = 0;    ///< the goodput: seconds in steps ÷ wall seconds
    /// MFU over the wall clock: useful FLOPs ÷ (wall seconds x mean GPUs of the steps x peak).
    double mfu = 0;
    double padded_mfu = 0;
    double hfu = 0;
};

/// Returns the goodput of a run. The number of GPUs is the time-weighted mean over the steps. Steps that were lost in a
/// restart are not in `done`; their time is in `restart`. Throws `error` if steps and spent times overlap, that
/// is, if they add up to more than the wall clock.
[[nodiscard]] inline goodput goodput_of(const step_totals& done, const goodput_clock& clock) {
    goodput result{.wall_seconds = clock.wall_seconds(), .step_seconds = done.seconds, .spent = clock.spent()};
    double named = done.seconds;
    for (const spent_time& span : result.spent) {
        named += span.seconds;
    }
    result.rest_seconds = result.wall_seconds - named;
    if (result.rest_seconds < -1e-6 * result.wall_seconds) {
        detail::refuse("seconds", {"the reported times add up to ", std::to_string(named), " s, more than the ",
                                   std::to_string(result.wall_seconds),
                                   " s of the wall clock: do not report time that is already part of a step"});
    }
    result.rest_seconds = result.rest_seconds < 0 ? 0 : result.rest_seconds;
    if (done.steps == 0) {
        return result;
    }
    result.step_share = detail::divide(done.seconds, result.wall_seconds, "wall_seconds");
    const step_rates rate = rates(done);
    result.mfu = rate.mfu * result.step_share;
    result.padded_mfu = rate.padded_mfu * result.step_share;
    result.hfu = rate.hfu * result.step_share;
    return result;
}

}  // namespace floptally

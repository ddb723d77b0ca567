// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/integer/flops.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The wall clock of a run over its restarts, what it was spent on besides steps, and the MFU over all of it.

namespace floptally {

/// Seconds since 1970, which processes have in common.
[[nodiscard]] inline double unix_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Time that a run spent on something that is no step: checkpoints, evaluation, waiting for data, restarts.
struct spent_time {
    std::string name;
    double seconds = 0;

    [[nodiscard]] friend bool operator==(const spent_time&, const spent_time&) = default;
};

/// The account of a run as plain data, for checkpoints.
struct account_state {
    double wall_seconds = 0;  ///< from the run's begin to when this was saved
    double saved_at = 0;      ///< in `unix_seconds`
    std::vector<spent_time> spent{};

    [[nodiscard]] friend bool operator==(const account_state&, const account_state&) = default;
};

/// The name under which the time from a checkpoint to the process that goes on from it is kept: steps that were lost,
/// and what it took to be there again.
inline constexpr std::string_view restart = "restart";

/// The wall clock of a run, and what was spent of it besides its steps. Nothing is counted before `begin`, and nothing
/// is assumed: what no caller names is the rest.
class run_account {
  public:
    using seconds_clock = std::function<double()>;

    explicit run_account(seconds_clock clock = unix_seconds) : clock_(std::move(clock)) {
        if (!clock_) {
            throw error("wall_clock", "must be callable, got an empty function");
        }
    }

    /// Begins the run, or this process's part of it: as early as the process can.
    void begin() {
        if (started_) {
            throw error("run", "has begun already");
        }
        started_ = now();
    }
    [[nodiscard]] bool has_begun() const noexcept { return started_.has_value(); }

    /// Adds time that is in no step, under a name of the caller's.
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

    /// Seconds from the run's begin to now, over all of its processes and the times between them.
    [[nodiscard]] double wall_seconds() const {
        require_begun();
        const double here = now() - *started_;
        if (!(here >= 0)) {
            detail::refuse("wall_clock", {"went back by ", std::to_string(-here), " s since the process began"});
        }
        return before_ + here;
    }
    /// In the order of their first mention.
    [[nodiscard]] const std::vector<spent_time>& spent() const { return spent_; }

    [[nodiscard]] account_state state() const { return {wall_seconds(), now(), spent_}; }

    /// Goes on from a state that was saved. The time from then to this process's begin is a restart. An error changes
    /// nothing.
    void resume(const account_state& earlier) {
        if (!spent_.empty() || before_ != 0) {
            throw error("resume", "must come before time is spent");
        }
        if (!(earlier.wall_seconds >= 0 && std::isfinite(earlier.wall_seconds) && std::isfinite(earlier.saved_at))) {
            throw error("wall_seconds", "of the state must be finite and at least 0");
        }
        const double started = started_.value_or(now());
        const double away = started - earlier.saved_at;
        if (!(away >= 0)) {
            detail::refuse("saved_at", {"is later than the begin of this process, by ", std::to_string(-away),
                                        " s: the clocks of the two machines differ, or begin() came before the save"});
        }
        for (const spent_time& each : earlier.spent) {
            require_spent(each.name, each.seconds);
        }
        run_account resumed = *this;
        resumed.started_ = started;
        resumed.spent_ = earlier.spent;
        resumed.before_ = earlier.wall_seconds + away;
        resumed.spend(restart, away);
        *this = std::move(resumed);
    }

  private:
    [[nodiscard]] double now() const {
        const double seconds = clock_();
        if (!std::isfinite(seconds)) {
            throw error("wall_clock", "must give finite seconds");
        }
        return seconds;
    }
    static void require_spent(std::string_view name, double seconds) {
        if (name.empty()) {
            throw error("name", "must say what the time was spent on");
        }
        if (!(seconds >= 0 && std::isfinite(seconds))) {
            detail::refuse("seconds", {"must be finite and at least 0, got ", std::to_string(seconds)});
        }
    }
    void require_begun() const {
        if (!started_) {
            throw error("run", "has not begun: begin() comes first");
        }
    }

    seconds_clock clock_;
    std::optional<double> started_{};
    double before_ = 0;  ///< seconds of the processes before this one, and between them
    std::vector<spent_time> spent_{};
};

/// The account of what a run made of its wall clock.
struct goodput {
    double wall_seconds = 0;
    double step_seconds = 0;
    std::vector<spent_time> spent{};
    double rest_seconds = 0;  ///< of the wall clock that is neither a step nor named
    double step_share = 0;    ///< steps ÷ wall clock: what is called goodput
    double mfu = 0;           ///< useful FLOPs over the wall clock and the GPUs of the steps
    double padded_mfu = 0;
    double hfu = 0;
};

/// The totals of a run over its wall clock. GPUs are those that the steps ran on, on average over their time; steps
/// that were lost are in no total, and their time is in `restart`. Times that overlap, so that they are more than the
/// wall clock, are an error.
[[nodiscard]] inline goodput goodput_of(const step_totals& done, const run_account& account) {
    goodput made{.wall_seconds = account.wall_seconds(), .step_seconds = done.seconds, .spent = account.spent()};
    double named = done.seconds;
    for (const spent_time& each : made.spent) {
        named += each.seconds;
    }
    made.rest_seconds = made.wall_seconds - named;
    if (made.rest_seconds < -1e-6 * made.wall_seconds) {
        detail::refuse("seconds", {"of steps and of what was spent are ", std::to_string(named),
                                   " together, more than the wall clock, ", std::to_string(made.wall_seconds),
                                   ": some of it is in a step too"});
    }
    made.rest_seconds = made.rest_seconds < 0 ? 0 : made.rest_seconds;
    if (done.steps == 0) {
        return made;
    }
    made.step_share = detail::divide(done.seconds, made.wall_seconds, "wall_seconds");
    const step_rates rate = rates(done);
    made.mfu = rate.mfu * made.step_share;
    made.padded_mfu = rate.padded_mfu * made.step_share;
    made.hfu = rate.hfu * made.step_share;
    return made;
}

}  // namespace floptally

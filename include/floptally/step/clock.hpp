// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#ifndef CLOCK_MONOTONIC
#include <chrono>
#endif

/// @file
/// Two clocks in seconds: a steady clock for the durations of steps, and the time since 1970.

namespace floptally::inline v0_3 {

#ifdef CLOCK_MONOTONIC

// This header calls `clock_gettime`, as std::chrono does on POSIX systems. Including <chrono> would take a sixth of the
// compile time of `meter.hpp`.

namespace detail {

[[nodiscard]] inline double seconds_of(clockid_t which) {
    std::timespec now{};
    ::clock_gettime(which, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace detail

/// Returns the seconds of the steady clock.
[[nodiscard]] inline double steady_seconds() { return detail::seconds_of(CLOCK_MONOTONIC); }

/// Returns the seconds since 1970, so that times of different processes can be compared.
[[nodiscard]] inline double unix_seconds() { return detail::seconds_of(CLOCK_REALTIME); }

#else

/// Returns the seconds of the steady clock.
[[nodiscard]] inline double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the seconds since 1970, so that times of different processes can be compared.
[[nodiscard]] inline double unix_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

#endif

}  // namespace floptally

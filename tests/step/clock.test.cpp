// SPDX-License-Identifier: Apache-2.0

#include <chrono>

#include <floptally/step/clock.hpp>

#include "catch2.hpp"

namespace clock_test {
namespace {

template <class Clock>
double seconds_by() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

TEST_CASE("the clocks of a meter are those of std::chrono") {
    const double steady = seconds_by<std::chrono::steady_clock>();
    const double now = floptally::steady_seconds();
    CHECK(steady <= now);
    CHECK(now <= seconds_by<std::chrono::steady_clock>());
    CHECK(std::chrono::abs(
              std::chrono::duration<double>(floptally::unix_seconds() - seconds_by<std::chrono::system_clock>())) <
          std::chrono::seconds(60));  // the wall clock may be set in between
}

}  // namespace clock_test

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>

#include <floptally/step/step_totals.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace step_totals_test {

using floptally::step_totals;

TEST_CASE("step totals that exceed a double or 64 bits are an error and add nothing") {
    const auto refused = [](const step_totals& sum, const step_totals& more) {
        step_totals all = sum;
        const auto said = error_of([&] { all += more; });
        CHECK(all == sum);
        return said;
    };
    const step_totals long_run{.steps = 2, .seconds = 3, .gpu_seconds = 24, .peak_tflop = 1e308};
    CHECK(refused(long_run, {.steps = 1, .peak_tflop = 1e308}) == "seconds: must be a finite number above 0, got inf");
    CHECK(refused({}, {.steps = 1}) == "seconds: must be a finite number above 0, got 0.000000");
    CHECK(refused({.steps = std::numeric_limits<std::uint64_t>::max(), .peak_tflop = 1}, {.steps = 1, .peak_tflop = 1})
              .starts_with("steps: "));
    step_totals none;
    none += step_totals{};
    CHECK(none == step_totals{});
    none += long_run;
    CHECK(none == long_run);
}

}  // namespace step_totals_test

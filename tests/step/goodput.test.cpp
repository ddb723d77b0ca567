// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>

#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/open_metrics.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace goodput_test {
namespace {

using namespace floptally;

/// A run as it was lived second by second: whoever holds the clock adds to what the second was spent on.
struct lived_run {
    double now = 1.7e9;
    std::map<std::string, double> went_to{};

    void live(const std::string& on, double seconds) {
        now += seconds;
        went_to[on] += seconds;
    }
};

}  // namespace

TEST_CASE("the goodput of a restarted run includes the time of all its processes") {
    const flop_counter model(presets::llama_3_8b.cost(), conventions::exact);
    std::mt19937 random(7);
    const auto draw = [&random] { return std::uniform_real_distribution<double>(1, 20)(random); };
    for (int repeat = 0; repeat < 20; ++repeat) {
        lived_run lived;
        std::optional<meter_state> saved;
        flops useful{};
        flops useful_unsaved{};
        const double began = lived.now;
        for (int process = 0; process < 4; ++process) {
            meter steps(model, {.gpus = 1, .peak_tflops = 989}, [] { return 0.0; });
            steps.goodput() = goodput_clock([&lived] { return lived.now; });
            steps.goodput().begin();
            if (saved) {
                resume(steps, *saved);
            }
            lived.live("rest", draw());  // it compiles
            for (int step = 0; step < 6; ++step) {
                const double data = draw();
                lived.live("data", data);
                steps.goodput().spend("data", data);
                const double seconds = draw();
                steps.begin_step();
                steps.microbatch().add_lengths(std::array{100, 1 + step});
                steps.end_step(seconds);
                lived.live("step", seconds);
                if (step % 4 == 3) {
                    const double checkpoint = draw();
                    lived.live("checkpoint", checkpoint);
                    steps.goodput().spend("checkpoint", checkpoint);
                    saved = state_of(steps);
                    useful = steps.run().totals.useful;
                } else {
                    useful_unsaved = steps.run().totals.useful;
                }
            }
            if (process == 3) {
                const goodput shares_of_time = goodput_of(steps.run().totals, steps.goodput());
                CHECK(shares_of_time.wall_seconds == Approx(lived.now - began));
                double named = shares_of_time.step_seconds + shares_of_time.rest_seconds;
                std::map<std::string, double> spent;
                for (const spent_time& each : shares_of_time.spent) {
                    named += each.seconds;
                    spent[each.name] = each.seconds;
                }
                CHECK(named == Approx(shares_of_time.wall_seconds));
                CHECK(spent["checkpoint"] == Approx(lived.went_to["checkpoint"]));
                // Two steps of each of three processes were lost, with their data: they are in the restarts.
                CHECK(shares_of_time.step_seconds < lived.went_to["step"]);
                CHECK(spent["restart"] > lived.went_to["away"]);
                CHECK(shares_of_time.step_seconds + spent["data"] + shares_of_time.rest_seconds + spent["restart"] ==
                      Approx(lived.went_to["step"] + lived.went_to["data"] + lived.went_to["rest"] +
                             lived.went_to["away"]));
                CHECK(shares_of_time.mfu ==
                      Approx(to_double(steps.run().totals.useful) / 1e12 / 989 / (lived.now - began)));
                CHECK(shares_of_time.step_share == Approx(shares_of_time.step_seconds / (lived.now - began)));
            }
            lived.live("away", draw());
        }
        CHECK(useful_unsaved > useful);
    }
}

TEST_CASE("goodput counts nothing before begin() is called") {
    const flop_counter model(presets::llama_3_8b.cost(), conventions::exact);
    meter steps(model, {.gpus = 1, .peak_tflops = 989}, [] { return 0.0; });
    steps.begin_step();
    steps.microbatch().add_lengths(std::array{100});
    steps.end_step(2.0);
    CHECK_FALSE(state_of(steps).goodput.has_value());
    CHECK(to_open_metrics(steps).find("wall_seconds") == std::string::npos);
    for (const metric& each : metrics(steps, steps.run())) {
        CHECK(each.name.find("wall") == std::string::npos);
    }
    CHECK(error_of([&] { static_cast<void>(steps.goodput().wall_seconds()); }) ==
          "run: has not begun: call begin() first");
    CHECK(error_of([&] { steps.goodput().spend("data", 1); }) == "run: has not begun: call begin() first");

    double now = 50;
    steps.goodput() = goodput_clock([&now] { return now; });
    steps.goodput().begin();
    now = 60;
    steps.goodput().spend("evaluation", 3);
    steps.goodput().spend("evaluation", 1);
    const goodput result = goodput_of(steps.run().totals, steps.goodput());
    CHECK(result.rest_seconds == Approx(4));
    CHECK(result.step_share == Approx(0.2));
    const step_rates rate = rates(steps.run().totals);
    CHECK(result.mfu == Approx(0.2 * rate.mfu));
    CHECK(result.padded_mfu == Approx(0.2 * rate.padded_mfu));
    CHECK(result.hfu == Approx(0.2 * rate.hfu));
    const std::string text = to_open_metrics(steps);
    CHECK(text.find("floptally_wall_seconds_total 10\n") != std::string::npos);
    CHECK(text.find("floptally_spent_seconds_total{on=\"evaluation\"} 4\n") != std::string::npos);
    double wall_mfu = 0;
    double mfu = 0;
    for (const metric& each : metrics(steps, steps.run(), "")) {
        wall_mfu = each.name == "mfu_wall_pct" ? each.value : wall_mfu;
        mfu = each.name == "mfu_pct" ? each.value : mfu;
    }
    CHECK(wall_mfu == Approx(0.2 * mfu));
}

TEST_CASE("goodput refuses impossible times") {
    double now = 100;
    goodput_clock clock([&now] { return now; });
    clock.begin();
    CHECK(error_of([&] { clock.begin(); }) == "run: has begun already: call begin() once");
    CHECK(error_of([&] { clock.spend("", 1); }) == "name: must not be empty: say what the time was spent on");
    CHECK(error_of([&] { clock.spend("data", -1); }).starts_with("seconds: must be finite and at least 0"));
    now = 99;
    CHECK(error_of([&] { static_cast<void>(clock.wall_seconds()); }).starts_with("wall_clock: went back by 1"));
    now = 110;
    clock.spend("data", 11);
    CHECK(error_of([&] {
              static_cast<void>(goodput_of({}, clock));
          }).starts_with("seconds: the reported times add up to 11"));
    CHECK(error_of([&] { clock.resume({}); }) == "resume: must be called before any time is reported: call it first");
    goodput_clock later([&now] { return now; });
    CHECK(error_of([&] {
              later.resume({.wall_seconds = 5, .saved_at = 120});
          }).starts_with("saved_at: is later than the start of this process by 10"));
    CHECK(error_of([&] { later.resume({.wall_seconds = -1, .saved_at = 1}); })
              .starts_with(
                  "wall_seconds: must be finite and at least 0: the saved state is damaged, so load an earlier one"));
    CHECK(error_of([&] {
              later.resume({.wall_seconds = 5, .saved_at = 1, .spent = {{"data", 1}, {"evaluation", -1}}});
          }).starts_with("seconds: must be finite and at least 0"));
    CHECK((!later.has_begun() && later.spent().empty()));
    now = std::numeric_limits<double>::infinity();
    CHECK(error_of([&] { static_cast<void>(clock.wall_seconds()); }) ==
          "wall_clock: must return a finite number of seconds: pass another clock");
    now = 104;
    later.begin();
    now = 108;
    const goodput idle = goodput_of({}, later);  // without a step
    CHECK(idle.rest_seconds == 4);
    CHECK(idle.step_share == 0);
    CHECK(idle.mfu == 0);
    CHECK(error_of([] { goodput_clock(goodput_clock::seconds_clock{}); }) ==
          "wall_clock: must be callable, got an empty function");
}

TEST_CASE("a saved meter state with invalid goodput is an error and leaves the meter unchanged") {
    double now = 100;
    const flop_counter model(presets::mistral_7b.cost());
    const metered_hardware gpu{.gpus = 1, .peak_tflops = 989};
    const auto keeps = [&now](meter& m) { m.goodput() = goodput_clock([&now] { return now; }); };
    meter first(model, gpu);
    keeps(first);
    first.goodput().begin();
    first.begin_step();
    first.microbatch().add_lengths(std::array{100, 7});
    first.end_step(0.5);
    const meter_state saved = state_of(first);
    now = 90;  // another machine's clock
    meter second(model, gpu);
    keeps(second);
    CHECK(error_of([&] { resume(second, saved); }).starts_with("saved_at: is later than the start of this process"));
    CHECK(second.run() == meter(model, gpu).run());
    CHECK(!second.goodput().has_begun());
    now = 110;
    resume(second, saved);
    CHECK(second.run() == first.run());
    CHECK(second.goodput().spent() == std::vector<spent_time>{{std::string(restart), 10}});
    for (const double away : {0.0, 0.5}) {
        now = 100 + away;
        meter soon(model, gpu);
        keeps(soon);
        resume(soon, saved);
        CHECK(soon.goodput().spent() == std::vector<spent_time>{{std::string(restart), away}});
    }
}

}  // namespace goodput_test

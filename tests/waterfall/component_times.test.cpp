// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/waterfall/component_comparison.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace component_times_test {
namespace {

using floptally::breakdown;
using floptally::component_line;
using floptally::component_waterfall;
using floptally::counted_passes;
using floptally::time_breakdown;
using floptally::timed_part;
using floptally::work_at_peak;

constexpr std::uint64_t tera = 1'000'000'000'000;

/// A third of the FLOPs forward; the rest backward. Padding and recompute besides.
void put(breakdown& work, std::string_view name, std::uint64_t useful, std::uint64_t padding = 0,
         std::uint64_t recomputed = 0) {
    floptally::component_flops& component_work = work.append(floptally::component_name(name));
    component_work.useful[0] = useful / 3;
    component_work.useful[1] = useful - useful / 3;
    component_work.padded[0] = component_work.useful[0] + padding;
    component_work.padded[1] = component_work.useful[1];
    component_work.recomputed_forward = recomputed;
}

/// A second of four GPUs of 100 TFLOP/s.
time_breakdown by_hand() {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 4, .peak_tflops = 100}};
    breakdown slow;
    put(slow, "attention.core", 30 * tera, 6 * tera, 9 * tera);
    put(slow, "lm_head", 12 * tera);
    put(slow, "norm", 0);
    breakdown fast;
    put(fast, "mlp", 90 * tera);
    timed.work = {{slow, 100}, {fast, 200}};
    return timed;
}

const component_line& line(const component_waterfall& subject, std::string_view name) {
    for (const component_line& entry : subject.lines()) {
        if (entry.name == name) {
            return entry;
        }
    }
    throw floptally::error("line", "is missing");
}

struct sums {
    std::int64_t time = 0;
    std::int64_t useful = 0;
    std::int64_t executed = 0;
    std::int64_t lost = 0;
};

sums sums_of(const component_waterfall& source) {
    sums sum;
    for (const component_line& line : source.lines()) {
        sum.time += line.gpu_nanoseconds;
        sum.useful += line.useful_nanoseconds;
        sum.executed += line.executed_nanoseconds;
        sum.lost += line.lost();
        CHECK(line.lost() == line.not_useful() + line.below_peak());
    }
    return sum;
}

}  // namespace

TEST_CASE("a component waterfall matches a hand calculation") {
    time_breakdown timed = by_hand();
    timed.apart = {{"optimizer", 0.05}};
    const std::vector<timed_part> times = {{.name = "core", .components = {"attention.*"}, .seconds = 0.3},
                                           {.name = "mlp", .components = {"mlp"}, .seconds = 0.25},
                                           {.name = "dispatch", .seconds = 0.1}};
    const component_waterfall outcome(timed, times);
    const component_line& core = line(outcome, "core");
    CHECK(core.components == std::vector<std::string>{"attention.core"});
    CHECK(core.gpu_nanoseconds == 1'200'000'000);
    CHECK(core.useful_nanoseconds == 300'000'000);    // 30 TFLOP at 100 TFLOP/s
    CHECK(core.executed_nanoseconds == 450'000'000);  // 45
    CHECK(core.lost() == 900'000'000);
    CHECK(core.not_useful() == 150'000'000);
    CHECK(core.below_peak() == 750'000'000);
    CHECK(core.share == Approx(0.3));
    CHECK(core.mfu == Approx(0.25));
    CHECK(core.kernel_rate == Approx(0.375));
    const component_line& mlp = line(outcome, "mlp");
    CHECK(mlp.useful_nanoseconds == 900'000'000);  // at the stated peak
    CHECK(mlp.executed_nanoseconds == 450'000'000);
    CHECK(mlp.not_useful() == -450'000'000);  // its own peak is twice the stated one
    CHECK(mlp.mfu == Approx(0.45));
    CHECK(line(outcome, "dispatch").lost() == 400'000'000);
    CHECK(line(outcome, "dispatch").mfu == 0);
    CHECK(line(outcome, "optimizer").lost() == 200'000'000);
    const component_line& rest = outcome.lines().back();
    CHECK(rest.name == "not timed");
    CHECK_FALSE(rest.is_timed);
    CHECK(rest.components == std::vector<std::string>{"lm_head"});
    CHECK(rest.gpu_nanoseconds == 1'200'000'000);
    CHECK(rest.useful_nanoseconds == 120'000'000);
    const sums sum = sums_of(outcome);
    CHECK(sum.time == 4'000'000'000);
    CHECK(sum.useful == outcome.whole().lines().front().gpu_nanoseconds);
    CHECK(sum.lost == 4'000'000'000 - 1'320'000'000);
    CHECK(outcome.points(sum.lost) == Approx(100 * (1 - outcome.whole().mfu())));
}

TEST_CASE("passes of a component can be timed separately, with recomputed work and masked tiles") {
    time_breakdown timed = by_hand();
    timed.repeated = timed.work;
    breakdown again;
    again.append("lm_head").executed_more[1] = 8 * tera;
    timed.repeated->push_back({again, 100});
    breakdown tiles;
    tiles.append("attention.core").executed_more[0] = 5 * tera;
    tiles.append("masks").executed_more[0] = tera;
    timed.masked_tiles = std::vector<work_at_peak>{{tiles, 100}};
    const std::vector<timed_part> times = {
        {.name = "f", .components = {"attention.core"}, .timed = counted_passes::forward, .seconds = 0.1},
        {.name = "b", .components = {"attention.core"}, .timed = counted_passes::backward, .seconds = 0.2},
        {.name = "h", .components = {"lm_head"}, .timed = counted_passes::backward, .seconds = 0.05}};
    const component_waterfall result(timed, times);
    CHECK(line(result, "f").useful_nanoseconds == 100'000'000);
    CHECK(line(result, "f").executed_nanoseconds == 210'000'000);  // 10 useful, 6 of padding, 5 of tiles
    CHECK(line(result, "b").useful_nanoseconds == 200'000'000);
    CHECK(line(result, "b").executed_nanoseconds == 290'000'000);  // and what is computed again
    CHECK(line(result, "h").useful_nanoseconds == 80'000'000);
    CHECK(line(result, "h").executed_nanoseconds == 160'000'000);
    const component_line& rest = result.lines().back();
    CHECK(rest.components == std::vector<std::string>{"lm_head", "mlp", "masks"});
    CHECK(rest.useful_nanoseconds == 40'000'000 + 900'000'000);
    CHECK(rest.executed_nanoseconds == 40'000'000 + 450'000'000 + 10'000'000);
}

TEST_CASE("the MFU points that components lose add up to the MFU that the step loses") {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> fraction(0, 1);
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    for (int repeat = 0; repeat < 2000; ++repeat) {
        time_breakdown timed{.step = {.gpus = 1 + up_to(20'000), .peak_tflops = 1 + 2000 * fraction(random)}};
        const std::uint64_t components = 1 + up_to(9);
        double needed = 0;
        std::vector<double> needs(components, 0.0);
        for (std::uint64_t piece = 0; piece <= up_to(2); ++piece) {
            const double peak = 1 + 4000 * fraction(random);
            breakdown work;
            for (std::uint64_t i = 0; i < components; ++i) {
                if (up_to(4) != 0) {
                    put(work, "c" + std::to_string(i), 1 + up_to(std::uint64_t{1} << 58), up_to(1ULL << 56),
                        up_to(1ULL << 57));
                    const double own =
                        to_double(work.components()[work.components().size() - 1].total(floptally::view::executed)) /
                        1e12 / peak;
                    needs[i] += own;
                    needed += own;
                }
            }
            timed.work.push_back({work, peak});
        }
        if (needed == 0) {
            continue;
        }
        if (timed.step.gpus > 1 && up_to(1) == 0) {
            timed.idle_gpus = up_to(timed.step.gpus - 1);
        }
        const auto working = static_cast<double>(timed.step.gpus - timed.idle_gpus.value_or(0));
        std::vector<timed_part> times;
        double seconds = 0;
        for (std::uint64_t i = 0; i < components; ++i) {
            const double own = needs[i] / working / (0.02 + 0.97 * fraction(random));
            seconds += own;
            if (needs[i] != 0 && up_to(2) != 0) {
                times.push_back(
                    {.name = "t" + std::to_string(i), .components = {"c" + std::to_string(i)}, .seconds = own});
            }
        }
        for (std::uint64_t i = 0; i < up_to(2); ++i) {
            times.push_back({.name = "wait " + std::to_string(i), .seconds = seconds * fraction(random) / 3});
            seconds += times.back().seconds;
        }
        // Sometimes the parts are all of the step: nothing is left but what rounding leaves.
        timed.step.seconds = seconds * (up_to(3) == 0 ? 1 : 1 + fraction(random));
        if (timed.step.seconds * static_cast<double>(timed.step.gpus) > 4e9) {
            continue;
        }
        const component_waterfall component_lines(timed, times);
        const sums sum = sums_of(component_lines);
        const std::int64_t all = std::llround(timed.step.seconds * 1e9) * static_cast<std::int64_t>(timed.step.gpus);
        REQUIRE(sum.time == all);
        REQUIRE(component_lines.gpu_nanoseconds() == all);
        floptally::flops useful;
        for (const work_at_peak& entry : timed.work) {
            useful += entry.work.total(floptally::view::useful);
        }
        const std::int64_t at_peak = std::llround(to_double(useful) / 1e12 / timed.step.peak_tflops * 1e9);
        REQUIRE(sum.useful == at_peak);
        REQUIRE(sum.lost == all - at_peak);
        if (component_lines.whole().mfu() <= 1) {  // where parts run faster than at the stated peak it may be more
            REQUIRE(component_lines.whole().lines().front().gpu_nanoseconds == at_peak);
        }
        double points = 0;
        for (const component_line& line : component_lines.lines()) {
            REQUIRE(line.gpu_nanoseconds >= 0);
            REQUIRE(line.useful_nanoseconds >= 0);
            REQUIRE(line.below_peak() >= -2);  // its sums are rounded apart
            REQUIRE(std::isfinite(line.mfu));
            points += component_lines.points(line.lost());
        }
        REQUIRE(points == Approx(100 * (1 - component_lines.whole().mfu())));
    }
}

TEST_CASE("an invalid component time is an error that names the field") {
    const auto refused = [](std::vector<timed_part> times, double apart = 0) {
        time_breakdown timed = by_hand();
        timed.apart = {{"optimizer", apart}};
        return error_of([&] { static_cast<void>(component_waterfall(timed, times)); });
    };
    const timed_part core{.name = "core", .components = {"attention.core"}, .seconds = 0.3};
    CHECK(refused({core}) == "no error");
    CHECK(refused({{.name = "core", .components = {"atention.core"}, .seconds = 0.3}}) ==
          "times[0]: \"core\" lists the component \"atention.core\", but the components of the work are: "
          "attention.core, lm_head, "
          "norm, mlp");
    CHECK(refused({{.name = "core", .components = {"moe.*", "cross*"}, .seconds = 0.3}}) ==
          "times[0]: \"core\" lists the component \"moe.*\", but the components of the work are: attention.core, "
          "lm_head, norm, mlp");
    CHECK(refused({{.name = "core", .components = {"moe.*", "attention.*"}, .seconds = 0.3}}) == "no error");
    CHECK(refused({core, {.name = "again", .components = {"attention.*"}, .seconds = 0.3}}) ==
          "times[1]: \"attention.core\" has two times: list the component in one part only");
    CHECK(
        refused(
            {core,
             {.name = "back", .components = {"attention.core"}, .timed = counted_passes::backward, .seconds = 0.3}}) ==
        "times[1]: \"attention.core\" has two times: list the component in one part only");
    CHECK(refused({core, core}) == "times[1]: \"core\" has two times for the same passes: give one of them");
    CHECK(refused({{.name = "optimizer", .seconds = 0.1}}, 0.1) ==
          "times[1]: \"optimizer\" has two times for the same passes: give one of them");
    CHECK(refused({{.name = "core", .components = {"attention.core"}, .seconds = 0.1}}) ==
          "times[0]: \"core\" needs 0.112500 s of each GPU at its peak, but took only 0.100000 s: check the time, the "
          "peak, the number of GPUs and the components of this part");
    CHECK(refused({{.name = "core", .seconds = -0.1}}) ==
          "times[0]: \"core\" must be from 0 to the 1.000000 s of the step, got -0.100000");
    CHECK(refused({{.name = "core", .seconds = std::nan("")}}) ==
          "times[0]: \"core\" must be from 0 to the 1.000000 s of the step, got nan");
    CHECK(refused({core, {.name = "wait", .seconds = 0.8}}) ==
          "times: add up to 1.100000 s, more than the step's 1.000000 s: pass times of one step that do not overlap");
    CHECK(refused({core, {.name = "wait", .seconds = 0.6}}) ==
          "times: leave 0.100000 s of each GPU for components without a time, but these (lm_head, mlp) need 0.142500 s "
          "at their peak: shorten a time, or list these components in the part that ran them");
}

TEST_CASE("a component waterfall prints as a text table and as Markdown") {
    const std::vector<timed_part> times = {
        {.name = "core", .components = {"attention.core"}, .timed = counted_passes::forward, .seconds = 0.2},
        {.name = "dispatch", .seconds = 0.1}};
    const component_waterfall by_component(by_hand(), times);
    CHECK(to_table(by_component) ==
          "by component  ms of a GPU    % of time    own MFU %    kernels %  points lost   not useful   below peak  "
          "what it "
          "ran\n"
          "core              200.000        20.00        12.50        20.00        17.50         1.50        16.00  "
          "attention.core, forward\n"
          "dispatch          100.000        10.00            -            -        10.00         0.00        10.00\n"
          "not timed         700.000        70.00        27.50        30.71        39.50        -9.00        48.50  "
          "attention.core, lm_head, mlp\n"
          "all              1000.000       100.00        21.75        25.50        67.00        -7.50        74.50\n");
    const std::string markdown = to_markdown(by_component);
    CHECK(
        markdown.rfind("| | ms of a GPU | % of time | own MFU % | kernels % | points lost | not useful | below peak | "
                       "what it ran |\n| --- | --: | --: | --: | --: | --: | --: | --: | --- |\n",
                       0) == 0);
    CHECK(markdown.find("\n| dispatch | 100.000 | 10.00 | - | - | 10.00 | 0.00 | 10.00 |  |\n") != std::string::npos);
}

TEST_CASE("a comparison of two steps lists the largest slowdown first and adds up") {
    std::mt19937_64 random(35);
    const auto milliseconds = [&](std::uint64_t least) { return 1e-3 * static_cast<double>(least + random() % 100); };
    for (int repeat = 0; repeat < 200; ++repeat) {
        time_breakdown timed = by_hand();
        timed.apart = {};
        std::vector<timed_part> before = {{"attention", {"attention.core"}, counted_passes::train, milliseconds(120)},
                                          {"mlp", {"mlp"}, counted_passes::forward, milliseconds(45)},
                                          {"mlp", {"mlp"}, counted_passes::backward, milliseconds(85)},
                                          {"loading", {}, counted_passes::train, milliseconds(0)}};
        std::vector<timed_part> after = before;
        const std::size_t slower = random() % 3;
        const double more = 0.001 + milliseconds(0);
        after[slower].seconds += more;
        after[3].name = "optimizer";  // which only the later step has
        time_breakdown later = timed;
        later.step.seconds += more;
        const component_waterfall first(timed, before);
        const component_waterfall second(later, after);
        const std::vector<floptally::compared_component> all = floptally::compare(first, second);
        double sum = 0;
        double last = 1e9;
        std::size_t alone = 0;
        for (const floptally::compared_component& component : all) {
            REQUIRE(component.slower() <= last);
            last = component.slower();
            sum += component.slower();
            alone += component.before && component.after ? 0 : 1;
            if (component.name == after[slower].name && component.timed == after[slower].timed) {
                REQUIRE(std::abs(component.slower() - more) < 2e-9);
                REQUIRE(component.rate_before / component.rate_after ==
                        Approx(after[slower].seconds / before[slower].seconds));
            } else if (component.before && component.after) {
                REQUIRE(std::abs(component.slower()) < 2e-9);
            }
        }
        REQUIRE(all.size() == 6);
        REQUIRE(alone == 2);
        REQUIRE(std::abs(sum - more) < 1e-8);
    }
}

}  // namespace component_times_test

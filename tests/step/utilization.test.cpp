// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace utilization_test {
namespace {

using namespace floptally;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A step with work of one component and phase: `tera` · 10¹² FLOPs on one token.
struct one_token_step {
    explicit one_token_step(std::uint64_t tera) {
        cost model;
        model.add("mlp", linear{.in_features = tera * 1'000'000, .out_features = 500'000});
        batch.add(sequence{.length = 1});
        work = evaluate(model, batch, conventions::exact, {.counted = counted_passes::forward});
    }

    tally batch;
    breakdown work;
};

bool is_near(double value, double expected) { return std::abs(value - expected) <= 1e-12 * std::abs(expected); }

/// Per cent with two decimals, as published.
std::int64_t hundredths_of_per_cent(double fraction) { return std::llround(1e4 * fraction); }

constexpr constant_cost llama = presets::llama_3_8b.cost();

struct llama_step {
    llama_step() {
        batch.add(sequence{.length = 4000}, sequence{.length = 4096});
        batch.add(sequence{.length = 8192});
        work = evaluate(llama, batch, conventions::exact, {.recomputed = recompute::full});
    }

    tally batch{llama.masks()};
    breakdown work;
};

}  // namespace

TEST_CASE("the published rates of 16 H100 give the published MFU", "[utilization]") {
    // Global TFLOP/s and the MFU that was published with it, against 989 dense bf16 TFLOP/s a GPU.
    struct published {
        std::uint64_t tflops;
        std::int64_t mfu;  ///< in hundredths of a per cent
    };
    for (const published& row : {published{1092, 690}, {1667, 1053}, {3933, 2485}, {3919, 2477}, {2880, 1820}}) {
        CAPTURE(row.tflops);
        const one_token_step step(row.tflops);
        REQUIRE(step.work.total() == flops{uint128{row.tflops} * 1'000'000'000'000U});
        const utilization u = utilize(step.work, step.batch, {.seconds = 1, .gpus = 16, .peak_tflops = 989});
        CHECK(hundredths_of_per_cent(u.mfu) == row.mfu);
        CHECK(is_near(u.tflops_per_gpu, static_cast<double>(row.tflops) / 16));
    }
}

TEST_CASE("MFU, padded MFU and HFU use their own view, and token rates count real tokens", "[utilization]") {
    const llama_step step;
    const double seconds = 2.5;
    const utilization u = utilize(step.work, step.batch, {.seconds = seconds, .gpus = 8, .peak_tflops = 989});
    const double available = seconds * 8 * 989e12;
    CHECK(is_near(u.mfu, to_double(step.work.total(view::useful)) / available));
    CHECK(is_near(u.padded_mfu, to_double(step.work.total(view::padded)) / available));
    CHECK(is_near(u.hfu, to_double(step.work.total(view::executed)) / available));
    CHECK(u.mfu < u.padded_mfu);
    CHECK(u.padded_mfu < u.hfu);
    CHECK(is_near(u.tflops_per_gpu, to_double(step.work.total(view::useful)) / (seconds * 8) / 1e12));
    CHECK(is_near(u.tflops_per_gpu / 989, u.mfu));
    CHECK(is_near(u.tokens_per_second, (4000 + 8192) / seconds));
}

TEST_CASE("doubling the GPUs, the time or the peak halves utilization", "[utilization]") {
    const llama_step step;
    const measurement base{.seconds = 2.5, .gpus = 8, .peak_tflops = 989};
    const double mfu = utilize(step.work, step.batch, base).mfu;
    for (const measurement& twice : {measurement{5, 8, 989}, {2.5, 16, 989}, {2.5, 8, 2 * 989}}) {
        CHECK(is_near(2 * utilize(step.work, step.batch, twice).mfu, mfu));
    }
}

TEST_CASE("zero FLOPs are zero utilization", "[utilization]") {
    const utilization u = utilize(breakdown{}, tally{}, {.seconds = 1, .gpus = 1, .peak_tflops = 989});
    CHECK(u.mfu == 0);
    CHECK(u.padded_mfu == 0);
    CHECK(u.hfu == 0);
    CHECK(u.tflops_per_gpu == 0);
    CHECK(u.tokens_per_second == 0);
    CHECK(mixed_precision_mfu(breakdown{}, {.seconds = 1, .gpus = 1, .peak_tflops = 989}, {}) == 0);
}

TEST_CASE("an invalid measurement is an error that names its field", "[utilization][errors]") {
    const one_token_step step(1);
    const auto problem = [&](const measurement& measured) {
        const std::string simple = error_of([&] { return utilize(step.work, step.batch, measured); });
        CHECK(error_of([&] { return mixed_precision_mfu(step.work, measured, {}); }) == simple);
        return simple;
    };
    CHECK(problem({1, 1, 989}) == "no error");
    CHECK(problem({0, 1, 989}) == "seconds: must be a finite number above 0, got 0.000000");
    CHECK(problem({-1.5, 1, 989}) == "seconds: must be a finite number above 0, got -1.500000");
    CHECK(problem({infinity, 1, 989}) == "seconds: must be a finite number above 0, got inf");
    CHECK(problem({-infinity, 1, 989}) == "seconds: must be a finite number above 0, got -inf");
    CHECK(problem({not_a_number, 1, 989}) == "seconds: must be a finite number above 0, got nan");
    CHECK(problem({1, 0, 989}) == "gpus: must be at least 1, got 0");
    CHECK(problem({1, 1, 0}) == "peak_tflops: must be a finite number above 0, got 0.000000");
    CHECK(problem({1, 1, -989}) == "peak_tflops: must be a finite number above 0, got -989.000000");
    CHECK(problem({1, 1, infinity}) == "peak_tflops: must be a finite number above 0, got inf");
    CHECK(problem({1, 1, not_a_number}) == "peak_tflops: must be a finite number above 0, got nan");
    // The first of several.
    CHECK(problem({}) == "seconds: must be a finite number above 0, got 0.000000");
}

TEST_CASE("a measurement whose rates are not finite is an error", "[utilization][errors]") {
    const one_token_step step(1);
    const auto problem = [&](const measurement& measured) {
        return error_of([&] { return utilize(step.work, step.batch, measured); });
    };
    CHECK(problem({1e308, 1000, 989}).starts_with("seconds: must be a finite number above 0, got inf"));
    CHECK(problem({1e300, 1, 1e300}) ==
          "peak_tflops: must be in TFLOP/s of one GPU, such as 989, but no GPU has 1e+300");
    CHECK(problem({1e-300, 1, 1e-300}) ==
          "peak_tflops: is out of range, because the rate divided by it is zero or infinite: check its unit");
    CHECK(problem({5e-324, 1, 989}) ==
          "seconds: is out of range, because the rate divided by it is zero or infinite: check its unit");
}

TEST_CASE("a mixed-precision measurement whose rates are not finite is an error", "[utilization][errors]") {
    const one_token_step step(1);
    const auto problem = [&](const measurement& measured) {
        return error_of([&] { return mixed_precision_mfu(step.work, measured, {}); });
    };
    CHECK(problem({1e308, 1000, 989}) == "seconds: must be a finite number above 0, got inf");
    CHECK(problem({1e200, 1, 1e300}) ==
          "peak_tflops: must be in TFLOP/s of one GPU, such as 989, but no GPU has 1e+300");
    CHECK(problem({1e-308, 1, 1e-12}) ==
          "seconds: is out of range, because the rate divided by it is zero or infinite: check its unit");
}

TEST_CASE("measurements at the limits of a double give finite rates or an error", "[utilization]") {
    const one_token_step step(1);
    CHECK_THROWS_AS(utilize(step.work, step.batch, {.seconds = 5e-324, .gpus = 1, .peak_tflops = 1e5}), error);
    const utilization u = utilize(step.work, step.batch, {.seconds = 1e-200, .gpus = 1, .peak_tflops = 1e5});
    CHECK(std::isfinite(u.tflops_per_gpu));
    CHECK(std::isfinite(u.tokens_per_second));
    CHECK(u.mfu > 0);
}

TEST_CASE("a peak above 100000 TFLOP/s is an error that names the unit", "[utilization][errors]") {
    const one_token_step step(1);
    const auto problem = [&](double peak_tflops) {
        return error_of([&] { return utilize(step.work, step.batch, {1, 1, peak_tflops}); });
    };
    CHECK(problem(1e5) == "no error");
    CHECK(problem(100'001) ==
          "peak_tflops: must be in TFLOP/s of one GPU, but no GPU has 100001; if you mean GFLOP/s, pass 100.001");
    CHECK(problem(989.4e12) ==
          "peak_tflops: must be in TFLOP/s of one GPU, but no GPU has 9.894e+14; if you mean FLOP/s, pass 989.4");
    CHECK(error_of([&] {
              return mixed_precision_mfu(step.work, {1, 1, 989}, std::vector{component_peak{"mlp", 989e12}});
          }).starts_with("peak_tflops: must be in TFLOP/s"));
}

TEST_CASE("a utilization explains in a sentence why its rates are implausible", "[utilization]") {
    const llama_step trains;
    const auto doubt = [](const auto& step, double seconds) {
        return utilize(step.work, step.batch, {.seconds = seconds, .gpus = 8, .peak_tflops = 989}).doubt;
    };
    CHECK(doubt(trains, 2.5).empty());
    const char* const too_fast = "more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right";
    CHECK(doubt(trains, 0.0025) == too_fast);
    CHECK(doubt(trains, 2500) == "an MFU below 0.1 %: seconds, gpus or the peak may be in another unit");
    // An HFU above the peak is as impossible, also where the MFU is below it.
    const utilization rates = utilize(trains.work, trains.batch, {.seconds = 0.085, .gpus = 8, .peak_tflops = 989});
    CHECK(rates.mfu < 1);
    CHECK(rates.hfu > 1);
    CHECK(rates.doubt == too_fast);
    // A forward alone may wait for memory.
    const one_token_step forward(1);
    CHECK(doubt(forward, 1.0 / 8 / 989 * 2000).empty());
    CHECK(doubt(forward, 1.0 / 8 / 989 * 200'000)
              .ends_with("below 0.001 %: seconds, gpus or the peak may be in another unit"));
    CHECK(doubt(one_token_step(0), 1).empty());
}

TEST_CASE("a breakdown and a utilization print as text", "[utilization]") {
    const one_token_step step(2);
    const utilization rates = utilize(step.work, step.batch, {.seconds = 1, .gpus = 1, .peak_tflops = 4});
    const auto written = [](const auto& value) {
        std::ostringstream to;
        to << value;
        return to.str();
    };
    CHECK(written(step.work) == "2000000000000 FLOP (mlp 2000000000000)");
    CHECK(written(breakdown{}) == "0 FLOP");
    CHECK(written(rates) == "MFU 50 %, padded MFU 50 %, HFU 50 %, 2 TFLOP/s per GPU, 1 tokens/s");
    CHECK(written(utilize(step.work, step.batch, {.seconds = 1, .gpus = 1, .peak_tflops = 1})) ==
          "MFU 200 %, padded MFU 200 %, HFU 200 %, 2 TFLOP/s per GPU, 1 tokens/s; more FLOPs than the peak allows: "
          "seconds, "
          "gpus or the peak cannot all be right");
    CHECK(written(view::executed) == "executed");
    CHECK(written(phase::backward_weights) == "backward_weights");
    CHECK(written(accumulator::crossed) == "crossed");
    CHECK(written(component_name("moe.experts")) == "moe.experts");
    CHECK(written(mask::sliding_window(4096)) == "sliding_window(4096)");
    breakdown at_most = step.work;
    at_most.mark_upper_bound();
    CHECK(written(at_most) == "at most 2000000000000 FLOP (mlp 2000000000000)");
}

// Fails, so that ctest sees what Catch2 writes: failed_check.
TEST_CASE("a failed CHECK prints the values of both operands", "[.]") {
    tally batch{llama.masks()};
    batch.add(sequence{.length = 8192});
    CHECK(evaluate(llama, batch).total() == 421'651'971'833'855);
    CHECK(view::useful == view::executed);
    CHECK(evaluate(llama, batch).components()[0].name == component_name("mlp"));
}

// ---- mixed precision ----

TEST_CASE("utilizations of components that are timed at their own peaks add up to the utilization of the step",
          "[utilization]") {
    const llama_step step;
    const measurement measured{.seconds = 2.5, .gpus = 8, .peak_tflops = 989};
    const std::vector<component_peak> fp8{{"attention.qkv", 1978.9}, {"attention.output", 1978.9}, {"mlp", 1978.9}};
    // The least that 8 GPUs need: the matrices of the layers in fp8, the core and the lm_head in bf16.
    double seconds = 0;
    for (const char* name : {"attention.qkv", "attention.output", "mlp"}) {
        seconds += to_double(step.work[name].total(view::useful)) / 1978.9e12 / 8;
    }
    for (const char* name : {"attention.core", "lm_head"}) {
        seconds += to_double(step.work[name].total(view::useful)) / 989e12 / 8;
    }
    const double mfu = mixed_precision_mfu(step.work, measured, fp8);
    CHECK(is_near(mfu, seconds / 2.5));
    CHECK(mfu < utilize(step.work, step.batch, measured).mfu);
}

TEST_CASE("equal peaks for all components give the same MFU as one peak", "[utilization]") {
    const llama_step step;
    const measurement measured{.seconds = 2.5, .gpus = 8, .peak_tflops = 989};
    const double mfu = utilize(step.work, step.batch, measured).mfu;
    CHECK(is_near(mixed_precision_mfu(step.work, measured, {}), mfu));
    std::vector<component_peak> all;
    for (const component_flops& component : step.work.components()) {
        all.push_back({component.name.view(), 989});
        CHECK(is_near(mixed_precision_mfu(step.work, measured, all), mfu));
    }
    // Where every component has a peak of its own, the default serves none.
    CHECK(is_near(mixed_precision_mfu(step.work, {2.5, 8, 1}, all), mfu));
    for (component_peak& peak : all) {
        peak.peak_tflops = 2 * 989;
    }
    CHECK(is_near(2 * mixed_precision_mfu(step.work, measured, all), mfu));
}

TEST_CASE("an unknown component or an invalid peak is an error", "[utilization][errors]") {
    const llama_step step;
    const auto problem = [&](const component_peak& peak) {
        const std::vector<component_peak> peaks{{"mlp", 1978.9}, peak};
        return error_of([&] { return mixed_precision_mfu(step.work, {2.5, 8, 989}, peaks); });
    };
    CHECK(problem({"lm_head", 989}) == "no error");
    CHECK(problem({"moe.experts", 1978.9}) ==
          R"(component: this model counts no component named "moe.experts": use a name that the breakdown shows)");
    CHECK(problem({"", 1978.9}) ==
          R"(component: this model counts no component named "": use a name that the breakdown shows)");
    CHECK(problem({"mlp", 989}) == "component: \"mlp\" has two peaks: name each component once");
    CHECK(problem({"lm_head", 0}) == "peak_tflops: must be a finite number above 0, got 0.000000");
    CHECK(problem({"lm_head", -1}) == "peak_tflops: must be a finite number above 0, got -1.000000");
    CHECK(problem({"lm_head", not_a_number}) == "peak_tflops: must be a finite number above 0, got nan");
    CHECK(problem({"lm_head", infinity}) == "peak_tflops: must be a finite number above 0, got inf");
}

TEST_CASE("the largest double is accepted as a measurement and infinity is an error", "[utilization][errors]") {
    CHECK_NOTHROW(detail::require_finite_positive(std::numeric_limits<double>::max(), "seconds"));
    CHECK(error_of([] { detail::require_finite_positive(infinity, "seconds"); }) ==
          "seconds: must be a finite number above 0, got inf");
}

// ---- the one conversion ----

TEST_CASE("a FLOP count below 2^53 is an exact double and a larger one rounds to nearest even", "[utilization]") {
    const auto at = [](unsigned exponent, uint128 more = 0) { return flops{(uint128{1} << exponent) + more}; };
    const auto power = [](int exponent) { return std::ldexp(1.0, exponent); };
    CHECK(to_double(flops{}) == 0);
    CHECK(to_double(flops{1}) == 1);
    CHECK(to_double(flops{(uint128{1} << 53) - 1}) == power(53) - 1);
    CHECK(to_double(at(53)) == power(53));
    CHECK(to_double(at(53, 1)) == power(53));
    CHECK(to_double(at(53, 2)) == power(53) + 2);
    CHECK(to_double(at(53, 3)) == power(53) + 4);
    CHECK(to_double(at(64)) == power(64));
    CHECK(to_double(at(64, 2048)) == power(64));
    CHECK(to_double(at(64, 2049)) == power(64) + 4096);
    // 2^100: neighbours are 2^48 apart.
    const uint128 half = uint128{1} << 47;
    CHECK(to_double(at(100)) == power(100));
    CHECK(to_double(at(100, half - 1)) == power(100));
    CHECK(to_double(at(100, half)) == power(100));
    CHECK(to_double(at(100, half + 1)) == power(100) + power(48));
    CHECK(to_double(at(100, 2 * half)) == power(100) + power(48));
    CHECK(to_double(at(100, 3 * half)) == power(100) + power(49));
    CHECK(to_double(flops{~uint128{0}}) == power(128));
    static_assert(to_double(flops{uint128{1} << 100}) == 0x1p100);
    static_assert(to_double(flops{(uint128{1} << 53) + 3}) == 0x1p53 + 4);
}

}  // namespace utilization_test

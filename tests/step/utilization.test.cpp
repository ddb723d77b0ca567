// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
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

TEST_CASE("published rates of 16 H100 are the published MFU", "[utilization]") {
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

TEST_CASE("each fraction is of its own view, and the rates are of real tokens", "[utilization]") {
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

TEST_CASE("twice the GPUs, the time or the peak is half the utilization", "[utilization]") {
    const llama_step step;
    const measurement base{.seconds = 2.5, .gpus = 8, .peak_tflops = 989};
    const double mfu = utilize(step.work, step.batch, base).mfu;
    for (const measurement& twice : {measurement{5, 8, 989}, {2.5, 16, 989}, {2.5, 8, 2 * 989}}) {
        CHECK(is_near(2 * utilize(step.work, step.batch, twice).mfu, mfu));
    }
}

TEST_CASE("no work is no utilization", "[utilization]") {
    const utilization u = utilize(breakdown{}, tally{}, {.seconds = 1, .gpus = 1, .peak_tflops = 989});
    CHECK(u.mfu == 0);
    CHECK(u.padded_mfu == 0);
    CHECK(u.hfu == 0);
    CHECK(u.tflops_per_gpu == 0);
    CHECK(u.tokens_per_second == 0);
    CHECK(mixed_precision_mfu(breakdown{}, {.seconds = 1, .gpus = 1, .peak_tflops = 989}, {}) == 0);
}

TEST_CASE("a measurement that cannot be is an error that names its field", "[utilization][errors]") {
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

TEST_CASE("a measurement whose product is no number is an error and no utilization", "[utilization][errors]") {
    const one_token_step step(1);
    const auto problem = [&](const measurement& measured) {
        return error_of([&] { return utilize(step.work, step.batch, measured); });
    };
    CHECK(problem({1e308, 1000, 989}).starts_with("seconds: must be a finite number above 0, got inf"));
    CHECK(problem({1e300, 1, 1e300}) == "peak_tflops: is out of range: a rate over it is zero or infinite");
    CHECK(problem({1e-300, 1, 1e-300}) == "peak_tflops: is out of range: a rate over it is zero or infinite");
    CHECK(problem({5e-324, 1, 989}) == "seconds: is out of range: a rate over it is zero or infinite");
}

TEST_CASE("a mixed-precision measurement whose product is no number is an error too", "[utilization][errors]") {
    const one_token_step step(1);
    const auto problem = [&](const measurement& measured) {
        return error_of([&] { return mixed_precision_mfu(step.work, measured, {}); });
    };
    CHECK(problem({1e308, 1000, 989}) == "seconds: must be a finite number above 0, got inf");
    CHECK(problem({1e200, 1, 1e300}) == "seconds: is out of range: a rate over it is zero or infinite");
}

TEST_CASE("a measurement at the edge of a double is counted or refused, never infinite", "[utilization]") {
    const one_token_step step(1);
    CHECK_THROWS_AS(utilize(step.work, step.batch, {.seconds = 5e-324, .gpus = 1, .peak_tflops = 1e300}), error);
    const utilization u = utilize(step.work, step.batch, {.seconds = 1e-200, .gpus = 1, .peak_tflops = 1e200});
    CHECK(std::isfinite(u.tflops_per_gpu));
    CHECK(std::isfinite(u.tokens_per_second));
    CHECK(u.mfu > 0);
}

// ---- mixed precision ----

TEST_CASE("each component's time at its own peak is added up", "[utilization]") {
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

TEST_CASE("equal peaks are one peak", "[utilization]") {
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

TEST_CASE("a peak of an unknown component, or one that cannot be, is an error", "[utilization][errors]") {
    const llama_step step;
    const auto problem = [&](const component_peak& peak) {
        const std::vector<component_peak> peaks{{"mlp", 1978.9}, peak};
        return error_of([&] { return mixed_precision_mfu(step.work, {2.5, 8, 989}, peaks); });
    };
    CHECK(problem({"lm_head", 989}) == "no error");
    CHECK(problem({"moe.experts", 1978.9}) == R"(component: this model counts no component named "moe.experts")");
    CHECK(problem({"", 1978.9}) == R"(component: this model counts no component named "")");
    CHECK(problem({"mlp", 989}) == "component: \"mlp\" has two peaks");
    CHECK(problem({"lm_head", 0}) == "peak_tflops: must be a finite number above 0, got 0.000000");
    CHECK(problem({"lm_head", -1}) == "peak_tflops: must be a finite number above 0, got -1.000000");
    CHECK(problem({"lm_head", not_a_number}) == "peak_tflops: must be a finite number above 0, got nan");
    CHECK(problem({"lm_head", infinity}) == "peak_tflops: must be a finite number above 0, got inf");
}

TEST_CASE("the largest double is finite", "[utilization][errors]") {
    CHECK_NOTHROW(detail::require_finite_positive(std::numeric_limits<double>::max(), "seconds"));
    CHECK(error_of([] { detail::require_finite_positive(infinity, "seconds"); }) ==
          "seconds: must be a finite number above 0, got inf");
}

// ---- the one conversion ----

TEST_CASE("a count below 2^53 is its double, and a larger one is rounded to the nearest, ties to even",
          "[utilization]") {
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

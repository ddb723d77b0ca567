// SPDX-License-Identifier: Apache-2.0
//
// Percentiles are compared with those of the sorted durations.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <floptally/step/duration_histogram.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace duration_histogram_test {
namespace {

using floptally::duration_histogram;

/// The nearest-rank percentile of a sorted list.
double exact_percentile(const std::vector<double>& sorted, double percent) {
    std::size_t rank = 1;
    while (100 * static_cast<double>(rank) < percent * static_cast<double>(sorted.size())) {
        ++rank;
    }
    return sorted[rank - 1];
}

std::vector<double> durations(int kind, std::size_t number) {
    std::mt19937_64 engine(7);
    std::lognormal_distribution<double> skewed(-1, 1.5);
    std::uniform_real_distribution<double> flat(0.3, 0.4);
    std::uniform_real_distribution<double> exponent(-19, 19);
    std::vector<double> all;
    while (all.size() < number) {
        all.push_back(kind == 0   ? skewed(engine)
                      : kind == 1 ? flat(engine)
                      : kind == 2 ? std::exp2(exponent(engine))
                                  : (engine() % 20 == 0 ? 9.0 : 0.4));
    }
    return all;
}

}  // namespace

TEST_CASE("each logged percentile of a hundred growing step times is within 1/128 of the exact percentile") {
    duration_histogram histogram;
    const auto nth = [](int n) { return 0.01 * std::pow(1.1, n); };
    for (int n = 100; n > 0; --n) {
        histogram.add(nth(n));
    }
    const floptally::duration_percentiles found = floptally::percentiles(histogram, 7);
    CHECK(found.left_out == 7);
    CHECK(found.steps == 100);
    const std::pair<int, double> all[] = {{10, found.p10}, {25, found.p25}, {50, found.p50},
                                          {75, found.p75}, {90, found.p90}, {99, found.p99}};
    for (const auto& [percent, seconds] : all) {
        INFO("p" << percent);
        CHECK(std::abs(seconds - nth(percent)) <= nth(percent) / 128);
    }
}

TEST_CASE("percentiles of a duration histogram are within 1/128 of those of the sorted durations") {
    for (const int kind : {0, 1, 2, 3}) {
        for (const std::size_t number : {1U, 2U, 3U, 20U, 101U, 20'000U}) {
            std::vector<double> all = durations(kind, number);
            duration_histogram histogram;
            for (const double seconds : all) {
                histogram.add(seconds);
            }
            std::sort(all.begin(), all.end());
            CHECK(histogram.count() == number);
            CHECK(histogram.min() == all.front());
            CHECK(histogram.max() == all.back());
            CHECK(histogram.percentile(100) == all.back());
            for (const double percent : {0.001, 1.0, 5.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9}) {
                INFO("kind " << kind << ", " << number << " durations, p" << percent);
                const double exact = exact_percentile(all, percent);
                CHECK(std::abs(histogram.percentile(percent) - exact) <= exact / 128);
            }
        }
    }
}

TEST_CASE("durations outside the buckets of a histogram still count in the number, minimum and maximum of durations") {
    duration_histogram histogram;
    histogram.add(1e-12);
    histogram.add(std::numeric_limits<double>::denorm_min());
    histogram.add(1e300);
    CHECK(histogram.count() == 3);
    CHECK(histogram.min() == std::numeric_limits<double>::denorm_min());
    CHECK(histogram.max() == 1e300);
    CHECK(histogram.percentile(50) <= 1e-6);
}

TEST_CASE(
    "a percentile of the shortest durations is exact to 1/128, and a duration histogram accepts the largest double") {
    duration_histogram histogram;
    for (const double part : {1.0, 1.9, 1.95}) {
        histogram.add(std::ldexp(part, -20));
    }
    CHECK(std::abs(histogram.percentile(50) - std::ldexp(1.9, -20)) <= std::ldexp(1.9, -20) / 128);
    histogram.add(std::numeric_limits<double>::max());
    CHECK(histogram.max() == std::numeric_limits<double>::max());
}

TEST_CASE("invalid durations, percentiles and buckets are errors") {
    duration_histogram histogram;
    CHECK(error_of([&] { return histogram.percentile(50); }) ==
          "step_seconds: no step has ended yet: ask for times after the first step");
    CHECK(error_of([&] { return histogram.min(); }) ==
          "step_seconds: no step has ended yet: ask for times after the first step");
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
        CHECK(error_of([&] {
                  histogram.add(bad);
                  return 0;
              }).rfind("seconds: must be a finite number above 0", 0) == 0);
    }
    CHECK(histogram.count() == 0);
    histogram.add(0.5);
    for (const double bad : {0.0, -1.0, 100.5, std::nan("")}) {
        CHECK(error_of([&] { return histogram.percentile(bad); }).rfind("percentile: must be above 0", 0) == 0);
    }
    std::array<std::uint64_t, duration_histogram::bucket_count> buckets{};
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        buckets[i] = histogram.bucket(i);
    }
    CHECK(duration_histogram::from_buckets(buckets, 0.5, 0.5) == histogram);
    duration_histogram two = histogram;  // as many in one bucket as in another
    two.add(4);
    std::array<std::uint64_t, duration_histogram::bucket_count> of_two{};
    for (std::size_t i = 0; i < of_two.size(); ++i) {
        of_two[i] = two.bucket(i);
    }
    CHECK(duration_histogram::from_buckets(of_two, 0.5, 4) == two);
    CHECK(error_of([&] { return duration_histogram::from_buckets(buckets, 0.4, 0.5); }) ==
          "step_seconds: min 0.400000 and max 0.500000 are not among the durations: the saved histogram is damaged, so "
          "load an earlier one");
    CHECK(error_of([&] { return duration_histogram::from_buckets(buckets, 0.5, 0.25); }) ==
          "step_seconds: min 0.500000 and max 0.250000 are not among the durations: the saved histogram is damaged, so "
          "load an earlier one");
    buckets[0] = std::numeric_limits<std::uint64_t>::max();
    CHECK(error_of([&] { return duration_histogram::from_buckets(buckets, 0.5, 0.5); }) ==
          "step_seconds: the number of durations must fit 64 bits: the saved histogram is damaged, so load an earlier "
          "one");
}

}  // namespace duration_histogram_test

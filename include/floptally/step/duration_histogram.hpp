// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <floptally/text/error.hpp>

/// @file
/// A histogram of step times with fixed memory, and its percentiles.

namespace floptally::inline v0_3 {

/// A histogram of durations in seconds: 64 buckets for each power of two from 2^-20 s (1 µs) to 2^20 s (12 days).
///
/// The count, minimum and maximum of the histogram are exact. A percentile has a relative error of at most 1/128 (0.79
/// %), for any distribution and any number of durations. (The P² algorithm has no such bound.) Durations outside the
/// range count in the first or last bucket.
class duration_histogram {
  public:
    static constexpr int first_octave = -20;
    static constexpr std::size_t octaves = 40;
    static constexpr std::size_t buckets_per_octave = 64;
    static constexpr std::size_t bucket_count = octaves * buckets_per_octave;

    /// Adds a duration in seconds.
    void add(double seconds) {
        if (!(seconds > 0) || seconds > std::numeric_limits<double>::max()) {
            detail::refuse("seconds", {"must be a finite number above 0, got ", std::to_string(seconds)});
        }
        ++buckets_[bucket_of(seconds)];
        min_ = count_ == 0 || seconds < min_ ? seconds : min_;
        max_ = count_ == 0 || seconds > max_ ? seconds : max_;
        ++count_;
    }

    /// Returns the number of durations.
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Returns the shortest duration in seconds.
    [[nodiscard]] double min() const {
        require_any();
        return min_;
    }
    /// Returns the longest duration in seconds.
    [[nodiscard]] double max() const {
        require_any();
        return max_;
    }

    /// Returns the percentile by nearest rank: the shortest duration d such that at least `percent` % of all durations
    /// are at most d.
    [[nodiscard]] double percentile(double percent) const {
        if (!(percent > 0 && percent <= 100)) {
            detail::refuse("percentile", {"must be above 0 and at most 100, got ", std::to_string(percent)});
        }
        require_any();
        const auto rank = static_cast<std::uint64_t>(__builtin_ceil(percent * static_cast<double>(count_) / 100));
        if (rank <= 1 || rank >= count_) {
            return rank <= 1 ? min_ : max_;
        }
        std::size_t bucket = 0;
        for (std::uint64_t below = buckets_[0]; below < rank; below += buckets_[bucket]) {
            ++bucket;
        }
        const double middle = middle_of(bucket);
        return middle < min_ ? min_ : middle > max_ ? max_ : middle;
    }

    /// Returns the number of durations in a bucket.
    [[nodiscard]] std::uint64_t bucket(std::size_t index) const { return buckets_.at(index); }

    /// Restores a histogram from the bucket counts of a checkpoint.
    [[nodiscard]] static duration_histogram from_buckets(const std::array<std::uint64_t, bucket_count>& buckets,
                                                         double min, double max) {
        duration_histogram restored;
        restored.buckets_ = buckets;
        for (const std::uint64_t number : buckets) {
            if (restored.count_ + number < number) {
                throw overflow(
                    "step_seconds",
                    "the number of durations must fit 64 bits: the saved histogram is damaged, so load an earlier one");
            }
            restored.count_ += number;
        }
        if (restored.count_ != 0) {
            const bool ordered = min > 0 && min <= max && max <= std::numeric_limits<double>::max();
            if (!ordered || buckets[bucket_of(min)] == 0 || buckets[bucket_of(max)] == 0) {
                detail::refuse(
                    "step_seconds",
                    {"min ", std::to_string(min), " and max ", std::to_string(max),
                     " are not among the durations: the saved histogram is damaged, so load an earlier one"});
            }
            restored.min_ = min;
            restored.max_ = max;
        }
        return restored;
    }

    [[nodiscard]] friend bool operator==(const duration_histogram&, const duration_histogram&) = default;

  private:
    void require_any() const {
        if (count_ == 0) {
            throw error("step_seconds", "no step has ended yet: ask for times after the first step");
        }
    }

    // Returns the index of the bucket of a duration. Uses compiler builtins instead of <cmath>, which would add 13 % to
    // the compile time of <floptally/meter.hpp>.
    [[nodiscard]] static std::size_t bucket_of(double seconds) {
        const int exponent = __builtin_ilogb(seconds);
        const int octave = exponent - first_octave;
        if (octave < 0) {
            return 0;
        }
        if (octave >= static_cast<int>(octaves)) {
            return bucket_count - 1;
        }
        const double part = (__builtin_scalbn(seconds, -exponent) - 1) * static_cast<double>(buckets_per_octave);
        return static_cast<std::size_t>(octave) * buckets_per_octave + static_cast<std::size_t>(part);
    }

    [[nodiscard]] static double middle_of(std::size_t bucket) {
        const double part = static_cast<double>(bucket % buckets_per_octave) + 0.5;
        return __builtin_ldexp(1 + part / static_cast<double>(buckets_per_octave),
                               static_cast<int>(bucket / buckets_per_octave) + first_octave);
    }

    std::array<std::uint64_t, bucket_count> buckets_{};
    std::uint64_t count_ = 0;
    double min_ = 0;
    double max_ = 0;
};

/// Percentiles of step times in seconds. p90 is the duration at position ⌈90·n/100⌉ of the n sorted durations, with a
/// relative error of at most 1/128. The shortest and the longest duration are exact.
struct duration_percentiles {
    std::uint64_t left_out = 0;  ///< number of steps at the start of the run that the percentiles leave out
    std::uint64_t steps = 0;     ///< number of steps in the percentiles
    double p10 = 0;
    double p25 = 0;
    double p50 = 0;
    double p75 = 0;
    double p90 = 0;
    double p99 = 0;

    [[nodiscard]] friend bool operator==(const duration_percentiles&, const duration_percentiles&) = default;
};

/// Returns the percentiles of durations. `durations` must not contain the first `left_out` steps.
[[nodiscard]] inline duration_percentiles percentiles(const duration_histogram& durations, std::uint64_t left_out) {
    if (durations.count() == 0) {
        detail::refuse("steps", {"no step is left to report, since the first ", left_out,
                                 " steps are left out: run more steps, or leave out fewer"});
    }
    return {.left_out = left_out,
            .steps = durations.count(),
            .p10 = durations.percentile(10),
            .p25 = durations.percentile(25),
            .p50 = durations.percentile(50),
            .p75 = durations.percentile(75),
            .p90 = durations.percentile(90),
            .p99 = durations.percentile(99)};
}

}  // namespace floptally

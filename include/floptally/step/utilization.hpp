// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/hardware/accelerator.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The MFU, HFU and rates of a step.

namespace floptally::inline v0_3 {

/// The time of a step, and the number and peak of its GPUs.
struct measurement {
    double seconds = 0;      ///< time of the step on the wall clock, above 0
    std::uint64_t gpus = 0;  ///< GPUs that worked on the batch, at least 1
    double peak_tflops = 0;  ///< dense peak of one GPU, in 10¹² FLOP/s
};

/// The rates of a step.
struct utilization {
    double mfu = 0;             ///< useful FLOPs ÷ (seconds x GPUs x peak): model FLOPs utilization, 0.412 is 41.2 %
    double padded_mfu = 0;      ///< padded FLOPs ÷ (seconds x GPUs x peak)
    double hfu = 0;             ///< executed FLOPs ÷ (seconds x GPUs x peak): hardware FLOPs utilization
    double tflops_per_gpu = 0;  ///< useful FLOPs, in 10¹² FLOP/s of one GPU
    double tokens_per_second = 0;  ///< real tokens per second of all GPUs together; patches in a model without text
    std::string_view doubt{};      ///< why these rates cannot be right (`doubt_of`); empty if they can
};

/// Returns the rates as one line: "MFU 41.2 %, padded MFU 45 %, HFU 52.1 %, 407 TFLOP/s per GPU, 8300 tokens/s". If
/// `doubt` is not empty, it follows after a semicolon.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string to_string(const utilization& rates) {
    return detail::text_of({"MFU ", detail::rounded(100 * rates.mfu, 4), " %, padded MFU ",
                            detail::rounded(100 * rates.padded_mfu, 4), " %, HFU ", detail::rounded(100 * rates.hfu, 4),
                            " %, ", detail::rounded(rates.tflops_per_gpu, 4), " TFLOP/s per GPU, ",
                            detail::rounded(rates.tokens_per_second, 6), " tokens/s", rates.doubt.empty() ? "" : "; ",
                            rates.doubt});
}

/// Writes the rates as one line, as `to_string` does.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const utilization& rates) {
    return to << to_string(rates);
}

/// The peak of a component whose precision differs from that of the rest of the step.
struct component_peak {
    std::string_view component;
    double peak_tflops = 0;
};

/// Returns the FLOPs as the nearest double; exact up to 2^53.
[[nodiscard]] constexpr double to_double(flops work) { return static_cast<double>(work.value()); }

/// Returns the least plausible MFU. A lower MFU probably means that seconds, GPUs or the peak are in another unit. It
/// is 0.1 % for a training step. For a forward pass alone, which may be limited by memory bandwidth, it is 0.001 %.
[[nodiscard]] constexpr double least_plausible_mfu(counted_passes counted) {
    return counted == counted_passes::forward ? 1e-5 : 1e-3;
}

namespace detail {

/// Returns a constant text for an implausible MFU: the text of `doubt_of` without the number. Empty if the MFU is
/// plausible.
[[nodiscard]] constexpr std::string_view doubt_text(double mfu, counted_passes counted) {
    if (mfu > 1) {
        return "more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right";
    }
    if (mfu > 0 && mfu < least_plausible_mfu(counted)) {
        return counted == counted_passes::forward
                   ? "an MFU below 0.001 %: seconds, gpus or the peak may be in another unit"
                   : "an MFU below 0.1 %: seconds, gpus or the peak may be in another unit";
    }
    return {};
}

}  // namespace detail

/// Returns why an MFU or HFU cannot be right: it is above 100 %, or far below the MFU of any real step. Example: "an
/// MFU of 0.09 % is below 0.1 %: seconds, gpus or the peak may be in another unit". Returns an empty text if the MFU
/// can be right. Returns an empty text also for an MFU of 0, which a batch without tokens has.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string doubt_of(double mfu, counted_passes counted) {
    const std::string_view doubt = detail::doubt_text(mfu, counted);
    constexpr std::string_view before = "an MFU ";
    if (!doubt.starts_with(before)) {
        return std::string(doubt);
    }
    return detail::text_of({before, "of ", detail::rounded(100 * mfu, 3), " % is ", doubt.substr(before.size())});
}

namespace detail {

constexpr void require_finite_positive(double value, const char* field) {
    if (!(value > 0) || value > DBL_MAX) {
        refuse(field, {"must be a finite number above 0, got ", std::to_string(value)});
    }
}

/// Throws `error` for a peak that is not above 0, or that is so large that it cannot be in TFLOP/s.
constexpr void require_peak(double peak_tflops, const char* field) {
    require_finite_positive(peak_tflops, field);
    require_possible_peak(peak_tflops, field);
}

/// Returns a / b. Throws an `error` that names `field` if the quotient is infinite, or if it is 0 although a is not 0.
/// `field` is the name of the input from which b was computed.
constexpr double divide(double a, double b, const char* field) {
    const double quotient = a / b;
    if (!(quotient <= DBL_MAX) || (quotient == 0 && a != 0)) {
        throw error(field, "is out of range, because the rate divided by it is zero or infinite: check its unit");
    }
    return quotient;
}

/// Checks a measurement and returns seconds x GPUs.
constexpr double gpu_seconds_of(const measurement& step) {
    require_finite_positive(step.seconds, "seconds");
    require_peak(step.peak_tflops, "peak_tflops");
    require_positive(step.gpus, "gpus");
    const double gpu_seconds = step.seconds * static_cast<double>(step.gpus);
    require_finite_positive(gpu_seconds, "seconds");
    return gpu_seconds;
}

/// The rates of a step, a component or a module over the time and the GPUs that it took.
struct work_rates {
    double mfu = 0;
    double padded_mfu = 0;
    double hfu = 0;
    double tflops_per_gpu = 0;  ///< useful TFLOP/s of one GPU
};

[[nodiscard]] constexpr work_rates rates_over(flops useful, flops padded, flops executed, const measurement& step) {
    const double gpu_seconds = gpu_seconds_of(step);
    const auto rate = [&](flops work) { return divide(to_double(work) / 1e12, gpu_seconds, "seconds"); };
    const auto fraction = [&](flops work) { return divide(rate(work), step.peak_tflops, "peak_tflops"); };
    return {.mfu = fraction(useful),
            .padded_mfu = fraction(padded),
            .hfu = fraction(executed),
            .tflops_per_gpu = rate(useful)};
}

[[nodiscard]] constexpr work_rates rates_over(const breakdown& work, const measurement& step) {
    return rates_over(work.total(view::useful), work.total(view::padded), work.total(view::executed), step);
}

}  // namespace detail

/// Returns the MFU, padded MFU and HFU of a step relative to one peak. `work` is the FLOPs of `batch`, and `batch`
/// gives the tokens.
///
/// Throws `error` if seconds, gpus or the peak is not above 0, or if no GPU has that peak. The peak is in TFLOP/s: pass
/// 989, not 989e12. Rates that cannot be right are no error: then `utilization::doubt` says why.
[[nodiscard]] constexpr utilization utilize(const breakdown& work, const tally& batch, const measurement& step) {
    const detail::work_rates rates = detail::rates_over(work, step);
    const auto tokens =
        static_cast<double>(batch.get(view::useful, accumulator::tokens, batch.masks().main_modality()));
    return {.mfu = rates.mfu,
            .padded_mfu = rates.padded_mfu,
            .hfu = rates.hfu,
            .tflops_per_gpu = rates.tflops_per_gpu,
            .tokens_per_second = detail::divide(tokens, step.seconds, "seconds"),
            .doubt = detail::doubt_text(rates.hfu > 1 ? rates.hfu : rates.mfu, work.backward(view::executed) == flops{}
                                                                                   ? counted_passes::forward
                                                                                   : counted_passes::train)};
}

/// Returns the MFU of a step in mixed precision: Σ (time of each component at the peak of its own precision) ÷ time of
/// the step. Components that `peaks` does not name run at `step.peak_tflops`.
[[nodiscard]] inline double mixed_precision_mfu(const breakdown& work, const measurement& step,
                                                const array_view<component_peak>& peaks) {
    const double gpu_seconds = detail::gpu_seconds_of(step);
    for (std::size_t i = 0; i < peaks.size(); ++i) {
        detail::require_peak(peaks[i].peak_tflops, "peak_tflops");
        static_cast<void>(work[peaks[i].component]);  // throws for an unknown component
        for (std::size_t j = 0; j < i; ++j) {
            if (peaks[j].component == peaks[i].component) {
                detail::refuse("component", {"\"", peaks[i].component, "\" has two peaks: name each component once"});
            }
        }
    }
    double seconds_at_peak = 0;
    for (const component_flops& component : work.components()) {
        double peak_tflops = step.peak_tflops;
        for (const component_peak& peak : peaks) {
            if (peak.component == component.name.view()) {
                peak_tflops = peak.peak_tflops;
            }
        }
        seconds_at_peak += detail::divide(to_double(component.total(view::useful)) / 1e12, peak_tflops, "peak_tflops");
    }
    return detail::divide(seconds_at_peak, gpu_seconds, "seconds");
}

}  // namespace floptally

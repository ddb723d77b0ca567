// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

/// @file
/// MFU, HFU and rates of a step.

namespace floptally {

/// The time of a step and the peak of the GPUs that it ran on.
struct measurement {
    double seconds = 0;
    std::uint64_t gpus = 0;
    double peak_tflops = 0;  ///< of one GPU, dense, in 10¹² FLOP/s
};

/// Fractions of the peak, and rates of a step.
struct utilization {
    double mfu = 0;         ///< useful FLOPs ÷ (seconds x GPUs x peak): model FLOPs utilization, 0.412 is 41.2 %
    double padded_mfu = 0;  ///< padded FLOPs ÷ the same
    double hfu = 0;         ///< executed FLOPs ÷ the same: hardware FLOPs utilization
    double tflops_per_gpu = 0;
    double tokens_per_second = 0;  ///< real tokens (patches of a model without text), over all GPUs
};

/// The peak of one component that runs in a precision of its own.
struct component_peak {
    std::string_view component;
    double peak_tflops = 0;
};

/// The FLOPs as a double: exact below 2^53, else correctly rounded.
[[nodiscard]] constexpr double to_double(flops work) { return static_cast<double>(work.value()); }

namespace detail {

inline void require_finite_positive(double value, const char* field) {
    if (!(value > 0) || value > std::numeric_limits<double>::max()) {
        refuse(field, {"must be a finite number above 0, got ", std::to_string(value)});
    }
}

/// a / b. A quotient that is infinite, or 0 though a is not, is an error of the divisor's field.
inline double divide(double a, double b, const char* field) {
    const double quotient = a / b;
    if (!(quotient <= std::numeric_limits<double>::max()) || (quotient == 0 && a != 0)) {
        throw error(field, "is out of range: a rate over it is zero or infinite");
    }
    return quotient;
}

/// The GPU-seconds of a measurement, which is checked.
inline double gpu_seconds_of(const measurement& step) {
    require_finite_positive(step.seconds, "seconds");
    require_finite_positive(step.peak_tflops, "peak_tflops");
    require_positive(step.gpus, "gpus");
    const double gpu_seconds = step.seconds * static_cast<double>(step.gpus);
    require_finite_positive(gpu_seconds, "seconds");
    return gpu_seconds;
}

/// The rates of some work over the time and the GPUs that it took: a step's, a component's or a module's.
struct work_rates {
    double mfu = 0;
    double padded_mfu = 0;
    double hfu = 0;
    double tflops_per_gpu = 0;  ///< useful
};

[[nodiscard]] inline work_rates rates_over(flops useful, flops padded, flops executed, const measurement& took) {
    const double gpu_seconds = gpu_seconds_of(took);
    const auto rate = [&](flops work) { return divide(to_double(work) / 1e12, gpu_seconds, "seconds"); };
    const auto fraction = [&](flops work) { return divide(rate(work), took.peak_tflops, "peak_tflops"); };
    return {.mfu = fraction(useful),
            .padded_mfu = fraction(padded),
            .hfu = fraction(executed),
            .tflops_per_gpu = rate(useful)};
}

[[nodiscard]] inline work_rates rates_over(const breakdown& work, const measurement& took) {
    return rates_over(work.total(view::useful), work.total(view::padded), work.total(view::executed), took);
}

}  // namespace detail

/// MFU, padded MFU and HFU of a step against one peak.
[[nodiscard]] inline utilization utilize(const breakdown& work, const tally& batch, const measurement& step) {
    const detail::work_rates rates = detail::rates_over(work, step);
    const auto tokens = static_cast<double>(batch.get(view::useful, statistic::tokens, batch.masks().main_modality()));
    return {.mfu = rates.mfu,
            .padded_mfu = rates.padded_mfu,
            .hfu = rates.hfu,
            .tflops_per_gpu = rates.tflops_per_gpu,
            .tokens_per_second = detail::divide(tokens, step.seconds, "seconds")};
}

/// MFU of a step in mixed precision: the time that each component would need at the peak of its own precision, over the
/// time that it took. `step.peak_tflops` serves the components that `peaks` does not name.
[[nodiscard]] inline double mixed_precision_mfu(const breakdown& work, const measurement& step,
                                                const detail::array_view<component_peak>& peaks) {
    const double gpu_seconds = detail::gpu_seconds_of(step);
    for (std::size_t i = 0; i < peaks.size(); ++i) {
        detail::require_finite_positive(peaks[i].peak_tflops, "peak_tflops");
        static_cast<void>(work[peaks[i].component]);  // refuses an unknown component
        for (std::size_t j = 0; j < i; ++j) {
            if (peaks[j].component == peaks[i].component) {
                detail::refuse("component", {"\"", peaks[i].component, "\" has two peaks"});
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/batch/tally.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Totals of a step, an interval or a run (batch, FLOPs, time), and their rates.

namespace floptally::inline v0_3 {

/// The totals of a step, an interval or a run: batch and FLOPs as exact integers, time in seconds.
struct step_totals {
    std::uint64_t steps = 0;
    tally batch{};
    flops useful{};
    flops padded{};
    flops executed{};
    double seconds = 0;
    double gpu_seconds = 0;  ///< Σ over steps of (seconds x GPUs), because a run may be resumed with another number of
                             ///< GPUs
    /// Σ over steps of (seconds x GPUs x peak), in 10¹² FLOP; 0 if the peak of any step is unknown.
    double peak_tflop = 0;

    /// False if the peak of any step is unknown. There is then no MFU.
    [[nodiscard]] bool has_peak() const { return steps == 0 || peak_tflop > 0; }

    /// Returns the FLOPs of all steps in one view.
    [[nodiscard]] flops total(view seen) const {
        return seen == view::useful ? useful : seen == view::padded ? padded : executed;
    }

    /// Adds other totals. An overflow throws and changes nothing.
    step_totals& operator+=(const step_totals& other) {
        const std::uint64_t all_steps = checked(steps, "steps") + other.steps;
        const flops all_useful = useful + other.useful;
        const flops all_padded = padded + other.padded;
        const flops all_executed = executed + other.executed;
        const bool peaks_are_known = has_peak() && other.has_peak();
        const double all_peak = peaks_are_known ? peak_tflop + other.peak_tflop : 0;
        if (all_steps != 0) {
            detail::require_finite_positive(peaks_are_known ? all_peak : gpu_seconds + other.gpu_seconds, "seconds");
        }
        batch += other.batch;
        steps = all_steps;
        useful = all_useful;
        padded = all_padded;
        executed = all_executed;
        seconds += other.seconds;
        gpu_seconds += other.gpu_seconds;
        peak_tflop = all_peak;
        return *this;
    }

    [[nodiscard]] friend bool operator==(const step_totals&, const step_totals&) = default;
};

/// The totals of several steps, and the distribution of their times.
struct step_series {
    step_totals totals{};
    duration_histogram step_seconds{};

    [[nodiscard]] friend bool operator==(const step_series&, const step_series&) = default;
};

/// The MFU and other rates of totals. Each is a ratio of two sums over steps, not a mean of ratios, so that long steps
/// have more weight.
struct step_rates {
    bool has_peak = true;  ///< false if a peak is unknown; then `mfu`, `padded_mfu` and `hfu` are 0 and have no meaning
    double mfu = 0;        ///< Σ useful FLOPs ÷ Σ (seconds x GPUs x peak); 0.412 is 41.2 %
    double padded_mfu = 0;  ///< Σ padded FLOPs ÷ Σ (seconds x GPUs x peak)
    double hfu = 0;         ///< Σ executed FLOPs ÷ Σ (seconds x GPUs x peak)
    double tflops = 0;      ///< useful TFLOP/s of all GPUs together
    double tflops_per_gpu = 0;
    double padded_tflops_per_gpu = 0;
    double executed_tflops_per_gpu = 0;
    double tokens_per_second = 0;  ///< real tokens per second of all GPUs together
    double tokens_per_second_per_gpu = 0;
    double samples_per_second = 0;     ///< sequences with at least one real token, per second, of all GPUs together
    double useful_fraction = 0;        ///< real tokens ÷ token slots that kernels processed; 1 if there are no slots
    double useful_flops_fraction = 0;  ///< useful FLOPs ÷ padded FLOPs; 1 if there are no FLOPs
    double step_seconds = 0;           ///< mean seconds of a step
};

/// Returns the rates of totals. Throws `error` if no step has ended.
[[nodiscard]] inline step_rates rates(const step_totals& done) {
    if (done.steps == 0) {
        throw error("steps", "no step has ended yet: ask for rates after the first step");
    }
    const auto tflop = [&](view seen) { return to_double(done.total(seen)) / 1e12; };
    const auto fraction = [&](view seen) {
        return done.has_peak() ? detail::divide(tflop(seen), done.peak_tflop, "peak_tflops") : 0;
    };
    const auto per_gpu = [&](view seen) { return detail::divide(tflop(seen), done.gpu_seconds, "seconds"); };
    const auto part = [](double useful, double padded) { return padded == 0 ? 1 : useful / padded; };
    const auto sum = [&](view seen, accumulator what) {
        return static_cast<double>(done.batch.get(seen, what, done.batch.masks().main_modality()));
    };
    const double tokens = sum(view::useful, accumulator::tokens);
    const double samples = sum(view::useful, accumulator::count);
    return {.has_peak = done.has_peak(),
            .mfu = fraction(view::useful),
            .padded_mfu = fraction(view::padded),
            .hfu = fraction(view::executed),
            .tflops = detail::divide(tflop(view::useful), done.seconds, "seconds"),
            .tflops_per_gpu = per_gpu(view::useful),
            .padded_tflops_per_gpu = per_gpu(view::padded),
            .executed_tflops_per_gpu = per_gpu(view::executed),
            .tokens_per_second = detail::divide(tokens, done.seconds, "seconds"),
            .tokens_per_second_per_gpu = detail::divide(tokens, done.gpu_seconds, "seconds"),
            .samples_per_second = detail::divide(samples, done.seconds, "seconds"),
            .useful_fraction = part(tokens, sum(view::padded, accumulator::tokens)),
            .useful_flops_fraction = part(to_double(done.useful), to_double(done.padded)),
            .step_seconds = done.seconds / static_cast<double>(done.steps)};
}

}  // namespace floptally

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
/// Totals of a step, an interval or a run: batch, FLOPs, time; and the rates made of them.

namespace floptally {

/// Totals of a step, an interval or a run: its batch and its FLOPs as exact integers, and its time in seconds.
struct step_totals {
    std::uint64_t steps = 0;
    tally batch{};
    flops useful{};
    flops padded{};
    flops executed{};
    double seconds = 0;
    double gpu_seconds = 0;  ///< Σ seconds x GPUs: a run may be resumed on another number of them
    double peak_tflop = 0;   ///< Σ seconds x GPUs x peak, in 10¹² FLOP

    [[nodiscard]] flops total(view seen) const {
        return seen == view::useful ? useful : seen == view::padded ? padded : executed;
    }

    /// Adds other totals. Where a sum does not fit, nothing has changed.
    step_totals& operator+=(const step_totals& other) {
        const std::uint64_t all_steps = checked(steps, "steps") + other.steps;
        const flops all_useful = useful + other.useful;
        const flops all_padded = padded + other.padded;
        const flops all_executed = executed + other.executed;
        const double all_peak = peak_tflop + other.peak_tflop;
        if (all_steps != 0) {
            detail::require_finite_positive(all_peak, "seconds");
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

/// Totals, and the distribution of step times.
struct step_series {
    step_totals totals{};
    duration_histogram step_seconds{};

    [[nodiscard]] friend bool operator==(const step_series&, const step_series&) = default;
};

/// Ratios of totals. Each is one sum over another, never a mean of ratios: a long step weighs more than a short one.
struct step_rates {
    double mfu = 0;         ///< Σ useful FLOPs ÷ Σ (seconds x GPUs x peak); 0.412 is 41.2 %
    double padded_mfu = 0;  ///< Σ padded FLOPs ÷ the same
    double hfu = 0;         ///< Σ executed FLOPs ÷ the same
    double tflops = 0;      ///< useful, of all GPUs together
    double tflops_per_gpu = 0;
    double padded_tflops_per_gpu = 0;
    double executed_tflops_per_gpu = 0;
    double tokens_per_second = 0;  ///< real tokens, of all GPUs together
    double tokens_per_second_per_gpu = 0;
    double samples_per_second = 0;     ///< sequences with at least one real token
    double useful_fraction = 0;        ///< real tokens ÷ slots that kernels processed; 1 where there was no slot
    double useful_flops_fraction = 0;  ///< useful ÷ padded FLOPs; 1 where there were none
    double step_seconds = 0;           ///< mean
};

/// The rates of totals; an error where no step has ended.
[[nodiscard]] inline step_rates rates(const step_totals& done) {
    if (done.steps == 0) {
        throw error("steps", "no step has ended yet: there is no rate");
    }
    const auto tflop = [&](view seen) { return to_double(done.total(seen)) / 1e12; };
    const auto fraction = [&](view seen) { return detail::divide(tflop(seen), done.peak_tflop, "peak_tflops"); };
    const auto per_gpu = [&](view seen) { return detail::divide(tflop(seen), done.gpu_seconds, "seconds"); };
    const auto part = [](double useful, double padded) { return padded == 0 ? 1 : useful / padded; };
    const auto sum = [&](view seen, statistic what) {
        return static_cast<double>(done.batch.get(seen, what, done.batch.masks().main_modality()));
    };
    const double tokens = sum(view::useful, statistic::tokens);
    const double samples = sum(view::useful, statistic::count);
    return {.mfu = fraction(view::useful),
            .padded_mfu = fraction(view::padded),
            .hfu = fraction(view::executed),
            .tflops = detail::divide(tflop(view::useful), done.seconds, "seconds"),
            .tflops_per_gpu = per_gpu(view::useful),
            .padded_tflops_per_gpu = per_gpu(view::padded),
            .executed_tflops_per_gpu = per_gpu(view::executed),
            .tokens_per_second = detail::divide(tokens, done.seconds, "seconds"),
            .tokens_per_second_per_gpu = detail::divide(tokens, done.gpu_seconds, "seconds"),
            .samples_per_second = detail::divide(samples, done.seconds, "seconds"),
            .useful_fraction = part(tokens, sum(view::padded, statistic::tokens)),
            .useful_flops_fraction = part(to_double(done.useful), to_double(done.padded)),
            .step_seconds = done.seconds / static_cast<double>(done.steps)};
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/time_breakdown.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/waterfall.hpp>

/// @file
/// Predicts how the waterfall of a measured step would change with another layout, schedule, batch, recompute,
/// precision or accelerator.

namespace floptally::inline v0_3 {

/// Predicts the waterfall of a step that was not measured. `other` describes the step, with another layout, schedule,
/// packing, recompute or precision.
///
/// The seconds of `other` are ignored. The predicted time is a sum of three times. The first is the time of the work if
/// kernels reach the fraction `kernel_rate` of their peak (0 to 1). The second is the time that memory bandwidth
/// causes, the third the times without counted work (`apart`). `memory_share` (0 to 1) is the `waterfall::memory_share`
/// of the measured step. With `kernel_rate` 1 the predicted MFU is an upper bound.
[[nodiscard]] inline waterfall what_if(time_breakdown other, double kernel_rate, double memory_share = 1) {
    detail::require_finite_positive(kernel_rate, "kernel_rate");
    if (kernel_rate > 1) {
        detail::refuse("kernel_rate", {"must be at most 1, got ", std::to_string(kernel_rate)});
    }
    if (!(memory_share >= 0) || memory_share > 1) {
        detail::refuse("memory_share", {"must be from 0 to 1, got ", std::to_string(memory_share)});
    }
    if (other.memory_bound) {
        other.memory_bound->gpu_seconds *= memory_share;
        if (memory_share < 1) {
            other.memory_bound->assumed += "; as much of that as the measured step had time for";
        }
    }
    const double work = detail::executed_seconds(other) + detail::tile_seconds(other);
    const double memory = other.memory_bound.value_or(time_at_memory{}).gpu_seconds;
    const double kernels = (work / kernel_rate + memory) / detail::working_gpus(other);
    const double with_waiting = detail::seconds_with_waiting(other);
    const double waited = kernels / other.ranks.value_or(rank_times{}).busy_share();
    other.step.seconds = std::max(waited, kernels + with_waiting) + detail::seconds_apart(other) - with_waiting;
    return waterfall(other);
}

/// Predicts the waterfall of `other` with the `memory_share` of the measured step. If `other` has the measured
/// communication of that step, the communication is counted without the time of waiting for other ranks.
[[nodiscard]] inline waterfall what_if(time_breakdown other, const waterfall& measured, double kernel_rate) {
    const double with_waiting = detail::seconds_with_waiting(other);
    if (with_waiting > 0 && with_waiting == measured.communication_with_waiting()) {
        for (time_apart& time : other.apart) {
            if (kind_of(time) == apart_kind::communication) {
                time.kind = apart_kind::transfer;
                time.seconds *= measured.communication() / with_waiting;
                time.assumed = "as measured, without waiting";
            }
        }
    }
    return what_if(std::move(other), kernel_rate, measured.memory_share());
}
/// Predicts the waterfall of `other` if kernels reach the same fraction of their peak as in the measured step.
[[nodiscard]] inline waterfall what_if(time_breakdown other, const waterfall& measured) {
    return what_if(std::move(other), measured, measured.kernel_rate());
}

/// Three waterfalls: a measured step, its prediction with other settings, and that prediction with kernels at their
/// peak (an upper bound of the MFU).
struct compared_steps {
    waterfall measured;
    waterfall predicted;
    waterfall bound;

    compared_steps(waterfall step, const time_breakdown& other)
        : measured(std::move(step)), predicted(what_if(other, measured)), bound(what_if(other, measured, 1)) {}
};

/// Returns a table with the seconds and the MFU of the measured step and the two predictions. A note lists what
/// the predictions assume to be as in the measured step.
[[nodiscard]] inline table table_of(const compared_steps& steps) {
    table_section section{
        .columns = {{{}, cell_side::left, 44}, {"seconds", cell_side::right, 14}, {"MFU %", cell_side::right, 10}}};
    const auto put = [&section](const char* name, const waterfall& step) {
        section.rows.push_back({{name}, number_cell(step.seconds(), 6), number_cell(100 * step.mfu(), 2)});
    };
    put("measured", steps.measured);
    put("then, with kernels that reach as much", steps.predicted);
    put("bound: kernels at their peak", steps.bound);
    return {.sections = {std::move(section)},
            .notes = {detail::text_of(
                {"kernels reach ", detail::fixed_decimal(100 * steps.measured.kernel_rate(), 2),
                 " % of their peak, everything that is not known included; times apart are kept, communication "
                 "without its waiting"})}};
}

}  // namespace floptally

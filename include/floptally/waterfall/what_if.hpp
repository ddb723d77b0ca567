// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/waterfall.hpp>

/// @file
/// The waterfall of a step with another account: another layout, schedule, batch, recompute, precision, accelerator.

namespace floptally {

/// The waterfall of a step with another account (another layout, schedule, packing, recompute, precision): its
/// seconds are not read, but follow from kernels that reach what the measured ones do (`kernel_rate`), from what is
/// bound by memory, and from the times apart that `other` has. `memory_share` is that of the measured step. With
/// `kernel_rate` 1 the MFU is an upper bound.
[[nodiscard]] inline waterfall what_if(step_account other, double kernel_rate, double memory_share = 1) {
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
            other.memory_bound->assumed += "; the share of it that the measured step had time for";
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

/// The waterfall of another account with what the measured step says: the share of its memory's bytes, and its
/// communication without waiting, where the other account has the measured time.
[[nodiscard]] inline waterfall what_if(step_account other, const waterfall& measured, double kernel_rate) {
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
[[nodiscard]] inline waterfall what_if(step_account other, const waterfall& measured) {
    return what_if(std::move(other), measured, measured.kernel_rate());
}

/// A measured step, the same with other choices, and that with kernels at their peak.
struct compared_steps {
    waterfall measured;
    waterfall then;
    waterfall bound;

    compared_steps(waterfall of, const step_account& other)
        : measured(std::move(of)), then(what_if(other, measured)), bound(what_if(other, measured, 1)) {}
};

/// The seconds and MFU of the three, with what was kept as a note.
[[nodiscard]] inline table table_of(const compared_steps& made) {
    table_section section{
        .columns = {{{}, cell_side::left, 44}, {"seconds", cell_side::right, 14}, {"MFU %", cell_side::right, 10}}};
    const auto put = [&section](const char* name, const waterfall& step) {
        section.rows.push_back({{name}, number_cell(step.seconds(), 6), number_cell(100 * step.mfu(), 2)});
    };
    put("measured", made.measured);
    put("then, with kernels that reach as much", made.then);
    put("bound: kernels at their peak", made.bound);
    return {.sections = {std::move(section)},
            .notes = {detail::text_of({"kernels reach ", detail::fixed_decimal(100 * made.measured.kernel_rate(), 2),
                                       " % of their peak, and all that is not known is in that; times apart are kept, "
                                       "of communication what is not waiting"})}};
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/table.hpp>

/// @file
/// Computes the MFU of each component from its measured time.

namespace floptally::inline v0_3 {

/// The time of a component from a profiler, summed over the steps that the breakdown covers.
struct component_time {
    std::string_view component;
    double seconds = 0;
    counted_passes timed = counted_passes::train;  ///< the passes in which `seconds` was measured
};

/// The TFLOP/s, MFU and HFU of a component over the time that this component ran.
struct component_rate {
    double seconds = 0;
    double tflops_per_gpu = 0;  ///< useful TFLOP/s of one GPU while the component runs
    double mfu = 0;             ///< useful FLOPs ÷ (seconds x GPUs x peak)
    double hfu = 0;             ///< executed FLOPs ÷ (seconds x GPUs x peak)
};

/// A row of the table of components: one component, or one pass of a component whose passes were timed separately.
struct component_row {
    component_name name;
    counted_passes timed = counted_passes::train;
    flops useful{};
    flops executed{};
    std::optional<component_rate> rate{};  ///< empty if the component was not timed
};

namespace detail {

[[nodiscard]] inline flops work_of(const component_flops& component, view seen, counted_passes timed) {
    return timed == counted_passes::train     ? component.total(seen)
           : timed == counted_passes::forward ? component.get(seen, phase::forward)
                                              : component.backward(seen) + component.get(seen, phase::recompute);
}

inline void require_times(const breakdown& work, std::span<const component_time> times) {
    for (std::size_t i = 0; i < times.size(); ++i) {
        static_cast<void>(work[times[i].component]);  // throws for an unknown component
        require_finite_positive(times[i].seconds, "seconds");
        for (std::size_t j = 0; j < i; ++j) {
            const bool overlap = times[i].timed == times[j].timed || times[i].timed == counted_passes::train ||
                                 times[j].timed == counted_passes::train;
            if (times[i].component == times[j].component && overlap) {
                refuse("component", {"\"", times[i].component,
                                     "\" has two times for the same pass: give one time for all passes, or one each "
                                     "for forward and backward"});
            }
        }
    }
}

}  // namespace detail

/// Returns a row for each component, in the order of the breakdown, with rates if the component was timed. Ignores
/// `on.seconds`. The time of a recompute belongs to the backward. The FLOPs of a recompute are executed FLOPs, but not
/// useful ones.
[[nodiscard]] inline std::vector<component_row> component_rates(const breakdown& work, measurement on,
                                                                std::span<const component_time> times) {
    detail::require_times(work, times);
    on.seconds = 1;
    static_cast<void>(detail::gpu_seconds_of(on));
    std::vector<component_row> rows;
    for (const component_flops& component : work.components()) {
        const std::size_t before = rows.size();
        for (const component_time& time : times) {
            if (time.component == component.name.view()) {
                component_row row{.name = component.name,
                                  .timed = time.timed,
                                  .useful = detail::work_of(component, view::useful, time.timed),
                                  .executed = detail::work_of(component, view::executed, time.timed)};
                on.seconds = time.seconds;
                const detail::work_rates rates = detail::rates_over(row.useful, row.useful, row.executed, on);
                row.rate = component_rate{.seconds = time.seconds,
                                          .tflops_per_gpu = rates.tflops_per_gpu,
                                          .mfu = rates.mfu,
                                          .hfu = rates.hfu};
                rows.push_back(row);
            }
        }
        if (rows.size() == before) {
            rows.push_back({.name = component.name,
                            .useful = component.total(view::useful),
                            .executed = component.total(view::executed)});
        }
    }
    return rows;
}

/// Returns the rows as a Markdown table, with "-" for a component without a time.
[[nodiscard]] inline std::string to_markdown(std::span<const component_row> rows) {
    table_section section{.columns = {{"component"}, {"passes"}}};
    for (const char* name : {"TFLOP", "ms", "TFLOPS/GPU", "MFU %", "HFU %"}) {
        section.columns.push_back({name, cell_side::right});
    }
    for (const component_row& row : rows) {
        const char* passes = row.timed == counted_passes::train     ? "all"
                             : row.timed == counted_passes::forward ? "forward"
                                                                    : "backward";
        table_row cells{{std::string(row.name.view())}, {passes}, number_cell(to_double(row.useful) / 1e12, 3)};
        if (row.rate) {
            cells.push_back(number_cell(1e3 * row.rate->seconds, 3));
            for (const double value : {row.rate->tflops_per_gpu, 100 * row.rate->mfu, 100 * row.rate->hfu}) {
                cells.push_back(number_cell(value, 2));
            }
        }
        cells.resize(section.columns.size(), {"-"});
        section.rows.push_back(std::move(cells));
    }
    return to_markdown(table{.sections = {std::move(section)}});
}

}  // namespace floptally

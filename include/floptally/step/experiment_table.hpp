// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/step/throughput_log.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/table.hpp>

/// @file
/// A comparison of training runs by their logs.

namespace floptally {

/// A training run that is compared with others: its log and its GPUs.
struct experiment {
    std::string name{};
    std::uint64_t gpus = 0;
    double peak_tflops = 0;  ///< of one GPU, dense
    std::vector<train_line> steps{};
};

/// One row of the comparison.
struct experiment_row {
    std::string name{};
    double tflops_per_gpu = 0;       ///< Σ FLOPs ÷ Σ time, of one GPU
    double best_tflops_per_gpu = 0;  ///< of the fastest line of the log
    double mfu_pct = 0;              ///< `tflops_per_gpu` over the peak, not the MFU of the log
    double speed_up = 0;             ///< over the first experiment, per GPU
};

/// The comparison in the given order; the others are compared with the first.
[[nodiscard]] inline std::vector<experiment_row> compare(std::span<const experiment> experiments) {
    std::vector<experiment_row> rows;
    for (const experiment& run : experiments) {
        detail::require_finite_positive(run.peak_tflops, "peak_tflops");
        if (run.gpus == 0) {
            throw error("gpus", "must be at least 1, got 0 in \"" + run.name + "\"");
        }
        double tflop = 0;
        double milliseconds = 0;
        double best = 0;
        for (const train_line& line : run.steps) {
            detail::require_finite_positive(line.milliseconds, "elapsed_time");
            if (!line.tflops) {
                throw error("achieved FLOPS", "iteration " + std::to_string(line.iteration) + " of \"" + run.name +
                                                  "\" says none: its version did not count them");
            }
            detail::require_finite_positive(*line.tflops, "achieved FLOPS");
            tflop += *line.tflops * line.milliseconds;
            milliseconds += line.milliseconds;
            best = std::max(best, *line.tflops);
        }
        if (run.steps.empty()) {
            throw error("steps", "\"" + run.name + "\" has no line of a step in its log");
        }
        const auto gpus = static_cast<double>(run.gpus);
        const double rate = detail::divide(tflop, milliseconds, "elapsed_time") / gpus;
        rows.push_back({.name = run.name,
                        .tflops_per_gpu = rate,
                        .best_tflops_per_gpu = best / gpus,
                        .mfu_pct = 100 * detail::divide(rate, run.peak_tflops, "peak_tflops"),
                        .speed_up = rows.empty() ? 1 : rate / rows.front().tflops_per_gpu});
    }
    return rows;
}

/// The rows as a Markdown table.
[[nodiscard]] inline std::string to_markdown(std::span<const experiment_row> rows) {
    table_section section{.columns = {{"experiment"}}};
    for (const char* name : {"TFLOPS/GPU", "peak TFLOPS/GPU", "MFU", "speed-up"}) {
        section.columns.push_back({name, cell_side::right});
    }
    for (const experiment_row& row : rows) {
        section.rows.push_back({{row.name},
                                number_cell(row.tflops_per_gpu, 2),
                                number_cell(row.best_tflops_per_gpu, 2),
                                number_cell(row.mfu_pct, 2, " %"),
                                number_cell(row.speed_up, 2, "x")});
    }
    return to_markdown(table{.sections = {std::move(section)}});
}

}  // namespace floptally

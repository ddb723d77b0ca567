// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/waterfall/component_times.hpp>

namespace floptally {

namespace detail {

inline constexpr std::array<const char*, 8> component_columns{"ms of a GPU", "% of time",  "own MFU %",  "kernels %",
                                                              "points lost", "not useful", "below peak", "what it ran"};

/// A row under `component_columns`, the name of the line first.
using component_cells = std::array<std::string, component_columns.size() + 1>;

/// "-0.00" is 0.00.
[[nodiscard]] inline std::string shown_number(double value, int digits) {
    std::string text = fixed_decimal(value, digits);
    return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

[[nodiscard]] inline component_cells cells_of(const component_line& line, const component_waterfall& made) {
    const auto milliseconds =
        static_cast<double>(line.gpu_nanoseconds) / 1e6 / static_cast<double>(made.whole().gpus());
    std::string ran;
    for (const std::string& name : line.components) {
        append_item(ran, name);
    }
    if (!line.components.empty() && line.timed != counted_passes::train) {
        ran.append(line.timed == counted_passes::forward ? ", forward" : ", backward");
    }
    const bool works = line.executed_nanoseconds != 0;
    return {line.name,
            shown_number(milliseconds, 3),
            shown_number(100 * line.share, 2),
            works ? shown_number(100 * line.mfu, 2) : "-",
            works ? shown_number(100 * line.kernel_rate, 2) : "-",
            shown_number(made.points(line.lost()), 2),
            shown_number(made.points(line.besides()), 2),
            shown_number(made.points(line.below()), 2),
            ran};
}

/// The lines, and what they add up to.
[[nodiscard]] inline std::vector<component_cells> rows_of(const component_waterfall& made) {
    std::vector<component_cells> rows;
    component_line all{.name = "all", .gpu_nanoseconds = made.gpu_nanoseconds(), .share = 1, .mfu = 0};
    for (const component_line& line : made.lines()) {
        rows.push_back(cells_of(line, made));
        all.useful_nanoseconds += line.useful_nanoseconds;
        all.executed_nanoseconds += line.executed_nanoseconds;
        all.mfu += line.mfu * line.share;
        all.kernel_rate += line.kernel_rate * line.share;
    }
    rows.push_back(cells_of(all, made));
    return rows;
}

}  // namespace detail

/// A step by component, an aligned line each: its time, its own MFU, what its kernels reach of their peak, and the
/// points of the MFU that it costs, of them those of executed work that is not useful and those of kernels below their
/// peak.
[[nodiscard]] inline std::string to_table(const component_waterfall& made) {
    const std::vector<detail::component_cells> rows = detail::rows_of(made);
    std::size_t widest = std::string_view("by component").size();
    for (const detail::component_cells& row : rows) {
        widest = std::max(widest, row.front().size());
    }
    std::string text;
    const auto put = [&text, widest](const std::string& name, const auto& cell_of) {
        text.append(name).append(widest - name.size(), ' ');
        for (std::size_t i = 0; i < detail::component_columns.size(); ++i) {
            const std::string cell = cell_of(i);
            const bool is_text = i + 1 == detail::component_columns.size();
            constexpr std::size_t width = 11;
            text.append(is_text && cell.empty() ? "" : "  ");
            text.append(is_text ? 0 : width - std::min(width, cell.size()), ' ').append(cell);
        }
        text.append("\n");
    };
    put("by component", [](std::size_t i) { return std::string(detail::component_columns[i]); });
    for (const detail::component_cells& row : rows) {
        put(row.front(), [&row](std::size_t i) { return row[i + 1]; });
    }
    return text;
}

/// The same as a Markdown table.
[[nodiscard]] inline std::string to_markdown(const component_waterfall& made) {
    std::string text = "| |";
    std::string rule = "\n| --- |";
    for (std::size_t i = 0; i < detail::component_columns.size(); ++i) {
        text.append(" ").append(detail::component_columns[i]).append(" |");
        rule.append(i + 1 == detail::component_columns.size() ? " --- |" : " --: |");
    }
    text.append(rule).append("\n");
    for (const detail::component_cells& row : detail::rows_of(made)) {
        for (const std::string& cell : row) {
            text.append(&cell == &row.front() ? "| " : " | ").append(cell);
        }
        text.append(" |\n");
    }
    return text;
}

}  // namespace floptally

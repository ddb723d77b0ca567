// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/waterfall/waterfall.hpp>

namespace floptally {

namespace detail {

/// A row of a report: milliseconds of one GPU, and points of the peak, what was lost as a negative number.
struct waterfall_row {
    std::string name;
    std::string milliseconds;
    std::string points;
    std::string assumed;
};

[[nodiscard]] inline waterfall_row row_of(const waterfall_line& line, const waterfall& whole) {
    if (!line.is_known) {
        return {line.name, "-", "-", line.assumed};
    }
    const double sign = line.what == waterfall_step::useful ? 1 : -1;
    const double milliseconds = static_cast<double>(line.gpu_nanoseconds) / 1e6 / static_cast<double>(whole.gpus());
    const auto shown = [](double value, int digits) {
        std::string text = fixed_decimal(value, digits);
        return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
    };
    return {line.name, shown(milliseconds, 3), shown(100 * sign * line.share, 2), line.assumed};
}

/// From the peak down to the MFU, in the order in which it is lost.
[[nodiscard]] inline std::vector<waterfall_row> rows_of(const waterfall& made) {
    std::vector<waterfall_row> rows{{"peak", fixed_decimal(1e3 * made.seconds(), 3), "100.00", ""}};
    for (const waterfall_line& line : made.lines().subspan(1)) {
        rows.push_back(row_of(line, made));
    }
    rows.push_back(row_of(made.lines().front(), made));
    rows.back().name = "measured MFU";
    return rows;
}

}  // namespace detail

/// From the peak down to the MFU, an aligned line each.
[[nodiscard]] inline std::string to_table(const waterfall& made) {
    std::vector<detail::waterfall_row> rows = detail::rows_of(made);
    rows.insert(rows.begin(), {"", "ms of a GPU", "% of peak", ""});
    std::size_t widest = 0;
    for (const detail::waterfall_row& row : rows) {
        widest = std::max(widest, row.name.size());
    }
    const auto right = [](const std::string& cell, std::size_t width) {
        return std::string(width - std::min(width, cell.size()), ' ') + cell;
    };
    std::string text;
    for (const detail::waterfall_row& row : rows) {
        text.append(row.name).append(widest - row.name.size(), ' ');
        text.append("  ").append(right(row.milliseconds, 14)).append("  ").append(right(row.points, 9));
        text.append(row.assumed.empty() ? "" : "  ").append(row.assumed).append("\n");
    }
    return text;
}

/// The same as a Markdown table.
[[nodiscard]] inline std::string to_markdown(const waterfall& made) {
    std::string text = "| | ms of a GPU | % of peak | what it rests on |\n| --- | --: | --: | --- |\n";
    const std::vector<detail::waterfall_row> rows = detail::rows_of(made);
    for (const detail::waterfall_row& row : rows) {
        const char* const strong = &row == &rows.back() ? "**" : "";
        text.append("| ").append(strong).append(row.name).append(strong).append(" | ");
        text.append(row.milliseconds).append(" | ").append(row.points).append(" | ").append(row.assumed);
        text.append(" |\n");
    }
    return text;
}

}  // namespace floptally

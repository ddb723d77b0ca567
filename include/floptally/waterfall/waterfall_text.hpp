// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/waterfall/waterfall.hpp>

namespace floptally {

namespace detail {

/// Milliseconds of one GPU, and points of the peak: what was lost as a negative number.
struct waterfall_cells {
    std::string milliseconds;
    std::string points;
};

[[nodiscard]] inline waterfall_cells cells_of(const waterfall_line& line, const waterfall& whole) {
    if (!line.is_known) {
        return {"-", "-"};
    }
    const double sign = line.what == waterfall_step::useful ? 1 : -1;
    const double milliseconds = static_cast<double>(line.gpu_nanoseconds) / 1e6 / static_cast<double>(whole.gpus());
    const auto shown = [](double value, int digits) {
        std::string text = fixed_decimal(value, digits);
        return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
    };
    return {shown(milliseconds, 3), shown(100 * sign * line.share, 2)};
}

[[nodiscard]] inline std::string markdown_cell(std::string_view words) {
    std::string text;
    for (const char c : words) {
        text.append(c == '|' ? "\\" : "").push_back(c == '\n' || c == '\r' ? ' ' : c);
    }
    return text;
}

}  // namespace detail

/// From the peak down to the MFU, an aligned line each, in the order in which it is lost.
[[nodiscard]] inline std::string to_table(const waterfall& made) {
    std::size_t widest = std::string_view("measured MFU").size();
    for (const waterfall_line& line : made.lines()) {
        widest = std::max(widest, line.name.size());
    }
    std::string text;
    const auto put = [&](std::string_view name, const detail::waterfall_cells& cells, std::string_view assumed) {
        const auto right = [](const std::string& cell, std::size_t width) {
            return std::string(width - std::min(width, cell.size()), ' ') + cell;
        };
        text.append(name).append(widest - name.size(), ' ');
        text.append("  ").append(right(cells.milliseconds, 14)).append("  ").append(right(cells.points, 9));
        text.append(assumed.empty() ? "" : "  ").append(assumed).append("\n");
    };
    put("", {"ms of a GPU", "% of peak"}, "");
    put("peak", {detail::fixed_decimal(1e3 * made.seconds(), 3), "100.00"}, "");
    for (const waterfall_line& line : made.lines().subspan(1)) {
        put(line.name, detail::cells_of(line, made), line.assumed);
    }
    put("measured MFU", detail::cells_of(made.lines().front(), made), made.lines().front().assumed);
    return text;
}

/// The same as a Markdown table. Of the names that a caller gives, "|" does not end a cell nor a line break a row.
[[nodiscard]] inline std::string to_markdown(const waterfall& made) {
    std::string text = "| | ms of a GPU | % of peak | what it rests on |\n| --- | --: | --: | --- |\n";
    const auto put = [&](std::string_view name, const detail::waterfall_cells& cells, std::string_view assumed) {
        text.append("| ").append(detail::markdown_cell(name)).append(" | ").append(cells.milliseconds).append(" | ");
        text.append(cells.points).append(" | ").append(detail::markdown_cell(assumed)).append(" |\n");
    };
    put("peak", {detail::fixed_decimal(1e3 * made.seconds(), 3), "100.00"}, "");
    for (const waterfall_line& line : made.lines().subspan(1)) {
        put(line.name, detail::cells_of(line, made), line.assumed);
    }
    put("**measured MFU**", detail::cells_of(made.lines().front(), made), made.lines().front().assumed);
    return text;
}

}  // namespace floptally

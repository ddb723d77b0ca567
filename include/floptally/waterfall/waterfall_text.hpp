// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// Shows waterfalls, and the time of a step by component, as tables in text and in Markdown.

namespace floptally::inline v0_3 {

namespace detail {

/// Returns a table cell that shows milliseconds of one GPU. The exact value of the cell is the nanoseconds over all
/// GPUs.
[[nodiscard]] inline table_cell milliseconds_cell(std::int64_t gpu_nanoseconds, std::uint64_t gpus) {
    table_cell cell = number_cell(static_cast<double>(gpu_nanoseconds) / 1e6 / static_cast<double>(gpus), 3);
    cell.exact = text_of({gpu_nanoseconds, " ns of GPUs"});
    return cell;
}

[[nodiscard]] inline table_row row_of(const waterfall_line& line, const waterfall& whole, const std::string& name) {
    if (!line.is_known) {
        return {{name}, {"-"}, {"-"}, {line.assumed}};
    }
    const double sign = line.step == waterfall_step::useful ? 1 : -1;
    return {{name},
            milliseconds_cell(line.gpu_nanoseconds, whole.gpus()),
            number_cell(100 * sign * line.share, 2),
            {line.assumed}};
}

[[nodiscard]] inline table_row row_of(const component_line& line, const component_waterfall& whole) {
    std::string components;
    for (const std::string& name : line.components) {
        append_item(components, name);
    }
    if (!line.components.empty() && line.timed != counted_passes::train) {
        components.append(line.timed == counted_passes::forward ? ", forward" : ", backward");
    }
    const bool works = line.executed_nanoseconds != 0;
    return {{line.name},
            milliseconds_cell(line.gpu_nanoseconds, whole.whole().gpus()),
            number_cell(100 * line.share, 2),
            works ? number_cell(100 * line.mfu, 2) : table_cell{"-"},
            works ? number_cell(100 * line.kernel_rate, 2) : table_cell{"-"},
            number_cell(whole.points(line.lost()), 2),
            number_cell(whole.points(line.not_useful()), 2),
            number_cell(whole.points(line.below_peak()), 2),
            {components}};
}

}  // namespace detail

/// Returns the table of a waterfall, from the peak down to the MFU. Each line has milliseconds of one GPU, points of
/// the peak, and the assumption behind them.
[[nodiscard]] inline table table_of(const waterfall& shown) {
    table_section section{
        .columns = {{}, {"ms of a GPU", cell_side::right, 16}, {"% of peak", cell_side::right, 11}, {}},
        .rows = {{{"peak"}, number_cell(1e3 * shown.seconds(), 3), {"100.00"}}}};
    for (const waterfall_line& line : shown.lines().subspan(1)) {
        section.rows.push_back(detail::row_of(line, shown, line.name));
    }
    section.rows.push_back(detail::row_of(shown.lines().front(), shown, "measured MFU"));
    return {.title = detail::text_of({"MFU ", detail::fixed_decimal(100 * shown.mfu(), 2), " %"}),
            .sections = {std::move(section)}};
}

/// Returns the lines that cost the most time, the largest first, at most `most`. Leaves out lines of unknown time.
[[nodiscard]] inline std::vector<waterfall_line> largest_causes(const waterfall& shown, std::size_t most = 3) {
    std::vector<waterfall_line> causes;
    for (const waterfall_line& line : shown.lines().subspan(1)) {
        if (line.is_known && line.gpu_nanoseconds > 0) {
            causes.push_back(line);
        }
    }
    std::stable_sort(causes.begin(), causes.end(), [](const waterfall_line& a, const waterfall_line& b) {
        return a.gpu_nanoseconds > b.gpu_nanoseconds;
    });
    causes.resize(std::min(most, causes.size()));
    return causes;
}

/// Returns the table of a waterfall sorted by lost time, with the MFU first. Each line has a bar; 40 characters are the
/// whole peak. Notes say what usually helps against the three largest causes. Lines that are not known or lose no time
/// are left out.
[[nodiscard]] inline table table_by_cost(const waterfall& shown) {
    table_section section{.columns = {{"", cell_side::left, 26},
                                      {"ms of a GPU", cell_side::right, 13},
                                      {"% of peak", cell_side::right, 11},
                                      {"", cell_side::left, 40},
                                      {}}};
    std::vector<waterfall_line> lines = largest_causes(shown, shown.lines().size());
    lines.insert(lines.begin(), shown.lines().front());
    for (const waterfall_line& line : lines) {
        const auto signs = static_cast<std::size_t>(std::max(0.0, std::round(40 * line.share)));
        section.rows.push_back({{line.step == waterfall_step::useful ? "measured MFU" : line.name},
                                detail::milliseconds_cell(line.gpu_nanoseconds, shown.gpus()),
                                number_cell(100 * line.share, 2),
                                {std::string(signs, '#')},
                                {line.assumed}});
    }
    table result{.title = detail::text_of({"MFU ", detail::fixed_decimal(100 * shown.mfu(), 2), " %"}),
                 .sections = {std::move(section)}};
    for (const waterfall_line& line : largest_causes(shown)) {
        if (*usual_help(line.step) != '\0') {
            result.notes.push_back(detail::text_of({line.name, ": usually helps: ", usual_help(line.step)}));
        }
    }
    return result;
}

/// Formats the table of `table_by_cost` as aligned text, followed by its notes.
[[nodiscard]] inline std::string to_table_by_cost(const waterfall& shown) {
    const table result = table_by_cost(shown);
    std::string text = to_text(result);
    for (const std::string& note : result.notes) {
        detail::append(text, {note, "\n"});
    }
    return text;
}

/// Returns the table of a step by component. Its columns are the time, the component's own MFU, the fraction of the
/// peak that kernels reach, and the lost points of the step's MFU. Two more columns split these points into executed
/// work that is not useful and kernels below their peak. The last row has the sums.
[[nodiscard]] inline table table_of(const component_waterfall& shown) {
    table_section section{.columns = {{"by component"}}};
    for (const char* name :
         {"ms of a GPU", "% of time", "own MFU %", "kernels %", "points lost", "not useful", "below peak"}) {
        section.columns.push_back({name, cell_side::right, 13});
    }
    section.columns.push_back({"what it ran"});
    component_line all{.name = "all", .gpu_nanoseconds = shown.gpu_nanoseconds(), .share = 1, .mfu = 0};
    for (const component_line& line : shown.lines()) {
        section.rows.push_back(detail::row_of(line, shown));
        all.useful_nanoseconds += line.useful_nanoseconds;
        all.executed_nanoseconds += line.executed_nanoseconds;
        all.mfu += line.mfu * line.share;
        all.kernel_rate += line.kernel_rate * line.share;
    }
    section.rows.push_back(detail::row_of(all, shown));
    return {.sections = {std::move(section)}};
}

/// Returns a table of the steps of all ranks, in milliseconds. Each rank has one row.
[[nodiscard]] inline table table_of(const std::vector<rank_line>& lines) {
    table_section section{.columns = {{"by rank, ms", cell_side::left, 11}}};
    for (const char* name : {"step", "computing", "other", "transfer", "waiting", "idle", "hidden"}) {
        section.columns.push_back({name, cell_side::right, 12});
    }
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        const rank_line& line = lines[rank];
        table_row row{{std::to_string(rank)}};
        for (const double seconds :
             {line.seconds, line.computing, line.other, line.transfer, line.waiting, line.idle, line.hidden}) {
            row.push_back(number_cell(1e3 * seconds, 3));
        }
        section.rows.push_back(std::move(row));
    }
    return {.sections = {std::move(section)}};
}

/// Formats the table of a waterfall as aligned text.
[[nodiscard]] inline std::string to_table(const waterfall& shown) { return to_text(table_of(shown)); }

/// Formats the table of a waterfall in Markdown, with the MFU in bold.
[[nodiscard]] inline std::string to_markdown(const waterfall& shown) {
    table result = table_of(shown);
    result.sections[0].columns.back().name = "what it rests on";
    result.sections[0].rows.back()[0].text = "**measured MFU**";
    return to_markdown(result);
}

/// Formats the table of a step by component as aligned text.
[[nodiscard]] inline std::string to_table(const component_waterfall& shown) { return to_text(table_of(shown)); }

/// Formats the table of a step by component in Markdown.
[[nodiscard]] inline std::string to_markdown(const component_waterfall& shown) {
    table result = table_of(shown);
    result.sections[0].columns[0].name.clear();
    return to_markdown(result);
}

}  // namespace floptally

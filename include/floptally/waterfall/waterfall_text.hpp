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
/// A waterfall and a step by component as tables, in text and in Markdown.

namespace floptally {

namespace detail {

/// A cell of milliseconds of one GPU, with the exact nanoseconds of all.
[[nodiscard]] inline table_cell milliseconds_cell(std::int64_t gpu_nanoseconds, std::uint64_t gpus) {
    table_cell cell = number_cell(static_cast<double>(gpu_nanoseconds) / 1e6 / static_cast<double>(gpus), 3);
    cell.exact = text_of({gpu_nanoseconds, " ns of GPUs"});
    return cell;
}

[[nodiscard]] inline table_row row_of(const waterfall_line& line, const waterfall& whole, const std::string& name) {
    if (!line.is_known) {
        return {{name}, {"-"}, {"-"}, {line.assumed}};
    }
    const double sign = line.what == waterfall_step::useful ? 1 : -1;
    return {{name},
            milliseconds_cell(line.gpu_nanoseconds, whole.gpus()),
            number_cell(100 * sign * line.share, 2),
            {line.assumed}};
}

[[nodiscard]] inline table_row row_of(const component_line& line, const component_waterfall& whole) {
    std::string ran;
    for (const std::string& name : line.components) {
        append_item(ran, name);
    }
    if (!line.components.empty() && line.timed != counted_passes::train) {
        ran.append(line.timed == counted_passes::forward ? ", forward" : ", backward");
    }
    const bool works = line.executed_nanoseconds != 0;
    return {{line.name},
            milliseconds_cell(line.gpu_nanoseconds, whole.whole().gpus()),
            number_cell(100 * line.share, 2),
            works ? number_cell(100 * line.mfu, 2) : table_cell{"-"},
            works ? number_cell(100 * line.kernel_rate, 2) : table_cell{"-"},
            number_cell(whole.points(line.lost()), 2),
            number_cell(whole.points(line.besides()), 2),
            number_cell(whole.points(line.below()), 2),
            {ran}};
}

}  // namespace detail

/// The table of a waterfall: from the peak down to the MFU in the order in which it is lost, in milliseconds of one GPU
/// and points of the peak, with what each line rests on.
[[nodiscard]] inline table table_of(const waterfall& made) {
    table_section section{
        .columns = {{}, {"ms of a GPU", cell_side::right, 16}, {"% of peak", cell_side::right, 11}, {}},
        .rows = {{{"peak"}, number_cell(1e3 * made.seconds(), 3), {"100.00"}}}};
    for (const waterfall_line& line : made.lines().subspan(1)) {
        section.rows.push_back(detail::row_of(line, made, line.name));
    }
    section.rows.push_back(detail::row_of(made.lines().front(), made, "measured MFU"));
    return {.title = detail::text_of({"MFU ", detail::fixed_decimal(100 * made.mfu(), 2), " %"}),
            .sections = {std::move(section)}};
}

/// The known lines that cost most, the dearest first: no more than `most`, and none that costs nothing.
[[nodiscard]] inline std::vector<waterfall_line> largest_causes(const waterfall& made, std::size_t most = 3) {
    std::vector<waterfall_line> causes;
    for (const waterfall_line& line : made.lines().subspan(1)) {
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

/// The table of a waterfall by what costs most, the MFU first, each with a bar of 40 signs for the whole peak; below
/// it, what usually helps against the three largest causes. Lines that are not known or cost nothing are left out.
[[nodiscard]] inline table table_by_cost(const waterfall& made) {
    table_section section{.columns = {{"", cell_side::left, 26},
                                      {"ms of a GPU", cell_side::right, 13},
                                      {"% of peak", cell_side::right, 11},
                                      {"", cell_side::left, 40},
                                      {}}};
    std::vector<waterfall_line> lines = largest_causes(made, made.lines().size());
    lines.insert(lines.begin(), made.lines().front());
    for (const waterfall_line& line : lines) {
        const auto signs = static_cast<std::size_t>(std::max(0.0, std::round(40 * line.share)));
        section.rows.push_back({{line.what == waterfall_step::useful ? "measured MFU" : line.name},
                                detail::milliseconds_cell(line.gpu_nanoseconds, made.gpus()),
                                number_cell(100 * line.share, 2),
                                {std::string(signs, '#')},
                                {line.assumed}});
    }
    table shown{.title = detail::text_of({"MFU ", detail::fixed_decimal(100 * made.mfu(), 2), " %"}),
                .sections = {std::move(section)}};
    for (const waterfall_line& line : largest_causes(made)) {
        if (*usual_help(line.what) != '\0') {
            shown.notes.push_back(detail::text_of({line.name, ": usually helps: ", usual_help(line.what)}));
        }
    }
    return shown;
}

/// The waterfall as aligned text, with its notes.
[[nodiscard]] inline std::string to_table_by_cost(const waterfall& made) {
    const table shown = table_by_cost(made);
    std::string text = to_text(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {note, "\n"});
    }
    return text;
}

/// The table of a step by component: its time, its own MFU, what its kernels reach of their peak, and the points of the
/// MFU that it costs, of them those of executed work that is not useful and those of kernels below their peak. The last
/// row is what all lines add up to.
[[nodiscard]] inline table table_of(const component_waterfall& made) {
    table_section section{.columns = {{"by component"}}};
    for (const char* name :
         {"ms of a GPU", "% of time", "own MFU %", "kernels %", "points lost", "not useful", "below peak"}) {
        section.columns.push_back({name, cell_side::right, 13});
    }
    section.columns.push_back({"what it ran"});
    component_line all{.name = "all", .gpu_nanoseconds = made.gpu_nanoseconds(), .share = 1, .mfu = 0};
    for (const component_line& line : made.lines()) {
        section.rows.push_back(detail::row_of(line, made));
        all.useful_nanoseconds += line.useful_nanoseconds;
        all.executed_nanoseconds += line.executed_nanoseconds;
        all.mfu += line.mfu * line.share;
        all.kernel_rate += line.kernel_rate * line.share;
    }
    section.rows.push_back(detail::row_of(all, made));
    return {.sections = {std::move(section)}};
}

/// The table of the ranks' own steps, in milliseconds.
[[nodiscard]] inline table table_of(const std::vector<rank_line>& lines) {
    table_section section{.columns = {{"by rank, ms", cell_side::left, 11}}};
    for (const char* name : {"step", "computing", "besides", "transfer", "waiting", "idle", "hidden"}) {
        section.columns.push_back({name, cell_side::right, 12});
    }
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        const rank_line& line = lines[rank];
        table_row row{{std::to_string(rank)}};
        for (const double seconds :
             {line.seconds, line.computing, line.besides, line.transfer, line.waiting, line.idle, line.hidden}) {
            row.push_back(number_cell(1e3 * seconds, 3));
        }
        section.rows.push_back(std::move(row));
    }
    return {.sections = {std::move(section)}};
}

/// The table of a waterfall as aligned text.
[[nodiscard]] inline std::string to_table(const waterfall& made) { return to_text(table_of(made)); }

/// The table of a waterfall in Markdown, the MFU in bold.
[[nodiscard]] inline std::string to_markdown(const waterfall& made) {
    table shown = table_of(made);
    shown.sections[0].columns.back().name = "what it rests on";
    shown.sections[0].rows.back()[0].text = "**measured MFU**";
    return to_markdown(shown);
}

/// The table of a step by component as aligned text.
[[nodiscard]] inline std::string to_table(const component_waterfall& made) { return to_text(table_of(made)); }

/// The table of a step by component in Markdown.
[[nodiscard]] inline std::string to_markdown(const component_waterfall& made) {
    table shown = table_of(made);
    shown.sections[0].columns[0].name.clear();
    return to_markdown(shown);
}

}  // namespace floptally

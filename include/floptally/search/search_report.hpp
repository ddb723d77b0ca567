// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Tables of the layouts that a search found.

namespace floptally::inline v0_3 {

/// Returns one sentence about the measured step of a search.
[[nodiscard]] inline std::string to_string(const measured_step& measured) {
    return detail::text_of({to_string(measured.predicted.layout), ": ",
                            detail::fixed_decimal(measured.predicted.seconds, 4), " s, MFU ",
                            detail::fixed_decimal(100 * measured.predicted.mfu, 2), " %, ",
                            detail::fixed_decimal(measured.predicted.memory.gib, 2), " GiB; kernels reach ",
                            detail::fixed_decimal(100 * measured.efficiency, 2), " % of the peak"});
}

/// Returns the first `most` layouts of a search as a table. The notes say how many layouts were left out and what the
/// search assumes. A `*` marks the Pareto front: layouts that no other layout beats in both time and memory.
[[nodiscard]] inline table table_of(const layout_search& search, std::size_t most = 20) {
    table_section section{.columns = {{{}, cell_side::left, 2}}};
    const char* const sizes[] = {"dp", "tp", "cp", "pp", "vpp", "ep", "etp", "mb", "x"};
    for (const char* const size : sizes) {
        section.columns.push_back({size, cell_side::right, 5});
    }
    section.columns.insert(section.columns.end(), {{"zero", cell_side::left, 10},
                                                   {"recompute", cell_side::left, 10},
                                                   {"schedule", cell_side::left, 12},
                                                   {"GiB", cell_side::right, 8},
                                                   {"seconds", cell_side::right, 10},
                                                   {"MFU %", cell_side::right, 7},
                                                   {"bubble %", cell_side::right, 9},
                                                   {"bound", cell_side::right, 10}});
    const std::vector<std::size_t> front = search.pareto_front();
    for (std::size_t i = 0; i < search.found.size() && i < most; ++i) {
        const layout_prediction& found = search.found[i];
        const parallel_sizes& of = found.layout.sizes;
        table_row row{{std::find(front.begin(), front.end(), i) != front.end() ? "*" : ""}};
        for (const std::uint64_t size : {of.dp, of.tp, of.cp, of.pp, of.vpp, of.ep, of.expert_tp(),
                                         found.layout.microbatch, found.layout.microbatches}) {
            row.push_back({std::to_string(size)});
        }
        std::string zero = zero_stage_names[static_cast<std::size_t>(found.layout.sharded)];
        zero += of.dp_replicate == 1 ? std::string() : detail::text_of({" / ", of.dp_replicate});
        row.push_back({std::move(zero)});
        row.push_back({recompute_names[static_cast<std::size_t>(found.layout.recomputed)]});
        row.push_back({of.pp == 1 ? "-" : pipeline_schedule_names[static_cast<std::size_t>(found.layout.schedule)]});
        row.push_back(number_cell(found.memory.gib, 2));
        row.push_back(number_cell(found.seconds, 4));
        row.push_back(number_cell(100 * found.mfu, 2));
        row.push_back(number_cell(100 * found.bubble, 2));
        row.push_back(number_cell(found.bound, 4));
        section.rows.push_back(std::move(row));
    }
    std::vector<std::string> notes;
    notes.push_back(detail::text_of({search.found.size(), " of ", search.tried, " layouts fit, ", search.too_large,
                                     " are too large, ", search.impossible, " do not divide"}));
    notes.insert(notes.end(), search.assumed.begin(), search.assumed.end());
    return {.sections = {std::move(section)}, .notes = std::move(notes)};
}

/// Returns the table as aligned text, followed by its notes.
[[nodiscard]] inline std::string to_table(const layout_search& search, std::size_t most = 20) {
    const table shown = table_of(search, most);
    std::string text = to_text(shown);
    if (search.measured) {
        text = detail::text_of({"measured: ", to_string(*search.measured), "\n", text});
    }
    for (std::size_t i = 0; i < shown.notes.size(); ++i) {
        detail::append(text, {i == 0 ? "" : "assumed: ", shown.notes[i], "\n"});
    }
    return text;
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <floptally/text/table.hpp>

/// @file
/// Adapter: a table as JSON, for what sets it elsewhere, with nlohmann_json.

namespace floptally {

/// A table as JSON, for what sets it elsewhere (HTML in a notebook). "exact" is there where a cell has it:
///
///     {"title": "…", "notes": ["…"], "sections": [{"columns": [{"name": "useful", "side": "right"}],
///      "rows": [[{"text": "421.65 TFLOP", "exact": "421651971833856"}]]}]}
[[nodiscard]] inline nlohmann::ordered_json to_json(const table& shown) {
    using json = nlohmann::ordered_json;
    json sections = json::array();
    for (const table_section& section : shown.sections) {
        json columns = json::array();
        for (const table_column& column : section.columns) {
            columns.push_back({{"name", column.name}, {"side", column.side == cell_side::left ? "left" : "right"}});
        }
        json rows = json::array();
        for (const table_row& row : section.rows) {
            json cells = json::array();
            for (const table_cell& cell : row) {
                cells.push_back({{"text", cell.text}});
                if (!cell.exact.empty()) {
                    cells.back()["exact"] = cell.exact;
                }
            }
            rows.push_back(cells);
        }
        sections.push_back({{"columns", columns}, {"rows", rows}});
    }
    return {{"title", shown.title}, {"notes", shown.notes}, {"sections", sections}};
}

}  // namespace floptally

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/text/table.hpp>

/// @file
/// Adapter: writes tables as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

/// Returns a table as JSON, for other renderers such as HTML in a notebook. A cell has the key "exact" if its exact
/// value is known:
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
    nlohmann::ordered_json out{{"title", shown.title}, {"notes", shown.notes}, {"sections", sections}};
    return detail::with_utf8(std::move(out));
}

}  // namespace floptally

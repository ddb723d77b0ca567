// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/text/number_text.hpp>

/// @file
/// A table as plain data, printed as aligned text or as Markdown.

namespace floptally::inline v0_3 {

/// A cell of a table.
struct table_cell {
    std::string text{};
    std::string exact{};  ///< the exact integer (with its unit, if any) of a cell whose text is rounded or grouped;
                          ///< otherwise empty
};

/// The alignment of the cells of a column.
enum class cell_side : bool { left, right };

/// A column of a table.
struct table_column {
    std::string name{};  ///< heading of the column; a section without any column name has no heading line
    cell_side side = cell_side::left;
    /// Least width in characters in aligned text. For a right-aligned column it includes the space before the cell.
    std::size_t width = 0;
};

/// The cells of a row in the order of the columns. Missing cells at the end are empty.
using table_row = std::vector<table_cell>;

/// The rows of a table under one heading.
struct table_section {
    std::vector<table_column> columns{};
    std::vector<table_row> rows{};
};

/// A table of a report, of bytes or of a waterfall. It can be printed as text, Markdown or JSON.
struct table {
    std::string title{};  ///< lines above the table
    std::vector<table_section> sections{};
    std::vector<std::string> notes{};  ///< lines below the table
};

/// Returns digits in groups of three: "443 365".
[[nodiscard]] inline std::string grouped(std::string digits) {
    for (std::size_t at = digits.size(); at > 3; at -= 3) {
        digits.insert(at - 3, 1, ' ');
    }
    return digits;
}
[[nodiscard]] inline std::string grouped(std::uint64_t count) { return grouped(std::to_string(count)); }

/// Returns the cell of a count: "8 192".
[[nodiscard]] inline table_cell count_cell(std::uint64_t count) { return {grouped(count), std::to_string(count)}; }

/// Returns the cell of a number with `decimals` digits after the point: "-7.50". A negative zero loses its sign:
/// "0.00".
[[nodiscard]] inline table_cell number_cell(double value, int decimals, std::string_view unit = "") {
    std::string text = detail::fixed_decimal(value, decimals);
    if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) {
        text.erase(0, 1);
    }
    return {text.append(unit)};
}

namespace detail {

/// Returns the column names as a row. Returns an empty row if no column has a name.
[[nodiscard]] inline table_row head_of(const table_section& section) {
    table_row head;
    bool is_named = false;
    for (const table_column& column : section.columns) {
        head.push_back({column.name});
        is_named = is_named || !column.name.empty();
    }
    return is_named ? head : table_row{};
}

/// Appends a row as a line without trailing blanks. A cell that is wider than its column moves the next cells to the
/// right.
inline void append_aligned(std::string& text, const std::vector<table_column>& columns, const table_row& row,
                           std::size_t first_width, std::size_t indent) {
    std::size_t spaces = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string& cell = row[i].text;
        const std::size_t width = i == 0 ? first_width : columns[i].width;
        const std::size_t padding = width - std::min(width, cell.size());
        const bool is_left = columns[i].side == cell_side::left;
        spaces += !is_left ? padding : i == 0 ? 0 : 2;
        if (!cell.empty()) {
            text.append(spaces, ' ').append(cell);
            spaces = 0;
        }
        spaces += is_left ? padding : 0;
    }
    text.append("\n");
}

/// Appends a cell of a Markdown table. Escapes "|" and replaces line breaks by blanks, to keep cells and rows intact.
inline void append_markdown_cell(std::string& text, std::string_view content) {
    text.append(" ");
    for (const char letter : content) {
        text.append(letter == '|' ? "\\" : "").append(1, letter == '\n' || letter == '\r' ? ' ' : letter);
    }
    text.append(" |");
}

}  // namespace detail

/// Returns the sections as aligned lines, with an empty line between sections. All first columns are as wide as the
/// longest cell in any of them. In other columns, a cell that is too long moves the next cells to the right.
[[nodiscard]] inline std::string to_text(const table& source, std::size_t indent = 0) {
    std::size_t first_width = 0;
    for (const table_section& section : source.sections) {
        first_width = std::max({first_width, section.columns.front().width, section.columns.front().name.size()});
        for (const table_row& row : section.rows) {
            first_width = std::max(first_width, row.front().text.size());
        }
    }
    std::string text;
    for (const table_section& section : source.sections) {
        text.append(&section == source.sections.data() ? "" : "\n");
        if (const table_row head = detail::head_of(section); !head.empty()) {
            detail::append_aligned(text, section.columns, head, first_width, indent);
        }
        for (const table_row& row : section.rows) {
            detail::append_aligned(text, section.columns, row, first_width, indent);
        }
    }
    return text;
}

/// Returns the sections as Markdown tables, with an empty line between sections. Escapes "|" and removes line breaks in
/// cells, because cells may contain names from the caller.
[[nodiscard]] inline std::string to_markdown(const table& source) {
    std::string text;
    for (const table_section& section : source.sections) {
        text.append(&section == source.sections.data() ? "|" : "\n|");
        std::string sides = "\n|";
        for (const table_column& column : section.columns) {
            text.append(column.name.empty() ? "" : " ").append(column.name).append(" |");
            sides.append(column.side == cell_side::left ? " --- |" : " --: |");
        }
        text.append(sides).append("\n");
        for (const table_row& row : section.rows) {
            text.append("|");
            for (std::size_t i = 0; i < section.columns.size(); ++i) {
                detail::append_markdown_cell(text, i < row.size() ? row[i].text : std::string());
            }
            text.append("\n");
        }
    }
    return text;
}

}  // namespace floptally

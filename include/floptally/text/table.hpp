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
/// A table as plain data, its cells, and its sections as aligned text and as Markdown.

namespace floptally {

/// A cell of a table.
struct table_cell {
    std::string text{};
    std::string exact{};  ///< the integer that the text rounds or groups, with its unit if need be; else empty
};

/// The side of its column on which the text of a cell stands.
enum class cell_side : bool { left, right };

/// A column of a table.
struct table_column {
    std::string name{};  ///< its head; where no column of a section has a name, the section has no head
    cell_side side = cell_side::left;
    std::size_t width = 0;  ///< least characters of it in an aligned text, with the space before a cell on the right
};

/// The cells of a row in the order of the columns; cells that are missing at its end are empty.
using table_row = std::vector<table_cell>;

/// Rows under one head.
struct table_section {
    std::vector<table_column> columns{};
    std::vector<table_row> rows{};
};

/// A table: what reports, bytes and waterfalls show, before it is text, Markdown or JSON.
struct table {
    std::string title{};  ///< lines above it
    std::vector<table_section> sections{};
    std::vector<std::string> notes{};  ///< a line each, below it
};

/// "443 365": digits in groups of three.
[[nodiscard]] inline std::string grouped(std::string digits) {
    for (std::size_t at = digits.size(); at > 3; at -= 3) {
        digits.insert(at - 3, 1, ' ');
    }
    return digits;
}
[[nodiscard]] inline std::string grouped(std::uint64_t count) { return grouped(std::to_string(count)); }

/// A cell of a count: "8 192".
[[nodiscard]] inline table_cell count_cell(std::uint64_t count) { return {grouped(count), std::to_string(count)}; }

/// A cell of a number with that many decimals: "-7.50", and "0.00" for -0.
[[nodiscard]] inline table_cell number_cell(double value, int decimals, std::string_view unit = "") {
    std::string text = detail::fixed_decimal(value, decimals);
    if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) {
        text.erase(0, 1);
    }
    return {text.append(unit)};
}

namespace detail {

/// The names of a section's columns as a row; no cell where no column has one.
[[nodiscard]] inline table_row head_of(const table_section& section) {
    table_row head;
    bool is_named = false;
    for (const table_column& column : section.columns) {
        head.push_back({column.name});
        is_named = is_named || !column.name.empty();
    }
    return is_named ? head : table_row{};
}

/// Appends a line. Nothing follows its last text, and a cell that is too long pushes those after it.
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

/// Appends a cell of a Markdown table; "|" in it ends no cell and a line break no row.
inline void append_markdown_cell(std::string& text, std::string_view words) {
    text.append(" ");
    for (const char letter : words) {
        text.append(letter == '|' ? "\\" : "").append(1, letter == '\n' || letter == '\r' ? ' ' : letter);
    }
    text.append(" |");
}

}  // namespace detail

/// The sections as aligned lines, an empty line between them. Their first columns are as wide as the longest name of
/// all; in other columns a cell that is too long pushes those after it.
[[nodiscard]] inline std::string to_text(const table& shown, std::size_t indent = 0) {
    std::size_t first_width = 0;
    for (const table_section& section : shown.sections) {
        first_width = std::max({first_width, section.columns.front().width, section.columns.front().name.size()});
        for (const table_row& row : section.rows) {
            first_width = std::max(first_width, row.front().text.size());
        }
    }
    std::string text;
    for (const table_section& section : shown.sections) {
        text.append(&section == shown.sections.data() ? "" : "\n");
        if (const table_row head = detail::head_of(section); !head.empty()) {
            detail::append_aligned(text, section.columns, head, first_width, indent);
        }
        for (const table_row& row : section.rows) {
            detail::append_aligned(text, section.columns, row, first_width, indent);
        }
    }
    return text;
}

/// The sections as Markdown tables, an empty line between them. Of names that a caller gives, "|" ends no cell and a
/// line break no row.
[[nodiscard]] inline std::string to_markdown(const table& shown) {
    std::string text;
    for (const table_section& section : shown.sections) {
        text.append(&section == shown.sections.data() ? "|" : "\n|");
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

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <floptally/text/table.hpp>

#include "catch2.hpp"

namespace table_test {
namespace {

using floptally::cell_side;
using floptally::table;

/// Two sections with a name that is longer than the least width, a cell that is too long, and one that is missing.
table two_sections() {
    return {
        .sections = {
            {.columns = {{"", cell_side::left, 4}, {"", cell_side::right, 6}}, .rows = {{{"ab"}, {"1 234"}}}},
            {.columns = {{"name"}, {"count", cell_side::right, 6}, {"words"}},
             .rows = {{{"longest"}, {"7"}, {"a|b\nc"}}, {{"x"}, {"12345678"}, {"d"}}, {{"y"}, {""}, {}}, {{"z"}}}}}};
}

}  // namespace

TEST_CASE("sections of a table are aligned under their titles") {
    CHECK(to_text(two_sections()) ==
          "ab      1 234\n"
          "\n"
          "name    count  words\n"
          "longest     7  a|b\nc\n"
          "x      12345678  d\n"
          "y\n"
          "z\n");
    CHECK(to_text(table{.sections = {{.columns = {{"n"}, {"v", cell_side::right, 3}}, .rows = {{{"a"}, {"1"}}}}}}, 2) ==
          "  n  v\n"
          "  a  1\n");
}

TEST_CASE("a Markdown table has a header row per section and escaped cells") {
    CHECK(to_markdown(two_sections()) ==
          "| | |\n| --- | --: |\n"
          "| ab | 1 234 |\n"
          "\n"
          "| name | count | words |\n| --- | --: | --- |\n"
          "| longest | 7 | a\\|b c |\n"
          "| x | 12345678 | d |\n"
          "| y |  |  |\n"
          "| z |  |  |\n");
}

TEST_CASE("number cells of a table are formatted with digits, decimals and units") {
    CHECK(floptally::count_cell(1'234'567).text == "1 234 567");
    CHECK(floptally::count_cell(1'234'567).exact == "1234567");
    CHECK(floptally::number_cell(-7.5, 2, " %").text == "-7.50 %");
    CHECK(floptally::number_cell(-0.004, 2).text == "0.00");
    CHECK(floptally::number_cell(-0.005001, 2).text == "-0.01");
}

TEST_CASE("digits of large integers are grouped in threes") {
    using floptally::grouped;
    CHECK(grouped(0) == "0");
    CHECK(grouped(7) == "7");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1 000");
    CHECK(grouped(12'345) == "12 345");
    CHECK(grouped(443'365) == "443 365");
    CHECK(grouped(1'000'000) == "1 000 000");
    CHECK(grouped(~std::uint64_t{0}) == "18 446 744 073 709 551 615");
}

}  // namespace table_test

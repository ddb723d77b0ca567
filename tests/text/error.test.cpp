// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <floptally/text/error.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace error_test {

using floptally::detail::text_of;

TEST_CASE("a text is put together out of words and numbers") {
    const std::string owned = "c";
    CHECK(text_of({"a", std::string_view("b"), owned, " ", 7, " ", 0U, " ", -12L}) == "abc 7 0 -12");
    CHECK(text_of({}).empty());
    CHECK(text_of({std::numeric_limits<std::int64_t>::min()}) == "-9223372036854775808");
    CHECK(text_of({std::numeric_limits<std::int64_t>::max()}) == "9223372036854775807");
    CHECK(text_of({std::numeric_limits<std::uint64_t>::max()}) == "18446744073709551615");
    CHECK(text_of({std::numeric_limits<std::int32_t>::min()}) == "-2147483648");
    CHECK(text_of({static_cast<std::uint8_t>(255)}) == "255");
}

TEST_CASE("what is refused names its field") {
    CHECK(error_of([] {
              floptally::detail::refuse("heads[" + std::to_string(3) + "]", {"got ", 5});
          }) == "heads[3]: got 5");
}

TEST_CASE("Control characters of a field and of a value neither end the text nor rule a terminal") {
    using namespace std::string_view_literals;
    const floptally::error problem("a\0b"sv, "must be 1, got \"\x1b[2J\r\0é\x7f\""sv);
    CHECK(problem.field() == "a?b");
    CHECK(problem.problem() == "must be 1, got \"?[2J??é?\"");
    CHECK(std::string_view(problem.what()) == "a?b: must be 1, got \"?[2J??é?\"");
    CHECK(floptally::error("\0"sv, "").problem().empty());
    CHECK(floptally::error("a", "b\n  c").problem() == "b\n  c");
}

}  // namespace error_test

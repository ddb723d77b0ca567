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

}  // namespace error_test

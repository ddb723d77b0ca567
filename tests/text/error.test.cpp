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

TEST_CASE("the text of an error joins texts and numbers") {
    const std::string owned = "c";
    CHECK(text_of({"a", std::string_view("b"), owned, " ", 7, " ", 0U, " ", -12L}) == "abc 7 0 -12");
    CHECK(text_of({}).empty());
    CHECK(text_of({std::numeric_limits<std::int64_t>::min()}) == "-9223372036854775808");
    CHECK(text_of({std::numeric_limits<std::int64_t>::max()}) == "9223372036854775807");
    CHECK(text_of({std::numeric_limits<std::uint64_t>::max()}) == "18446744073709551615");
    CHECK(text_of({std::numeric_limits<std::int32_t>::min()}) == "-2147483648");
    CHECK(text_of({static_cast<std::uint8_t>(255)}) == "255");
}

TEST_CASE("an error from detail::refuse names its field") {
    CHECK(error_of([] {
              floptally::detail::refuse("heads[" + std::to_string(3) + "]", {"got ", 5});
          }) == "heads[3]: got 5");
}

TEST_CASE("with_renamed_field changes the field of errors about the named list and of no other errors") {
    const auto renamed = [](const auto& problem) {
        return error_of(
            [&] { floptally::detail::with_renamed_field("lengths", "lengths_file", [&] { throw problem; }); });
    };
    CHECK(renamed(floptally::error("lengths", "is empty")) == "lengths_file: is empty");
    CHECK(renamed(floptally::error("lengths[3]", "got -1")) == "lengths_file[3]: got -1");
    CHECK(renamed(floptally::error("lengths_padded", "is empty")) == "lengths_padded: is empty");
    CHECK(renamed(floptally::error("length", "is 0")) == "length: is 0");
    CHECK(renamed(floptally::error("encoder_lengths", "is empty")) == "encoder_lengths: is empty");
    const auto overflows = [] {
        floptally::detail::with_renamed_field("lengths", "mine",
                                              [] { throw floptally::overflow("squares", "too large"); });
    };
    CHECK_THROWS_AS(overflows(), floptally::overflow);
}

TEST_CASE("control characters in an error's field or value are escaped") {
    using namespace std::string_view_literals;
    const floptally::error problem("a\0b"sv, "must be 1, got \"\x1b[2J\r\0é\x7f\""sv);
    CHECK(problem.field() == "a?b");
    CHECK(problem.problem() == "must be 1, got \"?[2J??é?\"");
    CHECK(std::string_view(problem.what()) == "a?b: must be 1, got \"?[2J??é?\"");
    CHECK(floptally::error("\0"sv, "").problem().empty());
    CHECK(floptally::error("a", "b\n  c").problem() == "b\n  c");
}

}  // namespace error_test

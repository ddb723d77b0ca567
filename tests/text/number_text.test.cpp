// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <random>
#include <string>

#include <floptally/text/detail/stream_number.hpp>

#include "catch2.hpp"

namespace number_text_test {

TEST_CASE("the stream-based number parser gives the value and end position of std::from_chars") {
    const auto compared = [](const std::string& text) {
        double expected = 7;
        double found = 7;
        const auto by_chars = std::from_chars(text.data(), text.data() + text.size(), expected);
        const auto by_stream = floptally::detail::stream_number(text.data(), text.data() + text.size(), found);
        INFO(text);
        CHECK(by_stream.ec == by_chars.ec);
        CHECK(by_stream.ptr == by_chars.ptr);
        CHECK(found == expected);
    };
    for (const char* text : {"",
                             "-",
                             ".",
                             "-.",
                             "+1",
                             " 1",
                             "1",
                             "-0",
                             "1.",
                             ".5",
                             "1.5.2",
                             "1e",
                             "1e+",
                             "1e5x",
                             "1E-3",
                             "1e400",
                             "0x10",
                             "1,5",
                             "17976931348623157e292",
                             "4.9e-324",
                             "2.2250738585072011e-308",
                             "0.1",
                             "e5"}) {
        compared(text);
    }
    std::mt19937_64 random(1);
    const std::string signs = "0123456789.-+eE x";
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (auto length = random() % 9; length > 0; --length) {
            text += signs[random() % signs.size()];
        }
        compared(text);
    }
}

}  // namespace number_text_test

// SPDX-License-Identifier: Apache-2.0
//
// Compares is_utf8 with nlohmann_json. Its `dump` throws for a text that is not UTF-8.

#include <nlohmann/json.hpp>
#include <string>

#include <floptally/text/utf8.hpp>

#include "catch2.hpp"
#include "sanitized.hpp"

namespace utf8_test {
namespace {

bool is_dumped(const std::string& text) {
    try {
        static_cast<void>(nlohmann::json(text).dump());
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

/// Counts the texts that the two judge differently, of all texts that begin with `text` and have `more` further bytes.
/// Bytes after the second are those at the bounds of a byte's meaning.
int differences(std::string text, int more) {
    int different = floptally::detail::is_utf8(text) == is_dumped(text) ? 0 : 1;
    if (more != 0) {
        const bool is_any = text.size() < 2;
        const int bounds[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xFF};
        for (int i = 0; i < (is_any ? 256 : 13); ++i) {
            different += differences(text + static_cast<char>(is_any ? i : bounds[i]), more - 1);
        }
    }
    return different;
}

}  // namespace

TEST_CASE("a text is UTF-8 exactly if nlohmann_json can dump it") {
    CHECK(differences("", is_sanitized ? 2 : 3) == 0);
    for (const char* const begin : {"\xE0\xA0", "\xED\x9F", "\xED\xA0", "\xF0\x90", "\xF0\x8F", "\xF4\x8F", "\xF4\x90",
                                    "a\xC3", "\xC3\xA9\xC3", "\xF5\x80"}) {
        CHECK(differences(begin, 2) == 0);
    }
}

}  // namespace utf8_test

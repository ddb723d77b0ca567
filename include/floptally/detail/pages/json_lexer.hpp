// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/detail/message.hpp>

namespace floptally::detail::pages {

/// Cuts JSON (RFC 8259) into tokens. An error counts the bytes that were read when it was seen, the end as one.
class json_lexer {
  public:
    explicit json_lexer(std::string_view text) : text_(text) {
        if (text_.starts_with('\xEF')) {
            expect("\xEF\xBB\xBF");  // a byte order mark
        }
    }

    /// The last token where it is one.
    std::string string;
    std::string_view number;
    bool is_real = false;  ///< the number has a point or an exponent

    /// The first byte of the next token, with all of it read: '0' of any number, '\0' at the end of the text.
    char token() {
        int next = get();
        while (next == ' ' || next == '\t' || next == '\n' || next == '\r') {
            next = get();
        }
        switch (next) {
            case '{':
            case '}':
            case '[':
            case ']':
            case ':':
            case ',':
                break;
            case '"':
                read_string();
                break;
            case 't':
                expect("rue");
                break;
            case 'f':
                expect("alse");
                break;
            case 'n':
                expect("ull");
                break;
            case -1:
            case 0:
                return '\0';
            default:
                --at_;
                read_number();
                return '0';
        }
        return static_cast<char>(next);
    }

    [[noreturn, gnu::cold, gnu::noinline]] void fail() const {
        refuse("config", {"must be a JSON object, cannot be parsed at byte ", at_});
    }

  private:
    /// The next byte; at the end, and beyond, -1.
    int get() {
        ++at_;
        return at_ <= text_.size() ? static_cast<unsigned char>(text_[at_ - 1]) : -1;
    }
    void expect(std::string_view bytes) {
        for (const char one : bytes) {
            if (get() != static_cast<unsigned char>(one)) {
                fail();
            }
        }
    }

    // ---- numbers ----

    [[nodiscard]] bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
    [[nodiscard]] bool take(char one) {
        const bool found = at_ < text_.size() && text_[at_] == one;
        at_ += found ? 1 : 0;
        return found;
    }
    void read_digits() {
        if (!is_digit()) {
            ++at_;
            fail();
        }
        while (is_digit()) {
            ++at_;
        }
    }
    void read_number() {
        const std::size_t first = at_;
        is_real = false;
        static_cast<void>(take('-'));
        if (!take('0')) {
            read_digits();
        }
        if (take('.')) {
            is_real = true;
            read_digits();
        }
        if (take('e') || take('E')) {
            is_real = true;
            static_cast<void>(take('+') || take('-'));
            read_digits();
        }
        number = text_.substr(first, at_ - first);
    }

    // ---- strings ----

    void read_string() {
        string.clear();
        for (int next = get(); next != '"'; next = get()) {
            if (next == '\\') {
                read_escape();
            } else if (next < 0x20) {
                fail();
            } else {
                string += static_cast<char>(next);
                read_rest_of(next);
            }
        }
    }
    /// The bytes that follow the first one of a character in UTF-8 (Unicode 15, table 3-7).
    void read_rest_of(int first) {
        if (first < 0x80) {
            return;
        }
        if (first < 0xC2 || first > 0xF4) {
            fail();
        }
        int least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        int most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        for (int more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3; more > 0; --more) {
            const int next = get();
            if (next < least || next > most) {
                fail();
            }
            string += static_cast<char>(next);
            least = 0x80;
            most = 0xBF;
        }
    }
    void read_escape() {
        constexpr std::string_view escapes = "\"\\/bfnrt";
        constexpr std::string_view stand_for = "\"\\/\b\f\n\r\t";
        const int next = get();
        if (next == 'u') {
            add_utf8(read_code_point());
            return;
        }
        const std::size_t which = next < 0 ? std::string_view::npos : escapes.find(static_cast<char>(next));
        if (which == std::string_view::npos) {
            fail();
        }
        string += stand_for[which];
    }
    [[nodiscard]] unsigned read_hex() {
        unsigned code = 0;
        for (int k = 0; k < 4; ++k) {
            const int next = get();
            const int digit = next >= '0' && next <= '9'   ? next - '0'
                              : next >= 'a' && next <= 'f' ? next - 'a' + 10
                              : next >= 'A' && next <= 'F' ? next - 'A' + 10
                                                           : -1;
            if (digit < 0) {
                fail();
            }
            code = 16 * code + static_cast<unsigned>(digit);
        }
        return code;
    }
    /// Above 0xFFFF it is two escapes, of a high and a low surrogate.
    [[nodiscard]] unsigned read_code_point() {
        const unsigned code = read_hex();
        if (code < 0xD800 || code > 0xDFFF) {
            return code;
        }
        if (code > 0xDBFF) {
            fail();
        }
        expect("\\u");
        const unsigned low = read_hex();
        if (low < 0xDC00 || low > 0xDFFF) {
            fail();
        }
        return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    void add_utf8(unsigned code) {
        const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        constexpr unsigned first_bits[] = {0, 0xC0, 0xE0, 0xF0};
        string += static_cast<char>(first_bits[more] | (code >> (6 * more)));
        for (int k = more - 1; k >= 0; --k) {
            string += static_cast<char>(0x80U | ((code >> (6 * k)) & 0x3FU));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;  ///< bytes that were read
};

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The tokenizer of a line of a spec.

namespace floptally::inline v0_3::detail::specs {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}
[[nodiscard]] constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

/// A word or sign of other languages, and the end of an error that says what a spec has instead.
struct foreign_word {
    std::string_view word;
    const char* hint;
};
inline constexpr foreign_word foreign_words[] = {{"=", "; write \"==\" to compare"},
                                                 {"&&", "; write \"and\""},
                                                 {"||", "; write \"or\""},
                                                 {"if", "; write \"c ? a : b\" for a choice"},
                                                 {"else", "; write \"c ? a : b\" for a choice"},
                                                 {"true", "; write \"yes\""},
                                                 {"false", "; write \"no\""},
                                                 {"True", "; write \"yes\""},
                                                 {"False", "; write \"no\""},
                                                 {"None", "; write \"null\""}};
/// Returns the hint of the word of other languages that a text begins with, or an empty text.
[[nodiscard]] constexpr const char* foreign_hint(std::string_view text) {
    for (const foreign_word& known : foreign_words) {
        const char after = text.size() > known.word.size() ? text[known.word.size()] : '\0';
        if (text.starts_with(known.word) && !(is_of_name(known.word.back()) ? is_of_name(after) : after == '=')) {
            return known.hint;
        }
    }
    return "";
}

/// Reads the words and signs of one line of a spec, from left to right. A line that ends in a comma continues on the
/// next line, so its text may contain line ends and comments.
class lexer {
  public:
    lexer(std::string_view spec, std::string_view text, unsigned line) : spec_(spec), text_(text), line_(line) {
        skip();
    }

    [[nodiscard]] bool at_end() const { return text_.empty(); }
    [[nodiscard]] unsigned line() const { return line_; }
    [[nodiscard]] std::string_view rest() const { return text_; }
    [[nodiscard]] char peek(std::size_t at = 0) const { return at < text_.size() ? text_[at] : '\0'; }

    /// If `expected` comes next, skips it and returns true. A word must match as a whole.
    [[nodiscard]] bool take(std::string_view expected) {
        if (!text_.starts_with(expected) || (is_of_name(expected.back()) && is_of_name(peek(expected.size())))) {
            return false;
        }
        advance(expected.size());
        return true;
    }
    void expect(std::string_view expected) {
        if (!take(expected)) {
            fail({"expected \"", expected, "\" before ", next()});
        }
    }
    /// Reads a word of letters, digits and `_`. If `dotted` is true, the word may also have dots inside. Returns an
    /// empty text if no word comes next.
    [[nodiscard]] std::string_view word(bool dotted = false) {
        std::size_t end = 0;
        while (is_of_name(peek(end)) || (dotted && end != 0 && peek(end) == '.' && is_of_name(peek(end + 1)))) {
            ++end;
        }
        const std::string_view found = text_.substr(0, end);
        advance(end);
        return found;
    }
    [[nodiscard]] std::string_view expect_name(const char* what, bool dotted = false) {
        const std::string_view found = word(dotted);
        if (found.empty()) {
            fail({"expected ", what, " before ", next()});
        }
        return found;
    }
    /// Reads the name of a spec, or a text value of a config. Both may have dots and dashes inside ("gpt-sw3",
    /// "t5.encoder").
    [[nodiscard]] std::string_view expect_spec_name(const char* what) {
        std::size_t end = 0;
        while (is_of_name(peek(end)) ||
               (end != 0 && (peek(end) == '.' || peek(end) == '-') && is_of_name(peek(end + 1)))) {
            ++end;
        }
        if (end == 0) {
            fail({"expected ", what, " before ", next()});
        }
        const std::string_view found = text_.substr(0, end);
        advance(end);
        return found;
    }
    /// Reads the text up to the next comma, or to the end of the line.
    [[nodiscard]] std::string_view until_comma() {
        const std::size_t end = text_.find(',');
        const std::string_view found = text_.substr(0, end);
        advance(found.size());
        return trimmed(found);
    }
    /// Reads the words of an argument up to the next comma. Throws if the words include the "if" that begins the line's
    /// condition.
    [[nodiscard]] std::string_view words_of(std::string_view argument) {
        const std::string_view words = until_comma();
        for (std::size_t at = words.find("if"); at != std::string_view::npos; at = words.find("if", at + 2)) {
            if ((at == 0 || words[at - 1] == ' ') && (at + 2 == words.size() || words[at + 2] == ' ')) {
                fail({"\"", argument, "\" takes all words up to the next comma, also the \"if\" in \"", words,
                      "\", which should begin a condition: move \"", argument, "\" before another argument"});
            }
        }
        return words;
    }
    void advance(std::size_t characters) {
        text_.remove_prefix(characters);
        skip();
    }

    /// Returns a description of the text that comes next, for errors.
    [[nodiscard]] std::string next() const {
        if (text_.empty()) {
            return "the end of the line";
        }
        std::string shown = "\"";
        for (const char c : text_.substr(0, 24)) {
            shown += c < ' ' || c > '~' ? '?' : c;
        }
        return shown + "\"";
    }
    [[noreturn]] void fail(std::initializer_list<piece> problem) const { spec_error(spec_, line_, problem); }

  private:
    void skip() {
        while (!text_.empty() && (is_space(text_.front()) || text_.front() == '#')) {
            if (text_.front() == '#') {
                const std::size_t end = text_.find('\n');
                text_ = end == std::string_view::npos ? std::string_view{} : text_.substr(end);
                continue;
            }
            line_ += text_.front() == '\n' ? 1U : 0U;
            text_.remove_prefix(1);
        }
    }

    std::string_view spec_;
    std::string_view text_;
    unsigned line_;
};

}  // namespace floptally::detail::specs

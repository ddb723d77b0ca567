// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <floptally/page_language/lexer.hpp>

namespace floptally::detail::pages {

/// The lines of a text, one at a time: without comments, empty lines and the fence of a literal (the first and last
/// line of a file of `models/`), and whole where one ends in a comma.
class line_reader {
  public:
    explicit line_reader(std::string_view text) : text_(text) {}

    std::string_view line{};
    unsigned number = 0;
    bool indented = false;

    [[nodiscard]] bool next() {
        while (!text_.empty()) {
            number = ++last_;
            const char* const start = text_.data();
            bool goes_on = take_one();
            while (goes_on && !text_.empty()) {
                ++last_;
                goes_on = take_one();
            }
            const std::string_view all(start, static_cast<std::size_t>(text_.data() - start));
            indented = is_space(all.front());
            line = trimmed(without_last_comment(all));
            if (!line.empty() && line != "R\"page(" && line != ")page\"") {
                return true;
            }
        }
        return false;
    }

  private:
    [[nodiscard]] static std::string_view without_comment(std::string_view word) {
        return word.substr(0, word.find('#'));
    }
    /// Comments on lines before the last are the lexer's.
    [[nodiscard]] static std::string_view without_last_comment(std::string_view all) {
        const std::string_view body = trimmed(all);
        const std::size_t start = body.rfind('\n');
        const std::size_t from = start == std::string_view::npos ? 0 : start + 1;
        const std::size_t hash = body.find('#', from);
        return body.substr(0, hash);
    }
    /// Takes a line; true where it ends in a comma, or is only a comment within one that goes on.
    bool take_one() {
        const std::size_t end = text_.find('\n');
        const std::string_view word = trimmed(without_comment(text_.substr(0, end)));
        text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
        return !word.empty() && word.back() == ',';
    }

    std::string_view text_;
    unsigned last_ = 0;
};

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/page_language/detail/line_reader.hpp>
#include <floptally/page_language/expression_parser.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/page.hpp>

namespace floptally::detail::pages {

/// Reads one page: the lines up to the next `page`.
class page_parser {
  public:
    explicit page_parser(page& into) : page_(into) {}

    /// The line `page NAME [: BASE [as PAGE]] [prefix PREFIX]`.
    /// Before the name an error names `file`.
    static page header(std::string_view line, unsigned number, std::string_view file) {
        lexer start(file, line, number);
        start.expect("page");
        page made;
        made.line = number;
        made.name = start.required_name("the name of the page");
        lexer from(made.name, start.rest(), number);
        if (from.take(":")) {
            made.base_name = from.required_name("the name of its base");
            if (from.take("as")) {
                made.like_name = from.required_name("the name of a page");
            }
        }
        if (from.take("prefix")) {
            made.prefix = from.required_word("a prefix of class names");
        }
        if (!from.at_end()) {
            from.fail({"expected \": BASE\" or \"prefix CLASSES\" before ", from.next()});
        }
        return made;
    }

    void take(const line_reader& line) {
        lexer from(page_.name, line.line, line.number);
        if (line.indented) {
            if (block_ == nullptr) {
                from.fail({"an indented line without a block above it"});
            }
            block_->lines.push_back(part(from, block_->is_class));
            return;
        }
        block_ = nullptr;
        statement(from);
        require_end(from);
    }

  private:
    static void require_end(const lexer& from) {
        if (!from.at_end()) {
            from.fail({"expected the end of the line before ", from.next()});
        }
    }

    void statement(lexer& from) {
        const std::string_view word = from.required_word("a statement", true);
        if (from.peek() == '=' && from.peek(1) != '=' && from.take("=")) {
            unique(page_.find_definition(word) != nullptr, word, from);
            page_.definitions.push_back({word, value(from), from.line()});
        } else if (word == "with") {
            do {
                with(from);
            } while (from.take(","));
        } else if (word == "without" || word == "ignores") {
            vector<std::string_view>& keys = word == "without" ? page_.without : page_.ignored;
            do {
                keys.push_back(from.required_word("the name of a key", true));
            } while (from.take(","));
        } else if (word == "classes") {
            while (!from.at_end()) {
                page_.classes.push_back(from.required_word("the rest of a class's name"));
            }
        } else if (word == "class") {
            open(from.required_word("the rest of a class's name"), true, from);
        } else if (word == "encoder") {
            page_.encoder = from.required_name("the name of a page");
            if (from.take("in")) {
                from.expect(".");
                page_.encoder_key = from.required_word("the name of a key", true);
            }
        } else if (word == "inner") {
            inner(from);
        } else if (word == "note" || word == "require") {
            condition(from, word == "note");
        } else {
            open(word, false, from);
        }
    }

    void unique(bool is_there, std::string_view name, const lexer& from) const {
        if (is_there) {
            from.fail({"\"", name, "\" is there already"});
        }
    }

    [[nodiscard]] std::size_t value(lexer& from) { return expression_parser(page_, from).read(); }

    void open(std::string_view name, bool is_class, lexer& from) {
        from.expect(":");
        unique(page_.find_block(name) != nullptr, name, from);
        page_.blocks.push_back({.name = name, .is_class = is_class, .line = from.line()});
        block_ = &page_.blocks.back();
        if (is_class) {
            page_.classes.push_back(name);
        }
        if (!from.at_end()) {
            block_->lines.push_back(part(from, is_class));
        }
    }

    [[nodiscard]] part_line part(lexer& from, bool in_class) {
        part_line line{.part = {}, .line = from.line()};
        line.part = from.required_word("a part");
        if (in_class && (line.part == "as" || line.part == "text" || line.part == "note")) {
            line.rest = from.rest();
            from.advance(line.rest.size());
            return line;
        }
        while (!from.at_end() && !from.take("if")) {
            argument word{.name = from.required_word("an argument")};
            if (word.name == "as" || word.name == "from" || word.name == "to") {
                word.words = from.words_of(word.name);
            } else if (word.name == "split") {
                word.words = from.required_word("how ranks share it");
                if (!from.at_end() && from.peek() != ',' && !next_is_if(from)) {
                    word.value = value(from);
                }
            } else if (!from.at_end() && from.peek() != ',' && !next_is_if(from)) {
                word.value = value(from);
            }
            line.arguments.push_back(word);
            if (from.take(",")) {
                continue;
            }
            if (!from.at_end() && !next_is_if(from)) {
                from.fail({"expected a comma, \"if\" or the end of the line before ", from.next()});
            }
            if (from.take("if")) {
                line.condition = value(from);
                break;
            }
        }
        if (line.condition == no_expression && !from.at_end()) {
            line.condition = value(from);  // a part without arguments
        }
        require_end(from);
        return line;
    }
    [[nodiscard]] static bool next_is_if(const lexer& from) {
        return from.rest().starts_with("if") && !is_word(from.peek(2));
    }

    void with(lexer& from) {
        page_key key{.key = from.required_word("the name of a key", true), .line = from.line()};
        unique(page_.find_key(key.key) != nullptr, key.key, from);
        key.most = most_of(key.key);
        key.otherwise = expression_parser(page_, from).literal();
        if (key.otherwise != no_expression) {
            key.kinds = kinds_of(page_.expressions[key.otherwise].what);
            const expression& least = page_.expressions[key.otherwise];
            key.least =
                (least.what == op::number && least.number == 0) || (least.what == op::real && least.real == 0) ? 0 : 1;
        } else {
            key.kinds = kind(from);
            key.required = true;
        }
        while (from.take("or")) {
            key.kinds |= kind(from);
        }
        if (from.take("?")) {
            key.kinds |= allowed::null;
            key.required = false;
        }
        if (from.take("absent")) {
            key.required = false;
        }
        if (from.take("each")) {
            key.each = true;
        }
        if (from.take("unsaid")) {
            key.unsaid = true;
        }
        if (from.take("from")) {
            key.least = limit(from);
        }
        if (from.take("to")) {
            key.most = limit(from);
        }
        if (from.take("of")) {
            while (!from.at_end() && from.peek() != ',') {
                key.words.push_back(from.required_name("a word"));
            }
            if (key.words.size() == 1 && key.words.front() == "numbers") {
                key.numbers = true;
                key.words.clear();
            }
        }
        page_.keys.push_back(key);
    }
    [[nodiscard]] std::int64_t limit(lexer& from) {
        const bool below = from.take("-");
        const std::size_t read = is_digit(from.peek()) ? expression_parser(page_, from).literal() : no_expression;
        if (read == no_expression) {
            from.fail({"expected a number before ", from.next()});
        }
        return below ? -page_.expressions[read].number : page_.expressions[read].number;
    }
    [[nodiscard]] static unsigned kind(lexer& from) {
        struct name {
            const char* text;
            unsigned kinds;
        };
        constexpr name names[] = {{"number", allowed::number}, {"real", allowed::number | allowed::real},
                                  {"flag", allowed::flag},     {"text", allowed::text},
                                  {"list", allowed::list},     {"object", allowed::object},
                                  {"any", allowed::any}};
        for (const name& known : names) {
            if (from.take(known.text)) {
                return known.kinds;
            }
        }
        from.fail({"expected a default, or number, real, flag, text, list, object or any, before ", from.next()});
    }
    [[nodiscard]] static unsigned kinds_of(op what) {
        return what == op::number || what == op::negate ? allowed::number
               : what == op::real                       ? allowed::number | allowed::real
               : what == op::flag                       ? allowed::flag
               : what == op::text                       ? allowed::text
               : what == op::list                       ? allowed::list
                                                        : allowed::null;
    }

    void condition(lexer& from, bool is_note) {
        page_condition made;
        made.is_note = is_note;
        made.line = from.line();
        made.holds = value(from);
        from.expect(":");
        if (!is_note) {
            from.expect(".");
            made.key = from.required_word("the name of a key", true);
        }
        made.text = from.rest();
        from.advance(made.text.size());
        if (made.text.empty()) {
            from.fail({"expected the text of the note or the error"});
        }
        page_.conditions.push_back(made);
    }

    void inner(lexer& from) {
        inner_model made;
        made.name = from.required_word("a name");
        made.line = from.line();
        from.expect(".");
        made.key = from.required_word("the name of a key", true);
        from.expect(":");
        made.page = from.required_name("the name of a page");
        while (from.take(",")) {
            if (from.take("always")) {
                made.always = true;
            } else if (from.take("flat")) {
                made.flat = true;
            } else if (from.take("optional")) {
                made.optional = true;
            } else if (from.take("absent")) {
                made.absent = from.required_name("the name of a page");
            } else if (from.take("older")) {
                made.older = from.required_name("a type");
            } else if (from.take("side")) {
                made.side = from.required_word("what follows a type in the name of a page");
            } else if (from.take("ignores")) {
                made.ignores = from.required_word("the name of a key");
            } else if (from.take("class")) {
                made.suffix = from.required_word("the rest of a class's name");
            } else {
                from.fail(
                    {"expected always, flat, optional, absent, older, side, ignores or class before ", from.next()});
            }
        }
        page_.inner.push_back(made);
    }

    page& page_;
    block* block_ = nullptr;
};

}  // namespace floptally::detail::pages

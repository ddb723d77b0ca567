// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/spec_language/expression_parser.hpp>
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/spec.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Reads the lines of a text of specs one at a time. Skips comments and empty lines. Also skips `R"spec(` and `)spec"`,
/// the first and last line of a file of `models/`. Joins a line that ends in a comma with the next one.
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
            bool continues = take_line();
            while (continues && !text_.empty()) {
                ++last_;
                continues = take_line();
            }
            const std::string_view all(start, static_cast<std::size_t>(text_.data() - start));
            indented = is_space(all.front());
            line = trimmed(without_last_comment(all));
            if (!line.empty() && line != "R\"spec(" && line != ")spec\"") {
                return true;
            }
        }
        return false;
    }

  private:
    [[nodiscard]] static std::string_view without_comment(std::string_view word) {
        return word.substr(0, word.find('#'));
    }
    /// Removes the comment of the last line. The lexer skips comments in the lines before it.
    [[nodiscard]] static std::string_view without_last_comment(std::string_view all) {
        const std::string_view body = trimmed(all);
        const std::size_t start = body.rfind('\n');
        const std::size_t from = start == std::string_view::npos ? 0 : start + 1;
        const std::size_t hash = body.find('#', from);
        return body.substr(0, hash);
    }
    /// Consumes one line. Returns true if the line ends in a comma, so that the next line continues it.
    bool take_line() {
        const std::size_t end = text_.find('\n');
        const std::string_view word = trimmed(without_comment(text_.substr(0, end)));
        text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
        return !word.empty() && word.back() == ',';
    }

    std::string_view text_;
    unsigned last_ = 0;
};

/// Parses one spec: the lines up to the next `spec`.
class spec_parser {
  public:
    explicit spec_parser(spec& into) : spec_(into) {}

    /// Parses the line `spec NAME [: BASE [as SPEC]] [prefix PREFIX ...]`. Errors before NAME show the file name
    /// `file`.
    static spec header(std::string_view line, unsigned number, std::string_view file) {
        lexer start(file, line, number);
        start.expect("spec");
        spec result;
        result.line = number;
        result.name = start.expect_spec_name("the name of the spec");
        lexer from(result.name, start.rest(), number);
        if (from.take(":")) {
            result.base_name = from.expect_spec_name("the name of its base");
            if (from.take("as")) {
                result.like_name = from.expect_spec_name("the name of a spec");
            }
        }
        if (from.take("prefix")) {
            result.prefix = from.expect_name("a prefix of class names");
            while (!from.at_end()) {
                result.other_prefixes.push_back(from.expect_name("a prefix of class names"));
            }
        }
        if (!from.at_end()) {
            from.fail({"expected \": BASE\" or \"prefix CLASSES\" before ", from.next()});
        }
        return result;
    }

    void take(const line_reader& line) {
        lexer from(spec_.name, line.line, line.number);
        if (line.indented) {
            if (block_ == nullptr) {
                from.fail(
                    {"an indented line must belong to a block: add a line such as \"mixer:\" above it, or remove the "
                     "indent"});
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
            from.fail({"expected the end of the line before ", from.next(), foreign_hint(from.rest())});
        }
    }

    void statement(lexer& from) {
        const std::string_view word = from.expect_name("a statement", true);
        if (from.peek() == '=' && from.peek(1) != '=' && from.take("=")) {
            unique(spec_.find_definition(word) != nullptr, word, from);
            spec_.definitions.push_back({word, value(from), from.line()});
        } else if (word == "with") {
            do {
                with(from);
            } while (from.take(","));
        } else if (word == "without") {
            do {
                spec_.without.push_back(from.expect_name("the name of a key", true));
            } while (from.take(","));
        } else if (word == "ignores") {
            do {
                const std::string_view key = from.expect_name("the name of a key", true);
                spec_.ignored.push_back({key, expression_parser(spec_, from).literal()});
            } while (from.take(","));
        } else if (word == "classes") {
            while (!from.at_end()) {
                spec_.classes.push_back(from.expect_name("the rest of a class's name"));
            }
        } else if (word == "class") {
            open(from.expect_name("the rest of a class's name"), true, from);
        } else if (word == "encoder") {
            spec_.encoder = from.expect_spec_name("the name of a spec");
            if (from.take("in")) {
                from.expect(".");
                spec_.encoder_key = from.expect_name("the name of a key", true);
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
            from.fail({"\"", name, "\" appears twice: remove one"});
        }
    }

    [[nodiscard]] std::size_t value(lexer& from) { return expression_parser(spec_, from).read(); }

    void open(std::string_view name, bool is_class, lexer& from) {
        if (!from.take(":")) {
            from.fail({"expected \":\" before ", from.next(),
                       "; end the name of a block with \":\", and indent the rows of a block"});
        }
        unique(spec_.find_block(name) != nullptr, name, from);
        spec_.blocks.push_back({.name = name, .is_class = is_class, .line = from.line()});
        block_ = &spec_.blocks.back();
        if (is_class) {
            spec_.classes.push_back(name);
        }
        if (!from.at_end()) {
            block_->lines.push_back(part(from, is_class));
        }
    }

    [[nodiscard]] part_line part(lexer& from, bool in_class) {
        part_line line{.part = {}, .line = from.line()};
        line.part = from.expect_name("a part");
        if (in_class && (line.part == "as" || line.part == "text" || line.part == "note")) {
            line.rest = from.rest();
            from.advance(line.rest.size());
            return line;
        }
        while (!from.at_end() && !from.take("if")) {
            argument word{.name = from.expect_name("an argument")};
            if (word.name == "as" || word.name == "from" || word.name == "to") {
                word.text = from.words_of(word.name);
            } else if (word.name == "split") {
                word.text = from.expect_name("how ranks share it");
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
            line.condition = value(from);  // The line has no arguments, only a condition.
        }
        require_end(from);
        return line;
    }
    [[nodiscard]] static bool next_is_if(const lexer& from) {
        return from.rest().starts_with("if") && !is_of_name(from.peek(2));
    }

    void with(lexer& from) {
        spec_key key{.key = from.expect_name("the name of a key", true), .line = from.line()};
        unique(spec_.find_key(key.key) != nullptr, key.key, from);
        key.most = most_of(key.key);
        key.otherwise = expression_parser(spec_, from).literal();
        if (key.otherwise != no_expression) {
            key.kinds = kinds_of(spec_.expressions[key.otherwise].operation);
            const expression& least = spec_.expressions[key.otherwise];
            key.least =
                (least.operation == op::number && least.number == 0) || (least.operation == op::real && least.real == 0)
                    ? 0
                    : 1;
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
                key.choices.push_back(from.expect_spec_name("a word"));
            }
            if (key.choices.size() == 1 && key.choices.front() == "numbers") {
                key.numbers = true;
                key.choices.clear();
            }
        }
        spec_.keys.push_back(key);
    }
    [[nodiscard]] std::int64_t limit(lexer& from) {
        const bool below = from.take("-");
        const std::size_t read = is_digit(from.peek()) ? expression_parser(spec_, from).literal() : no_expression;
        if (read == no_expression) {
            from.fail({"expected a number before ", from.next()});
        }
        return below ? -spec_.expressions[read].number : spec_.expressions[read].number;
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
        from.fail(
            {"expected a default such as 4096, yes or no, or number, real, flag, text, list, object or any, before ",
             from.next(), foreign_hint(from.rest())});
    }
    [[nodiscard]] static unsigned kinds_of(op operation) {
        return operation == op::number || operation == op::negate ? allowed::number
               : operation == op::real                            ? allowed::number | allowed::real
               : operation == op::flag                            ? allowed::flag
               : operation == op::text                            ? allowed::text
               : operation == op::list                            ? allowed::list
                                                                  : allowed::null;
    }

    void condition(lexer& from, bool is_note) {
        spec_condition parsed;
        parsed.is_note = is_note;
        parsed.line = from.line();
        parsed.holds = value(from);
        from.expect(":");
        if (!is_note) {
            from.expect(".");
            parsed.key = from.expect_name("the name of a key", true);
        }
        parsed.text = from.rest();
        from.advance(parsed.text.size());
        if (parsed.text.empty()) {
            from.fail({"the text of the note or error is missing: write it at the end of the line"});
        }
        spec_.conditions.push_back(parsed);
    }

    void inner(lexer& from) {
        inner_model model;
        model.name = from.expect_name("a name");
        model.line = from.line();
        from.expect(".");
        model.key = from.expect_name("the name of a key", true);
        from.expect(":");
        model.spec = from.expect_spec_name("the name of a spec");
        while (from.take(",")) {
            if (from.take("always")) {
                model.always = true;
            } else if (from.take("flat")) {
                model.flat = true;
            } else if (from.take("optional")) {
                model.optional = true;
            } else if (from.take("absent")) {
                model.absent = from.expect_spec_name("the name of a spec");
            } else if (from.take("older")) {
                model.older = from.expect_spec_name("a type");
            } else if (from.take("side")) {
                model.side = from.expect_name("what follows a type in the name of a spec");
            } else if (from.take("ignores")) {
                model.ignores = from.expect_name("the name of a key");
            } else if (from.take("class")) {
                model.suffix = from.expect_name("the rest of a class's name");
            } else {
                from.fail(
                    {"expected always, flat, optional, absent, older, side, ignores or class before ", from.next()});
            }
        }
        spec_.inner.push_back(model);
    }

    spec& spec_;
    block* block_ = nullptr;
};

}  // namespace floptally::detail::specs

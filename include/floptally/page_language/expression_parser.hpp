// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/page.hpp>

/// @file
/// Expressions of a page, from their text.

namespace floptally::detail::pages {

/// Numbers of pages are below 2^62, so that no sum of two can wrap.
inline constexpr std::int64_t max_number = std::int64_t{1} << 62;

/// Reads expressions into a page. Every function returns the index of what it read.
class expression_parser {
  public:
    expression_parser(page& into, lexer& from) : page_(into), from_(from) {}

    [[nodiscard]] std::size_t read() {
        if (++depth_ > 50) {
            from_.fail({"an expression nested too deep"});
        }
        std::size_t a = joined(0);
        if (take_question()) {
            const std::size_t b = read();
            from_.expect(":");
            a = node(op::choose, {a, b, read()});
        }
        --depth_;
        return a;
    }

    /// A value without names: the default of a key.
    [[nodiscard]] std::size_t literal() {
        if (from_.peek() == '[') {
            return list_literal();
        }
        if (from_.peek() == '"') {
            return text();
        }
        if (from_.take("-")) {
            return node(op::negate, {number()});
        }
        if (is_digit(from_.peek())) {
            return number();
        }
        for (const bool on : {true, false}) {
            if (from_.take(on ? "yes" : "no")) {
                return flag(on);
            }
        }
        return from_.take("null") ? node(op::null, {}) : no_expression;
    }

  private:
    std::size_t node(op what, std::initializer_list<std::size_t> operands, std::string_view text = {}) {
        expression node{.what = what, .line = from_.line(), .text = text};
        node.first = page_.operands.size();
        node.count = operands.size();
        for (const std::size_t operand : operands) {
            page_.operands.push_back(operand);
        }
        page_.expressions.push_back(node);
        return page_.expressions.size() - 1;
    }
    std::size_t flag(bool on) {
        const std::size_t made = node(op::flag, {});
        page_.expressions[made].number = on ? 1 : 0;
        return made;
    }

    /// `?` but not `??`.
    bool take_question() { return from_.peek() == '?' && from_.peek(1) != '?' && from_.take("?"); }

    /// A sign between two sides, and how tightly it binds.
    struct sign {
        const char* text;
        unsigned level;
        op what;
    };
    static constexpr unsigned negation = 2;  ///< `not`, before one side
    static constexpr unsigned comparison = 3;
    static constexpr unsigned tightest = 7;
    /// `??` is looser than sums, so that `.head_dim ?? h / heads` is what it looks like.
    static constexpr sign signs[] = {{"or", 0, op::either},
                                     {"and", 1, op::both},
                                     {"==", comparison, op::equal},
                                     {"!=", comparison, op::differs},
                                     {"<=", comparison, op::at_most},
                                     {">=", comparison, op::at_least},
                                     {"<", comparison, op::less},
                                     {">", comparison, op::more},
                                     {"has", comparison, op::has},
                                     {"begins", comparison, op::begins},
                                     {"ends", comparison, op::ends},
                                     {"??", 4, op::or_null},
                                     {"+", 5, op::add},
                                     {"-", 5, op::subtract},
                                     {"*", 6, op::multiply},
                                     {"/", 6, op::divide},
                                     {"%", 6, op::remainder}};

    /// Sides joined by signs of that level and of tighter ones, from the left; of comparisons there is one.
    std::size_t joined(unsigned level) {
        if (level == tightest) {
            return first_given();
        }
        bool inverse = false;
        while (level == negation && from_.take("not")) {
            inverse = !inverse;
        }
        std::size_t a = joined(level + 1);
        a = inverse ? node(op::inverse, {a}) : a;
        while (const sign* found = take_sign(level)) {
            a = node(found->what, {a, joined(level + 1)});
            if (level == comparison) {
                break;
            }
        }
        return a;
    }
    [[nodiscard]] const sign* take_sign(unsigned level) {
        for (const sign& candidate : signs) {
            if (candidate.level == level && from_.take(candidate.text)) {
                return &candidate;
            }
        }
        return nullptr;
    }
    /// `.a // .b // 3`, from the left.
    std::size_t first_given() {
        std::size_t a = element(atom());
        while (from_.take("//")) {
            a = element(node(op::or_absent, {a, atom()}));
        }
        return a;
    }
    std::size_t element(std::size_t whole) {
        while (from_.take("[")) {
            const std::size_t at = read();
            from_.expect("]");
            whole = node(op::index, {whole, at});
        }
        return whole;
    }

    std::size_t atom() {
        if (from_.take("(")) {
            const std::size_t inside = read();
            from_.expect(")");
            return inside;
        }
        if (from_.peek() == '.') {
            from_.advance(1);
            return node(op::key, {}, from_.required_word("the name of a key", true));
        }
        if (const std::size_t value = literal(); value != no_expression) {
            return value;
        }
        const std::string_view name = from_.required_word("an expression");
        if (name == "if" || name == "and" || name == "or") {
            from_.fail({"expected an expression before \"", name, "\""});
        }
        if (from_.take("(")) {
            return sequence(op::call, ')', name);
        }
        if (from_.peek() == '.' && is_word(from_.peek(1))) {
            from_.advance(1);
            const std::string_view member = from_.required_word("a name");
            return node(op::member, {node(op::text, {}, member)}, name);
        }
        return node(op::name, {}, name);
    }
    std::size_t list_literal() {
        from_.expect("[");
        return sequence(op::list, ']', {});
    }
    std::size_t sequence(op what, char end, std::string_view name) {
        vector<std::size_t> items;
        while (from_.peek() != end) {
            items.push_back(read());
            if (!from_.take(",")) {
                break;
            }
        }
        from_.expect(std::string_view(&end, 1));
        const std::size_t made = node(what, {}, name);
        page_.expressions[made].first = page_.operands.size();
        page_.expressions[made].count = items.size();
        page_.operands.append(items.begin(), items.end());
        return made;
    }
    std::size_t text() {
        const std::string_view rest = from_.rest().substr(1);
        const std::size_t end = rest.find_first_of("\"\n");
        if (end == std::string_view::npos || rest[end] != '"') {
            from_.fail({"a text without its closing quote"});
        }
        from_.advance(end + 2);
        return node(op::text, {}, rest.substr(0, end));
    }
    std::size_t number() {
        const std::string_view rest = from_.rest();
        std::int64_t whole = 0;
        std::size_t end = 0;
        for (; end < rest.size() && is_digit(rest[end]); ++end) {
            if (whole > max_number / 10 - 1) {
                from_.fail({"a number above 2^62"});
            }
            whole = 10 * whole + (rest[end] - '0');
        }
        double real = static_cast<double>(whole);
        const bool is_real = end + 1 < rest.size() && rest[end] == '.' && is_digit(rest[end + 1]);
        if (is_real) {
            double digits = 0;
            double scale = 1;
            for (++end; end < rest.size() && is_digit(rest[end]) && scale < 1e15; ++end) {
                digits = 10 * digits + (rest[end] - '0');
                scale *= 10;
            }
            real = (real * scale + digits) / scale;  // one rounding of exact integers, as a reader of decimals does
        }
        from_.advance(end);
        const std::size_t made = node(is_real ? op::real : op::number, {});
        page_.expressions[made].number = whole;
        page_.expressions[made].real = real;
        return made;
    }

    page& page_;
    lexer& from_;
    unsigned depth_ = 0;
};

}  // namespace floptally::detail::pages

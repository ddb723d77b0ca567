// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/spec.hpp>

/// @file
/// The parser of expressions of a spec.

namespace floptally::inline v0_3::detail::specs {

/// The largest number in specs. The sum of two such numbers cannot overflow.
inline constexpr std::int64_t max_number = std::int64_t{1} << 62;

/// Reads expressions from text into the nodes of a spec. Every function returns the index of the node that it read.
class expression_parser {
  public:
    expression_parser(spec& into, lexer& from) : spec_(into), from_(from) {}

    [[nodiscard]] std::size_t read() {
        if (++depth_ > 50) {
            from_.fail({"an expression must be nested at most 50 deep: define names for its parts"});
        }
        std::size_t a = joined(0);
        if (take_question()) {
            const std::size_t b = read();
            from_.expect(":");
            a = node(op::choose, {a, b, read()});
        }
        // In a row an "if" begins the condition.
        if (const std::string_view hint = foreign_hint(from_.rest()); !hint.empty() && from_.peek() != 'i') {
            from_.fail({"expected an operator or the end of the expression before ", from_.next(), hint});
        }
        --depth_;
        return a;
    }

    /// Reads a constant, such as the default of a key. Returns `no_expression` if the text does not go on with a
    /// constant.
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
    std::size_t node(op operation, std::initializer_list<std::size_t> operands, std::string_view text = {}) {
        expression node{.operation = operation, .line = from_.line(), .text = text};
        node.first = spec_.operands.size();
        node.count = operands.size();
        for (const std::size_t operand : operands) {
            spec_.operands.push_back(operand);
        }
        spec_.expressions.push_back(node);
        return spec_.expressions.size() - 1;
    }
    std::size_t flag(bool on) {
        const std::size_t index = node(op::flag, {});
        spec_.expressions[index].number = on ? 1 : 0;
        return index;
    }

    /// Consumes a `?`, unless it begins the operator `??`.
    bool take_question() { return from_.peek() == '?' && from_.peek(1) != '?' && from_.take("?"); }

    /// A binary operator and its precedence. An operator with a higher level binds more tightly.
    struct sign {
        const char* text;
        unsigned level;
        op operation;
    };
    static constexpr unsigned negation = 2;  ///< the precedence level of `not`; no other unary operator has a level
    static constexpr unsigned comparison = 3;
    static constexpr unsigned tightest = 7;
    /// `??` binds less tightly than arithmetic: `.head_dim ?? h / heads` means `.head_dim ?? (h / heads)`.
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

    /// Reads operands joined by operators of this level or a higher one. Operators of equal level group from the left.
    /// Comparisons cannot be chained.
    std::size_t joined(unsigned level) {
        if (level == tightest) {
            return alternatives();
        }
        bool inverse = false;
        while (level == negation && from_.take("not")) {
            inverse = !inverse;
        }
        std::size_t a = joined(level + 1);
        a = inverse ? node(op::inverse, {a}) : a;
        while (const sign* found = take_sign(level)) {
            a = node(found->operation, {a, joined(level + 1)});
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
    /// Reads alternatives joined by `//`, such as `.a // .b // 3`: the value is that of the first key that the config
    /// has.
    std::size_t alternatives() {
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
            return node(op::key, {}, from_.expect_name("the name of a key", true));
        }
        if (const std::size_t value = literal(); value != no_expression) {
            return value;
        }
        const std::string_view name = from_.expect_name("an expression");
        if (name == "if" || name == "and" || name == "or") {
            from_.fail({"expected an expression before \"", name, "\""});
        }
        if (from_.take("(")) {
            return sequence(op::call, ')', name);
        }
        if (from_.peek() == '.' && is_of_name(from_.peek(1))) {
            from_.advance(1);
            const std::string_view member = from_.expect_name("a name");
            return node(op::member, {node(op::text, {}, member)}, name);
        }
        return node(op::name, {}, name);
    }
    std::size_t list_literal() {
        from_.expect("[");
        return sequence(op::list, ']', {});
    }
    std::size_t sequence(op operation, char end, std::string_view name) {
        vector<std::size_t> items;
        while (from_.peek() != end) {
            items.push_back(read());
            if (!from_.take(",")) {
                break;
            }
        }
        from_.expect(std::string_view(&end, 1));
        const std::size_t index = node(operation, {}, name);
        spec_.expressions[index].first = spec_.operands.size();
        spec_.expressions[index].count = items.size();
        spec_.operands.append(items.begin(), items.end());
        return index;
    }
    std::size_t text() {
        const std::string_view rest = from_.rest().substr(1);
        const std::size_t end = rest.find_first_of("\"\n");
        if (end == std::string_view::npos || rest[end] != '"') {
            from_.fail({"a text has no closing quote: add \" on the same line"});
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
                from_.fail({"a number must be at most 2^62: use a smaller one"});
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
            real = (real * scale + digits) / scale;  // Only the division rounds, so the number is the same as that of
                                                     // other parsers of decimal numbers.
        }
        from_.advance(end);
        const std::size_t index = node(is_real ? op::real : op::number, {});
        spec_.expressions[index].number = whole;
        spec_.expressions[index].real = real;
        return index;
    }

    spec& spec_;
    lexer& from_;
    unsigned depth_ = 0;
};

}  // namespace floptally::detail::specs

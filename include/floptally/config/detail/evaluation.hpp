// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/config/detail/arithmetic.hpp>
#include <floptally/config/detail/functions.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// The evaluation of one expression of a page.
class evaluation {
  public:
    evaluation(scope& in, const page& where) : in_(in), where_(where) {}

    [[nodiscard]] value of(std::size_t index) {
        const expression& e = where_.expressions[index];
        if (in_.depth_ > 400) {
            fail(e, {"an expression nested too deep, with the names that it asks for"});
        }
        in_.spend(1 + e.count);
        ++in_.depth_;
        const value found = of(e, index);
        in_.spend(found.size());  // of a list or a text: what is made of it looks at each element
        --in_.depth_;
        return found;
    }

  private:
    [[nodiscard]] value of(const expression& e, std::size_t index) {
        switch (e.what) {
            case op::number:
                return number_value(e.number);
            case op::real:
                return real_value(e.real);
            case op::text:
                return text_value(e.text);
            case op::flag:
                return flag_value(e.number != 0);
            case op::null:
                return {};
            case op::list:
                return in_.list_of(operands(e));
            case op::key:
            case op::or_absent:
                return given(e, index);
            case op::name:
                return name(e);
            case op::member:
                return member(e);
            case op::call: {
                const vector<value> arguments = operands(e);
                return call_function({in_, where_, e.line, e.text, arguments, key_of_null(e, arguments)});
            }
            case op::index:
                return element(e);
            case op::inverse:
                return flag_value(!truth(e, 0));
            case op::both:
                return flag_value(truth(e, 0) && truth(e, 1));
            case op::either:
                return flag_value(truth(e, 0) || truth(e, 1));
            case op::choose:
                return operand(e, truth(e, 0) ? 1 : 2);
            case op::or_null: {
                const value first = operand(e, 0);
                return first.is_none() ? operand(e, 1) : first;
            }
            case op::equal:
            case op::differs: {
                const value a = in_.as_written(operand(e, 0));  // first: which key an error names may not vary
                const value b = in_.as_written(operand(e, 1));
                return flag_value(same_value(a, b) == (e.what == op::equal));
            }
            case op::less:
            case op::at_most:
            case op::more:
            case op::at_least:
                return flag_value(compared(e));
            case op::has:
                return flag_value(has(e));
            case op::begins:
            case op::ends:
                return flag_value(has_part(e));
            default:
                return arithmetic(e);
        }
    }

    [[nodiscard]] value operand(const expression& e, std::size_t at) { return of(where_.operands[e.first + at]); }
    [[nodiscard]] vector<value> operands(const expression& e) {
        vector<value> all;
        for (std::size_t i = 0; i < e.count; ++i) {
            all.push_back(operand(e, i));
        }
        return all;
    }
    /// The first key that stands alone as an operand and is null, for an error to name.
    [[nodiscard]] std::string_view key_of_null(const expression& e, const vector<value>& arguments) const {
        for (std::size_t i = 0; i < e.count; ++i) {
            const expression& node = where_.expressions[where_.operands[e.first + i]];
            if (node.what == op::key && arguments[i].is_none()) {
                return node.text;
            }
        }
        return {};
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail(const expression& e, std::initializer_list<piece> what) const {
        page_error(where_.name, e.line, what);
    }

    [[nodiscard]] bool truth(const expression& e, std::size_t at) {
        const value item = operand(e, at);
        if (!item.is_whole() && !item.is_none()) {
            fail(e, {"expected yes or no, got ", in_.shown(item)});
        }
        return item.on();
    }

    // ---- names and keys ----

    [[nodiscard]] value name(const expression& e) {
        if (e.text == "i") {
            in_.varies = true;
            return number_value(static_cast<std::int64_t>(in_.layer));
        }
        if (in_.find_definition(e.text).entry != nullptr) {
            return in_.named(e.text);
        }
        if (e.text == "causal" || e.text == "both") {
            return mask_value_of(e.text == "both" ? mask::bidirectional() : mask::causal());
        }
        const auto names = names_in(&in_.of(), &page::definitions, &definition::name);
        fail(e, {"unknown name \"", e.text, "\"", nearest_hint(e.text, names)});
    }
    [[nodiscard]] value member(const expression& e) {
        const std::string_view wanted = where_.expressions[where_.operands[e.first]].text;
        for (const scope::inner_scope& model : in_.inner) {
            if (model.name == e.text) {
                return model.of->find_definition(wanted).entry == nullptr ? value{} : model.of->named(wanted);
            }
        }
        return {};  // an optional model that is not there
    }

    /// The value of `.a // .b // value`: that of the first key that is given; else the value, else the default that a
    /// page declares.
    [[nodiscard]] value given(const expression& e, std::size_t index) {
        vector<std::string_view> keys;
        const std::size_t otherwise = chain(index, keys);
        const page_key* declared = nullptr;
        for (const page* p = &in_.of(); p != nullptr && declared == nullptr; p = p->base) {
            for (std::size_t k = 0; k < keys.size() && declared == nullptr; ++k) {
                declared = p->find_key(keys[k]);
            }
        }
        if (declared == nullptr && otherwise == no_expression) {
            const auto known = names_in(&in_.of(), &page::keys, &page_key::key);
            fail(e, {"the page declares no key \"", keys.front(), "\"", nearest_hint(keys.front(), known)});
        }
        for (const std::string_view key : keys) {
            in_.of().note_asked(key, false);
            bool unread = false;
            const page_key* own = in_.find_key(key, &unread);
            const config_node* value = unread ? nullptr : in_.config().find(key);
            if (value == nullptr) {
                continue;
            }
            if (own != nullptr || declared != nullptr) {
                in_.config().require(own != nullptr ? *own : *declared, key, *value);
            }
            return value_of(*value);
        }
        if (declared == nullptr) {
            return of(otherwise);
        }
        if (declared->required) {
            in_.config().missing(*declared, keys.front());
        }
        in_.of().note_asked(declared->key, true);
        return in_.otherwise(declared->key);
    }
    /// Collects the keys of a chain from the left, up to an operand that is not a key.
    [[nodiscard]] std::size_t chain(std::size_t index, vector<std::string_view>& keys) const {
        const expression& e = where_.expressions[index];
        if (e.what == op::key) {
            keys.push_back(e.text);
            return no_expression;
        }
        if (e.what != op::or_absent) {
            return index;
        }
        const std::size_t left = chain(where_.operands[e.first], keys);
        return left != no_expression ? left : chain(where_.operands[e.first + 1], keys);
    }

    /// An element of a list, a letter of a text, or a number that stands for all. Where the index is `i`, a list of the
    /// config must have one element for each layer.
    [[nodiscard]] value element(const expression& e) {
        const value list = operand(e, 0);
        const expression& index = where_.expressions[where_.operands[e.first + 1]];
        const value at = of(where_.operands[e.first + 1]);
        if (list.is_none() || list.type == value::kind::number) {
            return list;
        }
        if (!at.is_whole() || (list.type != value::kind::list && list.type != value::kind::text)) {
            fail(e, {"expected a list and a number, got ", in_.shown(list), "[", in_.shown(at), "]"});
        }
        const std::size_t size = list.size();
        const std::string field = list.given != nullptr ? in_.config().field(list.given->key) : std::string();
        if (index.what == op::name && index.text == "i" && list.given != nullptr && size != in_.number("layers")) {
            refuse(field, {"must name the ", in_.number("layers"), " layers, got ", size});
        }
        if (at.number < 0 || static_cast<std::uint64_t>(at.number) >= size) {
            if (list.given == nullptr) {
                fail(e, {"no element ", at.number, " of ", size});
            }
            refuse(field, {"must have an element ", at.number, ", got ", size});
        }
        const auto which = static_cast<std::size_t>(at.number);
        if (list.type == value::kind::text) {
            return text_value(list.text.substr(which, 1));
        }
        return in_.item_of(list, which);
    }

    // ---- signs ----

    [[nodiscard]] value counted(const expression& e, std::size_t at) {
        const value item = operand(e, at);
        if (!item.is_whole() && item.type != value::kind::real) {
            const expression& what = where_.expressions[where_.operands[e.first + at]];
            if (what.what == op::key && !item.is_none()) {
                refuse(in_.config().field(what.text), {"must be a number, got ", in_.shown(item)});
            }
            fail(e, {"expected a number, got ", in_.shown(item)});
        }
        return item;
    }
    [[nodiscard]] bool compared(const expression& e) {
        const value a = counted(e, 0);
        const value b = counted(e, 1);
        const bool reals = a.type == value::kind::real || b.type == value::kind::real;
        const bool less = reals ? a.as_real() < b.as_real() : a.number < b.number;
        const bool more = reals ? a.as_real() > b.as_real() : a.number > b.number;
        return e.what == op::less ? less : e.what == op::more ? more : e.what == op::at_most ? !more : !less;
    }
    [[nodiscard]] bool has(const expression& e) {
        const value list = operand(e, 0);
        const value wanted = in_.as_written(operand(e, 1));
        if (list.type == value::kind::text && wanted.type == value::kind::text) {
            return list.text.find(wanted.text) != std::string_view::npos;
        }
        if (list.type != value::kind::list && !list.is_none()) {
            fail(e, {"expected a list before \"has\", got ", in_.shown(list)});
        }
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (same_value(in_.as_written(in_.item_of(list, i)), wanted)) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool has_part(const expression& e) {
        const value text = operand(e, 0);
        const value part = operand(e, 1);
        return e.what == op::begins ? text.text.starts_with(part.text) : text.text.ends_with(part.text);
    }

    [[nodiscard]] value arithmetic(const expression& e) {
        if (e.what == op::negate) {
            const value a = counted(e, 0);
            return a.type == value::kind::real ? real_value(-a.real) : number_value(-a.number);
        }
        const value a = counted(e, 0);
        const value b = counted(e, 1);
        std::string problem;
        const value made = computed(e.what, a, b, problem);
        if (!problem.empty()) {
            fail(e, {problem});
        }
        return made;
    }

    scope& in_;
    const page& where_;
};

}  // namespace floptally::detail::pages

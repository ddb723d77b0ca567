// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
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
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/nearest.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Evaluates the expressions of a spec.
class evaluation {
  public:
    evaluation(scope& in, const spec& where) : in_(in), where_(where) {}

    [[nodiscard]] value evaluate(std::size_t index) {
        const expression& e = where_.expressions[index];
        if (in_.depth_ > 400) {
            fail(e, {"an expression must be nested at most 400 deep, including the definitions of its names: use fewer "
                     "names"});
        }
        in_.spend(1 + e.count);
        ++in_.depth_;
        const value result = evaluate(e, index);
        // Each element of a list counts as an evaluation step, because the caller may read all elements.
        in_.spend(result.size());
        --in_.depth_;
        return result;
    }

  private:
    [[nodiscard]] value evaluate(const expression& e, std::size_t index) {
        switch (e.operation) {
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
                return first_present(e, index);
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
                // The left operand is read before the right one, so that errors always name the same key.
                const value a = in_.as_written(operand(e, 0));
                const value b = in_.as_written(operand(e, 1));
                return flag_value(same_value(a, b) == (e.operation == op::equal));
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

    [[nodiscard]] value operand(const expression& e, std::size_t at) { return evaluate(where_.operands[e.first + at]); }
    [[nodiscard]] vector<value> operands(const expression& e) {
        vector<value> all;
        for (std::size_t i = 0; i < e.count; ++i) {
            all.push_back(operand(e, i));
        }
        return all;
    }
    /// Returns the name of the first key with the value null among the arguments of a call. Errors name this key.
    [[nodiscard]] std::string_view key_of_null(const expression& e, const vector<value>& arguments) const {
        for (std::size_t i = 0; i < e.count; ++i) {
            const expression& node = where_.expressions[where_.operands[e.first + i]];
            if (node.operation == op::key && arguments[i].is_none()) {
                return node.text;
            }
        }
        return {};
    }
    [[noreturn, gnu::cold, gnu::noinline]] void fail(const expression& e, std::initializer_list<piece> problem) const {
        spec_error(where_.name, e.line, problem);
    }

    [[nodiscard]] bool truth(const expression& e, std::size_t at) {
        const value item = operand(e, at);
        if (!item.is_whole() && !item.is_none()) {
            fail(e, {"the condition must be yes or no, got ", in_.shown(item)});
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
        fail(e, {"unknown name \"", e.text, "\"", name_hint(e.text)});
    }
    /// Returns the end of an error about an unknown name: how to write the key, function or mask of this name,
    /// otherwise the nearest name.
    [[nodiscard, gnu::cold, gnu::noinline]] std::string name_hint(std::string_view name) const {
        bool is_unread = false;
        const bool is_key = in_.find_key(name, &is_unread) != nullptr && !is_unread;
        if (is_key || is_function(name)) {
            return text_of({"; write ", is_key ? text_of({"\".", name, "\" for the key"}) : "",
                            is_key && is_function(name) ? " or " : "",
                            is_function(name) ? text_of({"\"", name, "(...)\" for the function"}) : ""});
        }
        const std::string hint = text_of({foreign_hint(name), report_mask_hint(name)});
        return hint.empty() ? nearest_hint(name, names_in(&in_.model_spec(), &spec::definitions, &definition::name))
                            : hint;
    }
    [[nodiscard]] value member(const expression& e) {
        const std::string_view wanted = where_.expressions[where_.operands[e.first]].text;
        for (const scope::inner_scope& model : in_.inner) {
            if (model.name == e.text) {
                return model.names->find_definition(wanted).entry == nullptr ? value{} : model.names->named(wanted);
            }
        }
        return {};  // The name belongs to an optional inner model that the config lacks.
    }

    /// Evaluates `.a // .b // value`. Returns the value of the first key that the config has. If the config has none of
    /// the keys, returns the default that the spec declares for one of the keys, otherwise `value`.
    [[nodiscard]] value first_present(const expression& e, std::size_t index) {
        vector<std::string_view> keys;
        const std::size_t otherwise = chain(index, keys);
        const spec_key* declared = nullptr;
        for (const spec* p = &in_.model_spec(); p != nullptr && declared == nullptr; p = p->base) {
            for (std::size_t k = 0; k < keys.size() && declared == nullptr; ++k) {
                declared = p->find_key(keys[k]);
            }
        }
        if (declared == nullptr && otherwise == no_expression) {
            const auto known = names_in(&in_.model_spec(), &spec::keys, &spec_key::key);
            fail(e, {"unknown key \"", keys.front(), "\"", nearest_hint(keys.front(), known),
                     ": declare a new key in a `with` line"});
        }
        for (const std::string_view key : keys) {
            in_.model_spec().note_asked(key, false);
            bool unread = false;
            const spec_key* own = in_.find_key(key, &unread);
            const config_node* value = unread ? nullptr : in_.config().find(key);
            if (value == nullptr) {
                continue;
            }
            if (own != nullptr || declared != nullptr) {
                in_.config().require(own != nullptr ? *own : *declared, key, *value);
            }
            note_disagreement(keys, key, *value);
            return value_of(*value);
        }
        if (declared == nullptr) {
            return evaluate(otherwise);
        }
        if (declared->required) {
            in_.config().missing(*declared, keys.front());
        }
        in_.model_spec().note_asked(declared->key, true);
        return in_.otherwise(declared->key);
    }
    /// Adds a text for a note if the config has two keys of a chain `.a // .b // value` with different numbers.
    void note_disagreement(const vector<std::string_view>& keys, std::string_view found, const config_node& value) {
        if (value.type != config_node::kind::integer && value.type != config_node::kind::flag) {
            return;
        }
        for (const std::string_view key : keys) {
            bool unread = false;
            static_cast<void>(in_.find_key(key, &unread));
            const config_node* const other = unread || key == found ? nullptr : in_.config().find(key);
            if (other != nullptr && other->type == value.type && other->number != value.number) {
                in_.disagree(text_of({in_.config().field(found), " ", in_.config().shown(value), " counts, not ",
                                      in_.config().field(key), " ", in_.config().shown(*other)}));
            }
        }
    }
    /// Collects the keys at the beginning of a chain `.a // .b // value`. Returns the index of the first operand that
    /// is not a key.
    [[nodiscard]] std::size_t chain(std::size_t index, vector<std::string_view>& keys) const {
        const expression& e = where_.expressions[index];
        if (e.operation == op::key) {
            keys.push_back(e.text);
            return no_expression;
        }
        if (e.operation != op::or_absent) {
            return index;
        }
        const std::size_t left = chain(where_.operands[e.first], keys);
        return left != no_expression ? left : chain(where_.operands[e.first + 1], keys);
    }

    /// Evaluates `list[i]`: an element of a list or a letter of a text. A single number counts as a list that repeats
    /// this number. If the index is the layer index `i`, a list of the config must have one element for each layer.
    [[nodiscard]] value element(const expression& e) {
        const value list = operand(e, 0);
        const expression& index = where_.expressions[where_.operands[e.first + 1]];
        const value at = evaluate(where_.operands[e.first + 1]);
        if (list.is_none() || list.type == value::kind::number) {
            return list;
        }
        if (!at.is_whole() || (list.type != value::kind::list && list.type != value::kind::text)) {
            fail(e, {"an index must be a number in brackets after a list, got ", in_.shown(list), "[", in_.shown(at),
                     "]"});
        }
        const std::size_t size = list.size();
        const std::string field = list.node != nullptr ? in_.config().field(list.node->key) : std::string();
        if (index.operation == op::name && index.text == "i" && list.node != nullptr && size != in_.number("layers")) {
            refuse(field, {"must have one element for each of the ", in_.number("layers"), " layers, got ", size});
        }
        if (at.number < 0 || static_cast<std::uint64_t>(at.number) >= size) {
            if (list.node == nullptr) {
                fail(e, {"element ", at.number, " does not exist in a list of ", size, ": indices start at 0"});
            }
            refuse(field, {"must have the element ", at.number, " (counted from 0), got ", size, " elements"});
        }
        const auto which = static_cast<std::size_t>(at.number);
        if (list.type == value::kind::text) {
            return text_value(list.text.substr(which, 1));
        }
        return in_.item_of(list, which);
    }

    // ---- operators ----

    [[nodiscard]] value number_operand(const expression& e, std::size_t at) {
        const value item = operand(e, at);
        if (!item.is_whole() && item.type != value::kind::real) {
            const expression& node = where_.expressions[where_.operands[e.first + at]];
            if (node.operation == op::key && !item.is_none()) {
                refuse(in_.config().field(node.text), {"must be a number, got ", in_.shown(item)});
            }
            fail(e, {"the operand must be a number, got ", in_.shown(item)});
        }
        if (item.type == value::kind::real && !std::isfinite(item.real)) {
            const expression& node = where_.expressions[where_.operands[e.first + at]];
            if (node.operation == op::key) {
                refuse(in_.config().field(node.text), {"must be a finite number, got ", in_.shown(item)});
            }
            fail(e, {"the operand must be a finite number, got ", in_.shown(item)});
        }
        return item;
    }
    [[nodiscard]] bool compared(const expression& e) {
        const value a = number_operand(e, 0);
        const value b = number_operand(e, 1);
        const bool reals = a.type == value::kind::real || b.type == value::kind::real;
        const bool less = reals ? a.as_real() < b.as_real() : a.number < b.number;
        const bool more = reals ? a.as_real() > b.as_real() : a.number > b.number;
        return e.operation == op::less      ? less
               : e.operation == op::more    ? more
               : e.operation == op::at_most ? !more
                                            : !less;
    }
    [[nodiscard]] bool has(const expression& e) {
        const value list = operand(e, 0);
        const value wanted = in_.as_written(operand(e, 1));
        if (list.type == value::kind::text && wanted.type == value::kind::text) {
            return list.text.find(wanted.text) != std::string_view::npos;
        }
        if (list.type != value::kind::list && !list.is_none()) {
            fail(e, {"the value before \"has\" must be a list, got ", in_.shown(list)});
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
        return e.operation == op::begins ? text.text.starts_with(part.text) : text.text.ends_with(part.text);
    }

    [[nodiscard]] value arithmetic(const expression& e) {
        if (e.operation == op::negate) {
            const value a = number_operand(e, 0);
            return a.type == value::kind::real ? real_value(-a.real) : number_value(-a.number);
        }
        const value a = number_operand(e, 0);
        const value b = number_operand(e, 1);
        std::string problem;
        const value result = computed(e.operation, a, b, problem);
        if (!problem.empty()) {
            fail(e, {problem});
        }
        return result;
    }

    scope& in_;
    const spec& where_;
};

// The functions below return the values of the names that a spec defines. Each name is evaluated at its first use. A
// value that reads the layer index `i` is evaluated once for each layer.

inline value scope::evaluate(const spec& where, std::size_t index) { return evaluation(*this, where).evaluate(index); }

inline value scope::named(std::string_view name) {
    spend(memory_.size() / 16);  // The linear search below counts as evaluation steps.
    memory* known = nullptr;
    for (const owner<memory>& remembered : memory_) {
        if (remembered->name == name) {
            known = remembered.get();
        }
    }
    if (known != nullptr && known->known && (!known->varies || known->layer == layer)) {
        varies = varies || known->varies;
        return known->worth;
    }
    const found_definition found = find_definition(name);
    if (found.entry == nullptr) {
        spec_error(spec_.name, spec_.line, {"does not define \"", name, "\"; add a line `", name, " = …`"});
    }
    if (known == nullptr) {
        known = memory_.push_back(owner(new memory{.name = found.entry->name, .worth = {}})).get();
    }
    if (known->active) {
        spec_error(found.where->name, found.entry->line, {"\"", name, "\" is defined by itself; remove the cycle"});
    }
    const bool outer = varies;
    varies = false;
    known->active = true;
    known->worth = evaluate(*found.where, found.entry->value);
    known->active = false;
    known->known = true;
    known->varies = varies;
    known->layer = layer;
    varies = varies || outer;
    return known->worth;
}

}  // namespace floptally::detail::specs

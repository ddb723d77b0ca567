// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/page_language/config_tree.hpp>
#include <floptally/rules/mask.hpp>

namespace floptally::detail::pages {

/// The value of an expression of a page. A mask is a value like a number: it stands for which keys a query attends, or
/// for a number of units.
struct value {
    enum class kind : std::uint8_t { none, number, real, flag, text, list, mask };

    kind type = kind::none;
    std::int64_t number = 0;  ///< 1 or 0 for a flag
    double real = 0;
    std::string_view text{};
    const config_node* given = nullptr;    ///< a list or an object of the config
    const vector<value>* items = nullptr;  ///< a list that a page or a function made
    floptally::mask attends{};

    [[nodiscard]] bool is_none() const { return type == kind::none; }
    [[nodiscard]] bool is_whole() const { return type == kind::number || type == kind::flag; }
    [[nodiscard]] bool on() const { return is_whole() && number != 0; }
    [[nodiscard]] double as_real() const { return type == kind::real ? real : static_cast<double>(number); }
    /// The number of elements of a list, or of letters of a text.
    [[nodiscard]] std::size_t size() const {
        return type == kind::text ? text.size()
               : items != nullptr ? items->size()
               : given != nullptr ? given->count
                                  : 0;
    }
};

[[nodiscard]] inline value number_value(std::int64_t number) {
    value made;
    made.type = value::kind::number;
    made.number = number;
    return made;
}
[[nodiscard]] inline value real_value(double real) {
    value made;
    made.type = value::kind::real;
    made.real = real;
    return made;
}
[[nodiscard]] inline value flag_value(bool on) {
    value made;
    made.type = value::kind::flag;
    made.number = on ? 1 : 0;
    return made;
}
[[nodiscard]] inline value text_value(std::string_view text) {
    value made;
    made.type = value::kind::text;
    made.text = text;
    return made;
}
[[nodiscard]] inline value mask_value_of(const mask& attends) {
    value made;
    made.type = value::kind::mask;
    made.attends = attends;
    return made;
}

/// The value of a node of a config.
[[nodiscard]] inline value value_of(const config_node& node) {
    value made;
    switch (node.type) {
        case config_node::kind::null:
            return made;
        case config_node::kind::flag:
            return flag_value(node.number != 0);
        case config_node::kind::integer:
            return node.beyond ? real_value(node.real) : number_value(node.number);
        case config_node::kind::real:
            return real_value(node.real);
        case config_node::kind::text:
            return text_value(node.text);
        default:
            made.type = value::kind::list;
            made.given = &node;
            return made;
    }
}

}  // namespace floptally::detail::pages

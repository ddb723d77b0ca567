// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/config_tree.hpp>
#include <floptally/statistics/mask.hpp>

namespace floptally::inline v0_3::detail::specs {

/// The value of an expression in a spec. Besides numbers, texts and lists, a value can be a mask. A mask says which
/// keys a query attends to, or gives a number of patches or frames.
struct value {
    enum class kind : std::uint8_t { none, number, real, flag, text, list, mask };

    kind type = kind::none;
    std::int64_t number = 0;  ///< the value of an integer, or 1 or 0 for a flag
    double real = 0;
    std::string_view text{};
    const config_node* node = nullptr;     ///< the node, if the value is a list or object of the config; else null
    const vector<value>* items = nullptr;  ///< the elements, if the value is a list that a spec wrote or a function
                                           ///< returned; else null
    floptally::mask attends{};

    [[nodiscard]] bool is_none() const { return type == kind::none; }
    [[nodiscard]] bool is_whole() const { return type == kind::number || type == kind::flag; }
    [[nodiscard]] bool on() const { return is_whole() && number != 0; }
    [[nodiscard]] double as_real() const { return type == kind::real ? real : static_cast<double>(number); }
    /// Returns the number of elements of a list, or of bytes of a text.
    [[nodiscard]] std::size_t size() const {
        return type == kind::text ? text.size() : items != nullptr ? items->size() : node != nullptr ? node->count : 0;
    }
};

[[nodiscard]] inline value number_value(std::int64_t number) {
    value result;
    result.type = value::kind::number;
    result.number = number;
    return result;
}
[[nodiscard]] inline value real_value(double real) {
    value result;
    result.type = value::kind::real;
    result.real = real;
    return result;
}
[[nodiscard]] inline value flag_value(bool on) {
    value result;
    result.type = value::kind::flag;
    result.number = on ? 1 : 0;
    return result;
}
[[nodiscard]] inline value text_value(std::string_view text) {
    value result;
    result.type = value::kind::text;
    result.text = text;
    return result;
}
[[nodiscard]] inline value mask_value_of(const mask& attends) {
    value result;
    result.type = value::kind::mask;
    result.attends = attends;
    return result;
}

/// Converts a node of a config to a value.
[[nodiscard]] inline value value_of(const config_node& node) {
    value result;
    switch (node.type) {
        case config_node::kind::null:
            return result;
        case config_node::kind::flag:
            return flag_value(node.number != 0);
        case config_node::kind::integer:
            return node.beyond ? real_value(node.real) : number_value(node.number);
        case config_node::kind::real:
            return real_value(node.real);
        case config_node::kind::text:
            return text_value(node.text);
        default:
            result.type = value::kind::list;
            result.node = &node;
            return result;
    }
}

}  // namespace floptally::detail::specs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/config_tree.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Copies one JSON value without its children.
inline void fill(config_node& node, const nlohmann::json& from) {
    using type = nlohmann::json::value_t;
    switch (from.type()) {
        case type::boolean:
            node.type = config_node::kind::flag;
            node.number = *from.get_ptr<const bool*>() ? 1 : 0;
            break;
        case type::number_integer:
            node.type = config_node::kind::integer;
            node.number = *from.get_ptr<const std::int64_t*>();
            break;
        case type::number_unsigned: {
            const std::uint64_t whole = *from.get_ptr<const std::uint64_t*>();
            node.type = config_node::kind::integer;
            node.beyond = whole > std::uint64_t{INT64_MAX};
            node.number = node.beyond ? INT64_MAX : static_cast<std::int64_t>(whole);
            node.real = static_cast<double>(whole);
            node.text = node.beyond ? std::to_string(whole) : std::string();
            break;
        }
        case type::number_float:
            node.type = config_node::kind::real;
            node.real = *from.get_ptr<const double*>();
            break;
        case type::string:
            node.type = config_node::kind::text;
            node.text = *from.get_ptr<const std::string*>();
            break;
        case type::array:
            node.type = config_node::kind::list;
            break;
        case type::object:
            node.type = config_node::kind::object;
            break;
        default:
            break;  // The value is null, or binary (which a JSON text cannot contain).
    }
}

/// Converts a JSON value of any depth to a tree, level by level. It does not recurse, so deep values cannot overflow
/// the stack.
[[nodiscard]] inline config_tree tree_of(const nlohmann::json& whole) {
    config_tree tree;
    vector<const nlohmann::json*> values(1, &whole);  // values[k] is the JSON value of node k.
    tree.nodes.push_back({});
    for (std::size_t at = 0; at < values.size(); ++at) {
        const nlohmann::json& from = *values[at];
        fill(tree.nodes[at], from);
        tree.nodes[at].first = tree.nodes.size();
        if (const auto* items = from.get_ptr<const nlohmann::json::array_t*>()) {
            tree.nodes[at].count = items->size();
            for (const nlohmann::json& value : *items) {
                values.push_back(&value);
                tree.nodes.push_back({});
            }
        } else if (const auto* object = from.get_ptr<const nlohmann::json::object_t*>()) {
            tree.nodes[at].count = object->size();
            for (const auto& [key, value] : *object) {
                values.push_back(&value);
                tree.nodes.push_back({.key = key});
            }
        }
    }
    return tree;
}

}  // namespace floptally::detail::specs

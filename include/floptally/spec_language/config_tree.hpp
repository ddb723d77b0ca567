// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A config as a tree of plain nodes. With this tree the reader of specs does not depend on a JSON library. An adapter
/// fills the tree from JSON (`from_nlohmann.hpp`).

namespace floptally::inline v0_3::detail::specs {

/// One value of a config. The children of a node are consecutive in the tree's list of nodes.
struct config_node {
    enum class kind : std::uint8_t { null, flag, integer, real, text, list, object };

    kind type = kind::null;
    bool beyond = false;      ///< true for an integer that does not fit `std::int64_t`; `text` then has its digits
    std::int64_t number = 0;  ///< value of an integer; 1 or 0 for a flag
    double real = 0;
    std::string key{};  ///< key of this value in the object that contains it
    std::string text{};
    std::size_t first = 0;  ///< index of the node's first child in the tree's list of nodes
    std::size_t count = 0;
};

/// Returns the text of a number that is not finite, as Python's json writes it.
[[nodiscard]] inline const char* name_of_infinite(double value) {
    return std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
}

/// All values of one config. The first node is the whole config. The nodes are in one flat list, so that deep nesting
/// cannot overflow the stack.
class config_tree {
  public:
    vector<config_node> nodes;

    [[nodiscard]] const config_node& root() const { return nodes.front(); }
    [[nodiscard]] const config_node& child(const config_node& parent, std::size_t index) const {
        return nodes[parent.first + index];
    }
    /// Returns the value of a key in an object, or null if the key is absent.
    [[nodiscard]] const config_node* find(const config_node& object, std::string_view key) const {
        if (object.type != config_node::kind::object) {
            return nullptr;
        }
        for (std::size_t i = object.count; i-- > 0;) {
            if (nodes[object.first + i].key == key) {
                return &nodes[object.first + i];
            }
        }
        return nullptr;
    }

    /// Returns a value of the config as text, for errors.
    [[nodiscard]] std::string shown(const config_node& value) const {
        switch (value.type) {
            case config_node::kind::list:
            case config_node::kind::object:
                return shown_list(value);
            default:
                return shortened(shown_scalar(value));
        }
    }

  private:
    [[nodiscard]] static std::string shown_scalar(const config_node& value) {
        char digits[40];
        switch (value.type) {
            case config_node::kind::null:
                return "null";
            case config_node::kind::flag:
                return value.number != 0 ? "true" : "false";
            case config_node::kind::integer:
                return value.beyond ? value.text : std::to_string(value.number);
            case config_node::kind::real:
                if (!std::isfinite(value.real)) {
                    return name_of_infinite(value.real);
                }
                static_cast<void>(std::snprintf(digits, sizeof digits, "%.15g", value.real));
                return std::string(digits).find_first_of(".en") == std::string::npos ? std::string(digits) + ".0"
                                                                                     : digits;
            default:
                return quoted(value.text);
        }
    }

    [[nodiscard]] static std::string quoted(const std::string& text) {
        std::string out = "\"";
        for (const char c : text) {
            const auto code = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') {
                out += '\\';
            }
            if (code < 0x20) {
                char escape[8];
                static_cast<void>(std::snprintf(escape, sizeof escape, "\\u%04x", code));
                out += escape;
            } else {
                out += c;
            }
        }
        return out + '"';
    }

    /// Returns a list or an object as text for errors. Nested lists and objects are only mentioned ("a list of lists"),
    /// because a file may be nested to any depth.
    [[nodiscard]] std::string shown_list(const config_node& value) const {
        const bool is_list = value.type == config_node::kind::list;
        std::string text = is_list ? "[" : "{";
        for (std::size_t i = 0; i < value.count && text.size() < 80; ++i) {
            const config_node& node = child(value, i);
            if (node.type == config_node::kind::list || node.type == config_node::kind::object) {
                return is_list ? "a list of lists or objects" : "an object of lists or objects";
            }
            append(text, {i == 0 ? "" : ",", is_list ? std::string() : quoted(node.key), is_list ? "" : ":",
                          shown_scalar(node)});
        }
        return shortened(text + (is_list ? "]" : "}"));
    }
};

}  // namespace floptally::detail::specs

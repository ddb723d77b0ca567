// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A config as the reader of pages sees it: a tree of its own, so that no template of a JSON library is compiled with
/// the reader. What parses JSON fills one in (`from_nlohmann.hpp`).

namespace floptally::detail::pages {

/// One value of a config. Children stand beside each other in the tree's list of nodes.
struct config_node {
    enum class kind : std::uint8_t { null, flag, integer, real, text, list, object };

    kind type = kind::null;
    bool beyond = false;      ///< an integer that 64 bits with a sign do not hold; `text` has its digits
    std::int64_t number = 0;  ///< of an integer; 1 or 0 of a flag
    double real = 0;
    std::string key{};  ///< under which it stands in an object
    std::string text{};
    std::size_t first = 0;  ///< index of the first child
    std::size_t count = 0;
};

/// All values of one config; the first is the whole. Flat, so that no depth of nesting can end the stack.
class config_tree {
  public:
    vector<config_node> nodes;

    [[nodiscard]] const config_node& root() const { return nodes.front(); }
    [[nodiscard]] const config_node& child(const config_node& parent, std::size_t index) const {
        return nodes[parent.first + index];
    }
    /// Under that key; null where it is absent.
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

    /// A value as an error message shows it.
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

    /// A list or an object as text; a nested one is only named: a user's file may be nested as deep as it likes.
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

}  // namespace floptally::detail::pages

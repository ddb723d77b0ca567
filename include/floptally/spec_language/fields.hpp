// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/spec_language/config_tree.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The keys of one object of a config, with checks of their types and bounds.

namespace floptally::inline v0_3::detail::specs {

/// The keys of one object of a config. A wrong type, sign or size is an error that names the key.
class fields {
  public:
    /// Reads the keys of `object`. The key `ignored` is treated as absent.
    fields(const config_tree& tree, const config_node& object, std::string path, std::string_view ignored = {})
        : tree_(&tree), object_(&object), path_(std::move(path)), ignored_(ignored) {
        if (object.type != config_node::kind::object) {
            refuse(path_.empty() ? "config" : path_, {"must be a JSON object, got ", tree.shown(object)});
        }
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const config_tree& tree() const { return *tree_; }
    [[nodiscard]] const config_node& object() const { return *object_; }

    /// Returns the value of a key, or of a path of keys such as "attn_config.kv_n_heads". Returns null if the config
    /// lacks the key.
    [[nodiscard]] const config_node* find(std::string_view key) const {
        if (key == ignored_) {
            return nullptr;
        }
        const config_node* at = object_;
        for (;;) {
            const std::size_t dot = key.find('.');
            at = tree_->find(*at, key.substr(0, dot));
            if (at == nullptr || dot == std::string_view::npos) {
                return at;
            }
            key.remove_prefix(dot + 1);
        }
    }
    [[nodiscard]] bool has_value(std::string_view key) const {
        const config_node* at = find(key);
        return at != nullptr && at->type != config_node::kind::null;
    }
    /// Returns the name of a key for errors: the path to the key, such as "text_config.hidden_size".
    [[nodiscard]] std::string field(std::string_view key) const {
        return path_.empty() ? std::string(key) : text_of({path_, ".", key});
    }
    [[nodiscard]] std::string shown(const config_node& node) const { return tree_->shown(node); }

    /// Throws an `error` that names the key if its declaration in the spec does not allow the value.
    void require(const spec_key& declared, std::string_view key, const config_node& node) const {
        if (!is_allowed(declared, node)) {
            refuse(field(key), {"must be ", wanted(declared), ", got ", tree_->shown(node)});
        }
        for (std::size_t i = 0; declared.numbers && node.type == config_node::kind::list && i < node.count; ++i) {
            const config_node& child = tree_->child(node, i);
            if (child.type != config_node::kind::integer || child.beyond || child.number < declared.least ||
                child.number > declared.most) {
                refuse(indexed(field(key), i), {"must be ", integers_of(declared), ", got ", tree_->shown(child)});
            }
        }
        if (declared.choices.empty()) {
            return;
        }
        if (node.type == config_node::kind::text && !is_choice_of(declared, node)) {
            refuse(field(key), {"must be ", wanted(declared), ", got ", tree_->shown(node)});
        }
        for (std::size_t i = 0; node.type == config_node::kind::list && i < node.count; ++i) {
            if (!is_choice_of(declared, tree_->child(node, i))) {
                refuse(indexed(field(key), i),
                       {"must be ", choices_of(declared), ", got ", tree_->shown(tree_->child(node, i))});
            }
        }
    }

    [[noreturn, gnu::cold, gnu::noinline]] void missing(const spec_key& declared, std::string_view key) const {
        refuse(field(key), {"is missing; must be ", wanted(declared)});
    }
    /// Throws the error for a key whose value or default is null although the model class needs a number.
    [[noreturn, gnu::cold, gnu::noinline]] void no_number(const spec_key& declared, std::string_view key) const {
        refuse(field(key), {(find(key) == nullptr ? "is missing; must be " : "must be "), integers_of(declared),
                            (find(key) == nullptr ? "" : ", got null")});
    }

  private:
    [[nodiscard]] static bool is_allowed(const spec_key& declared, const config_node& node) {
        const auto may_be = [&declared](unsigned kinds) { return (declared.kinds & kinds) != 0; };
        switch (node.type) {
            case config_node::kind::null:
                return may_be(allowed::null);
            case config_node::kind::flag:
                return may_be(allowed::flag);
            case config_node::kind::integer:
                return may_be(allowed::number) &&
                       (declared.kinds == allowed::any ||
                        (!node.beyond && node.number >= declared.least && node.number <= declared.most));
            case config_node::kind::real:
                return may_be(allowed::real) &&
                       (declared.kinds == allowed::any ||
                        (std::isfinite(node.real) &&
                         (declared.least > 0 ? node.real > 0 : node.real >= static_cast<double>(declared.least)) &&
                         node.real <= static_cast<double>(declared.most)));
            case config_node::kind::text:
                return may_be(allowed::text);
            case config_node::kind::list:
                return may_be(allowed::list);
            default:
                return may_be(allowed::object);
        }
    }

    [[nodiscard]] static bool is_choice_of(const spec_key& declared, const config_node& node) {
        if (node.type == config_node::kind::text) {
            for (const std::string_view choice : declared.choices) {
                if (choice == node.text) {
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard, gnu::cold, gnu::noinline]] static std::string choices_of(const spec_key& declared) {
        std::string all;
        for (std::size_t i = 0; i < declared.choices.size(); ++i) {
            append(all, {i == 0                             ? "\""
                         : i + 1 == declared.choices.size() ? " or \""
                                                            : ", \"",
                         declared.choices[i], "\""});
        }
        return all;
    }

    [[nodiscard, gnu::cold, gnu::noinline]] static std::string integers_of(const spec_key& declared) {
        return text_of({"an integer from ", declared.least, " to ", declared.most});
    }

    [[nodiscard, gnu::cold, gnu::noinline]] static std::string wanted(const spec_key& declared) {
        struct kind {
            unsigned bit;
            const char* text;
        };
        constexpr kind kinds[] = {{allowed::flag, "true or false"},
                                  {allowed::text, "a string"},
                                  {allowed::list, "a list"},
                                  {allowed::object, "an object"},
                                  {allowed::null, "null"}};
        std::string all;
        const auto add = [&all](const std::string& kind_of_value) {
            append(all, {all.empty() ? "" : " or ", kind_of_value});
        };
        if ((declared.kinds & allowed::real) != 0) {
            add(declared.least > 0 ? text_of({"a number above 0 and up to ", declared.most})
                                   : text_of({"a number from ", declared.least, " to ", declared.most}));
        } else if ((declared.kinds & allowed::number) != 0) {
            add(integers_of(declared));
        }
        for (const kind& known : kinds) {
            if ((declared.kinds & known.bit) != 0) {
                add(known.bit == allowed::text && !declared.choices.empty() ? choices_of(declared) : known.text);
            }
        }
        return all;
    }

    const config_tree* tree_;
    const config_node* object_;
    std::string path_;
    std::string_view ignored_;
};

}  // namespace floptally::detail::specs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/page_language/config_tree.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The keys of one object of a config, read strictly.

namespace floptally::detail::pages {

/// The keys of one object of a config, read strictly: a wrong type, sign or size is an error that names the key.
class fields {
  public:
    /// `ignored` is a key that is as if it were absent.
    fields(const config_tree& tree, const config_node& object, std::string path, std::string_view ignored = {})
        : tree_(&tree), object_(&object), path_(std::move(path)), ignored_(ignored) {
        if (object.type != config_node::kind::object) {
            refuse(path_.empty() ? "config" : path_, {"must be a JSON object, got ", tree.shown(object)});
        }
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const config_tree& tree() const { return *tree_; }
    [[nodiscard]] const config_node& object() const { return *object_; }

    /// A key, or a path of keys: "attn_config.kv_n_heads".
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
    /// "text_config.hidden_size": the FIELD of an error.
    [[nodiscard]] std::string field(std::string_view key) const {
        return path_.empty() ? std::string(key) : text_of({path_, ".", key});
    }
    [[nodiscard]] std::string shown(const config_node& node) const { return tree_->shown(node); }

    /// Throws where a value is not what the page allows.
    void require(const page_key& asked, std::string_view key, const config_node& given) const {
        if (!is_allowed(asked, given)) {
            refuse(field(key), {"must be ", wanted(asked), ", got ", tree_->shown(given)});
        }
        for (std::size_t i = 0; asked.numbers && given.type == config_node::kind::list && i < given.count; ++i) {
            const config_node& child = tree_->child(given, i);
            if (child.type != config_node::kind::integer || child.beyond || child.number < asked.least ||
                child.number > asked.most) {
                refuse(indexed(field(key), i), {"must be ", integers_of(asked), ", got ", tree_->shown(child)});
            }
        }
        if (asked.words.empty()) {
            return;
        }
        if (given.type == config_node::kind::text && !is_word_of(asked, given)) {
            refuse(field(key), {"must be ", wanted(asked), ", got ", tree_->shown(given)});
        }
        for (std::size_t i = 0; given.type == config_node::kind::list && i < given.count; ++i) {
            if (!is_word_of(asked, tree_->child(given, i))) {
                refuse(indexed(field(key), i),
                       {"must be ", words_of(asked), ", got ", tree_->shown(tree_->child(given, i))});
            }
        }
    }

    [[noreturn, gnu::cold, gnu::noinline]] void missing(const page_key& asked, std::string_view key) const {
        refuse(field(key), {"is missing; must be ", wanted(asked)});
    }
    /// Null, or absent and null by default, where the class takes a number.
    [[noreturn, gnu::cold, gnu::noinline]] void no_number(const page_key& asked, std::string_view key) const {
        refuse(field(key), {(find(key) == nullptr ? "is missing; must be " : "must be "), integers_of(asked),
                            (find(key) == nullptr ? "" : ", got null")});
    }

  private:
    [[nodiscard]] static bool is_allowed(const page_key& asked, const config_node& given) {
        const auto may_be = [&asked](unsigned kinds) { return (asked.kinds & kinds) != 0; };
        switch (given.type) {
            case config_node::kind::null:
                return may_be(allowed::null);
            case config_node::kind::flag:
                return may_be(allowed::flag);
            case config_node::kind::integer:
                return may_be(allowed::number) &&
                       (asked.kinds == allowed::any ||
                        (!given.beyond && given.number >= asked.least && given.number <= asked.most));
            case config_node::kind::real:
                return may_be(allowed::real) &&
                       (asked.kinds == allowed::any ||
                        ((asked.least > 0 ? given.real > 0 : given.real >= static_cast<double>(asked.least)) &&
                         given.real <= static_cast<double>(asked.most)));
            case config_node::kind::text:
                return may_be(allowed::text);
            case config_node::kind::list:
                return may_be(allowed::list);
            default:
                return may_be(allowed::object);
        }
    }

    [[nodiscard]] static bool is_word_of(const page_key& asked, const config_node& node) {
        if (node.type == config_node::kind::text) {
            for (const std::string_view word : asked.words) {
                if (word == node.text) {
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard, gnu::cold, gnu::noinline]] static std::string words_of(const page_key& asked) {
        std::string all;
        for (std::size_t i = 0; i < asked.words.size(); ++i) {
            append(all, {i == 0 ? "\"" : i + 1 == asked.words.size() ? " or \"" : ", \"", asked.words[i], "\""});
        }
        return all;
    }

    [[nodiscard, gnu::cold, gnu::noinline]] static std::string integers_of(const page_key& asked) {
        return text_of({"an integer from ", asked.least, " to ", asked.most});
    }

    [[nodiscard, gnu::cold, gnu::noinline]] static std::string wanted(const page_key& asked) {
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
        if ((asked.kinds & allowed::real) != 0) {
            add(asked.least > 0 ? text_of({"a number above 0 and up to ", asked.most})
                                : text_of({"a number from ", asked.least, " to ", asked.most}));
        } else if ((asked.kinds & allowed::number) != 0) {
            add(integers_of(asked));
        }
        for (const kind& known : kinds) {
            if ((asked.kinds & known.bit) != 0) {
                add(known.bit == allowed::text && !asked.words.empty() ? words_of(asked) : known.text);
            }
        }
        return all;
    }

    const config_tree* tree_;
    const config_node* object_;
    std::string path_;
    std::string_view ignored_;
};

}  // namespace floptally::detail::pages

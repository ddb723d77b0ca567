// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/inner_spec.hpp>
#include <floptally/config/detail/key_words.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/config_tree.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/nearest.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/spec_language/spec_library.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Finds each key of a config that no spec reads or declares as ignored. Such a key may be a size or a layer kind under
/// an unknown name. By default a key that looks like a size is an error, and any other key gets a note.
/// `read_options::strict` changes this default.

namespace floptally::inline v0_3::detail::specs {

/// Name of the spec whose `ignores` apply to every config. These `ignores` list keys that saved files of all types
/// have.
inline constexpr std::string_view spec_of_all = "base.saved";

/// Throws an error for the first key that no spec declares. In floptally's own format a misspelt key would change the
/// count silently.
inline void refuse_undeclared(const scope& names) {
    const vector<std::string_view> known = names_in(&names.model_spec(), &spec::keys, &spec_key::key);
    const fields& config = names.config();
    for (std::size_t i = 0; i < config.object().count; ++i) {
        const std::string& key = config.tree().child(config.object(), i).key;
        bool is_known = false;
        std::string listed;
        for (const std::string_view name : known) {
            is_known = is_known || name == key;
            append_item(listed, name);
        }
        for (const spec* p = &names.model_spec(); p != nullptr; p = p->base) {
            is_known = is_known || std::any_of(p->ignored.begin(), p->ignored.end(),
                                               [&key](const ignored_key& ignored) { return ignored.key == key; });
        }
        if (!is_known) {
            refuse(config.field(key), {"unknown key; known: ", listed});
        }
    }
}

/// Returns true if a value of a config equals a literal of a spec.
[[nodiscard]] inline bool equals_literal(const spec& where, std::size_t index,  // NOLINT(misc-no-recursion)
                                         const config_tree& tree, const config_node& node) {
    const expression& literal = where.expressions[index];
    const bool negative = literal.operation == op::negate;
    const expression& number = negative ? where.expressions[where.operands[literal.first]] : literal;
    const double sign = negative ? -1 : 1;
    switch (node.type) {
        case config_node::kind::null:
            return literal.operation == op::null;
        case config_node::kind::flag:
            return literal.operation == op::flag && literal.number == node.number;
        case config_node::kind::integer:
        case config_node::kind::real: {
            const double value = node.type == config_node::kind::real ? node.real : static_cast<double>(node.number);
            return (number.operation == op::number && sign * static_cast<double>(number.number) == value) ||
                   (number.operation == op::real && sign * number.real == value);
        }
        case config_node::kind::text:
            return literal.operation == op::text && literal.text == node.text;
        case config_node::kind::list: {
            bool equal = literal.operation == op::list && literal.count == node.count;
            for (std::size_t i = 0; equal && i < node.count; ++i) {
                equal = equals_literal(where, where.operands[literal.first + i], tree, tree.child(node, i));
            }
            return equal;
        }
        default:
            return false;
    }
}

/// Checks every key of a config and of its nested objects. A spec must read the key or declare it as ignored. With
/// `strict` false, any other key gets a note; with `strict` true it is an error. By default it is an error only if it
/// looks like a size.
class key_check {
  public:
    key_check(library& specs, std::optional<bool> strict, std::vector<std::string>& notes)
        : specs_(specs), of_all_(specs.find(spec_of_all)), strict_(strict), notes_(notes) {}

    void check(const spec& read, const fields& config) {
        vector<reader> readers;
        readers.push_back({&read, &config.object()});
        check(std::move(readers), config);
        if (!first_size_.empty()) {
            refuse(first_size_, {problem_, others_.empty() ? "" : "; also unread: ", others_,
                                 ". Correct or remove the key, write a spec that reads it or that ignores it "
                                 "(docs/specs.md), or count without it: --lenient, strict=False"});
        }
    }

  private:
    /// A spec that reads an object of a config. `path` leads from the root of that config to the object: "" or
    /// "attn_config.".
    struct reader {
        const spec* by;
        const config_node* root;  ///< root of the config that the spec reads
        std::string path{};
        std::string_view ignored{};
    };
    /// How the specs that read a JSON object use one key of the object.
    struct known_key {
        bool is_read = false;
        bool is_object = false;  ///< the key's value is an object whose own keys are checked one by one
        bool is_ignored = false;
    };

    void check(vector<reader> readers, const fields& config) {
        for (std::size_t k = 0; k < readers.size(); ++k) {
            // `known` is a copy, because appending to the list may move its elements.
            const reader known = readers[k];
            add_other_specs(readers, known, config);
        }
        for (std::size_t k = 0; k < config.object().count; ++k) {
            const config_node& child = config.tree().child(config.object(), k);
            const known_key known = look_up(readers, config.tree(), child);
            if (child.type == config_node::kind::object && known.is_object) {
                check(readers_of(readers, child, config), fields(config.tree(), child, config.field(child.key)));
            } else if (known.is_read || known.is_object || known.is_ignored) {
                continue;
            } else if (may_matter(child) && !is_silent(child)) {
                report(readers, config, child, names_size(config.tree(), child, child.key));
            }
        }
    }

    /// Adds the other specs that read the same object: the spec of the encoder side, the spec to which a class refers
    /// (`as`), and the spec of an inner model whose keys are mixed with the outer ones (`flat`).
    void add_other_specs(vector<reader>& readers, const reader& known, const fields& config) {
        if (!known.path.empty()) {
            return;
        }
        const other_side side = encoder_of(*known.by);
        if (!side.spec.empty() && side.key.empty()) {
            add(readers, side.spec, config);
        }
        for (const spec* p = known.by; p != nullptr; p = p->base) {
            for (const block& part : p->blocks) {
                if (part.is_class && !part.lines.empty() && part.lines.front().part == "as") {
                    add(readers, trimmed(part.lines.front().rest), config);
                }
            }
        }
        for (const inner_model* inside : inner_of(*known.by)) {
            if (inside->flat && !config.has_value(inside->key)) {
                add(readers, find_inside(specs_, *inside, config).type, config);
            }
        }
    }
    void add(vector<reader>& readers, std::string_view name, const fields& config) {
        const spec* const found = &specs_.find(name);
        const auto is_found = [found](const reader& known) { return known.by == found; };
        if (std::none_of(readers.begin(), readers.end(), is_found)) {
            readers.push_back({found, &config.object()});
        }
    }

    [[nodiscard]] known_key look_up(const vector<reader>& readers, const config_tree& tree,
                                    const config_node& child) const {
        known_key known;
        for (const reader& at : readers) {
            const std::string key = at.path + child.key;
            known.is_ignored = known.is_ignored || child.key == at.ignored;
            bool is_left = false;  // true: a line `without` of a derived spec removes the key
            for (const spec* p = at.by; p != nullptr; p = p->base) {
                add_ignored(*p, key, tree, child, known);
                // The spec `base` declares keys that most model classes read. If the class of this model does not read
                // such a key, the key does not count as read.
                const bool is_theirs = p->type() == "base" && p != at.by && !at.by->was_asked(key);
                const bool is_not_read = is_theirs || (is_left && child.type == config_node::kind::list);
                for (const spec_key& key_spec : p->keys) {
                    add_key(key_spec.key, key, known, is_not_read);
                }
                for (const expression& operand : p->expressions) {
                    if (operand.operation == op::key) {
                        add_key(operand.text, key, known, is_not_read);
                    }
                }
                for (const inner_model& model : p->inner) {
                    add_key(model.key, key, known, false);
                    known.is_object = known.is_object || model.key == key;
                }
                known.is_object = known.is_object || (!p->encoder_key.empty() && p->encoder_key == key);
                known.is_ignored = known.is_ignored || (is_left && child.type != config_node::kind::list);
                is_left = is_left || std::find(p->without.begin(), p->without.end(), key) != p->without.end();
            }
        }
        add_ignored(of_all_, child.key, tree, child, known);
        return known;
    }
    static void add_ignored(const spec& by, std::string_view key, const config_tree& tree, const config_node& child,
                            known_key& known) {
        for (const ignored_key& ignored : by.ignored) {
            const bool any_value = ignored.value == no_expression;
            known.is_ignored = known.is_ignored ||
                               (ignored.key == key && (any_value || equals_literal(by, ignored.value, tree, child)));
        }
    }
    /// Records in `known` if `key` is the key `declared`, or an object that contains it. `is_left` is true if the spec
    /// declares the key but the model does not read it. Then `key` does not count as read.
    static void add_key(std::string_view declared, std::string_view key, known_key& known, bool is_left) {
        if (declared.starts_with(key)) {
            known.is_read = known.is_read || (declared.size() == key.size() && !is_left);
            known.is_object = known.is_object || (declared.size() > key.size() && declared[key.size()] == '.');
        }
    }

    /// Returns the specs that read a nested object: those of inner models and of the encoder side, and those that read
    /// the object's keys by a path such as "object.key".
    [[nodiscard]] vector<reader> readers_of(const vector<reader>& readers, const config_node& child,
                                            const fields& config) {
        vector<reader> inside;
        for (const reader& at : readers) {
            const std::string key = at.path + child.key;
            const other_side side = encoder_of(*at.by);
            if (!side.spec.empty() && side.key == key) {
                inside.push_back({&specs_.find(side.spec), &child});
            }
            for (const inner_model* model : inner_of(*at.by)) {
                if (model->key == key) {
                    const fields outer(config.tree(), *at.root, "");
                    inside.push_back(
                        {&specs_.find(find_inside(specs_, *model, outer).type), &child, {}, model->ignores});
                }
            }
        }
        for (const reader& at : readers) {
            inside.push_back({at.by, at.root, text_of({at.path, child.key, "."}), {}});
        }
        return inside;
    }
    /// Reports a key that is not read: throws an error, adds a note, or stores the key for an error that is thrown
    /// later.
    void report(const vector<reader>& readers, const fields& config, const config_node& child, bool is_size) {
        vector<std::string_view> declared;
        for (const reader& at : readers) {
            for (const spec* p = at.by; p != nullptr; p = p->base) {
                for (const spec_key& key_spec : p->keys) {
                    add_name(key_spec.key, at.path, declared);
                }
                for (const expression& operand : p->expressions) {
                    if (operand.operation == op::key) {
                        add_name(operand.text, at.path, declared);
                    }
                }
                for (const inner_model& model : p->inner) {
                    add_name(model.key, at.path, declared);
                }
            }
        }
        const std::string_view near = nearest(child.key, declared);
        if (strict_ == true) {
            refuse(config.field(child.key),
                   {"is not read by spec ", readers[0].by->name, near.empty() ? "" : "; nearest: ", near,
                    "; correct or remove the key, or pass --lenient or strict=False"});
        }
        const config_node* const known = near.empty() ? nullptr : config.find(near);
        const bool says_nearest = !near.empty() && !config.has_value(near);
        // A misspelt key is no error if the correct key is there too with the same value: "num_attention_head": 12 and
        // "num_attention_heads": 12.
        is_size = is_size && !(known != nullptr && known->type == config_node::kind::integer &&
                               child.type == config_node::kind::integer && known->number == child.number);
        if (is_size && !strict_) {
            add_size(config.field(child.key),
                     {"names a size that spec ", readers[0].by->name, " does not read, got ", config.shown(child),
                      says_nearest ? "; nearest: " : "", says_nearest ? near : std::string_view()});
            return;
        }
        notes_.push_back(
            text_of({is_size ? unread_size_note : unread_note, config.field(child.key), " (", config.shown(child), ")",
                     says_nearest ? "; " : "", says_nearest ? near : std::string_view(),
                     says_nearest ? nearest_is_read : std::string_view()}));
    }
    void add_size(const std::string& field, std::initializer_list<piece> problem) {
        constexpr std::size_t longest = 200;
        if (first_size_.empty()) {
            first_size_ = field;
            problem_ = text_of(problem);
        } else if (others_.size() < longest) {
            append_item(others_, field);
        } else if (!others_.ends_with("...")) {
            append_item(others_, "...");
        }
    }
    /// Adds the next name of the dotted key `declared` to `names`: the text after `path`, up to the next dot. Adds
    /// nothing if `declared` does not begin with `path`.
    static void add_name(std::string_view declared, std::string_view path, vector<std::string_view>& names) {
        if (declared.starts_with(path)) {
            declared.remove_prefix(path.size());
            names.push_back(declared.substr(0, declared.find('.')));
        }
    }

    library& specs_;
    const spec& of_all_;
    std::optional<bool> strict_;
    std::vector<std::string>& notes_;
    std::string first_size_;  // the first key that names a size and is not read, with its path
    std::string problem_;     // what is wrong with the key `first_size_`
    std::string others_;      // the other keys that name sizes and are not read
};

}  // namespace floptally::detail::specs

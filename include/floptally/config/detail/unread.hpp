// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/inner_page.hpp>
#include <floptally/config/detail/key_words.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/config_tree.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/page_language/page_library.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Keys of a config that no page reads and that none says its class ignores: each may be a size or a kind of layer
/// under a name that nobody knows, which would change the count silently, and is noted.

namespace floptally::detail::pages {

inline constexpr std::string_view unread_note = "config has a key that is not read: ";
/// The page whose `ignores` hold in every config: what saved files of all types have.
inline constexpr std::string_view page_of_all = "base.saved";

/// Throws at the first key that no page declares: in floptally's own format a misspelt one would change the count
/// silently.
inline void refuse_undeclared(const scope& names) {
    const vector<std::string_view> known = names_in(&names.of(), &page::keys, &page_key::key);
    const fields& config = names.config();
    for (std::size_t i = 0; i < config.object().count; ++i) {
        const std::string& key = config.tree().child(config.object(), i).key;
        bool is_known = false;
        std::string listed;
        for (const std::string_view name : known) {
            is_known = is_known || name == key;
            append_item(listed, name);
        }
        for (const page* p = &names.of(); p != nullptr; p = p->base) {
            is_known = is_known || std::find(p->ignored.begin(), p->ignored.end(), key) != p->ignored.end();
        }
        if (!is_known) {
            refuse(config.field(key), {"unknown key; known: ", listed});
        }
    }
}

/// The check of all keys of a config, those of the configs and objects inside it too: each is read, ignored by the
/// class as its page says, or noted; with `strict` an error.
class key_check {
  public:
    key_check(library& pages, bool strict, std::vector<std::string>& notes)
        : pages_(pages), of_all_(pages.find(page_of_all)), strict_(strict), notes_(notes) {}

    void check(const page& read, const fields& config) {
        vector<reader> readers;
        readers.push_back({&read, &config.object()});
        check(std::move(readers), config);
    }

  private:
    /// A page that reads a place of a config, by keys that begin with `path`: "" or "attn_config.".
    struct reader {
        const page* by;
        const config_node* root;  ///< the config that is the page's
        std::string path{};
        std::string_view ignored{};
    };
    /// An answer of the readers of a place about one of its keys.
    struct known_key {
        bool is_read = false;
        bool is_object = false;  ///< its own keys are read one by one
        bool is_ignored = false;
    };

    void check(vector<reader> readers, const fields& config) {
        for (std::size_t k = 0; k < readers.size(); ++k) {
            add_beside(readers, reader(readers[k]), config);
        }
        for (std::size_t k = 0; k < config.object().count; ++k) {
            const config_node& child = config.tree().child(config.object(), k);
            const known_key known = look_up(readers, child);
            if (child.type == config_node::kind::object && known.is_object) {
                check(readers_of(readers, child, config), fields(config.tree(), child, config.field(child.key)));
            } else if (!known.is_read && !known.is_object && !known.is_ignored && may_matter(child) &&
                       !is_silent(child)) {
                note(readers, config, child);
            }
        }
    }

    /// Adds the pages that read the same keys: of the other side, of a class that is another page's, and of a model
    /// whose keys stand beside the outer ones.
    void add_beside(vector<reader>& readers, const reader& known, const fields& config) {
        if (!known.path.empty()) {
            return;
        }
        const other_side side = encoder_of(*known.by);
        if (!side.page.empty() && side.key.empty()) {
            add(readers, side.page, config);
        }
        for (const page* p = known.by; p != nullptr; p = p->base) {
            for (const block& part : p->blocks) {
                if (part.is_class && !part.lines.empty() && part.lines.front().part == "as") {
                    add(readers, trimmed(part.lines.front().rest), config);
                }
            }
        }
        for (const inner_model* inside : inner_of(*known.by)) {
            if (inside->flat && !config.has_value(inside->key)) {
                add(readers, find_inside(pages_, *inside, config).type, config);
            }
        }
    }
    void add(vector<reader>& readers, std::string_view name, const fields& config) {
        const page* const found = &pages_.find(name);
        const auto is_found = [found](const reader& known) { return known.by == found; };
        if (std::none_of(readers.begin(), readers.end(), is_found)) {
            readers.push_back({found, &config.object()});
        }
    }

    [[nodiscard]] known_key look_up(const vector<reader>& readers, const config_node& child) const {
        known_key known;
        for (const reader& at : readers) {
            const std::string key = at.path + child.key;
            known.is_ignored = known.is_ignored || child.key == at.ignored;
            bool is_left = false;  // to a base, by `without`
            for (const page* p = at.by; p != nullptr; p = p->base) {
                for (const std::string_view word : p->ignored) {
                    known.is_ignored = known.is_ignored || word == key;
                }
                // A page that most stand on declares the keys that most classes read; this one may read another.
                const bool is_theirs = p->type() == "base" && p != at.by && !at.by->was_asked(key);
                const bool is_not_read = is_theirs || (is_left && child.type == config_node::kind::list);
                for (const page_key& rule : p->keys) {
                    add_key(rule.key, key, known, is_not_read);
                }
                for (const expression& operand : p->expressions) {
                    if (operand.what == op::key) {
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
        for (const std::string_view word : of_all_.ignored) {
            known.is_ignored = known.is_ignored || word == child.key;
        }
        return known;
    }
    /// Adds what a declared key says of another: they are equal, or it stands inside an object of that name. A list
    /// that the base reads and this class does not is not known: saved files have sizes that the class makes of others,
    /// but a list that gives the kind of each layer would change the count.
    static void add_key(std::string_view declared, std::string_view key, known_key& known, bool is_left) {
        if (declared.starts_with(key)) {
            known.is_read = known.is_read || (declared.size() == key.size() && !is_left);
            known.is_object = known.is_object || (declared.size() > key.size() && declared[key.size()] == '.');
        }
    }

    /// The readers of an object: a model inside, the other side, and those here by keys with its name before a dot.
    [[nodiscard]] vector<reader> readers_of(const vector<reader>& readers, const config_node& child,
                                            const fields& config) {
        vector<reader> inside;
        for (const reader& at : readers) {
            const std::string key = at.path + child.key;
            const other_side side = encoder_of(*at.by);
            if (!side.page.empty() && side.key == key) {
                inside.push_back({&pages_.find(side.page), &child});
            }
            for (const inner_model* model : inner_of(*at.by)) {
                if (model->key == key) {
                    const fields outer(config.tree(), *at.root, "");
                    inside.push_back(
                        {&pages_.find(find_inside(pages_, *model, outer).type), &child, {}, model->ignores});
                }
            }
        }
        for (const reader& at : readers) {
            inside.push_back({at.by, at.root, text_of({at.path, child.key, "."}), {}});
        }
        return inside;
    }
    void note(const vector<reader>& readers, const fields& config, const config_node& child) {
        vector<std::string_view> declared;
        for (const reader& at : readers) {
            for (const page* p = at.by; p != nullptr; p = p->base) {
                for (const page_key& rule : p->keys) {
                    add_name(rule.key, at.path, declared);
                }
                for (const expression& operand : p->expressions) {
                    if (operand.what == op::key) {
                        add_name(operand.text, at.path, declared);
                    }
                }
                for (const inner_model& model : p->inner) {
                    add_name(model.key, at.path, declared);
                }
            }
        }
        const std::string_view near = nearest(child.key, declared);
        if (strict_) {
            refuse(config.field(child.key),
                   {"is not read by page ", readers[0].by->name, near.empty() ? "" : "; nearest that is: ", near});
        }
        const bool says_nearest = !near.empty() && !config.has_value(near);
        notes_.push_back(
            text_of({unread_note, config.field(child.key), " (", config.shown(child), ")", says_nearest ? "; " : "",
                     says_nearest ? near : std::string_view(), says_nearest ? " is read" : ""}));
    }
    /// Adds the name that a declared key has at a place: up to the next dot.
    static void add_name(std::string_view declared, std::string_view path, vector<std::string_view>& names) {
        if (declared.starts_with(path)) {
            declared.remove_prefix(path.size());
            names.push_back(declared.substr(0, declared.find('.')));
        }
    }

    library& pages_;
    const page& of_all_;
    bool strict_;
    std::vector<std::string>& notes_;
};

}  // namespace floptally::detail::pages

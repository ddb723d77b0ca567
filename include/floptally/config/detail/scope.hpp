// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/expression_parser.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// A page beside a config, which gives its names and keys their values.
///
/// Names are looked up in the most derived page first and evaluated when first asked for. A value that does not look at
/// `i` is kept for all layers.
class scope {
  public:
    scope(const page& read, const fields& config) : page_(read), config_(config) {}

    struct inner_scope {
        std::string_view name;
        scope* of;
    };
    vector<inner_scope> inner;  ///< models inside this one, as `vision.h` names them
    std::uint64_t layer = 0;    ///< `i`
    bool varies = false;        ///< whether a value since this was cleared looked at `i`

    [[nodiscard]] const page& of() const { return page_; }
    [[nodiscard]] const fields& config() const { return config_; }

    // ---- looking up, most derived page first ----

    struct found_definition {
        const page* where = nullptr;
        const definition* entry = nullptr;
    };
    [[nodiscard]] found_definition find_definition(std::string_view name) const {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const definition* found = p->find_definition(name)) {
                return {p, found};
            }
        }
        return {};
    }
    struct found_block {
        const page* where = nullptr;
        const block* entry = nullptr;
    };
    /// A block of the page or its bases; an empty block takes away that of the base.
    [[nodiscard]] found_block find_block(std::string_view name) const {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const block* found = p->find_block(name)) {
                return found->lines.empty() && !found->is_class ? found_block{} : found_block{p, found};
            }
        }
        return {};
    }
    /// A key as a page declares it; null where `without` comes first: the base reads the key and this class does not.
    [[nodiscard]] const page_key* find_key(std::string_view key, bool* is_unread = nullptr) const {
        bool unread = false;
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const page_key* found = p->find_key(key)) {
                if (is_unread != nullptr) {
                    *is_unread = unread;
                }
                return found;
            }
            for (const std::string_view word : p->without) {
                unread = unread || word == key;
            }
        }
        if (is_unread != nullptr) {
            *is_unread = unread;
        }
        return nullptr;
    }

    /// True where a name is defined and not null.
    [[nodiscard]] bool has(std::string_view name) {
        return find_definition(name).entry != nullptr && !named(name).is_none();
    }
    [[nodiscard]] std::uint64_t number(std::string_view name) {
        const found_definition found = find_definition(name);
        const value item = named(name);
        if (!item.is_whole() || item.number < 0) {
            page_error(found.where->name, found.entry->line,
                       {"\"", name, "\" must be a number of at least 0, got ", shown(item)});
        }
        return static_cast<std::uint64_t>(item.number);
    }
    [[nodiscard]] std::uint64_t number_or(std::string_view name, std::uint64_t otherwise) {
        return has(name) ? number(name) : otherwise;
    }
    [[nodiscard]] bool on(std::string_view name) { return has(name) && named(name).on(); }
    /// The value of a name of the page that is a mask or units.
    [[nodiscard]] mask mask_named(std::string_view name) {
        const value item = named(name);
        if (item.type != value::kind::mask) {
            const found_definition found = find_definition(name);
            page_error(found.where->name, found.entry->line,
                       {"\"", name, "\" must be a mask or units, got ", shown(item)});
        }
        return item.attends;
    }

    /// True where a name was used in the count so far.
    [[nodiscard]] bool was_asked(std::string_view name) const {
        return std::any_of(memory_.begin(), memory_.end(),
                           [&](const owner<memory>& remembered) { return remembered->name == name; });
    }
    [[nodiscard]] value named(std::string_view name);
    [[nodiscard]] value evaluate(const page& where, std::size_t index);

    /// The default of a key that the config lacks; null where it has none.
    [[nodiscard]] value otherwise(std::string_view key) {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const page_key* found = p->find_key(key)) {
                return found->otherwise == no_expression ? value{} : evaluate(*p, found->otherwise);
            }
        }
        return {};
    }

    /// The end of an error: the value that the config gives a key, or the default that stands in for it.
    [[nodiscard]] std::string got(std::string_view key) {
        if (const config_node* given = config_.find(key)) {
            return text_of({", got ", config_.shown(*given)});
        }
        const value item = otherwise(key);
        return item.is_none() ? "; it is missing" : text_of({"; it is missing, and its default is ", shown(item)});
    }

    [[nodiscard]] std::string shown(const value& item) const {
        switch (item.type) {
            case value::kind::none:
                return "null";
            case value::kind::number:
                return std::to_string(item.number);
            case value::kind::real:
                return std::to_string(item.real);
            case value::kind::flag:
                return item.number != 0 ? "true" : "false";
            case value::kind::text:
                return text_of({"\"", item.text, "\""});
            case value::kind::list:
                return item.given != nullptr ? config_.shown(*item.given) : shown_items(item);
            default:
                return item.attends.name();
        }
    }

    /// Element `i` of a list.
    [[nodiscard]] value item_of(const value& whole, std::size_t i) const {
        return whole.items != nullptr ? (*whole.items)[i] : value_of(config_.tree().child(*whole.given, i));
    }
    /// The elements of a list, each as a value.
    [[nodiscard]] vector<value> items_of(const value& whole) const {
        if (whole.items != nullptr) {
            return *whole.items;
        }
        vector<value> all;
        for (std::size_t i = 0; whole.given != nullptr && i < whole.given->count; ++i) {
            all.push_back(item_of(whole, i));
        }
        return all;
    }
    [[nodiscard]] value list_of(vector<value> items) {
        std::size_t left = 10'000;
        if (!counts_at_most(items, left)) {
            page_error(page_.name, page_.line, {"makes a list of more than 10000 elements, with those of lists in it"});
        }
        spend(items.size());
        value made;
        made.type = value::kind::list;
        made.items = lists_.push_back(owner(new vector<value>(std::move(items)))).get();
        return made;
    }

    /// A list of the config in the form that a page writes, so that the two can be compared.
    [[nodiscard]] value as_written(const value& worth, unsigned depth = 0) {
        if (worth.given == nullptr || worth.given->type != config_node::kind::list) {
            return worth;
        }
        if (depth > 20) {
            page_error(page_.name, page_.line, {"compares a list that is nested more than 20 deep"});
        }
        vector<value> items;
        for (const value& item : items_of(worth)) {
            items.push_back(as_written(item, depth + 1));
        }
        return list_of(std::move(items));
    }

    /// Throws where a given key is not what its page allows, whether it is read or not.
    void check_keys() {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            for (const page_key& known : p->keys) {
                bool unread = false;
                const bool counts = find_key(known.key, &unread) == &known && !unread;
                if (const config_node* given = counts ? config_.find(known.key) : nullptr) {
                    config_.require(known, known.key, *given);
                    require_each(known, *given);
                }
            }
        }
        // The kinds of the layers: transformers refuses a list of another length (PreTrainedConfig's
        // validate_layer_type) in every class that has layers, one that ignores the list too.
        for (const std::string_view key : {"layer_types", "mlp_layer_types"}) {
            bool unread = false;
            const page_key* known = find_key(key, &unread);
            const bool ignored = known == nullptr || unread || known->kinds == allowed::any;
            const config_node* given = ignored ? config_.find(key) : nullptr;
            if (given != nullptr && given->type == config_node::kind::list && has("layers")) {
                require_each({.key = key, .each = true}, *given);
            }
        }
    }

    [[noreturn, gnu::cold, gnu::noinline]] static void fail(const page& where, unsigned line,
                                                            std::initializer_list<piece> what) {
        page_error(where.name, line, what);
    }

    /// Counts steps, whose number is bounded so that a page ends soon; models of 10000 layers need a hundredth of it.
    void spend(std::size_t steps) {
        steps_ += steps;
        if (steps_ > 20'000'000) {
            page_error(page_.name, page_.line, {"needs more than 20000000 steps"});
        }
    }

  private:
    friend class evaluation;

    [[nodiscard]] std::string shown_items(const value& whole) const {
        std::string all;
        for (std::size_t k = 0; k < whole.size(); ++k) {
            append(all, {k == 0 ? "[" : ",", shown((*whole.items)[k])});
        }
        return all.empty() ? "[]" : all + "]";
    }
    /// Subtracts the elements of a list, with those of lists in it, from `left`; returns false where there are more.
    [[nodiscard]] static bool counts_at_most(const vector<value>& items, std::size_t& left) {
        for (const value& item : items) {
            if (left == 0 || (item.items != nullptr && !counts_at_most(*item.items, --left))) {
                return false;
            }
            left -= item.items == nullptr ? 1U : 0U;
        }
        return true;
    }

    void require_each(const page_key& known, const config_node& given) {
        if (known.each && given.type == config_node::kind::list && given.count != number("layers")) {
            refuse(config_.field(known.key), {"must name the ", number("layers"), " layers, got ", given.count});
        }
    }

    struct memory {
        std::string_view name;
        value worth;
        std::uint64_t layer = 0;
        bool varies = false;
        bool known = false;
        bool active = false;
    };

    const page& page_;
    fields config_;
    vector<owner<memory>> memory_;
    vector<owner<vector<value>>> lists_;
    unsigned depth_ = 0;
    std::size_t steps_ = 0;
};

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/expression_parser.hpp>
#include <floptally/detail/pages/fields.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/value.hpp>
#include <floptally/mask.hpp>

namespace floptally::detail::pages {

/// A page beside a config: what its names and keys are worth.
///
/// Names are looked up in the most derived page first, and evaluated when they are first asked for. What does not look
/// at `i` is kept for all layers.
class scope {
  public:
    scope(const page& read, const fields& config) : page_(read), config_(config) {}

    struct inner_scope {
        std::string_view name;
        scope* of;
    };
    array_of<inner_scope> inner;  ///< models inside this one, as `vision.h` names them
    std::uint64_t layer = 0;      ///< `i`
    bool varies = false;          ///< whether what was evaluated since this was cleared looks at `i`

    [[nodiscard]] const page& of() const { return page_; }
    [[nodiscard]] const fields& config() const { return config_; }

    // ---- looking up, most derived page first ----

    struct found_definition {
        const page* where = nullptr;
        const definition* is = nullptr;
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
        const block* is = nullptr;
    };
    /// An empty block takes away that of the base.
    [[nodiscard]] found_block find_block(std::string_view name) const {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const block* found = p->find_block(name)) {
                return found->lines.empty() && !found->is_class ? found_block{} : found_block{p, found};
            }
        }
        return {};
    }
    /// The rule of a key, unless `without` comes first: the base reads it and this class does not.
    [[nodiscard]] const key_rule* find_key(std::string_view key, bool* is_unread = nullptr) const {
        bool unread = false;
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const key_rule* found = p->find_key(key)) {
                if (is_unread != nullptr) {
                    *is_unread = unread;
                }
                return found;
            }
            for (const std::string_view one : p->without) {
                unread = unread || one == key;
            }
        }
        if (is_unread != nullptr) {
            *is_unread = unread;
        }
        return nullptr;
    }

    /// Defined, and not null.
    [[nodiscard]] bool has(std::string_view name) {
        return find_definition(name).is != nullptr && !named(name).is_none();
    }
    [[nodiscard]] std::uint64_t number(std::string_view name) {
        const found_definition found = find_definition(name);
        const value one = named(name);
        if (!one.counts() || one.number < 0) {
            page_error(found.where->name, found.is->line,
                       {"\"", name, "\" must be a number of at least 0, got ", shown(one)});
        }
        return static_cast<std::uint64_t>(one.number);
    }
    [[nodiscard]] std::uint64_t number_or(std::string_view name, std::uint64_t otherwise) {
        return has(name) ? number(name) : otherwise;
    }
    [[nodiscard]] bool on(std::string_view name) { return has(name) && named(name).on(); }
    /// A name of the page that is a mask, or units.
    [[nodiscard]] mask mask_named(std::string_view name) {
        const value one = named(name);
        if (one.is != value::kind::mask) {
            const found_definition found = find_definition(name);
            page_error(found.where->name, found.is->line, {"\"", name, "\" must be a mask or units, got ", shown(one)});
        }
        return one.attends;
    }

    /// Whether anything was counted with it so far.
    [[nodiscard]] bool was_asked(std::string_view name) const {
        return std::any_of(memory_.begin(), memory_.end(), [&](const memory* one) { return one->name == name; });
    }
    [[nodiscard]] value named(std::string_view name);
    [[nodiscard]] value evaluate(const page& where, std::size_t index);

    /// The default of a key that the config lacks; null where it has none.
    [[nodiscard]] value otherwise(std::string_view key) {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            if (const key_rule* found = p->find_key(key)) {
                return found->otherwise == no_expression ? value{} : evaluate(*p, found->otherwise);
            }
        }
        return {};
    }

    /// The end of an error: what the config gives a key, or the default that stands in for it.
    [[nodiscard]] std::string got(std::string_view key) {
        if (const config_node* given = config_.find(key)) {
            return ", got " + config_.shown(*given);
        }
        const value one = otherwise(key);
        return one.is_none() ? "; it is missing" : "; it is missing, and its default is " + shown(one);
    }

    [[nodiscard]] std::string shown(const value& one) const {
        switch (one.is) {
            case value::kind::none:
                return "null";
            case value::kind::number:
                return std::to_string(one.number);
            case value::kind::real:
                return std::to_string(one.real);
            case value::kind::flag:
                return one.number != 0 ? "true" : "false";
            case value::kind::text:
                return "\"" + std::string(one.text) + "\"";
            case value::kind::list:
                return one.given != nullptr ? config_.shown(*one.given) : shown_items(one);
            default:
                return one.attends.name();
        }
    }

    /// The element of that number.
    [[nodiscard]] value item_of(const value& list, std::size_t i) const {
        return list.items != nullptr ? (*list.items)[i] : value_of(config_.tree().child(*list.given, i));
    }
    /// Elements, each as a value.
    [[nodiscard]] array_of<value> items_of(const value& list) const {
        if (list.items != nullptr) {
            return *list.items;
        }
        array_of<value> all;
        for (std::size_t i = 0; list.given != nullptr && i < list.given->count; ++i) {
            all.push_back(item_of(list, i));
        }
        return all;
    }
    [[nodiscard]] value list_of(array_of<value> items) {
        std::size_t left = 10'000;
        if (!counts_at_most(items, left)) {
            page_error(page_.name, page_.line, {"makes a list of more than 10000 elements, with those of lists in it"});
        }
        spend(items.size());
        value made;
        made.is = value::kind::list;
        made.items = &lists_.add(std::move(items));
        return made;
    }

    /// A list of the config as a page would write it, so that the two can be equal.
    [[nodiscard]] value as_written(const value& one, unsigned depth = 0) {
        if (one.given == nullptr || one.given->is != config_node::kind::list) {
            return one;
        }
        if (depth > 20) {
            page_error(page_.name, page_.line, {"compares a list that is nested more than 20 deep"});
        }
        array_of<value> items;
        for (const value& item : items_of(one)) {
            items.push_back(as_written(item, depth + 1));
        }
        return list_of(std::move(items));
    }

    /// Throws where a key is given that is not what its page says it may be, read or not.
    void check_keys() {
        for (const page* p = &page_; p != nullptr; p = p->base) {
            for (const key_rule& rule : p->keys) {
                bool unread = false;
                const bool counts = find_key(rule.key, &unread) == &rule && !unread;
                if (const config_node* given = counts ? config_.find(rule.key) : nullptr) {
                    config_.require(rule, rule.key, *given);
                    require_each(rule, *given);
                }
            }
        }
        // Which of several kinds each layer is: transformers refuses a list of another length (PreTrainedConfig's
        // validate_layer_type) in every class that has layers, one that ignores the list too.
        for (const std::string_view key : {"layer_types", "mlp_layer_types"}) {
            bool unread = false;
            const key_rule* rule = find_key(key, &unread);
            const bool ignored = rule == nullptr || unread || rule->kinds == allowed::any;
            const config_node* given = ignored ? config_.find(key) : nullptr;
            if (given != nullptr && given->is == config_node::kind::list && has("layers")) {
                require_each({.key = key, .each = true}, *given);
            }
        }
    }

    [[noreturn, gnu::cold, gnu::noinline]] static void fail(const page& where, unsigned line,
                                                            std::initializer_list<piece> what) {
        page_error(where.name, line, what);
    }

    /// What has to be looked at is bounded, so that a page ends soon; models of 10000 layers need a hundredth of it.
    void spend(std::size_t steps) {
        steps_ += steps;
        if (steps_ > 20'000'000) {
            page_error(page_.name, page_.line, {"needs more than 20000000 steps"});
        }
    }

  private:
    friend class evaluation;

    [[nodiscard]] std::string shown_items(const value& list) const {
        std::string all;
        for (std::size_t k = 0; k < list.size(); ++k) {
            all += (k == 0 ? "[" : ",") + shown((*list.items)[k]);
        }
        return all.empty() ? "[]" : all + "]";
    }
    /// Takes the elements of a list, with those of lists in it, from `left`, as long as there are some.
    [[nodiscard]] static bool counts_at_most(const array_of<value>& items, std::size_t& left) {
        for (const value& one : items) {
            if (left == 0 || (one.items != nullptr && !counts_at_most(*one.items, --left))) {
                return false;
            }
            left -= one.items == nullptr ? 1U : 0U;
        }
        return true;
    }

    void require_each(const key_rule& rule, const config_node& given) {
        if (rule.each && given.is == config_node::kind::list && given.count != number("layers")) {
            refuse(config_.field(rule.key), {"must name the ", number("layers"), " layers, got ", given.count});
        }
    }

    struct memory {
        std::string_view name;
        value is;
        std::uint64_t layer = 0;
        bool varies = false;
        bool known = false;
        bool active = false;
    };

    const page& page_;
    fields config_;
    kept<memory> memory_;
    kept<array_of<value>> lists_;
    unsigned depth_ = 0;
    std::size_t steps_ = 0;
};

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/expression_parser.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// A spec together with a config. Evaluates the names that the spec defines and the keys that it reads.
class scope {
  public:
    scope(const spec& read, const fields& config) : spec_(read), config_(config) {}

    struct inner_scope {
        std::string_view name;
        scope* names;
    };
    vector<inner_scope> inner;  ///< inner models, for names such as `vision.h`
    std::uint64_t layer = 0;    ///< the layer index `i`
    bool varies = false;        ///< true: an expression has read `i` since this flag was last set to false

    /// Texts for notes, one for each size that the config contains under two keys with different values.
    [[nodiscard]] const vector<std::string>& disagreements() const { return disagreements_; }
    void disagree(std::string&& text) {
        if (std::find(disagreements_.begin(), disagreements_.end(), text) == disagreements_.end()) {
            disagreements_.push_back(std::move(text));
        }
    }

    [[nodiscard]] const spec& model_spec() const { return spec_; }
    [[nodiscard]] const fields& config() const { return config_; }

    // ---- looking up names and keys, in the most derived spec first ----

    struct found_definition {
        const spec* where = nullptr;
        const definition* entry = nullptr;
    };
    [[nodiscard]] found_definition find_definition(std::string_view name) const {
        for (const spec* p = &spec_; p != nullptr; p = p->base) {
            if (const definition* found = p->find_definition(name)) {
                return {p, found};
            }
        }
        return {};
    }
    struct found_block {
        const spec* where = nullptr;
        const block* entry = nullptr;
    };
    /// Finds a block in the spec or its bases. An empty block in a derived spec removes the block of its base.
    [[nodiscard]] found_block find_block(std::string_view name) const {
        for (const spec* p = &spec_; p != nullptr; p = p->base) {
            if (const block* found = p->find_block(name)) {
                return found->lines.empty() && !found->is_class ? found_block{} : found_block{p, found};
            }
        }
        return {};
    }
    /// Finds the declaration of a key, or null. Sets `is_unread` if a base spec declares the key and a derived spec
    /// removes it by `without`.
    [[nodiscard]] const spec_key* find_key(std::string_view key, bool* is_unread = nullptr) const {
        bool unread = false;
        for (const spec* p = &spec_; p != nullptr; p = p->base) {
            if (const spec_key* found = p->find_key(key)) {
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

    /// Returns true if a name is defined and its value is not null.
    [[nodiscard]] bool has(std::string_view name) {
        return find_definition(name).entry != nullptr && !named(name).is_none();
    }
    [[nodiscard]] std::uint64_t number(std::string_view name) {
        const found_definition found = find_definition(name);
        const value item = named(name);
        if (!item.is_whole() || item.number < 0) {
            spec_error(found.where->name, found.entry->line,
                       {"\"", name, "\" must be a number of at least 0, got ", shown(item)});
        }
        return static_cast<std::uint64_t>(item.number);
    }
    [[nodiscard]] std::uint64_t number_or(std::string_view name, std::uint64_t otherwise) {
        return has(name) ? number(name) : otherwise;
    }
    [[nodiscard]] bool on(std::string_view name) { return has(name) && named(name).on(); }
    /// Returns the value of a name that the spec defines as a mask, or as a number of patches or frames. Throws if the
    /// value is of another type.
    [[nodiscard]] mask mask_named(std::string_view name) {
        const value item = named(name);
        if (item.type != value::kind::mask) {
            const found_definition found = find_definition(name);
            spec_error(found.where->name, found.entry->line,
                       {"\"", name, "\" must be a mask or units, got ", shown(item)});
        }
        return item.attends;
    }

    /// Returns true if the count so far needed the value of this name.
    [[nodiscard]] bool was_asked(std::string_view name) const {
        return std::any_of(memory_.begin(), memory_.end(),
                           [&](const owner<memory>& remembered) { return remembered->name == name; });
    }
    [[nodiscard]] value named(std::string_view name);
    [[nodiscard]] value evaluate(const spec& where, std::size_t index);

    /// Returns the default of a key, or null if it has no default.
    [[nodiscard]] value otherwise(std::string_view key) {
        for (const spec* p = &spec_; p != nullptr; p = p->base) {
            if (const spec_key* found = p->find_key(key)) {
                return found->otherwise == no_expression ? value{} : evaluate(*p, found->otherwise);
            }
        }
        return {};
    }

    /// Returns the end of an error text about a key: ", got VALUE", or "; it is missing, and its default is VALUE".
    [[nodiscard]] std::string got(std::string_view key) {
        if (const config_node* node = config_.find(key)) {
            return text_of({", got ", config_.shown(*node)});
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
                return std::isfinite(item.real) ? std::to_string(item.real) : name_of_infinite(item.real);
            case value::kind::flag:
                return item.number != 0 ? "true" : "false";
            case value::kind::text:
                return text_of({"\"", item.text, "\""});
            case value::kind::list:
                return item.node != nullptr ? config_.shown(*item.node) : shown_items(item);
            default:
                return item.attends.name();
        }
    }

    /// Returns element `i` of a list. The list may come from the config or from the spec.
    [[nodiscard]] value item_of(const value& whole, std::size_t i) const {
        return whole.items != nullptr ? (*whole.items)[i] : value_of(config_.tree().child(*whole.node, i));
    }
    /// Returns the elements of a list. The list may come from the config or from the spec.
    [[nodiscard]] vector<value> items_of(const value& whole) const {
        if (whole.items != nullptr) {
            return *whole.items;
        }
        vector<value> all;
        for (std::size_t i = 0; whole.node != nullptr && i < whole.node->count; ++i) {
            all.push_back(item_of(whole, i));
        }
        return all;
    }
    [[nodiscard]] value list_of(vector<value> items) {
        std::size_t left = 10'000;
        if (!counts_at_most(items, left)) {
            spec_error(spec_.name, spec_.line,
                       {"a list must have at most 10000 elements, with those of its lists: make it shorter"});
        }
        spend(items.size());
        value list;
        list.type = value::kind::list;
        list.items = lists_.push_back(owner(new vector<value>(std::move(items)))).get();
        return list;
    }

    /// Converts a list of the config to the same form as a list in a spec, so that they can be compared.
    [[nodiscard]] value as_written(const value& worth, unsigned depth = 0) {
        if (worth.node == nullptr || worth.node->type != config_node::kind::list) {
            return worth;
        }
        if (depth > 20) {
            spec_error(spec_.name, spec_.line,
                       {"a list that is compared must be nested at most 20 deep: compare its elements"});
        }
        vector<value> items;
        for (const value& item : items_of(worth)) {
            items.push_back(as_written(item, depth + 1));
        }
        return list_of(std::move(items));
    }

    /// Throws if a key of the config has a value that the spec does not allow. Also checks keys that the count does not
    /// read.
    void check_keys() {
        for (const spec* p = &spec_; p != nullptr; p = p->base) {
            for (const spec_key& known : p->keys) {
                bool unread = false;
                const bool counts = find_key(known.key, &unread) == &known && !unread;
                if (const config_node* node = counts ? config_.find(known.key) : nullptr) {
                    config_.require(known, known.key, *node);
                    require_each(known, *node);
                }
            }
        }
        // Transformers' PreTrainedConfig.validate_layer_type refuses a list of layer kinds whose length is not the
        // number of layers. It does so even for classes that ignore the list.
        for (const std::string_view key : {"layer_types", "mlp_layer_types"}) {
            bool unread = false;
            const spec_key* known = find_key(key, &unread);
            const bool ignored = known == nullptr || unread || known->kinds == allowed::any;
            const config_node* node = ignored ? config_.find(key) : nullptr;
            if (node != nullptr && node->type == config_node::kind::list && has("layers")) {
                require_each({.key = key, .each = true}, *node);
            }
        }
    }

    [[noreturn, gnu::cold, gnu::noinline]] static void fail(const spec& where, unsigned line,
                                                            std::initializer_list<piece> problem) {
        spec_error(where.name, line, problem);
    }

    /// Counts evaluation steps, and throws if there are too many, so that no spec can run for long. Models of 10000
    /// layers need a hundredth of this bound.
    void spend(std::size_t steps) {
        steps_ += steps;
        if (steps_ > 20'000'000) {
            spec_error(spec_.name, spec_.line,
                       {"the spec must be evaluated in at most 20000000 steps: use fewer or simpler names"});
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
    /// Subtracts the number of elements of a list, including those of nested lists, from `left`. Returns false if that
    /// number exceeds `left`.
    [[nodiscard]] static bool counts_at_most(const vector<value>& items, std::size_t& left) {
        for (const value& item : items) {
            if (left == 0 || (item.items != nullptr && !counts_at_most(*item.items, --left))) {
                return false;
            }
            left -= item.items == nullptr ? 1U : 0U;
        }
        return true;
    }

    void require_each(const spec_key& known, const config_node& node) {
        if (known.each && node.type == config_node::kind::list && node.count != number("layers")) {
            refuse(config_.field(known.key),
                   {"must have one element for each of the ", number("layers"), " layers, got ", node.count});
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

    const spec& spec_;
    fields config_;
    vector<owner<memory>> memory_;
    vector<std::string> disagreements_;
    vector<owner<vector<value>>> lists_;
    unsigned depth_ = 0;
    std::size_t steps_ = 0;
};

}  // namespace floptally::detail::specs

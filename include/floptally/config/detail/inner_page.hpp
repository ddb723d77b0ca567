// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/config/detail/classes.hpp>
#include <floptally/page_language/config_tree.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/page_language/page_library.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A model inside another one: where its config stands, the type of the page that reads it, and how it is read.

namespace floptally::detail::pages {

class scope;

/// The way in which a model that is a part of another one is read.
struct as_part {
    std::string_view suffix;                        ///< of the class whose head it has; empty: the page's first
    bool tied = false;                              ///< the outer config ties its lm_head to the embedding
    std::uint64_t layers_used = ~std::uint64_t{0};  ///< later ones run, and their result reaches no loss
    bool pooled = false;                            ///< the outer model reads this one's pooled output
    bool is_side = false;                           ///< not a part: one side of an encoder-decoder, alone
    std::size_t followed = 0;                       ///< classes on the way here that were another page's
    const scope* outer = nullptr;                   ///< the page and config of the outer model
};

/// How a class is read that is another page's. Throws where such classes lead to each other without an end.
[[nodiscard]] inline as_part as_side(const as_part* part, std::string_view suffix, const page& where, unsigned line) {
    const std::size_t followed = part == nullptr ? 0 : part->followed;
    if (followed == 8) {
        page_error(where.name, line, {"class ", suffix, " is another page's without an end"});
    }
    return {.suffix = suffix, .is_side = true, .followed = followed + 1};
}

/// The config of a model inside another one.
struct config_inside {
    const config_node* own = nullptr;  ///< null where the outer config has none
    bool beside = false;               ///< its keys stand beside the outer ones
    std::string_view type{};           ///< of its page
};

/// Finds the config of a model inside and its type. Throws where no page has that type.
[[nodiscard]] inline config_inside find_inside(library& pages, const inner_model& is, const fields& outer) {
    config_inside found{.own = outer.has_value(is.key) ? outer.find(is.key) : nullptr};
    found.beside = is.flat && found.own == nullptr;
    found.type = found.own == nullptr && !is.absent.empty() ? is.absent : is.page;
    if (is.always || found.own == nullptr) {
        return found;
    }
    const fields inside(outer.tree(), *found.own, outer.field(is.key));
    if (const config_node* named = inside.find("model_type")) {
        if (named->type != config_node::kind::text) {
            refuse(inside.field("model_type"), {"must be a string, got ", inside.shown(*named)});
        }
        found.type = named->text == is.older ? is.page : std::string_view(named->text);
        if (!pages.has(found.type)) {
            refuse(inside.field("model_type"), {"unknown type \"", found.type, "\"", pages.nearest_hint(found.type)});
        }
        const std::string side = text_of({found.type, ".", is.side});
        if (!is.side.empty() && pages.has(side)) {
            found.type = pages.find(side).name;
        }
    }
    return found;
}

/// The config of a model inside, or an empty one where there is none.
[[nodiscard]] inline fields fields_inside(const inner_model& is, const config_inside& found, const fields& outer,
                                          const config_tree& empty) {
    const config_node& object = found.own != nullptr ? *found.own : found.beside ? outer.object() : empty.root();
    return {found.own != nullptr || found.beside ? outer.tree() : empty, object,
            found.beside ? outer.path() : outer.field(is.key), is.ignores};
}

/// A class of one of the models inside, which `architectures` names in place of one of the whole: that model alone.
struct class_inside {
    const inner_model* model = nullptr;  ///< null: the class is none of theirs
    const page* read = nullptr;
    std::string_view suffix{};
};
[[nodiscard]] inline class_inside class_of_inner(library& pages, const page& whole, const fields& config) {
    const config_node* named = config.find("architectures");
    if (named == nullptr || named->type != config_node::kind::list || named->count == 0) {
        return {};
    }
    const config_node& name = config.tree().child(*named, 0);
    if (name.type != config_node::kind::text || !class_called(whole, name.text).empty()) {
        return {};
    }
    for (const inner_model* model : inner_of(whole)) {
        const page& inside = pages.find(find_inside(pages, *model, config).type, &whole, model->line);
        const std::string_view suffix = inner_of(inside).empty() ? class_called(inside, name.text) : "";
        if (!suffix.empty()) {
            return {model, &inside, suffix};
        }
    }
    return {};
}

}  // namespace floptally::detail::pages

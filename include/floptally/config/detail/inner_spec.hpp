// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/config/detail/classes.hpp>
#include <floptally/spec_language/config_tree.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/spec_language/spec_library.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Inner models: where their configs are and which specs read them.

namespace floptally::inline v0_3::detail::specs {

class scope;

/// The settings for reading a model that is part of another model.
struct as_part {
    std::string_view suffix;  ///< suffix of the class whose head is read; empty: the first class of the spec
    bool tied = false;        ///< true if the outer config ties the lm_head to the embedding
    std::uint64_t layers_used = ~std::uint64_t{0};  ///< number of layers whose results reach the loss
    bool pooled = false;                            ///< true if the outer model reads the pooled output of this model
    bool is_side = false;          ///< true: the model is read alone, so its own config says if the lm_head is tied
    std::size_t followed = 0;      ///< number of references (`as`) followed so far, to find cycles
    const scope* outer = nullptr;  ///< the spec and config of the outer model
};

/// Returns the settings to read a class that a spec defines by a reference to another spec (`as`). Throws if such
/// references form a cycle.
[[nodiscard]] inline as_part as_side(const as_part* part, std::string_view suffix, const spec& where, unsigned line) {
    const std::size_t followed = part == nullptr ? 0 : part->followed;
    if (followed == 8) {
        spec_error(where.name, line,
                   {"class ", suffix, " refers to other specs in a cycle; give one of them a class of its own"});
    }
    return {.suffix = suffix, .is_side = true, .followed = followed + 1};
}

/// The config of an inner model, within the config of the outer model.
struct config_inside {
    const config_node* own = nullptr;  ///< the object with the inner config; null: the outer config has none
    bool is_flat = false;              ///< true if the keys of the inner model are mixed with the outer keys
    std::string_view type{};           ///< model type of the inner model's spec
};

/// Finds the config and the model type of an inner model. Throws if no spec has that type.
[[nodiscard]] inline config_inside find_inside(library& specs, const inner_model& inner, const fields& outer) {
    config_inside found{.own = outer.has_value(inner.key) ? outer.find(inner.key) : nullptr};
    found.is_flat = inner.flat && found.own == nullptr;
    found.type = found.own == nullptr && !inner.absent.empty() ? inner.absent : inner.spec;
    if (inner.always || found.own == nullptr) {
        return found;
    }
    const fields inside(outer.tree(), *found.own, outer.field(inner.key));
    if (const config_node* named = inside.find("model_type")) {
        if (named->type != config_node::kind::text) {
            refuse(inside.field("model_type"), {"must be a string, got ", inside.shown(*named)});
        }
        found.type = named->text == inner.older ? inner.spec : std::string_view(named->text);
        if (!specs.has(found.type)) {
            refuse(inside.field("model_type"), {"unknown type \"", found.type, "\"", specs.nearest_hint(found.type)});
        }
        const std::string side = text_of({found.type, ".", inner.side});
        if (!inner.side.empty() && specs.has(side)) {
            found.type = specs.find(side).name;
        }
    }
    return found;
}

/// Returns the config of an inner model, or an empty config if the outer config has none.
[[nodiscard]] inline fields fields_inside(const inner_model& inner, const config_inside& found, const fields& outer,
                                          const config_tree& empty) {
    const config_node& object = found.own != nullptr ? *found.own : found.is_flat ? outer.object() : empty.root();
    return {found.own != nullptr || found.is_flat ? outer.tree() : empty, object,
            found.is_flat ? outer.path() : outer.field(inner.key), inner.ignores};
}

/// The inner model whose class is named in `architectures`. The config is then read as a config of that inner model
/// alone.
struct class_inside {
    const inner_model* model = nullptr;  ///< null: no inner model has the class
    const spec* read = nullptr;
    std::string_view suffix{};
};
[[nodiscard]] inline class_inside class_of_inner(library& specs, const spec& whole, const fields& config) {
    const config_node* named = config.find("architectures");
    if (named == nullptr || named->type != config_node::kind::list || named->count == 0) {
        return {};
    }
    const config_node& name = config.tree().child(*named, 0);
    if (name.type != config_node::kind::text || !class_called(whole, name.text).empty()) {
        return {};
    }
    for (const inner_model* model : inner_of(whole)) {
        const spec& inside = specs.find(find_inside(specs, *model, config).type, &whole, model->line);
        const std::string_view suffix = inner_of(inside).empty() ? class_called(inside, name.text) : "";
        if (!suffix.empty()) {
            return {model, &inside, suffix};
        }
    }
    return {};
}

}  // namespace floptally::detail::specs

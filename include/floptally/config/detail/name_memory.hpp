// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/config/detail/evaluation.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/page_language/page.hpp>

/// @file
/// Values of a page's names, each evaluated when first asked for: once, or once a layer where it looks at `i`.

namespace floptally::detail::pages {

inline value scope::evaluate(const page& where, std::size_t index) { return evaluation(*this, where).of(index); }

inline value scope::named(std::string_view name) {
    spend(memory_.size() / 16);  // the search
    memory* known = nullptr;
    for (const owner<memory>& remembered : memory_) {
        if (remembered->name == name) {
            known = remembered.get();
        }
    }
    if (known != nullptr && known->known && (!known->varies || known->layer == layer)) {
        varies = varies || known->varies;
        return known->worth;
    }
    const found_definition found = find_definition(name);
    if (found.entry == nullptr) {
        page_error(page_.name, page_.line, {"defines no \"", name, "\""});
    }
    if (known == nullptr) {
        known = memory_.push_back(owner(new memory{.name = found.entry->name, .worth = {}})).get();
    }
    if (known->active) {
        page_error(found.where->name, found.entry->line, {"\"", name, "\" is defined by itself"});
    }
    const bool outer = varies;
    varies = false;
    known->active = true;
    known->worth = evaluate(*found.where, found.entry->value);
    known->active = false;
    known->known = true;
    known->varies = varies;
    known->layer = layer;
    varies = varies || outer;
    return known->worth;
}

}  // namespace floptally::detail::pages

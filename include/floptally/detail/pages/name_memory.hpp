// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/detail/pages/evaluation.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/scope.hpp>
#include <floptally/detail/pages/value.hpp>

/// @file
/// Names of a page are evaluated when they are first asked for, once, or once a layer where they ask for `i`.

namespace floptally::detail::pages {

inline value scope::evaluate(const page& where, std::size_t index) { return evaluation(*this, where).of(index); }

inline value scope::named(std::string_view name) {
    spend(memory_.size() / 16);  // the search
    memory* known = nullptr;
    for (memory* one : memory_) {
        if (one->name == name) {
            known = one;
        }
    }
    if (known != nullptr && known->known && (!known->varies || known->layer == layer)) {
        varies = varies || known->varies;
        return known->is;
    }
    const found_definition found = find_definition(name);
    if (found.is == nullptr) {
        page_error(page_.name, page_.line, {"defines no \"", name, "\""});
    }
    if (known == nullptr) {
        known = &memory_.add({.name = found.is->name, .is = {}});
    }
    if (known->active) {
        page_error(found.where->name, found.is->line, {"\"", name, "\" is defined by itself"});
    }
    const bool outer = varies;
    varies = false;
    known->active = true;
    known->is = evaluate(*found.where, found.is->value);
    known->active = false;
    known->known = true;
    known->varies = varies;
    known->layer = layer;
    varies = varies || outer;
    return known->is;
}

}  // namespace floptally::detail::pages

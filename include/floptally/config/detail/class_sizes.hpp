// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/scope.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Names of the sizes that a config leaves to its class, whose default may be another model's.

namespace floptally::detail::pages {

/// Adds the keys of `.a // .b`; adds none where the expression is anything else.
inline void keys_of(const page& where, std::size_t index, vector<std::string_view>& keys) {
    const expression& e = where.expressions[index];
    if (e.what == op::key) {
        keys.push_back(e.text);
    } else if (e.what == op::or_absent) {
        keys_of(where, where.operands[e.first], keys);
        keys_of(where, where.operands[e.first + 1], keys);
    }
}

inline constexpr std::string_view class_sizes_note = "config does not say all sizes";

/// Notes the sizes that were counted and that the config does not give.
inline void note_class_sizes(scope& in, std::vector<std::string>& notes) {
    std::string sizes;
    for (const char* const name : {"h", "layers", "heads", "f", "v"}) {
        if (!in.was_asked(name)) {
            continue;
        }
        const scope::found_definition found = in.find_definition(name);
        vector<std::string_view> keys;
        keys_of(*found.where, found.entry->value, keys);
        const bool is_said = std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
            bool unread = false;
            static_cast<void>(in.find_key(key, &unread));
            return unread || in.config().find(key) != nullptr;
        });
        if (keys.empty() || is_said) {
            continue;
        }
        append(sizes, {sizes.empty() ? "" : ", ", in.config().field(keys.front()), " ", in.shown(in.named(name))});
    }
    if (!sizes.empty()) {
        notes.push_back(text_of({class_sizes_note, ": counted with the defaults of the class, ", sizes}));
    }
}

}  // namespace floptally::detail::pages

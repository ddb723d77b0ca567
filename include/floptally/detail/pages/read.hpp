// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/class_sizes.hpp>
#include <floptally/detail/pages/composite_reader.hpp>
#include <floptally/detail/pages/config_tree.hpp>
#include <floptally/detail/pages/fields.hpp>
#include <floptally/detail/pages/library.hpp>
#include <floptally/detail/pages/model_reader.hpp>
#include <floptally/detail/pages/unread.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail::pages {

/// Three lines: the nearest types, or the text inside that can be read alone, and the ways out.
[[noreturn, gnu::cold, gnu::noinline]] inline void unknown_type(library& pages, const fields& config,
                                                                std::string_view type) {
    std::string hint = pages.nearest_hint(type);
    for (const char* const key : {"text_config", "thinker_config.text_config"}) {
        const config_node* inside = config.find(std::string(key) + ".model_type");
        if (inside != nullptr && pages.has(inside->text)) {
            hint = "; its " + std::string(key) + " alone can be read: " + inside->text;
        }
    }
    refuse(config.field("model_type"),
           {"unknown type \"", type, "\"", hint,
            "\n  `floptally models` lists the known types; a page of your own (docs/pages.md) or floptally's format\n",
            "  (docs/config_format.md) says what any other multiplies, and floptally.from_torch counts a module"});
}

/// Pages that were given, and none of which read anything: they would change nothing without a word.
inline void note_unused(const array_of<const page*>& given, const library& pages, const fields& config,
                        std::string_view type, bool strict, std::vector<std::string>& notes) {
    const auto reads = [&](const page* one) {  // itself, or as the base of one that does
        return std::any_of(pages.loaded().begin(), pages.loaded().end(),
                           [one](const page* used) { return used->is_used && used->stands_on(*one); });
    };
    if (given.empty() || std::any_of(given.begin(), given.end(), reads)) {
        return;
    }
    const std::string what = "no page that was given is of type \"" + std::string(type) + "\": the first is \"" +
                             std::string(given.front()->name) + "\"";
    if (strict) {
        refuse(config.field("model_type"), {what});
    }
    notes.push_back(what);
}

/// Reads a config by the page of its type: a user's before the library's. One without a type is read by the first page
/// that was given.
[[nodiscard]] inline model_config read_pages(const config_tree& tree, const read_options& options, library& pages) {
    const fields config(tree, tree.root(), "");
    const array_of<const page*> given = pages.given();
    const config_node* named = config.find("model_type");
    if (named != nullptr ? named->is != config_node::kind::text : given.empty()) {
        refuse("model_type", {named == nullptr ? "is missing; `floptally models` lists the known ones"
                                               : "must be a string, got " + tree.shown(*named)});
    }
    const std::string_view type = named != nullptr ? std::string_view(named->text) : given.front()->name;
    if (!pages.has(type)) {
        unknown_type(pages, config, type);
    }
    const page& read = pages.find(type);
    model_config made = inner_of(read).empty() ? model_reader(pages, read, config, options).read()
                                               : composite_reader(pages, read, config, options).read();
    for (const tower_input& one : made.towers) {
        keep_units(one, made.cost);
    }
    const other_side side = encoder_of(read);
    note_unused(given, pages, config, type, options.strict, made.notes);
    note_unread(read, side.page.empty() || !side.key.empty() ? nullptr : &pages.find(side.page), config, options.strict,
                made.notes);
    for (const std::string& note : made.notes) {
        if (options.strict && note.starts_with(class_sizes_note)) {
            refuse("config", {note});
        }
    }
    return made;
}

}  // namespace floptally::detail::pages

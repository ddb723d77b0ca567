// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/class_sizes.hpp>
#include <floptally/config/detail/composite_reader.hpp>
#include <floptally/config/detail/hstu_reader.hpp>
#include <floptally/config/detail/model_reader.hpp>
#include <floptally/config/detail/pipeline.hpp>
#include <floptally/config/detail/unread.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/config_tree.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/page_library.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// The key that names a config's type: transformers' `model_type`, or the class of a file of diffusers.
[[nodiscard]] inline const char* type_key(const fields& config) {
    return config.find("model_type") == nullptr && config.find("_class_name") != nullptr ? "_class_name" : "model_type";
}

/// Throws for the model_index.json of a pipeline of diffusers, which is read by the folder that it stands in.
[[gnu::cold, gnu::noinline]] inline void refuse_pipeline(const fields& config) {
    const pipeline whole(config.tree());
    if (whole.is_one()) {
        refuse(config.field("_class_name"),
               {"\"", whole.type(), "\" is a pipeline; read its folder, or its parts one by one: ", whole.listed()});
    }
}

/// Throws for an unknown type, in three lines: the nearest types or the text inside that can be read alone, and the
/// ways out.
[[noreturn, gnu::cold, gnu::noinline]] inline void unknown_type(library& pages, const fields& config,
                                                                std::string_view type, const char* key) {
    std::string hint = pages.nearest_hint(type);
    for (const char* const text : {"text_config", "thinker_config.text_config"}) {
        const config_node* inside = config.find(text_of({text, ".model_type"}));
        if (inside != nullptr && pages.has(inside->text)) {
            hint = text_of({"; its ", text, " alone can be read: ", inside->text});
        }
    }
    refuse(config.field(key),
           {"unknown type \"", type, "\"", hint,
            "\n  `floptally models` lists the known types; a page of your own or floptally's format (docs/pages.md)\n",
            "  says what any other multiplies, and floptally.from_torch counts a module"});
}

/// Notes given pages that read nothing: they would otherwise change nothing silently.
inline void note_unused(const vector<const page*>& given, const library& pages, const fields& config,
                        std::string_view type, bool strict, std::vector<std::string>& notes) {
    const auto reads = [&](const page* known) {  // itself, or as the base of one that does
        return std::any_of(pages.loaded().begin(), pages.loaded().end(),
                           [known](const owner<page>& used) { return used->is_used && used->stands_on(*known); });
    };
    if (given.empty() || std::any_of(given.begin(), given.end(), reads)) {
        return;
    }
    const std::string what =
        text_of({"no page that was given is of type \"", type, "\": the first is \"", given.front()->name, "\""});
    if (strict) {
        refuse(config.field("model_type"), {what});
    }
    notes.push_back(what);
}

/// A model read from a config by the page of its type: a user's before the library's. A config without a type is read
/// by the first page that was given.
[[nodiscard]] inline model_config read_pages(const config_tree& tree, const read_options& options, library& pages) {
    const fields config(tree, tree.root(), "");
    const vector<const page*> given = pages.given();
    const char* const key = type_key(config);
    const config_node* named = config.find(key);
    if (named != nullptr ? named->type != config_node::kind::text : given.empty()) {
        refuse(key, {named == nullptr ? "is missing; `floptally models` lists the known ones"
                                      : "must be a string, got " + tree.shown(*named)});
    }
    const std::string_view type = named != nullptr ? std::string_view(named->text) : given.front()->name;
    if (!pages.has(type)) {
        refuse_pipeline(config);
        unknown_type(pages, config, type, key);
    }
    const page& read = pages.find(type);
    model_config made = hstu_reader::reads(read) ? hstu_reader(pages, read, config, options).read()
                        : inner_of(read).empty() ? model_reader(pages, read, config, options).read()
                                                 : composite_reader(pages, read, config, options).read();
    for (const tower_input& input : made.towers) {
        keep_units(input, made.cost);
    }
    note_unused(given, pages, config, type, options.strict, made.notes);
    if (!hstu_reader::reads(read)) {  // which refuses such a key
        key_check(pages, options.strict, made.notes).check(read, config);
    }
    for (const std::string& note : made.notes) {
        if (options.strict && note.starts_with(class_sizes_note)) {
            refuse("config", {note});
        }
    }
    return made;
}

}  // namespace floptally::detail::pages

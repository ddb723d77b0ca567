// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/config_fields.hpp>
#include <floptally/error.hpp>

namespace floptally::detail {

/// Files that are older than the class in transformers spell it "MPTForCausalLM", "Ernie4_5_ForCausalLM".
[[nodiscard]] inline bool is_spelling_of(const std::string& full, const json& name) {
    const auto letters = [](std::string_view text) {
        std::string plain;
        for (const char c : text) {
            if (c != '_') {
                plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            }
        }
        return plain;
    };
    return name.is_string() && letters(name.get<std::string>()) == letters(full);
}

/// The class that `architectures` names, of those whose names are prefix + suffix: an element of `classes`, each of
/// which has a `suffix`. The first where the config names none, which is noted.
template <class Class>
[[nodiscard]] const Class& find_class(const config_fields& config, std::string_view model_type,
                                      std::string_view class_prefix, std::span<const Class> classes,
                                      std::vector<std::string>& notes) {
    const std::string prefix{class_prefix};
    const json* named = config.array("architectures");
    if (named == nullptr || named->empty()) {
        const Class& usual = classes.front();
        notes.push_back("config names no architectures: counted with the head of " + prefix +
                        std::string(usual.suffix));
        return usual;
    }
    const std::string field = indexed(config.field("architectures"), 0);
    const json& name = named->front();
    std::string known;
    for (const Class& candidate : classes) {
        const std::string full = prefix + std::string(candidate.suffix);
        if (is_spelling_of(full, name)) {
            return candidate;
        }
        append_item(known, full);
    }
    throw error(field,
                "unknown class " + shown(name) + " for model_type " + std::string(model_type) + "; known: " + known);
}

}  // namespace floptally::detail

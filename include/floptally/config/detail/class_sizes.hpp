// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/key_words.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Adds a note about the sizes that a config omits. The defaults of the model class are used for them, but the model
/// may have other sizes.

namespace floptally::inline v0_3::detail::specs {

/// Adds the keys of an expression `.a // .b` to `keys`. Adds no key for any other expression.
inline void keys_of(const spec& where, std::size_t index, vector<std::string_view>& keys) {
    const expression& e = where.expressions[index];
    if (e.operation == op::key) {
        keys.push_back(e.text);
    } else if (e.operation == op::or_absent) {
        keys_of(where, where.operands[e.first], keys);
        keys_of(where, where.operands[e.first + 1], keys);
    }
}

/// Collects the sizes and the lists of layer kinds that a config omits, so that the defaults of the model class are
/// used. `note` writes all of them into one note.
class class_sizes {
  public:
    /// Adds the omitted sizes of one model. A key counts as present if the outer config has it and the outer spec reads
    /// it.
    void add(scope& in, const scope* outer) {
        for (const char* const name : {"h", "layers", "heads", "f", "v"}) {
            if (!in.was_asked(name)) {
                continue;
            }
            const scope::found_definition found = in.find_definition(name);
            vector<std::string_view> keys;
            keys_of(*found.where, found.entry->value, keys);
            const auto is_said = [&](std::string_view key) { return !is_silent_default(in, outer, key); };
            if (!keys.empty() && std::none_of(keys.begin(), keys.end(), is_said)) {
                add(in.config().field(keys.front()), in.shown(in.named(name)));
            }
            for (const std::string_view key : keys) {
                fields_.push_back(in.config().field(key));
            }
        }
        // The loop uses an index, because evaluating a default may append to `asked`.
        for (std::size_t k = 0; k < in.model_spec().asked.size(); ++k) {
            const asked_key known = in.model_spec().asked[k];
            if (known.by_default && is_silent_default(in, outer, known.key) && says_layers(in, known.key)) {
                add(in.config().field(known.key), in.shown(in.otherwise(known.key)));
            }
        }
    }

    void note(std::vector<std::string>& notes) const {
        if (!text_.empty()) {
            notes.push_back(text_of({class_sizes_note, ": counted with the defaults of the class, ", text_}));
        }
    }

  private:
    void add(const std::string& field, const std::string& size) {
        if (std::find(fields_.begin(), fields_.end(), field) == fields_.end()) {
            fields_.push_back(field);
            append(text_, {text_.empty() ? "" : ", ", field, " ", size});
        }
    }
    /// Returns true if a key is absent and the spec does not mark it as often omitted (`unsaid`).
    [[nodiscard]] static bool is_silent_default(const scope& in, const scope* outer, std::string_view key) {
        bool unread = false;
        const spec_key* declared = in.find_key(key, &unread);
        return !unread && (declared == nullptr || !declared->unsaid) && in.config().find(key) == nullptr &&
               (outer == nullptr || outer->find_key(key) == nullptr || !outer->config().has_value(key));
    }
    /// Returns true if the default of a key says something about the layers: it is a size, a list, or a text that lists
    /// the kinds of the layers.
    [[nodiscard]] static bool says_layers(scope& in, std::string_view key) {
        const value worth = in.otherwise(key);
        return worth.type == value::kind::number ? !is_usual_size(key, worth.number)
               : worth.type == value::kind::text ? names_layers(key)
                                                 : worth.type == value::kind::list && worth.size() != 0;
    }

    vector<std::string> fields_;
    std::string text_;
};

/// Adds a note for each size that the config contains under two keys with different values.
inline void note_names(const scope& in, std::vector<std::string>& notes) {
    for (const std::string& text : in.disagreements()) {
        std::string note = text_of({names_note, text});
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
            notes.push_back(std::move(note));
        }
    }
}

/// Adds notes for a model and its encoder side: about sizes that the config omits, and about sizes that it contains
/// under two keys with different values.
inline void note_class_sizes(scope& in, const scope* outer, scope* encoder, std::vector<std::string>& notes) {
    class_sizes sizes;
    sizes.add(in, outer);
    if (encoder != nullptr) {
        sizes.add(*encoder, nullptr);
    }
    sizes.note(notes);
    note_names(in, notes);
    if (encoder != nullptr) {
        note_names(*encoder, notes);
    }
}

}  // namespace floptally::detail::specs

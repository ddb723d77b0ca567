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
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/fields.hpp>
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

/// The sizes, patterns and lists of layers that were counted and that a config does not give, as one note.
class class_sizes {
  public:
    /// Adds those of a model. One that the config around it gives, which that one's page reads, is given: it is
    /// compared there.
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
        for (std::size_t k = 0; k < in.of().asked.size(); ++k) {  // which grows while defaults are evaluated
            const asked_key known = in.of().asked[k];
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
    /// True where a key counts by its default and nothing says that it may.
    [[nodiscard]] static bool is_silent_default(const scope& in, const scope* outer, std::string_view key) {
        bool unread = false;
        const page_key* rule = in.find_key(key, &unread);
        return !unread && (rule == nullptr || !rule->unsaid) && in.config().find(key) == nullptr &&
               (outer == nullptr || outer->find_key(key) == nullptr || !outer->config().has_value(key));
    }
    /// True where the default of a key is a size, a list, or the kinds of the layers as a text.
    [[nodiscard]] static bool says_layers(scope& in, std::string_view key) {
        const value worth = in.otherwise(key);
        return worth.type == value::kind::number ? !is_usual_size(key, worth.number)
               : worth.type == value::kind::text ? names_layers(key)
                                                 : worth.type == value::kind::list && worth.size() != 0;
    }

    vector<std::string> fields_;
    std::string text_;
};

/// Notes the sizes of a model and of the encoder beside it that its config leaves to the class.
inline void note_class_sizes(scope& in, const scope* outer, scope* encoder, std::vector<std::string>& notes) {
    class_sizes sizes;
    sizes.add(in, outer);
    if (encoder != nullptr) {
        sizes.add(*encoder, nullptr);
    }
    sizes.note(notes);
}

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/config_fields.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/rule_text.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The masks of floptally's own format.

namespace floptally::detail {

/// A mask that an object of one key describes, by its number or its list of numbers.
struct mask_key {
    std::string_view name;
    const rule_parameter* parameters = nullptr;
    std::size_t count = 0;
    const rule_table* table = nullptr;  ///< null for a sliding window, which a band has a second name for
};

/// The keys of masks: every mask of the library over sequences that numbers make, by the name and the numbers of its
/// text form.
[[nodiscard]] inline std::vector<mask_key> mask_keys() {
    std::vector<mask_key> keys{{"sliding_window", mask_rules::band::sliding, 1}};
    for (const rule_table* table : tables_in(library_masks{})) {
        if (table->of_sequence && table->text_parameters != 0 && !table->is_of_other_side) {
            keys.push_back({table->name, table->parameters, table->text_parameters, table});
        }
    }
    return keys;
}
[[nodiscard]] inline std::vector<std::string_view> names_of(const std::vector<mask_key>& keys) {
    std::vector<std::string_view> names;
    names.reserve(keys.size());
    for (const mask_key& key : keys) {
        names.push_back(key.name);
    }
    return names;
}

/// The numbers of a key as errors show them: "[left, right]".
[[nodiscard]] inline std::string shown_numbers(const mask_key& key) {
    std::string list;
    for (std::size_t i = 0; i < key.count; ++i) {
        const std::string_view name = key.parameters[i].name;
        append_item(list, name.substr(name.find('.') + 1));
    }
    return text_of({"[", list, "]"});
}

/// The mask of a key: one number, or a list of as many as its text form has; those with a default may be left out at
/// its end.
[[nodiscard]] inline mask read_keyed_mask(const config_fields& kind, const mask_key& key) {
    std::int64_t numbers[most_text_parameters]{};
    const std::string field = kind.field(key.name);
    if (key.count == 1 && key.parameters[0].least >= 0) {
        numbers[0] = static_cast<std::int64_t>(kind.integer({key.name}, required,
                                                            static_cast<std::uint64_t>(key.parameters[0].least),
                                                            static_cast<std::uint64_t>(key.parameters[0].most)));
    } else {
        const config_node* given = kind.array(key.name);
        const std::size_t count = given == nullptr ? 0 : given->count;
        const bool lacks = count < key.count && key.parameters[count].fallback == rule_parameter::none;
        if (count == 0 || count > key.count || lacks) {
            refuse(field, {"must be ", shown_numbers(key), ", got ", kind.shown(*kind.find(key.name))});
        }
        for (std::size_t i = 0; i < key.count; ++i) {
            const rule_parameter& parameter = key.parameters[i];
            if (i >= count) {
                numbers[i] = parameter.fallback;
                continue;
            }
            const config_node& number = kind.tree().child(*given, i);
            if (number.type != config_node::kind::integer || number.beyond || number.number < parameter.least ||
                number.number > parameter.most) {
                refuse(indexed(field, i), {"must be an integer from ", parameter.least, " to ", parameter.most,
                                           ", got ", kind.shown(number)});
            }
            numbers[i] = number.number;
        }
    }
    if (key.table == nullptr) {
        return mask::sliding_window(numbers[0]);
    }
    try {
        return rule(*key.table, words_of(*key.table, numbers));
    } catch (const error& e) {  // numbers that contradict each other
        refuse(field, {e.what()});
    }
}

[[noreturn]] inline void refuse_mask(const config_fields& part, const std::string& got) {
    std::string keys;
    for (const std::string_view name : names_of(mask_keys())) {
        append_item(keys, name);
    }
    refuse(part.field("mask"), {"must be \"causal\", \"bidirectional\", another mask as reports name it, or an object "
                                "with one of the keys ",
                                keys, ", got ", got});
}

/// The mask of a text such as "sliding_window(4096)", the name that reports use.
[[nodiscard]] inline mask mask_of_text(const config_fields& part, const std::string& text) {
    rule made;
    try {
        made = rule_named(text);
    } catch (const error& e) {
        refuse_mask(part, text_of({"\"", text, "\" (", e.what(), ")"}));
    }
    if (made.in() != modality::text || made.is_measured()) {
        refuse(part.field("mask"), {"must be a mask over sequences, got ", made.name()});
    }
    return made;
}

/// The mask of a part, from its key "mask": causal where the part has no such key.
[[nodiscard]] inline mask read_mask(const config_fields& part) {
    const config_node* given = part.find("mask");
    if (given == nullptr) {
        return mask::causal();
    }
    if (given->type == config_node::kind::text) {
        return mask_of_text(part, given->text);
    }
    if (given->type != config_node::kind::object || given->count != 1) {
        refuse_mask(part, part.shown(*given));
    }
    const config_fields kind(part.tree(), *given, part.field("mask"));
    const std::vector<mask_key> keys = mask_keys();
    kind.allow_only(names_of(keys));
    std::size_t given_key = 0;
    while (!kind.contains(keys[given_key].name)) {
        ++given_key;
    }
    return read_keyed_mask(kind, keys[given_key]);
}

}  // namespace floptally::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/config/detail/config_fields.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/rule_text.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The masks of floptally's own format.

namespace floptally::detail {

/// A window from [left, right], the keys besides the token itself; −1 is unlimited.
[[nodiscard]] inline mask read_window(const config_fields& kind) {
    const config_node* sides = kind.array("window");
    if (sides == nullptr || sides->count != 2) {
        refuse(kind.field("window"), {"must be [left, right], got ", kind.shown(*kind.find("window"))});
    }
    std::int64_t tokens[2];
    for (std::size_t i = 0; i < 2; ++i) {
        const config_node& side = kind.tree().child(*sides, i);
        const bool fits =
            side.type == config_node::kind::integer && !side.beyond && side.number >= -1 && side.number <= 0x7FFF'FFFF;
        if (!fits) {
            refuse(indexed(kind.field("window"), i),
                   {"must be an integer from -1 to 2147483647, got ", kind.shown(side)});
        }
        tokens[i] = side.number;
    }
    return mask::window(tokens[0], tokens[1]);
}

[[noreturn]] inline void refuse_mask(const config_fields& part, const std::string& got) {
    refuse(part.field("mask"),
           {"must be \"causal\", \"bidirectional\", another mask as reports name it, or an object with one of the "
            "keys sliding_window, window, chunked, top_k, compressed_keys, prefix_lm, got ",
            got});
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
    struct mask_key {
        std::string_view key;
        mask (*make)(std::int64_t);
    };
    constexpr mask_key keys[] = {{"sliding_window", &mask::sliding_window},
                                 {"chunked", &mask::chunked},
                                 {"top_k", &mask::top_k},
                                 {"compressed_keys", &mask::compressed_keys},
                                 {"prefix_lm", &mask::prefix_lm}};
    if (given->type != config_node::kind::object || given->count != 1) {
        refuse_mask(part, part.shown(*given));
    }
    const config_fields kind(part.tree(), *given, part.field("mask"));
    kind.allow_only({"sliding_window", "window", "chunked", "top_k", "compressed_keys", "prefix_lm"});
    for (const mask_key& known : keys) {
        if (kind.contains(known.key)) {
            return known.make(static_cast<std::int64_t>(kind.integer({known.key}, required, 1, 0x7FFF'FFFF)));
        }
    }
    return read_window(kind);
}

}  // namespace floptally::detail

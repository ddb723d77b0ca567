// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/scope.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/expression_parser.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Classes of an implementation: a page's prefix and the rest of a name, as `architectures` spells it.

namespace floptally::detail::pages {

/// A text in lower case without `_`: files that are older than their class in transformers spell it "MPTForCausalLM".
[[nodiscard]] inline std::string plain_letters(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        if (c != '_') {
            plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return plain;
}

/// The classes of a page, or of the nearest base that has some. Throws where none has.
[[nodiscard]] inline const vector<std::string_view>& classes_of(const page& read) {
    const page* p = &read;
    while (p->classes.empty() && p->base != nullptr) {
        p = p->base;
    }
    if (p->classes.empty()) {
        page_error(read.name, read.line, {"has no class, and its base has none"});
    }
    return p->classes;
}

/// The prefix of a page's classes, or that of the nearest base that has one.
[[nodiscard]] inline std::string_view prefix_of(const page& read) {
    const page* p = &read;
    while (p->prefix.empty() && p->base != nullptr) {
        p = p->base;
    }
    return p->prefix;
}

/// The class of a page that a name is, without its prefix; empty: none. "NV" before a class is the same class on
/// kernels of Transformer Engine, as BioNeMo's recipes spell it.
[[nodiscard]] inline std::string_view class_called(const page& read, std::string_view name) {
    const std::string spelled = plain_letters(name);
    for (const std::string_view word : classes_of(read)) {
        const std::string full = text_of({prefix_of(read), word});
        if (spelled == plain_letters(full) || spelled == plain_letters(text_of({"NV", full}))) {
            return word;
        }
    }
    return {};
}

/// The class that `architectures` names; where it names none, the first of the page, which is noted.
[[nodiscard]] inline std::string_view find_class(const scope& in, std::vector<std::string>& notes) {
    const vector<std::string_view>& classes = classes_of(in.of());
    const std::string_view prefix = prefix_of(in.of());
    const config_node* named = in.config().find("architectures");
    if (named != nullptr && named->type != config_node::kind::null && named->type != config_node::kind::list) {
        refuse(in.config().field("architectures"), {"must be a list, got ", in.config().shown(*named)});
    }
    if (named == nullptr && in.config().find("_class_name") != nullptr) {
        return classes.front();  // a file of diffusers: its class is its type
    }
    if (named == nullptr || named->count == 0) {
        notes.push_back(text_of({"config names no architectures: counted with the head of ", prefix, classes.front()}));
        return classes.front();
    }
    const config_node& name = in.config().tree().child(*named, 0);
    const std::string_view found = name.type == config_node::kind::text ? class_called(in.of(), name.text) : "";
    if (!found.empty()) {
        return found;
    }
    std::string known;
    for (const std::string_view word : classes) {
        append_item(known, text_of({prefix, word}));
    }
    refuse(indexed(in.config().field("architectures"), 0),
           {"unknown class ", in.config().shown(name), " for model_type ", in.of().type(), "; known: ", known});
}

/// The text of a note or of an error with each expression in braces, "{h}" or "{text.h}", replaced by its value.
[[nodiscard]] inline std::string filled_in(scope& in, const page& where, unsigned line, std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        out += text.substr(0, open);
        if (open == std::string_view::npos) {
            break;
        }
        const std::size_t close = text.find('}', open);
        if (close == std::string_view::npos) {
            page_error(where.name, line, {"a { without its }"});
        }
        page said;
        lexer from(where.name, text.substr(open + 1, close - open - 1), line);
        const std::size_t index = expression_parser(said, from).read();
        const value item = in.evaluate(said, index);
        append(out, {item.type == value::kind::text ? std::string(item.text) : in.shown(item)});
        text.remove_prefix(close + 1);
    }
    return out;
}

/// The checker of the conditions of a page and its bases, the oldest first: the notes that a count adds and the configs
/// that it refuses. A `require` that looks at `i` must hold in every layer.
class condition_checker {
  public:
    condition_checker(scope& in, std::vector<std::string>& notes) : in_(in), notes_(notes) {}

    void check(const page& read) {
        if (read.base != nullptr) {
            check(*read.base);
        }
        for (const page_condition& condition : read.conditions) {
            in_.varies = false;
            in_.layer = 0;
            check(read, condition);
            const std::uint64_t layers = in_.varies ? in_.number("layers") : 1;
            for (in_.layer = 1; layers > in_.layer && 10'000 > in_.layer && !condition.is_note; ++in_.layer) {
                check(read, condition);
            }
            in_.layer = 0;
        }
    }

  private:
    void check(const page& where, const page_condition& condition) {
        const value holds = in_.evaluate(where, condition.holds);
        if (!holds.is_whole() && !holds.is_none()) {
            page_error(where.name, condition.line, {"expected yes or no, got ", in_.shown(holds)});
        }
        if (condition.is_note && holds.on()) {
            notes_.push_back(filled_in(in_, where, condition.line, condition.text));
        }
        if (!condition.is_note && !holds.on()) {
            refuse_broken(where, condition);
        }
    }

    /// Throws for a `require` that does not hold. The error names the key as the config spells it, the element of the
    /// layer where it is a list, and the given value; for a key that is absent, the default that breaks it.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse_broken(const page& where, const page_condition& condition) {
        const bool in_layer = in_.varies;
        const std::string_view key = spelled(condition.key);
        std::string field = in_.config().field(key);
        std::string what = filled_in(in_, where, condition.line, condition.text);
        constexpr std::string_view unsupported = "is not supported";
        if (what == unsupported || what.starts_with("is not supported;")) {
            what.insert(unsupported.size(), text_of({" for model_type ", in_.of().type()}));
        }
        const config_node* given = in_.config().find(key);
        if (given != nullptr && in_layer && given->type == config_node::kind::list &&
            given->count == in_.number("layers")) {
            given = &in_.config().tree().child(*given, static_cast<std::size_t>(in_.layer));
            field = indexed(field, static_cast<std::size_t>(in_.layer));
        }
        if (given == nullptr && what.starts_with("is missing")) {
            refuse(field, {what});
        }
        refuse(field,
               {what, given != nullptr ? ", got " : "", given != nullptr ? in_.config().shown(*given) : in_.got(key)});
    }

    /// The spelling of a key in the config, where a page reads `.num_attention_heads // .n_head`.
    [[nodiscard]] std::string_view spelled(std::string_view key) const {
        for (const page* p = &in_.of(); p != nullptr && in_.config().find(key) == nullptr; p = p->base) {
            for (const expression& node : p->expressions) {
                vector<std::string_view> names;
                names_of(*p, node, names);
                if (std::find(names.begin(), names.end(), key) == names.end()) {
                    continue;
                }
                for (const std::string_view name : names) {
                    if (in_.config().find(name) != nullptr) {
                        return name;
                    }
                }
            }
        }
        return key;
    }
    static void names_of(const page& read, const expression& operand, vector<std::string_view>& names) {
        if (operand.what == op::key) {
            names.push_back(operand.text);
        }
        for (std::size_t k = 0; operand.what == op::or_absent && k < operand.count; ++k) {
            names_of(read, read.expressions[read.operands[operand.first + k]], names);
        }
    }

    scope& in_;
    std::vector<std::string>& notes_;
};

}  // namespace floptally::detail::pages

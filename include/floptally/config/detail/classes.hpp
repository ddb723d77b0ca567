// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/scope.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/expression_parser.hpp>
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Classes of a model type. A class name in `architectures` ("LlamaForCausalLM") consists of the prefix of the spec
/// ("Llama") and a suffix ("ForCausalLM").

namespace floptally::inline v0_3::detail::specs {

/// Returns a text in lower case without `_`. Old files spell a class in another case ("MPTForCausalLM").
[[nodiscard]] inline std::string plain_letters(std::string_view text) {
    std::string plain;
    for (const char c : text) {
        if (c != '_') {
            plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return plain;
}

/// Returns the class suffixes that a spec declares. If it declares none, returns those of the nearest base spec that
/// declares some. Throws if no base declares any.
[[nodiscard]] inline const vector<std::string_view>& classes_of(const spec& read) {
    const spec* p = &read;
    while (p->classes.empty() && p->base != nullptr) {
        p = p->base;
    }
    if (p->classes.empty()) {
        spec_error(
            read.name, read.line,
            {"neither the spec nor a base has a class: add a line such as `class ForCausalLM: head out v, words`"});
    }
    return p->classes;
}

/// Returns the spec itself if it declares a class prefix, otherwise its nearest base that declares one.
[[nodiscard]] inline const spec& with_prefix(const spec& read) {
    const spec* p = &read;
    while (p->prefix.empty() && p->base != nullptr) {
        p = p->base;
    }
    return *p;
}

/// Returns the class prefix of a spec. A spec without a prefix has the prefix of its nearest base.
[[nodiscard]] inline std::string_view prefix_of(const spec& read) { return with_prefix(read).prefix; }

/// Returns true if a class is available although the spec does not declare it. Trainers derive such classes (a reward
/// model, for example) from any model with an lm_head. The blocks of these classes are in the specs `base.decoder` and
/// `base.composite`.
[[nodiscard]] inline bool is_made_of(const spec& read, std::string_view suffix) {
    const vector<std::string_view>& classes = classes_of(read);
    for (const spec* p = &read; p != nullptr; p = p->base) {
        for (const block& known : p->blocks) {
            if (known.is_class && known.name == suffix) {
                const std::string_view source = p->name == "base.decoder"     ? "ForCausalLM"
                                                : p->name == "base.composite" ? "ForConditionalGeneration"
                                                                              : "";
                return std::find(classes.begin(), classes.end(), source) != classes.end();
            }
        }
    }
    return false;
}

/// Returns the suffix of the class name `name`, or an empty text if the spec has no such class. "NV" before a class
/// name means the same class on Transformer Engine kernels (BioNeMo's recipes).
[[nodiscard]] inline std::string_view class_called(const spec& read, std::string_view name) {
    const std::string spelled = plain_letters(name);
    const auto is_class = [&spelled](std::string_view prefix, std::string_view word) {
        const std::string full = text_of({prefix, word});
        return spelled == plain_letters(full) || spelled == plain_letters(text_of({"NV", full}));
    };
    const spec& named = with_prefix(read);
    const auto is_called = [&](std::string_view word) {
        return is_class(named.prefix, word) ||
               std::any_of(named.other_prefixes.begin(), named.other_prefixes.end(),
                           [&](std::string_view prefix) { return is_class(prefix, word); });
    };
    for (const std::string_view word : classes_of(read)) {
        if (is_called(word)) {
            return word;
        }
    }
    for (const char* const word : {"ForSequenceClassification", "ForTokenClassification"}) {
        if (is_called(word) && is_made_of(read, word)) {
            return word;
        }
    }
    return {};
}

/// Returns the suffix of the class that `architectures` names. If `architectures` names no class, returns the first
/// class of the spec and adds a note.
[[nodiscard]] inline std::string_view find_class(const scope& in, std::vector<std::string>& notes) {
    const vector<std::string_view>& classes = classes_of(in.model_spec());
    const std::string_view prefix = prefix_of(in.model_spec());
    const config_node* named = in.config().find("architectures");
    if (named != nullptr && named->type != config_node::kind::null && named->type != config_node::kind::list) {
        refuse(in.config().field("architectures"), {"must be a list, got ", in.config().shown(*named)});
    }
    if (named == nullptr && in.config().find("_class_name") != nullptr) {
        return classes.front();  // A config of diffusers has its type in `_class_name` and names no class.
    }
    if (named == nullptr || named->count == 0) {
        notes.push_back(text_of({head_note, ": counted with the head of ", prefix, classes.front()}));
        return classes.front();
    }
    const config_node& name = in.config().tree().child(*named, 0);
    const std::string_view found = name.type == config_node::kind::text ? class_called(in.model_spec(), name.text) : "";
    if (!found.empty()) {
        return found;
    }
    std::string known;
    for (const std::string_view word : classes) {
        append_item(known, text_of({prefix, word}));
    }
    refuse(indexed(in.config().field("architectures"), 0),
           {"unknown class ", in.config().shown(name), " for model_type ", in.model_spec().type(), "; known: ", known});
}

/// Returns the text of a note or error with the value of each expression in braces ("{h}", "{text.h}") filled in.
[[nodiscard]] inline std::string filled_in(scope& in, const spec& where, unsigned line, std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        out += text.substr(0, open);
        if (open == std::string_view::npos) {
            break;
        }
        const std::size_t close = text.find('}', open);
        if (close == std::string_view::npos) {
            spec_error(where.name, line, {"{ has no } after it: close it"});
        }
        spec parsed;
        lexer from(where.name, text.substr(open + 1, close - open - 1), line);
        const std::size_t index = expression_parser(parsed, from).read();
        const value item = in.evaluate(parsed, index);
        append(out, {item.type == value::kind::text ? std::string(item.text) : in.shown(item)});
        text.remove_prefix(close + 1);
    }
    return out;
}

/// Checks the `note` and `require` lines of a spec and its bases, the first base first. Adds notes and throws for
/// configs that a `require` forbids. A `require` that reads the layer index `i` must hold in every layer.
class condition_checker {
  public:
    condition_checker(scope& in, std::vector<std::string>& notes) : in_(in), notes_(notes) {}

    void check(const spec& read) {
        if (read.base != nullptr) {
            check(*read.base);
        }
        for (const spec_condition& condition : read.conditions) {
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
    void check(const spec& where, const spec_condition& condition) {
        const value holds = in_.evaluate(where, condition.holds);
        if (!holds.is_whole() && !holds.is_none()) {
            spec_error(where.name, condition.line, {"the condition must be yes or no, got ", in_.shown(holds)});
        }
        if (condition.is_note && holds.on()) {
            notes_.push_back(filled_in(in_, where, condition.line, condition.text));
        }
        if (!condition.is_note && !holds.on()) {
            refuse_broken(where, condition);
        }
    }

    /// Throws for a `require` that does not hold. The error shows the key in the config's spelling, and the key's value
    /// (if the key is absent, its default). If the key is a list, the error also has the index of the layer.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse_broken(const spec& where, const spec_condition& condition) {
        const bool in_layer = in_.varies;
        const std::string_view key = spelled(condition.key);
        std::string field = in_.config().field(key);
        std::string problem = filled_in(in_, where, condition.line, condition.text);
        constexpr std::string_view unsupported = "is not supported";
        if (problem == unsupported || problem.starts_with("is not supported;")) {
            problem.insert(unsupported.size(), text_of({" for model_type ", in_.model_spec().type()}));
        }
        const config_node* node = in_.config().find(key);
        if (node != nullptr && in_layer && node->type == config_node::kind::list &&
            node->count == in_.number("layers")) {
            node = &in_.config().tree().child(*node, in_.layer);
            field = indexed(field, in_.layer);
        }
        if (node == nullptr && problem.starts_with("is missing")) {
            refuse(field, {problem});
        }
        refuse(field,
               {problem, node != nullptr ? ", got " : "", node != nullptr ? in_.config().shown(*node) : in_.got(key)});
    }

    /// Returns the spelling of a key that the config uses, if the spec reads alternatives: `.num_attention_heads //
    /// .n_head`.
    [[nodiscard]] std::string_view spelled(std::string_view key) const {
        for (const spec* p = &in_.model_spec(); p != nullptr && in_.config().find(key) == nullptr; p = p->base) {
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
    static void names_of(const spec& read, const expression& operand, vector<std::string_view>& names) {
        if (operand.operation == op::key) {
            names.push_back(operand.text);
        }
        for (std::size_t k = 0; operand.operation == op::or_absent && k < operand.count; ++k) {
            names_of(read, read.expressions[read.operands[operand.first + k]], names);
        }
    }

    scope& in_;
    std::vector<std::string>& notes_;
};

}  // namespace floptally::detail::specs

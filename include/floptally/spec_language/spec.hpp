// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/lists/vector.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A parsed spec. It stores no copy of the parsed text, but points into it. So keep the text for as long as the parsed
/// spec is used.

namespace floptally::inline v0_3::detail::specs {

enum class op : std::uint8_t {
    number,
    real,
    text,
    flag,
    null,
    list,
    key,     ///< reads a key of the config, such as `.hidden_size`
    name,    ///< reads a definition of the spec, such as `heads`, or the layer index `i`
    member,  ///< reads a definition of an inner model, such as `vision.heads`
    call,
    index,
    negate,
    inverse,  ///< the operator `not`
    both,     ///< the operator `and`
    either,   ///< the operator `or`
    equal,
    differs,
    less,
    at_most,
    more,
    at_least,
    has,
    begins,
    ends,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    choose,     ///< the conditional `c ? a : b`
    or_absent,  ///< `a // b`: a, or b if the config lacks the key a
    or_null     ///< `a ?? b`: a, or b if a is null
};

/// One node of an expression. Its operands are the nodes `spec::expressions[spec::operands[k]]` for k from `first` to
/// `first + count - 1`.
struct expression {
    op operation = op::null;
    unsigned line = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    std::int64_t number = 0;
    double real = 0;
    std::string_view text{};
};

inline constexpr std::size_t no_expression = ~std::size_t{0};

struct definition {
    std::string_view name;
    std::size_t value = no_expression;
    unsigned line = 0;
};

/// Types of values that a key may have, as bits.
namespace allowed {
inline constexpr unsigned number = 1, real = 2, flag = 4, text = 8, list = 16, object = 32, null = 64, any = 127;
}

/// Returns the largest allowed value of a key. The value depends on the words in the name of the key. The bounds are
/// far above every published model. No product of a cost overflows within these bounds. Products are also checked.
[[nodiscard]] constexpr std::int64_t most_of(std::string_view key) {
    const auto names = [key](std::string_view word) { return key.find(word) != std::string_view::npos; };
    return names("vocab")                                             ? std::int64_t{1} << 28
           : names("window_size") || names("merge_size")              ? std::int64_t{1} << 24
           : names("sliding_window") || names("attention_chunk_size") ? 0x7FFF'FFFF
           : names("layers") || key == "n_layer"                      ? 10'000
                                                                      : std::int64_t{1} << 24;
}

/// A key of the config that the model class reads, declared as `with KEY DEFAULT`.
struct spec_key {
    std::string_view key;
    std::size_t otherwise = no_expression;  ///< index of the expression of the default value; `no_expression`: the
                                            ///< default is null
    bool required = false;                  ///< true if the config must have the key
    bool each = false;                      ///< true if a list under this key must have one element for each layer
    bool numbers = false;                   ///< true if a list under this key must have integers from `least` to `most`
    bool unsaid = false;                    ///< true if published configs often omit the key, or if a user's spec
                                            ///< states its default; then a report has no note that the key is missing
    unsigned kinds = 0;
    std::int64_t least = 1;
    std::int64_t most = 0;
    vector<std::string_view> choices{};  ///< allowed values of a text, or of each text in a list; empty: any text
    unsigned line = 0;
};

struct argument {
    std::string_view name;
    std::size_t value = no_expression;  ///< index of the expression of the argument's value; `no_expression`: the
                                        ///< argument has no value
    std::string_view text{};            ///< the words after `as`, `from` or `to`, or the first word after `split`
};

/// A line of a block: `PART name EXPR, name EXPR, word if EXPR`. The arguments and the condition after `if` are
/// optional.
struct part_line {
    std::string_view part;
    vector<argument> arguments{};
    std::size_t condition = no_expression;
    std::string_view rest{};  ///< for a line in the block of a class: the text after the word `as`, `text` or `note`
    unsigned line = 0;
};

struct block {
    std::string_view name;
    bool is_class = false;
    vector<part_line> lines{};
    unsigned line = 0;
};

/// A condition of a spec. The line `require EXPR: .KEY what is right` gives an error if EXPR is false. The line `note
/// EXPR: text` gives a note if EXPR is true.
struct spec_condition {
    bool is_note = false;
    std::size_t holds = no_expression;
    std::string_view key{};
    std::string_view text;
    unsigned line = 0;
};

/// A line `inner NAME .KEY: SPEC, option, …`: a model inside the model, such as a vision tower.
struct inner_model {
    std::string_view name;
    std::string_view key;
    std::string_view spec;       ///< spec to use if the inner config names no model type
    std::string_view absent{};   ///< spec to use if the outer config lacks the key; empty: `spec` with the defaults of
                                 ///< its keys
    std::string_view older{};    ///< a model type in older configs that means the same as `spec`
    std::string_view side{};     ///< suffix of specs that are preferred: with "backbone", the spec "swin.backbone" is
                                 ///< used instead of "swin"
    std::string_view ignores{};  ///< a key of the inner config that is treated as absent
    std::string_view suffix{};   ///< suffix of the inner model's class; empty: the first class of its spec
    bool always = false;         ///< true: `spec` is used even if the inner config names another model type
    bool flat = false;           ///< true: if the outer config lacks the key, the outer config itself has the keys of
                                 ///< the inner model
    bool optional = false;       ///< true: if the outer config lacks the key, the model has no such inner model
    unsigned line = 0;
};

/// A line `ignores KEY`: configs may have this key, but it changes no matrix product of the class. A line `ignores KEY
/// VALUE` says this only for one value of the key, such as the default.
struct ignored_key {
    std::string_view key;
    std::size_t value = no_expression;  ///< index of the expression of the value; `no_expression`: the key is ignored
                                        ///< with any value
};

/// A key of the config that was looked up while the model was counted.
struct asked_key {
    std::string_view key;
    bool by_default = false;  ///< true if the config lacks the key and its default was used
};

struct spec {
    std::string_view name;
    std::string_view base_name{};
    std::string_view like_name{};  ///< name of the spec after `as`; that spec overrides lines of the base, and this
                                   ///< spec overrides lines of both
    std::string_view prefix{};
    vector<std::string_view> other_prefixes{};  ///< other prefixes of the class names, used in checkpoints of other
                                                ///< releases
    std::string_view encoder{};      ///< spec of the encoder side; "none": no encoder side; empty: the encoder side of
                                     ///< the base spec
    std::string_view encoder_key{};  ///< key of the encoder's config; empty: the encoder reads the same config
    vector<expression> expressions{};
    vector<std::size_t> operands{};
    vector<definition> definitions{};
    vector<spec_key> keys{};
    vector<std::string_view> without{};
    vector<ignored_key> ignored{};
    vector<block> blocks{};
    vector<std::string_view> classes{};
    vector<spec_condition> conditions{};
    vector<inner_model> inner{};
    const spec* base = nullptr;
    std::string_view text{};  ///< the whole text that contains the spec
    unsigned line = 0;
    bool is_used = false;               ///< true if the model that is being read uses the spec
    mutable vector<asked_key> asked{};  ///< keys that were looked up while the model was counted

    /// Returns the `model_type` of the spec: "t5" for the spec "t5.encoder".
    [[nodiscard]] std::string_view type() const { return name.substr(0, name.find('.')); }
    /// Returns true if the spec is `other` or is derived from it.
    [[nodiscard]] bool stands_on(const spec& other) const {
        const spec* p = this;
        while (p != nullptr && p != &other) {
            p = p->base;
        }
        return p != nullptr;
    }
    void note_asked(std::string_view key, bool by_default) const {
        for (asked_key& known : asked) {
            if (known.key == key) {
                known.by_default = known.by_default || by_default;
                return;
            }
        }
        asked.push_back({key, by_default});
    }
    [[nodiscard]] bool was_asked(std::string_view key) const {
        return std::any_of(asked.begin(), asked.end(), [key](const asked_key& known) { return known.key == key; });
    }
    [[nodiscard]] const definition* find_definition(std::string_view wanted) const {
        for (const definition& known : definitions) {
            if (known.name == wanted) {
                return &known;
            }
        }
        return nullptr;
    }
    [[nodiscard]] const block* find_block(std::string_view wanted) const {
        for (const block& known : blocks) {
            if (known.name == wanted) {
                return &known;
            }
        }
        return nullptr;
    }
    [[nodiscard]] const spec_key* find_key(std::string_view wanted) const {
        for (const spec_key& known : keys) {
            if (known.key == wanted) {
                return &known;
            }
        }
        return nullptr;
    }
};

/// Returns the root of a spec's bases: the spec that has no base.
[[nodiscard]] inline const spec& root_of(const spec& read) {
    const spec* root = &read;
    while (root->base != nullptr) {
        root = root->base;
    }
    return *root;
}

/// The encoder side of an encoder-decoder: the name of its spec, and the key of its config if the encoder has a
/// separate config.
struct other_side {
    std::string_view spec{};  ///< name of the encoder's spec; empty: the model has no encoder side
    std::string_view key{};
};
[[nodiscard]] inline other_side encoder_of(const spec& read) {
    for (const spec* p = &read; p != nullptr; p = p->base) {
        if (!p->encoder.empty()) {
            return p->encoder == "none" ? other_side{} : other_side{p->encoder, p->encoder_key};
        }
    }
    return {};
}

/// Collects one member of every item in a list of a spec and its bases. Items of bases come first. Example:
/// `names_in(&read, &spec::keys, &spec_key::key)` returns the names of all keys.
template <class Item>
[[nodiscard]] vector<std::string_view> names_in(const spec* read, vector<Item> spec::*items,
                                                std::string_view Item::*name) {
    vector<std::string_view> all;
    if (read != nullptr) {
        all = names_in(read->base, items, name);
        for (const Item& item : read->*items) {
            all.push_back(item.*name);
        }
    }
    return all;
}

/// Returns the inner models that a spec declares, and the inner models of its bases that the spec does not redefine.
[[nodiscard]] inline vector<const inner_model*> inner_of(const spec& read) {
    vector<const inner_model*> all;
    for (const spec* p = &read; p != nullptr; p = p->base) {
        vector<const inner_model*> own;
        for (const inner_model& model : p->inner) {
            const bool replaced = std::any_of(all.begin(), all.end(),
                                              [&](const inner_model* known) { return known->name == model.name; });
            if (!replaced) {
                own.push_back(&model);
            }
        }
        own.append(all.begin(), all.end());
        all = std::move(own);
    }
    return all;
}

/// Throws an error that names a line of a spec: "spec NAME:LINE".
[[noreturn, gnu::cold, gnu::noinline]] inline void spec_error(std::string_view name, unsigned line,
                                                              std::initializer_list<piece> problem) {
    refuse(text_of({"spec ", name, ":", line}), problem);
}

}  // namespace floptally::detail::specs

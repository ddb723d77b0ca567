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
/// A page of text as the parser leaves it. Views point into the text, which outlives the page.

namespace floptally::detail::pages {

enum class op : std::uint8_t {
    number,
    real,
    text,
    flag,
    null,
    list,
    key,     ///< `.hidden_size`: of the config
    name,    ///< `heads`: a definition, or `i`
    member,  ///< `vision.heads`: a definition of a model inside
    call,
    index,
    negate,
    inverse,  ///< `not`
    both,     ///< `and`
    either,   ///< `or`
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
    choose,     ///< `c ? a : b`
    or_absent,  ///< `a // b`: the first that is given
    or_null     ///< `a ?? b`
};

/// One node of an expression. Operands are indices of nodes of the same page, in `page::operands`.
struct expression {
    op what = op::null;
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

/// Kinds of values that a key may have, as bits.
namespace allowed {
inline constexpr unsigned number = 1, real = 2, flag = 4, text = 8, list = 16, object = 32, null = 64, any = 127;
}

/// Bounds against absurd values, as the name of a key says what it counts. Beyond every published model by far; within
/// them no product of a cost overflows unnoticed (products are checked besides).
[[nodiscard]] constexpr std::int64_t most_of(std::string_view key) {
    const auto names = [key](std::string_view word) { return key.find(word) != std::string_view::npos; };
    return names("vocab")                                             ? std::int64_t{1} << 28
           : names("window_size") || names("merge_size")              ? std::int64_t{1} << 24
           : names("sliding_window") || names("attention_chunk_size") ? 0x7FFF'FFFF
           : names("layers") || key == "n_layer"                      ? 10'000
                                                                      : std::int64_t{1} << 24;
}

/// `with KEY DEFAULT`: a key that the class reads.
struct page_key {
    std::string_view key;
    std::size_t otherwise = no_expression;  ///< none: null
    bool required = false;                  ///< no default either
    bool each = false;                      ///< a list has an element for each layer
    bool numbers = false;                   ///< a list is of integers within the bounds
    bool unsaid = false;                    ///< published files leave it to the class: no note where it is absent
    unsigned kinds = 0;
    std::int64_t least = 1;
    std::int64_t most = 0;
    vector<std::string_view> words{};  ///< of a text, or of the texts of a list
    unsigned line = 0;
};

struct argument {
    std::string_view name;
    std::size_t value = no_expression;  ///< none: a word alone
    std::string_view words{};           ///< of `as`, `from` and `to`; the first word of `split`
};

/// `PART name EXPR, name EXPR, word if EXPR`
struct part_line {
    std::string_view part;
    vector<argument> arguments{};
    std::size_t condition = no_expression;
    std::string_view rest{};  ///< of a line of a class that says which class of another page it is
    unsigned line = 0;
};

struct block {
    std::string_view name;
    bool is_class = false;
    vector<part_line> lines{};
    unsigned line = 0;
};

/// `require EXPR: .KEY what is right` and `note EXPR: text`.
struct page_condition {
    bool is_note = false;
    std::size_t holds = no_expression;
    std::string_view key{};
    std::string_view text;
    unsigned line = 0;
};

/// `inner NAME .KEY: PAGE, option, …`: a model inside the model.
struct inner_model {
    std::string_view name;
    std::string_view key;
    std::string_view page;       ///< where its config does not say a type
    std::string_view absent{};   ///< where there is no such config; empty: `page` with its defaults
    std::string_view older{};    ///< a type that older files give it, which is `page`
    std::string_view side{};     ///< a type's page of that side comes before its own: "backbone" of "swin.backbone"
    std::string_view ignores{};  ///< a key that changes nothing here
    std::string_view suffix{};   ///< of its class; empty: the page's first
    bool always = false;         ///< `page`, whatever type its config says
    bool flat = false;           ///< without a config its keys stand beside the outer ones
    bool optional = false;       ///< without a config there is no such model
    unsigned line = 0;
};

/// A key that a count looked up, and whether its default stood in for it.
struct asked_key {
    std::string_view key;
    bool by_default = false;
};

struct page {
    std::string_view name;
    std::string_view base_name{};
    std::string_view like_name{};  ///< the page whose own lines stand between these and the base
    std::string_view prefix{};
    std::string_view encoder{};      ///< the page of the other side; "none": the base's falls away
    std::string_view encoder_key{};  ///< of the object that has its config; empty: the same as this side's
    vector<expression> expressions{};
    vector<std::size_t> operands{};
    vector<definition> definitions{};
    vector<page_key> keys{};
    vector<std::string_view> without{};
    vector<std::string_view> ignored{};  ///< keys that files have and the class computes nothing by
    vector<block> blocks{};
    vector<std::string_view> classes{};
    vector<page_condition> conditions{};
    vector<inner_model> inner{};
    const page* base = nullptr;
    std::string_view text{};  ///< where it stands, with others
    unsigned line = 0;
    bool is_used = false;               ///< by the model that is being read
    mutable vector<asked_key> asked{};  ///< by the count of that model

    /// The `model_type` whose page this is: "t5" of "t5.encoder", a page of one side.
    [[nodiscard]] std::string_view type() const { return name.substr(0, name.find('.')); }
    /// True where it is the other page, or written as a difference from it.
    [[nodiscard]] bool stands_on(const page& other) const {
        const page* p = this;
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
    [[nodiscard]] const page_key* find_key(std::string_view wanted) const {
        for (const page_key& known : keys) {
            if (known.key == wanted) {
                return &known;
            }
        }
        return nullptr;
    }
};

/// The last of a page's bases, or itself.
[[nodiscard]] inline const page& root_of(const page& read) {
    const page* root = &read;
    while (root->base != nullptr) {
        root = root->base;
    }
    return *root;
}

/// The page of the other side of an encoder-decoder, and the key of its config where that is an object of its own.
struct other_side {
    std::string_view page{};  ///< empty: there is none
    std::string_view key{};
};
[[nodiscard]] inline other_side encoder_of(const page& read) {
    for (const page* p = &read; p != nullptr; p = p->base) {
        if (!p->encoder.empty()) {
            return p->encoder == "none" ? other_side{} : other_side{p->encoder, p->encoder_key};
        }
    }
    return {};
}

/// The names of some rows of a page, those of its bases before: `names_in(&read, &page::keys, &page_key::key)`.
template <class Row>
[[nodiscard]] vector<std::string_view> names_in(const page* read, vector<Row> page::*rows,
                                                std::string_view Row::*name) {
    vector<std::string_view> all;
    if (read != nullptr) {
        all = names_in(read->base, rows, name);
        for (const Row& row : read->*rows) {
            all.push_back(row.*name);
        }
    }
    return all;
}

/// The models inside a page: its own, and those of its bases that it does not replace.
[[nodiscard]] inline vector<const inner_model*> inner_of(const page& read) {
    vector<const inner_model*> all;
    for (const page* p = &read; p != nullptr; p = p->base) {
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

[[noreturn, gnu::cold, gnu::noinline]] inline void page_error(std::string_view name, unsigned line,
                                                              std::initializer_list<piece> what) {
    refuse(text_of({"page ", name, ":", line}), what);
}

}  // namespace floptally::detail::pages

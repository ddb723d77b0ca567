// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <floptally/lists/vector.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Names and blocks that nobody asks for. What follows in a page replaces what its base says by name, so that a name
/// that is misspelt would replace nothing, and the base's would count without a word.

namespace floptally::detail::pages {

/// Names that the reader asks a page for; a composite besides for `NAME_units` and the like of each model inside.
inline constexpr std::string_view reader_names[] = {
    "h",          "layers",       "v",           "norms",     "final_norm", "first_norm", "sees",        "tied",
    "positions",  "embedding",    "always_tied", "mtp",       "mtp_norms",  "no_mtp",     "stands",      "units",
    "attends",    "class_tokens", "last_units",  "rows",      "columns",    "frames",     "clip",        "input",
    "tokens_for", "per_unit",     "per_frame",   "per_token", "beside",     "pixels",     "pixel_frames"};
/// Besides of a page that stands on `hstu`.
inline constexpr std::string_view hstu_names[] = {"heads",  "attention_dim", "linear_dim", "blocks", "gates",
                                                  "biases", "stride",        "input_size", "widths", "biased"};
inline constexpr std::string_view inner_names[] = {"_layers", "_units", "_per_unit", "_per_frame", "_per_token"};
inline constexpr std::string_view block_names[] = {"before", "into_mixer", "mixer", "cross", "into_feed", "feed",
                                                   "more",   "once",       "stem",  "after", "mtp",       "text_after"};
inline constexpr std::string_view inner_blocks[] = {"_projector", "_in_text"};

/// Checks pages against each other: a name may be asked for by a line of any page that stands on its own.
class name_check {
  public:
    explicit name_check(const vector<const page*>& all) {
        for (const page* known : all) {
            for (const page* p = known; p != nullptr; p = p->base) {
                collect(*p);
            }
        }
    }

    /// True where the reader asks a page for the name, of a composite for `vision_units` and the like of each model
    /// inside.
    [[nodiscard]] static bool is_of_reader(const page& read, std::string_view name) {
        return is_known(read, name, reader_names, inner_names) ||
               (root_of(read).type() == "hstu" &&
                std::find(std::begin(hstu_names), std::end(hstu_names), name) != std::end(hstu_names));
    }

    /// True where a page or one that it stands on declares a key, and none takes it away; but for what most pages stand
    /// on, which declares keys that a page may read under other names.
    [[nodiscard]] static bool reads(const page& read, std::string_view key) {
        for (const page* p = &read; p != nullptr; p = p->base) {
            if (p->find_key(key) != nullptr) {
                return p->type() != "base";
            }
            if (std::find(p->without.begin(), p->without.end(), key) != p->without.end()) {
                return false;
            }
        }
        return false;
    }

    /// Throws at the first name or block of a page that replaces none of its bases' and that nobody asks for.
    void check(const page& read) const {
        for (const definition& own : read.definitions) {
            const bool replaces = any_base(read, [&](const page& p) { return p.find_definition(own.name) != nullptr; });
            if (!replaces && !is_asked(own.name) && !is_of_reader(read, own.name)) {
                refuse(read, own.line, "no line and no reader asks for", own.name, names_for(read));
            }
        }
        for (const std::string_view key : read.ignored) {
            if (reads(read, key)) {
                page_error(read.name, read.line,
                           {"ignores \"", key, "\", which it reads: `without` takes a base's away"});
            }
        }
        for (const block& own : read.blocks) {
            const bool replaces = any_base(read, [&](const page& p) { return p.find_block(own.name) != nullptr; });
            if (!own.is_class && !replaces && !is_known(read, own.name, block_names, inner_blocks)) {
                refuse(read, own.line, "no block of a model is called", own.name,
                       vector<std::string_view>(std::begin(block_names), std::end(block_names)));
            }
        }
    }

  private:
    void collect(const page& from) {
        for (const expression& e : from.expressions) {
            if (e.what == op::name) {
                asked_.push_back(e.text);
            } else if (e.what == op::member) {
                asked_.push_back(from.expressions[from.operands[e.first]].text);
            }
        }
        for (const page_condition& condition : from.conditions) {
            collect_words(condition.text);
        }
        for (const block& lines : from.blocks) {
            for (const part_line& line : lines.lines) {
                collect_words(line.rest);
            }
        }
    }
    /// `{name}` in a text.
    void collect_words(std::string_view text) {
        bool inside = false;
        while (!text.empty()) {
            const auto length = static_cast<std::size_t>(
                std::find_if(text.begin(), text.end(), [](char c) { return !is_word(c); }) - text.begin());
            if (length == 0) {
                inside = text.front() == '{' || (inside && text.front() != '}');
            } else if (inside) {
                asked_.push_back(text.substr(0, length));
            }
            text.remove_prefix(length == 0 ? 1 : length);
        }
    }

    template <class Holds>
    [[nodiscard]] static bool any_base(const page& read, Holds holds) {
        const page* p = read.base;
        while (p != nullptr && !holds(*p)) {
            p = p->base;
        }
        return p != nullptr;
    }
    [[nodiscard]] bool is_asked(std::string_view name) const {
        return std::find(asked_.begin(), asked_.end(), name) != asked_.end();
    }
    /// Among the reader's words, or one of a model inside with one of the endings.
    template <class Words, class Endings>
    [[nodiscard]] static bool is_known(const page& read, std::string_view name, const Words& words,
                                       const Endings& endings) {
        bool known = std::find(std::begin(words), std::end(words), name) != std::end(words);
        for (const page* p = &read; p != nullptr && !known; p = p->base) {
            for (const inner_model& model : p->inner) {
                for (const std::string_view ending : endings) {
                    known = known || name == std::string(model.name).append(ending);
                }
            }
        }
        return known;
    }
    [[nodiscard]] static vector<std::string_view> names_for(const page& read) {
        vector<std::string_view> all = names_in(read.base, &page::definitions, &definition::name);
        all.append(std::begin(reader_names), std::end(reader_names));
        return all;
    }
    [[noreturn, gnu::cold, gnu::noinline]] static void refuse(const page& where, unsigned line, const char* what,
                                                              std::string_view name,
                                                              const vector<std::string_view>& known) {
        page_error(where.name, line, {what, " \"", name, "\"", nearest_hint(name, known)});
    }

    vector<std::string_view> asked_;
};

}  // namespace floptally::detail::pages

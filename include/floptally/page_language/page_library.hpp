// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/lists/vector.hpp>
#include <floptally/models/list.hpp>
#include <floptally/page_language/detail/name_check.hpp>
#include <floptally/page_language/detail/page_parser.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/page_language/page.hpp>

/// @file
/// The pages that a model is read by: the library's, and those of the user before them.

namespace floptally::detail::pages {

/// The pages that a model is read by, each parsed when it is first asked for. A user's own come before those that come
/// with the library.
class library {
  public:
    library() = default;
    explicit library(std::string_view text) { add(text); }

    /// Pages of the user's, which come before all others. The text outlives the library. `file` is where it stands, for
    /// an error before the first page's name.
    void add(std::string_view text, std::string_view file = {}) {
        file = file.empty() ? "?" : file;
        if (!parse(text, file)) {
            page_error(file, 1, {"expected \"page NAME\", and the text has no line"});
        }
        given_ = pages_.size();
    }

    /// The user's pages, each with its bases and not yet used; none of them has a name that nobody asks for.
    [[nodiscard]] vector<const page*> given() {
        vector<const page*> all;
        for (std::size_t k = 0; k < given_; ++k) {
            all.push_back(&find(pages_[k]->name));
        }
        const name_check names(all);
        for (const page* known : all) {
            names.check(*known);
        }
        for (const owner<page>& candidate : pages_) {
            candidate->is_used = false;
        }
        return all;
    }

    [[nodiscard]] bool has(std::string_view name) {
        return known(name) != nullptr || (load(file_of(name)) && known(name) != nullptr);
    }

    /// A page with its base, and that one's.
    [[nodiscard]] const page& find(std::string_view name, const page* asked_by = nullptr, unsigned line = 0,
                                   unsigned depth = 0) {
        page* found = known(name);
        if (found == nullptr && load(file_of(name))) {
            found = known(name);
        }
        if (found == nullptr) {
            page_error(asked_by == nullptr ? name : asked_by->name, line,
                       {"no page is called \"", name, "\"", nearest_hint(name)});
        }
        if (!found->base_name.empty() && found->base == nullptr) {
            if (depth > 20) {
                page_error(name, found->line, {"a page that is its own base, or has more than 20 bases"});
            }
            const page& base = find(found->base_name, found, found->line, depth + 1);
            found->base = found->like_name.empty() ? &base : &over(base, *found, depth);
        }
        found->is_used = true;
        return *found;
    }

    /// Pages that were parsed so far.
    [[nodiscard]] const vector<owner<page>>& loaded() const { return pages_; }

    /// The types that come with the library, and those of the user's pages.
    [[nodiscard]] vector<std::string_view> types() const {
        vector<std::string_view> all;
        for (const owner<page>& known : pages_) {
            if (known->name.find('.') == std::string_view::npos && find_model_page(known->name).empty()) {
                all.push_back(known->name);
            }
        }
        for (const char* const literal : model_pages) {
            const std::string_view name = name_of_page(literal);
            if (name != "base") {
                all.push_back(name);
            }
        }
        return all;
    }

    [[nodiscard]] std::string nearest_hint(std::string_view name) const { return pages::nearest_hint(name, types()); }

  private:
    /// "t5.encoder" stands in the file of t5; "kosmos-2.5" has a file of its own.
    [[nodiscard]] static std::string_view file_of(std::string_view name) {
        return find_model_page(name).empty() ? name.substr(0, name.rfind('.')) : name;
    }

    [[nodiscard]] page* known(std::string_view name) const {
        for (const owner<page>& known : pages_) {
            if (known->name == name) {
                return known.get();
            }
        }
        return nullptr;
    }

    /// The lines of the page that another is like, over that one's base in place of their own.
    [[nodiscard]] const page& over(const page& base, const page& asked_by, unsigned depth) {
        const page& like = find(asked_by.like_name, &asked_by, asked_by.line, depth + 1);
        const std::size_t at = moved_.size();
        parse(like.text, {}, like.name);
        page& moved = *moved_[at];
        moved.base = &base;
        return moved;
    }

    bool load(std::string_view file) {
        const std::string_view text = find_model_page(file);
        if (text.empty()) {
            return false;
        }
        for (const std::string_view word : loaded_) {
            if (word == file) {
                return false;
            }
        }
        loaded_.push_back(file);
        parse(text, file);
        return true;
    }

    static constexpr std::size_t most_text =
        65536;  ///< ten times the longest of the library; what is sought grows with it

    /// Parses the pages of a text; false where it has none. One that is known already stays: the user's. Or `again`, to
    /// stand on another base.
    bool parse(std::string_view text, std::string_view file, std::string_view again = {}) {
        line_reader lines(text);
        if (text.size() > most_text) {
            const bool named = lines.next() && lines.line.starts_with("page ") && lines.line.size() < 200;
            page_error(named ? page_parser::header(lines.line, lines.number, file).name : file, 1,
                       {"a text of ", text.size(), " characters; pages have at most ", most_text});
        }
        std::optional<page_parser> parser;
        while (lines.next()) {
            if (!lines.indented && lines.line.starts_with("page ")) {
                page now = page_parser::header(lines.line, lines.number, file);
                now.text = text;
                vector<owner<page>>& among = now.name == again                             ? moved_
                                             : again.empty() && known(now.name) == nullptr ? pages_
                                                                                           : unused_;
                parser.emplace(*among.push_back(owner(new page(std::move(now)))));
            } else if (!parser) {
                const lexer from(file, lines.line, lines.number);
                from.fail({"expected \"page NAME\", not indented, before ", from.next()});
            } else {
                parser->take(lines);
            }
        }
        return parser.has_value();
    }

    vector<owner<page>> pages_;
    std::size_t given_ = 0;       ///< of them the user's, which come first
    vector<owner<page>> unused_;  ///< later ones of the same names
    vector<owner<page>> moved_;   ///< to other bases
    vector<std::string_view> loaded_;
};

}  // namespace floptally::detail::pages

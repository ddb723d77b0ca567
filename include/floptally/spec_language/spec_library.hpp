// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/lists/vector.hpp>
#include <floptally/models/list.hpp>
#include <floptally/spec_language/detail/spec_parser.hpp>
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/nearest.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `library`: the specs of the user and of floptally, by name.

namespace floptally::inline v0_3::detail::specs {

// Finds unused names and unused blocks in a spec. Without this check a misspelt name that should replace a name of the
// base would be ignored silently.

/// Names of definitions that the reader of models looks up in a spec. The reader also looks up the name of each inner
/// model followed by one of `inner_names`, such as `vision_units`.
inline constexpr std::string_view reader_names[] = {
    "h",     "layers",     "layers_used",  "v",           "norms",     "final_norm", "first_norm", "sees",
    "tied",  "positions",  "embedding",    "always_tied", "mtp",       "mtp_norms",  "no_mtp",     "stands",
    "units", "attends",    "class_tokens", "last_units",  "rows",      "columns",    "frames",     "clip",
    "input", "tokens_for", "per_unit",     "per_frame",   "per_token", "beside",     "pixels",     "pixel_frames"};
/// Names of definitions that the reader of models also looks up in a spec based on `hstu`.
inline constexpr std::string_view hstu_names[] = {"heads",  "attention_dim", "linear_dim", "blocks", "gates",
                                                  "biases", "stride",        "input_size", "widths", "biased"};
inline constexpr std::string_view inner_names[] = {"_layers", "_units", "_per_unit", "_per_frame", "_per_token"};
inline constexpr std::string_view block_names[] = {"before", "into_mixer", "mixer", "cross", "into_feed", "feed",
                                                   "more",   "once",       "stem",  "after", "mtp",       "text_after"};
inline constexpr std::string_view inner_blocks[] = {"_projector", "_in_text"};

/// Checks specs for unused names. A name is used if a line of the spec, of its bases, or of the specs derived from it
/// reads the name.
class name_check {
  public:
    explicit name_check(const vector<const spec*>& all) {
        for (const spec* known : all) {
            for (const spec* p = known; p != nullptr; p = p->base) {
                collect(*p);
            }
        }
    }

    /// Returns true if the reader of models looks up the name: the name is one of `reader_names`, or an inner model's
    /// name with an ending, such as `vision_units`.
    [[nodiscard]] static bool is_of_reader(const spec& read, std::string_view name) {
        return is_known(read, name, reader_names, inner_names) ||
               (root_of(read).type() == "hstu" &&
                std::find(std::begin(hstu_names), std::end(hstu_names), name) != std::end(hstu_names));
    }

    /// Returns true if a spec or one of its bases declares a key and no line `without` removes it. Keys that only the
    /// spec `base` declares do not count, because the spec may use another key for the same size.
    [[nodiscard]] static bool reads(const spec& read, std::string_view key) {
        for (const spec* p = &read; p != nullptr; p = p->base) {
            if (p->find_key(key) != nullptr) {
                return p->type() != "base";
            }
            if (std::find(p->without.begin(), p->without.end(), key) != p->without.end()) {
                return false;
            }
        }
        return false;
    }

    /// Throws an error for the first unused name or block of a spec, unless a base of the spec has the same name or
    /// block.
    void check(const spec& read) const {
        for (const definition& own : read.definitions) {
            const bool replaces = any_base(read, [&](const spec& p) { return p.find_definition(own.name) != nullptr; });
            if (!replaces && !is_asked(own.name) && !is_of_reader(read, own.name)) {
                refuse(read, own.line, "defines a name that nothing reads:", own.name, names_for(read));
            }
        }
        for (const ignored_key& ignored : read.ignored) {
            const std::string_view key = ignored.key;
            if (reads(read, key)) {
                spec_error(read.name, read.line,
                           {"ignores \"", key, "\" and reads it too: remove one, or write `without ", key,
                            "` where a base reads it"});
            }
        }
        for (const block& own : read.blocks) {
            const bool replaces = any_base(read, [&](const spec& p) { return p.find_block(own.name) != nullptr; });
            if (!own.is_class && !replaces && !is_known(read, own.name, block_names, inner_blocks)) {
                std::string listed;
                for (const std::string_view known : block_names) {
                    append_item(listed, known);
                }
                const vector<std::string_view> all(std::begin(block_names), std::end(block_names));
                spec_error(
                    read.name, own.line,
                    {"has an unknown block \"", own.name, "\"", nearest_hint(own.name, all), "; known: ", listed});
            }
        }
    }

  private:
    void collect(const spec& from) {
        for (const expression& e : from.expressions) {
            if (e.operation == op::name) {
                asked_.push_back(e.text);
            } else if (e.operation == op::member) {
                asked_.push_back(from.expressions[from.operands[e.first]].text);
            }
        }
        for (const spec_condition& condition : from.conditions) {
            collect_names(condition.text);
        }
        for (const block& lines : from.blocks) {
            for (const part_line& line : lines.lines) {
                collect_names(line.rest);
            }
        }
    }
    /// Collects the names that a text has in braces: `{name}`.
    void collect_names(std::string_view text) {
        bool inside = false;
        while (!text.empty()) {
            const auto length = static_cast<std::size_t>(
                std::find_if(text.begin(), text.end(), [](char c) { return !is_of_name(c); }) - text.begin());
            if (length == 0) {
                inside = text.front() == '{' || (inside && text.front() != '}');
            } else if (inside) {
                asked_.push_back(text.substr(0, length));
            }
            text.remove_prefix(length == 0 ? 1 : length);
        }
    }

    template <class Holds>
    [[nodiscard]] static bool any_base(const spec& read, Holds holds) {
        const spec* p = read.base;
        while (p != nullptr && !holds(*p)) {
            p = p->base;
        }
        return p != nullptr;
    }
    [[nodiscard]] bool is_asked(std::string_view name) const {
        return std::find(asked_.begin(), asked_.end(), name) != asked_.end();
    }
    /// Returns true if a name is one of `words`, or consists of an inner model's name and one of `endings`.
    template <class Words, class Endings>
    [[nodiscard]] static bool is_known(const spec& read, std::string_view name, const Words& words,
                                       const Endings& endings) {
        bool known = std::find(std::begin(words), std::end(words), name) != std::end(words);
        for (const spec* p = &read; p != nullptr && !known; p = p->base) {
            for (const inner_model& model : p->inner) {
                for (const std::string_view ending : endings) {
                    known = known || name == std::string(model.name).append(ending);
                }
            }
        }
        return known;
    }
    [[nodiscard]] static vector<std::string_view> names_for(const spec& read) {
        vector<std::string_view> all = names_in(read.base, &spec::definitions, &definition::name);
        all.append(std::begin(reader_names), std::end(reader_names));
        return all;
    }
    [[noreturn, gnu::cold, gnu::noinline]] static void refuse(const spec& where, unsigned line, const char* problem,
                                                              std::string_view name,
                                                              const vector<std::string_view>& known) {
        spec_error(where.name, line, {problem, " \"", name, "\"", nearest_hint(name, known)});
    }

    vector<std::string_view> asked_;
};

/// All specs by name. Each is parsed at its first use. A user's spec replaces floptally's spec of the same name.
class library {
  public:
    library() = default;
    explicit library(std::string_view text) { add(text); }

    /// Adds specs of the user. The text must outlive the library. Errors before the name of the first spec show the
    /// file name `file`.
    void add(std::string_view text, std::string_view file = {}) {
        file = file.empty() ? "?" : file;
        if (!parse(text, file)) {
            spec_error(file, 1, {"expected \"spec NAME\", and the text has no line: write a spec into it"});
        }
        user_count_ = specs_.size();
        for (const owner<spec>& added : specs_) {
            for (spec_key& key : added->keys) {
                key.unsaid = key.unsaid || key.otherwise != no_expression;
            }
        }
    }

    /// Returns the user's specs with their bases, and marks them as not used. Throws if one of these specs defines an
    /// unused name.
    [[nodiscard]] vector<const spec*> user_specs() {
        vector<const spec*> all;
        for (std::size_t k = 0; k < user_count_; ++k) {
            all.push_back(&find(specs_[k]->name));
        }
        const name_check names(all);
        for (const spec* known : all) {
            names.check(*known);
        }
        for (const owner<spec>& candidate : specs_) {
            candidate->is_used = false;
        }
        return all;
    }

    [[nodiscard]] bool has(std::string_view name) {
        return known(name) != nullptr || (load(file_of(name)) && known(name) != nullptr);
    }

    /// Returns the spec of this name, with its bases. `asked_by` and `line` say which spec and line refer to it; errors
    /// show both.
    [[nodiscard]] const spec& find(std::string_view name, const spec* asked_by = nullptr, unsigned line = 0,
                                   unsigned depth = 0) {
        spec* found = known(name);
        if (found == nullptr && load(file_of(name))) {
            found = known(name);
        }
        if (found == nullptr) {
            spec_error(asked_by == nullptr ? name : asked_by->name, line,
                       {"unknown spec \"", name, "\"", nearest_hint(name)});
        }
        if (!found->base_name.empty() && found->base == nullptr) {
            if (depth > 20) {
                spec_error(name, found->line, {"is its own base, or has more than 20 bases; name another base"});
            }
            const spec& base = find(found->base_name, found, found->line, depth + 1);
            found->base = found->like_name.empty() ? &base : &over(base, *found, depth);
        }
        found->is_used = true;
        return *found;
    }

    /// Returns all specs that have been parsed so far.
    [[nodiscard]] const vector<owner<spec>>& loaded() const { return specs_; }

    /// Returns the model types of floptally's specs and of the user's.
    [[nodiscard]] vector<std::string_view> types() const {
        vector<std::string_view> all;
        for (const owner<spec>& known : specs_) {
            if (known->name.find('.') == std::string_view::npos && find_model_spec(known->name).empty()) {
                all.push_back(known->name);
            }
        }
        for (const char* const literal : model_specs) {
            const std::string_view name = name_of_spec(literal);
            if (name != "base") {
                all.push_back(name);
            }
        }
        return all;
    }

    [[nodiscard]] std::string nearest_hint(std::string_view name) const { return specs::nearest_hint(name, types()); }

  private:
    /// Returns the name of the file that contains a spec: "t5" for "t5.encoder", but "kosmos-2.5" for "kosmos-2.5",
    /// because such a file exists.
    [[nodiscard]] static std::string_view file_of(std::string_view name) {
        return find_model_spec(name).empty() ? name.substr(0, name.rfind('.')) : name;
    }

    [[nodiscard]] spec* known(std::string_view name) const {
        for (const owner<spec>& known : specs_) {
            if (known->name == name) {
                return known.get();
            }
        }
        return nullptr;
    }

    /// Returns a copy of the spec that `asked_by` names after `as`. The base of the copy is `base`.
    [[nodiscard]] const spec& over(const spec& base, const spec& asked_by, unsigned depth) {
        const spec& like = find(asked_by.like_name, &asked_by, asked_by.line, depth + 1);
        const std::size_t at = moved_.size();
        parse(like.text, {}, like.name);
        spec& moved = *moved_[at];
        moved.base = &base;
        moved.keys = like.keys;  // of a user's spec too
        return moved;
    }

    bool load(std::string_view file) {
        const std::string_view text = find_model_spec(file);
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

    /// The largest number of characters of a text of specs: ten times the longest text of the library. There is a limit
    /// because the time of a look-up grows with the length of the text.
    static constexpr std::size_t most_text = 65536;

    /// Parses the specs of a text. Returns false if the text has no spec. If the library already has a spec of the same
    /// name, such as a user's, it keeps that spec. If `again` is the name of a spec, stores only a copy of that spec,
    /// in `moved_`.
    bool parse(std::string_view text, std::string_view file, std::string_view again = {}) {
        line_reader lines(text);
        if (text.size() > most_text) {
            const bool named = lines.next() && lines.line.starts_with("spec ") && lines.line.size() < 200;
            spec_error(named ? spec_parser::header(lines.line, lines.number, file).name : file, 1,
                       {"has a text of ", text.size(), " characters; split it into texts of at most ", most_text});
        }
        std::optional<spec_parser> parser;
        while (lines.next()) {
            if (!lines.indented && lines.line.starts_with("spec ")) {
                spec header = spec_parser::header(lines.line, lines.number, file);
                header.text = text;
                vector<owner<spec>>& target = header.name == again                             ? moved_
                                              : again.empty() && known(header.name) == nullptr ? specs_
                                                                                               : unused_;
                parser.emplace(*target.push_back(owner(new spec(std::move(header)))));
            } else if (!parser) {
                const lexer from(file, lines.line, lines.number);
                from.fail({"expected \"spec NAME\", not indented, before ", from.next()});
            } else {
                parser->take(lines);
            }
        }
        return parser.has_value();
    }

    vector<owner<spec>> specs_;
    std::size_t user_count_ = 0;  ///< number of the user's specs, which come first in `specs_`
    vector<owner<spec>> unused_;  ///< parsed specs that are not used, because the library already had specs of these
                                  ///< names
    vector<owner<spec>> moved_;   ///< copies of specs that got a different base
    vector<std::string_view> loaded_;
};

}  // namespace floptally::detail::specs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// Names of the values that the lines of one block make, so that a line may name what it reads.
using value_names = vector<std::string_view>;

/// A word that a line of a page may give to a part.
struct part_word {
    const char* word;
    const char* key = "";     ///< key of floptally's own format, as a page declares it ("n_groups 1"); empty: none
    bool is_needed = false;   ///< a line without it is an error
    bool is_inverse = false;  ///< the member and the key are true where the word is not given
};

/// One line of a block with its arguments evaluated, from which a part is made.
struct part_call {
    scope& in;
    const page& where;
    const part_line& line;
    const vector<value>& given;  ///< one for each argument of the line
    value_names& made;
    mla_core latent_core = mla_core::expanded;

    [[noreturn, gnu::cold, gnu::noinline]] void fail(std::initializer_list<piece> what) const {
        page_error(where.name, line.line, {line.part, " ", text_of(what)});
    }

    [[nodiscard]] const value* find(std::string_view name) const {
        for (std::size_t k = 0; k < given.size(); ++k) {
            if (line.arguments[k].name == name) {
                return &given[k];
            }
        }
        return nullptr;
    }
    /// The value of a word that is none without one; null where the word is not given.
    [[nodiscard]] const value* worth(std::string_view name) const {
        for (std::size_t k = 0; k < given.size(); ++k) {
            if (line.arguments[k].name == name && line.arguments[k].value == no_expression) {
                fail({name, " needs a value"});
            }
        }
        return find(name);
    }
    /// True where the word is given, and neither null nor no.
    [[nodiscard]] bool on(std::string_view name) const {
        const value* given_value = find(name);
        return given_value != nullptr && !given_value->is_none() &&
               (given_value->type != value::kind::flag || given_value->on());
    }
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise = 0) const {
        const value* given_value = worth(name);
        if (given_value == nullptr || given_value->is_none()) {
            return otherwise;
        }
        if (!given_value->is_whole() || given_value->number < 0) {
            fail({name, " must be a number of at least 0, got ", in.shown(*given_value)});
        }
        return static_cast<std::uint64_t>(given_value->number);
    }
    [[nodiscard]] std::uint64_t required(std::string_view name) const {
        if (worth(name) == nullptr) {
            fail({"needs \"", name, "\""});
        }
        if (worth(name)->is_none()) {
            fail({name, " must be a number, got null"});
        }
        return number(name);
    }
    [[nodiscard]] mask attends(std::string_view name, const mask& otherwise) const {
        const value* given_value = worth(name);
        if (given_value == nullptr || given_value->is_none()) {
            return otherwise;
        }
        if (given_value->type != value::kind::mask) {
            blame_definition(name);
            fail({name, " must be a mask, got ", in.shown(*given_value)});
        }
        return given_value->attends;
    }
    /// One number for each of `size`: from a list, or a number that stands for all.
    [[nodiscard]] vector<std::int64_t> numbers(std::string_view name, std::size_t size, std::int64_t otherwise) const {
        const value* given_value = worth(name);
        if (given_value == nullptr || given_value->is_none()) {
            return vector<std::int64_t>(size, otherwise);
        }
        if (given_value->type != value::kind::list) {
            return vector<std::int64_t>(size, static_cast<std::int64_t>(number(name)));
        }
        vector<std::int64_t> all;
        for (const value& item : in.items_of(*given_value)) {
            if (!item.is_whole()) {
                fail({name, " must be numbers, got ", in.shown(item)});
            }
            all.push_back(item.number);
        }
        if (size != 0 && all.size() != size) {
            const std::string what = text_of({"must be a list of ", size, ", got ", in.shown(*given_value)});
            if (given_value->given != nullptr) {
                refuse(in.config().field(given_value->given->key), {what});
            }
            fail({name, " ", what});
        }
        return all;
    }
    [[nodiscard]] std::string_view words(std::string_view name) const {
        for (const argument& word : line.arguments) {
            if (word.name == name) {
                if (word.words.empty()) {
                    fail({name, " needs a name"});
                }
                return word.words;
            }
        }
        return {};
    }

    /// True where the line asks for absorbed MLA; where it does not say, as the reader's options do.
    [[nodiscard]] bool is_absorbed() const {
        const value* given_value = find("absorbed");
        return given_value == nullptr || given_value->is_none() ? latent_core == mla_core::absorbed : given_value->on();
    }
    [[nodiscard]] elementwise_parameters elementwise() const {
        return {.norm = number("norm"), .bias = number("bias")};
    }
    /// The place of the part: `width` and `sees` of the line, else `h` and `sees` of the page.
    [[nodiscard]] floptally::layer place() const {
        const bool page_sees = find("sees") == nullptr && in.has("sees");
        return {.index = in.layer,
                .hidden_size = find("width") != nullptr ? required("width") : in.number_or("h", 0),
                .attends = page_sees ? in.mask_named("sees") : attends("sees", mask::causal())};
    }

    /// The values that a line reads or makes: "q", "x", "ck + cg". `x` is what enters the block, `context` the other
    /// side or a second stream, `time` what is known of a sample as a whole.
    [[nodiscard]] floptally::value::set values(std::string_view names, bool writes) const {
        floptally::value::set all = 0;
        lexer from(where.name, names, line.line);
        while (!from.at_end()) {
            all = static_cast<floptally::value::set>(all | one_value(from.required_word("a value"), writes));
            static_cast<void>(from.take("+"));
        }
        return all;
    }

  private:
    /// Throws for an argument that is a name and should be a mask; the error gives the place where the name is defined.
    void blame_definition(std::string_view argument_name) const {
        for (const argument& word : line.arguments) {
            const bool is_name = word.name == argument_name && word.value != no_expression &&
                                 where.expressions[word.value].what == op::name;
            if (is_name && in.find_definition(where.expressions[word.value].text).entry != nullptr) {
                static_cast<void>(in.mask_named(where.expressions[word.value].text));
            }
        }
    }
    [[nodiscard]] floptally::value::set one_value(std::string_view name, bool writes) const {
        if (name == "x") {
            return floptally::value::stream;
        }
        if (name == "context") {
            return floptally::value::context;
        }
        if (name == "time") {
            return floptally::value::time;
        }
        std::size_t which = 0;
        while (which < made.size() && made[which] != name) {
            ++which;
        }
        if (which == made.size() && !writes) {
            fail({"reads \"", name, "\", which no line above makes"});
        }
        if (which == made.size()) {
            made.push_back(name);
        }
        if (which >= 13) {
            fail({"makes more than the 13 values that a block may have"});
        }
        return floptally::value::made(static_cast<unsigned>(which));
    }
};

}  // namespace floptally::detail::pages

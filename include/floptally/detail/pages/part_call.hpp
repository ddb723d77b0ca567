// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/lexer.hpp>
#include <floptally/detail/pages/page.hpp>
#include <floptally/detail/pages/scope.hpp>
#include <floptally/detail/pages/value.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail::pages {

/// Names of the values that the lines of one block make, so that a line may say what it reads.
using made_values = array_of<std::string_view>;

/// One line of a block with its arguments evaluated: what a part is made of.
struct part_call {
    scope& in;
    const page& where;
    const part_line& line;
    const array_of<value>& given;  ///< one for each argument of the line
    made_values& made;
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
    /// Given, and neither null nor no.
    [[nodiscard]] bool on(std::string_view name) const {
        const value* one = find(name);
        return one != nullptr && !one->is_none() && (one->is != value::kind::flag || one->on());
    }
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise = 0) const {
        const value* one = find(name);
        if (one == nullptr || one->is_none()) {
            return otherwise;
        }
        if (!one->counts() || one->number < 0) {
            fail({name, " must be a number of at least 0, got ", in.shown(*one)});
        }
        return static_cast<std::uint64_t>(one->number);
    }
    [[nodiscard]] std::uint64_t must(std::string_view name) const {
        if (find(name) == nullptr) {
            fail({"needs \"", name, "\""});
        }
        if (find(name)->is_none()) {
            fail({name, " must be a number, got null"});
        }
        return number(name);
    }
    [[nodiscard]] mask attends(std::string_view name, const mask& otherwise) const {
        const value* one = find(name);
        if (one == nullptr || one->is_none()) {
            return otherwise;
        }
        if (one->is != value::kind::mask) {
            blame_definition(name);
            fail({name, " must be a mask, got ", in.shown(*one)});
        }
        return one->attends;
    }
    /// One number for each of `size`: a list, or a number that stands for all.
    [[nodiscard]] array_of<std::int64_t> numbers(std::string_view name, std::size_t size,
                                                 std::int64_t otherwise) const {
        const value* one = find(name);
        if (one == nullptr || one->is_none()) {
            return array_of<std::int64_t>(size, otherwise);
        }
        if (one->is != value::kind::list) {
            return array_of<std::int64_t>(size, static_cast<std::int64_t>(number(name)));
        }
        array_of<std::int64_t> all;
        for (const value& item : in.items_of(*one)) {
            if (!item.counts()) {
                fail({name, " must be numbers, got ", in.shown(item)});
            }
            all.push_back(item.number);
        }
        if (size != 0 && all.size() != size) {
            const std::string what = "must be a list of " + std::to_string(size) + ", got " + in.shown(*one);
            if (one->given != nullptr) {
                refuse(in.config().field(one->given->key), {what});
            }
            fail({name, " ", what});
        }
        return all;
    }
    [[nodiscard]] std::string_view words(std::string_view name) const {
        for (const argument& one : line.arguments) {
            if (one.name == name) {
                return one.words;
            }
        }
        return {};
    }

    /// As the line says; else as the reader's options do.
    [[nodiscard]] bool is_absorbed() const {
        const value* one = find("absorbed");
        return one == nullptr || one->is_none() ? latent_core == mla_core::absorbed : one->on();
    }
    [[nodiscard]] elementwise_parameters elementwise() const {
        return {.norm = number("norm"), .bias = number("bias")};
    }
    /// Where the part stands: `width` and `sees` of the line, else `h` and `sees` of the page.
    [[nodiscard]] floptally::layer place() const {
        const bool page_sees = find("sees") == nullptr && in.has("sees");
        return {.index = in.layer,
                .hidden_size = find("width") != nullptr ? must("width") : in.number_or("h", 0),
                .attends = page_sees ? in.mask_named("sees") : attends("sees", mask::causal())};
    }

    /// "q", "x", "ck + cg": what a line reads or makes. `x` is what enters the block, `context` the other side.
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
    /// An argument that is a name and should be a mask: what is wrong stands where the name is defined.
    void blame_definition(std::string_view argument_name) const {
        for (const argument& one : line.arguments) {
            const bool is_name = one.name == argument_name && one.value != no_expression &&
                                 where.expressions[one.value].what == op::name;
            if (is_name && in.find_definition(where.expressions[one.value].text).is != nullptr) {
                static_cast<void>(in.mask_named(where.expressions[one.value].text));
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
        if (which >= 14) {
            fail({"makes more than the 14 values that a block may have"});
        }
        return floptally::value::made(static_cast<unsigned>(which));
    }
};

}  // namespace floptally::detail::pages

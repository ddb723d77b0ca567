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
#include <floptally/spec_language/lexer.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// Names of the values that the lines of one block produce. Later lines of the block refer to these names.
using value_names = vector<std::string_view>;

/// An argument that a line of a spec's block may have.
struct part_argument {
    const char* name;
    const char* key = "";  ///< key that sets the argument in floptally's own config format, written as in a line `with`
                           ///< of a spec ("n_groups 1"); empty: no key
    bool is_needed = false;   ///< true: a line without this argument is an error
    bool is_inverse = false;  ///< true: the argument in a spec sets a flag of the C++ struct to false, while `key` in a
                              ///< config sets it to true
};

/// One line of a block in a spec, with evaluated arguments.
struct part_call {
    scope& in;
    const spec& where;
    const part_line& line;
    const vector<value>& arguments;  ///< evaluated values, in the order of the line's arguments
    value_names& produced;
    mla_core latent_core = mla_core::expanded;

    [[noreturn, gnu::cold, gnu::noinline]] void fail(std::initializer_list<piece> what) const {
        spec_error(where.name, line.line, {line.part, ": ", text_of(what)});
    }

    [[nodiscard]] const value* find(std::string_view name) const {
        for (std::size_t k = 0; k < arguments.size(); ++k) {
            if (line.arguments[k].name == name) {
                return &arguments[k];
            }
        }
        return nullptr;
    }
    /// Returns the value of the argument `name`, or null if the line lacks this argument. Throws if the line has the
    /// argument without a value.
    [[nodiscard]] const value* worth(std::string_view name) const {
        for (std::size_t k = 0; k < arguments.size(); ++k) {
            if (line.arguments[k].name == name && line.arguments[k].value == no_expression) {
                fail({"\"", name, "\" has no value: write one after it"});
            }
        }
        return find(name);
    }
    /// Returns true if the line has the argument and the argument's value is neither null nor `no`.
    [[nodiscard]] bool on(std::string_view name) const {
        const value* item = find(name);
        return item != nullptr && !item->is_none() && (item->type != value::kind::flag || item->on());
    }
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise = 0) const {
        const value* item = worth(name);
        if (item == nullptr || item->is_none()) {
            return otherwise;
        }
        if (!item->is_whole() || item->number < 0) {
            fail({name, " must be a number of at least 0, got ", in.shown(*item)});
        }
        return static_cast<std::uint64_t>(item->number);
    }
    [[nodiscard]] std::uint64_t required(std::string_view name) const {
        if (worth(name) == nullptr) {
            fail({"the argument \"", name, "\" is missing: add it"});
        }
        if (worth(name)->is_none()) {
            fail({name, " must be a number, got null"});
        }
        return number(name);
    }
    [[nodiscard]] mask attends(std::string_view name, const mask& otherwise) const {
        const value* item = worth(name);
        if (item == nullptr) {
            return otherwise;
        }
        if (item->type != value::kind::mask) {  // nor null: the name may belong to a model that does not define it
            blame_definition(name);
            fail({name, " must be a mask, got ", in.shown(*item)});
        }
        return item->attends;
    }
    /// Returns `size` numbers from an argument: the elements of a list, or one number repeated.
    [[nodiscard]] vector<std::int64_t> numbers(std::string_view name, std::size_t size, std::int64_t otherwise) const {
        const value* item = worth(name);
        if (item == nullptr || item->is_none()) {
            return vector<std::int64_t>(size, otherwise);
        }
        if (item->type != value::kind::list) {
            return vector<std::int64_t>(size, static_cast<std::int64_t>(number(name)));
        }
        vector<std::int64_t> all;
        for (const value& element : in.items_of(*item)) {
            if (!element.is_whole()) {
                fail({name, " must be a list of numbers, got the element ", in.shown(element)});
            }
            all.push_back(element.number);
        }
        if (size != 0 && all.size() != size) {
            const std::string what = text_of({"must be a list of ", size, " numbers, got ", in.shown(*item)});
            if (item->node != nullptr) {
                refuse(in.config().field(item->node->key), {what});
            }
            fail({name, " ", what});
        }
        return all;
    }
    [[nodiscard]] std::string_view words(std::string_view name) const {
        for (const argument& word : line.arguments) {
            if (word.name == name) {
                if (word.text.empty()) {
                    fail({"\"", name, "\" must be followed by a name: write one"});
                }
                return word.text;
            }
        }
        return {};
    }

    /// Returns true if the line asks for absorbed MLA. If the line does not specify it, the reader's options decide.
    [[nodiscard]] bool is_absorbed() const {
        const value* item = find("absorbed");
        return item == nullptr || item->is_none() ? latent_core == mla_core::absorbed : item->on();
    }
    [[nodiscard]] elementwise_parameters elementwise() const {
        return {.norm = number("norm"), .bias = number("bias")};
    }
    /// Returns the width and mask of the layer that the part belongs to. Uses the arguments `width` and `sees` of the
    /// line. Without these it uses the names `h` and `sees` of the spec.
    [[nodiscard]] floptally::layer place() const {
        const bool spec_sees = find("sees") == nullptr && in.has("sees");
        return {.index = in.layer,
                .hidden_size = find("width") != nullptr ? required("width") : in.number_or("h", 0),
                .attends = spec_sees ? in.mask_named("sees") : attends("sees", mask::causal())};
    }

    /// Returns the set of values that a line reads or writes, from their names: "q", "x", "ck + cg". `x` is the input
    /// of the block, and `context` is the encoder's output or a second stream. `time` is an embedding of a whole sample
    /// (diffusion time, pooled text).
    [[nodiscard]] floptally::value::set values(std::string_view names, bool writes) const {
        floptally::value::set all = 0;
        lexer from(where.name, names, line.line);
        while (!from.at_end()) {
            all = static_cast<floptally::value::set>(all | one_value(from.expect_name("a value"), writes));
            static_cast<void>(from.take("+"));
        }
        return all;
    }

  private:
    /// Throws the error for an argument that names something other than a mask. The error's FIELD is the line that
    /// defines the name.
    void blame_definition(std::string_view argument_name) const {
        for (const argument& word : line.arguments) {
            const bool is_name = word.name == argument_name && word.value != no_expression &&
                                 where.expressions[word.value].operation == op::name;
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
        while (which < produced.size() && produced[which] != name) {
            ++which;
        }
        if (which == produced.size() && !writes) {
            fail({"reads \"", name, "\", but no line above writes it: add `to ", name, "` to the line that makes it"});
        }
        if (which == produced.size()) {
            produced.push_back(name);
        }
        if (which >= 13) {
            fail({"a block must use at most 13 names after `to`: replace \"", name,
                  "\" by a name that no later line reads"});
        }
        return floptally::value::local(static_cast<unsigned>(which));
    }
};

}  // namespace floptally::detail::specs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// A call of a function with its arguments.
struct function_call {
    scope& in;
    const page& where;
    unsigned line;
    std::string_view name;
    const vector<value>& given;
    std::string_view null_key{};  ///< an argument that is a key of the config whose value is null

    [[noreturn, gnu::cold, gnu::noinline]] void fail(std::initializer_list<piece> what) const {
        page_error(where.name, line, {name, ": ", text_of(what)});
    }
    /// Refuses an argument: by its key where the config gave it, else by the page's line.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse_given(std::size_t at, std::string_view what) const {
        if (given[at].given != nullptr) {
            refuse(in.config().field(given[at].given->key), {what, ", got ", in.shown(given[at])});
        }
        fail({what});
    }
    void takes(std::size_t least, std::size_t most) const {
        if (given.size() < least || given.size() > most) {
            fail({"takes ", least, " to ", most, " arguments, got ", given.size()});
        }
    }
    [[nodiscard]] bool has(std::size_t at) const { return at < given.size() && !given[at].is_none(); }
    [[nodiscard]] std::int64_t number(std::size_t at) const {
        if (given[at].is_none() && !null_key.empty()) {
            if (const page_key* known = in.find_key(null_key)) {
                in.config().no_number(*known, null_key);
            }
        }
        if (!given[at].is_whole()) {
            fail({"argument ", at + 1, " must be a number, got ", in.shown(given[at])});
        }
        return given[at].number;
    }
    [[nodiscard]] std::int64_t number_or(std::size_t at, std::int64_t otherwise) const {
        return has(at) ? number(at) : otherwise;
    }
    [[nodiscard]] double real(std::size_t at) const {
        if (given[at].type != value::kind::real) {
            return static_cast<double>(number(at));
        }
        return given[at].real;
    }
    [[nodiscard]] vector<value> items(std::size_t at) const {
        if (given[at].type != value::kind::list) {
            fail({"argument ", at + 1, " must be a list, got ", in.shown(given[at])});
        }
        return in.items_of(given[at]);
    }
    /// The numbers of a list, or one number that stands for `size` of them.
    [[nodiscard]] vector<std::int64_t> numbers(std::size_t at, std::size_t size = 1) const {
        if (given[at].is_whole()) {
            return vector<std::int64_t>(size, given[at].number);
        }
        vector<std::int64_t> all;
        for (const value& item : items(at)) {
            if (!item.is_whole()) {
                if (given[at].given != nullptr) {
                    refuse(indexed(in.config().field(given[at].given->key), all.size()),
                           {"must be an integer, got ", in.shown(item)});
                }
                fail({"a list of numbers has ", in.shown(item)});
            }
            all.push_back(item.number);
        }
        return all;
    }
    [[nodiscard]] value whole(double real) const {
        if (!(real > -1e15 && real < 1e15)) {
            fail({"beyond 10^15"});
        }
        return number_value(static_cast<std::int64_t>(real));
    }
};

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/spec.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail::specs {

/// A mask that a spec writes in another way than reports do, which have `statistic::name`.
struct report_mask {
    std::string_view name;
    const char* hint;
};
inline constexpr report_mask report_masks[] = {{"sliding_window", "; write \"window(n)\""},
                                               {"window", "; write \"around(left, right)\""},
                                               {"bidirectional", "; write \"both\""}};
/// Returns how a spec writes a mask that has this name in reports, as the end of an error. Returns an empty text if the
/// name is the same.
[[nodiscard]] constexpr std::string_view report_mask_hint(std::string_view name) {
    for (const report_mask& known : report_masks) {
        if (known.name == name) {
            return known.hint;
        }
    }
    return {};
}

/// A call of a function of specs, with its arguments.
struct function_call {
    scope& in;
    const spec& where;
    unsigned line;
    std::string_view name;
    const vector<value>& arguments;
    std::string_view null_key{};  ///< the first key in the arguments whose value is null; empty: no key is null

    [[noreturn, gnu::cold, gnu::noinline]] void fail(std::initializer_list<piece> problem) const {
        spec_error(where.name, line, {name, ": ", text_of(problem)});
    }
    /// Throws an error about argument number `at`. The error's FIELD is the key of the config that the argument reads.
    /// If the argument reads no key, the FIELD is the line of the spec.
    [[noreturn, gnu::cold, gnu::noinline]] void refuse_argument(std::size_t at, std::string_view problem) const {
        if (arguments[at].node != nullptr) {
            refuse(in.config().field(arguments[at].node->key), {problem, ", got ", in.shown(arguments[at])});
        }
        fail({problem});
    }
    void takes(std::size_t least, std::size_t most) const {
        if (arguments.size() < least || arguments.size() > most) {
            fail({"must have ", least, " to ", most, " arguments, got ", arguments.size(),
                  arguments.size() > most ? report_mask_hint(name) : ""});
        }
    }
    [[nodiscard]] bool has(std::size_t at) const { return at < arguments.size() && !arguments[at].is_none(); }
    [[nodiscard]] std::int64_t number(std::size_t at) const {
        if (arguments[at].is_none() && !null_key.empty()) {
            if (const spec_key* known = in.find_key(null_key)) {
                in.config().no_number(*known, null_key);
            }
        }
        if (!arguments[at].is_whole()) {
            fail({"argument ", at + 1, " must be a number, got ", in.shown(arguments[at])});
        }
        return arguments[at].number;
    }
    [[nodiscard]] std::int64_t number_or(std::size_t at, std::int64_t otherwise) const {
        return has(at) ? number(at) : otherwise;
    }
    [[nodiscard]] double real(std::size_t at) const {
        if (arguments[at].type != value::kind::real) {
            return static_cast<double>(number(at));
        }
        if (!std::isfinite(arguments[at].real)) {
            fail({"argument ", at + 1, " must be a finite number, got ", in.shown(arguments[at])});
        }
        return arguments[at].real;
    }
    [[nodiscard]] vector<value> items(std::size_t at) const {
        if (arguments[at].type != value::kind::list) {
            fail({"argument ", at + 1, " must be a list, got ", in.shown(arguments[at])});
        }
        return in.items_of(arguments[at]);
    }
    /// Returns the numbers of an argument that is a list. If the argument is a single number, returns this number
    /// `size` times.
    [[nodiscard]] vector<std::int64_t> numbers(std::size_t at, std::size_t size = 1) const {
        if (arguments[at].is_whole()) {
            return vector<std::int64_t>(size, arguments[at].number);
        }
        vector<std::int64_t> all;
        for (const value& item : items(at)) {
            if (!item.is_whole()) {
                if (arguments[at].node != nullptr) {
                    refuse(indexed(in.config().field(arguments[at].node->key), all.size()),
                           {"must be an integer, got ", in.shown(item)});
                }
                fail({"the list must have numbers only, got the element ", in.shown(item)});
            }
            all.push_back(item.number);
        }
        return all;
    }
    [[nodiscard]] value whole(double real) const {
        if (!(real > -1e15 && real < 1e15)) {
            fail({"the result must be below 10^15: use smaller arguments"});
        }
        return number_value(static_cast<std::int64_t>(real));
    }
};

}  // namespace floptally::detail::specs

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/function_call.hpp>
#include <floptally/detail/pages/hashed_tables.hpp>
#include <floptally/detail/pages/mask_functions.hpp>
#include <floptally/detail/pages/nearest.hpp>
#include <floptally/detail/pages/number_functions.hpp>
#include <floptally/detail/pages/value.hpp>
#include <floptally/error.hpp>

/// @file
/// The functions that pages may call: masks and units, numbers, lists.

namespace floptally::detail::pages {

// ---- lists ----

inline value given_of(const function_call& c) { return flag_value(!c.given[0].is_none()); }
inline value size_of(const function_call& c) { return number_value(static_cast<std::int64_t>(c.given[0].size())); }
/// 1 of what is no list.
inline value count_of(const function_call& c) {
    return c.given[0].is == value::kind::list ? size_of(c) : number_value(c.given[0].is_none() ? 0 : 1);
}
inline value is_list_of(const function_call& c) { return flag_value(c.given[0].is == value::kind::list); }
inline value is_text_of(const function_call& c) { return flag_value(c.given[0].is == value::kind::text); }
inline value is_number_of(const function_call& c) { return flag_value(c.given[0].is == value::kind::number); }
/// A number made of all numbers of a list, one after the other; `step` is true beyond 64 bits.
inline value folded(const function_call& c, std::int64_t from, bool (*step)(std::int64_t&, std::int64_t)) {
    for (const std::int64_t one : c.numbers(0)) {
        if (step(from, one) || from > max_number) {
            c.fail({"beyond 2^62"});
        }
    }
    return number_value(from);
}
inline value sum_of(const function_call& c) {
    return folded(c, 0, [](std::int64_t& sum, std::int64_t one) { return __builtin_add_overflow(sum, one, &sum); });
}
inline value product_of(const function_call& c) {
    return folded(c, 1, [](std::int64_t& all, std::int64_t one) { return __builtin_mul_overflow(all, one, &all); });
}
/// -1 of an empty list.
inline value largest_of(const function_call& c) {
    return folded(c, -1, [](std::int64_t& all, std::int64_t one) { return (all = one > all ? one : all, false); });
}
inline value last_of(const function_call& c) {
    const array_of<value> all = c.list(0);
    return all.empty() ? value{} : all.back();
}
/// How many texts a list has, each counted once.
inline value different_of(const function_call& c) {
    const array_of<value> all = c.list(0);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (all[k].is != value::kind::text && c.given[0].given != nullptr) {
            refuse(indexed(c.in.config().field(c.given[0].given->key), k),
                   {"must be a string, got ", c.in.shown(all[k])});
        }
        bool first = true;
        for (std::size_t before = 0; before < k && first; ++before) {
            first = all[before].text != all[k].text;
        }
        found += first ? 1 : 0;
    }
    return number_value(found);
}
/// Of a list of [[value, ...], times], every value as often as it says: [[["a", "b"], 2]] is a b a b.
inline value repeated_of(const function_call& c) {
    array_of<value> all;
    const auto refuse_all = [&c] {
        const std::string what = "must be a list of [[name, ...], times], of at most 10000 names altogether";
        if (c.given[0].given != nullptr) {
            refuse(c.in.config().field(c.given[0].given->key), {what, ", got ", c.in.shown(c.given[0])});
        }
        c.fail({what});
    };
    for (const value& group : c.list(0)) {
        const array_of<value> pair = group.is == value::kind::list ? c.in.items_of(group) : array_of<value>{};
        if (pair.size() != 2 || pair[0].is != value::kind::list || pair[1].is != value::kind::number ||
            pair[1].number < 0 || pair[1].number > 10'000) {
            refuse_all();
        }
        const array_of<value> names = c.in.items_of(pair[0]);
        for (std::int64_t k = 0; k < pair[1].number; ++k) {
            all.append(names.begin(), names.end());
            if (all.size() > 10'000) {
                refuse_all();
            }
        }
    }
    return c.in.list_of(std::move(all));
}
/// How often a value is in a list, before a position where one is given; how often a letter is in a text.
inline value times_of(const function_call& c) {
    if (c.given[0].is == value::kind::text && c.given[1].text.size() == 1) {
        const std::string_view text = c.given[0].text;
        return number_value(std::count(text.begin(), text.end(), c.given[1].text.front()));
    }
    const array_of<value> all = c.list(0);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < all.size() && (!c.has(2) || static_cast<std::int64_t>(k) < c.number(2)); ++k) {
        const value& wanted = c.given[1];
        found += all[k].is == wanted.is && all[k].number == wanted.number && all[k].text == wanted.text ? 1 : 0;
    }
    return number_value(found);
}
/// Half of each number of a list, rounded down: the padding with which a convolution of that kernel keeps its length.
inline value halves_of(const function_call& c) {
    array_of<value> all;
    for (const std::int64_t one : c.numbers(0)) {
        all.push_back(number_value(one / 2));
    }
    return c.in.list_of(std::move(all));
}
/// filled(n, a, b): n numbers, all a but the last, which is b.
inline value filled_of(const function_call& c) {
    if (c.number(0) < 1 || c.number(0) > 10'000) {
        c.fail({"a list must have from 1 to 10000 numbers, got ", c.number(0)});
    }
    array_of<value> all(static_cast<std::size_t>(c.number(0)), c.given[1]);
    all.back() = c.given[2];
    return c.in.list_of(std::move(all));
}
/// of_layer(object, i, "key"): a size in the object of a layer, of an object that has one under the index of each layer
/// (with zeros before it or without) or not; null where it says nothing. What follows are the other keys it may have.
inline value of_layer_of(const function_call& c) {
    const config_node* layers = c.given[0].given;
    value found;
    for (std::size_t k = 0; layers != nullptr && k < layers->count; ++k) {
        const config_node& one = c.in.config().tree().child(*layers, k);
        const std::string field = c.in.config().field(layers->key) + "." + one.key;
        const std::size_t digits = one.key.find_first_not_of("0123456789");
        if (one.key.empty() || one.key.size() > 9 || digits != std::string::npos) {
            refuse(field, {"must be named by the index of a layer"});
        }
        if (std::stoll(one.key) != c.number(1)) {
            continue;
        }
        if (one.is != config_node::kind::object) {
            refuse(field, {"must be an object, got ", c.in.config().shown(one)});
        }
        std::string known;
        for (std::size_t other = 2; other < c.given.size(); ++other) {
            append_item(known, c.given[other].text);
        }
        for (std::size_t of = 0; of < one.count; ++of) {
            const std::string& key = c.in.config().tree().child(one, of).key;
            const auto is_key = [&key](const value& name) { return name.text == key; };
            if (std::none_of(c.given.begin() + 2, c.given.end(), is_key)) {
                refuse(std::string(field).append(".").append(key), {"unknown key; known: ", known});
            }
        }
        const config_node* size = c.in.config().tree().find(one, c.given[2].text);
        if (size != nullptr && (size->is != config_node::kind::integer || size->beyond || size->number < 1 ||
                                size->number > std::int64_t{1} << 24)) {
            refuse(field + "." + size->key,
                   {"must be an integer from 1 to 16777216, got ", c.in.config().shown(*size)});
        }
        found = size != nullptr ? value_of(*size) : value{};
    }
    return found;
}
/// level(depths, i): in which group of so many layers that layer is; place(depths, i): the how-manieth of its group.
inline value level_or_place(const function_call& c, bool place) {
    std::int64_t at = c.number(1);
    std::int64_t level = 0;
    const array_of<std::int64_t> depths = c.numbers(0);
    while (static_cast<std::size_t>(level) + 1 < depths.size() && at >= depths[static_cast<std::size_t>(level)]) {
        at -= depths[static_cast<std::size_t>(level)];
        ++level;
    }
    return number_value(place ? at : level);
}
inline value level_of(const function_call& c) { return level_or_place(c, false); }
inline value place_of(const function_call& c) { return level_or_place(c, true); }
/// Layers that run before the hidden states of that number, from either end; the deepest of a list.
inline value depth_of(const function_call& c) {
    const std::int64_t most = c.number(1);
    const std::string field = c.in.config().field("vision_feature_layer");
    std::int64_t deepest = 0;
    std::size_t at = 0;
    const array_of<value> all = c.given[0].is == value::kind::list ? c.list(0) : array_of<value>(1, c.given[0]);
    for (const value& one : all) {
        if (one.is != value::kind::number || one.number > most || one.number < -most - 1) {
            refuse(c.given[0].is == value::kind::list ? indexed(field, at) : field,
                   {"must be an integer from ", -most - 1, " to ", most, ", got ", c.in.shown(one)});
        }
        ++at;
        const std::int64_t layers = one.number < 0 ? one.number + most + 1 : one.number;
        deepest = layers > deepest ? layers : deepest;
    }
    return number_value(deepest);
}

struct page_function {
    std::string_view name;
    std::size_t least;  ///< arguments
    std::size_t most;
    value (*call)(const function_call&);
};

inline constexpr page_function page_functions[] = {{"window", 1, 1, window_of},
                                                   {"later_image_tokens", 1, 2, later_of},
                                                   {"reduced", 4, 4, reduced_of},
                                                   {"listed", 1, 1, listed_of},
                                                   {"listed_pairs", 1, 1, listed_pairs_of},
                                                   {"entries", 1, 1, entries_of},
                                                   {"measured", 1, 1, measured_of},
                                                   {"written_mask", 0, 0, written_mask_of},
                                                   {"field", 2, 4, field_of},
                                                   {"ceil", 1, 2, ceil_of},
                                                   {"floor", 1, 1, floor_of},
                                                   {"round", 1, 1, round_of},
                                                   {"min", 2, 2, min_of},
                                                   {"max", 2, 2, max_of},
                                                   {"power", 2, 2, power_of},
                                                   {"root", 1, 1, root_of},
                                                   {"hashed_rows", 5, 5, hashed_rows_of},
                                                   {"given", 1, 1, given_of},
                                                   {"size", 1, 1, size_of},
                                                   {"count", 1, 1, count_of},
                                                   {"is_list", 1, 1, is_list_of},
                                                   {"is_text", 1, 1, is_text_of},
                                                   {"is_number", 1, 1, is_number_of},
                                                   {"sum", 1, 1, sum_of},
                                                   {"product", 1, 1, product_of},
                                                   {"last", 1, 1, last_of},
                                                   {"largest", 1, 1, largest_of},
                                                   {"times", 2, 3, times_of},
                                                   {"different", 1, 1, different_of},
                                                   {"repeated", 1, 1, repeated_of},
                                                   {"halves", 1, 1, halves_of},
                                                   {"filled", 3, 3, filled_of},
                                                   {"of_layer", 3, 9, of_layer_of},
                                                   {"level", 2, 2, level_of},
                                                   {"place", 2, 2, place_of},
                                                   {"depth", 2, 2, depth_of}};

[[nodiscard]] inline value call_function(const function_call& c) {
    for (const page_function& one : page_functions) {
        if (one.name == c.name) {
            c.takes(one.least, one.most);
            return one.call(c);
        }
    }
    for (const rule_function& one : rule_functions) {
        if (one.name == c.name) {
            return rule_of_call(c, *one.makes);
        }
    }
    const std::string near = nearest_hint(c.name, page_functions);
    c.fail({"unknown function", near.empty() ? nearest_hint(c.name, rule_functions) : near});
}

}  // namespace floptally::detail::pages

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Functions that pages call on lists: their sums and sizes, and what a layer has of them.

namespace floptally::detail::pages {

inline value given_of(const function_call& c) { return flag_value(!c.given[0].is_none()); }
inline value size_of(const function_call& c) { return number_value(static_cast<std::int64_t>(c.given[0].size())); }
/// The number of elements of a list; 1 for a value that is no list.
inline value count_of(const function_call& c) {
    return c.given[0].type == value::kind::list ? size_of(c) : number_value(c.given[0].is_none() ? 0 : 1);
}
inline value is_list_of(const function_call& c) { return flag_value(c.given[0].type == value::kind::list); }
inline value is_text_of(const function_call& c) { return flag_value(c.given[0].type == value::kind::text); }
inline value is_number_of(const function_call& c) { return flag_value(c.given[0].type == value::kind::number); }
/// A number that `step` makes of all numbers of a list, or of the first so many, one after the other; `step` returns
/// true beyond 64 bits.
inline value folded(const function_call& c, std::int64_t from, bool (*step)(std::int64_t&, std::int64_t)) {
    std::int64_t left = c.number_or(1, max_number);
    for (const std::int64_t element : c.numbers(0)) {
        if (left-- <= 0) {
            break;
        }
        if (step(from, element) || from > max_number) {
            c.fail({"beyond 2^62"});
        }
    }
    return number_value(from);
}
inline value sum_of(const function_call& c) {
    return folded(c, 0,
                  [](std::int64_t& sum, std::int64_t element) { return __builtin_add_overflow(sum, element, &sum); });
}
inline value product_of(const function_call& c) {
    return folded(c, 1,
                  [](std::int64_t& all, std::int64_t element) { return __builtin_mul_overflow(all, element, &all); });
}
/// The largest number of a list; −1 for an empty list.
inline value largest_of(const function_call& c) {
    return folded(c, -1,
                  [](std::int64_t& all, std::int64_t element) { return (all = element > all ? element : all, false); });
}
inline value last_of(const function_call& c) {
    const vector<value> all = c.items(0);
    return all.empty() ? value{} : all.back();
}
/// The number of different texts of a list.
inline value different_of(const function_call& c) {
    const vector<value> all = c.items(0);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (all[k].type != value::kind::text && c.given[0].given != nullptr) {
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
/// A list with its values repeated: of [[value, ...], times] each value so many times; [[["a", "b"], 2]] is a b a b.
inline value repeated_of(const function_call& c) {
    vector<value> all;
    const auto refuse_all = [&c] {
        c.refuse_given(0, "must be a list of [[name, ...], times], of at most 10000 names altogether");
    };
    for (const value& group : c.items(0)) {
        const vector<value> pair = group.type == value::kind::list ? c.in.items_of(group) : vector<value>{};
        if (pair.size() != 2 || pair[0].type != value::kind::list || pair[1].type != value::kind::number ||
            pair[1].number < 0 || pair[1].number > 10'000) {
            refuse_all();
        }
        const vector<value> names = c.in.items_of(pair[0]);
        for (std::int64_t k = 0; k < pair[1].number; ++k) {
            all.append(names.begin(), names.end());
            if (all.size() > 10'000) {
                refuse_all();
            }
        }
    }
    return c.in.list_of(std::move(all));
}
/// The numbers of a text, between commas: "4,5,6".
inline value numbers_of(const function_call& c) {
    vector<value> all;
    const auto refuse_text = [&c] { c.refuse_given(0, "must be numbers between commas, of at most six digits each"); };
    if (c.given[0].type != value::kind::text) {
        refuse_text();
    }
    std::int64_t number = 0;
    std::size_t digits = 0;
    const auto end_number = [&] {
        if (digits == 0 || digits > 6) {
            refuse_text();
        }
        all.push_back(number_value(number));
        number = 0;
        digits = 0;
    };
    for (const char letter : c.given[0].text) {
        if (letter == ',') {
            end_number();
        } else if (letter >= '0' && letter <= '9' && digits < 7) {
            number = 10 * number + (letter - '0');
            ++digits;
        } else if (letter != ' ') {
            refuse_text();
        }
    }
    end_number();
    return c.in.list_of(std::move(all));
}
/// The number of times that a value is in a list, before a position where one is given, or a letter in a text.
inline value times_of(const function_call& c) {
    if (c.given[0].type == value::kind::text && c.given[1].text.size() == 1) {
        const std::string_view text = c.given[0].text;
        return number_value(std::count(text.begin(), text.end(), c.given[1].text.front()));
    }
    const vector<value> all = c.items(0);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < all.size() && (!c.has(2) || static_cast<std::int64_t>(k) < c.number(2)); ++k) {
        const value& wanted = c.given[1];
        found += all[k].type == wanted.type && all[k].number == wanted.number && all[k].text == wanted.text ? 1 : 0;
    }
    return number_value(found);
}
/// Half of each number of a list, rounded down: the padding with which a convolution of that kernel keeps its length.
inline value halves_of(const function_call& c) {
    vector<value> all;
    for (const std::int64_t element : c.numbers(0)) {
        all.push_back(number_value(element / 2));
    }
    return c.in.list_of(std::move(all));
}
/// filled(n, a, b): a list of n numbers, all a but the last, which is b.
inline value filled_of(const function_call& c) {
    if (c.number(0) < 1 || c.number(0) > 10'000) {
        c.fail({"a list must have from 1 to 10000 numbers, got ", c.number(0)});
    }
    vector<value> all(static_cast<std::size_t>(c.number(0)), c.given[1]);
    all.back() = c.given[2];
    return c.in.list_of(std::move(all));
}
/// of_layer(object, i, "key"): a size from the object of a layer. `object` may hold one object under the index of each
/// layer (with or without leading zeros); null where the size is not given. The arguments after it are the other keys
/// it may have, or a list of them.
inline value of_layer_of(const function_call& c) {
    const config_node* layers = c.given[0].given;
    value found;
    vector<value> keys;
    for (std::size_t k = 2; k < c.given.size(); ++k) {
        const vector<value> several = c.given[k].type == value::kind::list ? c.items(k) : vector<value>(1, c.given[k]);
        keys.append(several.begin(), several.end());
    }
    for (std::size_t k = 0; layers != nullptr && k < layers->count; ++k) {
        const config_node& node = c.in.config().tree().child(*layers, k);
        const std::string field = text_of({c.in.config().field(layers->key), ".", node.key});
        const std::size_t digits = node.key.find_first_not_of("0123456789");
        if (node.key.empty() || node.key.size() > 9 || digits != std::string::npos) {
            refuse(field, {"must be named by the index of a layer"});
        }
        if (std::stoll(node.key) != c.number(1)) {
            continue;
        }
        if (node.type != config_node::kind::object) {
            refuse(field, {"must be an object, got ", c.in.config().shown(node)});
        }
        std::string known;
        for (const value& other : keys) {
            append_item(known, other.text);
        }
        for (std::size_t child = 0; child < node.count; ++child) {
            const std::string& key = c.in.config().tree().child(node, child).key;
            const auto is_key = [&key](const value& name) { return name.text == key; };
            if (std::none_of(keys.begin(), keys.end(), is_key)) {
                refuse(text_of({field, ".", key}), {"unknown key; known: ", known});
            }
        }
        const config_node* size = c.in.config().tree().find(node, c.given[2].text);
        if (size != nullptr && (size->type != config_node::kind::integer || size->beyond || size->number < 1 ||
                                size->number > std::int64_t{1} << 24)) {
            refuse(text_of({field, ".", size->key}),
                   {"must be an integer from 1 to 16777216, got ", c.in.config().shown(*size)});
        }
        found = size != nullptr ? value_of(*size) : value{};
    }
    return found;
}
/// level(depths, i): the group of layers that layer i is in; place(depths, i): its place within its group.
inline value level_or_place(const function_call& c, bool place) {
    std::int64_t at = c.number(1);
    std::int64_t level = 0;
    const vector<std::int64_t> depths = c.numbers(0);
    while (static_cast<std::size_t>(level) + 1 < depths.size() && at >= depths[static_cast<std::size_t>(level)]) {
        at -= depths[static_cast<std::size_t>(level)];
        ++level;
    }
    return number_value(place ? at : level);
}
inline value level_of(const function_call& c) { return level_or_place(c, false); }
inline value place_of(const function_call& c) { return level_or_place(c, true); }
/// The number of layers that run before the hidden states of that number, counted from either end; of a list, the
/// largest.
inline value depth_of(const function_call& c) {
    const std::int64_t most = c.number(1);
    const std::string field = c.in.config().field("vision_feature_layer");
    std::int64_t deepest = 0;
    std::size_t at = 0;
    const vector<value> all = c.given[0].type == value::kind::list ? c.items(0) : vector<value>(1, c.given[0]);
    for (const value& item : all) {
        if (item.type != value::kind::number || item.number > most || item.number < -most - 1) {
            refuse(c.given[0].type == value::kind::list ? indexed(field, at) : field,
                   {"must be an integer from ", -most - 1, " to ", most, ", got ", c.in.shown(item)});
        }
        ++at;
        const std::int64_t layers = item.number < 0 ? item.number + most + 1 : item.number;
        deepest = layers > deepest ? layers : deepest;
    }
    return number_value(deepest);
}

}  // namespace floptally::detail::pages

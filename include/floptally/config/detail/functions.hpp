// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/mask_functions.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/expression_parser.hpp>
#include <floptally/spec_language/nearest.hpp>
#include <floptally/statistics/grid_masks.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The table of all functions that specs may call.

namespace floptally::inline v0_3::detail::specs {

// Functions of specs whose arguments are numbers.

inline value evaluate_ceil(const function_call& c) {
    if (c.arguments.size() == 1) {
        return c.whole(std::ceil(c.real(0)));
    }
    if (c.number(1) < 1 || c.number(0) < 0) {
        c.fail({"the dividend must be at least 0 and the divisor at least 1: change the arguments"});
    }
    return number_value((c.number(0) + c.number(1) - 1) / c.number(1));
}
inline value evaluate_floor(const function_call& c) { return c.whole(std::floor(c.real(0))); }
/// round(x): the nearest integer. A half goes to the even neighbour, as in Python's round.
inline value evaluate_round(const function_call& c) { return c.whole(std::nearbyint(c.real(0))); }
inline value evaluate_min(const function_call& c) {
    return number_value(c.number(0) < c.number(1) ? c.number(0) : c.number(1));
}
inline value evaluate_max(const function_call& c) {
    return number_value(c.number(0) > c.number(1) ? c.number(0) : c.number(1));
}
inline value evaluate_power(const function_call& c) {
    std::int64_t power = 1;
    for (std::int64_t k = 0; k < c.number(1); ++k) {
        if (__builtin_mul_overflow(power, c.number(0), &power) || power > max_number || k > 62) {
            c.fail({"the result must be at most 2^62: use smaller arguments"});
        }
    }
    return number_value(power);
}
/// root(n): the square root, rounded down; 32767 if it is larger.
inline value evaluate_root(const function_call& c) {
    const std::int64_t square = c.number(0);
    std::int64_t root = 0;
    while (root < 0x7FFF && (root + 1) * (root + 1) <= square) {
        ++root;
    }
    return number_value(root);
}

/// entries(object): the keys and values of an object as a list of integers: key, value, key, value …
inline value evaluate_entries(const function_call& c) {
    const config_node* object = c.arguments[0].node;
    if (object == nullptr || object->type != config_node::kind::object) {
        c.fail({"the argument must be a JSON object, got ", c.in.shown(c.arguments[0])});
    }
    const vector<std::int64_t> values = c.numbers(0);
    vector<value> all;
    for (std::size_t k = 0; k < values.size(); ++k) {
        const std::string& key = c.in.config().tree().child(*object, k).key;
        std::int64_t number = 0;
        const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
        if (problem != std::errc{} || end != key.data() + key.size()) {
            refuse(c.in.config().field(object->key), {"keys must be integers, got \"", shortened(key), "\""});
        }
        all.push_back(number_value(number));
        all.push_back(number_value(values[k]));
    }
    return c.in.list_of(std::move(all));
}
/// divisible(x, by, least): the multiple of `by` that is nearest to x. The result is at least `least` (default `by`).
/// If it is below 0.9·x, the next multiple is taken. MobileNet and similar models round their channels like this.
inline value evaluate_divisible(const function_call& c) {
    const double x = c.arguments[0].as_real();
    const std::int64_t by = c.number(1);
    if (by < 1 || !(x >= 0 && x < 1e9)) {
        c.fail({"the number must be from 0 to 10^9 and the divisor at least 1: change the arguments"});
    }
    const auto nearest = static_cast<std::int64_t>(x + static_cast<double>(by) / 2) / by * by;
    const std::int64_t multiple = nearest < c.number_or(2, by) ? c.number_or(2, by) : nearest;
    return number_value(static_cast<double>(multiple) < 0.9 * x ? multiple + by : multiple);
}
/// scaled(list, n): the list with each number multiplied by n and rounded up.
inline value evaluate_scaled(const function_call& c) {
    vector<value> all;
    for (const std::int64_t element : c.numbers(0)) {
        std::int64_t product = 0;
        if (c.arguments[1].type == value::kind::real) {
            const double scaled = std::ceil(static_cast<double>(element) * c.arguments[1].as_real());
            if (!(scaled > -1e9 && scaled < 1e9)) {
                c.fail({"the result must be below 10^9: use smaller arguments"});
            }
            product = static_cast<std::int64_t>(scaled);
        } else if (__builtin_mul_overflow(element, c.number(1), &product) || product > max_number ||
                   product < -max_number) {
            c.fail({"the result must be at most 2^62: use smaller arguments"});
        }
        all.push_back(number_value(product));
    }
    return c.in.list_of(std::move(all));
}
/// halvings(n): how often n can be halved (rounding down) until it is 1.
inline value evaluate_halvings(const function_call& c) {
    std::int64_t found = 0;
    for (std::int64_t n = c.number(0); n > 1; n /= 2) {
        ++found;
    }
    return number_value(found);
}

// Functions of specs whose arguments are lists: sums, sizes, searches, and values for a layer.

inline value evaluate_given(const function_call& c) { return flag_value(!c.arguments[0].is_none()); }
inline value evaluate_size(const function_call& c) {
    return number_value(static_cast<std::int64_t>(c.arguments[0].size()));
}
/// count(x): the number of elements if x is a list, 0 if x is null, else 1.
inline value evaluate_count(const function_call& c) {
    return c.arguments[0].type == value::kind::list ? evaluate_size(c) : number_value(c.arguments[0].is_none() ? 0 : 1);
}
inline value evaluate_is_list(const function_call& c) { return flag_value(c.arguments[0].type == value::kind::list); }
inline value evaluate_is_text(const function_call& c) { return flag_value(c.arguments[0].type == value::kind::text); }
inline value evaluate_is_number(const function_call& c) {
    return flag_value(c.arguments[0].type == value::kind::number);
}
/// Folds the numbers of a list: applies `step` to `from` and each number in turn. With a second argument n it takes
/// only the first n numbers. `step` returns true on overflow of 64 bits.
inline value fold(const function_call& c, std::int64_t from, bool (*step)(std::int64_t&, std::int64_t)) {
    std::int64_t left = c.number_or(1, max_number);
    for (const std::int64_t element : c.numbers(0)) {
        if (left-- <= 0) {
            break;
        }
        if (step(from, element) || from > max_number) {
            c.fail({"the result must be at most 2^62: use smaller arguments"});
        }
    }
    return number_value(from);
}
inline value evaluate_sum(const function_call& c) {
    return fold(c, 0,
                [](std::int64_t& sum, std::int64_t element) { return __builtin_add_overflow(sum, element, &sum); });
}
inline value evaluate_product(const function_call& c) {
    return fold(c, 1,
                [](std::int64_t& all, std::int64_t element) { return __builtin_mul_overflow(all, element, &all); });
}
/// largest(list): the largest number in a list, or −1 if all numbers are below −1 or the list is empty.
inline value evaluate_largest(const function_call& c) {
    return fold(c, -1, [](std::int64_t& all, std::int64_t element) {
        all = element > all ? element : all;
        return false;
    });
}
inline value evaluate_last(const function_call& c) {
    const vector<value> all = c.items(0);
    return all.empty() ? value{} : all.back();
}
/// taken_stages(features, indices, n, first): the stages whose results a backbone returns, in ascending order.
/// `features` has their names ("stem", "stage1", …) or `indices` their indices (−1 is the last). Stage 0 is the stem, n
/// is the last stage. A class without a stem counts from `first` = 1. If `features` and `indices` are null, the result
/// is the last stage.
inline value evaluate_taken_stages(const function_call& c) {
    const std::int64_t last = c.number(2);
    const std::int64_t first = c.number_or(3, 0);
    if (last < first || last > 10'000) {
        c.fail({"the last stage must be from ", first, " to 10000, got ", last});
    }
    const auto stages_in = [&](std::size_t at) {
        vector<std::int64_t> stages;
        for (const value& item : c.items(at)) {
            std::int64_t stage = -1;
            if (item.is_whole()) {
                stage = item.number < 0 ? last + 1 + item.number : first + item.number;
            } else if (item.type == value::kind::text) {
                for (std::int64_t k = first; k <= last && stage < 0; ++k) {
                    stage = item.text == (k == 0 ? std::string("stem") : text_of({"stage", k})) ? k : -1;
                }
            }
            if (stage < first || stage > last || (!stages.empty() && stage <= stages.back())) {
                c.refuse_argument(
                    at, text_of({"must name stages from \"", first == 0 ? "stem" : "stage1", "\" to \"stage", last,
                                 "\", or count them from 0 to ", last - first, ", each once and in this order"}));
            }
            stages.push_back(stage);
        }
        return stages;
    };
    vector<std::int64_t> taken;
    for (const std::size_t at : {std::size_t{1}, std::size_t{0}}) {
        if (!c.has(at)) {
            continue;
        }
        const vector<std::int64_t> found = stages_in(at);
        if (!taken.empty() && !(found == taken)) {
            c.refuse_argument(at, "must be the stages of out_indices; leave one of the two out");
        }
        taken = found;
    }
    if (taken.empty()) {
        taken.push_back(last);
    }
    vector<value> all;
    for (const std::int64_t stage : taken) {
        all.push_back(number_value(stage));
    }
    return c.in.list_of(std::move(all));
}
/// stage_sum(widths, stages): the sum of the widths of some stages. Stage k has width number k; the stem is as wide as
/// stage 1.
inline value evaluate_stage_sum(const function_call& c) {
    const vector<std::int64_t> widths = c.numbers(0);
    std::int64_t sum = 0;
    for (const std::int64_t stage : c.numbers(1)) {
        const auto at = static_cast<std::size_t>(stage < 1 ? 0 : stage - 1);
        if (at >= widths.size()) {
            c.fail({"stages must be from 1 to ", widths.size(), ", the number of widths, got ", stage});
        }
        if (__builtin_add_overflow(sum, widths[at], &sum)) {
            c.fail({"the result must be at most 2^62: use smaller arguments"});
        }
    }
    return number_value(sum);
}
/// different(list): the number of distinct texts in a list.
inline value evaluate_different(const function_call& c) {
    const vector<value> all = c.items(0);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (all[k].type != value::kind::text && c.arguments[0].node != nullptr) {
            refuse(indexed(c.in.config().field(c.arguments[0].node->key), k),
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
/// repeated(list): expands a list of groups [[value, ...], times]. [[["a", "b"], 2]] becomes a b a b.
inline value evaluate_repeated(const function_call& c) {
    vector<value> all;
    const auto refuse_all = [&c] {
        c.refuse_argument(0, "must be a list of [[name, ...], times], of at most 10000 names altogether");
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
/// numbers(text): the list of the numbers of a text such as "4,5,6".
inline value evaluate_numbers(const function_call& c) {
    vector<value> all;
    const auto refuse_text = [&c] {
        c.refuse_argument(0, "must be numbers between commas, of at most six digits each");
    };
    if (c.arguments[0].type != value::kind::text) {
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
    for (const char letter : c.arguments[0].text) {
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
/// times(list, value, end): how often a value occurs in a list, before index `end` if that is passed. times(text,
/// letter): how often a letter occurs in a text.
inline value evaluate_times(const function_call& c) {
    if (c.arguments[0].type == value::kind::text && c.arguments[1].text.size() == 1) {
        const std::string_view text = c.arguments[0].text;
        return number_value(std::count(text.begin(), text.end(), c.arguments[1].text.front()));
    }
    const vector<value> all = c.items(0);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < all.size() && (!c.has(2) || static_cast<std::int64_t>(k) < c.number(2)); ++k) {
        const value& wanted = c.arguments[1];
        found += all[k].type == wanted.type && all[k].number == wanted.number && all[k].text == wanted.text ? 1 : 0;
    }
    return number_value(found);
}
/// halves(list): half of each number, rounded down. For a list of kernel sizes this is the padding that keeps the
/// length.
inline value evaluate_halves(const function_call& c) {
    vector<value> all;
    for (const std::int64_t element : c.numbers(0)) {
        all.push_back(number_value(element / 2));
    }
    return c.in.list_of(std::move(all));
}
/// filled(n, a, b): a list of n numbers: n − 1 times a, then b.
inline value evaluate_filled(const function_call& c) {
    if (c.number(0) < 1 || c.number(0) > 10'000) {
        c.fail({"the length must be from 1 to 10000, got ", c.number(0)});
    }
    vector<value> all(static_cast<std::size_t>(c.number(0)), c.arguments[1]);
    all.back() = c.arguments[2];
    return c.in.list_of(std::move(all));
}
/// of_layer(object, i, "key", others…): the size under "key" in the object of layer i, or null. `object` maps layer
/// indices, with or without leading zeros, to one object for each layer. `others` names the other keys that these
/// objects may have, as texts or lists of texts.
inline value evaluate_of_layer(const function_call& c) {
    const config_node* layers = c.arguments[0].node;
    value found;
    vector<value> keys;
    for (std::size_t k = 2; k < c.arguments.size(); ++k) {
        const vector<value> several =
            c.arguments[k].type == value::kind::list ? c.items(k) : vector<value>(1, c.arguments[k]);
        keys.append(several.begin(), several.end());
    }
    for (std::size_t k = 0; layers != nullptr && k < layers->count; ++k) {
        const config_node& node = c.in.config().tree().child(*layers, k);
        const std::string field = text_of({c.in.config().field(layers->key), ".", node.key});
        const std::size_t digits = node.key.find_first_not_of("0123456789");
        if (node.key.empty() || node.key.size() > 9 || digits != std::string::npos) {
            refuse(field, {"the key must be the index of a layer, such as \"12\", got \"", node.key, "\""});
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
        const config_node* size = c.in.config().tree().find(node, c.arguments[2].text);
        if (size != nullptr && (size->type != config_node::kind::integer || size->beyond || size->number < 1 ||
                                size->number > std::int64_t{1} << 24)) {
            refuse(text_of({field, ".", size->key}),
                   {"must be an integer from 1 to 16777216, got ", c.in.config().shown(*size)});
        }
        found = size != nullptr ? value_of(*size) : value{};
    }
    return found;
}
/// of_block(list, i, "part", "key", others…): the value under "key" in the object "part" of the list's element i, or
/// null. `others` names the other keys that this object may have.
inline value evaluate_of_block(const function_call& c) {
    const config_node* blocks = c.arguments[0].node;
    if (blocks == nullptr || c.number(1) < 0 || static_cast<std::size_t>(c.number(1)) >= blocks->count) {
        return {};
    }
    const config_tree& tree = c.in.config().tree();
    const config_node& block = tree.child(*blocks, static_cast<std::size_t>(c.number(1)));
    const std::string field = text_of({c.in.config().field(blocks->key), "[", c.number(1), "]"});
    if (block.type != config_node::kind::object) {
        refuse(field, {"must be an object, got ", c.in.config().shown(block)});
    }
    const config_node* part = tree.find(block, c.arguments[2].text);
    if (part == nullptr || part->type == config_node::kind::null) {
        return {};
    }
    if (part->type != config_node::kind::object) {
        refuse(text_of({field, ".", part->key}), {"must be an object, got ", c.in.config().shown(*part)});
    }
    std::string known;
    for (std::size_t k = 3; k < c.arguments.size(); ++k) {
        append_item(known, c.arguments[k].text);
    }
    for (std::size_t child = 0; child < part->count; ++child) {
        const std::string& key = tree.child(*part, child).key;
        const auto is_key = [&key](const value& name) { return name.text == key; };
        if (std::none_of(c.arguments.begin() + 3, c.arguments.end(), is_key)) {
            refuse(text_of({field, ".", part->key, ".", key}), {"unknown key; known: ", known});
        }
    }
    const config_node* size = tree.find(*part, c.arguments[3].text);
    if (size == nullptr) {
        return {};
    }
    const auto largest = static_cast<double>(1 << 24);
    const double number = size->type == config_node::kind::real ? size->real : static_cast<double>(size->number);
    const bool is_scalar = size->type == config_node::kind::null || size->type == config_node::kind::flag ||
                           size->type == config_node::kind::integer || size->type == config_node::kind::real;
    if (!is_scalar || size->beyond || !(number >= 0 && number <= largest)) {
        refuse(text_of({field, ".", part->key, ".", size->key}),
               {"must be true, false or a number from 0 to 16777216, got ", c.in.config().shown(*size)});
    }
    return value_of(*size);
}
/// level(depths, i): the index of the group that contains layer i. place(depths, i): the index of layer i within its
/// group. `depths` lists the number of layers in each group.
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
inline value evaluate_level(const function_call& c) { return level_or_place(c, false); }
inline value evaluate_place(const function_call& c) { return level_or_place(c, true); }
/// depth(indices, layers): the number of layers that must run to compute the hidden states with these indices. `layers`
/// is the number of all layers. `indices` is one index or a list. A negative index counts from the end.
inline value evaluate_depth(const function_call& c) {
    const std::int64_t most = c.number(1);
    const std::string field = c.in.config().field("vision_feature_layer");
    std::int64_t deepest = 0;
    std::size_t at = 0;
    const vector<value> all = c.arguments[0].type == value::kind::list ? c.items(0) : vector<value>(1, c.arguments[0]);
    for (const value& item : all) {
        if (item.type != value::kind::number || item.number > most || item.number < -most - 1) {
            refuse(c.arguments[0].type == value::kind::list ? indexed(field, at) : field,
                   {"must be an integer from ", -most - 1, " to ", most, ", got ", c.in.shown(item)});
        }
        ++at;
        const std::int64_t layers = item.number < 0 ? item.number + most + 1 : item.number;
        deepest = layers > deepest ? layers : deepest;
    }
    return number_value(deepest);
}

// Computes the sizes of embedding tables that are indexed by a hash of several tokens (Qwen4). The config does not
// contain the number of rows. The table of each head of each layer has a different prime number of rows.

[[nodiscard]] inline bool is_prime(std::int64_t number) {
    for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
        if (number % divisor == 0) {
            return false;
        }
    }
    return number > 1;
}

/// hashed_rows(layers, layer, heads, base, divisor): the number of rows in all tables of one layer, rounded up to a
/// multiple of `divisor`. The sizes of the tables are successive primes, and the first is at least `base`. `layers`
/// lists the layers that have tables, each with `heads` tables.
inline value evaluate_hashed_rows(const function_call& c) {
    // More tables are refused, because the search for primes would take too long.
    constexpr std::int64_t most = 1024;
    const auto layers = c.numbers(0);
    if (layers.size() > static_cast<std::size_t>(most)) {
        c.fail({"the list must have at most 1024 layers, got ", layers.size()});
    }
    std::int64_t before = 0;  // number of distinct layers in the list before `layer`
    for (std::size_t at = 0; at < layers.size(); ++at) {
        bool is_first = layers[at] < c.number(1);
        for (std::size_t other = 0; other < at; ++other) {
            is_first = is_first && layers[other] != layers[at];
        }
        before += is_first ? 1 : 0;
    }
    const std::int64_t heads = c.number(2);
    const std::int64_t divisor = c.number(4);
    if (heads < 1 || heads > most || (before + 1) * heads > most) {
        c.fail({"layers x heads must be at most 1024, got ", before + 1, " x ", heads});
    }
    if (c.number(3) < 1 || c.number(3) > 0x7FFF'FFFF || divisor < 1 || divisor > 0x7FFF'FFFF) {
        c.fail({"the rows and the divisor must each be from 1 to 2147483647: change the arguments"});
    }
    std::int64_t rows = 0;
    std::int64_t prime = c.number(3) - 1;
    for (std::int64_t table = 0; table < (before + 1) * heads; ++table) {
        do {
            ++prime;
        } while (!is_prime(prime));
        rows += table >= before * heads ? prime : 0;
    }
    return number_value((rows + divisor - 1) / divisor * divisor);
}

/// A function that specs may call.
struct spec_function {
    std::string_view name;
    std::size_t least;  ///< smallest number of arguments; the next member is the largest number
    std::size_t most;
    value (*call)(const function_call&);
};

inline constexpr spec_function spec_functions[] = {{"window", 1, 1, evaluate_window},
                                                   {"later_image_tokens", 1, 2, evaluate_later},
                                                   {"reduced", 4, 4, evaluate_reduced},
                                                   {"listed", 1, 1, listed_by<unit_statistics::listed_units>},
                                                   {"listed_pairs", 1, 1, listed_by<mask_statistics::listed_pairs>},
                                                   {"cross_pairs", 1, 3, evaluate_cross_pairs},
                                                   {"text_pairs", 0, 1, evaluate_text_pairs},
                                                   {"text_tokens", 0, 1, evaluate_text_tokens},
                                                   {"entries", 1, 1, evaluate_entries},
                                                   {"measured", 1, 1, evaluate_measured},
                                                   {"written_mask", 0, 0, evaluate_written_mask},
                                                   {"field", 2, 4, evaluate_field},
                                                   {"ceil", 1, 2, evaluate_ceil},
                                                   {"floor", 1, 1, evaluate_floor},
                                                   {"round", 1, 1, evaluate_round},
                                                   {"min", 2, 2, evaluate_min},
                                                   {"max", 2, 2, evaluate_max},
                                                   {"power", 2, 2, evaluate_power},
                                                   {"root", 1, 1, evaluate_root},
                                                   {"hashed_rows", 5, 5, evaluate_hashed_rows},
                                                   {"given", 1, 1, evaluate_given},
                                                   {"size", 1, 1, evaluate_size},
                                                   {"count", 1, 1, evaluate_count},
                                                   {"is_list", 1, 1, evaluate_is_list},
                                                   {"is_text", 1, 1, evaluate_is_text},
                                                   {"is_number", 1, 1, evaluate_is_number},
                                                   {"sum", 1, 2, evaluate_sum},
                                                   {"product", 1, 2, evaluate_product},
                                                   {"last", 1, 1, evaluate_last},
                                                   {"largest", 1, 1, evaluate_largest},
                                                   {"taken_stages", 3, 4, evaluate_taken_stages},
                                                   {"stage_sum", 2, 2, evaluate_stage_sum},
                                                   {"numbers", 1, 1, evaluate_numbers},
                                                   {"times", 2, 3, evaluate_times},
                                                   {"different", 1, 1, evaluate_different},
                                                   {"repeated", 1, 1, evaluate_repeated},
                                                   {"halves", 1, 1, evaluate_halves},
                                                   {"divisible", 2, 3, evaluate_divisible},
                                                   {"scaled", 2, 2, evaluate_scaled},
                                                   {"halvings", 1, 1, evaluate_halvings},
                                                   {"filled", 3, 3, evaluate_filled},
                                                   {"of_layer", 3, 9, evaluate_of_layer},
                                                   {"of_block", 4, 16, evaluate_of_block},
                                                   {"level", 2, 2, evaluate_level},
                                                   {"place", 2, 2, evaluate_place},
                                                   {"depth", 2, 2, evaluate_depth}};

[[nodiscard]] inline bool is_function(std::string_view name) {
    return statistic_called(name) != nullptr ||
           std::any_of(std::begin(spec_functions), std::end(spec_functions),
                       [name](const spec_function& known) { return known.name == name; });
}

[[nodiscard]] inline value call_function(const function_call& c) {
    for (const spec_function& function : spec_functions) {
        if (function.name == c.name) {
            c.takes(function.least, function.most);
            return function.call(c);
        }
    }
    if (const statistic_table* table = statistic_called(c.name); table != nullptr) {
        return statistic_of_call(c, *table);
    }
    if (const std::string_view hint = report_mask_hint(c.name); !hint.empty()) {
        c.fail({"unknown function", hint});
    }
    const std::string near = nearest_hint(c.name, spec_functions);
    vector<std::string_view> statistics;
    for (const statistic_function& known : statistic_functions) {
        statistics.push_back(known.name);
    }
    for (const statistic_table* table : tables_in(library_statistics{})) {
        statistics.push_back(table->name);
    }
    c.fail({"unknown function", near.empty() ? nearest_hint(c.name, statistics) : near});
}

}  // namespace floptally::detail::specs

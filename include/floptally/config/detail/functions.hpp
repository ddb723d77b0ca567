// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/hashed_tables.hpp>
#include <floptally/config/detail/list_functions.hpp>
#include <floptally/config/detail/mask_functions.hpp>
#include <floptally/config/detail/number_functions.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/rules/grid_masks.hpp>
#include <floptally/rules/grid_units.hpp>

/// @file
/// All functions that pages may call, by name.

namespace floptally::detail::pages {

/// A function of pages: its name, the numbers of its arguments and its code.
struct page_function {
    std::string_view name;
    std::size_t least;  ///< fewest arguments, then the most
    std::size_t most;
    value (*call)(const function_call&);
};

inline constexpr page_function page_functions[] = {{"window", 1, 1, window_of},
                                                   {"later_image_tokens", 1, 2, later_of},
                                                   {"reduced", 4, 4, reduced_of},
                                                   {"listed", 1, 1, listed_by<unit_rules::listed_units>},
                                                   {"listed_pairs", 1, 1, listed_by<mask_rules::listed_pairs>},
                                                   {"cross_pairs", 1, 3, cross_pairs_of},
                                                   {"text_pairs", 0, 1, text_pairs_of},
                                                   {"text_tokens", 0, 1, text_tokens_of},
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
                                                   {"sum", 1, 2, sum_of},
                                                   {"product", 1, 2, product_of},
                                                   {"last", 1, 1, last_of},
                                                   {"largest", 1, 1, largest_of},
                                                   {"numbers", 1, 1, numbers_of},
                                                   {"times", 2, 3, times_of},
                                                   {"different", 1, 1, different_of},
                                                   {"repeated", 1, 1, repeated_of},
                                                   {"halves", 1, 1, halves_of},
                                                   {"divisible", 2, 3, divisible_of},
                                                   {"scaled", 2, 2, scaled_of},
                                                   {"halvings", 1, 1, halvings_of},
                                                   {"filled", 3, 3, filled_of},
                                                   {"of_layer", 3, 9, of_layer_of},
                                                   {"level", 2, 2, level_of},
                                                   {"place", 2, 2, place_of},
                                                   {"depth", 2, 2, depth_of}};

[[nodiscard]] inline value call_function(const function_call& c) {
    for (const page_function& function : page_functions) {
        if (function.name == c.name) {
            c.takes(function.least, function.most);
            return function.call(c);
        }
    }
    if (const rule_table* makes = rule_called(c.name); makes != nullptr) {
        return rule_of_call(c, *makes);
    }
    const std::string near = nearest_hint(c.name, page_functions);
    vector<std::string_view> rules;
    for (const rule_function& known : rule_functions) {
        rules.push_back(known.name);
    }
    for (const rule_table* table : tables_in(library_rules{})) {
        rules.push_back(table->name);
    }
    c.fail({"unknown function", near.empty() ? nearest_hint(c.name, rules) : near});
}

}  // namespace floptally::detail::pages

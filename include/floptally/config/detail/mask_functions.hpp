// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/config/detail/floptally_masks.hpp>
#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/rules/clip_rules.hpp>
#include <floptally/rules/grid_masks.hpp>
#include <floptally/rules/grid_units.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/other_side_masks.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/rule_text.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/rules/table_of.hpp>

/// @file
/// Functions of pages whose values are masks or numbers of units.

namespace floptally::detail::pages {

/// A function that is a rule of the numbers of its text form, where pages call it otherwise than its struct. Arguments
/// that have a default there may be left out.
struct rule_function {
    std::string_view name;
    const rule_table* makes;
};
inline constexpr rule_function rule_functions[] = {
    {"around", &detail::table_of<mask_rules::band>},
    {"chunk", &detail::table_of<mask_rules::chunked>},
    {"top", &detail::table_of<mask_rules::top_k>},
    {"compressed", &detail::table_of<mask_rules::compressed_keys>},
    {"best_compressed", &detail::table_of<mask_rules::best_compressed_keys>},
    {"across", &detail::table_of<mask_rules::cross_attention>},
    {"grid", &detail::table_of<mask_rules::grid_windows>},
    {"merged", &detail::table_of<unit_rules::merged_patches>},
    {"pooled", &detail::table_of<unit_rules::pooled_patches>},
    {"cells", &detail::table_of<unit_rules::strided_cells>},
    {"lines", &detail::table_of<mask_rules::window_lines>},
    {"kept", &detail::table_of<unit_rules::kept_patches>},
    {"frames", &detail::table_of<unit_rules::strided_frames>},
    {"frame_squares", &detail::table_of<mask_rules::strided_squares>},
    {"frame_band", &detail::table_of<mask_rules::strided_band>},
    {"hstu", &detail::table_of<mask_rules::hstu>},
};

/// The rule of the library that a page calls by that name, or null; rules outside this table are called by the names of
/// their structs.
[[nodiscard]] inline const rule_table* rule_called(std::string_view name) {
    for (const rule_function& known : rule_functions) {
        if (known.name == name) {
            return known.makes;
        }
    }
    for (const rule_table* table : tables_in(library_rules{})) {
        if (table->name == name && !table->read) {
            return table;
        }
    }
    return nullptr;
}

/// The rule that a call makes, from the numbers of the rule's text form.
[[nodiscard]] inline value rule_of_call(const function_call& c, const rule_table& makes) {
    const rule_parameter* const end = makes.parameters + makes.text_parameters;
    c.takes(static_cast<std::size_t>(std::count_if(
                makes.parameters, end,
                [](const rule_parameter& parameter) { return parameter.fallback == rule_parameter::none; })),
            makes.text_parameters);
    std::int64_t numbers[most_text_parameters]{};
    for (std::size_t i = 0; i < makes.text_parameters; ++i) {
        const std::int64_t fallback = makes.parameters[i].fallback;
        numbers[i] = fallback == rule_parameter::none ? c.number(i) : c.number_or(i, fallback);
    }
    return mask_value_of(rule(makes, words_of(makes, numbers)));
}

inline value window_of(const function_call& c) { return mask_value_of(mask::sliding_window(c.number(0))); }
/// later_image_tokens(side, window): the tokens of an image that come after the query; with a window, a number or the
/// mask of a layer, also the earlier ones beyond it.
inline value later_of(const function_call& c) {
    if (c.has(1) && c.given[1].type == value::kind::mask) {
        const rule& own = c.given[1].attends;
        const std::int64_t left = own.is<mask_rules::band>() ? own.as<mask_rules::band>().left : -1;
        return mask_value_of(mask::later_image_tokens(c.number(0), left >= 0 ? left + 1 : -1));
    }
    return mask_value_of(mask::later_image_tokens(c.number(0), c.number_or(1, -1)));
}
inline value reduced_of(const function_call& c) {
    return mask_value_of(mask::reduced_pairs(c.number(0), c.number(1), c.number(2), c.number(3)));
}
/// cross_pairs(side, frames, multiple): each token of a grid of latents sees every token of the text.
inline value cross_pairs_of(const function_call& c) {
    const latent_patches made{c.number(0), c.number_or(1, 1), c.number_or(2, 1)};
    return mask_value_of(mask::joint_pairs(made, token_stream::grid, token_stream::text));
}
/// text_pairs(multiple): the tokens of the text of a grid see each other.
inline value text_pairs_of(const function_call& c) {
    return mask_value_of(mask::joint_pairs({.multiple = c.number_or(0, 1)}, token_stream::text, token_stream::text));
}
/// text_tokens(multiple): the tokens of the text of a grid.
inline value text_tokens_of(const function_call& c) {
    return mask_value_of(rule(unit::joint_tokens({.multiple = c.number_or(0, 1)}, token_stream::text)));
}
/// listed(entries): the units of a frame by its patches; one or two entries of two numbers each, patches and units.
template <statistic_rule Rule>
value listed_by(const function_call& c) {
    const vector<std::int64_t> all = c.numbers(0);
    if (all.size() != 2 && all.size() != 4) {
        c.fail({"takes one or two entries of two numbers, got ", all.size(), " numbers"});
    }
    const std::size_t other = all.size() - 2;
    return mask_value_of(make_rule<Rule>(all[0], all[1], all[other], all[other + 1]));
}
/// The mask that the key "mask" of floptally's own format describes.
inline value written_mask_of(const function_call& c) {
    return mask_value_of(read_mask({c.in.config().tree(), c.in.config().object(), c.in.config().path()}));
}
/// measured("text_visits"): a number that neither config nor sample gives, but the caller, by tally::add_measured.
inline value measured_of(const function_call& c) {
    if (c.given[0].type != value::kind::text) {
        c.fail({"takes the name of a word"});
    }
    return mask_value_of(measured(c.given[0].text));
}
/// field(kernels, strides, paddings, dilations, first): the frames that a stack of convolutions reads for one that it
/// makes, less their padding on both sides; each argument is a list, or a number for all.
inline value field_of(const function_call& c) {
    std::size_t size = 1;
    for (const value& item : c.given) {
        size = item.type == value::kind::list ? item.size() : size;
    }
    const vector<std::int64_t> kernels = c.numbers(0, size);
    const vector<std::int64_t> strides = c.numbers(1, kernels.size());
    const vector<std::int64_t> paddings =
        c.has(2) ? c.numbers(2, kernels.size()) : vector<std::int64_t>(kernels.size(), 0);
    const vector<std::int64_t> dilations =
        c.has(3) ? c.numbers(3, kernels.size()) : vector<std::int64_t>(kernels.size(), 1);
    if (strides.size() != kernels.size() || paddings.size() != kernels.size() || dilations.size() != kernels.size()) {
        c.fail({"lists of different sizes"});
    }
    std::int64_t field = 1;
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        for (const std::int64_t number : {kernels[k], strides[k], paddings[k], dilations[k]}) {
            if (number < 0 || number > 0xFFFF) {
                c.fail({"numbers must be from 0 to 65535, got ", number});
            }
        }
        field += ((kernels[k] - 1) * dilations[k] - 2 * paddings[k]) * stride;
        stride *= strides[k];
        if (stride > 0x7FFF'FFFF) {
            c.fail({"strides multiply beyond 2^31"});
        }
    }
    return number_value(field);
}

}  // namespace floptally::detail::pages

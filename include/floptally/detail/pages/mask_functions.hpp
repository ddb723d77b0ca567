// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/floptally_masks.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/function_call.hpp>
#include <floptally/detail/pages/value.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistics/clip_rules.hpp>
#include <floptally/statistics/grid_rules.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// Functions of pages whose values are masks, what attends what, or units, how many there are.

namespace floptally::detail::pages {

/// Functions that are a rule each, of the numbers of its text form: what has a value there may be left out here.
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
    {"best_blocks", &detail::table_of<mask_rules::best_blocks>},
    {"best_pools", &detail::table_of<mask_rules::best_pools>},
    {"prefix_lm", &detail::table_of<mask_rules::prefix_lm>},
    {"box", &detail::table_of<mask_rules::box>},
    {"across", &detail::table_of<mask_rules::cross_attention>},
    {"grid", &detail::table_of<mask_rules::grid_windows>},
    {"clip_squares", &detail::table_of<mask_rules::clip_squares>},
    {"merged", &detail::table_of<unit_rules::merged_patches>},
    {"pooled", &detail::table_of<unit_rules::pooled_patches>},
    {"clips", &detail::table_of<unit_rules::clips>},
    {"pooled_clips", &detail::table_of<unit_rules::pooled_clips>},
    {"merged_pairs", &detail::table_of<unit_rules::merged_pairs>},
    {"merged_squares", &detail::table_of<unit_rules::merged_squares>},
    {"cells", &detail::table_of<unit_rules::strided_cells>},
    {"level_windows", &detail::table_of<mask_rules::level_windows>},
    {"across_frames", &detail::table_of<mask_rules::across_frames>},
    {"lines", &detail::table_of<mask_rules::window_lines>},
    {"kept", &detail::table_of<unit_rules::kept_patches>},
    {"kept_squares", &detail::table_of<unit_rules::kept_squares>},
    {"frames", &detail::table_of<unit_rules::strided_frames>},
    {"frame_squares", &detail::table_of<mask_rules::strided_squares>},
    {"frame_band", &detail::table_of<mask_rules::strided_band>},
};

[[nodiscard]] inline value rule_of_call(const function_call& c, const rule_table& makes) {
    const rule_parameter* const end = makes.parameters + makes.text_parameters;
    c.takes(static_cast<std::size_t>(std::count_if(
                makes.parameters, end, [](const rule_parameter& one) { return one.fallback == rule_parameter::none; })),
            makes.text_parameters);
    std::int64_t numbers[most_text_parameters]{};
    for (std::size_t i = 0; i < makes.text_parameters; ++i) {
        const std::int64_t fallback = makes.parameters[i].fallback;
        numbers[i] = fallback == rule_parameter::none ? c.number(i) : c.number_or(i, fallback);
    }
    return mask_value_of(rule(makes, words_of(makes, numbers)));
}

inline value window_of(const function_call& c) { return mask_value_of(mask::sliding_window(c.number(0))); }
/// later_image_tokens(side, window): beyond a window, which a number says or the mask of a layer, earlier ones too.
inline value later_of(const function_call& c) {
    if (c.has(1) && c.given[1].is == value::kind::mask) {
        const rule& own = c.given[1].attends;
        const std::int64_t left = own.is<mask_rules::band>() ? own.as<mask_rules::band>().left : -1;
        return mask_value_of(mask::later_image_tokens(c.number(0), left >= 0 ? left + 1 : -1));
    }
    return mask_value_of(mask::later_image_tokens(c.number(0), c.number_or(1, -1)));
}
inline value reduced_of(const function_call& c) {
    return mask_value_of(mask::reduced_pairs(c.number(0), c.number(1), c.number(2), c.number(3)));
}
/// listed(entries): units of a frame by its patches; entries are patches, units, and maybe another two.
inline mask listed_by(const function_call& c, mask (*made)(std::int64_t, std::int64_t, std::int64_t, std::int64_t)) {
    const array_of<std::int64_t> all = c.numbers(0);
    if (all.size() != 2 && all.size() != 4) {
        c.fail({"takes one or two entries of two numbers, got ", std::to_string(all.size()), " numbers"});
    }
    const std::size_t other = all.size() - 2;
    return made(all[0], all[1], all[other], all[other + 1]);
}
inline value listed_of(const function_call& c) { return mask_value_of(listed_by(c, mask::listed_units)); }
inline value listed_pairs_of(const function_call& c) { return mask_value_of(listed_by(c, mask::listed_pairs)); }
/// The key "mask" as floptally's own format has it.
inline value written_mask_of(const function_call& c) {
    return mask_value_of(read_mask({c.in.config().tree(), c.in.config().object(), c.in.config().path()}));
}
/// measured("text_visits"): what no config and no sample says, but the caller, by tally::add_measured.
inline value measured_of(const function_call& c) {
    if (c.given[0].is != value::kind::text) {
        c.fail({"takes the name of a word"});
    }
    return mask_value_of(measured(c.given[0].text));
}
/// Frames that a stack of convolutions reads for one that leaves, less their padding on both sides:
/// field(kernels, strides, paddings, dilations, first), each a list or a number for all.
inline value field_of(const function_call& c) {
    std::size_t size = 1;
    for (const value& one : c.given) {
        size = one.is == value::kind::list ? one.size() : size;
    }
    const array_of<std::int64_t> kernels = c.numbers(0, size);
    const array_of<std::int64_t> strides = c.numbers(1, kernels.size());
    const array_of<std::int64_t> paddings =
        c.has(2) ? c.numbers(2, kernels.size()) : array_of<std::int64_t>(kernels.size(), 0);
    const array_of<std::int64_t> dilations =
        c.has(3) ? c.numbers(3, kernels.size()) : array_of<std::int64_t>(kernels.size(), 1);
    if (strides.size() != kernels.size() || paddings.size() != kernels.size() || dilations.size() != kernels.size()) {
        c.fail({"lists of different sizes"});
    }
    std::int64_t field = 1;
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        for (const std::int64_t one : {kernels[k], strides[k], paddings[k], dilations[k]}) {
            if (one < 0 || one > 0xFFFF) {
                c.fail({"numbers must be from 0 to 65535, got ", one});
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/detail/floptally_masks.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/function_call.hpp>
#include <floptally/detail/pages/value.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistics/measured.hpp>

/// @file
/// Functions of pages whose values are masks, what attends what, or units, how many there are.

namespace floptally::detail::pages {

inline value window_of(const function_call& c) { return mask_value_of(mask::sliding_window(c.number(0))); }
inline value around_of(const function_call& c) { return mask_value_of(mask::window(c.number(0), c.number(1))); }
inline value chunk_of(const function_call& c) { return mask_value_of(mask::chunked(c.number(0))); }
inline value top_of(const function_call& c) { return mask_value_of(mask::top_k(c.number(0))); }
inline value compressed_of(const function_call& c) { return mask_value_of(mask::compressed_keys(c.number(0))); }
inline value best_compressed_of(const function_call& c) {
    return mask_value_of(mask::best_compressed_keys(c.number(0), c.number(1)));
}
inline value best_blocks_of(const function_call& c) {
    return mask_value_of(mask::best_blocks(c.number(0), c.number(1)));
}
inline value best_pools_of(const function_call& c) { return mask_value_of(mask::best_pools(c.number(0), c.number(1))); }
inline value prefix_of(const function_call& c) { return mask_value_of(mask::prefix_lm(c.number(0))); }
inline value box_of(const function_call& c) { return mask_value_of(mask::box(c.number(0))); }
inline value across_of(const function_call&) { return mask_value_of(mask::cross_attention()); }
inline value grid_of(const function_call& c) {
    return mask_value_of(mask::grid_windows(c.number(0), c.number_or(1, 0)));
}
inline value clip_of(const function_call& c) { return mask_value_of(mask::clip_squares(c.number_or(0, 0))); }
inline value merged_of(const function_call& c) {
    return mask_value_of(mask::merged_patches(c.number(0), c.number_or(1, 0)));
}
inline value pooled_of(const function_call& c) { return mask_value_of(mask::pooled_patches(c.number(0))); }
inline value clips_of(const function_call&) { return mask_value_of(mask::clips()); }
inline value merged_pairs_of(const function_call& c) { return mask_value_of(mask::merged_pairs(c.number(0))); }
inline value merged_squares_of(const function_call& c) { return mask_value_of(mask::merged_squares(c.number(0))); }
inline value pooled_clips_of(const function_call& c) { return mask_value_of(mask::pooled_clips(c.number(0))); }
/// later_image_tokens(side, window): beyond a window, which a number says or the mask of a layer, earlier ones too.
inline value later_of(const function_call& c) {
    if (c.has(1) && c.given[1].is == value::kind::mask) {
        const rule& own = c.given[1].attends;
        const std::int64_t left = own.is<mask_rules::band>() ? own.as<mask_rules::band>().left : -1;
        return mask_value_of(mask::later_image_tokens(c.number(0), left >= 0 ? left + 1 : -1));
    }
    return mask_value_of(mask::later_image_tokens(c.number(0), c.number_or(1, -1)));
}
inline value cells_of(const function_call& c) { return mask_value_of(mask::strided_cells(c.number(0), c.number(1))); }
inline value level_windows_of(const function_call& c) {
    return mask_value_of(mask::level_windows(c.number(0), c.number(1), c.number(2) != 0, c.number(3) != 0));
}
inline value reduced_of(const function_call& c) {
    return mask_value_of(mask::reduced_pairs(c.number(0), c.number(1), c.number(2), c.number(3)));
}
inline value lines_of(const function_call& c) { return mask_value_of(mask::window_lines(c.number_or(0, 0))); }
inline value across_frames_of(const function_call&) { return mask_value_of(mask::across_frames()); }
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
inline value kept_of(const function_call& c) { return mask_value_of(mask::kept_patches(c.number(0), c.number(1))); }
inline value kept_squares_of(const function_call& c) {
    return mask_value_of(mask::kept_squares(c.number(0), c.number(1)));
}
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
inline value frames_of(const function_call& c) {
    return mask_value_of(mask::strided_frames(c.number(0), c.number(1), c.number_or(2, 0)));
}
inline value frame_squares_of(const function_call& c) {
    return mask_value_of(mask::strided_squares(c.number(0), c.number(1), c.number_or(2, 0), c.number_or(3, 0)));
}
inline value frame_band_of(const function_call& c) {
    return mask_value_of(mask::strided_band(c.number(0), c.number(1), c.number(2), c.number(3)));
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/mask_set.hpp>
#include <floptally/convention.hpp>
#include <floptally/detail/counted_row.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail {

/// HSTU's mask: counted as attended, but where every mask counts as the square, or by recsys-examples' rule.
template <class Fixed, class Kept, class At>
constexpr void lower_hstu(const mask& attends, const convention& how, Fixed fixed, Kept kept, At at) {
    if (attends.kind() == mask_kind::hstu && how.hstu == floptally::hstu_pairs::history_squares) {
        if ((attends.flags() & hstu_bidirectional) == 0) {
            at(kept(mask::hstu_history_squares_of(attends)), 2);
        }
        at(kept(mask::hstu_others_of(attends)), 1);
    } else if (attends.kind() == mask_kind::hstu && how.causal == causal_pairs::full_square) {
        at(fixed(statistic::squares), 1);
        at(fixed(statistic::cached), 1);
    } else {
        at(kept(attends), 1);
    }
}

/// Replaces a mask by words of a tally, as the convention counts it: `at(word, divisor)` for each. Masks that a tally
/// must keep are added to `masks`, which knows already whether there are towers. `unwindowed`: a layer of the model has
/// no window.
template <class At>
constexpr void lower_pairs(const mask& attends, const convention& how, bool unwindowed, mask_set& masks, At at) {
    const auto fixed = [&](statistic what) { return tally_words::index_of(attends.in(), what); };
    const auto kept = [&](const mask& m) {
        return tally_words::before_masks(masks) + masks.find_or_add(m.in(attends.in()), "masks");
    };

    if (attends.is_hstu()) {
        lower_hstu(attends, how, fixed, kept, at);
        return;
    }
    // The other kinds are sizes of products, not masks over L² of them.
    const bool windowed = !attends.is_polynomial() && attends.kind() != mask_kind::compressed_keys &&
                          attends.kind() != mask_kind::encoder && attends.kind() != mask_kind::box &&
                          !attends.is_of_a_tower();
    if (attends.kind() == mask_kind::later_image_tokens && how.causal != causal_pairs::exact) {
        return;
    }
    if (attends.kind() == mask_kind::cross_attention) {
        at(fixed(statistic::crossed), 1);
    } else if (windowed && attends.is_causal() && how.windows == window_pairs::half_squares) {
        at(kept(mask::squares_of(attends)), 2);
    } else if (detail::is_sliding_window(attends) && how.windows == window_pairs::limited) {
        at(kept(mask::within(attends)), 2);
        at(kept(mask::limited_by(attends)), 1);
    } else if (!attends.is_polynomial() &&
               (!windowed || how.windows == window_pairs::exact || how.windows == window_pairs::half_squares ||
                how.windows == window_pairs::limited)) {
        at(kept(attends), 1);
    } else if (detail::is_sliding_window(attends) && how.windows == window_pairs::box) {
        at(kept(mask::box_of(attends)), 1);
    } else if (detail::is_sliding_window(attends) && how.windows == window_pairs::half_box && unwindowed) {
        at(kept(mask::box_of(attends)), 2);
    } else if (attends.is_causal() && how.causal != causal_pairs::full_square) {
        // Exact: (Σn² + Σn)/2 + Σn·past. Coefficients of pairs are even: every product counts two FLOPs.
        at(fixed(statistic::squares), 2);
        if (how.causal == causal_pairs::exact) {
            at(fixed(statistic::tokens), 2);
        }
        at(fixed(statistic::cached), 1);
    } else {
        at(fixed(statistic::squares), 1);
        at(fixed(statistic::cached), 1);
    }
}

}  // namespace floptally::detail
